"""Clauses of a synthesizer's contract about data that it must refuse, and levels that other frames
lack or add.
"""

import re

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import with_columns
from riskweighted.conformance.clauses import Skipped, Trial, at, close, needs_likelihood, require
from riskweighted.contract.synthesizer import ContractError

__all__ = ["bad_data_refused", "missing_level_kept", "unseen_level_refused"]

_PLANTED = "zz-level-7"


def _bad_frames(
    data: pd.DataFrame, target: str
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Frames that must be refused, and frames that may be (a model need not use the column), by
    what is wrong with them.
    """
    first = np.arange(len(data)) == 0

    def spoiled(name: str, value: object) -> pd.DataFrame:
        kind = float if isinstance(value, float) else object
        return with_columns(data, {name: data[name].astype(kind).where(~first, value)})

    must = {"no records": data.iloc[:0], f"no column {target!r}": data.drop(columns=target)}
    must[f"missing values of {target!r}"] = spoiled(target, None)
    if pd.api.types.is_numeric_dtype(data[target].dtype):
        must[f"missing numbers of {target!r}"] = spoiled(target, np.nan)
        must[f"infinite values of {target!r}"] = spoiled(target, np.inf)
    may = {
        f"constant {name!r}": with_columns(data, {name: data[name].iloc[0]})
        for name in data.columns
    }
    for name in (name for name in data.columns if name != target):
        may[f"no column {name!r}"] = data.drop(columns=name)
        may[f"missing values of {name!r}"] = spoiled(name, None)
        if pd.api.types.is_float_dtype(data[name].dtype):
            may[f"infinite values of {name!r}"] = spoiled(name, np.inf)
    return must, may


def bad_data_refused(trial: Trial) -> str:
    """prepare refuses what no synthesizer can use, and raises InputError alone, whatever is
    wrong.
    """
    must, may = _bad_frames(trial.data, trial.target)
    refused = 0
    for kind, frame in (must | may).items():
        try:
            trial.synthesizer.prepare(frame)
        except InputError as error:
            refused += 1
            _require_discreet(trial, error)
        except Exception as error:
            raised = (
                f"prepare of data with {kind} raises {type(error).__name__}, whose text may "
                "quote data; raise InputError"
            )
            raise ContractError(f"{type(trial.synthesizer).__name__}: {raised}") from None
        else:
            require(kind not in must, trial, f"prepare must refuse data with {kind}")
    return f"{refused} of {len(must | may)} refused"


def _require_discreet(trial: Trial, error: InputError) -> None:
    """No number of the message, and nothing quoted in it, is a value of the data (counts, settings
    and names aside).
    """
    text, data = str(error), trial.data
    allowed = f"{trial.synthesizer!r} {list(data.columns)}"
    numbers = [
        float(part)
        for part in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)
        if part not in allowed
    ]
    quoted = {
        part
        for pair in re.findall(r"'([^']*)'|\"([^\"]*)\"", text)
        for part in pair
        if part and part not in allowed
    }
    for _, column in data.items():
        if pd.api.types.is_numeric_dtype(column.dtype):
            shown = [
                value for value in numbers if not (value.is_integer() and abs(value) <= len(data))
            ]
            leaked = bool(len(shown)) and bool(
                np.isin(column.to_numpy(dtype=float, na_value=np.nan), shown).any()
            )
        else:
            leaked = bool(column.astype(str).isin(quoted).any())
        require(
            not leaked,
            trial,
            f"an error message shows a value of {column.name!r}; it may name columns, counts and "
            "settings",
        )


def _words(trial: Trial) -> list[str]:
    """Columns of text or categories, the target aside."""
    kinds = ("object", "string", "str", "category")
    return [
        str(name)
        for name, column in trial.data.items()
        if name != trial.target and str(column.dtype) in kinds and column.nunique(dropna=True) > 1
    ]


def missing_level_kept(trial: Trial) -> str:
    """at() of rows that share one level gives the terms they have in the data."""
    needs_likelihood(trial)
    columns = _words(trial)
    if not columns:
        raise Skipped("the data have no column of text or categories")
    theta = trial.thetas[0]
    terms = trial.terms(theta)
    for name in columns:
        rows = np.flatnonzero(
            (trial.data[name] == trial.data[name].mode()[0]).to_numpy(dtype=bool, na_value=False)
        )
        part = trial.data.iloc[rows]
        same = close(trial.terms(theta, at(trial, part), part), terms[rows])
        require(
            same, trial, f"at() of a frame that lacks levels of {name!r} must keep their columns"
        )
    return f"{len(columns)} columns"


def unseen_level_refused(trial: Trial) -> str:
    """A level that the data lack is refused, or the column plays no part."""
    needs_likelihood(trial)
    columns = _words(trial)
    if not columns:
        raise Skipped("the data have no column of text or categories")
    refused = 0
    for name in columns:
        changed = trial.data[name].astype(object).where(np.arange(trial.n) > 0, _PLANTED)
        other = with_columns(
            trial.data,
            {
                name: pd.Categorical(changed)
                if str(trial.data[name].dtype) == "category"
                else changed
            },
        )
        try:
            terms = trial.terms(trial.thetas[0], at(trial, other), other)
        except InputError as error:
            require(
                _PLANTED not in str(error), trial, f"an error message shows a value of {name!r}"
            )
            _require_discreet(trial, error)
            refused += 1
        else:
            same = close(terms, trial.terms(trial.thetas[0]))
            require(
                same,
                trial,
                f"at() must refuse, with an InputError, a level of {name!r} that the "
                "confidential data lack",
            )
    return f"{refused} columns refuse it"
