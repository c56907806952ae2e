"""The last look at a release pack: every file is read, and the pack is refused where something confidential is in it.

Refused is

- a file that no pattern of `ALLOWED` names, a link, and a file whose content is not what its name says; a file of
  parquet, Stata, SPSS or SAS must be, byte for byte, what its table and its label make, so that nothing else hides in it;
- a dataset with other columns or rows than the confidential data, or whose unaltered columns are not the data's own;
- a synthesized column that is nearer to the confidential one than chance allows. Chance is what fresh draws from the same
  posterior give: 20 datasets say how many rows equal the confidential value (to 6 digits), how many values occur in both
  columns whatever their row, and how the ranks correlate. More than 6 standard deviations above is refused, and so is a
  rank correlation that leaves less than a quarter of what the closest fresh draw leaves to 1. For a continuous variable
  a handful of equal rows is too many; for counts chance gives many, and fewer copied rows than its spread stay unseen;
- a synthesized column that equals weights or risks of records, or orders the records as they do;
- in every other file and in column names, what `riskweighted.release.leak_text` finds.
"""

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.common.errors import InputError, listing
from riskweighted.common.seeds import seed_for
from riskweighted.data.io import read_label, read_table, write_table
from riskweighted.release.leak_text import TextSecrets, make_text_secrets, problems_in_text, significant_digits
from riskweighted.runs.finished import FinishedRun
from riskweighted.synthesis.posterior import prepare_model

__all__ = ["ALLOWED", "Chance", "Secrets", "chance_of", "check_pack", "check_unaltered", "gather_secrets"]

ALLOWED = (
    r"README\.md",
    r"codebook\.(csv|md)",
    r"how_to_combine\.md",
    r"combine\.(py|R|sas|do)",
    r"report\.html",
    r"sign_off\.md",
    r"manifest\.json",
    r"data/(?P<scheme>[a-z0-9-]+)/README\.txt",
    r"data/(?P<scheme>[a-z0-9-]+)/synthetic_(?P=scheme)_\d+\.(csv|parquet|dta|sav|xpt)",
)
_FRESH = 20  # datasets drawn to see what chance gives
_SPREADS = 6
_CLOSE = 1e-6  # relative: a value stored in half the precision is still the value
_COPIED = 0.01  # share of unmistakable values that no synthesizer may repeat, whatever its fresh draws do
_SAME_ORDER = 0.999


@dataclass(frozen=True)
class Chance:
    """What fresh draws give by chance; ``equal`` rows and values in ``common``: mean and the most allowed; ``order``: of ranks."""

    equal: float
    most_equal: float
    most_common: float
    most_order: float


@dataclass(frozen=True)
class Secrets:
    """What a pack is checked against. Confidential.

    Attributes
    ----------
    confidential : DataFrame (n, columns)
    target : str
        The synthesized variable.
    per_record : DataFrame (n, columns)
        Weights and risks that differ between records.
    chance : dict of str to Chance
        By scheme.
    text : TextSecrets
    """

    confidential: pd.DataFrame
    target: str
    per_record: pd.DataFrame
    chance: Mapping[str, Chance]
    text: TextSecrets


def gather_secrets(run: FinishedRun, confidential: pd.DataFrame, schemes: Iterable[str]) -> Secrets:
    """Read what must not leave, and draw fresh datasets to see what chance gives.

    Raises
    ------
    InputError
        If the data is not the one that the run was made from.
    """
    model, target, posteriors = prepare_model(run.study.make_synthesizer(), confidential), run.study.target, run.posteriors
    tables = {f"weights {name}": column for name, column in run.weights.items()}
    tables |= {f"risks {name}": column for name, column in run.records.items()}
    varying = {name: column.to_numpy(dtype=float) for name, column in tables.items() if column.nunique() > 1}
    values = confidential[target].to_numpy(dtype=float)
    chance = {}
    for scheme in schemes:
        alpha = pd.Series(run.weights[scheme].to_numpy(dtype=float), confidential.index)
        fitted = model.load(run.posterior_path(scheme), alpha)
        fresh = fitted.synthesize(_FRESH, random_seed=seed_for(run.study.seed, "leak check", scheme))
        chance[scheme] = chance_of([frame[target].to_numpy(dtype=float) for frame in fresh], values)
    draws = [variable.to_numpy().ravel() for fit in posteriors.values() for variable in fit.values() if "draw" in variable.dims]
    published = [table.select_dtypes("number").to_numpy(dtype=float).ravel() for table in run.tables.values()]
    text = make_text_secrets({target: values}, varying, np.concatenate(draws), np.concatenate(published))
    return Secrets(confidential, target, pd.DataFrame(varying), chance, text)


