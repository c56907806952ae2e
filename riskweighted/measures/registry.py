"""The registry of measures: what the files of this room declare, and what installed packages add
(`riskweighted.measures`).
"""

import pkgutil
import warnings
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.measures.measure import Disclosure, Measure

__all__ = ["GROUP", "is_ours", "measures"]

GROUP = "riskweighted.measures"  # the entry points under which packages register measures
_TABLES = ("risk", "utility", "fit")


@lru_cache(maxsize=1)
def measures() -> Mapping[str, Measure]:
    """Every measure by its key: ours table by table in their order, then those that packages
    register.
    """
    known = dict(_ours())
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            added = point.load()
            added = added() if isinstance(added, type) else added
        except Exception as error:
            _say(point.name, f"cannot be loaded ({type(error).__name__})")
            continue
        wrong = _wrong(added) or (
            f"has the key {added.key!r}, which is taken" if added.key in known else ""
        )
        if wrong:
            _say(point.name, wrong)
        else:
            known[added.key] = added
    return MappingProxyType(known)


@lru_cache(maxsize=1)
def _ours() -> Mapping[str, Measure]:
    package = import_module("riskweighted.measures")
    modules = [
        import_module(f"{package.__name__}.{file.name}")
        for file in pkgutil.iter_modules(package.__path__)
    ]
    declared = [measure for module in modules for measure in getattr(module, "MEASURES", ())]
    return {
        each.key: each
        for each in sorted(declared, key=lambda each: (_TABLES.index(each.table), each.order))
    }


def is_ours(measure: Measure) -> bool:
    """Whether it comes with the package, and not with another one."""
    return _ours().get(measure.key) is measure


def _wrong(added: object) -> str:
    """Why something cannot be a measure, or nothing."""
    if not isinstance(added, Measure):
        return "is no riskweighted.Measure"
    texts = (added.key, added.label, added.definition, added.source, added.direction, added.kind)
    if not all(isinstance(text, str) and text for text in texts):
        return "says no key, label, definition, source, direction or kind"
    if added.table not in ("risk", "utility") or not callable(added.compute):
        return "has no compute(context), or is in no table of risk or utility"
    if added.disclosure is not None and not isinstance(added.disclosure, Disclosure):
        return "has a disclosure that is no riskweighted.Disclosure"
    return ""


def _say(name: str, what: str) -> None:
    warnings.warn(
        f"the measure {name!r} of {GROUP} {what}: it is left out", RiskWeightedWarning, stacklevel=3
    )
