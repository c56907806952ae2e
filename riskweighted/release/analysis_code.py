"""How to combine released datasets: code for four languages that reproduces one published
interval.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from riskweighted.common.text import escape_markdown, plain
from riskweighted.data.csv_layout import CsvLayout
from riskweighted.data.foreign import takes_name
from riskweighted.design.design import build_design
from riskweighted.design.formulas import response_name, split_formula
from riskweighted.evaluation.measure_rows import Statistic, by_label, rows_of
from riskweighted.measures.estimates import MEAN
from riskweighted.measures.regression_measures import COEFFICIENT
from riskweighted.measures.variance_ratio import KAPPA
from riskweighted.runs.finished import FinishedRun
from riskweighted.utility.combining_rules import combine_partially_synthetic

__all__ = [
    "MEMBERS",
    "UNITS",
    "Linked",
    "Predictor",
    "PublishedAnalysis",
    "combining_code",
    "find_analysis",
    "kappa_of",
    "render",
    "special_codes",
]

_READS = {  # in the order in which a language takes what is there
    "Python": ("py", ("csv", "parquet", "dta", "sav", "xpt")),
    "R": ("R", ("csv", "parquet", "dta", "sav", "xpt")),
    "SAS": ("sas", ("xpt", "csv")),
    "Stata": ("do", ("dta", "csv", "sav", "xpt")),
}
_NEEDS = {
    "Python": {
        "sav": "numpy, pandas, pyreadstat and scipy",
        "xpt": "numpy, pandas, pyreadstat and scipy",
    },
    "R": {"parquet": "arrow", "dta": "haven", "sav": "haven", "xpt": "haven"},
}


MEMBERS, UNITS = "members", "units"  # the two files of a dataset of units


@dataclass(frozen=True)
class Linked:
    """What the two files of a dataset share, and the columns of each, the id among them."""

    id: str
    of_unit: Sequence[str]
    of_members: Sequence[str]


@dataclass(frozen=True)
class Predictor:
    """One column of the design: a number, or whether a column has a level (``text``: a text
    level).
    """

    column: str
    level: str | int | float | None = None
    text: bool = False


@dataclass(frozen=True)
class PublishedAnalysis:
    """A published interval: least squares of the response on an intercept and predictors (none: the
    mean), of which one column is reported.

    ``column``: the reported one, 0 is the intercept; ``published``: estimate, lower and upper
    bound, by the rule for partially synthetic data (`riskweighted.combine_partially_synthetic`);
    ``kappa``: the factor of vbar.
    """

    what: str
    response: str
    predictors: tuple[Predictor, ...]
    column: int
    level: float
    published: tuple[float, float, float]
    kappa: float = 1.0


def kappa_of(run: FinishedRun, scheme: str) -> float | None:
    """What vbar is multiplied by under the centred weights of a scheme: 1 of others, None where it
    is not known.
    """
    stated = by_label(run.tables["utility"], Statistic(KAPPA.key))
    kappa = float(stated.get(scheme, 1.0))
    return None if np.isnan(kappa) else kappa


def find_analysis(run: FinishedRun, scheme: str) -> PublishedAnalysis | None:
    """The published interval that code can reproduce; none where there is one dataset, or neither a
    regression nor a mean.

    That is the regression coefficient where the regression has main effects of released numbers and
    categories only, none of which is missing or a special code in any dataset; else, where one
    variable is synthesized, its mean, by the same rule: the tables have a pooled bootstrap of it,
    which is that of one dataset's own mean and too wide for the mean over all.
    """
    settings, variables = run.study.evaluation, run.study.variables
    if run.study.release.L < 2:
        return None
    table, kappa = run.tables["utility"], kappa_of(run, scheme) or 1.0
    rows = table[table["label"] == scheme]
    design = (
        None
        if settings.regression is None
        else _main_effects(settings.regression, run.synthetic[scheme], special_codes(run))
    )
    # such as that of a level that no dataset has
    if design is None or settings.coefficient not in design[0]:
        means = rows_of(rows, Statistic(MEAN.key, variables[0]))
        if (
            len(variables) > 1
            or means.empty
            or not _complete(run.synthetic[scheme], variables, special_codes(run))
        ):  # of levels, or of some
            return None
        values = [frame[variables[0]].to_numpy(dtype=float) for frame in run.synthetic[scheme]]
        variances = [of.var(ddof=1) / len(of) for of in values]
        mean = combine_partially_synthetic(
            [of.mean() for of in values], variances, level=settings.level, kappa=kappa
        )
        told = (mean.estimate, mean.lower, mean.upper)
        return PublishedAnalysis(
            f"mean of {variables[0]}", variables[0], (), 0, settings.level, told, kappa
        )
    names, predictors = design
    row = rows[(rows["key"] == COEFFICIENT.key) & (rows["term"] == settings.coefficient)].iloc[0]
    what = (
        f"coefficient {settings.coefficient} of the least-squares regression {settings.regression}"
    )
    told = (float(row["value"]), float(row["lower"]), float(row["upper"]))
    return PublishedAnalysis(
        plain(what),
        row["variable"],
        predictors,
        names.index(settings.coefficient) + 1,
        settings.level,
        told,
        kappa,
    )


def special_codes(run: FinishedRun) -> Mapping[str, tuple[float, ...]]:
    """The special codes of each synthesized variable."""
    return {name: run.study.evaluating_scenario().codes_of(name) for name in run.study.variables}


def _complete(
    frames: Sequence[pd.DataFrame], names: Iterable[str], codes: Mapping[str, tuple[float, ...]]
) -> bool:
    """Whether no value of these columns is missing or a special code in any dataset."""
    return not any(
        (frame[name].isna() | frame[name].isin(list(codes.get(name, ())))).any()
        for frame in frames
        for name in names
    )


def _main_effects(
    formula: str, frames: Sequence[pd.DataFrame], codes: Mapping[str, tuple[float, ...]]
) -> tuple[list[str | None], tuple[Predictor, ...]] | None:
    """Names of the design's columns and what each is; None where one is not released, or is no
    number and no level of a category.
    """
    used, frame = {response_name(formula), *split_formula(formula).names}, frames[0]
    if not used <= set(frame.columns) or not _complete(frames, used, codes):
        return None
    names, *others = (build_design(formula, other).names for other in frames)
    if any(columns != names for columns in others):  # a level that a dataset lacks
        return None
    predictors = [_predictor(name, frame) for name in names]
    known = tuple(predictor for predictor in predictors if predictor is not None)
    return (list(names), known) if len(known) == len(names) else None


def _predictor(name: str, frame: pd.DataFrame) -> Predictor | None:
    """A column of the design by its name: ``x``, ``x[T.level]`` or ``C(x)[T.level]``."""
    parts = re.fullmatch(
        r"(?:C\((?P<inner>.+?)\)|(?P<outer>.+?))(?:\[T\.(?P<level>.*)\])?", name, re.DOTALL
    )
    column = str(parts["outer"] or parts["inner"]) if parts else ""
    if (
        parts is None
        or column not in frame.columns
        or pd.api.types.is_bool_dtype(frame[column].dtype)
    ):
        return None
    dtype = frame[column].dtype
    if parts["level"] is None:
        return (
            Predictor(column) if pd.api.types.is_numeric_dtype(dtype) and parts["outer"] else None
        )
    numeric = pd.api.types.is_numeric_dtype(
        dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
    )
    level = {str(value): value for value in frame[column].dropna().unique()}.get(parts["level"])
    if level is None or not (numeric or isinstance(level, str)):
        return None
    return Predictor(
        column,
        level if isinstance(level, str) else getattr(level, "item", lambda: level)(),
        isinstance(level, str),
    )


def combining_code(
    analysis: PublishedAnalysis,
    frame: pd.DataFrame,
    files: dict[str, list[str]],
    layout: CsvLayout | None = None,
    labelled: bool = False,
    of_units: Linked | None = None,
) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Code that reproduces an analysis of datasets like `frame`: by language file name and code,
    and by language the reason why there is none.

    `files`: paths in the pack by format ("csv", ...); `layout`: of the csv files, where they are no
    plain ones; `labelled`: whether files of Stata and SPSS have value labels and missing codes,
    which are then read as the numbers that they are; `of_units`: of datasets in two files, whose
    members are then read first and files of units joined to them.
    """
    codes, missing, layout = {}, {}, layout or CsvLayout()
    for language, (ending, formats) in _READS.items():
        takes = [
            name
            for name in formats
            if name != "csv" or layout.is_plain or language in ("Python", "R")
        ]
        readable = [name for name in takes if name in files]
        why = (
            _why_not(language, analysis, of_units)
            if readable
            else f"it reads none of the formats here; it reads {', '.join(takes)}"
        )
        if not readable and "csv" in files and "csv" in formats:
            why = (
                "the csv files have the marks of the data's own file; release --plain-csv writes "
                "plain ones"
            )
        if why:
            missing[language] = why
            continue
        settings = (
            _code_settings(analysis, frame, readable[0], of_units)
            | _csv_settings(layout)
            | {"labelled": labelled}
        )
        needs = _NEEDS.get(language, {}).get(
            readable[0], "numpy, pandas and scipy" if language == "Python" else ""
        )
        codes[language] = (
            f"combine.{ending}",
            render(f"combine.{ending}", **settings, files=files[readable[0]], needs=needs),
        )
    return codes, missing


