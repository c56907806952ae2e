"""`tune` on the demo's households, with the demo's model."""

import pytest

import riskweighted as rw
from riskweighted.runs.study import demo_study


@pytest.mark.long
@pytest.mark.slow
def test_the_isolated_households_are_brought_to_three_hundredths():
    study = demo_study()
    found = rw.tune(
        study.make_synthesizer(),
        study.read_data(),
        study.scenario,
        target="isolated-risk",
        at_most=0.03,
        draws=400,
        tune=300,
        random_seed=3,
    )
    assert found.met
    assert found.reached == pytest.approx(0.03, abs=0.0015)
    assert found.fits <= 2
    curves = found.frontier[(found.frontier["kind"] == "plug-in") & ~found.frontier["reference"]]
    assert all(rows["target"].is_monotonic_decreasing for _, rows in curves.groupby("family"))
    named = found.frontier.set_index("scheme")
    assert named.loc["uniform(c=0.1)", "target"] == pytest.approx(named.loc["mix(t=0)", "target"], rel=0.03)  # shrinking protects nobody
    deleted = found.families.set_index("family").loc["delete", "loss"]
    assert deleted < found.families["loss"].max()  # deletion costs no more at equal risk (METHODS section 2.7)
