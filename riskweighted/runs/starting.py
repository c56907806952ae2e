"""A suggested study as the text of a study file in which every line says why it stands there."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from riskweighted.common.checks import path_from
from riskweighted.common.found import marked
from riskweighted.common.settings import as_toml
from riskweighted.common.text import plain
from riskweighted.data.layout import CsvLayout
from riskweighted.runs.columns import AMOUNT, LEVELS, Column
from riskweighted.runs.suggestion import Suggestion, min_radius_of, radius_of
from riskweighted.runs.surveyed import Surveyed
from riskweighted.sampling.settings import IMPORTANCE

__all__ = ["carries_values", "starting_text"]

_MOST_NEARLY = 10  # rules that a few records break, which are named
_DATASETS = {600: 5, 1_000: 10}  # of files of fewer records; 20 of others
_WIDTH = 108  # from which on a remark stands above its line


def starting_text(suggestion: Suggestion, data: Path, folder: Path, layout: CsvLayout | None = None, variables: Path | None = None) -> str:
    """A commented study file that lies in `folder`; `data`: the file of the confidential data; `layout`: of a csv; `variables`: the file
    that says what the columns are.
    """
    parts = [
        _head(suggestion, data),
        _data(data, folder, layout, variables),
        _scenario(suggestion),
        _synthesizer(suggestion),
        _weights(suggestion),
        _SAMPLING,
        _release(suggestion),
        _evaluation(suggestion),
        _THRESHOLDS,
    ]
    return "\n".join("\n".join(lines) + "\n" for lines in parts)


def carries_values(suggestion: Suggestion) -> bool:
    """Whether the text holds anything that was read off the values of the data: then the file is its owner's only."""
    targets = [suggestion.column(name) for name in suggestion.targets]
    measured = any(column.is_number and radius_of(column)[1] == "absolute" for column in targets)
    told = [*targets, *(suggestion.column(name) for name in suggestion.predictors if suggestion.chain)]
    measured = measured or min_radius_of(targets) > 0 or any(column.codes for column in told)
    return bool(measured or suggestion.beyond or suggestion.rules or suggestion.nearly)


def _set(name: str, value: Any, why: str = "") -> list[str]:
    """A setting with its remark, after it or above it."""
    line = as_toml({name: value}).strip()
    if not why:
        return [line]
    return [f"{line}  # {why}"] if len(line) + len(why) < _WIDTH else [*_remark(why), line]


def _remark(text: str) -> list[str]:
    """Text as lines of a comment."""
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(as_toml({name: value}).strip() for name, value in table.items()) + " }"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.005 else "under 0.5 %"


def _head(suggestion: Suggestion, data: Path) -> list[str]:
    records = suggestion.columns[0].records
    lines = [
        f"# A first study of {plain(data.name)} ({records:,} records, {len(suggestion.columns)} columns), to edit: `riskweighted init`.",
        "# It was guessed from the columns. What an intruder knows, how close is close and what is public are yours to say.",
    ]
    if carries_values(suggestion):
        lines.append("# Confidential: it holds codes, rules, bounds, or units of the size of the values, that were found in the data.")
    lines += ["# Next: riskweighted check FILE, then riskweighted run FILE", "seed = 1"]
    return lines


_LAID_OUT = {
    "delimiter": "between columns, guessed",
    "decimal": "before decimals, guessed",
    "thousands": "between groups of three digits, guessed",
    "encoding": "guessed; a csv of the release is written alike",
    "missing": "cells that hold no number, and mean none, in columns of numbers",
}


def _data(data: Path, folder: Path, layout: CsvLayout | None, variables: Path | None) -> list[str]:
    lines = ["[data]", *_set("path", path_from(folder, data), "relative to this file")]
    lines += [line for name, value in (layout.stated if layout is not None else {}).items() for line in _set(name, value, _LAID_OUT[name])]
    why = "labels, missing codes and types; they leave with a release, as what is public of the survey"
    return lines if variables is None else [*lines, *_set("variables", path_from(folder, variables), why)]


_SAMPLING = ["[sampling]", *_set("engine", IMPORTANCE, "no chains where draws about the mode can be relied on")]
_THRESHOLDS = [
    "[thresholds]",
    '# policy = "example"  # what your agency asks of a release, as a file of its own; the report then says who keeps to it',
]


# -- scenario