def _why_not(language: str, analysis: PublishedAnalysis, of_units: Linked | None) -> str:
    """Why SAS or Stata cannot take the names or levels; empty where they can."""
    if language not in ("SAS", "Stata"):
        return ""
    names = [analysis.response, *(predictor.column for predictor in analysis.predictors)]
    names += [] if of_units is None else [of_units.id]
    if not all(takes_name(name, ".dta" if language == "Stata" else ".xpt") for name in names):
        return "a variable of the analysis has a name that it does not take"
    levels = [
        predictor.level for predictor in analysis.predictors if isinstance(predictor.level, str)
    ]
    if any(re.search(r"[\x00-\x1f\"'`$&%\\]|^[+-]?0\d", level) for level in levels):
        return "a category of the analysis has a name that it would read otherwise"
    return ""


def _code_settings(
    analysis: PublishedAnalysis, frame: pd.DataFrame, ending: str, of_units: Linked | None
) -> dict[str, Any]:
    text = list(
        dict.fromkeys(predictor.column for predictor in analysis.predictors if predictor.text)
    )
    files = [list(frame.columns)]
    if of_units is not None:
        files = [list(of_units.of_members), list(of_units.of_unit)]
    held = [[name for name in text if name in columns] for columns in files]
    places = [
        " ".join(str(columns.index(name) + 1) for name in names)
        for columns, names in zip(files, held, strict=True)
    ]
    return {
        "id": None if of_units is None else of_units.id,
        # in a comment, which no name may end
        "what": re.sub(r"[^\w ~+()\[\].,:-]", "?", analysis.what),
        "ending": ending,
        "response": analysis.response,
        "predictors": analysis.predictors,
        "place": analysis.column,
        "kappa": "" if analysis.kappa == 1 else f"{analysis.kappa:.12g}",
        "upper": f"{0.5 + analysis.level / 2:.12g}",
        "lower": f"{0.5 - analysis.level / 2:.12g}",
        "text_columns": repr(dict.fromkeys(text, "str")).replace("'str'", "str")
        if text
        else "None",
        "r_text_columns": [_r_classes(names) for names in held],
        "stata_text_columns": [f" stringcols({of})" if of else "" for of in places],
    }


