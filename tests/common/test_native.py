"""Frames of polars and tables of Arrow: in as what csv would give, out as what they were, and the
same results as those of pandas.
"""

import datetime
import decimal
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import riskweighted as rw
from riskweighted.common.native import as_pandas, native_of
from riskweighted.data.io import read_table

pytestmark = pytest.mark.versions

LIBRARIES = ["polars", "arrow"]
SCENARIO = rw.Scenario(known=["region", "sex"], synthetic="income", radius=0.2)


def to(library, frame):
    if library == "arrow":
        return pa.Table.from_pandas(frame, preserve_index=False)
    return pytest.importorskip("polars").from_arrow(to("arrow", frame))


def households(n=120, seed=1):
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "west"], n)
    income = np.round(np.exp(3 + 0.3 * (region == "north") + 0.5 * rng.normal(size=n)), 1)
    return pd.DataFrame(
        {
            "region": region,
            "sex": rng.integers(0, 2, n),
            "age": rng.integers(20, 70, n).astype(float),
            "income": income,
        }
    )


@pytest.fixture(scope="module")
def data():
    return households()


@pytest.fixture(scope="module")
def drawn(data):
    return [data.assign(income=households(seed=seed)["income"]) for seed in (2, 3)]


def same(found, expected):
    """Whether two results are equal, whatever they are made of."""
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found, expected, check_exact=True)
    elif isinstance(expected, tuple) and not hasattr(expected, "_fields"):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif hasattr(expected, "__dict__") or hasattr(expected, "_fields"):
        names = getattr(expected, "_fields", None) or list(vars(expected))
        for name in names:
            same(getattr(found, name), getattr(expected, name))
    else:
        np.testing.assert_equal(found, expected)


MEASURES = {
    "marginal": lambda data, drawn: rw.marginal_weights(data, SCENARIO),
    "pairwise": lambda data, drawn: rw.pairwise_weights(data, SCENARIO),
    "k-way": lambda data, drawn: rw.kway_weights(data, SCENARIO, k=3),
    "scheme": lambda data, drawn: rw.scheme_weights("uniform", data, SCENARIO, c=0.5),
    "match": lambda data, drawn: rw.match_weights(data, SCENARIO),
    "shift": lambda data, drawn: rw.margin_shift(data, SCENARIO, np.linspace(0.1, 1, len(data))),
    "survey": lambda data, drawn: rw.survey_weights(data, "age"),
    "risk": lambda data, drawn: rw.identification_risk(data, drawn, SCENARIO),
    "confidential risk": lambda data, drawn: rw.identification_risk(data, scenario=SCENARIO),
    "matching": lambda data, drawn: rw.matching_risk(data, drawn, SCENARIO),
    "rank": lambda data, drawn: rw.rank_measure(data, drawn[0], SCENARIO),
    "attribution": lambda data, drawn: rw.correct_attribution(data, drawn, SCENARIO),
    "uniques": lambda data, drawn: rw.replicated_uniques(data, drawn, SCENARIO),
    "closest": lambda data, drawn: rw.closest_records(data, drawn, SCENARIO),
    "canonical": lambda data, drawn: rw.canonical_disclosure(data, drawn[0], ["age", "income"]),
    "tables": lambda data, drawn: rw.table_utility(data, drawn, ["region", "income"]),
    "evaluate": lambda data, drawn: rw.evaluate(
        data,
        {"one": drawn, "two": drawn[:1]},
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=50),
        random_seed=1,
    ),
    "assess": lambda data, drawn: rw.assess(data, {"tool": drawn}, SCENARIO, holdout=drawn[1]),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("measure", MEASURES)
def test_results_are_those_of_pandas(measure, library, data, drawn):
    expected = MEASURES[measure](data, drawn)
    same(MEASURES[measure](to(library, data), [to(library, one) for one in drawn]), expected)


