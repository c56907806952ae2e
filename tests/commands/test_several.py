"""Commands on several synthesized variables: weights of each, codes, and what is refused in a
line.
"""

import pandas as pd
import pytest
from finished_run import CHAIN, chain_data
from typer.testing import CliRunner

import riskweighted as rw
from riskweighted.commands.main import app
from riskweighted.commands.terminal import codes_of
from riskweighted.common.errors import InputError
from riskweighted.data.io import read_table, write_table
from riskweighted.runs.plan import plan_study
from riskweighted.runs.study import make_study

VARIABLES = "marital,income,smoke,cigs"
OPTIONS = (
    "--known",
    "region",
    "--synthetic",
    VARIABLES,
    "--codes",
    "income=-8",
    "--codes",
    "cigs=-8",
)


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def data(tmp_path):
    write_table(chain_data(), tmp_path / "data.csv")
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ("each-variable", "each-variable"),
        ("joint", "joint"),
        ("smoke,marital; income;cigs", [["smoke", "marital"], ["income"], ["cigs"]]),
    ],
)
def test_weights_have_a_column_for_each_variable(data, option, match):
    done = command("weights", data, *OPTIONS, "--risk-of", option, "--out", data.parent / "w.csv")
    assert done.exit_code == 0, done.output
    scenario = rw.Scenario(
        known="region", synthetic=VARIABLES.split(","), codes={"income": -8, "cigs": -8}
    )
    expected = rw.match_weights(read_table(data), scenario, "pairwise", match)
    pd.testing.assert_frame_equal(
        pd.read_csv(data.parent / "w.csv", index_col="row"), expected.rename_axis("row")
    )
    assert all(f"pairwise, {name}" in done.output for name in VARIABLES.split(","))


def test_weights_of_one_variable_stay_one_column(data):
    done = command(
        "weights",
        data,
        "--known",
        "region",
        "--synthetic",
        "smoke",
        "--out",
        data.parent / "w.csv",
    )
    assert done.exit_code == 0, done.output
    assert list(pd.read_csv(data.parent / "w.csv")) == ["row", "alpha"]


def test_codes_are_no_amounts_in_an_assessment(data):
    """Small counts are near -8 where it is an amount of a wide ball, and nowhere near a code."""
    shown = chain_data().assign(cigs=lambda d: d["cigs"].where(d["cigs"] != -8, -7))
    write_table(shown, data.parent / "s.csv")
    with_codes, without = (
        command("assess", data, data.parent / "s.csv", *options, "--radius", "0.9", "--json")
        for options in (OPTIONS, OPTIONS[:4])
    )
    assert with_codes.exit_code == without.exit_code == 0, with_codes.output
    assert with_codes.output != without.output


def test_codes_of_a_command_line():
    assert codes_of(["a=-8,-9", "b = 0", "a=7"]) == {"a": (-8.0, -9.0, 7.0), "b": (0.0,)}
    assert codes_of(None) == {}
    for wrong in ("a", "a=", "=3", "a=x"):
        with pytest.raises(InputError, match="VARIABLE=CODE"):
            codes_of([wrong])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskweighted.SparseLevelWarning")  # of few records
def test_a_dry_run_of_a_chain_writes_nothing(data):
    study = make_study(CHAIN, data.parent)
    from riskweighted.runs.choice import study_text

    (data.parent / "study.toml").write_text(study_text(study, data.parent, "x"))
    plan = command("run", data.parent / "study.toml", "--out", data.parent / "out", "--dry-run")
    assert plan.exit_code == 0, plan.output
    assert "levels with weight" not in plan.output
    assert "Weighted margins, pairwise" in plan.output
    assert not (data.parent / "out").exists()


@pytest.mark.parametrize(
    ("precision", "named"),
    [
        ({"nope": 1}, "'nope'; valid are the synthesized variables"),
        ({"marital": 0.1}, "'marital' is drawn as levels"),
    ],
)
def test_a_precision_of_no_number_is_refused_before_the_fits(data, precision, named):
    with pytest.raises(InputError, match=named):
        plan_study(make_study({**CHAIN, "release": {"L": 3, "precision": precision}}, data.parent))
