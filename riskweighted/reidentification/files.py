"""The three files of a re-identification study, checked and brought to row numbers (Census Bureau
primer, section 1.1).

PUF: the public-use file. EIF: what an external intruder holds. IUF: the truth, which PUF record is
which EIF record.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, RiskWeightedWarning, listing
from riskweighted.common.frames import as_floats, holds_numbers, require_columns
from riskweighted.intruder.patterns import cells

__all__ = [
    "Kind",
    "LinkedFiles",
    "Stratum",
    "add_rates",
    "checked_kinds",
    "cut_points",
    "link_files",
    "numbers_of_both",
    "quintile_codes",
    "standardize",
]


Kind: TypeAlias = Literal["numeric", "categorical"]
KINDS = ("numeric", "categorical")


class Stratum(NamedTuple):
    """``label``: values of the stratum variables; ``puf``, ``eif``: row numbers."""

    label: tuple[object, ...]
    puf: np.ndarray
    eif: np.ndarray


@dataclass(frozen=True)
class LinkedFiles:
    """A checked study of n PUF and m EIF records.

    ``puf`` (n, v), ``eif`` (m, v): the linking variables as floats, numbers or codes of categories,
    NaN where missing; ``levels``: the values that the codes of each categorical one stand for;
    ``truth`` (n,): EIF row of each PUF record, -1 where the IUF names none; ``strata``: one that
    holds every record where there are no stratum variables.
    """

    puf: pd.DataFrame = field(repr=False)
    eif: pd.DataFrame = field(repr=False)
    kinds: dict[str, Kind]
    puf_keys: pd.DataFrame = field(repr=False)
    eif_keys: pd.DataFrame = field(repr=False)
    truth: np.ndarray = field(repr=False)
    levels: dict[str, list[object]] = field(repr=False)
    strata: tuple[Stratum, ...] = field(repr=False)


def link_files(
    puf: pd.DataFrame,
    eif: pd.DataFrame,
    iuf: pd.DataFrame,
    linking: Mapping[str, Kind],
    *,
    pufid: str | Sequence[str] = "pufid",
    eifid: str | Sequence[str] = "eifid",
    strata: str | Sequence[str] = (),
    empty_strata: Literal["error", "allow"] = "error",
) -> LinkedFiles:
    """The three files checked against each other: `reidentify` says what each argument means.

    Raises InputError if a column is absent, typed differently or all missing, a key is not unique,
    the IUF names no pair, points nowhere or from one record to several, or a stratum is empty in
    one file (unless `empty_strata` is "allow"). It names columns and counts, never a value.
    """
    for frame, what in ((puf, "PUF"), (eif, "EIF"), (iuf, "IUF")):
        if not isinstance(frame, pd.DataFrame) or len(frame) == 0:
            raise InputError(
                f"the {what} must be a DataFrame with at least one record, got "
                f"{type(frame).__name__}"
            )
    pufid = _names(pufid, "pufid")
    eifid = _names(eifid, "eifid")
    strata = _names(strata, "strata", empty=True)
    kinds = checked_kinds(linking, {*pufid, *eifid})
    shared = sorted(set(pufid) & set(eifid))
    if shared:
        raise InputError(
            f"pufid and eifid share the column {listing(shared)}: the IUF must distinguish them, "
            "rename one"
        )
    if empty_strata not in ("error", "allow"):
        raise InputError(f"empty_strata must be 'error' or 'allow', got {empty_strata!r}")
    require_columns(puf, [*pufid, *kinds, *strata], "PUF")
    require_columns(eif, [*eifid, *kinds, *strata], "EIF")
    require_columns(iuf, [*pufid, *eifid], "IUF")
    columns = {
        name: _linking_pair(puf[name], eif[name], name, kind) for name, kind in kinds.items()
    }
    truth = _truth(iuf, _key_index(puf, pufid, "PUF"), _key_index(eif, eifid, "EIF"))
    return LinkedFiles(
        puf=pd.DataFrame({name: pair[0] for name, pair in columns.items()}),
        eif=pd.DataFrame({name: pair[1] for name, pair in columns.items()}),
        kinds=kinds,
        puf_keys=puf[pufid].reset_index(drop=True),
        eif_keys=eif[eifid].reset_index(drop=True),
        truth=truth,
        levels={name: pair[2] for name, pair in columns.items() if kinds[name] == "categorical"},
        strata=tuple(_strata(puf, eif, strata, empty_strata)),
    )


def add_rates(counts: pd.DataFrame, records: object) -> pd.DataFrame:
    """Counts of suspected and confirmed PUF records with the primer's three rates; the last is NaN
    where nothing is suspected.
    """
    suspected, confirmed = counts["suspected"], counts["confirmed"]
    conditional = confirmed / suspected.where(suspected > 0)
    return counts.assign(
        suspected_rate=suspected / records,
        confirmed_rate=confirmed / records,
        conditional_rate=conditional,
    )


def _names(names: str | Sequence[str], what: str, *, empty: bool = False) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if (
        not (listed or empty)
        or len(set(listed)) < len(listed)
        or not all(isinstance(name, str) for name in listed)
    ):
        raise InputError(f"{what} must name one or more different columns, got {names!r}")
    return listed


def checked_kinds(linking: Mapping[str, Kind], keys: Collection[str] = ()) -> dict[str, Kind]:
    """The kinds of the linking variables; refuses none, other kinds, and keys."""
    if not isinstance(linking, Mapping) or not linking:
        raise InputError(
            "linking must name one or more variables, for example {'age': 'numeric', 'sex': "
            "'categorical'}"
        )
    for name, kind in linking.items():
        if kind not in KINDS:
            raise InputError(f"linking variable {name!r} must be {listing(KINDS)}, got {kind!r}")
    used = [name for name in linking if name in keys]
    if used:
        raise InputError(f"{listing(used)} is a key, so it cannot be a linking variable too")
    return dict(linking)


def numbers_of_both(
    puf: pd.Series, eif: pd.Series, name: str, kind: Kind
) -> tuple[np.ndarray, np.ndarray] | None:
    """A numeric linking variable of both files as floats, NaN where it is missing, and None of a
    categorical one.

    Raises InputError if it is missing throughout a file, or of another kind than declared or
    infinite in one.
    """
    for column, what in ((puf, "PUF"), (eif, "EIF")):
        if column.isna().all():
            raise InputError(f"linking variable {name!r} is missing in every record of the {what}")
        if kind == "numeric" and not holds_numbers(column):
            raise InputError(
                f"linking variable {name!r} is declared numeric, but is {column.dtype} in the "
                f"{what}"
            )
        if kind == "numeric" and (infinite := int(np.isinf(as_floats(column)).sum())):
            raise InputError(
                f"linking variable {name!r} has {infinite} infinite values in the {what}"
            )
    return (as_floats(puf), as_floats(eif)) if kind == "numeric" else None


def _linking_pair(
    puf: pd.Series, eif: pd.Series, name: str, kind: Kind
) -> tuple[np.ndarray, np.ndarray, list[object]]:
    """One linking variable of both files, in one dtype; refuses what cannot be compared."""
    numbers = numbers_of_both(puf, eif, name, kind)
    if numbers is not None:
        return *numbers, []
    families = [_family(column) for column in (puf, eif)]
    if families[0] != families[1]:
        raise InputError(
            f"linking variable {name!r} is {families[0]} in the PUF and {families[1]} in the "
            "EIF: not comparable"
        )
    codes, values = pd.factorize(
        pd.concat([puf.astype(object), eif.astype(object)], ignore_index=True)
    )
    levels = np.where(codes < 0, np.nan, codes.astype(float))
    return levels[: len(puf)], levels[len(puf) :], values.tolist()


def _family(column: pd.Series) -> str:
    """What a column's values are, whatever stores them: a categorical counts as its categories."""
    values = (
        column.cat.categories.to_series()
        if isinstance(column.dtype, pd.CategoricalDtype)
        else column
    )
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    numbers = ("integer", "floating", "mixed-integer-float", "decimal", "boolean")
    return (
        "numbers"
        if inferred in numbers
        else "text"
        if inferred in ("string", "empty")
        else inferred
    )


