"""The public-use file of the Consumer Expenditure interview survey (BLS), brought to the variables
of the main paper.
"""

import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pandas as pd

from experiments.ce.population import CE_CATEGORIES
from riskweighted.common.errors import InputError, RiskWeightedWarning, listing

__all__ = ["load_ce_pumd"]

_FMLI = re.compile(r"fmli(\d{3})x?\.csv", re.IGNORECASE)
# the paper's quarter; first the release of 2017, then that of 2016
_QUARTER = ("fmli171x.csv", "fmli171.csv")
_MISSING = ("", ".")


class _Recode(NamedTuple):
    """From a column of the file to a variable: NaN wherever a number is none of the ``valid``
    codes.
    """

    source: str
    apply: Callable[[pd.Series], pd.Series]
    valid: str


def _codes(source: str, labels: dict[int, str]) -> _Recode:
    return _Recode(source, lambda column: column.map(labels), listing(labels, limit=20))


def _whole(column: pd.Series, least: int, most: int) -> pd.Series:
    return column.where((column % 1 == 0) & column.between(least, most))


def _age_band(age: pd.Series) -> pd.Series:
    edges = [-np.inf, 24, 34, 49, 64, np.inf]
    return pd.cut(_whole(age, 10, 120), edges, labels=list(CE_CATEGORIES["age_band"])).astype(
        object
    )


_EDUCATION = dict(zip((0, *range(10, 17)), map(str, CE_CATEGORIES["education"]), strict=True)) | {
    17: "graduate degree"
}
_RECODES = {
    "gender": _codes("SEX_REF", {1: "male", 2: "female"}),
    "age_band": _Recode("AGE_REF", _age_band, "whole years from 10 to 120"),
    "education": _codes("EDUC_REF", _EDUCATION),
    "region": _codes("REGION", {1: "Northeast", 2: "Midwest", 3: "South", 4: "West"}),
    "urban": _codes("BLS_URBN", {1: "urban", 2: "rural"}),
    "marital_status": _codes(
        "MARITAL1", {1: "married", 2: "widowed", 3: "divorced", 4: "separated", 5: "never married"}
    ),
    "urban_type": _codes(
        "POPSIZE",
        {1: "POPSIZE 1-2", 2: "POPSIZE 1-2", 3: "POPSIZE 3", 4: "POPSIZE 4-5", 5: "POPSIZE 4-5"},
    ),
    "cbsa": _codes("SMSASTAT", {1: "metropolitan", 2: "not metropolitan"}),
    "family_size": _Recode(
        "FAM_SIZE", lambda size: _whole(size, 1, 40).clip(upper=11), "whole numbers from 1 to 40"
    ),
    "earner": _codes(
        "EARNCOMP", {code: "earner" if code <= 4 else "not earner" for code in range(1, 9)}
    ),
    "income": _Recode("FINCBTXM", lambda income: income, "numbers"),
}


