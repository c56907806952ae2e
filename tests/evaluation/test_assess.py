import json

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted
from shared_data import FOLDER, shared

from riskweighted import (
    Scenario,
    assess,
    correct_attribution,
    identification_risk,
    matching_risk,
    table_utility,
)
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.measures.registry import measures
from riskweighted.risk.record_distances import closest_records
from riskweighted.utility.combining_rules import combine_fully_synthetic

pytestmark = pytest.mark.versions

scenario = Scenario(known=("g", "h"), synthetic="y")


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"g": rng.integers(0, 3, 300), "h": rng.choice(["a", "b"], 300)})
    return table.assign(y=np.exp(table["g"] + rng.normal(size=300)))


@pytest.fixture(scope="module")
def frames(confidential):
    rng = np.random.default_rng(2)
    return [
        confidential.assign(y=confidential["y"] * np.exp(0.5 * rng.normal(size=300)))
        for _ in range(3)
    ]


@pytest.fixture(scope="module")
def result(confidential, frames):
    return assess(confidential, frames, scenario)


def value(result, measure, release="synthetic", column="value"):
    (found,) = result.measures.loc[
        (result.measures["measure"] == measure) & (result.measures["release"] == release), column
    ]
    return found


def test_rows_are_the_measures_themselves(confidential, frames, result):
    assert value(result, "mean risk") == pytest.approx(
        identification_risk(confidential, frames, scenario).mean()
    )
    assert value(result, "expected match risk") == pytest.approx(
        matching_risk(confidential, frames, scenario).expected_match_risk
    )
    assert value(result, "mean risk", "confidential itself") == pytest.approx(
        identification_risk(confidential, scenario=scenario).mean()
    )


def test_yardsticks_enclose_the_synthetic_data(result):
    for measure in (
        "mean risk",
        "expected match risk",
        "DCAP, absent keys 0",
        "risk of isolated records",
    ):
        itself, synthetic, independent = (
            value(result, measure, r)
            for r in ("confidential itself", "synthetic", "independent of known")
        )
        assert itself > synthetic > independent, measure


def test_every_mean_has_an_interval_around_it_and_every_row_its_definition(result):
    table = result.measures
    assert table["definition"].str.len().min() > 15
    assert set(table["higher_is"]) == {"riskier", "safer"}
    assert (table["boundary"] == "closed").all()
    bounded = table[table["rule"].str.contains("interval over records", na=False)]
    assert len(bounded) >= 12
    assert ((bounded["lower"] <= bounded["value"]) & (bounded["value"] <= bounded["upper"])).all()


def test_interval_of_the_expected_match_risk_is_that_of_its_terms(confidential, frames, result):
    records = matching_risk(confidential, frames, scenario).records
    terms = (
        (records["T"] / records["c"].where(records["c"] > 0, np.inf))
        .to_numpy()
        .reshape(3, -1)
        .mean(axis=0)
    )
    half = 1.9679 * terms.std(ddof=1) * np.sqrt(300)
    assert value(result, "expected match risk", column="upper") == pytest.approx(
        terms.sum() + half, rel=1e-3
    )


def test_contributions_drop_one_known_variable(confidential, frames, result):
    row = result.contributions.set_index("known_variable").loc["h"]
    without = Scenario(known="g", synthetic="y")
    assert row["risk_without"] == pytest.approx(
        identification_risk(confidential, frames, without).mean()
    )
    assert row["matches_added"] == pytest.approx(
        matching_risk(confidential, frames, scenario).expected_match_risk
        - matching_risk(confidential, frames, without).expected_match_risk
    )


def test_riskiest_records_come_first(confidential, frames, result):
    risk = identification_risk(confidential, frames, scenario)
    assert result.riskiest["identification_risk"].tolist() == sorted(risk, reverse=True)[:10]
    assert (risk[result.riskiest.index] == result.riskiest["identification_risk"]).all()


def test_categorical_targets_and_no_known_variable(confidential):
    table = confidential.assign(c=np.where(confidential["y"] > 3, "x", "z"))
    measures = assess(
        table,
        table.sample(frac=1, random_state=1).reset_index(drop=True),
        Scenario(known=(), synthetic="c"),
    ).measures
    assert not {"dcap-zero", "gap-attack"} & set(measures["key"])
    assert {"mean-risk", "copied-records"} <= set(measures["key"])


