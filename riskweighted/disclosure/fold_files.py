"""The folder of `riskweighted folds`: every file as it was written, or refused by its name; and
what a tool put beside them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.atomic import write_file
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.frames import as_floats, holds_numbers, require_columns
from riskweighted.data.io import DatasetWriter, read_table

__all__ = [
    "ASSIGNMENT",
    "DECOYS",
    "MANIFEST",
    "check_written",
    "read_manifest",
    "read_pack",
    "write_guide",
    "write_manifest",
]

MANIFEST, ASSIGNMENT, DECOYS, GUIDE = "folds.json", "assignment.csv", "decoys.csv", "README.txt"
_PRIVATE = "confidential: keep this folder where the data are kept"
_ANEW = "write the folds again and run the tool again"


_GUIDE = """What to do with this folder ({private})

1. For each k from 1 to {K} run your tool on k/train.csv, and on no other file: not on another k,
   not on the data themselves, and with the settings that made the release, but for its seed.
   train.csv holds decoys, some values exchanged: keep them.
2. Let it make as many datasets as the release has, each with a row for every row of k/rows.csv, in
   their order. A dataset holds {columns},
   and may hold the columns of rows.csv.
3. Put them beside rows.csv as k/synthetic_1.csv, k/synthetic_2.csv and so on.
4. riskweighted assess DATA SYNTHETIC... --known A,B --synthetic {synthesized} --folds {folder}

Change no other file: each is compared with what was written. In the end delete the folder.
"""

_GUIDE_OF_PACKS = """What to do with this folder ({private})

1. For each k from 0 to {K} run your tool once on k/train.csv, and on no other file: not on another
   k, not on the data themselves, and with the same settings, but for its seed. 0/train.csv is the
   whole file; the others hold decoys, some values exchanged: keep them.
2. Let it draw {R} packs of L datasets from each training, all packs in the same way, each dataset
   with a row for every row of k/rows.csv, in their order. A dataset holds {columns},
   and may hold the columns of rows.csv.
3. Put them beside rows.csv as k/pack_1/synthetic_1.csv to k/pack_{R}/synthetic_L.csv.
4. Only 0/pack_1 may be released: do not choose among packs, and do not draw it again.
5. riskweighted assess DATA {folder}/0/pack_1/synthetic_*.csv --known A,B \
--synthetic {synthesized} --folds {folder}

Change no other file: each is compared with what was written. In the end delete the folder.
"""


def write_guide(folder: Path, count: int, names: Sequence[str], name: str, packs: int = 1) -> None:
    """Write what a person has to do with a folder that will have a name, of one release or of
    several packs.
    """
    guide = _GUIDE if packs == 1 else _GUIDE_OF_PACKS
    told = guide.format(
        private=_PRIVATE,
        K=count,
        R=packs,
        columns=listing(names),
        synthesized=",".join(names),
        folder=name,
    )
    write_file(folder / GUIDE, told, private=True)


def write_manifest(folder: Path, about: Mapping[str, Any]) -> None:
    """Write what the folder is of, with the hash of every file in it, and one of all this."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    hashes = {path.relative_to(folder).as_posix(): file_hash(path) for path in paths}
    whole = {"note": _PRIVATE, **about, "files": hashes}
    write_file(
        folder / MANIFEST, json.dumps(whole | {"seal": _seal(whole)}, indent=1), private=True
    )


def _seal(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the folder is of; refused where any file of it is not what was written."""
    try:
        about: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        seal, hashes = about.pop("seal", None), dict(about["files"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(
            f"{str(folder)!r} is no folder of riskweighted folds: {MANIFEST} cannot be read"
        ) from error
    if seal != _seal(about):
        raise _changed(folder / MANIFEST)
    for name, known in hashes.items():
        if not (folder / name).is_file() or file_hash(folder / name) != known:
            raise _changed(folder / name)
    return about


def check_written(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a file that is not, byte for byte, what is written of a table: rows that must be
    absent from it are.
    """
    if not DatasetWriter(Datasets(frame, [{}])).is_in(path, 0):
        raise InputError(
            f"{str(path)!r} does not hold the rows of the other folds, with their decoys, and no "
            f"others: {_ANEW}"
        )


def _changed(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is not what riskweighted folds wrote: {_ANEW}")


def read_pack(folder: Path, confidential: pd.DataFrame, names: Sequence[str]) -> Datasets:
    """The datasets that the tool made of one fold, on the index of the data."""
    paths = sorted(folder.glob("synthetic_*.csv"), key=lambda path: (len(path.name), path.name))
    if not paths:
        raise InputError(
            f"{str(folder)!r} holds no synthetic_1.csv: run the tool on the train.csv, for the "
            "rows of rows.csv"
        )
    rows = confidential.drop(columns=list(names))
    return Datasets(rows, [_values(path, confidential, rows, names) for path in paths])


def _values(
    path: Path, confidential: pd.DataFrame, rows: pd.DataFrame, names: Sequence[str]
) -> dict[str, pd.Series]:
    """The synthesized values of one dataset, by variable."""
    frame = read_table(path)
    require_columns(frame, list(names), str(path))
    if len(frame) != len(rows):
        raise InputError(
            f"{str(path)!r} has {len(frame)} rows and rows.csv {len(rows)}: the tool makes a row "
            "for each, in their order"
        )
    for name in rows.columns:
        if name in frame.columns and not _alike(frame[name], rows[name]):
            raise InputError(
                f"{str(path)!r}: {name!r} is not what rows.csv says: the tool keeps its rows and "
                "their order"
            )
    for name in names:
        if holds_numbers(confidential[name]):
            _check_numbers(path, frame[name])
    return {name: pd.Series(frame[name].to_numpy(), index=rows.index, name=name) for name in names}


def _check_numbers(path: Path, column: pd.Series) -> None:
    """Refuse text and infinite numbers where the data hold numbers."""
    if not holds_numbers(column) and column.notna().any():
        raise InputError(
            f"{str(path)!r}: {str(column.name)!r} holds text where the data hold numbers"
        )
    if holds_numbers(column) and np.isinf(as_floats(column)).any():
        raise InputError(
            f"{str(path)!r}: {str(column.name)!r} holds infinite numbers; a missing value is an "
            "empty cell"
        )


def _alike(column: pd.Series, like: pd.Series) -> bool:
    """Whether two columns hold the same values row by row, however they were written."""
    both = [pd.to_numeric(one.astype(object), errors="coerce") for one in (column, like)]
    if all(
        one.notna().sum() == other.notna().sum()
        for one, other in zip(both, (column, like), strict=True)
    ):
        mine, theirs = (one.to_numpy(dtype=float) for one in both)
        return bool(np.allclose(mine, theirs, rtol=1e-9, atol=0, equal_nan=True))
    texts = [
        one.astype(object).where(one.notna(), "").astype(str).to_numpy() for one in (column, like)
    ]
    return bool((texts[0] == texts[1]).all())
