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
from riskweighted.runs.check_study import check_study
from riskweighted.runs.study import load_study
from riskweighted.suggest import study_file
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.mixtures import suggest_mixture
from riskweighted.suggest.study_file import carries_values, study_file_text
from riskweighted.suggest.suggestion import simpler_suggestions, suggest

pytestmark = pytest.mark.versions

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
        "text": pd.DataFrame(
            {
                "colour": rng.choice(["red", "green", "blue"], N),
                "shape": group,
                "answer": rng.choice(["yes", "no"], N),
            }
        ),
        "one column": pd.DataFrame({"only": np.round(amount)}),
        "one column of text": pd.DataFrame({"only": group}),
        "an empty column": pd.DataFrame(
            {"gone": [None] * N, "g": group, "v": rng.normal(0, 10, N)}
        ),
        "gaps and codes": pd.DataFrame(
            {
                "sex": rng.choice(["m", "f"], N),
                "income": np.where(
                    rng.random(N) < 0.1, -8, np.where(rng.random(N) < 0.1, np.nan, spread)
                ),
            }
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
        "few records": pd.DataFrame(
            {"sex": ["m", "f"] * 15, "income": np.round(rng.lognormal(9, 1, 30))}
        ),
        "twins and copies": pd.DataFrame(
            {"income": amount, "in_euro": np.round(amount * 0.92, 2), "g": group}
        ),
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
    (path.parent / "study.toml").write_text(study_file_text(suggestion, path, path.parent))
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
    assert not set(suggestion.left_out) & {
        *suggestion.known,
        *suggestion.predictors,
        *suggestion.targets,
    }


@pytest.mark.parametrize(
    "name",
    ["SD2011.csv", "CEdata.csv", "ACSdata.csv", "nb_mixture_n1000.csv", "lab5_ACSdata_syn2.csv"],
)
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
    assert study.synthesizer.settings["support"] == [0, 500, "found"]
    text = (tmp_path / "study.toml").read_text()
    assert f"# components = {suggestion.mixture.components}\n" in text


def test_of_a_large_file_a_sample_is_fitted(tmp_path, monkeypatch):
    assert checked(FILES["401ksubs"], tmp_path / "data.csv")[1].data.fitted is None
    monkeypatch.setattr(study_file, "_LARGE", 9_000)
    monkeypatch.setattr(study_file, "FITTED", 2_000)
    assert checked(FILES["401ksubs"], tmp_path / "data.csv")[1].data.fitted == 2_000


@pytest.mark.parametrize(
    ("n", "expected"),
    [(400, "income ~ spline(age)"), (130, "income ~ spline(age)"), (70, "income ~ age")],
)
def test_numbers_bend_as_long_as_the_records_carry_it(n, expected):
    own = np.random.default_rng(1)
    age = 5 * (3 + np.arange(n) % 13)
    data = pd.DataFrame(
        {"income": np.round(np.exp(7 + age / 40 + own.normal(0, 0.18, n)), 2), "age": age}
    )
    assert suggest(data, look_at(data), ("income",)).formula == expected


def test_variables_that_are_named_become_a_chain(tmp_path):
    data = FILES["401ksubs with assets"]
    suggestion, study = checked(data, tmp_path / "data.csv", ("inc", "has_ira", "net_assets"))
    assert study.variables == ("inc", "has_ira", "net_assets")
    assert (study.synthesizer.name, suggestion.chosen) == ("sequential", False)
    assert dict(suggestion.models) == {
        "inc": "transformation",
        "has_ira": "counts",
        "net_assets": "two-part",
    }
    assert study.synthesizer.settings["recoding"] == "statuses"
    bounded = [
        name
        for name, table in study.synthesizer.settings["variables"].items()
        if "support" in table
    ]
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
    assert suggestion.left_out == {
        "in_euro": "gives income away: one ratio to it (exact; 100 % of the records, 1 % without)"
    }


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
    text = study_file_text(suggest(data, look_at(data)), FOLDER / "x.csv", FOLDER)
    lines = text.splitlines()
    silent = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if " = " in line
        and "#" not in line
        and not before.startswith("#")
        and "name" not in line
        and line != "seed = 1"
    ]
    assert silent == []
    assert max(len(line) for line in lines if not line.startswith("formula")) <= 140
    tomllib.loads(text)