def test_libraries_may_be_mixed(data, drawn):
    expected = MEASURES["evaluate"](data, drawn)
    same(MEASURES["evaluate"](to("polars", data), [to("arrow", drawn[0]), drawn[1]]), expected)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_fit_gives_datasets_as_what_the_data_were(library, data):
    synthesizer = rw.load_synthesizer("linear-regression")(
        "income ~ C(region) + age", transform="log"
    )
    alpha = rw.marginal_weights(data, SCENARIO)
    expected = rw.fit(synthesizer, data, alpha, random_seed=1, draws=300, chains=2)
    given = to(library, data)
    fit = rw.fit(synthesizer, given, alpha.to_numpy(), random_seed=1, draws=300, chains=2)
    assert fit.posterior.equals(expected.posterior)
    frames = fit.synthesize(3, random_seed=2)
    for frame, other in zip(frames, expected.synthesize(3, random_seed=2), strict=True):
        assert type(frame) is type(given)
        assert (
            frame.schema == given.schema.remove_metadata()
            if library == "arrow"
            else frame.schema == given.schema
        )
        same(as_pandas(frame), other)
    assert type(next(fit.synthetic(2, random_seed=2))) is type(given)
    settings = {"settings": rw.EvaluationSettings(resamples=50), "random_seed": 3}
    same(
        rw.evaluate(given, {"fit": frames}, SCENARIO, **settings, fits={"fit": fit}),
        rw.evaluate(
            data,
            {"fit": expected.synthesize(3, random_seed=2)},
            SCENARIO,
            **settings,
            fits={"fit": expected},
        ),
    )


@pytest.mark.parametrize("library", LIBRARIES[:1])
def test_a_saved_fit_and_a_chain_do_too(library, data, tmp_path):
    synthesizer = rw.load_synthesizer("linear-regression")("income ~ age", transform="log")
    given, alpha = to(library, data), pd.Series(1.0, data.index)
    rw.fit(synthesizer, data, alpha, random_seed=1, chains=2, draws=500, tune=300).save(
        tmp_path / "fit.nc"
    )
    loaded = rw.load_fit(tmp_path / "fit.nc", synthesizer, given, alpha)
    assert type(loaded.synthesize(1, random_seed=1)[0]) is type(given)
    chain = rw.load_synthesizer("sequential")(["income", "sex"], predictors=["age"])
    (frame,) = rw.fit(chain, given, random_seed=1, chains=2, draws=500, tune=300).synthesize(
        1, random_seed=1
    )
    assert type(frame) is type(given)
    assert len(frame) == len(data)


@pytest.mark.long
@pytest.mark.slow
def test_tuning_finds_the_same_and_gives_its_fit_back_likewise(data):
    synthesizer = rw.load_synthesizer("linear-regression")("income ~ C(region)", transform="log")
    settings = {
        "target": "isolated-risk",
        "target_max": 0.03,
        "family": "mix",
        "random_seed": 1,
        "draws": 200,
        "tune": 200,
        "chains": 2,
    }
    expected = rw.tune(synthesizer, data, SCENARIO, **settings)
    found = rw.tune(synthesizer, to("polars", data), SCENARIO, **settings)
    assert found.scheme == expected.scheme
    same(found.frontier, expected.frontier)
    assert type(found.fit.synthesize(1, random_seed=1)[0]) is type(to("polars", data))


def test_a_run_takes_data_of_polars(data, tmp_path):
    text = (
        'seed = 1\nreproducible = true\n[data]\npath = "data.csv"\n[scenario]\nknown = '
        '["region", "sex"]\nsynthetic = "income"\n'
        '[synthesizer]\nname = "linear-regression"\nformula = "income ~ C(region)"\ntransform = '
        '"log"\n'
        '[weights]\nschemes = ["unweighted"]\n[release]\nL = 3\n[evaluation]\nresamples = 50\n'
    )
    (tmp_path / "study.toml").write_text(text)
    data.to_csv(tmp_path / "data.csv", index=False)
    study = rw.load_study(tmp_path / "study.toml")
    expected = rw.run_study(study, tmp_path / "one")
    same(
        rw.run_study(study, tmp_path / "two", confidential=to("polars", data)).summary,
        expected.summary,
    )