def load_ce_pumd(path: str | Path) -> pd.DataFrame:
    """Family records of 2017 quarter 1 from the Consumer Expenditure public-use microdata, in the
    variables of Table 1 in Hu et al. 2022.

    Parameters
    ----------
    path : str or Path
        An FMLI file (``fmli171x.csv``), which is read whatever its quarter; or the zip that BLS
        publishes (``intrvw17.zip``), or a folder, in which the FMLI file of 2017 quarter 1 is
        looked for: ``fmli171x.csv``, else ``fmli171.csv``.

    Returns
    -------
    DataFrame, with the columns and dtypes of `simulate_ce`
        README.md gives the source of each column and how sure it is. ``urban_type`` and ``cbsa``
        are substitutes with labels of their own: the public file has neither.

    Raises
    ------
    InputError
        If the file is absent or of another format, a zip or folder holds no or several FMLI files
        of the quarter, a column is absent, or holds something other than its codes. The message
        names and counts, and shows no value.

    Warns
    -----
    RiskWeightedWarning
        If records are left out because a variable is missing (blank or ".").
    """
    path = Path(path)
    with _opened(path) as (handle, name):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                raw = _read(handle, name)
        except InputError:
            raise
        except Exception as error:  # a parser's own message may quote the data
            raise InputError(f"{name!r} cannot be read as csv ({type(error).__name__})") from None
    return _recoded(raw, name)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The FMLI file as a binary handle, and its name for messages."""
    if path.is_dir():
        found = {
            str(file.relative_to(path)): file
            for file in sorted(path.rglob("*"))
            if _FMLI.fullmatch(file.name)
        }
        name = _of_the_quarter(found, path.name)
        with found[name].open("rb") as handle:
            yield handle, name
        return
    if path.suffix.lower() not in (".csv", ".zip"):
        raise InputError(
            f"cannot read {path.name!r}: give an FMLI file (.csv), the .zip that BLS publishes, "
            "or a folder"
        )
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    if path.suffix.lower() == ".csv":
        with path.open("rb") as handle:
            yield handle, path.name
        return
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path.name!r} is no zip file, or is not whole")
    with zipfile.ZipFile(path) as archive:
        name = _of_the_quarter(
            [member for member in archive.namelist() if _FMLI.fullmatch(Path(member).name)],
            path.name,
        )
        with archive.open(name) as handle:
            yield handle, name


def _of_the_quarter(members: Iterable[str], where: str) -> str:
    """The one FMLI file of 2017 quarter 1; the release of 2017 (x) goes before that of 2016."""
    members = list(members)
    for wanted in _QUARTER:
        fitting = [member for member in members if Path(member).name.lower() == wanted]
        if len(fitting) > 1:
            raise InputError(
                f"{where!r} holds several files of 2017 quarter 1: {listing(fitting)}; give the "
                "path of one"
            )
        if fitting:
            return fitting[0]
    raise InputError(
        f"{where!r} holds no FMLI file of 2017 quarter 1 ({listing(_QUARTER)}); it has "
        f"{listing(members)}"
    )


def _read(handle: IO[bytes], name: str) -> pd.DataFrame:
    """The columns that we need, as text; names of columns in any case."""
    header = pd.read_csv(handle, nrows=0, encoding="utf-8-sig").columns
    handle.seek(0)
    columns = {str(column).strip().upper(): column for column in header}
    absent = [recode.source for recode in _RECODES.values() if recode.source not in columns]
    if absent:
        raise InputError(
            f"{name!r} has no column {listing(absent)}: is it an FMLI file of the interview survey?"
        )
    wanted = {columns[recode.source]: recode.source for recode in _RECODES.values()}
    raw = pd.read_csv(
        handle, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig"
    )[list(wanted)]
    if raw.empty:
        raise InputError(f"{name!r} has no records")
    return raw.rename(columns=wanted).apply(lambda column: column.str.strip())


def _recoded(raw: pd.DataFrame, name: str) -> pd.DataFrame:
    """Variables of Table 1; complete records only, numbered anew."""
    missing = raw.isin(_MISSING)
    table = pd.DataFrame(
        {variable: _variable(raw, missing, recode, name) for variable, recode in _RECODES.items()}
    )
    whole = ~missing.any(axis=1)
    if not whole.all():
        counts = ", ".join(
            f"{column!r} ({count})" for column, count in missing.sum().items() if count
        )
        if not whole.any():
            raise InputError(f"{name!r} has no complete record; missing: {counts}")
        left_out = (
            f"{(~whole).sum()} of {len(raw)} records of {name!r} are left out; missing: {counts}"
        )
        warnings.warn(left_out, RiskWeightedWarning, stacklevel=3)
    table = table[whole].reset_index(drop=True)
    return table.astype({"family_size": np.int64, "income": float}).astype(
        {v: str for v in table if v not in ("family_size", "income")}
    )


def _variable(raw: pd.DataFrame, missing: pd.DataFrame, recode: _Recode, name: str) -> pd.Series:
    numbers = pd.to_numeric(raw[recode.source], errors="coerce").replace([np.inf, -np.inf], np.nan)
    values = recode.apply(numbers)
    bad = int((values.isna() & ~missing[recode.source]).sum())
    if bad:
        where = f"column {recode.source!r} in {bad} of {len(raw)} records"
        raise InputError(
            f"{name!r}: {where} holds something that is not valid; valid are {recode.valid}"
        )
    return values
