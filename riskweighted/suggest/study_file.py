"""A suggested study as the text of a study file in which every line says why it stands there."""

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from riskweighted.common.checks import path_from
from riskweighted.common.errors import listing
from riskweighted.common.found import mark_found
from riskweighted.common.settings import as_toml
from riskweighted.common.text import plain
from riskweighted.data.csv_layout import CsvLayout
from riskweighted.data.parts import FITTED
from riskweighted.suggest.column_names import AGE
from riskweighted.suggest.columns import ColumnSummary
from riskweighted.suggest.evidence import NUMBER
from riskweighted.suggest.suggestion import Suggestion, min_radius_of, radius_of
from riskweighted.suggest.survey_columns import SurveyColumns

__all__ = ["carries_values", "study_file_text"]

_MOST_NEARLY = 10  # rules that a few records break, which are named
_OF_LONELY = 5  # datasets, where records are alone in what leaves
# of files of fewer records, or units where these have some; 20 of others
_DATASETS = {600: 5, 2_000: 10}
_WIDTH = 108  # from which on a remark stands above its line


def study_file_text(
    suggestion: Suggestion,
    data: Path,
    folder: Path,
    layout: CsvLayout | None = None,
    variables: Path | None = None,
) -> str:
    """A commented study file that lies in `folder`; `data`: the file of the confidential data;
    `layout`: of a csv; `variables`: the file that says what the columns are.
    """
    parts = [
        _head(suggestion, data),
        [*_data(data, folder, layout, variables), *_fitted(suggestion)],
        _kinds(suggestion),
        _scenario(suggestion),
        _units(suggestion),
        _synthesizer(suggestion),
        _weights(suggestion),
        _release(suggestion),
        _evaluation(suggestion),
        _THRESHOLDS,
    ]
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def carries_values(suggestion: Suggestion) -> bool:
    """Whether the text holds anything that was read off the values of the data: then the file is
    its owner's only.
    """
    targets = [suggestion.column(name) for name in suggestion.targets]
    measured = any(column.is_number and radius_of(column)[1] == "absolute" for column in targets)
    told = [
        *targets,
        *(suggestion.column(name) for name in suggestion.predictors if suggestion.chain),
    ]
    measured = measured or any(map(min_radius_of, targets)) or any(column.codes for column in told)
    return bool(
        measured
        or suggestion.beyond
        or suggestion.rules
        or suggestion.nearly
        or suggestion.products
    )


def _set(name: str, value: Any, why: str = "") -> list[str]:
    """A setting with its remark, after it or above it."""
    line = as_toml({name: value}).strip()
    if not why:
        return [line]
    return [f"{line}  # {why}"] if len(line) + len(why) < _WIDTH else [*_remark(why), line]


def _remark(text: str) -> list[str]:
    """Text as lines of a comment."""
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False
    )


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(as_toml({name: value}).strip() for name, value in table.items()) + " }"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.005 else "under 0.5 %"


def _head(suggestion: Suggestion, data: Path) -> list[str]:
    records = suggestion.columns[0].records
    lines = [
        f"# A first study of {plain(data.name)} ({records:,} records, {len(suggestion.columns)} "
        "columns), to edit: `riskweighted init`.",
        "# It was guessed from the columns. What an intruder knows, how close is close and what "
        "is public are yours to say.",
    ]
    if carries_values(suggestion):
        lines.append(
            "# Confidential: it holds codes, rules, bounds, or units of the size of the values, "
            "that were found in the data."
        )
    lines += ["# Next: riskweighted check FILE, then riskweighted run FILE", "seed = 1"]
    return lines


_LARGE = 500_000  # records of a file of which a sample is fitted
_LAID_OUT = {
    "delimiter": "between columns, guessed",
    "decimal": "before decimals, guessed",
    "thousands": "between groups of three digits, guessed",
    "encoding": "guessed; a csv of the release is written alike",
    "missing": "cells that hold no number, and mean none, in columns of numbers",
}


