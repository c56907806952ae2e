"""``riskweighted tune`` as a user meets it."""

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted, without_log
from study_text import study_text

from riskweighted.runs.study import load_study

STUDY = study_text("[weights]\nscale = 0.9", tune=300, reproducible=True)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 300)
    income = np.round(np.exp(3 + (group == "b") + 0.6 * rng.normal(size=300)), 3)
    pd.DataFrame({"group": group, "income": income}).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.mark.slow
def test_tables_figure_and_a_study_that_names_the_scheme(folder):
    done = riskweighted(
        *(
            "tune",
            "study.toml",
            "--target",
            "isolated-risk",
            "--target-max",
            "0.02",
            "--family",
            "mix",
            "--out",
            "tuned",
        ),
        *(
            "--constraint",
            "isolated-information=5",
            "--constraint",
            "disclosure-largest=0.9",
            "--full",
        ),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    # without --full the lines after the tables are all
    *tables, last = done.stdout.split("\nmix(t=")
    assert tables
    brief = f"mix(t={last}".splitlines()
    assert len(brief) <= 8
    assert any(
        line.startswith("Next: riskweighted run tuned/confidential/study.toml") for line in brief
    )
    assert without_log(done.stderr) == ""
    for text in (
        "each family at the mode",
        "mix(t=",
        "outside any epsilon",
        "Time: ",
        "weighted fit",
        "confidential/study.toml",
        "'disclosure-largest' is kept",
    ):
        assert text in done.stdout, text
    out = folder / "tuned"
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert names == {
        "README.txt",
        "confidential/study.toml",
        "families.csv",
        "frontier.csv",
        "frontier.png",
        "frontier-target.png",
    }
    assert (out / "confidential").stat().st_mode & 0o077 == 0
    assert (out / "frontier.png").read_bytes().startswith(b"\x89PNG")
    frontier, families = pd.read_csv(out / "frontier.csv"), pd.read_csv(out / "families.csv")
    (chosen,) = frontier[frontier["chosen"]].itertuples()
    # the word and the reason of a run: weights of .9 leave no unweighted fit, by which a model is
    # judged
    assert f"  {chosen.verdict}  " in brief[0]
    assert (chosen.verdict, "no fit being unweighted" in brief[0]) == ("not judged", True)
    assert set(frontier.loc[~frontier["chosen"], "verdict"]) == {"not judged"}
    assert chosen.target == pytest.approx(0.02, abs=0.0015)
    assert {"isolated-information", "disclosure-largest"} <= set(frontier)
    assert frontier[["isolated_information", "largest_information"]].gt(0).all(axis=None)
    assert list(families["scheme"]) == [chosen.scheme]
    study = load_study(out / "confidential" / "study.toml")
    assert study.weights.schemes == ("unweighted", chosen.scheme)
    assert study.weights.scale == 0.9  # the weights were tuned with it
    assert study.read_data().shape == (300, 2)
    assert not (folder / "tuned.partial").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--target", "mean-risk", "--target-max", "0.02"), "'mean-risk' is no target"),
        (("--target", "isolated-risk", "--target-max", "0"), "target_max must be a number > 0"),
        (
            ("--target", "isolated-risk", "--target-max", "0.02", "--family", "pairwise"),
            "no parameter to tune",
        ),
        (
            ("--target", "isolated-risk", "--target-max", "0.02", "--loss", "overlap"),
            "give regression and coefficient",
        ),
        (("--target", "isolated-risk", "--target-max", "0.02", "--out", "study.toml"), "exists"),
        (
            ("--target", "isolated-risk", "--target-max", "0.02", "--constraint", "information"),
            "--constraint takes NAME=MOST",
        ),
        (
            ("--target", "isolated-risk", "--target-max", "0.02", "--constraint", "beauty=1"),
            "constraint must be one of 'disclosure-largest'",
        ),
        (
            ("--target", "disclosure-largest", "--target-max", "0.02"),
            "is a constraint, name it in constraints",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_and_leaves_nothing(folder, options, text):
    before = set(folder.iterdir())
    done = riskweighted("tune", "study.toml", *options, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert text in done.stderr
    assert set(folder.iterdir()) == before
