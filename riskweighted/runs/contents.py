"""What the files of a finished run must hold, whatever their hashes say: whoever wrote them can have written a manifest too."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.evaluation.summary import CONVERGED, FIT_COLUMNS, FITS, summary_columns
from riskweighted.evaluation.tables import COLUMNS, CONFIDENTIAL, Statistic

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "check_dataset",
    "check_records",
    "check_tables",
    "posterior_name",
    "read_posterior",
    "weight_names",
]

_DIAGNOSTICS = ("r_hat", "ess_bulk", "ess_tail", "divergences", "pareto_k", "approximation")
_CHECKED = ("confidential", "synthetic", "standard_error", "z", "effect", "threshold", "records")
_MEASURED = ("value", "lower", "upper", "overlap")


def check_tables(tables: Mapping[str, pd.DataFrame], schemes: Sequence[str], variables: Sequence[str], folder: Path) -> None:
    """Refuse tables of a run that lack a column or a scheme, or hold text where numbers stand."""
    for name in ("risk", "utility"):
        if list(tables[name]) != list(COLUMNS):
            raise InputError(f"{str(folder)!r} holds a table {name!r} of another version of riskweighted: run the study again")
        _require(tables[name], f"tables/{name}.csv", (), _MEASURED)
    needed = [column.name for column in FIT_COLUMNS]
    try:
        needed += [column.name for column in summary_columns(tables["risk"], tables["utility"]) if _of_study(column.statistic, variables)]
    except (KeyError, ValueError, TypeError):
        raise InputError(f"{str(folder)!r}: 'tables/risk.csv' or 'tables/utility.csv' names a measure that is none") from None
    _require(
        tables["summary"], "tables/summary.csv", ("label", *needed), [name for name in needed if name not in (CONVERGED.name, FITS.name)]
    )
    _require(tables["convergence"], "tables/convergence.csv", ("label", "quantity", "converged", "engine"), _DIAGNOSTICS)
    _require(tables["fit_check"], "tables/fit_check.csv", ("label", "check", "parameter", "verdict"), _CHECKED)
    _require(tables["disclosure"], "tables/disclosure.csv", ("label", "release", "group"), ("D", "upper", "with", "out", "none"))
    _require(tables["disclosure_verdicts"], "tables/disclosure_verdicts.csv", ("label", "verdict", "reasons", "accepted"), ())
    of_schemes = ("convergence", "fit_check", "disclosure", "disclosure_verdicts")
    for name, wanted in (("summary", [CONFIDENTIAL, *schemes]), *((name, list(schemes)) for name in of_schemes)):
        lacking = [label for label in wanted if label not in set(tables[name]["label"])]
        repeated = name == "summary" and tables[name]["label"].duplicated().any()
        if lacking or repeated:
            raise InputError(f"{str(folder)!r}: 'tables/{name}.csv' must have a row for each label; it lacks {listing(lacking)}")


def _of_study(statistic: Statistic, variables: Sequence[str]) -> bool:
    """Whether a measure is of the registry, and of no variable or one that the study synthesizes."""
    return statistic.unregistered is None and (statistic.variable is None or statistic.variable in variables)


def check_records(table: pd.DataFrame, name: str, labels: Sequence[str], records: int) -> pd.DataFrame:
    """A table (n, labels) of the records, its rows named by the column "row"."""
    _require(table, name, ("row", *labels), labels)
    if len(table) != records:
        raise InputError(f"{name!r} of the run has {len(table)} rows, and the run was made from {records} records")
    return table.set_index("row")


def check_dataset(frame: pd.DataFrame, name: str, columns: Sequence[str], targets: Sequence[str], records: int) -> pd.DataFrame:
    """A synthetic dataset: the columns of the first one, as many rows as the run has records, numbers where a model drew numbers."""
    _require(frame, name, columns, targets)
    if len(frame) != records:
        raise InputError(f"{name!r} of the run has {len(frame)} rows, and the run was made from {records} records")
    return frame


def weight_names(scheme: str, variables: Sequence[str]) -> dict[str, str]:
    """The columns of a scheme's weights by variable: the scheme's name, with the variable's where another one has weights of its own."""
    return {name: f"{scheme}: {name}" if len(variables) > 1 else scheme for name in variables}


def posterior_name(scheme: str) -> str:
    """The file that holds a scheme's fit, an archive of one a block."""
    return f"{scheme}.zip"


def read_posterior(path: Path, convergence: pd.DataFrame) -> "xr.Dataset":
    """The draws of a fit; of a chain each variable under the name of its block, as its rows of `convergence` give them in order.

    For reading, not for drawing.
    """
    import xarray as xr

    try:
        with zipfile.ZipFile(path) as archive:
            stored = {name: archive.read(name) for name in archive.namelist()}
        blocks = list(dict.fromkeys(str(quantity).rpartition(": ")[0] for quantity in convergence["quantity"]))
        if len(blocks) != len(stored):
            raise ValueError
        merged = {}
        for name, content in zip(blocks, stored.values(), strict=True):
            before = f"{name}: " if name else ""
            with xr.open_dataset(io.BytesIO(content), engine="scipy") as opened:
                for variable, values in opened.load().items():
                    dims = {dim: f"{before}{dim}" for dim in values.dims if dim not in ("chain", "draw")}
                    merged[f"{before}{variable}"] = values.rename(dims).reset_coords(drop=True)
        loaded = xr.Dataset(merged)
    except Exception as error:  # of the readers, which may quote what they read
        raise InputError(f"{path.name!r} of the run holds no posterior draws ({type(error).__name__})") from None
    if not {"chain", "draw"} <= set(loaded.sizes):
        raise InputError(f"{path.name!r} of the run holds no posterior draws by chain and draw")
    return loaded


def _require(table: pd.DataFrame, name: str, columns: Sequence[str], numbers: Sequence[str]) -> None:
    lacking = [column for column in (*columns, *numbers) if column not in table.columns]
    if lacking:
        raise InputError(f"{name!r} of the run lacks the column {listing(dict.fromkeys(lacking))}")
    text = [column for column in numbers if not pd.api.types.is_numeric_dtype(table[column].dtype) and table[column].notna().any()]
    if text:
        raise InputError(f"{name!r} of the run must hold numbers in {listing(text)}")
