"""The last look at a release pack: every file is read, and the pack is refused where something confidential is in it.

Refused is

- a file that no pattern of `ALLOWED` names, a link, and a file whose content is not what its name says; a file of
  parquet, Stata, SPSS or SAS must be, byte for byte, what its table and its label make, so that nothing else hides in it;
- a dataset with other columns than the released ones, other rows than the data, or unaltered columns that are not the data's own;
- a synthesized column that is nearer to the confidential one than chance allows (`riskweighted.release.nearness`), in its amounts or
  levels, or in where it is missing or holds a special code; that has more digits than the stated precision, or that equals weights or
  risks of records, or orders the records as they do; whole records that are repeated;
- in every other file and in column names, what `riskweighted.release.leak_text` finds;
- any file that is not, byte for byte, what the run makes (`riskweighted.release.remade`).

Not found is what is as likely as a fresh draw: noise about the truth as wide as the model's own, a few true values among values so dense
that draws meet them anyway, and what the posterior itself gives away; risk measures are for that.
"""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import kind_of_values
from riskweighted.data.io import read_label, read_table, write_table
from riskweighted.design.precision import round_to
from riskweighted.release.leak_text import TextSecrets, make_text_secrets, problems_in_text
from riskweighted.release.nearness import Chance, equal_rows, find_nearness
from riskweighted.release.remade import MadeDatasets, check_made, refusal
from riskweighted.release.sensitive import Sensitive, find_sensitive, same_records
from riskweighted.risk.copies import Ranked, order_alike
from riskweighted.runs.finished import FinishedRun

__all__ = ["ALLOWED", "Secrets", "check_pack", "check_synthesized", "gather_secrets", "recorded"]

_SCHEME = r"[a-z0-9-]+(\([A-Za-z0-9-.,= ()]+\))?"  # with its settings: uniform(c=0.1)
ALLOWED = (
    r"README\.md",
    r"codebook\.(csv|md|xml)",
    r"disclosure_record(\.schema)?\.json",
    r"how_to_combine\.md",
    r"combine\.(py|R|sas|do)",
    r"report\.html",
    r"sign_off\.md",
    r"manifest\.json",
    rf"data/(?P<scheme>{_SCHEME})/README\.txt",
    rf"data/(?P<scheme>{_SCHEME})/synthetic_(?P=scheme)_\d+\.(csv|parquet|dta|sav|xpt)",
)
_SAME_ORDER = 0.999
_EXACT = (".csv", ".parquet")  # what is written to them is what is read from them
_HALF, _FEW = 0.5, 5  # of the records that are equal; different values, below which that says nothing


@dataclass(frozen=True)
class Secrets:
    """What a pack is checked against. Confidential.

    Attributes
    ----------
    confidential : DataFrame (n, columns)
    variables : tuple of Sensitive
        The synthesized ones, each with what chance gives.
    most_records : mapping of scheme to float
        How many rows may repeat the confidential values of all variables; of the schemes that may be in the pack.
    per_record : DataFrame (n, columns)
        Weights and risks that differ between records.
    recorded : mapping of name to Recorded
        The same, as columns are compared with them.
    text : TextSecrets
    run : FinishedRun
        What the files of a pack must have been made from.
    report : callable or None
        What makes its report; None: unknown, so the report need only be the one that the manifest names.
    seen : dict
        A dataset whose unaltered columns were seen to be those of the data ("shared").
    """

    confidential: pd.DataFrame
    variables: tuple[Sensitive, ...]
    most_records: Mapping[str, float]
    per_record: pd.DataFrame
    text: TextSecrets
    run: FinishedRun = field(repr=False)
    report: Callable[[FinishedRun], str] | None = field(default=None, repr=False)
    seen: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False)

    @cached_property
    def recorded(self) -> "Mapping[str, Recorded]":
        return recorded(self.per_record)


@dataclass(frozen=True, eq=False)
class Recorded:
    """Weights or risks of the records, (n,): their order, where they differ from the usual one, and whether that is often."""

    ranked: Ranked
    unusual: np.ndarray
    varied: bool

    def told_by(self, drawn: np.ndarray, order: Ranked) -> bool:
        """Whether a column equals them, or orders the records as they do."""
        alike = self.varied and equal_rows(drawn, self.ranked.values)[self.unusual].mean() > _HALF
        return bool(alike) or order_alike(order, self.ranked) >= _SAME_ORDER