def _data(data: Path, folder: Path, layout: CsvLayout | None, variables: Path | None) -> list[str]:
    lines = ["[data]", *_set("path", path_from(folder, data), "relative to this file")]
    lines += [
        line
        for name, value in (layout.stated if layout is not None else {}).items()
        for line in _set(name, value, _LAID_OUT[name])
    ]
    why = (
        "labels, missing codes and types; they are released, too, as public documentation of "
        "the survey"
    )
    return (
        lines
        if variables is None
        else [*lines, *_set("variables", path_from(folder, variables), why)]
    )


def _fitted(suggestion: Suggestion) -> list[str]:
    """To how many records of a large file models are fitted, unless these belong to units."""
    records = suggestion.columns[0].records
    if records < _LARGE or suggestion.units:
        return []
    why = (
        f"of {records:,} records, the same share of every known pattern; all are drawn for and "
        "measured (leave it out to fit all)"
    )
    return _set("fitted", FITTED, why)


def _kinds(suggestion: Suggestion) -> list[str]:
    """What the study says of the kinds of columns, and what it asks of whoever reads it."""
    stated = [
        _set(name, kind, suggestion.column(name).found.reason)
        for name, kind in suggestion.kinds.items()
    ]
    asked = [
        f"# {plain(of.found.name)}: {of.found.question}"
        for of in suggestion.columns
        if of.found.question
    ]
    return (
        ["[data.kinds]", *(line for lines in stated for line in lines), *asked]
        if stated or asked
        else []
    )


_THRESHOLDS = [
    "[thresholds]",
    '# policy = "example"  # what your agency asks of a release, as a file of its own; the '
    "report then says who keeps to it",
]


# -- scenario


def _scenario(suggestion: Suggestion) -> list[str]:
    targets = [suggestion.column(name) for name in suggestion.targets]
    lines = ["[scenario]"]
    lines += _set("known", list(suggestion.known), _why_known(suggestion))
    single = len(targets) == 1
    why = (
        "guessed: is this the sensitive variable? init --synthetic A --synthetic B takes others"
        if suggestion.chosen
        else ""
    )
    lines += _set(
        "synthetic",
        suggestion.targets[0] if single else list(suggestion.targets),
        why or ("" if single else "drawn in this order"),
    )
    categorical = [column.name for column in targets if column.coded]
    lines += (
        _set("categorical", categorical, "codes, although they read as numbers")
        if categorical
        else []
    )
    lines += _radius([column for column in targets if column.is_number and len(column.amounts)])
    least = {
        column.name: mark_found(value) for column in targets if (value := min_radius_of(column))
    }
    if least:
        why = "in the variable's units: a fifth of next to nothing is next to nothing. Adjust it"
        lines += (
            _set("min_radius", least[targets[0].name], why)
            if single
            else [*_remark(why), f"min_radius = {_inline(least)}"]
        )
    coded = {column.name: _codes(column, column.codes) for column in targets if column.codes}
    if coded:
        lines.append(
            f"# Likely special codes, found in the data ({_code_shares(targets)}): no amounts. "
            "Check them in the documentation"
        )
        lines.append(f"codes = {_inline(coded)}")
    return lines + [
        line
        for name, why in suggestion.left_out.items()
        if suggestion.together is None or name != suggestion.together.id
        for line in _remark(f"not used: {plain(name)}: {why}")
    ]


def _why_known(suggestion: Suggestion) -> str:
    coarse = [
        of
        for of in suggestion.columns
        if of.groups and of.usable and of.name not in (*suggestion.known, *suggestion.targets)
    ]
    banded = "".join(
        f"; {plain(of.name)} has {of.distinct} levels in {of.groups} groups: give these a column "
        "to be known"
        for of in coarse
    )
    asked = [of for of in suggestion.columns if of.kind == NUMBER and AGE(of.name) and of.usable]
    others = [of for of in asked if of.name not in (*suggestion.known, *suggestion.targets)]
    banded += "".join(
        f"; who looks for somebody knows {plain(of.name)}: band it, and name the bands here"
        for of in others
    )
    if not suggestion.known:
        return (
            "no column whose levels many share: name what an intruder may know of a record" + banded
        )
    levels = ", ".join(
        f"{plain(name)} {suggestion.column(name).distinct}" for name in suggestion.known
    )
    return f"shared by many ({levels}), as a register has them: {suggestion.crowd}{banded}"


