"""Analyses of users' own: a function of a dataset that gives named estimates and their variances,
combined as those of regressions are.
"""

import contextlib
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import function_name
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.interrupts import raise_interrupt
from riskweighted.utility.combining_rules import TOO_SHORT, Interval, combined_interval, t_interval
from riskweighted.utility.survey_design import SurveyDesign

__all__ = [
    "OwnAnalysis",
    "analysis_intervals",
    "checked_own_analyses",
    "load_analysis",
    "one_interval",
]

Named = dict[str, tuple[float, float]]  # estimate and variance by name
_VALID = (
    "valid is 'package.module:function' of something that Python can import, such as an "
    "installed package"
)


@dataclass(frozen=True, eq=False)
class OwnAnalysis:
    """A function, its name, and what it gave of the confidential data: estimates and variances by
    name, or ``why`` there are none.
    """

    name: str
    function: Callable[..., Any] = field(repr=False)
    of_data: Named = field(default_factory=dict, repr=False)
    why: str = ""


def load_analysis(given: str | Callable[..., Any]) -> OwnAnalysis:
    """The function itself, or the one of that name, imported; raises InputError where there is
    none.
    """
    if not isinstance(given, str):
        return OwnAnalysis(function_name(given), given)
    # subprocess:run would run what the columns are called
    if given.partition(":")[0].partition(".")[0] in sys.stdlib_module_names:
        raise InputError(
            f"analysis {given!r} is of Python itself; valid is 'package.module:function' of an "
            "installed package"
        )
    try:
        function = EntryPoint(given, given, "").load()
    except Exception as error:  # of the module too, whose text may quote anything
        raise InputError(
            f"analysis {given!r} cannot be imported ({type(error).__name__}); {_VALID}"
        ) from None
    if not callable(function):
        raise InputError(
            f"analysis {given!r} is no function but {type(function).__name__}; {_VALID}"
        )
    return OwnAnalysis(given, function)


def checked_own_analyses(
    confidential: pd.DataFrame,
    analyses: Sequence[str | Callable[..., Any]],
    design: SurveyDesign | None = None,
) -> tuple[OwnAnalysis, ...]:
    """Each function of a list with what it gives of the confidential data; one that fails is named
    in a warning, and is not judged.
    """
    checked = []
    for analysis in map(load_analysis, analyses):
        found = _estimates(analysis.function, confidential, design)
        if isinstance(found, str):
            warnings.warn(
                f"the analysis {analysis.name!r} {found} on the confidential data: it is not "
                "judged",
                RiskWeightedWarning,
                stacklevel=2,
            )
            checked.append(replace(analysis, why=found))
        else:
            checked.append(replace(analysis, of_data=found))
    return tuple(checked)


def analysis_intervals(
    analysis: OwnAnalysis,
    frames: Sequence[pd.DataFrame],
    *,
    design: SurveyDesign | None = None,
    level: float = 0.95,
    size_ratio: float | None = None,
    kappa: float = 1.0,
) -> tuple[dict[str, Interval], str]:
    """By name the interval of every estimate that the confidential data have, from L synthetic
    datasets as `coefficient_intervals` gives it; all NaN where the function fails on one of them,
    with the reason, else "".
    """
    found, failures = list[Named](), list[str]()
    for frame in frames:
        each = _estimates(analysis.function, frame, design)
        if isinstance(each, str):
            failures.append(each)
        elif each.keys() != analysis.of_data.keys():
            failures.append("gave other names than for the confidential data")
        else:
            found.append(each)
    if failures:
        why = f"{' or '.join(dict.fromkeys(failures))} in {len(failures)} of {len(frames)} datasets"
        return dict.fromkeys(
            analysis.of_data, Interval(np.nan, np.nan, np.nan, np.nan, np.nan, f"not judged: {why}")
        ), why
    intervals = {}
    for name in analysis.of_data:
        values, variances = map(list, zip(*(each[name] for each in found), strict=True))
        if len(frames) > 1:
            intervals[name] = combined_interval(
                values, variances, level=level, size_ratio=size_ratio, kappa=kappa
            )
        else:
            intervals[name] = one_interval(values[0], variances[0], level, synthetic=True)
    return intervals, ""


def one_interval(value: float, variance: float, level: float, *, synthetic: bool) -> Interval:
    """The normal interval of an estimate of one dataset."""
    rule = "one dataset: normal interval of the analysis"
    return t_interval(value, variance, np.inf, level, rule + (TOO_SHORT if synthetic else ""))


def _estimates(
    function: Callable[..., Any], frame: pd.DataFrame, design: SurveyDesign | None
) -> Named | str:
    """What a function gives of one dataset, or why it gives nothing: never its own text, nor what
    it warns of or prints.
    """
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            weights = {} if not _takes_weights(function) else {"weights": _weights(frame, design)}
            given = function(frame.copy(), **weights)
    except (Exception, SystemExit) as error:
        raise_interrupt(error)
        return f"raised {type(error).__name__}"
    try:
        found = _named(given)
    except Exception:  # of a mapping of the user's own, whose text may hold anything
        return "gave no estimates and variances by name"
    numbers = np.array(list(found.values()))
    return (
        found
        if np.isfinite(numbers).all() and (numbers[:, 1] >= 0).all()
        else "gave a variance below 0, or no finite number,"
    )


def _takes_weights(function: Callable[..., Any]) -> bool:
    return "weights" in inspect.signature(function).parameters


def _weights(frame: pd.DataFrame, design: SurveyDesign | None) -> pd.Series | None:
    """Survey weights of mean 1 beside a dataset's rows; None where the settings name none."""
    return None if design is None else pd.Series(design.weights, frame.index, name=design.column)


def _named(given: Any) -> Named:
    """Estimates and variances of a mapping of pairs, or of a frame with these columns and names as
    its index.
    """
    if isinstance(given, pd.DataFrame):
        pairs = list(
            zip(given.index, zip(given["estimate"], given["variance"], strict=True), strict=True)
        )
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        raise TypeError
    found = {}
    for name, (estimate, variance) in pairs:
        if not isinstance(name, str) or not name or name in found:
            raise ValueError
        found[name] = (float(estimate), float(variance))
    if not found:
        raise ValueError
    return found