def chance_of(fresh: list[np.ndarray], values: np.ndarray) -> Chance:
    """Limits from fresh datasets of one posterior: mean plus 6 standard deviations (that of independent rows at least), plus 3 rows."""
    equal = np.array([_equal_rows(drawn, values).sum() for drawn in fresh])
    common = np.array([_in_common(drawn, values) for drawn in fresh])
    order = max(_rank_correlation(drawn, values) for drawn in fresh)
    return Chance(float(equal.mean()), _most(equal, len(values)), _most(common, len(values)), 1 - (1 - order) / 4)


def _most(counts: np.ndarray, n: int) -> float:
    share = counts.mean() / n
    return float(counts.mean() + _SPREADS * max(counts.std(ddof=1), np.sqrt(n * share * (1 - share))) + 3)


def _equal_rows(drawn: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which rows hold the same value, (n,), but for rounding."""
    equal: np.ndarray = np.abs(drawn - values) <= _CLOSE * np.abs(values)
    return equal


def _in_common(drawn: np.ndarray, values: np.ndarray) -> int:
    """How many values of one column find a partner of their own in the other, whatever its row; to 7 digits."""
    counts = [pd.Series([f"{value:.6e}" for value in column]).value_counts() for column in (drawn, values)]
    return int(pd.concat(counts, axis=1, join="inner").min(axis=1).sum())


def _rank_correlation(left: np.ndarray, right: np.ndarray) -> float:
    """Spearman's, without its sign; 0 where a column is constant."""
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return 0.0
    return float(abs(stats.spearmanr(left, right).statistic))


def check_unaltered(confidential: pd.DataFrame, target: str) -> None:
    """Refuse data of which an unaltered column repeats the sensitive one, or orders the records as it does."""
    values = confidential[target].to_numpy(dtype=float)
    if len(np.unique(values)) < _FRESH:
        return
    for name, column in confidential.drop(columns=target).items():
        if not pd.api.types.is_numeric_dtype(column.dtype) or column.isna().any():
            continue
        numbers = column.to_numpy(dtype=float)
        if _rank_correlation(numbers, values) >= _SAME_ORDER or _copies(numbers, values):
            raise InputError(f"the unaltered column {name!r} gives away the synthesized {target!r}; leave it out of the data")


def _copies(numbers: np.ndarray, values: np.ndarray) -> bool:
    """Whether a column repeats unmistakable values in their rows, more than 1 % of them and more than 3."""
    once = ~pd.Series(values).duplicated(keep=False).to_numpy()
    long = np.array([significant_digits(value) >= 6 for value in values])
    repeated = int((_equal_rows(numbers, values) & once & long).sum())
    return repeated > max(3, _COPIED * int((once & long).sum()))


def check_pack(folder: Path, secrets: Secrets) -> pd.DataFrame:
    """Read every file of a pack.

    Parameters
    ----------
    folder : Path
    secrets : Secrets
        From `gather_secrets`.

    Returns
    -------
    DataFrame: one row per dataset file, with the rows that equal the confidential value, the number expected by chance
    and the most allowed. For the agency; not part of the pack.

    Raises
    ------
    InputError
        If anything is found; the message names the file and what it is, never a value.
    """
    rows = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        match = next((match for pattern in ALLOWED if (match := re.fullmatch(pattern, name))), None)
        if match is None or path.is_symlink() or not path.is_file():
            raise _refusal(name, "not on the list of files that a pack may hold")
        scheme = match.groupdict().get("scheme")
        if scheme is None or path.name == "README.txt":
            _check_text(path, name, secrets)
        elif scheme not in secrets.chance:
            raise _refusal(name, "a dataset of a scheme that is not released")
        else:
            rows.append({"file": name, **_check_dataset(path, name, secrets, secrets.chance[scheme])})
    return pd.DataFrame(rows)


def _refusal(name: str, what: str) -> InputError:
    return InputError(f"nothing was released: {name!r} is or holds {what}")


def _check_text(path: Path, name: str, secrets: Secrets) -> None:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise _refusal(name, "no text, which its name says it is") from None
    if "\0" in text:
        raise _refusal(name, "no text, which its name says it is")
    found = problems_in_text(text, secrets.text)
    if found:
        raise _refusal(name, "; ".join(found))


def _check_dataset(path: Path, name: str, secrets: Secrets, chance: Chance) -> dict[str, float]:
    """One dataset: that it is only a table, that of the data, and how near its synthesized column is."""
    try:
        table = read_table(path)
    except InputError as error:
        raise _refusal(name, f"no readable table ({error})") from None
    own = secrets.confidential
    if list(table.columns) != [str(column) for column in own.columns]:
        raise _refusal(name, f"other columns than the data: it has {len(table.columns)} and the data {len(own.columns)}")
    if len(table) != len(own):
        raise _refusal(name, f"{len(table)} rows, and the data has {len(own)}")
    if path.suffix != ".csv" and not _is_only(table, path):
        raise _refusal(name, "more than its table and its label")
    found = problems_in_text("\n".join([*table.columns, read_label(path)]), secrets.text)
    if found:
        raise _refusal(name, "; ".join(found))
    differing = [column for column in own if column != secrets.target and not _same_column(table[str(column)], own[column])]
    if differing:
        raise _refusal(name, f"unaltered columns that are not those of the data: {listing(differing)}")
    return _check_synthesized(table[secrets.target], name, secrets, chance)


def _check_synthesized(column: pd.Series, name: str, secrets: Secrets, chance: Chance) -> dict[str, float]:
    if not pd.api.types.is_numeric_dtype(column.dtype) or column.isna().any():
        raise _refusal(name, f"values of {secrets.target!r} that are missing or no numbers")
    drawn, values = column.to_numpy(dtype=float), secrets.confidential[secrets.target].to_numpy(dtype=float)
    equal = int(_equal_rows(drawn, values).sum())
    if equal > chance.most_equal or _copies(drawn, values):
        raise _refusal(
            name,
            f"the confidential value of {secrets.target!r} in {equal} rows of {len(values)}; chance gives {chance.equal:.1f}, "
            f"and at most {chance.most_equal:.1f}",
        )
    common = _in_common(drawn, values)
    if common > chance.most_common:
        raise _refusal(
            name, f"{common} confidential values of {secrets.target!r}, in other rows; chance gives at most {chance.most_common:.1f}"
        )
    if _rank_correlation(drawn, values) > chance.most_order:
        raise _refusal(name, f"values of {secrets.target!r} that order the records as the confidential ones do")
    for other, numbers in secrets.per_record.items():
        theirs = numbers.to_numpy(dtype=float)
        alike = _equal_rows(drawn, theirs).mean() > 0.5 and len(np.unique(theirs)) >= 5
        if alike or _rank_correlation(drawn, theirs) >= _SAME_ORDER:
            raise _refusal(name, f"{other} of the records, in the column {secrets.target!r}")
    return {"rows": len(values), "equal to the confidential value": equal, "expected by chance": chance.equal, "at most": chance.most_equal}


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
    return _as_text(found) == _as_text(own)


def _as_text(column: pd.Series) -> list[str]:
    return ["" if pd.isna(value) else str(value) for value in column]