def test_nothing_that_can_be_synthesized_is_refused_with_the_reasons():
    data = pd.DataFrame({"id": range(N), "gone": [None] * N})
    with pytest.raises(
        InputError,
        match=r"no column of the file can be synthesized: 'id': record id.*'gone': constant: empty",
    ):
        suggest(data, look_at(data))
    both = data.assign(v=rng.normal(size=N))
    with pytest.raises(InputError, match="'id' cannot be synthesized: record id"):
        suggest(both, look_at(both), ("id",))
    with pytest.raises(InputError, match="no column 'w'; it has 'id', 'gone', 'v'"):
        suggest(both, look_at(both), ("w",))


def test_what_predicts_leaves():
    own = np.random.default_rng(2)
    data = pd.DataFrame(
        {
            name: own.integers(0, levels, 1500)
            for name, levels in {"sex": 2, "region": 4, "club": 2, "tool": 3, "year": 40}.items()
        }
    )
    data["income"] = np.round(
        np.exp(
            7 + data["sex"] / 5 + data["tool"] / 4 + data["year"] / 80 + own.normal(0, 0.5, 1500)
        ),
        2,
    )
    suggestion = suggest(data, look_at(data), ("income",))
    assert set(suggestion.predictors) == {*suggestion.known, *suggestion.released}
    assert suggestion.released == ("tool",)
    assert "year" not in suggestion.formula  # it tells, but of so many values it does not leave


def test_each_predictor_adds_to_those_before_it_as_long_as_many_leave_alike():
    own, n = np.random.default_rng(3), 2_000
    data = pd.DataFrame(
        {
            name: own.integers(0, levels, n)
            for name, levels in {"sex": 2, "region": 3, "skill": 4, "luck": 3, "noise": 3}.items()
        }
    )
    # tells as much, and nothing that skill does not
    data["talent"] = np.where(own.random(n) < 0.97, data["skill"], own.integers(0, 4, n))
    data["income"] = np.round(
        np.exp(7 + data["skill"] / 4 + data["luck"] / 5 + own.normal(0, 0.4, n)), 2
    )
    suggestion = suggest(data, look_at(data), ("income",))
    assert suggestion.released == ("skill", "luck")
    assert all(name in suggestion.regressions[0] for name in suggestion.released)
    half = data.iloc[: n // 2]
    # both would leave in 72 patterns of 14 records
    assert suggest(half, look_at(half), ("income",)).released == ("skill",)


def test_a_number_leaves_whose_values_many_share():
    own, n = np.random.default_rng(6), 2_000
    data = pd.DataFrame({"sex": own.choice(["f", "m"], n), "tenure": own.integers(0, 25, n)})
    data["income"] = np.round(np.exp(7 + data["tenure"] / 20 + own.normal(0, 0.4, n)), 2)
    assert suggest(data, look_at(data), ("income",)).released == ("tenure",)
    few = data.iloc[:800]  # 16 records a pattern
    assert suggest(few, look_at(few), ("income",)).released == ()


def firms(levels: int, spread: float, code: str = "branch {}") -> pd.DataFrame:
    own = np.random.default_rng(5)
    nace = own.integers(0, levels, 2_000)
    sales = np.exp(7 + own.normal(0, spread, levels)[nace] + own.normal(0, 0.5, 2_000)).round(1)
    return pd.DataFrame(
        {
            "size": own.choice(["small", "large"], 2_000),
            "nace": [code.format(place) for place in nace],
            "sales": sales,
        }
    )


def test_many_levels_predict_by_what_they_tell_and_stay():
    for levels in (27, 150):  # of 150 levels many would be alone with others in hardly 20 records
        telling, silent = (
            suggest(data, look_at(data), ("sales",))
            for data in (firms(levels, 0.3), firms(levels, 0.0))
        )
        assert "nace" in telling.predictors
        assert "nace" not in {*telling.released, *silent.released}
        assert ("nace" in silent.predictors) == ("nace" in silent.known)
    assert telling.staying == ("nace",)
    assert telling.chain
    assert not any("nace" in formula for formula in telling.regressions)


def test_levels_of_any_number_are_known_as_long_as_many_share_each():
    data = firms(27, 0.0)
    assert "nace" in suggest(data, look_at(data), ("sales",)).known
    data = firms(150, 0.0)
    assert "nace" not in suggest(data, look_at(data), ("sales",)).known


def test_of_codes_of_many_levels_the_groups_are_said(tmp_path):
    data = firms(86, 0.2, "C{:02d}1")
    columns = look_at(data)
    assert next(column for column in columns if column.name == "nace").groups == 9
    text = study_file_text(suggest(data, columns, ("sales",)), tmp_path / "firms.csv", tmp_path)
    assert "86 levels in 9 groups" in " ".join(text.replace("#", " ").split())
    assert "nace" not in suggest(data, columns, ("sales",)).known


@pytest.mark.slow
def test_simpler_studies_for_data_that_do_not_suit_the_first():
    data = FILES["401ksubs"]
    found = list(simpler_suggestions(suggest(data, look_at(data)), data))
    assert [len(one.predictors) for one in found] == [6, 4, 0, 0]
    assert [len(one.known) for one in found] == [4, 4, 4, 0]
    assert found[-1].formula == "inc ~ 1"


@pytest.mark.parametrize("apart", [0, 6])
def test_components_of_a_mixture_are_found(apart):
    values = np.exp(np.r_[rng.normal(8, 0.4, 600), rng.normal(8 + apart * 0.4, 0.4, 400)])
    found = suggest_mixture(values, counts=False)
    assert (found.name, found.transform, found.components) == (
        "normal-mixture",
        "log",
        1 if apart == 0 else 2,
    )
    assert found.why.startswith("skewness ")


def test_a_mixture_of_counts_and_of_values_with_losses():
    # it may be a plug-in's
    of_counts = load_synthesizer(
        suggest_mixture(rng.poisson(5, 500).astype(float), counts=True).name
    )
    assert of_counts.probability_mass is True
    assert of_counts("y ~ 1", components=2).components == 2
    found = suggest_mixture(rng.standard_t(2, 2000) * 1000, counts=False)
    assert found.transform in ("identity", "asinh")
    assert suggest_mixture(np.ones(50), counts=False) is None


def test_each_number_has_balls_in_its_own_units(tmp_path):
    draw = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "wealth": (draw.normal(0, 20_000, N)).round(),
            "hours": np.where(draw.random(N) < 0.3, 0, draw.integers(5, 60, N)),
            "pay": draw.lognormal(7, 0.3, N).round(2),
            # the middle half is one value
            "week": np.where(draw.random(N) < 0.8, 40.0, draw.normal(40, 6, N).round(1)),
        }
    )
    told = tomllib.loads(
        study_file_text(suggest(data, look_at(data), list(data)), tmp_path / "data.csv", tmp_path)
    )["scenario"]
    assert told["min_radius"] == {"wealth": [500.0, "found"], "hours": [0.5, "found"]}
    assert told["radius_kind"] == {"week": "absolute"}


