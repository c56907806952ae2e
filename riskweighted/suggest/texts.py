"""What columns of texts are: levels, identifiers, or texts."""

import re

import numpy as np
import pandas as pd

from riskweighted.intruder.disguise import disguise_of
from riskweighted.suggest.column_names import KEY, NAME, PERSON, UNIT
from riskweighted.suggest.evidence import LEVELS, RECORD_ID, TEXT, UNIT_ID, ColumnKind, Evidence

__all__ = ["codes_as_text", "kind_of_text", "reads_as_numbers"]

_FEWEST = 20  # records, below which no value is called near-unique
_NEAR_UNIQUE, _MANY = 0.95, 0.3  # of the records with a value
_LONG_KEY, _LONG = 40, 60  # letters on average
_MOST_LEVELS, _MOST_KEYS, _MOST_NAMES, _EACH = 300, 60, 40, 1.5
_BLANKS = 0.3  # of the different values
_MOST_CODES = 30  # different texts of numbers that are taken for levels, however they look


def kind_of_text(column: Evidence) -> ColumnKind:
    """The kind of a column of texts that is neither time nor design; the first rule that holds."""

    def found(kind: str, reason: str) -> ColumnKind:
        return ColumnKind(column.name, kind, reason)

    distinct, n = column.distinct, column.n
    if column.is_truth or distinct == 2:
        return found(LEVELS, "truth values" if column.is_truth else "two values")
    length = float(np.mean([len(text) for text in column.different]))
    unique = n >= _FEWEST and distinct >= _NEAR_UNIQUE * n
    if reads_as_numbers(column) and not (
        unique and (codes_as_text(column.column) or KEY(column.name))
    ):
        return found(
            TEXT, "numbers as text: give amounts as numbers; of codes say that they are levels"
        )
    if unique:
        return found(
            RECORD_ID if length <= _LONG_KEY else TEXT, "nearly every record has a text of its own"
        )
    if length > _LONG:
        return found(TEXT, "long texts")
    many = distinct > _MANY * n
    key = (KEY(column.name) or UNIT(column.name)) and n >= _EACH * distinct
    if distinct > _MOST_KEYS and key:
        return found(
            UNIT_ID, f"called like a key or a unit, {distinct:,} different texts in {n:,} records"
        )
    blanks = np.mean([" " in text for text in column.different])
    if distinct > _MOST_LEVELS and (blanks >= _BLANKS or many or NAME(column.name)):
        return found(
            TEXT,
            f"{distinct:,} different texts, "
            f"{'many' if many else 'of several words or called names'}",
        )
    if distinct > _MOST_KEYS and many:
        return found(TEXT, f"{distinct:,} different texts in {n:,} records")
    if distinct > _MOST_NAMES and PERSON(column.name):
        return found(TEXT, "called like names of persons")
    return found(LEVELS, f"{distinct} different texts")


def reads_as_numbers(column: Evidence) -> bool:
    """Whether texts are amounts in disguise: most read as numbers, and they are no codes."""
    sample = pd.Series(column.different[:2000])
    return disguise_of(sample) == "numbers" and not codes_as_text(column.column)


def codes_as_text(column: pd.Series) -> bool:
    """Whether texts that read as numbers are codes: few different ones, some with a leading zero,
    or digits alone, as many in each.
    """
    texts = [str(text) for text in column.dropna().unique()]
    of_one_length = len({len(text) for text in texts}) == 1 and all(map(str.isdecimal, texts))
    return (
        len(texts) <= _MOST_CODES or of_one_length or any(re.match(r"0\d", text) for text in texts)
    )
