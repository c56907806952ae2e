"""Wrong inputs to every command: each ends with exit code 2 and one line that shows no confidential
value, and leaves nothing behind.

The tests give them all to one process; ``python -m tests.harness.bad_inputs --processes`` starts
the real command for each, from the root of the repository. A case is a command and what is changed
in a folder of good inputs before it.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tests.tools.study_text import study_text

STUDY = study_text(
    '[weights]\nschemes = ["unweighted", "pairwise"]',
    '[evaluation]\nregression = "income ~ group"\ncoefficient = "group[T.b]"\nresamples = 50',
    "[top_coding]\nquantile = 0.9",
    draws=40,
    tune=40,
).replace('synthetic = "income"', 'synthetic = "income"\nradius = 0.2')
CHAIN = """
seed = 3
[data]
path = "data.csv"
[scenario]
known = ["group"]
synthetic = ["note", "income"]
[synthesizer]
name = "sequential"
predictors = ["group"]
[synthesizer.variables.income]
model = "linear-regression"
transform = "log"
[weights]
schemes = ["unweighted", "pairwise"]
[sampling]
draws = 40
tune = 40
[release]
L = 3
"""
CHAIN_SWEEP = (
    'study = "chain.toml"\n[grid]\n"synthesizer.variables.income.transform" = ["log", "identity"]\n'
)
SWEEP = 'study = "study.toml"\nrepetitions = 1\n[grid]\n"release.L" = [3, 2]\n'
LINKING = """
metrics = ["unicity", "taxicab", "adhoc"]
strata = "state"
[files]
puf = "puf.csv"
eif = "eif.csv"
iuf = "iuf.csv"
[linking]
age = "numeric"
sex = "categorical"
[scores]
age = "age.csv"
sex = "sex.csv"
"""
RUN = ("run", "study.toml", "--out", "out")
DRY = (*RUN, "--dry-run")
CHAIN_RUN = ("run", "chain.toml", "--out", "out")
CHAIN_SWEEPS = ("sweep", "chain_sweep.toml", "--out", "out", "--workers", "1")
SEVERAL = ("--synthetic", "note,income")
SWEEPS = ("sweep", "sweep.toml", "--out", "out", "--workers", "1")
INIT = ("init", "data.csv", "--out", "first.toml")
WEIGHTS = ("weights", "data.csv", "--known", "group", "--synthetic", "income", "--out", "w.csv")
ASSESS = (
    "assess",
    "data.csv",
    "synthetic.csv",
    "--known",
    "group",
    "--synthetic",
    "income",
    "--out",
    "out",
)
LINK = ("reidentify", "linking.toml", "--out", "out")
RELEASE = ("release", "results", "--scheme", "pairwise", "--out", "out")
REPORT = ("report", "results", "--out", "out.html")
SUMMARY = ("summary", "results")


class Case(NamedTuple):
    """``change`` is done to a folder of good inputs, where ``arguments`` are then given; the answer
    holds ``says``, a pattern.
    """

    name: str
    arguments: tuple[str, ...]
    change: Callable[[Path], object]
    says: str = ""


def confidential() -> pd.DataFrame:
    """Every value of `income`, `person` and `note` can be recognised wherever it appears."""
    rng = np.random.default_rng(1)
    income = [float(f"{rng.integers(10, 99)}73{i:02d}.91{i:02d}7") for i in range(60)]
    person = [f"quagga{i:02d}" for i in range(60)]
    note = rng.choice(["okapi1", "okapi2"], 60)
    return pd.DataFrame(
        {"person": person, "group": rng.choice(["a", "b"], 60), "income": income, "note": note}
    )


def good_inputs(folder: Path, run: Path | None) -> None:
    """Everything that the commands read; `run` is a finished run beside its data, if there is
    one.
    """
    data = confidential()
    data.to_csv(folder / "data.csv", index=False)
    data.assign(income=data["income"] * 1.1).to_csv(folder / "synthetic.csv", index=False)
    puf = pd.DataFrame(
        {
            "pufid": range(6),
            "state": list("xxxyyy"),
            "sex": list("mfmfmf"),
            "age": [20, 30, 40, 50, 60, 70],
        }
    )
    puf.to_csv(folder / "puf.csv", index=False)
    puf.drop(columns="pufid").assign(eifid=[f"quagga{i}" for i in range(6)]).to_csv(
        folder / "eif.csv", index=False
    )
    pd.DataFrame({"pufid": range(6), "eifid": [f"quagga{i}" for i in range(6)]}).to_csv(
        folder / "iuf.csv", index=False
    )
    for name, text in (
        ("study.toml", STUDY),
        ("sweep.toml", SWEEP),
        ("chain.toml", CHAIN),
        ("chain_sweep.toml", CHAIN_SWEEP),
        ("linking.toml", LINKING),
        ("age.csv", "up_to,score\n5,5\n,0\n"),
        ("sex.csv", "puf,eif,score\nm,f,1\n"),
    ):
        (folder / name).write_text(text)
    if run is not None:
        shutil.copytree(run, folder / "results")
        shutil.copy(run.parent / "data.csv", folder / "run_data.csv")


def secrets(folder: Path) -> set[str]:
    """What no message may show: all that is recognisable in the good inputs, and the incomes of the
    finished run.
    """
    data = confidential()
    found = {f"{value:.4f}"[:7] for value in data["income"]} | {"quagga", "okapi"}
    if (folder / "run_data.csv").is_file():
        found |= {
            text
            for text in pd.read_csv(folder / "run_data.csv", dtype=str)["income"]
            if len(text) >= 7
        }
    return found


# -- changes


def nothing(folder: Path) -> None:
    pass


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Replace a text that must be there, once."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text, (name, old)
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def content(name: str, new: bytes | str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(
        new if isinstance(new, bytes) else new.encode()
    )


def gone(name: str) -> Callable[[Path], object]:
    return lambda folder: (
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
    )


def folder_instead(name: str) -> Callable[[Path], object]:
    return lambda folder: ((folder / name).unlink(), (folder / name).mkdir())


def linked(name: str, target: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).symlink_to(target)


def table(name: str, **columns: Callable[[pd.DataFrame], object]) -> Callable[[Path], object]:
    """Columns of a csv made anew from the table; None leaves one out."""

    def change(folder: Path) -> None:
        frame = pd.read_csv(folder / name)
        for column, make in columns.items():
            frame = (
                frame.drop(columns=column)
                if make is None
                else frame.assign(**{column: make(frame)})
            )
        frame.to_csv(folder / name, index=False)

    return change


def rows(name: str, keep: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], object]:
    return lambda folder: keep(pd.read_csv(folder / name)).to_csv(folder / name, index=False)


def model(name: str, settings: str, *changes: Callable[[Path], object]) -> Callable[[Path], object]:
    """Another synthesizer with these settings (semicolons between them), and what else is
    changed.
    """
    section = "\n".join([f'name = "{name}"', 'formula = "income ~ group"', *settings.split("; ")])

    def change(folder: Path) -> None:
        edit(
            "study.toml",
            'name = "linear-regression"\nformula = "income ~ group"\ntransform = "log"',
            section,
        )(folder)
        for also in changes:
            also(folder)

    return change


def units(
    settings: str, more: str, columns: Mapping[str, Callable[[pd.DataFrame], object]]
) -> Callable[[Path], object]:
    """The data in fifteen units of four, and the study with units of such settings."""

    def change(folder: Path) -> None:
        frame = pd.read_csv(folder / "data.csv")
        within = frame.index % 4
        frame = frame.assign(
            house=frame.index // 4,
            place=np.where(within == 0, "head", "child"),
            year=2000 + within,
        )
        for name, make in columns.items():
            frame = frame.assign(**{name: make(frame)})
        frame.to_csv(folder / "data.csv", index=False)
        text = (folder / "chain.toml").read_text()
        (folder / "chain.toml").write_text(f"{text}{more}\n[units]\n{settings}\n")

    return change


def parquet(**columns: Callable[[pd.DataFrame], object]) -> Callable[[Path], object]:
    """The data as ``data.parquet`` with other columns, and the study pointing there."""

    def change(folder: Path) -> None:
        frame = confidential()
        frame.assign(**{name: make(frame) for name, make in columns.items()}).to_parquet(
            folder / "data.parquet"
        )
        edit("study.toml", "data.csv", "data.parquet")(folder)

    return change


def manifest(**entries: object) -> Callable[[Path], object]:
    """Entries of the run's manifest replaced."""

    def change(folder: Path) -> None:
        path = folder / "results" / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))

    return change


