"""What models have that was found in the data: bounds where a study gives none (METHODS section
5.8), and heaps, which many must hold.
"""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.found import found_numbers
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.design.precision import find_precision, round_to
from riskweighted.runs.study import AUTO, Study
from riskweighted.sequence.declared import is_chain
from riskweighted.suggest.default_bounds import default_bounds
from riskweighted.suggest.heaps import FEWEST_UNITS, few_hold

__all__ = ["add_found_bounds", "found_bounds_remarks", "refuse_heaps_of_few"]

_SUPPORT, _HEAPS = "support", "heaps"


def add_found_bounds(study: Study, confidential: pd.DataFrame) -> Study:
    """The study with the bounds that `init` would write for each variable whose model takes some,
    and which the study says nothing of.

    ``support = "none"`` says that there are none. A guarantee asks for public ones, and is left as
    it stands.
    """
    if study.guarantee is not None or study.synthesizer.name == AUTO:
        return study
    made, tables = study.make_synthesizer(), study.tables
    found = {
        name: _found(study, name, confidential, made)
        for name, table in tables.items()
        if _SUPPORT not in table
    }
    if not any(found.values()):
        return study
    settings = dict(study.synthesizer.settings)
    if study.synthesizer.formula is not None:
        settings |= found[study.target]
    else:
        settings["variables"] = {
            **settings.get("variables", {}),
            **{name: {**tables[name], **new} for name, new in found.items() if new},
        }
    return dataclasses.replace(
        study, synthesizer=dataclasses.replace(study.synthesizer, settings=settings)
    )


def found_bounds_remarks(written: Study, used: Study) -> list[str]:
    """That bounds were found for variables of which the study as it was written says nothing, in a
    sentence.
    """
    before, after = (
        {name: (_SUPPORT in table) for name, table in study.tables.items()}
        for study in (written, used)
    )
    names = [name for name, has in after.items() if has and not before[name]]
    if not names:
        return []
    return [
        f"no bounds are given of {listing(names)}: no draw exceeds those that `init` would "
        "write, found in the data and not shown in a "
        "release; give public ones, support = [LOW, HIGH], or say support = 'none'"
    ]


def _found(study: Study, name: str, confidential: pd.DataFrame, made: Any) -> dict[str, Any]:
    """The setting, where the model of a variable takes bounds and its amounts have some."""
    amounts, units = _amounts(study, name, confidential, made)
    try:
        model: Any = (
            made.value_model(name, amounts, f"`{name}` ~ 1")
            if is_chain(made) and len(amounts)
            else made
        )
        bounds = default_bounds(as_floats(amounts), units) if _takes_bounds(model) else None
        if bounds is not None:
            dataclasses.replace(model, **{_SUPPORT: bounds.support})
    except InputError:  # what is wrong with the model is said where it is prepared
        return {}
    return {} if bounds is None else {_SUPPORT: list(bounds.support)}


def _amounts(
    study: Study, name: str, confidential: pd.DataFrame, made: Any
) -> tuple[pd.Series, list[np.ndarray]]:
    """The amounts (k,) of a variable, without gaps and codes that the model knows, none of what are
    no numbers; and the number of the unit of each, where the study names units."""
    if name not in confidential or not holds_numbers(confidential[name]):
        return pd.Series(dtype=float), []
    values = confidential[name]
    codes = [*study.synthesizer.codes.get(name, ()), *getattr(made, "codes", ())]
    some = np.isfinite(as_floats(values)) & ~values.isin(codes).to_numpy(dtype=bool)
    unit = study.linking_column
    return values[some], [] if unit not in confidential else [
        pd.factorize(confidential[unit])[0][some]
    ]


def _takes_bounds(model: Any) -> bool:
    return dataclasses.is_dataclass(model) and _SUPPORT in {
        field.name for field in dataclasses.fields(model)
    }


# -- heaps


def refuse_heaps_of_few(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse heaps marked "found" that fewer than ten units hold, or records where a study names no
    units: `init` finds none such.
    """
    if study.synthesizer.name == AUTO:
        return
    made = study.make_synthesizer()
    for name, table in study.tables.items():
        heaps, found = found_numbers(
            table.get(_HEAPS, dict(table.get("value_settings", ())).get(_HEAPS, ()))
        )
        amounts, units = _amounts(study, name, confidential, made)
        if not found or not len(amounts):
            continue
        precision = find_precision(amounts)
        few = few_hold(
            round_to(np.array(heaps, dtype=float), precision).tolist(),
            as_floats(amounts),
            units or [np.arange(len(amounts))],
            precision,
        )
        if few:
            holders = f"units of {study.linking_column!r}" if units else "records"
            raise InputError(
                f"heaps of {name!r}: {len(few)} of {len(heaps)} marked 'found' are held by fewer "
                f"than {FEWEST_UNITS} {holders}; valid are "
                "values that so many hold, as `init` finds them, or public ones without the mark"
            )
