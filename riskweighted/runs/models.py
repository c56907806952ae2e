"""Synthesizers and chains from their registered name and settings by name."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from riskweighted.common.errors import InputError, listing
from riskweighted.common.replaced import refuse_replaced
from riskweighted.common.settings import as_table, as_tuples
from riskweighted.common.units import Units
from riskweighted.contract.synthesizer import Synthesizer, load_synthesizer
from riskweighted.sequence.declared import Chain, is_chain

__all__ = ["build_chain", "build_synthesizer", "declare", "own_settings"]


def own_settings(synthesizer: str) -> list[str]:
    """The settings of a registered synthesizer by name, without its formula."""
    kind: Any = load_synthesizer(synthesizer)
    return [f.name for f in dataclasses.fields(kind) if f.name != "formula"]


def declare(
    name: str,
    formula: str | None,
    variables: Sequence[str],
    settings: Mapping[str, Any],
    units: Units | None = None,
) -> Synthesizer | Chain:
    """What a study declares: a registered synthesizer by its formula, or without one a chain of the
    variables, whose records may belong together in `units`.
    """
    if formula is None:
        return build_chain(name, variables, settings, units)
    if units is not None:
        raise InputError(
            "units are drawn by a chain, and synthesizer.formula is of one variable: name "
            "synthesizer 'sequential' and its predictors, without a formula"
        )
    return build_synthesizer(name, formula, settings)


def build_synthesizer(name: str, formula: str, settings: Mapping[str, Any]) -> Synthesizer:
    """A registered synthesizer from a formula and settings by name; lists the valid ones where one
    is unknown.
    """
    kind, valid = load_synthesizer(name), own_settings(name)
    if "variables" in valid:
        raise InputError(
            f"synthesizer {name!r} is of several variables: leave out synthesizer.formula, and "
            "name its predictors"
        )
    unknown = [setting for setting in settings if setting not in valid]
    if unknown:
        raise InputError(
            f"synthesizer {name!r} has no setting {listing(unknown)}; valid are {listing(valid)}"
        )
    tables = [setting for setting, value in settings.items() if _holds_table(value)]
    if tables:
        raise InputError(
            f"setting {listing(tables)} of synthesizer {name!r} must be a value or a list, got a "
            "table; names with values are a list of "
            "pairs, such as [['components', 2]]"
        )
    made = kind(formula, **{key: as_tuples(value) for key, value in settings.items()})
    boundless = [
        setting
        for setting, value in settings.items()
        if isinstance(value, float) and not math.isfinite(value)
    ]
    if boundless:
        raise InputError(
            f"setting {listing(boundless)} of synthesizer {name!r} must be finite; leave it out, "
            "or give a number"
        )
    return made


def build_chain(
    name: str,
    variables: Sequence[str],
    settings: Mapping[str, Any],
    units: Units | None = None,
) -> Chain:
    """A registered chain from settings by name; `settings` of single variables stand in the table
    "variables", and `units` in a section of their own.
    """
    kind: Any = load_synthesizer(name)
    fields = [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    if "variables" not in fields:
        raise InputError(
            f"setting 'synthesizer.formula' is missing: synthesizer {name!r} is of one variable"
        )
    if units is not None and "units" not in fields:
        raise InputError(f"synthesizer {name!r} knows no units: leave out [units]")
    valid = [field for field in fields if field not in ("variables", "settings", "units")]
    unknown = [setting for setting in settings if setting not in (*valid, "variables")]
    if unknown:
        refuse_replaced("setting", f"synthesizer.{unknown[0]}")
        raise InputError(
            f"synthesizer {name!r} has no setting {listing(unknown)}; valid are "
            f"{listing([*valid, 'variables'])}"
        )
    of_variables = as_table(settings.get("variables", {}), "synthesizer.variables")
    tables = {
        variable: dict(as_table(table, f"synthesizer.variables.{variable}"))
        for variable, table in of_variables.items()
    }
    made = kind(
        tuple(variables),
        settings=tables,
        **{name: as_tuples(settings[name]) for name in valid if name in settings},
        **({} if units is None else {"units": units}),
    )
    if not is_chain(made):
        raise InputError(f"synthesizer {name!r} takes variables, but is no chain of synthesizers")
    chain: Chain = made
    return chain


def _holds_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, (list, tuple)) and any(map(_holds_table, value))
    )