def under_its_hash(name: str, new: bytes) -> Callable[[Path], object]:
    """Another content of a file of the run, and its hash in the manifest."""

    def change(folder: Path) -> None:
        from riskweighted.common.fingerprints import file_hash

        path = folder / "results" / "manifest.json"
        (folder / "results" / name).write_bytes(new)
        known = json.loads(path.read_text())
        known["files"][name] = file_hash(folder / "results" / name)
        path.write_text(json.dumps(known))

    return change


def without(arguments: tuple[str, ...], *options: str) -> tuple[str, ...]:
    """Arguments without some options and their values."""
    dropped = {
        place + step for place, word in enumerate(arguments) if word in options for step in (0, 1)
    }
    return tuple(word for place, word in enumerate(arguments) if place not in dropped)


# -- the catalogue

# weights can be made of them
_ONLY_A_RUN = ("missing values", "negative values", "zeros", "truth values", "one record")

HUGE = "1_000_000_000_000"
STUDY_EDITS = (
    ("seed = 3", "seed = -1"),
    ("seed = 3", 'seed = "3"'),
    ("seed = 3", "seed = 3.5"),
    ("seed = 3", "seed = true"),
    ("seed = 3", "seed = []"),
    ("seed = 3", "seed = 3\nseed = 4"),
    ("seed = 3", "sed = 3"),
    ("seed = 3", "seed = "),
    ("[data]", "[data"),
    ("[data]", "[dta]"),
    ('[data]\npath = "data.csv"', 'data = "data.csv"'),
    ('path = "data.csv"', 'path = "nope.csv"'),
    ('path = "data.csv"', 'path = "."'),
    ('path = "data.csv"', 'path = ""'),
    ('path = "data.csv"', "path = 7"),
    ('path = "data.csv"', "path = ['data.csv']"),
    ('path = "data.csv"', 'path = "data.csv\\u0000"'),
    ('path = "data.csv"', f'path = "{"x" * 300}.csv"'),
    ('path = "data.csv"', 'path = "study.toml"'),
    ('path = "data.csv"', 'path = "data.csv"\nembedded = "k401ksubs"'),
    ('path = "data.csv"', 'embedded = "nope"'),
    ('path = "data.csv"', "embedded = 1"),
    ('path = "data.csv"', 'path = "data.csv"\ndelimiter = ";;"'),
    ('path = "data.csv"', 'path = "data.csv"\ndelimiter = ","\ndecimal = ","'),
    ('path = "data.csv"', 'path = "data.csv"\ndecimal = 1'),
    ('path = "data.csv"', 'path = "data.csv"\ndelimiter = ";"'),
    ('path = "data.csv"', 'path = "data.csv"\nthousands = "q"'),
    ('path = "data.csv"', 'path = "data.csv"\nencoding = "klingon"'),
    ('path = "data.csv"', 'path = "data.csv"\nencoding = "utf-16"'),
    ('path = "data.csv"', 'path = "data.csv"\nmissing = [7]'),
    ('path = "data.csv"', 'path = "data.csv"\nmissing = "x" \nmissing = "y"'),
    ('path = "data.csv"', 'path = "data.csv"\nvariables = "nope.toml"'),
    ('path = "data.csv"', 'path = "data.csv"\nvariables = "data.parquet"'),
    ('path = "data.csv"', 'path = "data.csv"\nvariables = "study.toml"'),
    ('path = "data.csv"', 'path = "data.csv"\nvariables = 7'),
    ('path = "data.csv"', 'path = "data.csv"\nvariables = "data.csv"'),
    ('path = "data.csv"', 'embedded = "401ksubs"\ndelimiter = ";"'),
    ('path = "data.csv"', 'path = "data.parquet"\ndelimiter = ";"'),
    ('known = ["group"]', 'known = ["nope"]'),
    ('known = ["group"]', 'known = ["group", "group"]'),
    ('known = ["group"]', 'known = ["income"]'),
    ('known = ["group"]', "known = [1]"),
    ('known = ["group"]', "known = 1"),
    ('known = ["group"]', "known = {a = 1}"),
    ('synthetic = "income"', 'synthetic = "nope"'),
    ('synthetic = "income"', "synthetic = []"),
    ('synthetic = "income"', 'synthetic = ["income", "person"]'),
    ('synthetic = "income"', "synthetic = 3"),
    ('synthetic = "income"', ""),
    ("radius = 0.2", "radius = -0.2"),
    ("radius = 0.2", "radius = nan"),
    ("radius = 0.2", "radius = inf"),
    ("radius = 0.2", 'radius = "0.2"'),
    ("radius = 0.2", "radius = true"),
    ("radius = 0.2", "radius = 20"),
    ("radius = 0.2", "radius = {nope = 0.2}"),
    ("radius = 0.2", "radius = []"),
    ("radius = 0.2", 'radius = 0.2\nradius_kind = "percent"'),
    ("radius = 0.2", 'radius = 0.2\nboundary = "ajar"'),
    ("radius = 0.2", 'radius = 0.2\nsingletons = "ignore"'),
    ("radius = 0.2", "radius = 0.2\nmin_radius = -1"),
    ("radius = 0.2", 'radius = 0.2\ncategorical = "group"'),
    ("radius = 0.2", "radius = 0.2\nunknown = 1"),
    ('"linear-regression"', '"nope"'),
    ('"linear-regression"', "7"),
    ('name = "linear-regression"', ""),
    ('name = "linear-regression"', 'name = "auto"\nunknown = 1'),
    (
        'name = "linear-regression"\nformula = "income ~ group"',
        'name = "auto"\nformula = "income ~ nope"',
    ),
    (
        'name = "linear-regression"\nformula = "income ~ group"',
        'name = "auto"\nformula = "person ~ group"',
    ),
    ('"income ~ group"', '"income"'),
    ('"income ~ group"', '"income ~ nope"'),
    ('"income ~ group"', '"income ~ income"'),
    ('"income ~ group"', '"income ~ group +"'),
    ('"income ~ group"', '"income ~ (group"'),
    ('"income ~ group"', '"person ~ group"'),
    ('"income ~ group"', '"note ~ group"'),
    ('"income ~ group"', '"income ~ group ~ note"'),
    ('"income ~ group"', '""'),
    ('"income ~ group"', "7"),
    ('"income ~ group"', '"income ~ log(group)"'),
    ('transform = "log"', 'transform = "sqrt"'),
    ('transform = "log"', "transform = {a = 1}"),
    ('transform = "log"', "components = 3"),
    ('["unweighted", "pairwise"]', "[]"),
    ('["unweighted", "pairwise"]', '["nope"]'),
    ('["unweighted", "pairwise"]', '["pairwise", "pairwise"]'),
    ('["unweighted", "pairwise"]', '["61-way"]'),
    ('["unweighted", "pairwise"]', '["0-way"]'),
    ('["unweighted", "pairwise"]', "[2]"),
    ('schemes = ["unweighted", "pairwise"]', "scale = -1"),
    ('schemes = ["unweighted", "pairwise"]', 'scale = "1"'),
    ('schemes = ["unweighted", "pairwise"]', "scale = inf"),
    ('schemes = ["unweighted", "pairwise"]', "shift = nan"),
    ('schemes = ["unweighted", "pairwise"]', "shift = -1"),
    ('schemes = ["unweighted", "pairwise"]', "radius = -1"),
    *(
        ('schemes = ["unweighted", "pairwise"]', f"schemes = {schemes}")
        for schemes in (
            '["unweighted", "uniform"]',
            '["unweighted", "uniform(c=2)"]',
            '["unweighted", "uniform(c=0)"]',
            '["unweighted", "uniform(q=0.1)"]',
            '["unweighted", "uniform(c=0.1"]',
            '["unweighted", "uniform(c=0.1)", "uniform(c=.10)"]',
            '["unweighted", "pairwise(c=1)"]',
            '["unweighted", "reweighted"]',
            '["unweighted", "reweighted(of=reweighted)"]',
            '["pairwise", "lipschitz"]',
        )
    ),
    ('schemes = ["unweighted", "pairwise"]', 'cluster = "nope"'),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\ncluster = "nope"'),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\ncluster = 3'),
    (
        'schemes = ["unweighted", "pairwise"]',
        'schemes = ["unweighted", "pairwise"]\nsurvey = "nope"',
    ),
    ('schemes = ["unweighted", "pairwise"]', 'schemes = ["unweighted", "pairwise"]\nsurvey = 3'),
    (
        'schemes = ["unweighted", "pairwise"]',
        'schemes = ["unweighted", "pairwise"]\nsurvey = "income"',
    ),
    (
        'schemes = ["unweighted", "pairwise"]',
        'schemes = ["unweighted", "pairwise"]\nsurvey = "group"',
    ),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nsurvey = "nope"'),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nsurvey = "income"'),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nstrata = "group"'),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nregressions = "income ~ group"'),
    (
        'coefficient = "group[T.b]"',
        'coefficient = "group[T.b]"\nregressions = ["income ~ spline(age)"]',
    ),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nregressions = ["income ~ nope"]'),
    (
        'coefficient = "group[T.b]"',
        'coefficient = "group[T.b]"\nregressions = ["income ~ group", "income ~ group"]',
    ),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nrisk_draws = 0'),
    ('coefficient = "group[T.b]"', 'coefficient = "group[T.b]"\nrisk_draws = 81'),
    ("draws = 40", "draws = 0"),
    ("draws = 40", f"draws = {HUGE}"),
    ("draws = 40", "draws = 40.5"),
    ("tune = 40", f"tune = {HUGE}"),
    ("chains = 2", "chains = 0"),
    ("chains = 2", f"chains = {HUGE}"),
    ("tune = 40", "tune = 40\ntarget_accept = 1"),
    ("tune = 40", "tune = 40\ncores = 2"),
    ("L = 3", "L = 0"),
    ("L = 3", "L = 81"),
    ("L = 3", f"L = {HUGE}"),
    ("L = 3", 'L = 3\nformat = "xlsx"'),
    ('regression = "income ~ group"', 'regression = "income ~ nope"'),
    ('regression = "income ~ group"', 'regression = "nope ~ group"'),
    ('regression = "income ~ group"', 'regression = "person ~ group"'),
    ('regression = "income ~ group"', ""),
    ('coefficient = "group[T.b]"', 'coefficient = "x"'),
    ('coefficient = "group[T.b]"', "coefficient = 1"),
    (
        'regression = "income ~ group"\ncoefficient = "group[T.b]"',
        'regression = "income ~ C(note)"\ncoefficient = "x ~"\nlevel = 2',
    ),
    ("resamples = 50", "resamples = -1"),
    ("resamples = 50", f"resamples = {HUGE}"),
    ("resamples = 50", "level = 1"),
    ("resamples = 50", 'level = "0.95"'),
    ("resamples = 50", "quantiles = [0.5, 1.5]"),
    ("resamples = 50", "quantiles = 0.5"),
    ("resamples = 50", "quantiles = ['a']"),
    ("resamples = 50", "threshold = -1"),
    ("quantile = 0.9", "quantile = 1.9"),
    ("quantile = 0.9", "value = nan"),
    ("quantile = 0.9", "nope = 1"),
    ("[top_coding]", "[nope]"),
)
DATA = {
    "missing values": table("data.csv", income=lambda d: d["income"].where(d.index != 5)),
    "infinite values": table("data.csv", income=lambda d: d["income"].where(d.index != 5, np.inf)),
    "negative values": table("data.csv", income=lambda d: -d["income"]),
    "zeros": table("data.csv", income=lambda d: 0.0),
    "text among numbers": table(
        "data.csv", income=lambda d: d["income"].astype(str).where(d.index != 5, "okapi9")
    ),
    "numbers with separators": table(
        "data.csv", income=lambda d: d["income"].map("{:,.2f}".format)
    ),
    "numbers with a currency": table("data.csv", income=lambda d: "$" + d["income"].astype(str)),
    "dates": table("data.csv", income=lambda d: "2020-02-30"),
    "truth values": table("data.csv", income=lambda d: d.index % 2 == 0),
    "no column": table("data.csv", income=None),
    "no known column": table("data.csv", group=None),
    "one record": rows("data.csv", lambda d: d.head(1)),
    "no record": rows("data.csv", lambda d: d.head(0)),
    "an empty file": content("data.csv", ""),
    "spaces": content("data.csv", "   \n\n"),
    "no column names": content("data.csv", confidential().to_csv(index=False, header=False)),
    "numbers for column names": content("data.csv", "1,2,3\n4,5,6\n"),
    "a column twice": content("data.csv", "group,income,income\na,1,2\nb,2,3\n"),
    "rows too long": content("data.csv", "group,income\na,quagga,2,3\n"),
    "a row too long": content("data.csv", "group,income\na,1\nb,2\nc,quagga,3\n"),
    "an open quote": content("data.csv", 'group,income\n"a,1\nb,2\n'),
    "binary": content("data.csv", bytes(range(256)) * 20),
    "NUL bytes": content("data.csv", b"\0" * 500),
    "UTF-16": content("data.csv", "group,income\nokapi,1\n".encode("utf-16")),
    "Latin-1": content("data.csv", "group,income\nokapié,1\n".encode("latin-1")),
    "two encodings": content(
        "data.csv", "group,income\nokapié,1\n".encode() + "okapié,1\n".encode("latin-1")
    ),
    "semicolons": content("data.csv", "group;income\nokapi;1,5\n"),
    "a folder": folder_instead("data.csv"),
    "no file": gone("data.csv"),
    "a link that leads nowhere": lambda folder: (
        (folder / "data.csv").unlink(),
        (folder / "data.csv").symlink_to("nowhere"),
    ),
    "links in a circle": lambda folder: (
        (folder / "data.csv").unlink(),
        (folder / "data.csv").symlink_to("data.csv"),
    ),
    "lists": parquet(income=lambda d: [[value] for value in d["income"]]),
    "lists in a known column": parquet(group=lambda d: [[value] for value in d["group"]]),
    "lists in another column": parquet(note=lambda d: [[value] for value in d["note"]]),
    "tables in cells": parquet(note=lambda d: [{"a": value} for value in d["note"]]),
    "bytes": parquet(income=lambda d: [str(value).encode() for value in d["income"]]),
    "times": parquet(income=lambda d: pd.Timestamp("2020-01-01")),
    "a broken parquet file": lambda folder: (
        parquet()(folder),
        content("data.parquet", b"PAR1quagga")(folder),
    ),
    "half a parquet file": lambda folder: (
        parquet()(folder),
        (folder / "data.parquet").write_bytes((folder / "data.parquet").read_bytes()[:900]),
    ),
    "text for a SAS file": lambda folder: (
        edit("study.toml", "data.csv", "d.xpt")(folder),
        content("d.xpt", "quagga" * 99)(folder),
    ),
    "text for a Stata file": lambda folder: (
        edit("study.toml", "data.csv", "d.dta")(folder),
        content("d.dta", "quagga" * 99)(folder),
    ),
    "text for an SPSS file": lambda folder: (
        edit("study.toml", "data.csv", "d.sav")(folder),
        content("d.sav", "quagga" * 99)(folder),
    ),
}