def test_the_year_of_a_panel_leaves():
    rng = np.random.default_rng(4)
    firm, year = np.repeat(1_000 + 7 * np.arange(150), 6), np.tile(np.arange(1976, 1982), 150)
    sector = np.repeat(rng.choice(list("abc"), 150), 6)
    data = pd.DataFrame(
        {"firm": firm, "year": year, "sector": sector, "size": rng.choice(["s", "m"], 900)}
    )
    data["wage"] = np.round(rng.lognormal(7, 0.4, 900) * np.where(data["sector"] == "a", 2, 1), 1)
    suggestion = suggest(data, look_at(data), ["wage"])
    assert list(suggestion.units) == ["firm"]
    assert "year" in {*suggestion.known, *suggestion.released}
    assert "year" in suggestion.predictors


def test_a_column_of_two_levels_that_crowds_the_patterns_is_not_to_be_banded():
    rng = np.random.default_rng(5)
    n = 400
    data = pd.DataFrame({name: rng.choice(list("abcd"), n) for name in ("region", "marital")})
    data["working"] = rng.choice([0, 1], n)
    data["wage"] = pd.Series(np.round(rng.lognormal(7, 0.5, n), 1)).where(data["working"] == 1)
    text = study_file_text(suggest(data, look_at(data), ["wage"]), FOLDER / "people.csv", FOLDER)
    assert "band it" not in text
    assert "once it is banded" not in text