def test_a_re_identification_takes_tables(data, drawn):
    def files(make):
        rows = np.arange(len(data))
        truth = pd.DataFrame({"pufid": rows, "eifid": rows})
        return [make(drawn[0].assign(pufid=rows)), make(data.assign(eifid=rows)), make(truth)]

    linking = {"income": "numeric", "region": "categorical"}
    expected = rw.reidentify(*files(lambda frame: frame), linking=linking)
    for library in LIBRARIES:
        same(
            rw.reidentify(
                *files(lambda frame, library=library: to(library, frame)), linking=linking
            ).rates,
            expected.rates,
        )


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_are_those_that_the_csv_reader_gives(library, tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "whole": [1, 2, 3],
            "small": pl.Series([1, 2, 3], dtype=pl.UInt8),
            "gaps": [1, None, 3],
            "number": [1.5, None, 2.25],
            "text": ["a", "b", "c"],
            "text_gaps": ["a", None, "c"],
            "category": pl.Series(["b", None, "a"], dtype=pl.Categorical),
            "decimal": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
            "nothing": pl.Series([None] * 3, dtype=pl.Float64),
        }
    )
    frame.write_csv(tmp_path / "frame.csv")
    found = as_pandas(frame if library == "polars" else frame.to_arrow())
    pd.testing.assert_frame_equal(found, read_table(tmp_path / "frame.csv"), check_exact=True)


@pytest.mark.parametrize("library", LIBRARIES)
def test_levels_in_an_order_stay_and_what_csv_loses_too(library):
    pl = pytest.importorskip("polars")
    levels = pl.Enum(["low", "middle", "high"])
    frame = pl.DataFrame(
        {
            "level": pl.Series(["high", None, "low"], dtype=levels),
            "truth": [True, False, True],
            "empty": ["", "a", "b"],
            "day": [datetime.date(2020, 1, day) for day in (1, 2, 3)],
        }
    )
    codes = pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0]), ["low", "middle", "high"], ordered=True
    )
    given = frame if library == "polars" else frame.to_arrow().set_column(0, "level", codes)
    found = as_pandas(given)
    assert found["level"].cat.ordered
    assert list(found["level"].cat.categories) == ["low", "middle", "high"]
    assert found["level"].isna().tolist() == [False, True, False]
    assert found["truth"].dtype == bool
    assert found["empty"].tolist() == ["", "a", "b"]
    back = native_of(given).like(found)
    assert as_pandas(back).equals(found)
    assert native_of(back).dtypes == native_of(given).dtypes


def test_what_no_longer_fits_a_dtype_keeps_its_values():
    pl = pytest.importorskip("polars")
    given = pl.DataFrame(
        {
            "count": pl.Series([1, 2], dtype=pl.UInt8),
            "level": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
        }
    )
    back = native_of(given).like(
        pd.DataFrame({"count": [1.5, 300.0], "level": ["a", "c"], "new": [1, 2]})
    )
    assert back["count"].to_list() == [1.5, 300.0]
    assert back["level"].to_list() == ["a", "c"]
    assert back.columns == ["count", "level", "new"]


def test_what_is_of_pandas_or_no_frame_passes_untouched(data):
    frames, named = [data, data], {"a": [data], "b": data}
    for given in (data, frames, named, None, "name", (data,), np.zeros(3), 5):
        assert as_pandas(given) is given
    assert native_of(data) is None
    assert native_of(None) is None


def test_a_lazy_frame_is_refused_in_one_line(data):
    lazy = to("polars", data).lazy()
    with pytest.raises(
        rw.InputError,
        match=r"data must be in memory, got LazyFrame, which is not: \.collect\(\) it",
    ):
        rw.marginal_weights(lazy, SCENARIO)


@pytest.mark.parametrize("given", [[1, 2], {"income": [1]}, io.StringIO("a"), "file.csv"])
def test_what_is_no_frame_is_refused_in_one_line(given):
    with pytest.raises(
        rw.InputError, match=r"must be a DataFrame of pandas or polars, or a table of Arrow, got"
    ):
        rw.marginal_weights(given, SCENARIO)