BOUNDS = (
    ("[0]", "two numbers"),
    ("[0, 1e6, 2e6]", "two numbers"),
    ('[0, 1e6, "guessed"]', "two numbers"),
    ('[0, 1, "found"]', "excludes 60 of 60 .*may exclude 10"),
    ("[]", "two numbers"),
    ("7", "two numbers"),
    ("true", "two numbers"),
    ('"0 to 1e6"', "two numbers"),
    ('["0", "1e6"]', "two numbers"),
    ("[[0, 1], 1e6]", "two numbers"),
    ("[0, nan]", "two numbers"),
    ("{low = 0, high = 1e6}", "must be a value or a list"),
    ("[1e6, 0]", "the lower one first"),
    ("[7, 7]", "the lower one first"),
    ("[inf, -inf]", "the lower one first"),
    ("[0, 1]", "excludes 60 of 60"),
    ("[0, 5e5]", r"excludes \d+ of 60"),
    ("[-inf, 0]", "excludes 60 of 60"),
    ("[5e5, inf]", r"excludes \d+ of 60"),
)
WITH_BOUNDS = ("two-part", "transformation", "normal-mixture", "linear-regression")
zeros = table("data.csv", income=lambda d: d["income"].where(d.index % 3 > 0, 0.0))
losses = table("data.csv", income=lambda d: d["income"].where(d.index % 3 > 0, -d["income"]))
steps = table("data.csv", income=lambda d: 1000.0 * (1 + d.index % 19))
whole = table("data.csv", income=lambda d: d["income"].round().astype(int))
BY_GROUP = 'value_settings = [["groups", ["group"]]'
MODELS = (
    ("two-part", "value = 7", "unknown synthesizer 7; installed are .*'transformation'"),
    ("two-part", 'value = "nope"', "unknown synthesizer 'nope'; installed are"),
    ("two-part", 'value = "auto"', "unknown synthesizer 'auto'"),
    ("two-part", 'value = ["transformation"]', "unknown synthesizer"),
    ("two-part", 'value = "two-part"', "'two-part' cannot be used within itself"),
    ("two-part", 'value = "top-coding"', "can draw zero or the other sign"),
    (
        "two-part",
        'value = "negative-binomial"',
        "does not suit the positive values: .*60 fractional",
    ),
    ("two-part", 'value = "negative-binomial"', "can draw zero or the other sign", whole),
    ("two-part", 'value = "negative-binomial"; support = [0, inf]', "takes no support"),
    ("two-part", 'value = "hierarchical"', "groups must name"),
    (
        "two-part",
        f'value = "hierarchical"; {BY_GROUP}, ["transform", "identity"]]',
        "can draw zero or the other sign",
    ),
    (
        "two-part",
        f'value = "hierarchical"; {BY_GROUP}, ["transform", "asinh"]]',
        "can draw zero or the other sign",
    ),
    ("two-part", f'value = "hierarchical"; {BY_GROUP}]; support = [0, 1e7]', "takes no support"),
    ("two-part", "value_settings = 7", "pairs of a name and a value"),
    ("two-part", 'value_settings = "components"', "pairs of a name and a value"),
    ("two-part", 'value_settings = ["ab"]', "pairs of a name and a value"),
    ("two-part", "value_settings = [[1, 2]]", "pairs of a name and a value"),
    ("two-part", 'value_settings = [["heaping"]]', "pairs of a name and a value"),
    ("two-part", "value_settings = {heaping = true}", "must be a value or a list.*pairs"),
    (
        "two-part",
        'value_settings = [["components", 2]]',
        "no setting 'components' here; valid are knots, heaping",
    ),
    ("two-part", 'value_settings = [["formula", "income ~ 1"]]', "no setting 'formula' here"),
    ("two-part", 'value_settings = [["support", [0, 1e7]]]', "no setting 'support' here"),
    (
        "two-part",
        'value_settings = [["heaping", true], ["heaping", false]]',
        "'heaping' more than once",
    ),
    ("two-part", 'value_settings = [["heaping", 1]]', "true or false"),
    ("two-part", 'value_settings = [["knots", [3, 2, 1]]]', "knots must increase"),
    (
        "two-part",
        'value_settings = [["knots", [1, 2, 3]]]; support = [100, 1e7]',
        "3 of 3 knots lie outside the bounds",
    ),
    ("two-part", 'value = "normal-mixture"; value_settings = [["gating", "yes"]]', "true or false"),
    (
        "two-part",
        'value = "normal-mixture"; value_settings = [["transform", {a = 1}]]',
        "must be a value or a list",
    ),
    (
        "two-part",
        'value = "normal-mixture"; value_settings = [["transform", ["log"]]]',
        "unknown transform",
    ),
    (
        "two-part",
        'value = "normal-mixture"; value_settings = [["transform", "shifted-log"]]',
        "needs transform_constant",
    ),
    ("two-part", 'codes = "8"', "different finite numbers"),
    ("two-part", 'codes = ["8"]', "different finite numbers"),
    ("two-part", "codes = [nan]", "different finite numbers"),
    ("two-part", "codes = [inf]", "different finite numbers"),
    ("two-part", "codes = [true]", "different finite numbers"),
    ("two-part", "codes = [8, 8.0]", "different finite numbers"),
    ("two-part", "codes = [[8]]", "different finite numbers"),
    ("two-part", "codes = {refused = 8}", "must be a value or a list"),
    ("two-part", "knots = [1, 2, 3]", "no setting 'knots'; valid are .*'value_settings'"),
    ("two-part", "gating = true", "no setting 'gating'"),
    ("two-part", "strict = true", "no setting 'strict'"),
    (
        "two-part",
        "codes = []",
        "0 positive values; two parts need 3",
        table("data.csv", income=lambda d: 0.0),
    ),
    (
        "two-part",
        "codes = []",
        "0 positive values; two parts need 3",
        table("data.csv", income=lambda d: -d["income"]),
    ),
    (
        "two-part",
        "codes = []",
        "2 positive values",
        table("data.csv", income=lambda d: d["income"].where(d.index < 2, 0.0)),
    ),
    ("two-part", "codes = []", "19 distinct values.*'normal-mixture'", steps),
    ("two-part", "support = [0, inf]", "excludes 20 of 60", losses),
    ("two-part", "support = [-inf, 0]", "excludes 40 of 60", losses),
    ("two-part", "support = [1, inf]", "excludes 20 of 60", zeros),
    (
        "transformation",
        "heaping = true",
        "20 of 60 records are zero or negative; 'two-part'",
        zeros,
    ),
    (
        "transformation",
        "heaping = true",
        "20 of 60 records are zero or negative; 'two-part'",
        losses,
    ),
    ("transformation", "heaping = true", "19 distinct values.*'negative-binomial'", steps),
    (
        "transformation",
        "heaping = true",
        "1 distinct values",
        table("data.csv", income=lambda d: 7.0),
    ),
    ("transformation", "heaping = 1", "true or false"),
    ("transformation", 'heaping = "yes"', "true or false"),
    ("transformation", "heaping = [true]", "true or false"),
    ("transformation", "knots = []", "3 to 40 positive numbers"),
    ("transformation", "knots = [1, 2]", "3 to 40 positive numbers"),
    ("transformation", f"knots = {list(range(1, 42))}", "3 to 40 positive numbers"),
    ("transformation", "knots = 7", "3 to 40 positive numbers"),
    ("transformation", 'knots = ["1", "2", "3"]', "3 to 40 positive numbers"),
    ("transformation", "knots = [[1], [2], [3]]", "3 to 40 positive numbers"),
    ("transformation", "knots = [0, 1, 2]", "3 to 40 positive numbers"),
    ("transformation", "knots = [-1, 1, 2]", "3 to 40 positive numbers"),
    ("transformation", "knots = [1, nan, 3]", "3 to 40 positive numbers"),
    ("transformation", "knots = [1, 2, inf]", "3 to 40 positive numbers"),
    ("transformation", "knots = [1, 1, 2]", "knots must increase"),
    ("transformation", "knots = [3, 2, 1]", "knots must increase"),
    (
        "transformation",
        "knots = [1, 2, 3]; support = [5, 1e7]",
        "3 of 3 knots lie outside the bounds",
    ),
    (
        "transformation",
        "knots = [1e4, 5e4, 1e8]; support = [0, 1e7]",
        "1 of 3 knots lie outside the bounds",
    ),
    ("transformation", "support = [0, 1e300]", "lower it"),
    (
        "transformation",
        "support = [0, 1e300]",
        "at most 500; narrow them",
        table("data.csv", income=lambda d: d["income"] * np.pi),
    ),
    ("transformation", "gating = true", "no setting 'gating'"),
    ("transformation", "codes = [8]", "no setting 'codes'"),
    ("transformation", 'value = "transformation"', "no setting 'value'"),
    ("transformation", 'transform = "log"', "no setting 'transform'"),
    ("normal-mixture", "gating = 1", "true or false"),
    ("normal-mixture", 'gating = "yes"', "true or false"),
    ("normal-mixture", 'gating = ["group"]', "true or false"),
    ("normal-mixture", "gating = nan", "true or false"),
    ("normal-mixture", 'transform = ["log"]', "unknown transform"),
    ("normal-mixture", 'transform = [["log"]]', "unknown transform"),
    ("normal-mixture", "heaping = true", "no setting 'heaping'; valid are .*'gating'"),
    ("linear-regression", "gating = true", "no setting 'gating'"),
    ("negative-binomial", "support = [0, 1e7]", "no setting 'support'"),
    ("hierarchical", "support = [0, 1e7]", "no setting 'support'"),
    ("top-coding", "support = [0, 1e7]", "no setting 'support'"),
)
FILES = {
    "no study": ((*DRY[:1], "nope.toml", *DRY[2:]), nothing),
    "a folder for a study": ((*DRY[:1], ".", *DRY[2:]), nothing),
    "data for a study": ((*DRY[:1], "data.csv", *DRY[2:]), nothing),
    "an empty study": (DRY, content("study.toml", "")),
    "a study in Latin-1": (DRY, content("study.toml", "# okapié\n".encode("latin-1"))),
    "binary for a study": (DRY, content("study.toml", bytes(range(256)))),
    "strict without the unweighted scheme": (
        (*RUN, "--strict"),
        edit("study.toml", '["unweighted", "pairwise"]', '["pairwise"]'),
    ),
    "strict without the unweighted scheme, dry": (
        (*DRY, "--strict"),
        edit("study.toml", '["unweighted", "pairwise"]', '["pairwise"]'),
    ),
    "strict as a setting": (DRY, edit("study.toml", "seed = 3", "seed = 3\nstrict = true")),
    "no model takes the data": (
        RUN,
        edit("study.toml", 'name = "linear-regression"', 'name = "auto"\nunknown = 1'),
    ),
    "a sweep of a study without a model": (
        SWEEPS,
        edit("study.toml", 'name = "linear-regression"', 'name = "auto"'),
    ),
    "out is there": (RUN, lambda folder: (folder / "out").mkdir()),
    "out is a file": (RUN, content("out", "x")),
    "out is another's folder": ((*RUN, "--force"), lambda folder: (folder / "out").mkdir()),
    "out is below a file": ((*RUN[:2], "--out", "data.csv/out"), nothing),
    "out is a link that leads nowhere": (RUN, linked("out", "nowhere/out")),
    "out is a link in a circle": (RUN, linked("out", "out")),
    "out is too long": ((*RUN[:2], "--out", "x" * 300), nothing),
    "out is in a run": ((*RUN[:2], "--out", "results/out"), nothing),
    "the working folder is another's": (
        RUN,
        lambda folder: ((folder / "out.partial").mkdir(), content("out.partial/x", "x")(folder)),
    ),
    "the working folder is a file": (RUN, content("out.partial", "x")),
}
OPTIONS = (
    (RUN, ("--seed", "-1")),
    (RUN, ("--seed", "quagga?")),
    (RUN, ("--cores", "0")),
    (RUN, ("--nope",)),
    (RUN, ("more",)),
    (("nope",), ()),
    (("run",), ()),
    (WEIGHTS, ("--radius", "-1")),
    (WEIGHTS, ("--radius", "nan")),
    (WEIGHTS, ("--radius", "inf")),
    (WEIGHTS, ("--radius", "20")),
    (WEIGHTS, ("--radius", "wide")),
    (WEIGHTS, ("--scheme", "nope")),
    (WEIGHTS, ("--scheme", "61-way")),
    (WEIGHTS, ("--scheme", "1000000000-way")),
    (WEIGHTS, ("--scheme", "9" * 5000 + "-way")),
    (WEIGHTS, ("--scheme", "0-way")),
    (WEIGHTS, ("--scheme", "")),
    (WEIGHTS, ("--scheme", "uniform")),
    (WEIGHTS, ("--scheme", "lipschitz")),
    (WEIGHTS, ("--scheme", "power(g=-1)")),
    (WEIGHTS, ("--cluster", "nope")),
    (WEIGHTS, ("--boundary", "ajar")),
    (WEIGHTS, ("--singletons", "nope")),
    (WEIGHTS, ("--scale", "-1")),
    (WEIGHTS, ("--scale", "nan")),
    (WEIGHTS, ("--scale", "1e400")),
    (WEIGHTS, ("--shift", "inf")),
    (WEIGHTS, ("--known", "nope")),
    (WEIGHTS, ("--known", "group,group")),
    (WEIGHTS, ("--known", "income")),
    (WEIGHTS, ("--synthetic", "nope")),
    (WEIGHTS, ("--synthetic", "")),
    (WEIGHTS, ("--synthetic", "person")),
    (WEIGHTS, ("--out", "w.xlsx")),
    (WEIGHTS, ("--out", "w")),
    (WEIGHTS, ("--out", "data.csv", "--force")),
    (WEIGHTS, ("--out", "synthetic.csv")),
    (WEIGHTS, ("--out", "data.csv/w.csv")),
    (WEIGHTS, ("--out", "x" * 300 + ".csv")),
    (WEIGHTS, ("--out", "results/w.csv")),
    (without(WEIGHTS, "--out"), ()),
    (without(WEIGHTS, "--synthetic"), ()),
    (INIT, ("--synthetic", "nope")),
    (INIT, ("--synthetic", "income", "--synthetic", "nope")),
    (INIT, ("--variables", "nope.toml")),
    (INIT, ("--variables", "data.csv")),
    (INIT, ("--out", "first.txt")),
    (INIT, ("--out", "study.toml")),
    (INIT, ("--out", "data.csv", "--force")),
    (INIT, ("--out", "data.csv/first.toml")),
    (INIT, ("--out", "results/first.toml")),
    (INIT, ("--quiet", "--verbose")),
    (("init", "nope.csv", *INIT[2:]), ()),
    (("init", "study.toml", *INIT[2:]), ()),
    (("init", ".", *INIT[2:]), ()),
    (("check", "nope.toml"), ()),
    (("check", "data.csv"), ()),
    (("weights", "nope.csv", *WEIGHTS[2:]), ()),
    (("weights", "study.toml", *WEIGHTS[2:]), ()),
    (("weights", ".", *WEIGHTS[2:]), ()),
    (ASSESS, ("--top", "0")),
    (ASSESS, ("--id", "nope")),
    (ASSESS, ("--id", "group")),
    (ASSESS, ("--radius", "-1")),
    (ASSESS, ("--categorical", "group")),
    (ASSESS, ("--boundary", "ajar")),
    (ASSESS, ("--known", "nope")),
    (ASSESS, ("--synthetic", "group")),
    (ASSESS, ("nope.csv",)),
    (ASSESS, ("study.toml",)),
    (ASSESS, ("puf.csv",)),
    (ASSESS, ("--out", "data.csv")),
    (ASSESS, ("--out", "results/risk")),
    (("assess", "data.csv"), ()),
    (without(ASSESS, "--known"), ()),
    (RELEASE, ("--scheme", "nope")),
    (RELEASE, ("--scheme", "unweighted,nope")),
    (without(RELEASE, "--scheme"), ("--confidential", "run_data.csv")),
    (RELEASE, ("--confidential", "nope.csv")),
    (RELEASE, ("--confidential", "data.csv")),
    (RELEASE, ("--confidential", ".")),
    (RELEASE, ("--confidential", "run_data.csv", "--format", "xlsx")),
    (RELEASE, ("--confidential", "run_data.csv", "--format", "")),
    (RELEASE, ("--confidential", "run_data.csv", "--measured-in", "nope=1")),
    (RELEASE, ("--confidential", "run_data.csv", "--measured-in", "income")),
    (RELEASE, ("--confidential", "run_data.csv", "--out", "results/pack")),
    (RELEASE, ("--confidential", "run_data.csv", "--out", "results")),
    (RELEASE, ("--confidential", "run_data.csv", "--out", ".")),
    (("release", "nope", *RELEASE[2:]), ()),
    (("release", "data.csv", *RELEASE[2:]), ()),
    (("release", ".", *RELEASE[2:]), ()),
    (REPORT, ("--confidential", "data.csv")),
    (REPORT, ("--confidential", "run_data.csv", "--out", "out.pdf")),
    (REPORT, ("--confidential", "run_data.csv", "--out", "results/out.html")),
    (REPORT, ("--confidential", "run_data.csv", "--minimum-count", "2")),
    (REPORT, ("--confidential", "run_data.csv", "--minimum-count", "100000")),
    (("report", ".", "--out", "out.html"), ()),
    (RUN, ("--strict", "yes")),
    (WEIGHTS, ("--strict",)),
    (ASSESS, ("--strict",)),
    (SWEEPS, ("--strict",)),
    (RELEASE, ("--strict",)),
    (REPORT, ("--strict",)),
    (SUMMARY, ("--strict",)),
    (SUMMARY, ("--format", "html")),
    (SUMMARY, ("--measured-in", "nope=1")),
    (("summary", "nope"), ()),
    (SWEEPS, ("--workers", "0")),
    (SWEEPS, ("--scheduler", "tcp://127.0.0.1:1")),
    (("sweep", "nope.toml", *SWEEPS[2:]), ()),
    (("reidentify", "nope.toml", "--out", "out"), ()),
    (("reidentify", "data.csv", "--out", "out"), ()),
)
SWEEP_EDITS = (
    ('study = "study.toml"', 'study = "nope.toml"'),
    ('study = "study.toml"', 'study = "a\\u0000"'),
    ('study = "study.toml"', "study = 7"),
    ('study = "study.toml"', ""),
    ("repetitions = 1", "repetitions = 0"),
    ("repetitions = 1", "repetitions = 1_000_000_000"),
    ("repetitions = 1", 'repetitions = "1"'),
    ("repetitions = 1", "repeat = 1"),
    ("[grid]", "[grit]"),
    ('"release.L" = [3, 2]', ""),
    ('"release.L" = [3, 2]', '"release.L" = 3'),
    ('"release.L" = [3, 2]', '"release.L" = []'),
    ('"release.L" = [3, 2]', '"release.L" = [3, 3]'),
    ('"release.L" = [3, 2]', '"release.L" = [3, 0]'),
    ('"release.L" = [3, 2]', '"release.L" = [3, "2"]'),
    ('"release.L" = [3, 2]', '"release.M" = [3]'),
    ('"release.L" = [3, 2]', '"scenario.radius" = [0.1, -0.1]'),
    ('"release.L" = [3, 2]', '"weights.schemes" = [["pairwise"]]'),
    ('"release.L" = [3, 2]', '"weights.schemes" = ["nope"]'),
    ('"release.L" = [3, 2]', '"synthesizer.formula" = ["income ~ nope"]'),
    ('"release.L" = [3, 2]', '"synthesizer.name" = ["nope"]'),
    ('"release.L" = [3, 2]', '"data.path" = ["nope.csv"]'),
    ('"release.L" = [3, 2]', '"data.path" = [7]'),
    ('"release.L" = [3, 2]', 'seed = ["1"]'),
)
_MODEL = 'model = "linear-regression"'
# of a study of several variables: what is changed, and what must be said; nothing is fitted before
CHAIN_EDITS = (
    ('path = "data.csv"', 'path = "data.csv"\nunits = "houses.csv"', "go together"),
    ('path = "data.csv"', 'path = "data.csv"\nunits = "houses.csv"\nkey = "id"', "houses.csv"),
    (
        'path = "data.csv"',
        'path = "data.csv"\nunits = "data.csv"\nkey = "person"',
        "the file of members also has",
    ),
    (
        _MODEL,
        'applies_if = "nope == 1"\nelse_value = -8\n' + _MODEL,
        "'nope', no column of the data",
    ),
    (_MODEL, 'applies_if = "income > 1"\nelse_value = -8\n' + _MODEL, "'income'"),
    (_MODEL, "applies_if = \"group == 'c'\"\nelse_value = -8\n" + _MODEL, "a value of no record"),
    (
        _MODEL,
        "applies_if = \"group == 'a'\"\nelse_value = -8\n" + _MODEL,
        "of 60 confidential records, [0-9]+ break",
    ),
    (_MODEL, "applies_if = \"group is 'a'\"\nelse_value = -8\n" + _MODEL, "applies_if"),
    (_MODEL, "applies_if = \"group == 'a'\"\n" + _MODEL, "else_value"),
    (
        "[weights]",
        '[synthesizer.variables.note]\napplies_if = "income > 1"\nelse_value = "okapi1"\n[weights]',
        "drawn after 'note'",
    ),
    ('predictors = ["group"]', 'predictors = ["group"]\norder = [["income", "income"]]', "order"),
    (
        'predictors = ["group"]',
        'predictors = ["group"]\norder = [["note", "income"], ["income", "note"]]',
        "circle",
    ),
    ('predictors = ["group"]', 'predictors = ["group"]\norder = [["person", "group"]]', "order"),
    ('predictors = ["group"]', 'predictors = ["group"]\norder = 3', "order"),
    (
        'predictors = ["group"]',
        'predictors = ["group"]\nforbidden = ["group == \'a\' and income > 0"]',
        "of 60 confidential records, [0-9]+ break",
    ),
    (
        'predictors = ["group"]',
        'predictors = ["group"]\nforbidden = ["__import__(\'os\')"]',
        "forbidden",
    ),
    ('predictors = ["group"]', 'predictors = ["group"]\nviolations = "ignore"', "violations"),
    ('predictors = ["group"]', 'predictors = ["group"]\nrecoding = "fancy"', "recoding"),
    (
        'predictors = ["group"]',
        'predictors = ["group"]\nlearned = ["note"]',
        "which is synthesized",
    ),
    ('predictors = ["group"]', 'predictors = ["group"]\nlearned = ["person"]', "no predictor"),
    (
        'predictors = ["group"]',
        'predictors = ["group", "income"]',
        "both a predictor and synthesized",
    ),
    ('predictors = ["group"]', 'predictors = ["nope"]', "'nope'"),
    ('predictors = ["group"]', 'predictors = ["group", "group"]', "predictors"),
    ('predictors = ["group"]', "predictors = 3", "predictors"),
    (
        'predictors = ["group"]',
        'predictors = ["group"]\nformula = "note ~ group"',
        "of several variables: leave out synthesizer.formula",
    ),
    ('predictors = ["group"]', 'predictors = ["group"]\ncomponents = 3', "no setting 'components'"),
    ('name = "sequential"', 'name = "linear-regression"', "'synthesizer.formula' is missing"),
    ('name = "sequential"', 'name = "auto"', "'auto'"),
    ('name = "sequential"', 'name = "nope"', "'nope'"),
    ('"note", "income"', '"note", "income", "group"', "both known and synthetic"),
    ('"note", "income"', '"note", "note"', "synthetic"),
    ('"note", "income"', '"person", "income"', "60 different values in 60 records"),
    (
        'synthetic = ["note", "income"]',
        'synthetic = ["person", "income"]\ncategorical = ["person"]',
        "'person'.* levels",
    ),
    (
        'synthetic = ["note", "income"]',
        'synthetic = ["note", "income"]\ncodes = {note = 1}',
        "special codes are for numbers",
    ),
    ("[weights]", "[synthesizer.variables.note]\ncodes = [1]\n[weights]", "'note'"),
    (
        "[weights]",
        "[synthesizer.variables.nope]\ncodes = [1]\n[weights]",
        "'nope', which is not synthesized",
    ),
    (
        "[weights]",
        "[synthesizer.variables.note]\nsupport = [0, 1]\n[weights]",
        "no setting 'support'",
    ),
    (_MODEL, "support = [0, 1]\n" + _MODEL, "60 of 60"),
    (_MODEL, 'model = "sequential"', "of several variables"),
    (_MODEL, 'model = "nope"', "'nope'"),
    (_MODEL, "model = 3", "model"),
    (_MODEL, 'model = "multinomial"', "'income'"),
    (_MODEL, 'model = "logistic"', "'income'"),
    (_MODEL, 'model = "top-coding"\nquantile = 0.9', "'income'"),
    (_MODEL, 'formula = "income ~ nope"\n' + _MODEL, "'nope'"),
    (_MODEL, 'formula = "note ~ group"\n' + _MODEL, "formula must have it on the left"),
    (_MODEL, 'codes = "x"\n' + _MODEL, "codes must be different finite numbers"),
    ("[weights]", '[weights]\nrisk_of = "nope"', "'each-variable', 'joint' or"),
    ("[weights]", '[weights]\nrisk_of = [["note"]]', "in no subset"),
    ("[weights]", '[weights]\nrisk_of = [["note", "income"], ["note"]]', "in two subsets"),
    ("[weights]", '[weights]\nrisk_of = [["note", "income"], ["person"]]', "not synthetic"),
    ("[weights]", "[weights]\nrisk_of = 3", "risk_of"),
    ("[weights]", '[weights]\ntarget = "isolated-risk(nope)"\ntarget_max = 0.1', "nope"),
    ("[weights]", '[weights]\nsurvey = "income"', "which is synthesized"),
    ("[weights]", '[weights]\ncluster = "note"', "which is synthesized"),
    ("[sampling]", "[guarantee]\nepsilon = 1\n[sampling]", "the model, chosen by the values"),
    ("[sampling]", "[top_coding.variables.nope]\nquantile = 0.9\n[sampling]", "'nope'; valid are"),
    ("L = 3", "L = 3\nprecision = {nope = 1}", "'nope'; valid are"),
    ("L = 3", "L = 3\nprecision = {note = 1}", "drawn as levels"),
    ("L = 3", "L = 3\nprecision = {income = 0}", "precision"),
    ("L = 3", "L = 161", "release.L"),
)
CHAIN_DATA = {
    "one value": (table("data.csv", note=lambda d: "okapi1"), "'note' has one value|'note'"),
    "one number": (table("data.csv", income=lambda d: 7.0), "'income' has one value"),
    "no value": (table("data.csv", note=lambda d: None), "missing in 60 of 60"),
    "infinite": (
        table("data.csv", income=lambda d: d["income"].where(d.index != 5, np.inf)),
        "infinite",
    ),
    "losses under a log": (table("data.csv", income=lambda d: -d["income"]), "'income'"),
    "no predictor": (table("data.csv", group=None), "'group'"),
    "one record": (rows("data.csv", lambda d: d.head(1)), ""),
    "no record": (rows("data.csv", lambda d: d.head(0)), ""),
}
# settings of units, what else of the study is changed, what is changed of the data, what is said
UNITS = {
    "without an id": ("time = 'year'", "", {}, "units.id"),
    "an unknown setting": ("id = 'house'\nsize = 3", "", {}, "units.size"),
    "an absent id": ("id = 'nope'", "", {}, "'nope'"),
    "an id that is synthesized": ("id = 'note'", "", {}, "'note'"),
    "an id with gaps": (
        "id = 'house'",
        "",
        {"house": lambda frame: [None, *range(1, len(frame))]},
        "missing in 1 of 60",
    ),
    "an id of fractions": (
        "id = 'house'",
        "",
        {"house": lambda frame: frame.index + 0.5},
        "no whole number in 60 of 60",
    ),
    "an id in two forms": (
        "id = 'house'",
        "",
        {"house": lambda frame: ["1", "1.0", "x", *frame["house"].astype(str)[3:]]},
        "1 identifiers in several forms",
    ),
    "an id that the intruder knows": (
        "id = 'group'",
        "",
        {},
        "released with new numbers",
    ),
    "a role with gaps": (
        "id = 'house'\nrole = 'place'\nfirst = 'head'",
        "",
        {"place": lambda frame: frame["place"].mask(frame.index == 2)},
        "missing in 1 of 60",
    ),
    "a time with gaps": (
        "id = 'house'\ntime = 'year'",
        "",
        {"year": lambda frame: frame["year"].mask(frame.index == 2)},
        "missing in 1 of 60",
    ),
    "an order that is synthesized": ("id = 'house'\norder = ['note']", "", {}, "synthesized"),
    "a time that is synthesized": ("id = 'house'\ntime = 'income'", "", {}, "synthesized"),
    "every record alone": (
        "id = 'house'",
        "",
        {"house": lambda frame: frame.index},
        "each of the 60 units",
    ),
    "too many members": ("id = 'house'\nmost_members = 2", "", {}, "15 of 15 units"),
    "a role without its first": ("id = 'house'\nrole = 'place'", "", {}, "go together"),
    "a first that no role is": (
        "id = 'house'\nrole = 'place'\nfirst = 'boss'",
        "",
        {},
        "no level of the role",
    ),
    "two first members": (
        "id = 'house'\nrole = 'place'\nfirst = 'head'",
        "",
        {"place": lambda frame: "head"},
        "15 of 15 units do not have",
    ),
    "no first member": (
        "id = 'house'\nrole = 'place'\nfirst = 'head'",
        "",
        {"place": lambda frame: ["head", *["child"] * (len(frame) - 1)]},
        "14 of 15 units do not have",
    ),
    "what differs within units": (
        "id = 'house'\nunit_level = ['group']",
        "",
        {},
        "differs within [0-9]+ of 15 units",
    ),
    "two records at a time": (
        "id = 'house'\ntime = 'year'",
        "",
        {"year": lambda frame: 2000},
        "45 records have the unit and",
    ),
    "a time that is none": (
        "id = 'house'\ntime = 'place'",
        "",
        {},
        "no time in 60 of 60",
    ),
    "a time and an order": ("id = 'house'\ntime = 'year'\norder = ['place']", "", {}, "leave out"),
    "another cluster": (
        "id = 'house'",
        "[evaluation]\ncluster = 'group'",
        {},
        "evaluation.cluster",
    ),
    "another unit": ("id = 'house'", "unit = 'group'", {}, "release.unit"),
    "a guarantee": ("id = 'house'", "[guarantee]\nepsilon = 2.0", {}, "leave out"),
    "a formula": (
        "id = 'house'",
        "[synthesizer.variables.note]\nformula = 'note ~ group'",
        {},
        "other members",
    ),
    "a total that does not hold": (
        "id = 'house'\ntotals = { incomes = { sum = 'income' } }",
        "",
        {"incomes": lambda frame: 1.0},
        "does not hold in 15 of 15 units",
    ),
    "a total of another kind": (
        "id = 'house'\ntotals = { incomes = { mean = 'income' } }",
        "",
        {},
        "totals.incomes must be",
    ),
    "levels to merge that no record has": (
        "id = 'house'\ncoarsen = { place = { other = ['lodger'] } }",
        "",
        {},
        "those of no record",
    ),
    "a gap that units break": (
        "id = 'house'\ntime = 'year'\n"
        "rules = { gaps = [{ of = 'income', from = 'last', most = -1e9 }] }",
        "",
        {},
        "15 break",
    ),
    "a rule of a member who is none": (
        "id = 'house'\nrole = 'place'\nfirst = 'head'\nrules = { forbidden = ['boss.income > 1'] }",
        "",
        {},
        "names 'boss'",
    ),
    "a step without a time": (
        "id = 'house'\nrules = { steps = { income = 1 } }",
        "",
        {},
        "units with a time",
    ),
    "strata within units, whose weights differ": (
        "id = 'house'",
        "[evaluation]\nsurvey = 'weight'\nstrata = 'place'",
        {"weight": lambda frame: 1.0 + frame.index},
        "differ within 15 of 15 units",
    ),
    "units in the synthesizer": (
        "id = 'house'",
        "[synthesizer.units]\nid = 'house'",
        {},
        "no setting 'units'|synthesizer",
    ),
}
CHAIN_SWEEP_EDITS = (
    ("income.transform", "nope.transform", "unknown setting"),
    ("income.transform", "income.nope", "no setting 'nope'"),
    ("variables.income.transform", "formula", "unknown setting"),
    ('["log", "identity"]', '["log", "sqrt"]', "unknown transform"),
    (
        '"synthesizer.variables.income.transform" = ["log", "identity"]',
        '"weights.risk_of" = ["each-variable", "nope"]',
        "'each-variable', 'joint' or",
    ),
    (
        '"synthesizer.variables.income.transform" = ["log", "identity"]',
        '"synthesizer.predictors" = [["nope"]]',
        "'nope'",
    ),
)
CHAIN_OPTIONS = (
    ((*WEIGHTS, *SEVERAL, "--risk-of", "nope"), "which is not synthetic"),
    ((*WEIGHTS, *SEVERAL, "--risk-of", "note"), "in no subset"),
    ((*WEIGHTS, *SEVERAL, "--risk-of", "note;note,income"), "in two subsets"),
    ((*WEIGHTS, *SEVERAL, "--risk-of", ";"), "risk_of"),
    ((*WEIGHTS, *SEVERAL, "--codes", "income"), "VARIABLE=CODE"),
    ((*WEIGHTS, *SEVERAL, "--codes", "income=x"), "VARIABLE=CODE"),
    ((*WEIGHTS, *SEVERAL, "--codes", "note=1"), "special codes are for numbers"),
    ((*WEIGHTS, *SEVERAL, "--codes", "nope=1"), "'nope'"),
    ((*ASSESS, "--codes", "income=x"), "VARIABLE=CODE"),
    ((*ASSESS, "--codes", "nope=1"), "'nope'"),
    (("tune", "chain.toml", "--target", "isolated-risk(nope)", "--target-max", "0.1"), "nope"),
)
LINKING_EDITS = (
    ('"unicity"', '"cosine"'),
    ('["unicity", "taxicab", "adhoc"]', "[]"),
    ('["unicity", "taxicab", "adhoc"]', "7"),
    ('strata = "state"', 'strata = "nope"'),
    ('strata = "state"', 'strata = ["state", "state"]'),
    ('strata = "state"', "alpha = 0"),
    ('strata = "state"', 'alpha = "x"'),
    ('strata = "state"', "threshold = 2"),
    ('strata = "state"', "seed = -1"),
    ('strata = "state"', 'normalization = "nope"'),
    ('strata = "state"', 'empty_strata = "nope"'),
    ('puf = "puf.csv"', 'puf = "nope.csv"'),
    ('puf = "puf.csv"', 'puf = "puf\\u0000.csv"'),
    ('puf = "puf.csv"', "puf = 7"),
    ('puf = "puf.csv"', ""),
    ('eif = "eif.csv"', 'eif = "study.toml"'),
    ('iuf = "iuf.csv"', 'iuf = "puf.csv"'),
    ('iuf = "iuf.csv"', 'iuf = "iuf.csv"\npufid = "nope"'),
    ('iuf = "iuf.csv"', 'iuf = "iuf.csv"\npufid = "eifid"'),
    ('iuf = "iuf.csv"', 'iuf = "iuf.csv"\npufid = "age"'),
    ('age = "numeric"', 'age = "number"'),
    ('age = "numeric"', "age = 7"),
    ('age = "numeric"', 'nope = "numeric"'),
    ('sex = "categorical"', 'sex = "numeric"'),
    ("[linking]", "[linkage]"),
    ('age = "age.csv"', 'age = "nope.csv"'),
    ('age = "age.csv"', ""),
    ('age = "age.csv"', 'age = "data.csv"'),
    ("[files]", '[run]\nfolder = "results"\n[files]'),
)
LINKING_FILES = {
    "a truth of one missing pair": content("iuf.csv", "pufid,eifid\n,\n"),
    "a truth that points nowhere": table("iuf.csv", pufid=lambda d: d["pufid"] + 100),
    "a truth that repeats": table("iuf.csv", pufid=lambda d: 1),
    "a truth of other types": table("iuf.csv", pufid=lambda d: "quagga"),
    "no truth": content("iuf.csv", ""),
    "a repeated key": table("puf.csv", pufid=lambda d: 1),
    "a missing key": table("eif.csv", eifid=lambda d: d["eifid"].where(d.index != 2)),
    "an infinite age": table(
        "puf.csv", age=lambda d: d["age"].astype(float).where(d.index != 2, np.inf)
    ),
    "no age at all": table("puf.csv", age=lambda d: None),
    "ages as text": table("puf.csv", age=lambda d: "okapi"),
    "sexes as numbers": table("puf.csv", sex=lambda d: 1),
    "strata of one file only": table("puf.csv", state=lambda d: "z"),
    "no records": rows("puf.csv", lambda d: d.head(0)),
    "scores out of range": content("sex.csv", "puf,eif,score\nm,f,7\n"),
    "scores as text": content("sex.csv", "puf,eif,score\nm,f,okapi\n"),
    "scores without columns": content("sex.csv", "a,b\nokapi,2\n"),
    "scores of a pair twice": content("sex.csv", "puf,eif,score\nm,f,1\nm,f,2\n"),
    "breaks without an end": content("age.csv", "up_to,score\n5,5\n9,0\n"),
    "breaks that descend": content("age.csv", "up_to,score\n9,5\n5,2\n,0\n"),
}
RUN_FILES = {
    "a manifest of another version": manifest(versions={"riskweighted": "0.0.1"}),
    "a manifest without files": manifest(files={}),
    "files as a list": manifest(files=["okapi"]),
    "settings that are none": manifest(settings=[1]),
    "an input that is none": manifest(input={"records": "many"}),
    "a manifest that is a list": content("results/manifest.json", "[]"),
    "a manifest that is broken": content("results/manifest.json", '{"okapi": '),
    "a manifest in bytes": content("results/manifest.json", bytes(range(256))),
    "no manifest": gone("results/manifest.json"),
    "a folder for a manifest": folder_instead("results/manifest.json"),
    "no tables": gone("results/tables"),
    "a file too many": content("results/extra.txt", "okapi"),
    "a changed table": content("results/tables/risk.csv", "okapi\n1\n"),
    "an unfinished run": content("results/.riskweighted", "a run"),
    "another summary under its hash": under_its_hash("tables/summary.csv", b"a,b\nokapi,1\n"),
    "another risk table under its hash": under_its_hash("tables/risk.csv", b"a,b\nokapi,1\n"),
    "another convergence table under its hash": under_its_hash(
        "tables/convergence.csv", b"label\nunweighted\npairwise\n"
    ),
    "another fit_check under its hash": under_its_hash(
        "tables/fit_check.csv", b"label,check\nunweighted,okapi\n"
    ),
    "binary tables under their hash": under_its_hash("tables/utility.csv", bytes(range(256))),
}
SYNTHETIC = "synthetic/pairwise/synthetic_1.csv"
RUN_DATASETS = {
    "another dataset under its hash": under_its_hash(SYNTHETIC, b"a,b\nokapi,1\n"),
    "a short dataset under its hash": under_its_hash(
        SYNTHETIC, b"id,group,size,income\n0,a,1,5.5\n"
    ),
    "a dataset of text under its hash": under_its_hash(
        SYNTHETIC, b"id,group,size,income\n0,a,1,okapi\n"
    ),
    "a binary dataset under its hash": under_its_hash(SYNTHETIC, bytes(range(256))),
    "weights that are none under their hash": under_its_hash(
        "confidential/weights.csv", b"row,okapi\n1,2\n"
    ),
    "a posterior that is none under its hash": under_its_hash(
        "confidential/posterior/pairwise.zip", b"okapi" * 99
    ),
}


