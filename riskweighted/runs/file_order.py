"""The order of the confidential file, which nothing that leaves may tell: columns that are numbered
in it, rows that stay together.
"""

import json
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import holds_numbers
from riskweighted.common.settings import to_table
from riskweighted.disclosure.row_order import UNLIKELY, order_chance, rank_values
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.runs.study import Study

__all__ = [
    "numbered_anew",
    "numbered_columns",
    "order_told",
    "states_order",
    "units_numbered",
    "units_together",
]

# different values, as a share of the records: of those, and of units
_NEARLY_ALL, _MANY = 0.95, 0.1
_ALIKE = 0.9  # rank correlation with the number of the row
# numbers between the least and the largest for each that occurs: those of a count, not of a
# measurement
_DENSE = 2
_FEWEST = 20  # records
_ADVICE = (
    "the column {name!r} is released unaltered and in the order of the file, which discloses "
    "{others}: leave it out, give it values in another "
    'order, or say why it may be released: [release] derived = {{{name} = "the reason"}}'
)
_NUMBERED = re.compile(r"(\D*)(\d{1,18})")


def units_together(study: Study, confidential: pd.DataFrame) -> np.ndarray | None:
    """The unit of each row, (n,), codes, whose rows leave together: where the column that names it
    leaves too. Otherwise None, since rows that stood together would tell the units.
    """
    column = study.linking_column
    if column is None or column not in study.released(confidential):
        return None
    return np.asarray(pd.factorize(confidential[column], use_na_sentinel=False)[0])


def states_order(units: np.ndarray, columns: pd.DataFrame) -> bool:
    """Whether a column of the released ones (n, columns) rises from row to row within every unit
    (n,), such as the year of a panel.
    """
    order = np.argsort(units, kind="stable")
    same = units[order][1:] == units[order][:-1]
    rises = (
        (np.diff(rank_values(columns[name])[order]) > 0)[same].all()
        for name in columns
        if not columns[name].isna().any()
    )
    return bool(same.any() and any(rises))


def numbered_columns(study: Study, confidential: pd.DataFrame) -> list[str]:
    """The columns that leave unaltered and number the records, or the units, in the order of the
    file, so that they leave with new numbers; of a study with units their id, whatever it is.

    Whole numbers, or texts that end in such (P001), hardly any of which is left out: a measurement
    by which a file is sorted is none. Columns that the study declares (`release.derived`), knows,
    or reads stay as they are.
    """
    kept = {
        *study.release.derived,
        *study.scenario.known,
        *study.synthesizer.columns_among(confidential.columns),
    }
    said = json.dumps(to_table(study)["evaluation"], default=str)
    names = [name for name in study.unaltered(confidential) if name not in kept]
    names = [
        name
        for name in names
        if name == study.linking_column or not re.search(rf"\b{re.escape(name)}\b", said)
    ]
    return [
        *([] if study.units is None else [study.units.id]),
        *(
            name
            for name in names
            if _is_numbered(
                confidential[name], _MANY if name == study.linking_column else _NEARLY_ALL
            )
        ),
    ]


def _is_numbered(column: pd.Series, share: float) -> bool:
    """Whether the different values, at least such a share of the records, are numbered in the order
    in which they first appear.
    """
    first = column[~column.duplicated() & column.notna()]
    if len(first) < max(_FEWEST, share * len(column)):
        return False
    numbers = _whole_numbers(first)
    if numbers is None or np.ptp(numbers) >= _DENSE * len(first):
        return False
    return bool(
        abs(np.corrcoef(numbers.argsort().argsort(), np.arange(len(first)))[0, 1]) >= _ALIKE
    )


def _whole_numbers(column: pd.Series) -> np.ndarray | None:
    """The whole numbers that values (m,) are, or that stand at the end of texts that begin alike;
    None where they are neither.
    """
    if holds_numbers(column):
        numbers = column.to_numpy(dtype=float)
        return (
            numbers if np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all() else None
        )
    found = [_NUMBERED.fullmatch(text) for text in column.astype(str)]
    if not all(found) or len({match[1] for match in found if match}) > 1:
        return None
    return np.array([float(match[2]) for match in found if match])


def units_numbered(column: pd.Series) -> pd.Series:
    """An id of units (n,) with the numbers from 1 on in the order of its rows, as text where it is
    text.
    """
    codes = pd.factorize(column)[0] + 1
    if holds_numbers(column):
        return pd.Series(codes, column.index, column.dtype, column.name)
    width = len(str(codes.max()))
    texts = pd.Series([f"{code:0{width}d}" for code in codes], column.index, name=column.name)
    return texts.astype(
        "category" if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    )


def numbered_anew(column: pd.Series) -> pd.Series:
    """A column (n,) of numbers, or of texts that end in such, numbered from its least one in the
    order of its rows.
    """
    values = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    levels = pd.Series(values.dropna().unique())
    numbers = _whole_numbers(levels)
    if numbers is None:
        raise InputError(f"{column.name!r} holds no numbers")
    anew: list[object] = [int(numbers.min()) + place for place in range(len(levels))]
    if not holds_numbers(values):
        begin, least = re.match(r"\D*", str(levels[0]))[0], min(levels.astype(str).str.len())  # type: ignore[index]
        anew = [f"{begin}{number:0{least - len(begin)}d}" for number in anew]
    return values.map(dict(zip(levels, anew, strict=True))).astype(
        "category" if values is not column else column.dtype
    )


def order_told(study: Study, confidential: pd.DataFrame) -> Iterator[str]:
    """What a release is refused for: columns that leave unaltered, tell the order of the file and
    with it that of a variable.

    Looked at are columns of nearly distinct values whose rank correlation with the number of the
    row is .9 or more; of those that no model reads and nobody knows, which may number households,
    also columns with a value for every tenth record. Columns that leave with new numbers are none.
    """
    count, unaltered = len(confidential), study.unaltered(confidential)
    if count < _FEWEST:
        return
    places = pd.Series(np.arange(count))
    spared = {*study.release.derived, *numbered_columns(study, confidential)}
    read = {*study.scenario.known, *study.synthesizer.columns_among(confidential.columns)}
    for name in unaltered:
        different = confidential[name].nunique()
        if name in spared or different < (_NEARLY_ALL if name in read else _MANY) * count:
            continue
        numbers = _whole_numbers(confidential[name])
        numbers = rank_values(confidential[name]) if numbers is None else numbers
        if abs(places.corr(pd.Series(numbers), method="spearman")) >= _ALIKE:
            patterns = released_patterns(
                confidential, [other for other in unaltered if other != name]
            )
            # such as households, whose members are alike
            units = pd.factorize(confidential[name], use_na_sentinel=False)[0]
            chances = {
                other: order_chance(confidential[other], numbers, patterns, units)
                for other in study.variables
            }
            if told := [other for other, chance in chances.items() if chance < UNLIKELY]:
                yield _ADVICE.format(name=name, others=listing(told))