def _scenario(suggestion: Suggestion) -> list[str]:
    targets = [suggestion.column(name) for name in suggestion.targets]
    lines = ["[scenario]"]
    lines += _set("known", list(suggestion.known), _why_known(suggestion))
    single = len(targets) == 1
    why = "guessed: is this the sensitive variable? init --synthesize A --synthesize B takes others" if suggestion.chosen else ""
    lines += _set(
        "synthetic", suggestion.targets[0] if single else list(suggestion.targets), why or ("" if single else "drawn in this order")
    )
    categorical = [column.name for column in targets if column.coded]
    lines += _set("categorical", categorical, "codes, although they read as numbers") if categorical else []
    lines += _radius([column for column in targets if column.is_number and len(column.amounts)])
    least = min_radius_of(targets)
    if least:
        lines += _set("min_radius", marked(least), "in the variable's units: a fifth of next to nothing is next to nothing. Adjust it")
    coded = {column.name: _codes(column, column.codes) for column in targets if column.codes}
    if coded:
        lines.append(f"# Likely special codes, found in the data ({_code_shares(targets)}): no amounts. Check them in the documentation")
        lines.append(f"codes = {_inline(coded)}")
    return lines + [line for name, why in suggestion.left_out.items() for line in _remark(f"not used: {plain(name)}: {why}")]


def _why_known(suggestion: Suggestion) -> str:
    if not suggestion.known:
        return "no column of few levels: name what an intruder may know of a person"
    levels = ", ".join(f"{plain(name)} {suggestion.column(name).distinct}" for name in suggestion.known)
    return f"few levels each ({levels}), as a register has them: {suggestion.crowd}"


def _code_shares(targets: list[Column]) -> str:
    return ", ".join(f"{_share(column.of_codes)} of {plain(column.name)}" for column in targets if column.codes)


def _codes(column: Column, codes: Sequence[float]) -> list[Any]:
    """Codes as a setting; those that nobody declares are marked as found in the data."""
    whole: list[Any] = [_whole(code) for code in codes]
    return whole if column.codes_stated or not column.codes else marked(whole)


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _radius(numbers: list[Column]) -> list[str]:
    """How close is close, for each number where they differ."""
    if not numbers:
        return ["# levels are matched by equality: no radius"]
    radii = {column.name: radius_of(column) for column in numbers}
    values = {name: marked(radius) if kind == "absolute" else radius for name, (radius, kind) in radii.items()}
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
    lines = ["[synthesizer]", *_set("name", suggestion.models[column.name], _why_model(suggestion, column))]
    lines += _set("formula", suggestion.formula, _why_predictors(suggestion))
    lines += _bounds(suggestion, column)
    lines.append('# name = "auto"  # instead: a run compares the models that take the data, and says which it chose')
    mixture = suggestion.mixture
    if mixture is not None:
        lines.append(f"# or a mixture with the same formula, K = {mixture.components} by Schwarz's criterion of the values alone:")
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
        lines += _set("recoding", "statuses", "zeros predict by indicators, as codes and gaps do, numbers on a grid")
    lines += _rules(suggestion)
    for name in suggestion.predictors:
        if column_codes := _codes(suggestion.column(name), suggestion.column(name).codes):
            lines += ["", _header(name), *_set("codes", column_codes, "no amounts of what predicts: an indicator each")]
    for name in suggestion.targets:
        column = suggestion.column(name)
        lines += ["", _header(name), *_remark(f"{suggestion.models[name] or 'a model by type'}: {_why_model(suggestion, column)}")]
        if codes := suggestion.codes_of(name):
            lines += _set("codes", _codes(column, codes), "found in the data; each has a share of its own")
        lines += _bounds(suggestion, column)
    return lines


def _header(name: str) -> str:
    """The head of the table of a variable of the chain."""
    return as_toml({"variables": {name: {}}}, "synthesizer").strip().splitlines()[-1].replace("[variables", "[synthesizer.variables")


def _rules(suggestion: Suggestion) -> list[str]:
    """What holds in the data, a line a rule, with the share of the records that could have broken it."""
    records, lines = suggestion.columns[0].records, list[str]()
    told = {"order": "never greater than", "implied": "where the first holds, so does the second", "sums": "the sum of"}
    if suggestion.rules:
        why = "Found in the data: no record breaks these rules, and no draw will. Delete a line to strike a rule out."
        lines += _remark(f"{why} Behind each: how many of the records could have broken it")
    for setting, what in told.items():
        listed = [(parts, rule.could / records) for rule in suggestion.rules for kind, parts in rule.declared if kind == setting]
        if listed:
            texts = [(as_toml({"a": list(parts)}).strip().removeprefix("a = "), _share(share)) for parts, share in listed]
            lines += [f"{setting} = [  # {what}", *(f"  {text},  # {share}" for text, share in texts), "]"]
    for rule in suggestion.nearly[:_MOST_NEARLY]:
        some = "1 record breaks" if rule.exceptions == 1 else f"{rule.exceptions} records break"
        lines += _remark(f"not kept, {some} it: {plain(rule.text)}")
    if len(suggestion.nearly) > _MOST_NEARLY:
        lines.append(f"# and {len(suggestion.nearly) - _MOST_NEARLY} more that a few records break: rw.find_structure lists them")
    return lines


