"""Changes of a study's tables: columns left out, codes stated, other models, schemes and settings.
Each gives a new table.
"""

import copy
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from riskweighted.contract.synthesizer import chain_names, load_synthesizer
from riskweighted.design.formulas import sides, split_formula
from riskweighted.runs.study import AUTO, Study
from riskweighted.suggest.suggestion import quote_name

__all__ = [
    "Table",
    "as_chain",
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
_FACTOR = re.compile(r"\w+\([^()]*\)|`[^`]+`|[^\W\d]\w*")  # of a term: a call, or a column


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
        synthesizer["predictors"] = [
            name for name in synthesizer["predictors"] if name not in names
        ]
    for settings in synthesizer.get("variables", {}).values():
        if "formula" in settings:
            settings["formula"] = _formula_without(settings["formula"], names)
    table = table | {"synthesizer": synthesizer}
    release = table.get("release", {})
    reasons = {
        name: {key: why for key, why in release.get(name, {}).items() if key not in names}
        for name in ("derived", "hidden")
    }
    columns = (
        [name for name in release.get("columns", ()) if name not in names]
        if released
        else list(release.get("columns", ()))
    )
    return with_settings(table, "release", columns=columns, **reasons)


def _formula_without(formula: str, names: Sequence[str]) -> str:
    """The formula without some columns: of a term that names one of them, what stands in it beside
    stays by itself.
    """
    (left, right), kept = sides(formula), list[str]()
    for term in terms_of(right):
        parts = (
            _FACTOR.findall(term)
            if set(split_formula(f"{left} ~ {term}").names) & set(names)
            else [term]
        )
        kept += [
            part for part in parts if not set(split_formula(f"{left} ~ {part}").names) & set(names)
        ]
    return f"{left} ~ {' + '.join(dict.fromkeys(kept)) or '1'}"


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


def as_chain(table: Table, study: Study) -> Table:
    """A model of one variable as the chain that gives its statuses shares of their own."""
    given = table["synthesizer"]
    if "formula" not in given:
        return table
    own = {"support": given["support"]} if "support" in given else {}
    chain = {
        "name": chain_names()[0],
        "predictors": list(split_formula(given["formula"]).names),
        "variables": {study.target: own},
    }
    return table | {"synthesizer": chain}


def with_codes(table: Table, study: Study, codes: Mapping[str, Sequence[float]]) -> Table:
    synthesizer = copy.deepcopy(as_chain(table, study)["synthesizer"])
    for name, found in codes.items():
        synthesizer.setdefault("variables", {}).setdefault(name, {})["codes"] = list(found)
    return table | {"synthesizer": synthesizer}


def with_models(table: Table, other: Mapping[str, Mapping[str, Any]]) -> Table:
    given = copy.deepcopy(table["synthesizer"])
    if "formula" in given:
        ((_, settings),) = other.items()
        model = load_synthesizer(settings["model"])
        valid = {setting.name for setting in dataclasses.fields(model)}  # type: ignore[arg-type]
        kept = {
            name: value
            for name, value in given.items()
            if name in valid and name not in ("name", "priors")
        }
        bounds = {name: value for name, value in settings.items() if name == "support"}
        return table | {
            "synthesizer": {
                **bounds,
                **kept,
                "name": settings["model"],
                "formula": given["formula"],
            }
        }
    for name, settings in other.items():
        own = given["variables"][name]
        given["variables"][name] = {
            key: value
            for key, value in own.items()
            if key in ("codes", "formula", "applies_if", "else_value", "support")
        }
        given["variables"][name] |= {
            key: value for key, value in settings.items() if key not in given["variables"][name]
        }
    return table | {"synthesizer": given}


def with_splines(table: Table, names: Sequence[str]) -> Table:
    left, right = sides(table["synthesizer"]["formula"])
    terms = [
        f"spline({term})" if term in {quote_name(name) for name in names} else term
        for term in terms_of(right)
    ]
    return with_settings(table, "synthesizer", formula=f"{left} ~ {' + '.join(terms)}")


def with_choice(table: Table) -> Table:
    return table | {"synthesizer": {"name": AUTO, "formula": table["synthesizer"]["formula"]}}
