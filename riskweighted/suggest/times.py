"""Which columns hold times: dates, years, waves, quarters, months or days, by their values and what
they are called.
"""

import re

import numpy as np
import pandas as pd

from riskweighted.intruder.disguise import reads_as_date
from riskweighted.suggest.column_names import PERIOD, words_of
from riskweighted.suggest.evidence import Evidence

__all__ = ["why_time", "year_or_number"]

_FIRST, _LAST = 1850, 2050  # years
_MOST_READ = 2000  # different texts that are read
_DATES = 0.9  # of the records with a text
_OF_YEAR = r"(?:18[5-9]\d|19\d\d|20[0-4]\d|2050)"
# without a sign between, codes of five digits would be years and months
_PART_OF_YEAR = re.compile(
    rf"{_OF_YEAR}(?:\s?[-:/.]?\s?[QqMmWw]\s?|\s?[-:/.]\s?|\s)(?:0?[1-9]|1[0-2])"
    rf"|{_OF_YEAR}(?:0[1-9]|1[0-2])|[QqMm]\s?\d{{1,2}}\s?[-:/.]?\s?{_OF_YEAR}"
)
_YEAR = re.compile(r"1[89]\d\d|20[0-4]\d|2050")
_BEGINS = {"year", "yr", "wave", "period", "quarter", "round", "cohort", "jahr", "welle"}
_HOLDS = re.compile(r"(birth_?)?(year|yr)(?!s)|wave|cohort|jahr(?!e)", re.IGNORECASE)
_MONTH, _DAY = re.compile(r"(month|mnth)(?!s|ly).*"), re.compile(r"day(?!s|ly).*")
_FROM, _TO = 10, 40  # two-digit years run from the one or more to the other or more


def why_time(column: Evidence) -> str:
    """Why a column is one of times; "" where nothing says so."""
    if column.is_date:
        return "its type is one of dates or times"
    if not column.is_number:
        return _why_text(column)
    if not column.whole or not column.n:
        return ""
    called, words = _HOLDS.search(column.name) is not None, words_of(column.name)
    if column.within(_FIRST, _LAST) and (PERIOD(column.name) or called or column.fills_half):
        return (
            f"whole numbers within {_FIRST} and {_LAST}, "
            f"{'called like a period' if called else 'half of them there'}"
        )
    begins = bool(words) and words[0] in _BEGINS
    two_digits = column.within(0, 99) and column.fills_half
    if two_digits and (
        begins or (called and column.different[0] >= _FROM and column.different[-1] >= _TO)
    ):
        return "called like a period, half of the numbers between its ends there"
    if column.within(1, 12) and any(map(_MONTH.fullmatch, words)):
        return "called month, within 1 and 12"
    if column.within(1, 366) and any(map(_DAY.fullmatch, words)):
        return "called day, within 1 and 366"
    return "dates of eight digits" if _eight_digits(column.different) else ""


def year_or_number(column: Evidence) -> bool:
    """Whether a few small whole numbers are called like a year, and nothing else tells that they
    are no amounts.
    """
    return (
        column.whole
        and column.within(0, 99)
        and column.fills_half
        and _HOLDS.match(column.name) is not None
    )


def _why_text(column: Evidence) -> str:
    commonest = np.argsort(-column.tallies, kind="stable")[:_MOST_READ]
    texts, held = [text.strip() for text in column.different[commonest]], column.tallies[commonest]
    if not texts or column.is_truth:
        return ""
    if all(map(_YEAR.fullmatch, texts)):
        years = np.array(texts, dtype=int)
        called = PERIOD(column.name) or _HOLDS.search(column.name)
        return "years as text" if called or len(years) >= (np.ptp(years) + 1) / 2 else ""
    dates = held[
        [reads_as_date(text) or _PART_OF_YEAR.fullmatch(text) is not None for text in texts]
    ].sum()
    return (
        "nearly all of its texts read as dates or parts of a year"
        if dates >= _DATES * held.sum()
        else ""
    )


def _eight_digits(different: np.ndarray) -> bool:
    if not (different[0] >= _FIRST * 10_000 and different[-1] < (_LAST + 1) * 10_000):
        return False
    read = pd.to_datetime(
        pd.Series(different).astype("int64").astype(str), format="%Y%m%d", errors="coerce"
    )
    return bool(read.notna().all())
