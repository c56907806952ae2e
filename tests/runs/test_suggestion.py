"""A first study of a file: what is suggested, and that the file that says so runs."""

import tomllib
import warnings

import numpy as np
import pandas as pd
import pytest
from shared_data import FOLDER, shared

from experiments.ce.population import simulate_ce
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.data.embedded import load_household_assets, load_households
from riskweighted.data.io import read_table
from riskweighted.runs.checked import check_study
from riskweighted.runs.columns import look_at
from riskweighted.runs.mixtures import suggest_mixture
from riskweighted.runs.starting import carries_values, starting_text
from riskweighted.runs.study import load_study
from riskweighted.runs.suggestion import suggest, with_fewer

N = 400
rng = np.random.default_rng(11)


def made():
    """Files of all kinds, by name."""
    amount, group = np.round(rng.lognormal(9, 1, N), 2), rng.choice(list("abc"), N)
    spread = rng.lognormal(9, 1, N)
    return {
        "dates": pd.DataFrame(
            {
                "id": range(N),
                "day": pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"),
                "region": group,
                "amount": amount,
            }
        ),
        "text": pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], N), "shape": group, "answer": rng.choice(["yes", "no"], N)}),
        "one column": pd.DataFrame({"only": np.round(amount)}),
        "one column of text": pd.DataFrame({"only": group}),
        "an empty column": pd.DataFrame({"gone": [None] * N, "g": group, "v": rng.normal(0, 10, N)}),
        "gaps and codes": pd.DataFrame(
            {"sex": rng.choice(["m", "f"], N), "income": np.where(rng.random(N) < 0.1, -8, np.where(rng.random(N) < 0.1, np.nan, spread))}
        ),
        "names": pd.DataFrame(
            {
                'the "income" of all': amount,
                "größe in cm": rng.normal(170, 8, N).round(),
                "sex of head": rng.choice(["m", "f"], N),
                "it's": rng.integers(0, 3, N),
                "class": rng.choice([1, 2], N),
                "日本": rng.choice(["東", "西"], N),
                "tick`ed": group,
                "log": rng.choice([1, 2], N),
                "a ~ b": group,
                "[x] = 1  # no": group,
            }
        ),
        "few records": pd.DataFrame({"sex": ["m", "f"] * 15, "income": np.round(rng.lognormal(9, 1, 30))}),
        "twins and copies": pd.DataFrame({"income": amount, "in_euro": np.round(amount * 0.92, 2), "g": group}),
    }


FILES = {
    **made(),
    "401ksubs": load_households(),
    "401ksubs with assets": load_household_assets(),
    "a CE-like population": simulate_ce(2000),
}


def checked(data, path, targets=()):
    """The suggestion for a file, and the study that its text makes, checked against the data."""
    data.to_csv(path, index=False)
    table = read_table(path)
    suggestion = suggest(table, look_at(table), targets)
    (path.parent / "study.toml").write_text(starting_text(suggestion, path, path.parent))
    study = load_study(path.parent / "study.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        check_study(study, study.read_data())
    return suggestion, study


@pytest.mark.parametrize("name", FILES)
def test_the_study_of_a_file_runs_as_it_is_written(tmp_path, name):
    suggestion, study = checked(FILES[name], tmp_path / "data.csv")
    assert study.variables == suggestion.targets
    assert tuple(study.scenario.known) == suggestion.known
    assert not set(suggestion.left_out) & {*suggestion.known, *suggestion.predictors, *suggestion.targets}


@pytest.mark.parametrize("name", ["SD2011.csv", "CEdata.csv", "ACSdata.csv", "nb_mixture_n1000.csv", "lab5_ACSdata_syn2.csv"])
def test_the_study_of_a_file_of_the_course_runs_as_it_is_written(tmp_path, name):
    shared(name)
    suggestion, _ = checked(read_table(FOLDER / name), tmp_path / "data.csv")
    if name == "SD2011.csv":
        assert suggestion.targets == ("income",)
        assert suggestion.column("income").codes == (-8,)
        assert set(suggestion.known) >= {"sex", "agegr"}


def test_what_is_suggested_of_the_demo_data(tmp_path):
    suggestion, study = checked(FILES["401ksubs"], tmp_path / "data.csv")
    assert (suggestion.targets, suggestion.chosen) == (("inc",), True)
    assert set(suggestion.known) == {"male", "age_band", "married", "family_size"}
    assert study.synthesizer.name == "transformation"
    assert study.weights.schemes == ("unweighted", "mix+(t=0.5)")
    assert (suggestion.mixture.name, suggestion.mixture.transform) == ("normal-mixture", "log")
    assert carries_values(suggestion)  # bounds that were found
    assert study.synthesizer.settings["support"] == [0, 200, "found"]
    text = (tmp_path / "study.toml").read_text()
    assert f"# components = {suggestion.mixture.components}\n" in text


@pytest.mark.parametrize(("n", "expected"), [(400, "income ~ spline(age)"), (130, "income ~ spline(age)"), (70, "income ~ age")])
def test_numbers_bend_as_long_as_the_records_carry_it(n, expected):
    own = np.random.default_rng(1)
    age = 5 * (3 + np.arange(n) % 13)
    data = pd.DataFrame({"income": np.round(np.exp(7 + age / 40 + own.normal(0, 0.18, n)), 2), "age": age})
    assert suggest(data, look_at(data), ("income",)).formula == expected


def test_variables_that_are_named_become_a_chain(tmp_path):
    data = FILES["401ksubs with assets"]
    suggestion, study = checked(data, tmp_path / "data.csv", ("inc", "has_ira", "net_assets"))
    assert study.variables == ("inc", "has_ira", "net_assets")
    assert (study.synthesizer.name, suggestion.chosen) == ("sequential", False)
    assert dict(suggestion.models) == {"inc": "transformation", "has_ira": "counts", "net_assets": "two-part"}
    assert study.synthesizer.settings["recoding"] == "statuses"
    bounded = [name for name, table in study.synthesizer.settings["variables"].items() if "support" in table]
    assert bounded == ["inc", "net_assets"]  # amounts, not levels
    assert "marginal" not in study.weights.schemes  # has_ira has levels


def test_codes_and_gaps_ask_for_a_chain(tmp_path):
    suggestion, study = checked(FILES["gaps and codes"], tmp_path / "data.csv")
    assert study.scenario.codes == {"income": (-8,)}
    assert study.synthesizer.codes == {"income": (-8,)}
    assert carries_values(suggestion)
    assert "Confidential: it holds codes" in (tmp_path / "study.toml").read_text()


def test_a_copy_is_neither_known_nor_released_nor_a_predictor(tmp_path):
    suggestion, _ = checked(FILES["twins and copies"], tmp_path / "data.csv", ("income",))
    assert suggestion.left_out == {"in_euro": "gives income away: one ratio to it (exact; 100 % of the records, 1 % without)"}


def test_a_narrow_variable_has_an_absolute_radius(tmp_path):
    data = pd.DataFrame({"sex": rng.choice(["m", "f"], N), "height": rng.normal(170, 8, N).round()})
    _, study = checked(data, tmp_path / "data.csv")
    assert (study.scenario.radius, study.scenario.radius_kind) == (3, "absolute")
    both = data.assign(income=np.round(rng.lognormal(9, 1, N)))
    _, study = checked(both, tmp_path / "data.csv", ("height", "income"))
    assert study.scenario.radius == {"height": 3, "income": 0.2}
    assert study.scenario.radius_kind == {"height": "absolute"}


def test_no_amount_of_the_data_stands_in_the_text(tmp_path):
    data = FILES["gaps and codes"]
    checked(data, tmp_path / "data.csv")
    text = (tmp_path / "study.toml").read_text()
    amounts = {f"{value:.0f}" for value in data["income"].dropna() if value > 100}
    assert not amounts & set(text.replace(",", " ").split())


def test_every_setting_says_why():
    data = FILES["a CE-like population"]
    text = starting_text(suggest(data, look_at(data)), FOLDER / "x.csv", FOLDER)
    lines = text.splitlines()
    silent = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if " = " in line and "#" not in line and not before.startswith("#") and "name" not in line and line != "seed = 1"
    ]
    assert silent == []
    assert max(len(line) for line in lines if not line.startswith("formula")) <= 140
    tomllib.loads(text)