def _key_index(frame: pd.DataFrame, key: list[str], what: str) -> pd.Index:
    """The keys of a file, unique and not missing."""
    keys = frame[key]
    missing = int(keys.isna().any(axis=1).sum())
    repeated = int(keys.duplicated().sum())
    if missing or repeated:
        wrong = " and ".join(
            f"{count} {kind}"
            for count, kind in ((missing, "missing"), (repeated, "repeated"))
            if count
        )
        raise InputError(
            f"the key {listing(key)} of the {what} must be unique: {wrong} among {len(frame)} "
            "records"
        )
    return pd.Index(keys[key[0]], name=key[0]) if len(key) == 1 else pd.MultiIndex.from_frame(keys)


def _truth(iuf: pd.DataFrame, puf_index: pd.Index, eif_index: pd.Index) -> np.ndarray:
    """EIF row of each PUF row, -1 for none."""
    rows, present = [], np.ones(len(iuf), dtype=bool)
    for index, what in ((puf_index, "PUF"), (eif_index, "EIF")):
        key = list(index.names)
        keys = iuf[key]
        given = keys.notna().all(axis=1).to_numpy()
        for level, name in enumerate(key):
            known = _family(index.get_level_values(level).to_series())
            here = _family(keys[name].dropna())
            if given.any() and known != here:
                raise InputError(
                    f"the key {name!r} is {known} in the {what} and {here} in the IUF: not "
                    "comparable"
                )
        wanted = keys.loc[given]
        lookup = pd.Index(wanted[key[0]]) if len(key) == 1 else pd.MultiIndex.from_frame(wanted)
        matched = np.full(len(iuf), -1)
        matched[given] = index.get_indexer(lookup)
        nowhere = int((matched[given] < 0).sum())
        if nowhere:
            raise InputError(
                f"the IUF points nowhere: {nowhere} of {len(iuf)} rows have a {listing(key)} "
                f"that is not in the {what}"
            )
        present &= given
        rows.append(matched)
    if not present.any():
        raise InputError(
            f"the IUF names no pair: each of its {len(iuf)} rows lacks a key; without a truth "
            "nothing can be confirmed"
        )
    for matched, index in zip(rows, (puf_index, eif_index), strict=True):
        repeated = int(pd.Series(matched[present]).duplicated().sum())
        if repeated:
            raise InputError(
                f"the IUF must name each record once: {repeated} rows repeat a "
                f"{listing(index.names)}"
            )
    truth = np.full(len(puf_index), -1)
    truth[rows[0][present]] = rows[1][present]
    return truth