def catalogue() -> Iterator[Case]:
    """Every case, with a name of its own."""
    for old, new in STUDY_EDITS:
        yield Case(f"study: {old} -> {new[:60]}", DRY, edit("study.toml", old, new))
    for name, change in DATA.items():
        yield Case(f"data: {name}", RUN, change)
        if (
            not re.search("parquet|file$|lists|tables|bytes|times", name)
            and name not in _ONLY_A_RUN
        ):
            yield Case(f"weights, data: {name}", WEIGHTS, change)
    for name, (arguments, change) in FILES.items():
        yield Case(f"files: {name}", arguments, change)
    for arguments, more in OPTIONS:
        yield Case(f"options: {' '.join((*arguments, *more))[:150]}", (*arguments, *more), nothing)
    for name in WITH_BOUNDS:
        for ends, says in BOUNDS:
            yield Case(
                f"model: {name}, support = {ends}", DRY, model(name, f"support = {ends}"), says
            )
    for number, (name, settings, says, *changes) in enumerate(MODELS):
        yield Case(
            f"model {number}: {name}, {settings[:80]}", DRY, model(name, settings, *changes), says
        )
    for old, new in SWEEP_EDITS:
        yield Case(f"sweep: {old} -> {new}", SWEEPS, edit("sweep.toml", old, new))
    for number, (old, new, says) in enumerate(CHAIN_EDITS):
        yield Case(f"chain {number}: {new[:80]}", CHAIN_RUN, edit("chain.toml", old, new), says)
    for name, (change, says) in CHAIN_DATA.items():
        yield Case(f"chain, data: {name}", CHAIN_RUN, change, says)
    for name, (settings, more, columns, says) in UNITS.items():
        yield Case(f"units: {name}", CHAIN_RUN, units(settings, more, columns), says)
    for old, new, says in CHAIN_SWEEP_EDITS:
        yield Case(f"chain, sweep: {new}", CHAIN_SWEEPS, edit("chain_sweep.toml", old, new), says)
    for options, says in CHAIN_OPTIONS:
        yield Case(f"chain, options: {' '.join(options)[-80:]}", options, nothing, says)
    for old, new in LINKING_EDITS:
        yield Case(f"reidentify: {old} -> {new}", LINK, edit("linking.toml", old, new))
    for name, change in LINKING_FILES.items():
        yield Case(f"reidentify: {name}", LINK, change)
    for name, change in RUN_FILES.items():
        yield Case(f"summary: {name}", SUMMARY, change)
        yield Case(f"release: {name}", (*RELEASE, "--confidential", "run_data.csv"), change)
    for name, change in RUN_DATASETS.items():
        arguments = (*REPORT, "--internal") if "weights" in name or "posterior" in name else RELEASE
        yield Case(f"datasets: {name}", (*arguments, "--confidential", "run_data.csv"), change)


