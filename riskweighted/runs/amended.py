"""Changes of a study's tables: columns left out, codes stated, other models, schemes and settings. Each gives a new table."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from riskweighted.contract.synthesizer import chain_names, load_synthesizer
from riskweighted.design.formulas import split_formula
from riskweighted.runs.study import AUTO, Study
from riskweighted.runs.suggestion import quoted

__all__ = [
    "Table",
    "terms_of",
    "with_choice",
    "with_codes",
    "with_models",
    "with_scheme",
    "with_settings",
    "with_splines",
    "without_columns",
]

Table = dict[str, Any]


def with_settings(table: Table, section: str, **settings: Any) -> Table:
    return table | {section: {**table.get(section, {}), **settings}}


def with_scheme(table: Table, old: str, new: str) -> Table:
    schemes = [new if scheme == old else scheme for scheme in table["weights"]["schemes"]]
    return with_settings(table, "weights", schemes=list(dict.fromkeys(schemes)))


def without_columns(table: Table, names: Sequence[str], *, released: bool = True) -> Table:
    """Columns left out of what predicts, and of what leaves."""
    synthesizer = copy.deepcopy(table["synthesizer"])
    if "formula" in synthesizer:
        synthesizer["formula"] = _formula_without(synthesizer["formula"], names)
    if "predictors" in synthesizer:
        synthesizer["predictors"] = [name for name in synthesizer["predictors"] if name not in names]
    for settings in synthesizer.get("variables", {}).values():
        if "formula" in settings:
            settings["formula"] = _formula_without(settings["formula"], names)
    table = table | {"synthesizer": synthesizer}
    if not released:
        return table
    columns = [name for name in table.get("release", {}).get("columns", ()) if name not in names]
    return with_settings(table, "release", columns=columns)


def _formula_without(formula: str, names: Sequence[str]) -> str:
    """The formula without every term that names one of some columns."""
    left = formula.split("~")[0].strip()
    kept = [term for term in terms_of(split_formula(formula).right) if not set(split_formula(f"{left} ~ {term}").names) & set(names)]
    return f"{left} ~ {' + '.join(kept) or '1'}"


def terms_of(right: str) -> list[str]:
    """What stands between the plus signs outside brackets and quotes."""
    terms, depth, quote, start = list[str](), 0, False, 0
    for place, sign in enumerate(right):
        quote ^= sign == "`"
        depth += 0 if quote else (sign == "(") - (sign == ")")
        if sign == "+" and not depth and not quote:
            terms.append(right[start:place])
            start = place + 1
    return [term.strip() for term in [*terms, right[start:]]]


def _as_chain(table: Table, study: Study) -> Table:
    """A model of one variable as the chain that gives its statuses shares of their own."""
    given = table["synthesizer"]
    if "formula" not in given:
        return copy.deepcopy(given)
    own = {"support": given["support"]} if "support" in given else {}
    return {
        "name": chain_names()[0],
        "predictors": list(split_formula(given["formula"]).names),
        "variables": {study.target: own},
    }


def with_codes(table: Table, study: Study, codes: Mapping[str, Sequence[float]]) -> Table:
    synthesizer = _as_chain(table, study)
    for name, found in codes.items():
        own = synthesizer.setdefault("variables", {}).setdefault(name, {})
        own["codes"] = list(found)
    scenario = table["scenario"]  # the values that are codes are no decision about the intruder; a chain states them too
    return table | {"synthesizer": synthesizer, "scenario": scenario}


def with_models(table: Table, other: Mapping[str, Mapping[str, Any]]) -> Table:
    given = copy.deepcopy(table["synthesizer"])
    if "formula" in given:
        ((_, settings),) = other.items()
        valid = {setting.name for setting in dataclasses.fields(load_synthesizer(settings["model"]))}  # type: ignore[arg-type]
        kept = {name: value for name, value in given.items() if name in valid and name not in ("name", "priors")}
        bounds = {name: value for name, value in settings.items() if name == "support"}
        return table | {"synthesizer": {**bounds, **kept, "name": settings["model"], "formula": given["formula"]}}
    for name, settings in other.items():
        own = given["variables"][name]
        given["variables"][name] = {key: value for key, value in own.items() if key in ("codes", "formula", "when", "otherwise", "support")}
        given["variables"][name] |= {key: value for key, value in settings.items() if key not in given["variables"][name]}
    return table | {"synthesizer": given}


def with_splines(table: Table, names: Sequence[str]) -> Table:
    left, right = (part.strip() for part in table["synthesizer"]["formula"].split("~"))
    terms = [f"spline({term})" if term in {quoted(name) for name in names} else term for term in terms_of(right)]
    return with_settings(table, "synthesizer", formula=f"{left} ~ {' + '.join(terms)}")


def with_choice(table: Table) -> Table:
    return table | {"synthesizer": {"name": AUTO, "formula": table["synthesizer"]["formula"]}}
