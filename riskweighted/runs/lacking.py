"""What a study lacks, where its model misfits: who is asked, a kind, a unit, or a predictor that
tells more than one in use.
"""

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.frames import holds_numbers
from riskweighted.common.settings import as_toml
from riskweighted.design.formulas import sides
from riskweighted.runs.edit_study import Table, as_chain, with_settings, without_columns
from riskweighted.runs.study import Study
from riskweighted.suggest.columns import ColumnSummary, look_at
from riskweighted.suggest.evidence import LEVELS, NUMBER, PLAYING, UNIT_ID
from riskweighted.suggest.kinds import kinds_of
from riskweighted.suggest.roles import giving_away, information_by_column, may_leave, sample_records
from riskweighted.suggest.suggestion import term_of
from riskweighted.suggest.universes import Universe, find_universes

__all__ = ["Lack", "find_lacks"]


class Lack(NamedTuple):
    """``reason``: what is lacking; ``what``: how a study says it; ``change``: of its tables, None
    where a person decides.
    """

    reason: str
    what: str
    change: Any = None


def find_lacks(study: Study, data: pd.DataFrame) -> list[Lack]:
    """What mends a misfit before another model does: units, universes and kinds, else the predictor
    that tells most.
    """
    data = data.drop(columns=list(study.altered[len(study.variables) :]))  # totals of units
    columns = {
        of.name: of
        for of in look_at(
            data, study.data.described, kinds_of(data, study.data.described, study.data.kinds)
        )
    }
    used = [
        name
        for name in study.synthesizer.columns_among(data.columns)
        if name not in study.variables and name in columns
    ]
    if study.guarantee is not None or not all(columns[name].usable for name in study.variables):
        return []
    coded = [columns[name] for name in used if columns[name].needs_stating]
    few = [columns[name] for name in used if columns[name].is_coded]
    found = [
        *_units(study, columns, used),
        *_universes(study, data, columns, used),
        *_kinds(study, data, coded),
    ]
    return found or list(_predictor(study, data, columns, used)) or list(_kinds(study, data, few))


def _units(study: Study, columns: Mapping[str, ColumnSummary], used: list[str]) -> Iterator[Lack]:
    """A variable that belongs to a unit, and an id of units that predicts."""
    for name in study.variables:
        if within := columns[name].found.within:
            yield Lack(
                f"{name} is the same in all records of one {within[0]}",
                f"it is a property of {within[0]}: synthesize it in a file with one record a "
                f"{within[0]}",
            )
    ids = [name for name in used if columns[name].kind == UNIT_ID]
    if ids:
        yield Lack(
            f"{', '.join(ids)} names units and predicts",
            f"leave it out of what predicts, and say [release] unit = {ids[0]!r}: hold-outs then "
            "leave out whole units",
            partial(_with_unit, ids=ids),
        )


def _with_unit(table: Table, ids: list[str]) -> Table:
    return with_settings(without_columns(table, ids), "release", unit=ids[0])


def _universes(
    study: Study, data: pd.DataFrame, columns: Mapping[str, ColumnSummary], used: list[str]
) -> Iterator[Lack]:
    """Gaps, and codes in their place, that another column tells, where the study has no rule."""
    leaving, stated = study.unaltered(data), study.synthesizer.settings.get("variables", {})
    distinct = {of.name: of.distinct for of in columns.values()}
    for place, name in enumerate(study.variables):
        if "applies_if" in stated.get(name, {}):
            continue
        askers = [
            of.name
            for of in columns.values()
            if of.usable and of.kind in PLAYING and of.name not in study.variables[place:]
        ]
        codes = {of.name: of.codes for of in columns.values()}
        rules = find_universes(data, [name], askers, codes, uncut=study.variables)
        rule = next(
            (rule for rule in rules if not rule.is_secret(distinct) and not rule.exceptions), None
        )
        if rule is None:
            continue
        lines = (
            as_toml({"applies_if": rule.when, "else_value": rule.setting})
            .strip()
            .replace("\n", ", ")
        )
        free = rule.by in {*leaving, *study.variables[:place]}
        yield Lack(
            f"{name} is {rule.setting} wherever not {rule.when}, {100 * rule.covered:.0f} % of "
            "all such: a question that not all are asked",
            f"[synthesizer.variables.{name}] {lines}"
            + ("" if free else f"; release {rule.by} for that, or band it until it may be"),
            partial(_with_rule, study=study, rule=rule, by=rule.by if rule.by in leaving else "")
            if free
            else None,
        )