# -- giving them to the command line


class Answer(NamedTuple):
    code: int
    stdout: str
    stderr: str


def in_this_process(arguments: tuple[str, ...], folder: Path) -> Answer:
    """As the console script does it, but in this process."""
    from riskweighted.commands.main import main

    before, argv, stdout, stderr, code = Path.cwd(), sys.argv, io.StringIO(), io.StringIO(), 0
    os.chdir(folder)
    sys.argv = ["riskweighted", *arguments]
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            warnings.simplefilter("default")
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = argv
        os.chdir(before)
    return Answer(code, stdout.getvalue(), stderr.getvalue())


def in_its_own_process(arguments: tuple[str, ...], folder: Path) -> Answer:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "riskweighted", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def listed(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _needs_run(case: Case) -> bool:
    return case.arguments[0] in ("release", "report", "summary") or any(
        "results" in word for word in case.arguments
    )


def faults(
    case: Case, folder: Path, run: Path | None, give: Callable[[tuple[str, ...], Path], Answer]
) -> list[str]:
    """What is wrong with the answer to a case; nothing, if all is well."""
    good_inputs(folder, run if _needs_run(case) else None)
    hidden = secrets(folder)
    case.change(folder)
    before = listed(folder)
    answer = give(case.arguments, folder)
    shown = answer.stdout + answer.stderr
    leaked = sum(secret in shown for secret in hidden)
    return [
        text
        for wrong, text in (
            (answer.code != 2, f"exit code {answer.code}: {answer.stderr[-300:]}"),
            (
                not re.fullmatch(
                    r"((warning: |\d{4}-\d\d-\d\d ).*\n)*error: [^\n]+\n", answer.stderr
                ),
                f"not one line: {answer.stderr[-300:]!r}",
            ),
            (
                not re.search(case.says, answer.stderr),
                f"says not {case.says!r}: {answer.stderr[-300:]}",
            ),
            ("Traceback" in shown, "a traceback"),
            (answer.stdout != "", "something on the output"),
            (leaked > 0, f"{leaked} confidential values shown"),
            (listed(folder) != before, f"left behind: {sorted(listed(folder) ^ before)[:3]}"),
        )
        if wrong
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--processes", action="store_true", help="start the real command for every case"
    )
    parser.add_argument("--every", type=int, default=1, help="every how many-th case")
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    from finished_run import finished_run

    run, cases = finished_run(), list(catalogue())[:: given.every]
    counts: Counter[str] = Counter()
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            wrong = faults(
                case, Path(folder), run, in_its_own_process if given.processes else in_this_process
            )
        counts[f"{case.arguments[0]}, {'refused as it should be' if not wrong else 'WRONG'}"] += 1
        for text in wrong:
            print(f"{case.name}: {text}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{count:5}  {what}")
    print(
        f"{len(cases):5}  in "
        f"all{', each in a process of its own' if given.processes else ', in one process'}"
    )
    sys.exit(any("WRONG" in what for what in counts))


if __name__ == "__main__":
    main()
