"""Numbers in disguise: amounts and dates that were read as text would be matched by equality and
score risk 0.
"""

import re

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.groups import most_categories

__all__ = ["disguise_of", "reads_as_date", "refuse_disguised_numbers"]

_CURRENCY = r"(?:[$\u00a2-\u00a5\u20a0-\u20cf]|[A-Z]{3}|(?:R|kr|z\u0142|CHF|Fr|Rs)\.?)"
_GROUPED = r"\d{1,3}(?:[,.'\u2019_ \u00a0\u2009\u202f]\d{3})+"
_INDIAN = r"\d{1,2}(?:,\d{2})+,\d{3}"
_NUMBER = rf"(?:{_GROUPED}|{_INDIAN}|\d[\d_]*)?(?:[.,](?:\d+|[-\u2013]))?(?:[eE][-+]?\d+)?"
_AMOUNT = re.compile(
    rf"\(?\s*[-+\u2212<>~]?\s*{_CURRENCY}?\s*[-+\u2212]?\s*(?=[\d.,]*\d){_NUMBER}"
    rf"\s*(?:%|\u2030|[kKmM]|{_CURRENCY})?\s*[-\u2212]?\s*\)?"
)
_MONTH = r"(?:jan|feb|m[a\u00e4]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*\.?"
_TIME = r"(?:[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:[AaPp][Mm])?(?:Z|[-+]\d{2}:?\d{2})?)?"
_DATE = re.compile(
    rf"(?:\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} "
    rf"\d{{1,2}},? \d{{2,4}}){_TIME}",
    re.IGNORECASE,
)


def refuse_disguised_numbers(column: pd.Series, what: str) -> None:
    """Refuse a text variable that `categorical` does not name and whose values look like numbers or
    dates, or are too many different ones.
    """
    present = column.dropna()
    values = pd.Series(present.unique(), dtype=object).map(lambda value: str(value).strip())
    disguised = values.map(lambda text: bool(_AMOUNT.fullmatch(text) or _DATE.fullmatch(text)))
    numbers = int(present.map(dict(zip(present.unique(), disguised, strict=True))).sum())
    if numbers and 2 * numbers >= len(present):
        raise InputError(
            f"{what}: {column.name!r} is text, but {numbers} of {len(column)} values are "
            "numbers, amounts or dates; convert it to numbers "
            "(without separators, symbols and units), or name it in categorical if these are codes"
        )
    most = most_categories(len(column))
    if len(values) > most:
        raise InputError(
            f"{what}: {column.name!r} is text of {len(values)} different values in {len(column)} "
            f"records, at most {most} are taken for "
            "categories; convert it to numbers, or name it in categorical if equality is the "
            "right match"
        )


def reads_as_date(text: str) -> bool:
    """Whether a text is a date, with or without a time of day."""
    return _DATE.fullmatch(text) is not None


def disguise_of(column: pd.Series) -> str:
    """What at least half of the different values of a text column look like: "dates", "numbers", or
    "" for neither.
    """
    texts = [str(value).strip() for value in column.dropna().unique()]
    dates, numbers = (
        sum(bool(pattern.fullmatch(text)) for text in texts) for pattern in (_DATE, _AMOUNT)
    )
    if 2 * max(dates, numbers) < max(len(texts), 1):
        return ""
    return "dates" if dates >= numbers else "numbers"
