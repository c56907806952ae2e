"""The last look at a release pack: every file is read, and the pack is refused where something confidential is in it.

Refused is

- a file that no pattern of `ALLOWED` names, a link, and a file whose content is not what its name says; a file of
  parquet, Stata, SPSS or SAS must be, byte for byte, what its table and its label make, so that nothing else hides in it;
- a dataset with other columns than the released ones, other rows than the data, or unaltered columns that are not the data's own;
- a synthesized column that is nearer to the confidential one than chance allows (`riskweighted.release.nearness`), that has more digits
  than the stated precision, or that equals weights or risks of records, or orders the records as they do;
- in every other file and in column names, what `riskweighted.release.leak_text` finds;
- any file that is not, byte for byte, what the run makes (`riskweighted.release.remade`).

Not found is what is as likely as a fresh draw: noise about the truth as wide as the model's own, a few true values among values so dense
that draws meet them anyway, and what the posterior itself gives away; risk measures are for that.
"""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.data.io import read_label, read_table, write_table
from riskweighted.release.leak_text import TextSecrets, make_text_secrets, problems_in_text
from riskweighted.release.nearness import Chance, chance_of, equal_rows, find_nearness
from riskweighted.release.remade import check_made, refusal
from riskweighted.risk.copies import order_alike
from riskweighted.runs.finished import FinishedRun
from riskweighted.synthesis.categories import categories_of, codes_in, target_numbers
from riskweighted.synthesis.posterior import prepare_model
from riskweighted.synthesis.precision import find_precision, round_to

__all__ = ["ALLOWED", "Secrets", "check_pack", "check_synthesized", "gather_secrets"]

