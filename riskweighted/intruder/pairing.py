"""Whose synthetic record is whose: pairing rows and bringing both files to comparable dtypes."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, RiskWeightedWarning, listing
from riskweighted.common.frames import refuse_infinite, require_columns
from riskweighted.intruder.patterns import cells
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import MISSING, Statuses

__all__ = [
    "Frames",
    "PairingError",
    "as_comparable",
    "as_frames",
    "check_synthetic",
    "check_values",
    "convert_kinds",
    "pair",
]

Frames: TypeAlias = pd.DataFrame | Sequence[pd.DataFrame]


class PairingError(InputError):
    """The rows of a synthetic file do not pair with the confidential ones, whatever their
    values.
    """


def as_frames(synthetic: Frames) -> Sequence[pd.DataFrame]:
    """One synthetic dataset or several; refuses none. A sequence stays what it is, for it may make
    each of them when it is asked for.
    """
    if isinstance(synthetic, pd.DataFrame):
        return [synthetic]
    if isinstance(synthetic, (str, Mapping)) or not isinstance(synthetic, Iterable):
        raise InputError(
            f"synthetic must be a DataFrame, or a list of them, got {type(synthetic).__name__}"
        )
    frames = synthetic if isinstance(synthetic, Sequence) else list(synthetic)
    if not len(frames):
        raise InputError("no synthetic dataset was given; valid is at least one")
    return frames


def pair(
    confidential: pd.DataFrame,
    synthetic: pd.DataFrame,
    scenario: Scenario,
    *,
    identifier: str | None = None,
) -> pd.DataFrame:
    """The scenario's columns of a synthetic file, on the rows and in the dtypes of the confidential
    one (n rows).

    Rows pair by the column `identifier` of both files; without it by index where both have the same
    one, else by position where both have the same number of rows. A column that is text in one file
    and numbers in the other (1 and "1") is compared as numbers, with a warning; where the text is
    no number the files cannot be compared. Column order and further columns do not matter.
    """
    names = [*scenario.known, *scenario.synthetic]
    require_columns(confidential, names, "confidential data")
    require_columns(synthetic, names, "synthetic data")
    if len(confidential) != len(synthetic):
        raise PairingError(
            f"rows cannot be paired: {len(confidential)} confidential and {len(synthetic)} "
            "synthetic records"
        )
    if identifier is not None:
        paired = _by_identifier(confidential, synthetic, identifier)
    elif synthetic.index.equals(confidential.index):
        paired = synthetic
    elif (
        synthetic.index.is_unique
        and confidential.index.is_unique
        and confidential.index.isin(synthetic.index).all()
    ):
        paired = synthetic.loc[confidential.index]
    else:
        paired = synthetic.set_axis(confidential.index)
    return convert_kinds(confidential, paired, names)


def convert_kinds(
    confidential: pd.DataFrame, synthetic: pd.DataFrame, names: Sequence[str]
) -> pd.DataFrame:
    """Some columns of a synthetic file, as numbers or text like the confidential ones; rows need
    not pair.
    """
    return pd.DataFrame({name: _comparable(synthetic[name], confidential[name]) for name in names})


def _by_identifier(
    confidential: pd.DataFrame, synthetic: pd.DataFrame, identifier: str
) -> pd.DataFrame:
    for frame, what in ((confidential, "confidential data"), (synthetic, "synthetic data")):
        require_columns(frame, [identifier], what)
        repeated = int(frame[identifier].duplicated().sum()) + int(frame[identifier].isna().sum())
        if repeated:
            raise InputError(
                f"{what}: the identifier {identifier!r} is missing or repeated in {repeated} "
                "records; it must be unique"
            )
    absent = int((~confidential[identifier].isin(synthetic[identifier])).sum())
    if absent:
        raise InputError(
            f"{absent} of {len(confidential)} confidential records have no synthetic record with "
            f"their {identifier!r}"
        )
    return (
        synthetic.set_index(identifier).loc[confidential[identifier]].set_axis(confidential.index)
    )


def _comparable(column: pd.Series, like: pd.Series) -> pd.Series:
    """The column as numbers where the confidential one is numeric, as text where that is text."""
    numeric, like_numeric = (pd.api.types.is_numeric_dtype(c.dtype) for c in (column, like))
    if numeric == like_numeric or like.isna().all() or column.isna().all():
        return column
    if like_numeric:
        converted = pd.to_numeric(column.astype(object), errors="coerce")
        if int(converted.isna().sum()) > int(column.isna().sum()):
            raise InputError(
                f"{column.name!r} is numeric in the confidential data and text in the synthetic "
                "data: not comparable"
            )
    else:
        as_numbers = pd.to_numeric(like.astype(object), errors="coerce")
        if int(as_numbers.isna().sum()) > int(like.isna().sum()):
            raise InputError(
                f"{column.name!r} is text in the confidential data and numeric in the synthetic "
                "data: not comparable"
            )
        spelling = dict(zip(as_numbers.dropna(), like.dropna(), strict=True))
        converted = column.map(spelling).where(
            column.isin(spelling), column.astype(object).map(str, na_action="ignore")
        )
    warnings.warn(
        f"{listing([column.name])} is {like.dtype} in the confidential and {column.dtype} in the "
        "synthetic data: compared as numbers",
        RiskWeightedWarning,
        stacklevel=3,
    )
    return converted


def check_values(
    confidential: pd.Series,
    synthetic: pd.Series,
    scenario: Scenario,
    what: str,
    known: Statuses | None = None,
) -> None:
    """Refuse infinite values of a synthetic variable, and missing values and special codes of which
    the confidential column has none.

    `known`: the statuses of the confidential column, where they are known.
    """
    n, missing = len(synthetic), int(synthetic.isna().sum())
    if missing and not confidential.isna().any():
        raise InputError(
            f"{what}: {synthetic.name!r} is missing in {missing} of {n} records and in none of "
            "the confidential data; fill or "
            "drop them first"
        )
    refuse_infinite(synthetic, what)
    if not scenario.is_numeric(confidential):
        return
    known, theirs = known or scenario.statuses(confidential), scenario.statuses(synthetic)
    for status in sorted({*theirs.present} - {MISSING, *known.present}):
        count = int((theirs.status == status).sum())
        raise InputError(
            f"{what}: {synthetic.name!r} is a special code in {count} of {n} records and in none "
            "of the confidential data"
        )
    if not theirs.is_amount.any():
        raise InputError(
            f"{what}: {synthetic.name!r} holds missing values and special codes only, the "
            "confidential data amounts too"
        )


def as_comparable(
    confidential: pd.DataFrame,
    synthetic: Frames,
    scenario: Scenario,
    what: str = "synthetic dataset",
) -> Sequence[pd.DataFrame]:
    """The synthetic datasets as a list; they need the scenario's columns, comparable ones, and not
    paired rows.
    """
    scenario.check(confidential)
    frames, names = as_frames(synthetic), (*scenario.known, *scenario.synthetic)
    for number, frame in enumerate(frames, start=1):
        whose = f"{what} {number}" if what == "synthetic dataset" else what
        require_columns(frame, names, whose)
        for name in names:
            mine, theirs = confidential[name], frame[name]
            in_ball = name in scenario.synthetic and scenario.is_numeric(
                mine
            ) != scenario.is_numeric(theirs)
            if in_ball or {_kind(mine), _kind(theirs)} == {"text", "numbers"}:
                raise InputError(
                    f"{whose}: {name!r} has dtype {theirs.dtype}, the confidential data "
                    f"{mine.dtype}: not comparable"
                )
        for name in scenario.synthetic:
            check_values(confidential[name], frame[name], scenario, whose)
    return frames


def _kind(column: pd.Series) -> Literal["text", "numbers", "other"]:
    """Of the values of a column, or of its categories; missing ones aside."""
    values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return "numbers"
    return "text" if kind == "string" else "other"


def check_synthetic(
    confidential: pd.DataFrame,
    synthetic: pd.DataFrame,
    scenario: Scenario,
    what: str,
    statuses: Mapping[str, Statuses] | None = None,
) -> None:
    """Refuse a synthetic frame whose rows do not pair with the confidential ones.

    Rows pair by index: same length, same index in the same order, the scenario's columns present
    (further columns and their order do not matter), and the known variables unaltered. `statuses`:
    those of confidential columns that are known.
    """
    require_columns(synthetic, (*scenario.known, *scenario.synthetic), what)
    if len(synthetic) != len(confidential):
        raise InputError(
            f"{what} has {len(synthetic)} records, the confidential data {len(confidential)}: "
            "rows must pair"
        )
    if not synthetic.index.equals(confidential.index):
        raise InputError(
            f"{what} has another index than the confidential data: rows must pair, in the same "
            "order"
        )
    for name in scenario.synthetic:
        numeric = scenario.is_numeric(confidential[name])
        if numeric != scenario.is_numeric(synthetic[name]):
            raise InputError(
                f"{what}: {name!r} has dtype {synthetic[name].dtype}, the confidential data "
                f"{confidential[name].dtype}"
            )
        check_values(
            confidential[name], synthetic[name], scenario, what, (statuses or {}).get(name)
        )
    altered = _altered(confidential, synthetic, scenario.known)
    if altered:
        raise PairingError(
            f"{what}: the known variables {listing(scenario.known)} differ from the confidential "
            f"data in {altered} records; "
            "they are not synthesized, so rows do not pair"
        )


def _altered(confidential: pd.DataFrame, synthetic: pd.DataFrame, known: Sequence[str]) -> int:
    """In how many records known variables differ; only columns that are not the same as they stand
    are compared by value.
    """
    other = [name for name in known if not synthetic[name].equals(confidential[name])]
    if not other:
        return 0
    n = len(confidential)
    stacked = [
        pd.concat([confidential[name], synthetic[name]], ignore_index=True) for name in other
    ]
    codes = cells(stacked, np.zeros(2 * n, dtype=np.int64))
    return int((codes[:n] != codes[n:]).sum())