def recorded(per_record: pd.DataFrame) -> dict[str, Recorded]:
    """Every column of a table of the records (n, columns), as released columns are compared with it."""
    found = {}
    for name, numbers in per_record.items():
        values = numbers.to_numpy(dtype=float)
        levels, counts = np.unique(values, return_counts=True)
        usual = values == levels[counts.argmax()]  # such as a risk of 0, which any zero equals
        found[str(name)] = Recorded(Ranked(values), ~usual, len(levels) >= _FEW)
    return found


def gather_secrets(
    run: FinishedRun, confidential: pd.DataFrame, schemes: Iterable[str], report: Callable[[FinishedRun], str] | None = None
) -> Secrets:
    """Read what must not leave, and draw fresh datasets to see what chance gives.

    Raises
    ------
    InputError
        If the data is not the one that the run was made from.
    """
    schemes = tuple(schemes)
    variables, most_records = find_sensitive(run, confidential, schemes)
    tables = {f"weights {name}": column for name, column in run.weights.items()}
    tables |= {f"risks {name}": column for name, column in run.records.items()}
    tables |= {f"expected risks {name}": column for name, column in run.expected.items()}
    varying = {name: column.to_numpy(dtype=float) for name, column in tables.items() if column.nunique() > 1}
    draws = [variable.to_numpy().ravel() for fit in run.posteriors.values() for variable in fit.values() if "draw" in variable.dims]
    published = [table.select_dtypes("number").to_numpy(dtype=float).ravel() for table in run.tables.values()]
    sensitive = {name: column for one in variables for name, column in one.texts().items()}
    text = make_text_secrets(sensitive, varying, np.concatenate(draws), np.concatenate(published))
    released = confidential[run.study.released(confidential)]
    return Secrets(released, variables, most_records, pd.DataFrame(varying), text, run, report)


def check_pack(folder: Path, secrets: Secrets) -> pd.DataFrame:
    """Read every file of a pack.

    Parameters
    ----------
    folder : Path
    secrets : Secrets
        From `gather_secrets`.

    Returns
    -------
    DataFrame: one row per dataset file and synthesized variable, with the rows that equal the confidential value, the number expected
    by chance and the most allowed. For the agency; not part of the pack.

    Raises
    ------
    InputError
        If anything is found; the message names the file and what it is, never a value.
    """
    rows, made = [], MadeDatasets(folder, secrets.run)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        match = next((match for pattern in ALLOWED if (match := re.fullmatch(pattern, name))), None)
        if match is None or path.is_symlink() or not path.is_file():
            raise refusal(name, "not on the list of files that a pack may hold")
        scheme = match.groupdict().get("scheme")
        if scheme is None or path.name == "README.txt":
            _check_text(path, name, secrets)
        elif scheme not in secrets.most_records:
            raise refusal(name, "a dataset of a scheme that is not released")
        else:
            found = made.found(name) if path.suffix in _EXACT else None
            table, shared = (_read_dataset(path, name),) * 2 if found is None else found
            _check_unaltered(table, shared, name, secrets)
            _check_label(table, path, name, secrets)
            rows += [{"file": name, **row} for row in _check_synthetic(table, name, secrets, scheme)]
    check_made(folder, secrets.run, secrets.report, made.hashes)
    return pd.DataFrame(rows)


def _check_text(path: Path, name: str, secrets: Secrets) -> None:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise refusal(name, "no text, which its name says it is") from None
    if "\0" in text:
        raise refusal(name, "no text, which its name says it is")
    found = problems_in_text(text, secrets.text)
    if found:
        raise refusal(name, "; ".join(found))


def _read_dataset(path: Path, name: str) -> pd.DataFrame:
    """A dataset that is not surely what the run makes: that it is only a table."""
    try:
        table = read_table(path)
    except InputError as error:
        raise refusal(name, f"no readable table ({error})") from None
    if path.suffix != ".csv" and not _is_only(table, path):
        raise refusal(name, "more than its table and its label")
    return table


def _check_unaltered(table: pd.DataFrame, shared: pd.DataFrame, name: str, secrets: Secrets) -> None:
    """That the columns and rows of a dataset are those of the data; of datasets that share columns, once."""
    own = secrets.confidential
    if list(table.columns) != [str(column) for column in own.columns]:
        raise refusal(name, f"other columns than the data: it has {len(table.columns)} and the data {len(own.columns)}")
    if len(table) != len(own):
        raise refusal(name, f"{len(table)} rows, and the data has {len(own)}")
    if shared is secrets.seen.get("shared"):
        return
    synthesized = [one.name for one in secrets.variables]
    differing = [column for column in own if column not in synthesized and not _same_column(shared[str(column)], own[column])]
    if differing:
        raise refusal(name, f"unaltered columns that are not those of the data: {listing(differing)}")
    secrets.seen["shared"] = shared