def _why_chain(suggestion: Suggestion) -> str:
    if len(suggestion.targets) > 1:
        return "one variable after the other, each by a model that suits its type"
    column = suggestion.column(suggestion.targets[0])
    because = [
        *([f"{_share(column.missing / column.records)} are missing"] if column.missing else []),
        *([f"{_share(column.of_codes)} hold a code"] if column.codes else []),
        *(["it has levels"] if column.use == LEVELS else []),
        *(["rules hold that only a chain keeps"] if suggestion.rules else []),
        *(["what is known has gaps"] if any(suggestion.column(name).missing for name in suggestion.known) else []),
    ]
    return f"a chain also takes one variable; here since {' and '.join(because)}"


def _why_model(suggestion: Suggestion, column: Column) -> str:
    """Why a model suits a column, by shares and counts."""
    if column.use == LEVELS:
        return f"{column.distinct} levels"
    reasons = [f"{column.distinct:,} different amounts"]
    reasons += [f"{_share(column.zero)} zero"] if column.zero else []
    reasons += [f"{_share(column.negative)} negative"] if column.negative else []
    reasons += ["all positive"] if not (column.zero or column.negative) else []
    heaped = {unit: share for unit, share in column.multiples.items() if share > 3 / float(unit)}
    if column.use == AMOUNT and heaped:
        unit = max(heaped, key=float)
        reasons.append(f"{_share(heaped[unit])} are multiples of {unit}")
    if column.spikes:
        reasons.append(f"{column.spikes} value{'s' if column.spikes > 1 else ''} of 2 % and more")
    learned = suggestion.takes(column.name, "support") and not suggestion.takes(column.name, "transform")
    return ", ".join(reasons) + ("; its scale is learned, so no transform is needed" if learned else "")


def _why_predictors(suggestion: Suggestion) -> str:
    if not suggestion.predictors:
        return "no column that may leave tells anything of it"
    apart = "; ".join(f"{plain(name)} is left out: it follows from {plain(of)}" for name, of in suggestion.told_by.items())
    return "what leaves: what is known, then what tells most" + (f"; {apart}" if apart else "")


def _bounds(suggestion: Suggestion, column: Column) -> list[str]:
    """Bounds that were found, or a place for public ones, which no value of the data can stand in for."""
    if not suggestion.takes(column.name, "support"):
        return []
    found = suggestion.found_bounds(column.name)
    if found is None:
        remark = "# TO FILL IN: public bounds, which no synthetic value exceeds. Never the data's own smallest and largest value"
        return [remark, "# support = [LOW, HIGH]"]
    beyond = "1 record lies beyond it" if found.beyond == 1 else f"{found.beyond or 'no'} records lie beyond it"
    remark = (
        f"bounds that no draw exceeds, found in the data: a round number beyond the value that ranks {found.rank} from the end, so that no "
        f"single record decides it ({beyond}). They tell the order of magnitude of the largest values: public ones are better, "
        "support = [LOW, HIGH], and a guarantee needs them"
    )
    return [*_remark(remark), *_set("support", list(found.support))]


# -- the rest


def _weights(suggestion: Suggestion) -> list[str]:
    why = "unweighted to compare with; mix+ limits what is learned from a record and leaves the model straight"
    return ["[weights]", *_set("schemes", list(suggestion.schemes), why)]


def _release(suggestion: Suggestion) -> list[str]:
    why = "leave unaltered, besides the known ones: others do not leave" if suggestion.released else "unaltered columns that leave, too"
    records = suggestion.columns[0].records
    datasets = next((few for below, few in _DATASETS.items() if records < below), 20)
    few = "" if datasets == 20 else ": few, since together those of a small file tell more of each record"
    return [
        "[release]",
        *_set("L", datasets, f"synthetic datasets for each scheme{few}"),
        *_set("columns", list(suggestion.released), why),
    ]


def _evaluation(suggestion: Suggestion) -> list[str]:
    if suggestion.regressions:
        regressions = _set("regressions", list(suggestion.regressions), "what users will fit: its coefficients are compared")
    else:
        regressions = ["# regressions = []  # formulas that users of the data will fit: their coefficients are compared"]
    return ["[evaluation]", *regressions, *_design(suggestion.survey)]


def _design(survey: Surveyed) -> list[str]:
    """How the survey was drawn, as its columns tell by name and shape."""
    if survey.weight is None:
        return []
    why = "called like survey weights: estimates under them are compared, too; [weights] survey makes the models those of the population"
    lines = _set("survey", survey.weight, why)
    for name, column, what in (
        ("strata", survey.strata, "strata"),
        ("psu", survey.psu, "primary sampling units, which predict nothing here"),
    ):
        lines += [] if column is None else _set(name, column, f"called like {what}")
    if survey.replicates:
        lines += _remark(
            f"{len(survey.replicates)} columns are called like replicate weights, which predict nothing here: say how they were made, in "
            "place of strata and psu"
        )
        lines += ["# " + as_toml({"replicates": survey.pattern}).strip(), '# replication = "brr"']
    return lines