def test_a_variable_of_one_value_is_measured(confidential):
    flat = confidential.assign(y=1.0)
    found = assess(flat, flat, scenario)
    assert value(found, "mean risk") == 0  # all of a pattern have the value
    assert value(found, "DCAP, absent keys 0") == 1


def test_refuses(confidential, frames):
    for change, message in (
        ({"top": 0}, "top"),
        ({"level": 2}, "level"),
        ({"identifier": "nope"}, "'nope'"),
    ):
        with pytest.raises(InputError, match=message):
            assess(confidential, frames, scenario, **change)
    # with an identifier they are said to pair
    with pytest.raises(InputError, match="300 confidential and 299"):
        assess(
            confidential.assign(i=range(300)),
            frames[0].iloc[1:].assign(i=range(299)),
            scenario,
            identifier="i",
        )
    with pytest.raises(InputError, match="synthetic must name at least one tool"):
        assess(confidential, {"holdout itself": frames}, scenario)
    with pytest.raises(InputError, match="unpaired names 'b'; the tools are 'a'"):
        assess(confidential, {"a": frames}, scenario, unpaired="b")
    with pytest.raises(InputError, match="no column 'z'"):
        assess(confidential, frames, scenario, columns="z")
    with pytest.raises(InputError, match="at least one"):
        assess(confidential, [], scenario)