def _strata(
    puf: pd.DataFrame, eif: pd.DataFrame, names: list[str], empty: str
) -> Iterator[Stratum]:
    """Both files split by the stratum variables, in the order of the PUF's first records."""
    if not names:
        yield Stratum((), np.arange(len(puf)), np.arange(len(eif)))
        return
    for name in names:
        if _family(puf[name]) != _family(eif[name]):
            raise InputError(
                f"stratum variable {name!r} is {_family(puf[name])} in the PUF and "
                f"{_family(eif[name])} in the EIF"
            )
    both = pd.concat([puf[names].astype(object), eif[names].astype(object)], ignore_index=True)
    codes = cells((both[name] for name in names), np.zeros(len(both), dtype=np.int64))
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    in_puf, in_eif = (
        np.bincount(part, minlength=len(first)) for part in (codes[: len(puf)], codes[len(puf) :])
    )
    lonely = (int(((in_puf > 0) & (in_eif == 0)).sum()), int(((in_puf == 0) & (in_eif > 0)).sum()))
    if empty == "error" and any(lonely):
        raise InputError(
            f"strata of {listing(names)} must hold records of both files: {lonely[0]} are empty "
            f"in the EIF and {lonely[1]} in the PUF; "
            "coarsen them or set empty_strata to 'allow'"
        )
    by_code = [np.argsort(part, kind="stable") for part in (codes[: len(puf)], codes[len(puf) :])]
    ends = [np.cumsum(counts) for counts in (in_puf, in_eif)]
    for code in np.argsort(first, kind="stable"):
        rows = [
            order[end[code] - count[code] : end[code]]
            for order, end, count in zip(by_code, ends, (in_puf, in_eif), strict=True)
        ]
        if len(rows[0]):
            yield Stratum(tuple(both.loc[first[code], names]), rows[0], rows[1])


def cut_points(values: np.ndarray) -> np.ndarray:
    """The 20, 40, 60 and 80 % quantiles of the non-missing values, linear interpolation; (4,)."""
    return np.asarray(np.quantile(values[~np.isnan(values)], [0.2, 0.4, 0.6, 0.8]))


def quintile_codes(files: LinkedFiles) -> tuple[np.ndarray, np.ndarray]:
    """Every linking variable as a code, (n, v) and (m, v); NaN is missing (Census Bureau primer,
    section 2, METHODS section 10).

    A number becomes 1 + the number of cut points strictly below it; cut points are those of the
    whole PUF, also where there are strata. Tied cut points leave quintiles empty: equal values
    always fall together.
    """
    puf = files.puf.to_numpy(dtype=float, copy=True)
    eif = files.eif.to_numpy(dtype=float, copy=True)
    few = []
    for number, (name, kind) in enumerate(files.kinds.items()):
        if kind == "numeric":
            cuts = cut_points(puf[:, number])
            if len(np.unique(cuts)) < 4:
                few.append(name)
            for codes in (puf, eif):
                missing = np.isnan(codes[:, number])
                codes[:, number] = np.where(
                    missing, np.nan, 1.0 + np.searchsorted(cuts, codes[:, number], side="left")
                )
    if few:
        warnings.warn(
            f"quintiles of {', '.join(repr(name) for name in few)} have tied cut points, so they "
            "make fewer than five categories "
            "(equal values fall together)",
            RiskWeightedWarning,
            stacklevel=2,
        )
    return puf, eif


def standardize(files: LinkedFiles) -> tuple[np.ndarray, np.ndarray]:
    """Numeric linking variables as z-scores by the PUF's mean and sd (ddof = 1, non-missing
    values), others as codes.
    """
    puf = files.puf.to_numpy(dtype=float, copy=True)
    eif = files.eif.to_numpy(dtype=float, copy=True)
    for number, (name, kind) in enumerate(files.kinds.items()):
        if kind == "numeric":
            present = puf[~np.isnan(puf[:, number]), number]
            if (present == present[0]).all():
                raise InputError(
                    f"linking variable {name!r} does not vary in the PUF, so it has no z-scores; "
                    "declare it categorical"
                )
            mean, sd = np.mean(present), np.std(present, ddof=1)
            puf[:, number], eif[:, number] = (
                (puf[:, number] - mean) / sd,
                (eif[:, number] - mean) / sd,
            )
    return puf, eif