def _code_shares(targets: list[ColumnSummary]) -> str:
    return ", ".join(
        f"{_share(column.of_codes)} of {plain(column.name)}" for column in targets if column.codes
    )


def _codes(column: ColumnSummary, codes: Sequence[float]) -> list[Any]:
    """Codes as a setting; those that nobody declares are marked as found in the data."""
    whole: list[Any] = [_whole(code) for code in codes]
    return whole if column.codes_stated or not column.codes else mark_found(whole)


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _radius(numbers: list[ColumnSummary]) -> list[str]:
    """How close is close, for each number where they differ."""
    if not numbers:
        return ["# levels are matched by equality: no radius"]
    radii = {column.name: radius_of(column) for column in numbers}
    values = {
        name: mark_found(radius) if kind == "absolute" else radius
        for name, (radius, kind) in radii.items()
    }
    kinds = {name: kind for name, (_, kind) in radii.items() if kind == "absolute"}
    if not kinds:
        return _set("radius", 0.2, "within 20 % of the true value counts as close")
    why = f"{', '.join(map(plain, kinds))} in its units, since 20 % would span most of its values"
    if len(radii) == 1:
        return [*_set("radius", next(iter(values.values())), why), *_set("radius_kind", "absolute")]
    return [f"# {why}", f"radius = {_inline(values)}", f"radius_kind = {_inline(kinds)}"]


# -- synthesizer


def _synthesizer(suggestion: Suggestion) -> list[str]:
    return _chain(suggestion) if suggestion.chain else _single(suggestion)


def _single(suggestion: Suggestion) -> list[str]:
    column = suggestion.column(suggestion.targets[0])
    lines = [
        "[synthesizer]",
        *_set("name", suggestion.models[column.name], _why_model(suggestion, column)),
    ]
    lines += _set("formula", suggestion.formula, _why_predictors(suggestion))
    lines += _bounds(suggestion, column)
    lines.append(
        '# name = "auto"  # instead: a run compares the models that take the data, and says '
        "which it chose"
    )
    mixture = suggestion.mixture
    if mixture is not None:
        lines.append(
            f"# or a mixture with the same formula, K = {mixture.components} by Schwarz's "
            "criterion of the values alone:"
        )
        lines.append(f'# name = "{mixture.name}"')
        lines.append(f"# components = {mixture.components}")
        if mixture.transform:
            lines.append(f'# transform = "{mixture.transform}"  # {mixture.why}')
        if mixture.transform == "asinh":
            lines.append(f"# transform_constant = {mixture.constant:g}")
    return lines


def _chain(suggestion: Suggestion) -> list[str]:
    lines = ["[synthesizer]", *_set("name", suggestion.chain, _why_chain(suggestion))]
    lines += _set("predictors", list(suggestion.predictors), _why_predictors(suggestion))
    if suggestion.recodes:
        lines += _set(
            "recoding",
            "statuses",
            "zeros predict by indicators, as codes and gaps do, numbers on a grid",
        )
    lines += [*_products(suggestion), *_rules(suggestion)]
    # a code of levels is one of them
    for name in (name for name in suggestion.predictors if name not in suggestion.kinds):
        if column_codes := _codes(suggestion.column(name), suggestion.column(name).codes):
            lines += [
                "",
                _header(name),
                *_set("codes", column_codes, "no amounts of what predicts: an indicator each"),
            ]
    for name in suggestion.targets:
        column = suggestion.column(name)
        lines += [
            "",
            _header(name),
            *_remark(
                f"{suggestion.models[name] or 'a model by type'}: {_why_model(suggestion, column)}"
            ),
        ]
        lines += _universes(suggestion, name)
        if codes := suggestion.codes_of(name):
            lines += _set(
                "codes", _codes(column, codes), "found in the data; each has a share of its own"
            )
        lines += _bounds(suggestion, column)
    return lines


