import json

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted
from shared_data import FOLDER, shared

from riskweighted import Scenario, assess, identification_risk, matching_risk, rank_measure
from riskweighted.common.errors import InputError

scenario = Scenario(known=("g", "h"), synthetic="y")


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"g": rng.integers(0, 3, 300), "h": rng.choice(["a", "b"], 300)})
    return table.assign(y=np.exp(table["g"] + rng.normal(size=300)))


@pytest.fixture(scope="module")
def frames(confidential):
    rng = np.random.default_rng(2)
    return [confidential.assign(y=confidential["y"] * np.exp(0.5 * rng.normal(size=300))) for _ in range(3)]


@pytest.fixture(scope="module")
def result(confidential, frames):
    return assess(confidential, frames, scenario)


def value(result, measure, release="synthetic", column="value"):
    (found,) = result.measures.loc[(result.measures["measure"] == measure) & (result.measures["release"] == release), column]
    return found


def test_rows_are_the_measures_themselves(confidential, frames, result):
    assert value(result, "identification risk") == pytest.approx(identification_risk(confidential, frames, scenario).mean())
    assert value(result, "expected match risk") == pytest.approx(matching_risk(confidential, frames, scenario).expected_match_risk)
    assert value(result, "rank measure") == pytest.approx(rank_measure(confidential, frames, scenario).mean())
    assert value(result, "identification risk", "confidential itself") == pytest.approx(
        identification_risk(confidential, scenario=scenario).mean()
    )


def test_yardsticks_enclose_the_synthetic_data(result):
    for measure in (
        "identification risk",
        "expected match risk",
        "DCAP, absent keys 0",
        "largest canonical R^2",
        "mean identification probability",
    ):
        itself, synthetic, independent = (value(result, measure, r) for r in ("confidential itself", "synthetic", "independent of known"))
        assert itself > synthetic > independent, measure


def test_every_mean_has_an_interval_around_it_and_every_row_its_definition(result):
    table = result.measures
    assert table["definition"].str.len().min() > 15
    assert set(table["higher_is"]) == {"riskier", "safer"}
    assert (table["boundary"] == "closed").all()
    bounded = table[table["rule"].str.contains("interval over records")]
    assert len(bounded) >= 18
    assert ((bounded["lower"] <= bounded["value"]) & (bounded["value"] <= bounded["upper"])).all()


def test_interval_of_the_expected_match_risk_is_that_of_its_terms(confidential, frames, result):
    records = matching_risk(confidential, frames, scenario).records
    terms = (records["T"] / records["c"].where(records["c"] > 0, np.inf)).to_numpy().reshape(3, -1).mean(axis=0)
    half = 1.9679 * terms.std(ddof=1) * np.sqrt(300)
    assert value(result, "expected match risk", column="upper") == pytest.approx(terms.sum() + half, rel=1e-3)


def test_contributions_drop_one_known_variable(confidential, frames, result):
    row = result.contributions.set_index("known_variable").loc["h"]
    without = Scenario(known="g", synthetic="y")
    assert row["risk_without"] == pytest.approx(identification_risk(confidential, frames, without).mean())
    assert row["matches_added"] == pytest.approx(
        matching_risk(confidential, frames, scenario).expected_match_risk - matching_risk(confidential, frames, without).expected_match_risk
    )


def test_riskiest_records_come_first(confidential, frames, result):
    risk = identification_risk(confidential, frames, scenario)
    assert result.riskiest["identification_risk"].tolist() == sorted(risk, reverse=True)[:10]
    assert (risk[result.riskiest.index] == result.riskiest["identification_risk"]).all()


def test_categorical_targets_and_no_known_variable(confidential):
    table = confidential.assign(c=np.where(confidential["y"] > 3, "x", "z"))
    measures = assess(table, table.sample(frac=1, random_state=1).reset_index(drop=True), Scenario(known=(), synthetic="c")).measures
    assert "TCAP" not in set(measures["measure"])
    assert "rank measure" not in set(measures["measure"])


def test_degenerate_numbers_are_reported_not_raised(confidential):
    flat = confidential.assign(y=1.0)
    row = assess(flat, flat, scenario).measures.query("measure == 'largest canonical R^2' and release == 'synthetic'")
    assert row["value"].isna().all()
    assert row["definition"].str.startswith("undefined: ").all()


def test_refuses(confidential, frames):
    for change, message in (({"top": 0}, "top"), ({"level": 2}, "level"), ({"identifier": "nope"}, "'nope'")):
        with pytest.raises(InputError, match=message):
            assess(confidential, frames, scenario, **change)
    with pytest.raises(InputError, match="300 confidential and 299"):
        assess(confidential, frames[0].iloc[1:], scenario)
    with pytest.raises(InputError, match="at least one"):
        assess(confidential, [], scenario)


def test_command_line_on_the_lecture_pairs(tmp_path):
    shared("CEdata.csv")
    arguments = (FOLDER / "CEdata.csv", FOLDER / "CEdata_syn_SLR.csv", "--known", "UrbanRural,Race", "--synthesized", "Expenditure")
    done = riskweighted("assess", *arguments, "--json", "--out", "ce", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {row["measure"]: row for row in json.loads(done.stdout) if row["release"] == "synthetic"}
    assert found["expected match risk"]["value"] == pytest.approx(10.5975, abs=5e-5)
    assert found["unique matches"]["value"] == 26
    assert len(pd.read_csv(tmp_path / "ce" / "confidential" / "riskiest.csv")) == 10
    again = riskweighted("assess", *arguments, "--out", "ce", cwd=tmp_path)
    assert again.returncode == 2
    assert "'ce' exists" in again.stderr
    acs = (
        FOLDER / "ACSdata.csv",
        FOLDER / "ACSdata_syn.csv",
        "--known",
        "SEX,RACE,MAR",
        "--synthesized",
        "DIS,HICOV",
        "--categorical",
        "DIS,HICOV",
    )
    done = riskweighted("assess", *acs, "--categorical", "DIS,HICOV", "--internal", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "64.78" in done.stdout
    assert "Riskiest records (confidential)" in done.stdout


def test_missing_values_and_codes_run_through_every_measure(confidential, frames):
    rng = np.random.default_rng(5)

    def with_gaps(frame):
        return frame.assign(y=frame["y"].mask(rng.random(300) < 0.1).mask(rng.random(300) < 0.1, -8))

    own, released = with_gaps(confidential), [with_gaps(frame) for frame in frames]
    coded = Scenario(known=("g", "h"), synthetic="y", codes={"y": -8})
    found = assess(own, released, coded)
    assert value(found, "identification risk") == pytest.approx(identification_risk(own, released, coded).mean())
    assert value(found, "rank measure") == pytest.approx(rank_measure(own, released, coded).mean())
    amounts = [(own["y"] > 0).to_numpy(), (released[0]["y"] > 0).to_numpy()]
    both = amounts[0] & amounts[1]
    expected = np.corrcoef(own["y"][both], released[0]["y"][both])[0, 1] ** 2
    assert value(found, "largest canonical R^2") == pytest.approx(expected)
    assert f"among the {both.sum()} of 300 records" in value(found, "largest canonical R^2", column="definition")
    assert value(found, "MIDP bound", "confidential itself") > 0
