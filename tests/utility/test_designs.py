"""Estimates under 20 designs are those of R's survey package; what a design must not be is
refused.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from experiments.designs.records import records
from riskweighted.common.errors import InputError
from riskweighted.utility.regressions import analyse, checked_analysis

pytestmark = pytest.mark.versions

HERE = Path(__file__).parents[2] / "experiments" / "designs"
RECORDS = records()
FIGURES = pd.read_csv(HERE / "figures.csv", skipinitialspace=True).set_index(["design", "what"])
REPLICATES = pd.read_csv(HERE / "replicates.csv")

LINEAR = {
    "none": {},
    "strata": {"strata": "h"},
    "psu": {"psu": "p"},
    "strata psu": {"strata": "h", "psu": "p"},
    "fpc": {"fpc": "n_all"},
    "strata fpc": {"strata": "h", "fpc": "n_of_stratum"},
    "psu fpc": {"psu": "p", "fpc": "psu_all"},
    "strata psu fpc": {"strata": "h", "psu": "p", "fpc": "psu_of_stratum"},
    "share fpc": {"fpc": "share"},
    "pairs": {"strata": "pair", "psu": "two"},
    "pairs fpc": {"strata": "pair", "psu": "two", "fpc": "psu_of_pair"},
    "equal weights psu": {"survey": "one", "psu": "p"},
}
REPLICATED = {
    "brr": {"replication": "brr"},
    "fay 0.3": {"replication": "fay", "fay": 0.3},
    "fay 0.5": {"replication": "fay"},
    "jackknife": {"replication": "jackknife"},
    "stratified-jackknife": {},
    "stratified-jackknife pairs": {"replicate_factors": 0.5},
    "bootstrap": {},
    "successive-difference": {"replication": "successive-difference"},
}


def design_of(name: str) -> tuple[pd.DataFrame, rw.SurveyDesign]:
    """The records, with replicate weights where the design has them, and the design."""
    if name in LINEAR:
        return RECORDS, rw.survey_design(RECORDS, **{"survey": "w", **LINEAR[name]})
    rows = REPLICATES[REPLICATES["design"] == name.replace("successive-difference", "bootstrap")]
    weights = (
        rows.loc[:, "X1":]
        .T.set_axis([f"repw{number}" for number in rows["replicate"]], axis=1)
        .set_axis(RECORDS.index)
    )
    data, asked = RECORDS.join(weights), REPLICATED[name]
    return data, rw.survey_design(
        data, "w", replicates="repw*", **(asked or {"replicate_factors": rows["factor"].tolist()})
    )


@pytest.mark.parametrize("name", [*LINEAR, *REPLICATED])
def test_estimates_are_those_of_the_survey_package_of_r(name):
    (data, design), y, x = (
        design_of(name),
        RECORDS["y"].to_numpy(),
        RECORDS["x"].to_numpy(dtype=float),
    )
    found = {
        "mean": rw.survey_mean(y, design),
        "domain": rw.survey_mean(np.where(x > 3, y, np.nan), design),
        "ratio": rw.survey_ratio(y, x, design),
        "quantile 0.5": rw.survey_quantile(y, 0.5, design),
        "quantile 0.7": rw.survey_quantile(y, 0.7, design),
    }
    made = {what: (estimate.value, estimate.variance**0.5) for what, estimate in found.items()}
    for kind, formula in (("line", "y ~ x + C(k)"), ("odds", "b ~ x")):
        analysis = checked_analysis(data, formula)
        estimates = analyse(analysis, data, design)
        names = ["(Intercept)", "x", *(["ks", "kt"] if kind == "line" else [])]
        made |= {
            f"{kind} {term}": pair
            for term, *pair in zip(names, estimates.values, estimates.variances**0.5, strict=True)
        }
    expected = FIGURES.loc[name]
    assert set(made) == set(expected.index)
    for what, figures in expected.iterrows():
        assert made[what] == pytest.approx(
            (figures["value"], figures["error"]), rel=1e-6, abs=1e-9
        ), what
    assert design.df == expected["df"].iloc[0]


def test_replicate_weights_may_have_another_scale():
    data, design = design_of("brr")
    scaled = data.assign(
        **{name: 1e4 * data[name] for name in data if name.startswith("repw") or name == "w"}
    )
    made = rw.survey_mean(
        RECORDS["y"].to_numpy(),
        rw.survey_design(scaled, "w", replicates="repw*", replication="brr"),
    )
    assert made == pytest.approx(rw.survey_mean(RECORDS["y"].to_numpy(), design))


def test_a_domain_that_a_replicate_leaves_out_has_no_variance():
    data = pd.DataFrame({"w": 1.0, "a": [2.0, 0, 2, 0], "b": [0.0, 2, 0, 2]})
    design = rw.survey_design(data, "w", replicates=["a", "b"], replication="brr")
    values = np.array([1.0, np.nan, 3.0, np.nan])
    assert np.isnan(rw.survey_mean(values, design).variance)
    quantile = rw.survey_quantile(values, 0.5, design)
    assert quantile.value == 1.0
    # and not the largest value
    assert np.isnan([quantile.variance, quantile.lower, quantile.upper]).all()
    frames = [pd.DataFrame({**data, "g": "a", "y": part}) for part in (values, values)]
    confidential = frames[0]
    settings = rw.EvaluationSettings(
        survey="w", replicates=["a", "b"], replication="brr", resamples=20
    )
    scenario = rw.Scenario(known="g", synthetic="y")
    rows = rw.evaluate(confidential, {"some": frames}, scenario, settings=settings).utility
    means = rows[rows["key"] == "mean"].set_index("label")
    assert means["value"].isna().all()
    assert means.loc["some", "rule"] == "not estimable in 2 of 2 datasets"


def test_strata_of_which_all_was_drawn_add_nothing_and_units_without_weight_no_degree_of_freedom():
    """Worked by hand: stratum a of 2 units of 4, b of one of 1, c of 2 of 2, d of 2 of 4 of which
    one has no weight.
    """
    frame = pd.DataFrame(
        {
            "h": list("aabccdd"),
            "n": [4, 4, 1, 2, 2, 4, 4],
            "w": [2.0, 2, 1, 1, 1, 2, 0],
            "y": [1.0, 5, 90, 7, 70, 3, 50],
        }
    )
    design = rw.survey_design(frame, "w", "h", fpc="n")
    assert design.df == (2 + 1 + 2 + 1) - 4
    mean = (2 * 1 + 2 * 5 + 90 + 7 + 70 + 2 * 3) / 9
    a, d = (np.array([2 * (y - mean) for y in (1, 5)]), np.array([2 * (3 - mean), 0]))
    variance = sum((1 - 2 / 4) * 2 / 1 * ((z - z.mean()) ** 2).sum() for z in (a, d)) / 9**2
    found = rw.survey_mean(frame["y"], design)
    assert (found.value, found.variance) == pytest.approx((mean, variance), rel=1e-12)
    # one unit of two, and drawn with replacement
    for populations in ({"a": 4, "b": 2, "c": 2, "d": 4}, None):
        asked = {} if populations is None else {"fpc": "n"}
        with pytest.raises(InputError, match="1 of 4 hold a single record and show no variance"):
            rw.survey_design(frame.assign(n=frame["h"].map(populations or {})), "w", "h", **asked)
    with pytest.raises(InputError, match="no degree of freedom"):
        rw.survey_design(frame.assign(h=range(7), n=1), "w", "h", fpc="n")


WITH = RECORDS.assign(
    r1=1.0, r2=2.0, bad=[np.nan, *[1.0] * 95], low=2, text="a", minus=[-1.0, *[1.0] * 95]
)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"psu": "nope"}, "nope"),
        ({"psu": "bad"}, "psu 'bad' are missing in 1 of 96 records"),
        ({"psu": "one"}, "psu 'one': the file holds a single unit"),
        ({"strata": "p", "psu": "p"}, "hold a single unit and show no variance; merge strata"),
        ({"fpc": "text"}, "fpc 'text' must be numbers above 0, in 96 of 96 records it is not"),
        ({"fpc": "w"}, "must be the same for all records of a stratum"),
        ({"strata": "h", "fpc": "low"}, "4 of 4 strata hold more units than their population"),
        ({"replicates": ["r1", "r2"]}, "replication"),
        ({"replicates": ["r1", "r2"], "replication": "sdr"}, "replication"),
        ({"replicates": ["r1"], "replication": "brr"}, "two columns or more"),
        ({"replicates": "z*", "replication": "brr"}, "z*"),
        (
            {"replicates": ["r1", "bad"], "replication": "brr"},
            "survey weights 'bad' must be finite",
        ),
        ({"replicates": ["r1", "minus"], "replication": "brr"}, "1 negative"),
        ({"replicates": ["r1", "r2"], "replication": "brr"}, "all alike"),
        (
            {"replicates": ["r1", "r2"], "replication": "fay", "fay": 1.0},
            r"fay must lie in \[0, 1\)",
        ),
        (
            {"replicates": ["r1", "w"], "replicate_factors": [1.0, 2.0, 3.0]},
            "none of them the survey weights",
        ),
        (
            {"replicates": ["r1", "n_all"], "replication": "brr", "replicate_factors": 0.5},
            "say the same: give one of them",
        ),
        (
            {"replicates": ["r1", "n_all"], "replication": "brr", "fay": 0.3},
            "fay is of replication = 'fay', got 0.3 beside 'brr'",
        ),
        (
            {"replicates": ["r1", "n_all"], "replicate_factors": [1.0, 2.0, 3.0]},
            "one number >= 0 or 2, one for each replicate, got 3",
        ),
        ({"replicates": ["r1", "r2"], "strata": "h"}, "replicate weights replace strata"),
        ({"replication": "brr"}, "name their columns in replicates"),
    ],
)
def test_designs_that_are_none_are_refused(asked, words):
    with pytest.raises(InputError, match=words):
        rw.survey_design(WITH, "w", **asked)