def _products(suggestion: Suggestion) -> list[str]:
    """What is multiplied, each with the share by which the log loss of a status falls."""
    if not suggestion.products:
        return []
    why = (
        "found in the data: where the first holds, each level of the second has its own odds "
        "that what follows is zero or missing"
    )
    lines = list[str]()
    for when, levels in dict.fromkeys((of.when, of.levels) for of in suggestion.products):
        gains = {
            of.variable: of.gain
            for of in suggestion.products
            if (of.when, of.levels) == (when, levels)
        }
        text = as_toml({"a": mark_found([when, levels, *gains])}).strip().removeprefix("a = ")
        falls = " and ".join(
            f"of {plain(name)} falls by {100 * gain:.0f} %" for name, gain in gains.items()
        )
        lines.append(f"  {text},  # log loss {falls}")
    return [*_remark(why), "products = [", *lines, "]"]


def _universes(suggestion: Suggestion, name: str) -> list[str]:
    """Who is asked for a target: in force where it is certain, and no secret; else for a person to
    declare.
    """
    lines, stated = list[str](), suggestion.asked_of(name)
    for rule in suggestion.universes:
        if rule.variable != name:
            continue
        what = str(rule.setting)
        why = (
            f"{plain(name)} is {what} wherever this does not hold, {_share(rule.covered)} of all "
            f"that are {what}"
        )
        setting = [*_set("applies_if", rule.when), *_set("else_value", rule.setting)]
        if rule is stated:
            lines += [*_remark(f"who is asked: {why}. A rule, not a disclosure"), *setting]
        elif rule.exceptions:
            some = "1 record breaks" if rule.exceptions == 1 else f"{rule.exceptions} records break"
            lines += _remark(
                f"not kept, {some} it: {plain(name)} is {what} unless {plain(rule.when)}"
            )
        else:
            because = (
                f"anybody who sees {plain(rule.by)} knows it, so it is not released. If that is "
                "not secret,"
            )
            if not suggestion.is_secret(rule):
                fewer = suggestion.column(rule.by).distinct <= 2  # which no band makes fewer
                because = (
                    "once what is known has fewer patterns," if fewer else "once it is banded,"
                )
            lines += _remark(
                f"{why}: {because} declare it by these lines, then predict with the "
                "column and release it:"
            )
            lines += [f"# {line}" for line in setting]
    return lines


def _header(name: str) -> str:
    """The head of the table of a variable of the chain."""
    return (
        as_toml({"variables": {name: {}}}, "synthesizer")
        .strip()
        .splitlines()[-1]
        .replace("[variables", "[synthesizer.variables")
    )


def _rules(suggestion: Suggestion) -> list[str]:
    """What holds in the data, a line a rule, with the share of the records that could have broken
    it.
    """
    records, lines = suggestion.columns[0].records, list[str]()
    told = {
        "order": "never greater than",
        "implied": "where the first holds, so does the second",
        "sums": "the sum of",
    }
    if suggestion.rules:
        why = (
            "Found in the data: no record breaks these rules, and no draw will. Delete a line to "
            "strike a rule out."
        )
        lines += _remark(f"{why} Behind each: how many of the records could have broken it")
    for setting, what in told.items():
        listed = [
            (parts, rule.could / records)
            for rule in suggestion.rules
            for kind, parts in rule.declared
            if kind == setting
        ]
        if listed:
            texts = [
                (as_toml({"a": list(parts)}).strip().removeprefix("a = "), _share(share))
                for parts, share in listed
            ]
            lines += [
                f"{setting} = [  # {what}",
                *(f"  {text},  # {share}" for text, share in texts),
                "]",
            ]
    for rule in suggestion.nearly[:_MOST_NEARLY]:
        some = "1 record breaks" if rule.exceptions == 1 else f"{rule.exceptions} records break"
        lines += _remark(f"not kept, {some} it: {plain(rule.text)}")
    if len(suggestion.nearly) > _MOST_NEARLY:
        lines.append(
            f"# and {len(suggestion.nearly) - _MOST_NEARLY} more that a few records break: "
            "rw.find_structure lists them"
        )
    return lines