@pytest.mark.quick
@pytest.mark.parametrize(
    ("records", "size", "datasets"), [(500, 1, 5), (1_500, 1, 10), (2_500, 1, 20), (2_500, 5, 5)]
)
def test_small_files_and_such_of_few_units_leave_in_fewer_datasets(
    records, size, datasets, tmp_path
):
    rng = np.random.default_rng(3)
    sex = np.where(np.arange(records) % 2 == 0, "f", "m")
    data = pd.DataFrame(
        {
            "firm_id": np.arange(records) // size,
            "sex": sex,
            "pay": np.round(rng.lognormal(8, 0.5, records), 2),
        }
    )
    found = suggest(data, look_at(data), ["pay"])
    assert (
        tomllib.loads(study_file_text(found, tmp_path / "people.csv", tmp_path))["release"]["L"]
        == datasets
    )


@pytest.mark.quick
def test_codes_of_few_levels_predict_as_levels_in_a_chain(tmp_path):
    """What people do, numbered 1 to 5 in no order, and a code of those who did not say."""
    rng, n = np.random.default_rng(3), 1_000
    does = rng.choice([1, 2, 3, 4, 5, -8], n, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05])
    works = rng.random(n) < np.array([0.5, 0.9, 0.1, 0.9, 0.1, 0.8])[np.where(does < 0, 0, does)]
    children = rng.integers(0, 4, n)
    pay = np.where(works, np.round(rng.lognormal(8, 0.5, n)), 0.0)
    data = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "does": does,
            "children": children,
            "pay": pay,
            "rent": pay // 4 + rng.integers(1, 300, n),
        }
    )
    text = study_file_text(
        suggest(data, look_at(data), ["pay", "children"]), tmp_path / "people.csv", tmp_path
    )
    table = tomllib.loads(text)
    assert "does" in table["synthesizer"]["predictors"]
    # of children, which are drawn, nothing is said: they stay a count
    assert table["data"]["kinds"] == {"does": "levels"}
    assert "does" not in table["synthesizer"]["variables"]
    data.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.toml").write_text(text)
    study = load_study(tmp_path / "people.toml")
    prepared = check_study(study, study.read_data()).work.prepared()
    (link,) = [link for link in prepared.links if link.variable == "pay"]
    assert {"does_2", "does_3", "does_4", "does_5"} & {*link.values.model.prepared.design.columns}


@pytest.mark.quick
def test_codes_of_few_levels_are_drawn_as_levels_and_predict_as_levels(tmp_path):
    """Whoever lives apart earns as the married do, and the widowed do not: no line through the
    codes says so.
    """
    rng, n = np.random.default_rng(8), 1_000
    marst = rng.choice([1, 2, 3, 5, 6], n, p=[0.4, 0.1, 0.2, 0.1, 0.2])
    work = rng.choice([1, 2, 3], n, p=[0.6, 0.1, 0.3])
    pay = np.round(
        rng.lognormal(8, 0.3, n) * np.where(marst == 5, 0.2, 1.0) * np.where(work == 2, 0.3, 1.0)
    )
    data = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "MARST": marst,
            "EMPSTAT": work,
            "kids": rng.integers(0, 5, n),
            "pay": pay,
        }
    )
    suggestion, study = checked(data, tmp_path / "people.csv", ["MARST", "EMPSTAT", "kids", "pay"])
    assert study.data.kinds == {"MARST": "levels", "EMPSTAT": "levels"}
    assert suggestion.models["MARST"] == suggestion.models["EMPSTAT"] == "multinomial"
    assert suggestion.models["kids"] == "counts"
    prepared = check_study(study, study.read_data()).work.prepared()
    (link,) = [link for link in prepared.links if link.variable == "pay"]
    assert {"MARST_2", "MARST_3", "MARST_5", "MARST_6", "EMPSTAT_2", "EMPSTAT_3"} <= {
        *link.values.model.prepared.design.columns
    }


@pytest.mark.quick
@pytest.mark.parametrize("name", ["lwage", "lnincome", "logpay", "LN_EARN"])
def test_the_logarithm_of_an_amount_is_as_sensitive_as_the_amount_which_comes_first(name):
    rng = np.random.default_rng(5)
    # of whom few have many: more skewed than any logarithm
    wage, years = rng.lognormal(8, 0.5, N), np.round(rng.gamma(1, 9, N))
    data = pd.DataFrame({"exp": years, "learn": rng.gamma(0.5, 9, N), name: np.log(wage)})
    assert suggest(data, look_at(data)).targets == (name,)
    amount = {"lwage": "wage", "lnincome": "income", "logpay": "pay", "LN_EARN": "earn"}[name]
    both = data.assign(**{amount: wage})
    assert suggest(both, look_at(both)).targets == (amount,)
