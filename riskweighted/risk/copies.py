"""Columns that give a sensitive variable away: its copy, in other units, as text, with gaps, or in its order."""

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.text import significant_digits

__all__ = ["Ranked", "as_numbers", "determines", "find_copies", "order_alike", "refuse_copies"]

_LEAST = 20  # records, and different values of the sensitive variable, below which order says nothing
_SAME_ORDER = 0.99
_SAME_RATIO = 0.05  # share of the records whose ratio to the sensitive variable is one number
_COPIED = 0.01  # share of unmistakable values that are repeated in their rows
_CLOSE = 1e-6
_UNMISTAKABLE = 6  # digits
_SEVERAL = 5  # records of one value, from which it tells the level of others
_DETERMINED = 0.99  # of the records whose value several have
_VARIES = 0.05  # of the records hold another level than the most frequent one


def as_numbers(column: pd.Series) -> np.ndarray:
    """A column as numbers (n,), NaN where it holds none: text loses its currency, unit, and separators of thousands."""
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return np.full(len(column), np.nan)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    codes, different = pd.factorize(column)  # missing: -1, the last place
    return np.asarray(np.array([*(_number_in(str(value)) for value in different), np.nan])[codes])


def _number_in(text: str) -> float:
    """The one number in a text, NaN if there is none or more than one."""
    parts = re.findall(r"[-+\u2212]?\d[\d.,'\u2019_ \u00a0\u2009\u202f]*(?:[eE][-+]?\d+)?", text)
    if len(parts) != 1:
        return np.nan
    digits = re.sub("['\u2019_ \u00a0\u2009\u202f]", "", parts[0]).replace("\u2212", "-").rstrip(".,")
    marks = [mark for mark in digits if mark in ".,"]
    if marks and (len(set(marks)) > 1 or marks.count(marks[-1]) == 1):
        decimal = marks[-1]
        grouped = len(set(marks)) == 1 and re.fullmatch(r"[-+]?\d{1,3}[.,]\d{3}", digits) is not None and decimal == ","
        digits = digits.replace("." if decimal == "," else ",", "").replace(decimal, "" if grouped else ".")
    else:
        digits = digits.replace(",", "").replace(".", "")
    try:
        return float(digits)
    except ValueError:
        return np.nan


class Ranked:
    """A column (n,) of numbers whose order is compared with that of several others, so that it is sorted once."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.complete = bool(np.isfinite(values).all())

    @cached_property
    def scores(self) -> np.ndarray:
        """Its ranks, centred and of length 1, (n,); zeros where the column is constant. Equal values share their mean rank."""
        order = np.argsort(self.values)
        arranged = self.values[order]
        starts = np.flatnonzero(np.append(True, arranged[1:] != arranged[:-1]))
        sizes = np.diff(np.append(starts, len(arranged)))
        ranks = np.empty(len(arranged))
        ranks[order] = np.repeat(starts + (sizes - 1) / 2 - (len(arranged) - 1) / 2, sizes)
        return np.asarray(ranks / (np.sqrt(ranks @ ranks) if len(starts) > 1 else 1.0))


def order_alike(left: np.ndarray | Ranked, right: np.ndarray | Ranked) -> float:
    """Spearman's rank correlation without its sign, over the records where both are numbers; 0 where one is constant there."""
    first, second = (column if isinstance(column, Ranked) else Ranked(column) for column in (left, right))
    if not (first.complete and second.complete):
        both = np.isfinite(first.values) & np.isfinite(second.values)
        first, second = Ranked(first.values[both]), Ranked(second.values[both])
    return 0.0 if len(first.values) < 2 else min(float(abs(first.scores @ second.scores)), 1.0)


def find_copies(values: np.ndarray, column: pd.Series) -> str:
    """How a column gives the sensitive values (n,) away, NaN where they are missing; empty where it does not.

    Found are a column in the same order (rank correlation of 0.99 and more where both are numbers), one in other units (5 % of the
    records and at least 20 have one ratio, which no value of its own explains), and one that repeats unmistakable values in their rows.
    """
    numbers = as_numbers(column)
    both = np.isfinite(numbers) & np.isfinite(values)
    if both.sum() < 4:
        return ""
    numbers, values = numbers[both], values[both]
    several = len(np.unique(values)) >= _LEAST and len(np.unique(numbers)) >= _LEAST
    if several and order_alike(numbers, values) >= _SAME_ORDER:
        return "is in the same order"
    if repeats_unmistakable(numbers, values):
        return "repeats its values"
    return "is it in other units" if several and _one_ratio(numbers, values) else ""


def repeats_unmistakable(numbers: np.ndarray, values: np.ndarray) -> bool:
    """Whether a column repeats values of at least 6 digits that occur once, in their rows: more than 1 % of them and more than 3."""
    once = ~pd.Series(values).duplicated(keep=False).to_numpy()
    long = np.array([significant_digits(value) >= _UNMISTAKABLE for value in values])
    repeated = int((np.abs(numbers - values) <= _CLOSE * np.abs(values))[once & long].sum())
    return repeated > max(3, _COPIED * int((once & long).sum()))


def _one_ratio(numbers: np.ndarray, values: np.ndarray) -> bool:
    """Whether many different values of one column have the same ratio to the other."""
    usable = (values != 0) & (numbers != 0)
    if usable.sum() < _LEAST:
        return False
    pairs = pd.DataFrame(
        {"ratio": [f"{ratio:.5e}" for ratio in numbers[usable] / values[usable]], "value": values[usable]}
    ).drop_duplicates()
    return int(pairs["ratio"].value_counts().iloc[0]) >= max(_LEAST, _SAME_RATIO * len(pairs))


def determines(column: pd.Series, levels: pd.Series) -> bool:
    """Whether a column tells a categorical variable: 99 % of the records whose value 5 or more share have its most frequent level.

    Not where those are fewer than half of the records (or than 20), nor where 95 % of them hold one level anyway.
    """
    pairs = pd.DataFrame({"value": pd.factorize(column, use_na_sentinel=False)[0], "level": pd.factorize(levels)[0]})
    size = pairs.groupby("value")["level"].transform("size")
    shared = pairs[size >= _SEVERAL]
    if len(shared) < max(_LEAST, len(pairs) / 2) or shared["level"].value_counts(normalize=True).iloc[0] > 1 - _VARIES:
        return False
    told = shared.groupby("value")["level"].agg(lambda held: held.value_counts().iloc[0]).sum()
    return bool(told >= _DETERMINED * len(shared))


def refuse_copies(confidential: pd.DataFrame, target: str, released: Iterable[str]) -> None:
    """Refuse to release unaltered columns that give the synthesized variable away; the message names the column and how."""
    if not pd.api.types.is_numeric_dtype(confidential[target].dtype) or pd.api.types.is_bool_dtype(confidential[target].dtype):
        for name in released:
            if determines(confidential[name], confidential[target]):
                raise InputError(
                    f"the column {name!r} is to be released unaltered, but its value tells the level of the synthesized {target!r}"
                )
        return
    values = confidential[target].to_numpy(dtype=float, na_value=np.nan)
    for name in released:
        how = find_copies(values, confidential[name])
        if how:
            raise InputError(f"the column {name!r} is to be released unaltered, but it gives away the synthesized {target!r}: it {how}")