def _r_classes(names: Sequence[str]) -> str:
    """What R is told of text columns of a csv."""
    classes = ", ".join(f'{_quoted(name)} = "character"' for name in names)
    return f", colClasses = c({classes})" if names else ""


def _csv_settings(layout: CsvLayout) -> dict[str, str]:
    """What Python and R are told of csv files; nothing of plain ones."""
    if layout.is_plain:
        return {"csv_python": "", "csv_r": ""}
    python = f", sep={layout.delimiter!r}, decimal={layout.decimal!r}, encoding={layout.encoding!r}"
    encoding = {"utf-8-sig": "UTF-8-BOM"}.get(layout.encoding, layout.encoding)
    marks = {"sep": layout.delimiter, "dec": layout.decimal, "fileEncoding": encoding}
    return {
        "csv_python": python,
        "csv_r": "".join(f", {name} = {_quoted(mark)}" for name, mark in marks.items()),
    }


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _sas(value: str) -> str:
    return "'" + value + "'"


def render(name: str, **values: object) -> str:
    """A page or a script of a pack from its template."""
    environment = Environment(
        loader=PackageLoader("riskweighted.release", "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    filters: Sequence[tuple[str, Any]] = [
        ("quoted", _quoted),
        ("literal", repr),
        ("sas", _sas),
        ("escape_markdown", escape_markdown),
    ]
    environment.filters.update(filters)
    return environment.get_template(f"{name}.j2").render(**values)