def test_command_line_on_the_lecture_pairs(tmp_path):
    shared("CEdata.csv")
    arguments = (
        FOLDER / "CEdata.csv",
        FOLDER / "CEdata_syn_SLR.csv",
        "--known",
        "UrbanRural,Race",
        "--synthetic",
        "Expenditure",
    )
    done = riskweighted("assess", *arguments, "--json", "--out", "ce", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {
        row["measure"]: row
        for row in json.loads(done.stdout)["measures"]
        if row["release"] == "synthetic"
    }
    assert found["expected match risk"]["value"] == pytest.approx(10.5975, abs=5e-5)
    assert found["records over 0.5"]["rule"] == "Wilson interval over records"
    assert len(pd.read_csv(tmp_path / "ce" / "confidential" / "riskiest.csv")) == 10
    again = riskweighted("assess", *arguments, "--out", "ce", cwd=tmp_path)
    assert again.returncode == 2
    assert "'ce' exists" in again.stderr
    acs = (
        FOLDER / "ACSdata.csv",
        FOLDER / "ACSdata_syn.csv",
        "--known",
        "SEX,RACE,MAR",
        "--synthetic",
        "DIS,HICOV",
        "--categorical",
        "DIS,HICOV",
    )
    done = riskweighted("assess", *acs, "--categorical", "DIS,HICOV", "--internal", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "64.8" in done.stdout
    assert "Riskiest records (confidential)" in done.stdout


def test_missing_values_and_codes_run_through_every_measure(confidential, frames):
    rng = np.random.default_rng(5)

    def with_gaps(frame):
        return frame.assign(
            y=frame["y"].mask(rng.random(300) < 0.1).mask(rng.random(300) < 0.1, -8)
        )

    own, released = with_gaps(confidential), [with_gaps(frame) for frame in frames]
    coded = Scenario(known=("g", "h"), synthetic="y", codes={"y": -8})
    found = assess(own, released, coded)
    assert value(found, "mean risk") == pytest.approx(
        identification_risk(own, released, coded).mean()
    )
    for term, having in (("-8", own["y"] == -8), ("missing", own["y"].isna())):
        shares = found.utility[found.utility["key"] == "level-share"]
        share = shares[shares["term"] == term].set_index("label")
        assert share.loc["confidential itself", "value"] == pytest.approx(having.mean())
        low, high = share.loc["synthetic", ["lower", "upper"]]
        assert low < share.loc["synthetic", "value"] < high


def draw(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "g": rng.integers(0, 3, n),
            "h": rng.choice(["a", "b"], n),
            "e": rng.choice(["x", "y", "z"], n),
        }
    )
    return table.assign(y=np.exp(table["g"] + rng.normal(size=n)))


@pytest.fixture(scope="module")
def several():
    """A tool whose rows pair, one that draws another number of whole records, and one that only
    says that its rows do not pair.
    """
    confidential = draw(300, 1)
    noisy = [
        confidential.assign(
            y=confidential["y"] * np.exp(0.5 * np.random.default_rng(seed).normal(size=300))
        )
        for seed in (2, 3, 4)
    ]
    tools = {
        "noise": noisy,
        "whole": [draw(450, seed) for seed in (5, 6, 7, 8)],
        "copy": confidential,
    }
    with pytest.warns(RiskWeightedWarning, match="do not pair"):
        found = assess(
            *(confidential, tools, scenario),
            holdout=draw(200, 9),
            unpaired="copy",
            columns="e",
            regressions=["y ~ C(g)"],
        )
    return confidential, tools, found


def of(found, key, label, column="value", table="measures", variable=None):
    rows = getattr(found, table)
    rows = rows[(rows["key"] == key) & (rows["label"] == label)]
    rows = rows if variable is None else rows[rows["variable"] == variable]
    return rows[column].iloc[0]


def test_tools_stand_side_by_side_and_rows_need_not_pair(several):
    confidential, tools, found = several
    labels = [
        "noise",
        "whole",
        "copy",
        "confidential itself",
        "independent of known",
        "holdout itself",
    ]
    assert list(found.measures["label"].unique()) == labels
    assert found.yardsticks == labels[3:]
    assert set(found.unpaired) == {"whole", "copy"}
    assert "300 confidential and 450" in found.unpaired["whole"]
    for label in ("whole", "copy", "holdout itself"):
        assert not any(
            measures()[key].needs == "pairs"
            for key in found.measures.loc[found.measures["label"] == label, "key"]
        )
    alone = assess(confidential, tools["noise"], scenario)
    paired = found.measures.query("label == 'noise' and key != 'closer-than-holdout'")
    same = alone.measures.query("label == 'synthetic'")
    assert paired["value"].tolist() == pytest.approx(same["value"].tolist(), nan_ok=True)
    assert set(found.riskiest["label"]) == set(found.contributions["label"]) == {"noise"}


def test_values_of_data_whose_rows_do_not_pair_are_the_measures_themselves(several):
    confidential, tools, found = several
    attribution = correct_attribution(confidential, tools["whole"], scenario)
    assert of(found, "dcap-zero", "whole") == attribution.dcap_zero
    nearest = closest_records(confidential, tools["whole"], scenario, holdout=draw(200, 9))
    assert of(found, "closest-record", "whole") == nearest.quantile("distance", 0.05)
    assert of(found, "closer-than-holdout", "whole") == nearest.closer
    assert of(found, "copied-records", "copy") == 1
    tables = table_utility(confidential, tools["whole"], ["y", "g", "h", "e"], 2)
    assert of(found, "two-way-distance", "whole", table="utility") == pytest.approx(
        tables["total_variation"].mean()
    )
    assert of(found, "two-way-mean", "whole", table="utility") == pytest.approx(
        tables["s_pmse"].mean()
    )
    kept = table_utility(confidential, tools["noise"], ["y", "g", "h", "e"], 2, synthesized="y")
    assert of(found, "two-way-distance", "noise", table="utility") == pytest.approx(
        kept["total_variation"].sum() / 6
    )
    assert of(found, "two-way-distance", "confidential itself", table="utility") == 0


def test_each_kind_of_data_has_its_combining_rule(several):
    _, tools, found = several
    means = [frame["y"].mean() for frame in tools["whole"]]
    variances = [frame["y"].var() / 450 for frame in tools["whole"]]
    expected = combine_fully_synthetic(means, variances, size_ratio=1.5)
    assert of(found, "mean", "whole", "lower", "utility") == pytest.approx(expected.lower)
    rules = {
        label: of(found, "mean", label, "rule", "utility")
        for label in ("noise", "whole", "copy", "confidential itself")
    }
    assert rules["noise"].startswith("partially synthetic")
    assert rules["whole"].startswith("fully synthetic")
    assert "no combining rule with L = 1" in rules["copy"]
    assert rules["confidential itself"] == "t interval of one dataset"
    assert of(found, "analysis-estimate", "whole", "rule", "utility").startswith("fully synthetic")
    assert of(found, "analysis-estimate", "noise", "rule", "utility").startswith(
        "partially synthetic"
    )
    assert 0 <= of(found, "analysis-overlap", "whole", table="utility") <= 1
    assert of(found, "mean", "copy", "overlap", "utility") == 1


def test_the_summary_serves_a_map(several):
    found = several[2]
    table = found.summary()
    assert list(table.index) == list(found.measures["label"].unique())
    assert found.map_measures() == ("DCAP, absent keys 0", "two-way total variation")
    assert table.loc["noise", "mean risk"] == of(found, "mean-risk", "noise")
    paired = assess(several[0], {"noise": several[1]["noise"]}, scenario)
    assert paired.map_measures()[0] == "mean risk"


def test_the_command_compares_tools_and_draws_the_map(several, tmp_path):
    confidential, tools, _ = several
    confidential.to_csv(tmp_path / "c.csv", index=False)
    draw(200, 9).to_csv(tmp_path / "h.csv", index=False)
    for name in ("noise", "whole"):
        for number, frame in enumerate(tools[name]):
            frame.to_csv(tmp_path / f"{name}{number}.csv", index=False)
    arguments = (
        "assess",
        "c.csv",
        "--tool",
        "ours=noise0.csv,noise1.csv",
        "--tool",
        "theirs=whole0.csv,whole1.csv",
    )
    options = (
        "--holdout",
        "h.csv",
        "--known",
        "g,h",
        "--synthetic",
        "y",
        "--columns",
        "e",
        "--regression",
        "y ~ C(g)",
    )
    done = riskweighted(*arguments, *options, "--full", "--out", "risk", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("do not pair") == 1
    assert "Left out of theirs, whose rows do not pair" in done.stdout
    names = {
        path.relative_to(tmp_path / "risk").as_posix()
        for path in (tmp_path / "risk").rglob("*")
        if path.is_file()
    }
    assert names == {
        "disclosure.csv",
        "measures.csv",
        "utility.csv",
        "map.svg",
        "map.png",
        "confidential/contributions.csv",
        "confidential/report.html",
        "confidential/riskiest.csv",
    }
    assert "theirs" in (tmp_path / "risk" / "map.svg").read_text()
    done = riskweighted(*arguments, *options, "--json", cwd=tmp_path)
    rows = json.loads(done.stdout)["measures"]
    assert {row["label"] for row in rows} == {
        "ours",
        "theirs",
        "confidential itself",
        "independent of known",
        "holdout itself",
    }
    assert {"dcap-zero", "two-way-distance"} <= {
        row["key"] for row in rows if row["label"] == "theirs"
    }
    for wrong, message in (
        ("theirs", "NAME=FILE"),
        ("=whole0.csv", "NAME=FILE"),
        ("a=none.csv", "there is no file"),
    ):
        done = riskweighted("assess", "c.csv", "--tool", wrong, *options, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr


def test_a_copy_with_a_little_noise_is_named_and_fails_without_folds(tmp_path):
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"g": rng.choice(["a", "b"], 300), "y": np.exp(rng.normal(8, 1, 300)).round()}
    )
    data.to_csv(tmp_path / "c.csv", index=False)
    data.assign(y=(data["y"] * rng.normal(1, 0.02, 300)).round()).to_csv(
        tmp_path / "noisy.csv", index=False
    )
    data.assign(y=np.exp(rng.normal(8, 1, 300)).round()).to_csv(tmp_path / "drawn.csv", index=False)
    tools = ("--tool", "noisy=noisy.csv", "--tool", "drawn=drawn.csv")
    done = riskweighted("assess", "c.csv", *tools, "--known", "g", "--synthetic", "y", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) <= 8
    assert lines[0].startswith("noisy  refuse ")
    assert lines[1].startswith("drawn  not judged ")
    assert "noisy: 9" in lines[2]
    assert "within 5 %" in lines[2]
