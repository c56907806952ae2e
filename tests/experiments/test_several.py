"""Seven variables of SD2011: figures by hand, words against figures, and the whole on some of the
records.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_data import FOLDER, shared

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sampling.sampling_settings import Sampling

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # experiments are no part of the package
from experiments.several import __main__ as command, case, measures, text  # noqa: E402


def test_data_that_are_not_there_are_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"SD2011\.csv is not there"):
        case.read(tmp_path / "SD2011.csv")


@pytest.mark.quick
def test_missing_rates_by_hand(monkeypatch):
    monkeypatch.setattr(measures, "VARIABLES", ("income",))
    monkeypatch.setattr(measures, "CODES", {"income": (-8,)})
    data = pd.DataFrame(
        {"sex": ["f"] * 50 + ["m"] * 50, "income": [np.nan] * 20 + [-8.0] * 10 + [1.0] * 70}
    )
    drawn = data.assign(income=[np.nan] * 30 + [1.0] * 30 + [-8.0] * 10 + [1.0] * 30)
    found = measures.missing_rates(data, [drawn], ["sex"]).set_index("status")
    assert found["confidential"].to_dict() == {"missing": 0.2, "-8": 0.1}
    assert found["synthetic"].to_dict() == {"missing": 0.3, "-8": 0.1}
    assert found.loc["missing", "z"] == pytest.approx(0.1 / np.sqrt(2 * 0.25 * 0.75 / 100))
    # women; no man has one
    assert found.loc["missing", "worst_z"] == pytest.approx(0.2 / np.sqrt(2 * 0.5 * 0.5 / 50))
    assert found.loc["-8", "patterns"] == 1  # men: 10 of 50 where the data have none
    assert found.loc["-8", "worst_z"] == pytest.approx(0.2 / np.sqrt(2 * 0.1 * 0.9 / 50))


@pytest.mark.quick
def test_the_top_decile_is_that_of_amounts(monkeypatch):
    monkeypatch.setattr(measures, "CODES", {"income": (-8,)})
    income = np.r_[np.full(8, 100.0), 500.0, 900.0, -8.0, np.nan]
    data = pd.DataFrame({"income": income})
    scenario = rw.Scenario(synthetic="income", codes={"income": -8})
    # The tenth of ten amounts is one record; 500 and 900 are alone in their balls alike.
    assert measures.top_decile(data, [data], scenario) == pytest.approx(11 / 12)
    elsewhere = data.assign(income=np.r_[np.full(8, 100.0), 100.0, 900.0, -8.0, np.nan])
    assert measures.top_decile(data, [data, elsewhere], scenario) == pytest.approx(
        (11 / 12 + 11 / 24) / 2
    )


def test_the_error_of_a_ratio():
    rows = pd.DataFrame(
        command._decile_rows({"unweighted": [0.04, 0.06], "pairwise": [0.02, 0.02]})
    ).set_index(["scheme", "measure"])
    value = rows["value"]
    assert value["unweighted", "error of top-decile income risk"] == pytest.approx(0.01)
    assert value["pairwise", "ratio of top-decile income risk"] == pytest.approx(0.4)
    assert value["pairwise", "error of the ratio of top-decile income risk"] == pytest.approx(
        0.4 * 0.01 / 0.05
    )


@pytest.mark.long
@pytest.mark.slow
# so few records and draws; the command does so too
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")
def test_the_whole_on_some_of_the_records(tmp_path):
    shared("SD2011.csv")
    data = case.read(FOLDER / "SD2011.csv").sample(900, random_state=1)
    results, blocks, missing = command.figures_of(
        data, tmp_path, Sampling(draws=60, tune=60, chains=2), releases=2, datasets=2
    )
    figures = text.Figures(results)
    for scheme in case.SCHEMES:
        assert figures.value(scheme, "rule violations") == 0
        assert 0 <= figures.value(scheme, "expected-match") < len(data)
        assert 0 <= figures.value(scheme, "regression-overlap", "smoke ~ age + sex") <= 1
    assert set(blocks["engine"]) <= {"direct", "nuts"}
    assert (blocks["engine"] == "direct").sum() > (blocks["engine"] == "nuts").sum()
    assert set(missing["variable"]) <= set(case.VARIABLES)
    page = text.write_results(results, blocks, missing, len(data), tmp_path / "RESULTS.md")
    assert page == (tmp_path / "RESULTS.md").read_text()
    assert (
        f"| largest one-way | <= 5 | {figures.value('unweighted', 'largest one-way'):.2f} |" in page
    )
    again = command.figures_of(
        data, tmp_path, Sampling(draws=60, tune=60, chains=2), releases=2, datasets=2
    )
    pd.testing.assert_frame_equal(again[0], results)  # from the fits that were kept