def _check_label(table: pd.DataFrame, path: Path, name: str, secrets: Secrets) -> None:
    """That the names of columns and the label of a file tell nothing."""
    found = problems_in_text("\n".join([*table.columns, read_label(path)]), secrets.text)
    if found:
        raise refusal(name, "; ".join(found))


def _check_synthetic(table: pd.DataFrame, name: str, secrets: Secrets, scheme: str) -> list[dict[str, object]]:
    """How near the synthesized columns of a dataset are to the confidential ones."""
    rows = [_check_variable(table[one.name], name, secrets, one, scheme) for one in secrets.variables]
    whole = same_records(secrets.variables, table)
    if whole > secrets.most_records[scheme]:
        raise refusal(name, f"the confidential values of all synthesized columns in {whole} rows; chance gives fewer")
    return rows


def _check_variable(column: pd.Series, name: str, secrets: Secrets, variable: Sensitive, scheme: str) -> dict[str, object]:
    """Hold one synthesized column of a file to what chance gives: amounts or levels, then statuses."""
    try:
        drawn = variable.numbers(column)
    except InputError as error:
        raise refusal(name, str(error)) from None
    chance, half = variable.chance[scheme], variable.confidential.dtype == np.float32
    found = check_synthesized(drawn, chance, variable.unit, secrets.recorded, resolution=1e-6 if half else 1e-12)
    if variable.levels is None and not found:
        found = [f"as missing values and special codes {what}" for what in _status_found(variable.status(column), variable, scheme)]
    if found:
        raise refusal(name, f"in the column {variable.name!r} {'; '.join(found)}")
    return {
        "variable": variable.name,
        "rows": len(drawn),
        "equal to the confidential value": int(equal_rows(drawn, chance.values).sum()),
        "expected by chance": chance.equal,
        "at most": chance.most_equal,
    }


def _status_found(status: np.ndarray, variable: Sensitive, scheme: str) -> list[str]:
    """What the statuses (n,) of a number give away; where neither the data nor fresh draws have any, there must be none."""
    if scheme in variable.statuses:
        return list(find_nearness(status, variable.statuses[scheme]))
    return ["that neither the data nor the model have"] if status.any() else []


def check_synthesized(
    drawn: np.ndarray, chance: Chance, precision: float | None, per_record: Mapping[str, Recorded], *, resolution: float = 1e-12
) -> list[str]:
    """What a released column (n,) gives away, one line each; `resolution`: relative, of the numbers as they are stored."""
    found = list(find_nearness(drawn, chance))
    finer = np.abs(drawn - round_to(drawn, precision)) > resolution * np.abs(drawn)
    if finer.any():
        found.append(f"more digits than its precision in {int(finer.sum())} rows")
    order = Ranked(drawn)
    return found + [f"{other} of the records" for other, theirs in per_record.items() if theirs.told_by(drawn, order)]


def _is_only(table: pd.DataFrame, path: Path) -> bool:
    """Whether a file is, byte for byte, what its table and its label make."""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / path.name
        write_table(table, again, label=read_label(path))
        return again.read_bytes() == path.read_bytes()


def _same_column(found: pd.Series, own: pd.Series) -> bool:
    """Whether a column read back is the data's own: as numbers or dates where they are, else as text."""
    if pd.api.types.is_numeric_dtype(found.dtype) and pd.api.types.is_numeric_dtype(own.dtype):
        left, right = (column.to_numpy(dtype=float, na_value=np.nan) for column in (found, own))
        precision = 1e-6 if own.dtype == np.float32 else 1e-14  # as text, a number of half the precision reads as another
        return np.allclose(left, right, rtol=precision, atol=0, equal_nan=True)
    if pd.api.types.is_datetime64_any_dtype(own.dtype):
        return bool(pd.to_datetime(found, errors="coerce", utc=True).equals(pd.to_datetime(own, utc=True).reset_index(drop=True)))
    return bool((_as_text(found) == _as_text(own)).all())


def _as_text(column: pd.Series) -> np.ndarray:
    """The values as text (n,), empty where missing."""
    if kind_of_values(column) not in ("string", "str", "category", "integer", "datetime"):  # 1 and True are equal, and other texts
        return np.array(["" if pd.isna(value) else str(value) for value in column], dtype=object)
    codes, different = pd.factorize(column)  # missing: -1, the last place
    text: np.ndarray = np.array([*map(str, different), ""], dtype=object)[codes]
    return text