def test_nothing_that_can_be_synthesized_is_refused_with_the_reasons():
    data = pd.DataFrame({"id": range(N), "gone": [None] * N})
    with pytest.raises(InputError, match=r"no column of the file can be synthesized: 'id': identifier.*'gone': empty"):
        suggest(data, look_at(data))
    both = data.assign(v=rng.normal(size=N))
    with pytest.raises(InputError, match="'id' cannot be synthesized: identifier"):
        suggest(both, look_at(both), ("id",))
    with pytest.raises(InputError, match="no column 'w'; it has 'id', 'gone', 'v'"):
        suggest(both, look_at(both), ("w",))


def test_what_predicts_leaves():
    own = np.random.default_rng(2)
    data = pd.DataFrame(
        {name: own.integers(0, levels, 1500) for name, levels in {"sex": 2, "region": 4, "club": 2, "tool": 3, "year": 40}.items()}
    )
    data["income"] = np.round(np.exp(7 + data["sex"] / 5 + data["tool"] / 4 + data["year"] / 80 + own.normal(0, 0.5, 1500)), 2)
    suggestion = suggest(data, look_at(data), ("income",))
    assert set(suggestion.predictors) == {*suggestion.known, *suggestion.released}
    assert suggestion.released == ("tool",)
    assert "year" not in suggestion.formula  # it tells, but of so many values it does not leave


@pytest.mark.slow
def test_simpler_studies_for_data_that_do_not_suit_the_first():
    data = FILES["401ksubs"]
    found = list(with_fewer(suggest(data, look_at(data)), data))
    assert [len(one.predictors) for one in found] == [5, 4, 0, 0]
    assert [len(one.known) for one in found] == [4, 4, 4, 0]
    assert found[-1].formula == "inc ~ 1"


@pytest.mark.parametrize("apart", [0, 6])
def test_components_of_a_mixture_are_found(apart):
    values = np.exp(np.r_[rng.normal(8, 0.4, 600), rng.normal(8 + apart * 0.4, 0.4, 400)])
    found = suggest_mixture(values, counts=False)
    assert (found.name, found.transform, found.components) == ("normal-mixture", "log", 1 if apart == 0 else 2)
    assert found.why.startswith("skewness ")


def test_a_mixture_of_counts_and_of_values_with_losses():
    of_counts = load_synthesizer(suggest_mixture(rng.poisson(5, 500).astype(float), counts=True).name)  # it may be a plug-in's
    assert of_counts.probability_mass is True
    assert of_counts("y ~ 1", components=2).components == 2
    found = suggest_mixture(rng.standard_t(2, 2000) * 1000, counts=False)
    assert found.transform in ("identity", "asinh")
    assert suggest_mixture(np.ones(50), counts=False) is None