def _why_chain(suggestion: Suggestion) -> str:
    if len(suggestion.targets) > 1:
        return "one variable after the other, each by a model that suits its type"
    column = suggestion.column(suggestion.targets[0])
    because = [
        *([f"{_share(column.missing / column.records)} are missing"] if column.missing else []),
        *([f"{_share(column.of_codes)} hold a code"] if column.codes else []),
        *(["it has levels"] if column.enters_as_levels else []),
        *(["rules hold that only a chain keeps"] if suggestion.rules else []),
        *(["members of units are drawn together"] if suggestion.together is not None else []),
        *(
            ["levels are many that predict"]
            if any(suggestion.column(name).many for name in suggestion.predictors)
            else []
        ),
        *(
            ["what is known has gaps"]
            if any(suggestion.column(name).missing for name in suggestion.known)
            else []
        ),
    ]
    return f"a chain also takes one variable; here since {' and '.join(because)}"


def _why_model(suggestion: Suggestion, column: ColumnSummary) -> str:
    """Why a model suits a column, by shares and counts."""
    if column.enters_as_levels:
        return f"{column.distinct} levels"
    reasons = [f"{column.distinct:,} different amounts"]
    reasons += [f"{_share(column.zero)} zero"] if column.zero else []
    reasons += [f"{_share(column.negative)} negative"] if column.negative else []
    reasons += ["all positive"] if not (column.zero or column.negative) else []
    heaped = {unit: share for unit, share in column.multiples.items() if share > 3 / float(unit)}
    if column.kind == NUMBER and heaped:
        unit = max(heaped, key=float)
        reasons.append(f"{_share(heaped[unit])} are multiples of {unit}")
    if column.spikes:
        reasons.append(f"{column.spikes} value{'s' if column.spikes > 1 else ''} of 2 % and more")
    learned = suggestion.takes(column.name, "support") and not suggestion.takes(
        column.name, "transform"
    )
    return ", ".join(reasons) + (
        "; its scale is learned, so no transform is needed" if learned else ""
    )


def _why_predictors(suggestion: Suggestion) -> str:
    if not suggestion.predictors:
        return "no column that may be released predicts it"
    apart = "; ".join(
        f"{plain(name)} is left out: it follows from {plain(of)}"
        for name, of in suggestion.told_by.items()
    )
    told = "released columns: the known ones, then those that predict best"
    stays = (
        f"; not released, with too many levels: {listing(suggestion.staying)}; a run judges "
        "whether the datasets disclose them"
    )
    return told + (stays if suggestion.staying else "") + (f"; {apart}" if apart else "")


def _bounds(suggestion: Suggestion, column: ColumnSummary) -> list[str]:
    """Bounds and heaps that were found, or a place for public bounds, which no value of the data
    can stand in for.
    """
    if not suggestion.takes(column.name, "support"):
        return []
    found = suggestion.found_bounds(column.name)
    if found is None:
        remark = (
            "# TO FILL IN: public bounds, which no synthetic value exceeds. Never the data's own "
            "smallest and largest value"
        )
        return [remark, "# support = [LOW, HIGH]"]
    beyond = (
        "1 record lies beyond it"
        if found.beyond == 1
        else f"{found.beyond or 'no'} records lie beyond it"
    )
    remark = (
        "bounds that no draw exceeds, found in the data: a round number beyond what is expected "
        "of the largest by the value that "
        f"{found.rank} records reach, of five units where the file has some, so that neither one "
        "record nor one unit decides it "
        f"({beyond}). They disclose the order of magnitude of the largest values: public ones are "
        "better, support = [LOW, HIGH], and a "
        "guarantee needs them"
    )
    return [*_remark(remark), *_set("support", list(found.support)), *_heaps(suggestion, column)]


def _heaps(suggestion: Suggestion, column: ColumnSummary) -> list[str]:
    """Values that many records share and no multiple explains, which the model draws as often as
    they are held.
    """
    found = suggestion.found_heaps(column.name)
    if not found:
        return []
    held = (
        f"{len(found)} value{'s'[: len(found) != 1]} that 20 records and 1 %, or 10 and 2 %, share"
    )
    setting: dict[str, Any] = {"heaps": mark_found(list(found))}
    if not suggestion.takes(column.name, "heaps"):
        setting = {"value_settings": [["heaps", setting["heaps"]]]}
    remark = (
        f"{held} and no tendency to round numbers explains, found in the data: each has a share "
        "of its own, which follows the predictors"
    )
    return [*_remark(remark), *as_toml(setting).strip().splitlines()]