def _with_rule(table: Table, study: Study, rule: Universe, by: str) -> Table:
    """A rule of who is asked; a column that decides it predicts, too."""
    synthesizer = copy.deepcopy(as_chain(table, study)["synthesizer"])
    synthesizer.setdefault("variables", {}).setdefault(rule.variable, {}).update(
        applies_if=rule.when, else_value=rule.setting
    )
    predictors = synthesizer.get("predictors", [])
    synthesizer["predictors"] = [*predictors, *([by] if by and by not in predictors else [])]
    return table | {"synthesizer": synthesizer}


def _kinds(study: Study, data: pd.DataFrame, coded: list[ColumnSummary]) -> Iterator[Lack]:
    """Codes that the model takes for amounts."""
    settings = str(study.synthesizer.formula or "")
    columns = {
        of.name: of
        for of in coded
        if holds_numbers(data[of.name]) and f"C({of.name})" not in settings
    }
    if names := list(columns):
        said = ", ".join(f'{name} = "{LEVELS}"' for name in names)
        yield Lack(
            f"{', '.join(names)}: codes that the model takes for amounts "
            f"({'; '.join(of.found.reason for of in columns.values())})",
            f"[data.kinds] {said}",
            partial(_with_kinds, names=names),
        )


def _with_kinds(table: Table, names: list[str]) -> Table:
    data = table.get("data", {})
    return with_settings(
        table, "data", kinds={**data.get("kinds", {}), **dict.fromkeys(names, LEVELS)}
    )


def _predictor(
    study: Study, data: pd.DataFrame, columns: Mapping[str, ColumnSummary], used: list[str]
) -> Iterator[Lack]:
    """The column that tells most of the variables, where that is more than the weakest predictor
    tells.
    """
    some = sample_records(data)
    free = [
        of
        for of in columns.values()
        if of.usable and of.kind in (LEVELS, NUMBER) and of.name not in {*used, *study.variables}
    ]
    told = information_by_column(some, [*free, *(columns[name] for name in used)], study.variables)
    weakest = min((name for name in used if name in told), key=told.__getitem__, default="")
    better = sorted(
        (of for of in free if told.get(of.name, 0.0) > max(told.get(weakest, 0.0), 0.0)),
        key=lambda of: -told[of.name],
    )
    better = [
        of
        for of in better
        if not giving_away(some, [of], [columns[name] for name in study.variables])
    ]
    if not better:
        return
    leaving = study.unaltered(data)
    able = next((of for of in better if of.name in leaving or may_leave(data, of, leaving)), None)
    of = able or better[0]
    than = (
        f"more of {', '.join(study.variables)} than {weakest}, which does" if weakest else "of it"
    )
    released = (
        ""
        if of.name in leaving
        else ", and name it in [release] columns, if it may be released unaltered"
    )
    yield Lack(
        f"{of.name} does not predict, and explains {than}",
        f"let {of.name} predict{released}"
        if able is not None
        else f"band {of.name} so that it may be released, then let it predict",
        None if able is None else partial(_with_predictor, term=term_of(of), name=of.name),
    )


def _with_predictor(table: Table, term: str, name: str) -> Table:
    synthesizer, release = copy.deepcopy(table["synthesizer"]), table.get("release", {})
    if "formula" in synthesizer:
        left, right = sides(synthesizer["formula"])
        synthesizer["formula"] = f"{left} ~ {term if right.strip() == '1' else f'{right} + {term}'}"
    else:
        synthesizer["predictors"] = [*synthesizer.get("predictors", []), name]
    known = table.get("scenario", {}).get("known", [])
    columns = list(dict.fromkeys([*release.get("columns", []), *([] if name in known else [name])]))
    return with_settings(table | {"synthesizer": synthesizer}, "release", columns=columns)
