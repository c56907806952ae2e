"""Next year's file by last year's study: what a person said stays, what was found is found again,
what is no longer true is listed.

The result is a table as `riskweighted.runs.edit_study` changes them, and lines that say what is
new, gone or no longer true. A line holds rules as the study states them, counts, and no other value
of the data.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import path_from, real_path
from riskweighted.common.errors import InputError
from riskweighted.common.found import is_found, mark_found
from riskweighted.common.settings import as_toml, read_toml
from riskweighted.common.text import plain
from riskweighted.data.variable import Variable
from riskweighted.design.formulas import split_formula
from riskweighted.runs.edit_study import Table, without_columns
from riskweighted.runs.sections import SynthesizerSettings
from riskweighted.runs.study import Study, read_study
from riskweighted.sequence.edit_rules import Rules, Structure
from riskweighted.suggest.columns import ColumnSummary
from riskweighted.suggest.default_bounds import FoundBounds
from riskweighted.suggest.evidence import PLAYING, TIME
from riskweighted.suggest.kinds import check_kinds, kinds_of
from riskweighted.suggest.suggestion import Suggestion, min_radius_of, radius_of
from riskweighted.utility.regressions import split_regression

__all__ = ["LastYear", "carry_over", "carry_over_text", "kinds_that_stay"]

# tables by column
_BY_NAME = (
    "kinds",
    "variables",
    "radius",
    "radius_kind",
    "min_radius",
    "codes",
    "precision",
    "hidden",
    "derived",
)
_COLUMNS = ("known", "synthetic", "categorical", "columns")  # lists of columns
_COLUMN = ("unit", "cluster", "survey", "strata", "psu", "fpc")
_RULES = ("order", "forbidden", "implied", "sums")
_LAYOUT = ("delimiter", "decimal", "thousands", "encoding", "missing")


class LastYear(NamedTuple):
    """A study file: its ``table`` as it is written, what it says, and its ``data``, None where they
    are no longer there. Confidential.
    """

    table: Table
    study: Study
    folder: Path
    data: pd.DataFrame | None

    @classmethod
    def read(cls, path: Path) -> "LastYear":
        """The study of a file, and its data where they can be read."""
        folder, table = path.absolute().parent, read_toml(path, "study")
        study = read_study(table, folder)
        try:
            return cls(table, study, folder, study.read_data())
        except InputError:
            return cls(table, study, folder, None)

    def seen_from(self, folder: Path) -> "LastYear":
        """The same with the policy that it names as a file of its folder named from another one."""
        thresholds = self.table.get("thresholds", {})
        policy = thresholds.get("policy")
        if not isinstance(policy, str) or not (self.folder / policy).is_file():
            return self
        return self._replace(
            table=self.table
            | {"thresholds": {**thresholds, "policy": path_from(folder, self.folder / policy)}}
        )

    @property
    def named(self) -> Path | None:
        """The file that says what the columns are, unless it is the data themselves."""
        said, path = self.study.data.variables, self.study.data.path
        return (
            None
            if said is None or (path is not None and real_path(said) == real_path(path))
            else said
        )

    def uses(self, columns: Sequence[str]) -> list[str]:
        """Those of some columns that are known, synthesized, predict, or leave."""
        study = self.study
        listed = {
            *study.scenario.known,
            *study.variables,
            *study.release.columns,
            *study.synthesizer.columns_among(columns),
        }
        return [name for name in columns if name in listed]

    def gone(self, columns: Sequence[str]) -> list[str]:
        """The columns that the study or its data have, and that are none of these."""
        study, evaluation = self.study, self.study.evaluation
        single = (
            study.linking_column,
            study.weights.survey,
            evaluation.survey,
            evaluation.strata,
            evaluation.psu,
            evaluation.fpc,
        )
        named = [
            *study.variables,
            *study.scenario.known,
            *study.synthesizer.columns,
            *study.release.columns,
            *study.data.kinds,
        ]
        held = [] if self.data is None else list(map(str, self.data.columns))
        return [
            name
            for name in dict.fromkeys([*named, *filter(None, single), *held])
            if name not in columns
        ]


def kinds_that_stay(
    last: LastYear,
    data: pd.DataFrame,
    described: Mapping[str, Variable] | None,
    stated: Mapping[str, str],
) -> tuple[dict[str, str], list[str]]:
    """Kinds to state of the columns of new data, and what is to be said of them.

    Those that the study states, and those that its columns had by the old data and would not have
    by the new ones, as long as the columns can have them; `stated` comes before both.
    """
    said = {name: kind for name, kind in last.study.data.kinds.items() if name in data}
    guessed = dict[str, str]()
    if last.data is not None:
        before = (
            {of.name: of.kind for of in kinds_of(last.data, described, last.study.data.kinds)}
            if _fit(last)
            else {}
        )
        now = {of.name: of.kind for of in kinds_of(data, described)}
        used = last.uses(list(map(str, data.columns)))
        guessed = {
            name: before[name]
            for name in used
            if before.get(name) in PLAYING and before[name] != now[name]
        }
    kept, lines = dict(stated), list[str]()
    for name, kind in {**guessed, **said}.items():
        if name in stated:
            continue
        try:
            check_kinds(data, {name: kind})
        except InputError as error:
            lines.append(
                f"no longer true: {error}: it is not stated, see what {plain(name)} is now"
            )
            continue
        kept[name] = kind
        if name not in said:
            lines.append(
                f"{plain(name)} was {kind} and looks like {now[name]} now: it stays what it was, "
                "stated in [data.kinds]"
            )
    return kept, lines


def _fit(last: LastYear) -> bool:
    """Whether the old data still have the kinds that the study states."""
    try:
        check_kinds(pd.DataFrame() if last.data is None else last.data, last.study.data.kinds)
    except InputError:
        return False
    return True


def carry_over(
    last: LastYear,
    data: pd.DataFrame,
    suggestion: Suggestion,
    kinds: Mapping[str, str],
    place: Mapping[str, Any],
) -> tuple[Table, list[str]]:
    """The table of last year's study for new data, and what is new, gone or no longer true.

    `suggestion`: what is suggested for the new data and the same targets; `kinds`: those that are
    stated; `place`: the settings of [data] that say where the new data are and how they are read.
    """
    columns = {of.name: of for of in suggestion.columns}
    gone = last.gone([of.name for of in suggestion.columns])
    table, lines = _without(last, gone)
    said = {
        name: value
        for name, value in table["data"].items()
        if name not in ("path", "embedded", "variables", "kinds", *_LAYOUT)
    }
    used = last.uses(list(columns))
    stated = {**kinds, **{name: columns[name].kind for name in used if columns[name].needs_stating}}
    table = table | {"data": {**place, **said, **({"kinds": stated} if stated else {})}}
    lines += [
        *_new_columns(last, columns),
        *_levels(last, data, [columns[name] for name in used]),
        *_units(last, data, columns),
    ]
    lines += _bounds(last, suggestion)
    changed = _found_again(table, "", suggestion.targets[0], suggestion, lines)
    table, lines = _products(changed, suggestion), list(dict.fromkeys(lines))
    table, broken = _rules(table, data, suggestion)
    return table, [*lines, *broken]


def carry_over_text(table: Table, lines: Sequence[str], data: Path, like: Path) -> str:
    """The study file: the lines as comments, and the table."""
    told = [f"# - {line}" for line in lines] or ["# - nothing: all that was stated holds"]
    head = [
        f"# The study of {plain(data.name)} by {plain(like.name)}: `riskweighted init --like`. "
        "What was said there stays.",
        '# Confidential: what has the mark "found" was found again in the new data.',
        "# New, gone or no longer true:",
        *told,
        "# Next: riskweighted check FILE, then riskweighted run FILE",
    ]
    return "\n".join(head) + "\n" + as_toml(table)


# -- gone and new


def _without(last: LastYear, gone: Sequence[str]) -> tuple[Table, list[str]]:
    """The table without columns that are gone, and without what names them."""
    if not gone:
        return dict(last.table), []
    table = (
        without_columns(last.table, gone)
        if {*gone} & {*last.study.synthesizer.columns}
        else dict(last.table)
    )
    dropped = list[str]()
    table = {section: _less(value, section, {*gone}, dropped) for section, value in table.items()}
    if isinstance(table["scenario"].get("synthetic"), str) and last.study.target in gone:
        raise InputError(
            f"the file has no column {last.study.target!r}, which the study synthesizes"
        )
    lines = [
        "gone: column "
        f"{plain(name)}{'' if name in _named_by(last) else ', which the study does not use'}"
        for name in gone
    ]
    return table, [*lines, *(f"gone with its columns: {text}" for text in dropped)]


def _named_by(last: LastYear) -> set[str]:
    return set(last._replace(data=None).gone([]))


def _less(value: Any, setting: str, gone: set[str], dropped: list[str]) -> Any:
    """A setting without what is gone; regressions that name it are added to `dropped`."""
    if isinstance(value, Mapping):
        kept = {
            name: inner
            for name, inner in value.items()
            if not (setting in _BY_NAME and name in gone)
            and not (name in _COLUMN and inner in gone)
            and inner != {}
        }
        if isinstance(kept.get("regression"), str) and _regressed(kept["regression"]) & gone:
            dropped.append(as_toml({"regression": kept.pop("regression")}).strip())
            kept.pop("coefficient", None)
        return {name: _less(inner, name, gone, dropped) for name, inner in kept.items()}
    if setting == "regressions" and isinstance(value, list):
        dropped += [text for text in value if _regressed(text) & gone]
        return [text for text in value if not _regressed(text) & gone]
    if setting in _COLUMNS and isinstance(value, list):
        return [name for name in value if name not in gone]
    return [] if setting == "known" and value in gone else value


def _regressed(text: str) -> set[str]:
    return set(split_formula(split_regression(text).plain).names)


def _new_columns(last: LastYear, columns: Mapping[str, ColumnSummary]) -> Iterator[str]:
    if last.data is None:
        yield (
            "the data of last year are not there or cannot be read: which columns, levels and "
            "units are new is not said"
        )
        return
    for name, column in columns.items():
        if name not in last.data:
            yield f"new: column {plain(name)} ({column.kind}), which the study does not use"


def _levels(last: LastYear, data: pd.DataFrame, columns: Sequence[ColumnSummary]) -> Iterator[str]:
    """How many levels of columns in use are new or gone."""
    for column in columns:
        if last.data is None or column.name not in last.data or not column.enters_as_levels:
            continue
        before, now = _values(last.data[column.name]), _values(data[column.name])
        counts = {"new": len(now - before), "gone": len(before - now)}
        told = [
            f"{count} level{'s'[: count != 1]} {'is' if count == 1 else 'are'} {what}"
            for what, count in counts.items()
            if count
        ]
        if told:
            yield f"{plain(column.name)}: {', '.join(told)}"


def _values(column: pd.Series) -> set[str]:
    """The different values as texts; 1 and 1.0 are one."""
    return {
        f"{value:.15g}" if isinstance(value, (int, float, np.number)) else str(value)
        for value in column.dropna().unique()
    }


def _units(
    last: LastYear, data: pd.DataFrame, columns: Mapping[str, ColumnSummary]
) -> Iterator[str]:
    """Times at which a unit had one record, and has several."""
    unit = last.study.linking_column
    if unit is None or unit not in data or last.data is None or unit not in last.data:
        return
    for time in (of.name for of in columns.values() if of.kind == TIME and of.name in last.data):
        twice = int(data.duplicated([unit, time]).sum())
        if twice and not last.data.duplicated([unit, time]).any():
            yield (
                f"no longer true: {plain(unit)} and {plain(time)} named one record, and {twice} "
                "repeat one: correct the data, or the unit"
            )


# -- found again


def _bounds(last: LastYear, suggestion: Suggestion) -> Iterator[str]:
    """Bounds, found last year or stated, that values exceed now."""
    columns = {of.name: of for of in suggestion.columns}
    for name, settings in last.study.tables.items():
        support = settings.get("support")
        if not isinstance(support, list) or len(support) < 2 or name not in columns:
            continue
        amounts = columns[name].amounts
        low, high = (end if isinstance(end, (int, float)) else np.nan for end in support[:2])
        beyond = int(((amounts < low) | (amounts > high)).sum())
        again = suggestion.bounds.get(name) if is_found(support) else None
        if beyond and (again is None or list(again.support) != support):
            what = (
                "found last year: they are found again"
                if is_found(support)
                else "stated in support: they stay, edit them if they are wrong"
            )
            yield (
                f"{plain(name)}: {beyond} record{'s lie' if beyond > 1 else ' lies'} beyond the "
                f"bounds {what}"
            )


def _found_again(
    value: Any, setting: str, variable: str, suggestion: Suggestion, lines: list[str]
) -> Any:
    """A setting with what was found in the data found again; None where there is no such thing any
    more.
    """
    if is_found(value) and setting == "heaps":
        return mark_found(list(held)) if (held := suggestion.shared.get(variable)) else None
    if (
        is_found(value)
        and setting in _AGAIN
        and any(of.name == variable for of in suggestion.columns)
    ):
        return _again(
            value, setting, suggestion.column(variable), suggestion.bounds.get(variable), lines
        )
    if isinstance(value, Mapping):
        made = {
            name: _found_again(
                inner,
                setting if setting in _BY_NAME and not isinstance(inner, Mapping) else "",
                name,
                suggestion,
                lines,
            )
            if setting in _BY_NAME
            else _found_again(inner, name, variable, suggestion, lines)
            for name, inner in value.items()
        }
        return {name: inner for name, inner in made.items() if inner is not None}
    if setting == "value_settings" and isinstance(value, list):
        pairs = [
            [name, _found_again(inner, name, variable, suggestion, lines)] for name, inner in value
        ]
        return [pair for pair in pairs if pair[1] is not None] or None
    return value


# settings, besides heaps, that `init` finds in a column
_AGAIN = ("radius", "min_radius", "codes", "support")


def _again(
    value: list[Any],
    setting: str,
    column: ColumnSummary,
    bounds: FoundBounds | None,
    lines: list[str],
) -> Any:
    """What is found of a column now."""
    name, amounts = plain(column.name), column.amounts
    if setting == "codes":
        # a rule asks for zero
        codes = [
            *column.codes,
            *([0.0] if 0 in value[:-1] and column.zero and 0 not in column.codes else []),
        ]
        if {*value[:-1]} != {*codes}:
            lines.append(
                f"{name}: other likely special codes are found ({len(codes)}, there were "
                f"{len(value) - 1}): check them"
            )
        return (
            mark_found([int(code) if float(code).is_integer() else code for code in codes])
            if codes
            else None
        )
    if setting == "support" and bounds is not None:
        return list(bounds.support)
    if setting == "min_radius":
        return mark_found(least) if len(amounts) and (least := min_radius_of(column)) else None
    if setting == "radius" and len(amounts):
        radius, kind = radius_of(column)
        if kind == "absolute":
            return mark_found(radius)
        lines.append(
            f"{name}: a radius of 20 % would do now; that of last year stays, in its units: "
            "check it"
        )
        return value
    lines.append(f"{name}: no bounds are found now: state public ones, support = [LOW, HIGH]")
    return None


def _products(table: Table, suggestion: Suggestion) -> Table:
    """With the products that are found now in the place of those that were, and without those of
    columns that are gone.
    """
    given = dict(table["synthesizer"])
    before, named = given.pop("products", []), {*given.get("predictors", ()), *suggestion.targets}
    products = [product for product in before if not is_found(product) and {*product} <= named]
    of_now = suggestion.products if any(map(is_found, before)) else ()
    for pair in dict.fromkeys(
        (of.when, of.levels) for of in of_now if {of.when, of.levels} <= named
    ):
        products.append(
            mark_found([*pair, *(of.variable for of in of_now if (of.when, of.levels) == pair)])
        )
    # tables come last
    variables = {"variables": given.pop("variables")} if "variables" in given else {}
    return table | {
        "synthesizer": {**given, **({"products": products} if products else {}), **variables}
    }


# -- rules


def _rules(table: Table, data: pd.DataFrame, suggestion: Suggestion) -> tuple[Table, list[str]]:
    """Without the rules that have exceptions in the data, or cannot be read any more, which are
    listed so that they can be put back.
    """
    given, lines = dict(table["synthesizer"]), list[str]()
    if "formula" in given:
        return table, []
    codes = SynthesizerSettings.from_table(given, "synthesizer").codes
    violations = given.get("violations", "error")

    def holds(what: str, **rule: Any) -> bool:
        """Whether a rule may stand; says what became of it."""
        try:
            rules = Rules(suggestion.targets, codes=codes, violations=violations, **rule)
            rules.check(data)
            count = sum(exceptions for _, exceptions in rules.broken(data))
        except InputError as error:
            lines.append(f"no longer true, and left out: {what}: {error}")
            return False
        some = f"{count} record{'s break' if count != 1 else ' breaks'} it now"
        if count and violations == "error":
            lines.append(f"no longer true, {some}, and left out: {what}")
        elif count:
            lines.append(
                f"no longer true, {some}; kept, since violations = 'exclude' leaves such "
                f"records out: {what}"
            )
        return not count or violations != "error"

    for setting in _RULES:
        if setting in given:
            kept = [
                rule
                for rule in given[setting]
                if holds(as_toml({setting: [rule]}).strip(), **{setting: [rule]})
            ]
            given = {name: value for name, value in given.items() if name != setting} | (
                {setting: kept} if kept else {}
            )
    variables = {name: dict(settings) for name, settings in given.get("variables", {}).items()}
    for name, settings in variables.items():
        asked = {key: settings[key] for key in ("applies_if", "else_value") if key in settings}
        structure = (
            Structure.read(
                name,
                asked.get("applies_if"),
                asked.get("else_value"),
                f"synthesizer.variables.{name}",
            )
            if asked
            else None
        )
        if structure is None or holds(
            f"{plain(name)}: {', '.join(as_toml(asked).splitlines())}", structures=[structure]
        ):
            continue
        variables[name] = {key: value for key, value in settings.items() if key not in asked}
        rule = suggestion.asked_of(name)
        if rule is not None:
            text = ", ".join(
                as_toml({"applies_if": rule.when, "else_value": "missing"}).splitlines()
            )
            lines.append(
                f"{plain(name)}: what holds now is {text}: declare it if it is a rule of the survey"
            )
    if "variables" in given:  # tables come last
        given = {name: value for name, value in given.items() if name != "variables"} | {
            "variables": variables
        }
    return table | {"synthesizer": given}, lines