# -- the rest


_OF_UNITS = {
    "id": "whose records are drawn one after the other, each given those before it; it is "
    "released with new numbers",
    "role": "found by its values: one level occurs once in every unit",
    "order": "counts the members",
    "time": "one record in each",
    "unit_level": "the same for all members",
    "most_members": "the largest unit",
}


def _units(suggestion: Suggestion) -> list[str]:
    """The units whose members are drawn together."""
    if suggestion.together is None:
        return []
    lines = ["[units]"]
    for setting in dataclasses.fields(suggestion.together):
        value = getattr(suggestion.together, setting.name)
        if value not in (setting.default, (), {}):
            value = list(value) if isinstance(value, tuple) else value
            lines += _set(setting.name, value, _OF_UNITS.get(setting.name, ""))
    return lines


def _weights(suggestion: Suggestion) -> list[str]:
    why = (
        "unweighted to compare with; mix+ limits what is learned from a record and keeps the "
        "model unbiased"
    )
    return ["[weights]", *_set("schemes", list(suggestion.schemes), why)]


def _release(suggestion: Suggestion) -> list[str]:
    why = (
        "released unaltered, besides the known ones; no others are released"
        if suggestion.released
        else "unaltered columns to be released, too"
    )
    unit = next(iter(suggestion.units), None)
    count = suggestion.columns[0].records if unit is None else suggestion.column(unit).distinct
    datasets = min(
        _OF_LONELY if suggestion.lonely else 20,
        next((few for below, few in _DATASETS.items() if count < below), 20),
    )
    few = (
        ""
        if datasets == 20
        else ": few, since together those of a small file disclose more of each record"
    )
    few = (
        ": few, since together they disclose more of records that are alone in what is released"
        if suggestion.lonely
        else few
    )
    return [
        "[release]",
        *_set("L", datasets, f"synthetic datasets for each scheme{few}"),
        *_set("columns", list(suggestion.released), why),
        *(
            []
            if unit is None or suggestion.together is not None
            else _set(
                "unit",
                unit,
                "records that belong together: hold-outs and attribution leave out whole ones",
            )
        ),
    ]


def _evaluation(suggestion: Suggestion) -> list[str]:
    if suggestion.regressions:
        regressions = _set(
            "regressions",
            list(suggestion.regressions),
            "what users will fit: its coefficients are compared",
        )
    else:
        regressions = [
            "# regressions = []  # formulas that users of the data will fit: their coefficients "
            "are compared"
        ]
    unit = next(iter(suggestion.units), None)
    together = (
        []
        if unit is None or suggestion.together is not None
        else _set("cluster", unit, "whose influence is that of its records together")
    )
    return ["[evaluation]", *regressions, *together, *_design(suggestion.survey)]


def _design(survey: SurveyColumns) -> list[str]:
    """How the survey was drawn, as its columns tell by name and shape."""
    if survey.weight is None:
        return []
    why = (
        "called like survey weights: estimates under them are compared, too; [weights] survey "
        "makes the models those of the population"
    )
    lines = _set("survey", survey.weight, why)
    for name, column, what in (
        ("strata", survey.strata, "strata"),
        ("psu", survey.psu, "primary sampling units, which predict nothing here"),
    ):
        lines += [] if column is None else _set(name, column, f"called like {what}")
    if survey.other or survey.weights[1:]:
        others = listing([*survey.weights[1:], *survey.other])
        lines += _remark(
            f"{others}: of the design, too; no variance can be computed from them as they are, or "
            "they are other weights"
        )
    if survey.replicates:
        lines += _remark(
            f"{len(survey.replicates)} columns are called like replicate weights, which predict "
            "nothing here: say how they were made, in "
            "place of strata and psu"
        )
        lines += ["# " + as_toml({"replicates": survey.pattern}).strip(), '# replication = "brr"']
    return lines
