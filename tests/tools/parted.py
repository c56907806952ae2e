"""A small file in parts, a study of it, and what a run of it leaves."""

import json

import numpy as np
import pandas as pd

STUDY = """
seed = 3
{numbers}
[data]
path = "{path}"
{identified}
[scenario]
known = ["region", "age"]
synthetic = "income"
radius = 0.2
[synthesizer]
name = "linear-regression"
formula = "income ~ C(region) + C(age) + edu"
transform = "log"
support = [1, 10000000]
[weights]
schemes = {schemes}
[sampling]
draws = 100
tune = 100
chains = 2
[release]
L = 2
columns = ["edu"]
{release}
[evaluation]
regression = "income ~ C(region) + edu"
coefficient = "edu"
regressions = [
    "log(income) ~ C(region) + edu",
    "income ~ C(edu) where age != 'old'",
    "age ~ log(income) + edu where age != 'old'",
]
risk_draws = 20
resamples = 20
"""


def people(n=900, seed=5):
    """Households with an identifier in no order."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["N", "S", "E", "W"], n, p=[0.4, 0.3, 0.2, 0.1])
    age = rng.choice(["young", "middle", "old"], n)
    frame = pd.DataFrame(
        {
            "hh": rng.permutation(n) + 1000,
            "region": region,
            "age": age,
            "edu": rng.integers(1, 5, n),
        }
    )
    logs = (
        9.5
        + 0.2 * (region == "N")
        + 0.15 * frame["edu"]
        + 0.1 * (age == "middle")
        + rng.normal(0, 0.6, n)
    )
    return frame.assign(income=np.exp(logs).round().astype(int))


def write_parts(folder, data, cuts):
    """Parts of the data, cut at these rows, beside a study of them."""
    (folder / "parts").mkdir(parents=True)
    for place, rows in enumerate(np.split(np.arange(len(data)), cuts)):
        data.iloc[rows].to_parquet(folder / "parts" / f"part-{place}.parquet", index=False)


def study_file(
    folder,
    path="parts/*.parquet",
    schemes=("unweighted", "mix(t=0.5)"),
    release="",
    identified='id = "hh"',
    seeded=False,
):
    """A study of what lies in a folder; `seeded`: whose numbers follow from a seed."""
    file = folder / "study.toml"
    file.write_text(
        STUDY.format(
            numbers="reproducible = true" if seeded else "",
            path=path,
            identified=identified,
            schemes=json.dumps(list(schemes)),
            release=release,
        )
    )
    return file


def files_of(folder):
    """The files of a run and their digests, but that of its own study, whose path differs."""
    return json.loads((folder / "manifest.json").read_text())["files"]
