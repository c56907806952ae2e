"""init, check, run, report and release on a small made-up file, as commands of one process: `python
.ci/main_job.py FOLDER`.

A workflow runs it on every system; a test runs it where nothing that only POSIX has can be found.
What lies in FOLDER at the end is looked at: nothing unfinished, names that every system takes, the
same ends of lines everywhere.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.commands.main import main
from riskweighted.common.settings import as_toml, read_toml

_SMALL = dict.fromkeys(
    (
        "mean",
        "isolated",
        "largest",
        "max_true_value_copies",
        "max_identified",
        "group",
        "not_judged",
        "not_shown",
    ),
    "a few records of a test",
)
_TEXT = (".csv", ".html", ".json", ".md", ".toml", ".txt", ".xml")
_NOT_ON_WINDOWS = set('<>:"|?*\\')


def households() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    town = rng.choice(["Łódź", "Gdańsk"], 150)
    income = np.round(np.exp(6.5 + (town == "Łódź") + 0.5 * rng.normal(size=150)), 2)
    return pd.DataFrame({"miasto_ł": town, "size": rng.integers(1, 4, 150), "income": income})


def command(*arguments: str) -> str:
    """What a command printed into a pipe of Windows; an exit code other than 0 ends the job."""
    print("riskweighted", *arguments, file=sys.stderr, flush=True)
    said = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    sys.argv = ["riskweighted", *arguments]
    with contextlib.redirect_stdout(said):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    said.seek(0)
    return said.read()


def main_job(folder: Path) -> None:
    """The job, in an empty folder."""
    households().to_csv(folder / "data.csv", index=False)
    study_file, results, pack = folder / "study.toml", folder / "results", folder / "pack"
    print(command("init", str(folder / "data.csv"), "--out", str(study_file)))
    study = read_toml(study_file, "study")
    assert study["data"]["path"] == "data.csv"
    study["weights"]["schemes"] = ["marginal"]
    study["release"] |= {"L": 3, "columns": ["miasto_ł"], "disclosure": {"accept": _SMALL}}
    study["evaluation"]["resamples"] = 50
    study_file.write_text(as_toml(study), encoding="utf-8")
    for arguments in (
        ("check", str(study_file)),
        ("run", str(study_file), "--out", str(results), "--verbose"),
        ("report", str(results), "--out", str(folder / "report.html")),
        (
            "release",
            str(results),
            "--scheme",
            "marginal",
            "--out",
            str(pack),
            "--accept-fail",
            "so few records",
        ),
        ("release", str(results), "--check", str(pack)),
    ):
        assert json.loads(command(*arguments, "--json"))["command"] == arguments[0]
    look_at(folder)


def look_at(folder: Path) -> None:
    """Refuse what the job should not have left there."""
    assert sorted(path.name for path in folder.iterdir()) == [
        "data.csv",
        "pack",
        "report.html",
        "results",
        "study.toml",
    ]
    made = [folder / "report.html", *(folder / "results").rglob("*"), *(folder / "pack").rglob("*")]
    for path in made:
        assert not set(path.name) & _NOT_ON_WINDOWS, path
        assert path.name[-1] not in ". ", path
        if path.suffix in _TEXT:
            content = path.read_bytes()
            assert b"\r" not in content, path
            content.decode("utf-8")
    released = pd.read_csv(next((folder / "pack").rglob("synthetic_marginal_1.csv")))
    assert set(released["miasto_ł"]) == {"Łódź", "Gdańsk"}
    assert released["income"].notna().all()
    print(f"{len(made)} files and folders are as they should be")


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir()
    main_job(Path(sys.argv[1]).absolute())