_SCHEME = r"[a-z0-9-]+(\([A-Za-z0-9-.,= ()]+\))?"  # with its settings: uniform(c=0.1)
ALLOWED = (
    r"README\.md",
    r"codebook\.(csv|md)",
    r"how_to_combine\.md",
    r"combine\.(py|R|sas|do)",
    r"report\.html",
    r"sign_off\.md",
    r"manifest\.json",
    rf"data/(?P<scheme>{_SCHEME})/README\.txt",
    rf"data/(?P<scheme>{_SCHEME})/synthetic_(?P=scheme)_\d+\.(csv|parquet|dta|sav|xpt)",
)
_SAME_ORDER = 0.999
_FRESH = 20  # datasets drawn to see what chance gives


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
    precision : float or None
        Of the released values; None: 7 significant digits.
    run : FinishedRun
        What the files of a pack must have been made from.
    report : callable or None
        What makes its report; None: unknown, so the report need only be the one that the manifest names.
    levels : tuple or None
        Of a categorical target, whose values are compared by their codes.
    """

    confidential: pd.DataFrame
    target: str
    per_record: pd.DataFrame
    chance: Mapping[str, Chance]
    text: TextSecrets
    precision: float | None
    run: FinishedRun = field(repr=False)
    report: Callable[[FinishedRun], str] | None = field(default=None, repr=False)
    levels: tuple[object, ...] | None = None


def gather_secrets(
    run: FinishedRun, confidential: pd.DataFrame, schemes: Iterable[str], report: Callable[[FinishedRun], str] | None = None
) -> Secrets:
    """Read what must not leave, and draw fresh datasets to see what chance gives.

    Raises
    ------
    InputError
        If the data is not the one that the run was made from.
    """
    model = prepare_model(run.study.make_synthesizer(), confidential, run.study.weights.survey)
    target, posteriors = run.study.target, run.posteriors
    tables = {f"weights {name}": column for name, column in run.weights.items()}
    tables |= {f"risks {name}": column for name, column in run.records.items()}
    tables |= {f"expected risks {name}": column for name, column in run.expected.items()}
    varying = {name: column.to_numpy(dtype=float) for name, column in tables.items() if column.nunique() > 1}
    levels, values = categories_of(model.synthesizer, model.prepared), target_numbers(model.synthesizer, model.prepared, confidential)
    given, precision, chance = run.study.guarantee, run.study.release.precision_of(target), {}
    if levels is None and precision is None:
        precision = find_precision(confidential[target]) if given is None else 1.0  # of whole numbers, which alone need not state one
    for scheme in schemes:
        alpha = pd.Series(run.weights[scheme].to_numpy(dtype=float), confidential.index)
        fitted = model.load(run.posterior_path(scheme), alpha, guarantee=given, L=run.study.release.L)
        fitted = replace(fitted, censoring=None)  # these datasets do not leave, so that no guarantee limits their number
        fresh = fitted.synthesize(_FRESH, random_seed=run.streams.seed_for("leak check", scheme), precision=precision)
        chance[scheme] = chance_of([fitted.numbers(frame) for frame in fresh], values, 1.0 if levels is not None else precision)
    draws = [variable.to_numpy().ravel() for fit in posteriors.values() for variable in fit.values() if "draw" in variable.dims]
    published = [table.select_dtypes("number").to_numpy(dtype=float).ravel() for table in run.tables.values()]
    text = make_text_secrets({target: values}, varying, np.concatenate(draws), np.concatenate(published))
    released = confidential[run.study.released(confidential)]
    return Secrets(released, target, pd.DataFrame(varying), chance, text, 1.0 if levels is not None else precision, run, report, levels)


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
            raise refusal(name, "not on the list of files that a pack may hold")
        scheme = match.groupdict().get("scheme")
        if scheme is None or path.name == "README.txt":
            _check_text(path, name, secrets)
        elif scheme not in secrets.chance:
            raise refusal(name, "a dataset of a scheme that is not released")
        else:
            rows.append({"file": name, **_check_dataset(path, name, secrets, secrets.chance[scheme])})
    check_made(folder, secrets.run, secrets.report)
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


def _check_dataset(path: Path, name: str, secrets: Secrets, chance: Chance) -> dict[str, float]:
    """One dataset: that it is only a table, that of the data, and how near its synthesized column is."""
    try:
        table = read_table(path)
    except InputError as error:
        raise refusal(name, f"no readable table ({error})") from None
    own = secrets.confidential
    if list(table.columns) != [str(column) for column in own.columns]:
        raise refusal(name, f"other columns than the data: it has {len(table.columns)} and the data {len(own.columns)}")
    if len(table) != len(own):
        raise refusal(name, f"{len(table)} rows, and the data has {len(own)}")
    if path.suffix != ".csv" and not _is_only(table, path):
        raise refusal(name, "more than its table and its label")
    found = problems_in_text("\n".join([*table.columns, read_label(path)]), secrets.text)
    if found:
        raise refusal(name, "; ".join(found))
    differing = [column for column in own if column != secrets.target and not _same_column(table[str(column)], own[column])]
    if differing:
        raise refusal(name, f"unaltered columns that are not those of the data: {listing(differing)}")
    return _check_synthesized(table[secrets.target], name, secrets, chance)


def _check_synthesized(column: pd.Series, name: str, secrets: Secrets, chance: Chance) -> dict[str, float]:
    if secrets.levels is not None:
        drawn = _codes(column, secrets.levels)
        if (drawn < 0).any():
            raise refusal(name, f"values of {secrets.target!r} that are missing or no levels of it")
    elif not pd.api.types.is_numeric_dtype(column.dtype) or (column.isna().any() and not secrets.confidential[secrets.target].isna().any()):
        raise refusal(name, f"values of {secrets.target!r} that are missing or no numbers")
    else:
        drawn = column.to_numpy(dtype=float, na_value=np.nan)
    half = secrets.confidential[secrets.target].dtype == np.float32
    found = check_synthesized(drawn, chance, secrets.precision, secrets.per_record, resolution=1e-6 if half else 1e-12)
    if found:
        raise refusal(name, f"in the column {secrets.target!r} {'; '.join(found)}")
    return {
        "rows": len(drawn),
        "equal to the confidential value": int(equal_rows(drawn, chance.values).sum()),
        "expected by chance": chance.equal,
        "at most": chance.most_equal,
    }


def _codes(column: pd.Series, levels: Sequence[object]) -> np.ndarray:
    """Codes (n,) of a column read from a file, where levels may have become text or numbers; -1 for what is no level."""
    code = codes_in(column, levels)
    return (codes_in(column.astype(str), [str(level) for level in levels]) if (code < 0).any() else code).astype(float)


def check_synthesized(
    drawn: np.ndarray, chance: Chance, precision: float | None, per_record: pd.DataFrame, *, resolution: float = 1e-12
) -> list[str]:
    """What a released column (n,) gives away, one line each; `resolution`: relative, of the numbers as they are stored."""
    found = list(find_nearness(drawn, chance))
    finer = np.abs(drawn - round_to(drawn, precision)) > resolution * np.abs(drawn)
    if finer.any():
        found.append(f"more digits than its precision in {int(finer.sum())} rows")
    for other, numbers in per_record.items():
        theirs = numbers.to_numpy(dtype=float)
        alike = equal_rows(drawn, theirs).mean() > 0.5 and len(np.unique(theirs)) >= 5
        if alike or order_alike(drawn, theirs) >= _SAME_ORDER:
            found.append(f"{other} of the records")
    return found


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
