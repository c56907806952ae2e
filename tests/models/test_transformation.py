"""The transformation model and two parts: kernel against graph, closed forms against draws, bad
input in one line.
"""

import dataclasses
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from posteriors import log_posterior_of
from records import terms
from scipy.stats import binom

import riskweighted as rw
from riskweighted.common.errors import ConvergenceWarning, FewRecordsWarning, InputError
from riskweighted.contract.synthesizer import ContractError
from riskweighted.runs.plan import plan_study
from riskweighted.sampling.agreement import check_density
from riskweighted.sampling.block_fit import plug_in
from riskweighted.sampling.graphs import compile_weighted_sum
from riskweighted.sampling.laplace import mode_of, parts_of, round_coordinates

N = 400


def incomes(n=N, seed=1):
    """Incomes with zeros, negatives, heaped amounts and a predictor of each kind."""
    rng = np.random.default_rng(seed)
    age, region = rng.uniform(20, 80, n), rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    amount = np.exp(9.5 + 0.01 * (age - 50) + 0.3 * (region == "b") + rng.normal(0, 0.7, n))
    amount = np.where(rng.random(n) < 0.5, np.rint(amount / 100) * 100, np.rint(amount))
    sign = rng.choice([0.0, -1.0, 1.0], n, p=[0.1, 0.1, 0.8])
    return pd.DataFrame({"income": sign * np.maximum(amount, 1), "age": age, "region": region})


@pytest.fixture(scope="module")
def data():
    return incomes()


@pytest.fixture(scope="module")
def positive(data):
    return data[data["income"] > 0].reset_index(drop=True)


def transformation(**settings):
    return rw.load_synthesizer("transformation")(
        "income ~ age + C(region)", **{"support": (0, 1e6)} | settings
    )


def two_part(**settings):
    return rw.load_synthesizer("two-part")(
        "income ~ age + C(region)", **{"support": (-1e6, 1e6)} | settings
    )


def _split(vector, shapes):
    parts, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        parts[name] = vector[start : start + size].reshape(shape)
        start += size
    return parts


@pytest.fixture(scope="module")
def prepared(positive):
    return transformation().prepare(positive)


def quick(model, frame, alpha=None, **settings):
    """A fit that is long enough for draws, if not for its own judgement."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return rw.fit(model, frame, alpha, random_seed=1, draws=100, tune=150, chains=2, **settings)


@pytest.fixture(scope="module")
def short(positive):
    return quick(transformation(), positive)


@pytest.fixture(scope="module")
def fitted(data):
    return quick(two_part(), data)


@pytest.mark.parametrize("spread", [0.05, 0.1, 0.2])
def test_the_kernel_is_the_model_to_ten_digits(prepared, positive, spread):
    blueprint = transformation().build(prepared)
    shapes = prepared.cells.shapes
    size = sum(int(np.prod(shape)) for shape in shapes.values())
    rng = np.random.default_rng(2)
    alpha = rng.uniform(size=len(positive))
    weighted_sum = compile_weighted_sum(transformation(), blueprint, len(positive))
    for _ in range(3):
        theta = _split(rng.normal(0, spread, size), shapes)
        each = terms(transformation(), theta, prepared, positive)
        assert weighted_sum(theta, alpha) == pytest.approx(alpha @ each, rel=1e-10)


# of all records, to where the mass of an end bin is less than a double holds
@pytest.mark.parametrize("shift", [0, -100, 100])
def test_the_gradient_is_that_of_the_density(prepared, positive, shift):
    alpha = np.random.default_rng(3).uniform(size=len(positive))
    density = transformation().build(prepared).density(alpha)
    size = sum(int(np.prod(shape)) for shape in prepared.cells.shapes.values())
    place = np.random.default_rng(4).normal(0, 0.4, size)
    place[0] += shift
    height, gradient = density(place)
    assert np.isfinite(height)
    for one in range(0, size, 5):
        step = np.zeros(size)
        step[one] = 1e-5
        slope = (density(place + step)[0] - density(place - step)[0]) / 2e-5
        assert slope == pytest.approx(gradient[one], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("shift", [0, -100])
def test_the_density_is_that_of_h_and_of_each_decade_s_heaps_and_its_value_alone_is_the_same(
    prepared, positive, shift
):
    alpha = np.random.default_rng(3).uniform(size=len(positive))
    size = sum(int(np.prod(shape)) for shape in prepared.cells.shapes.values())
    whole = transformation().build(prepared).density(alpha)
    parts = parts_of(whole, size)
    assert sum(width for width, _ in parts) == size
    assert len(parts) == 1 + prepared.grid.band.max() + 1
    places = np.random.default_rng(4).normal(0, 0.4, (3, size))
    places[:, 0] += shift
    np.testing.assert_allclose(
        whole.heights(places), [whole(place)[0] for place in places], rtol=1e-12
    )
    moved, heaps = places.copy(), slice(parts[0][0], parts[0][0] + parts[1][0])
    moved[:, heaps] += 1
    own = [
        parts[1][1](there[heaps])[0] - parts[1][1](here[heaps])[0]
        for here, there in zip(places, moved, strict=True)
    ]
    np.testing.assert_allclose(whole.heights(moved) - whole.heights(places), own, rtol=1e-6)


WEIGHTS = [np.ones, lambda n: np.linspace(0, 1, n), lambda n: (np.arange(n) < 10).astype(float)]


@pytest.mark.parametrize("alpha_of", WEIGHTS)
def test_the_coordinates_are_round_at_the_mode_whatever_the_weights(prepared, positive, alpha_of):
    size, density = parts_of(transformation().build(prepared).density(alpha_of(len(positive))), 0)[
        0
    ]
    coordinates, step = round_coordinates(density, size), 1e-4
    assert coordinates.vector(np.zeros(size)) == pytest.approx(mode_of(density, size))
    curvature = np.array(
        [coordinates(-row)[1] - coordinates(row)[1] for row in np.eye(size) * step]
    ) / (2 * step)
    assert np.abs(curvature - np.eye(size)).max() < 0.01
    place = np.random.default_rng(4).normal(0, 0.5, size)
    for one in range(0, size, 5):
        moved = np.eye(size)[one] * 1e-5
        slope = (coordinates(place + moved)[0] - coordinates(place - moved)[0]) / 2e-5
        assert slope == pytest.approx(coordinates(place)[1][one], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("alpha_of", WEIGHTS)
def test_the_mode_keeps_a_scale_that_the_weights_leave_to_its_prior(prepared, positive, alpha_of):
    """The joint density of the scale and the steps is highest at a scale of nearly nothing (.04
    here); its prior is about .5.
    """
    size, density = parts_of(transformation().build(prepared).density(alpha_of(len(positive))), 0)[
        0
    ]
    mode = mode_of(density, size)
    assert 0.2 < np.exp(mode[density.log_scale]) < 2


def test_a_density_that_is_not_the_model_is_refused(prepared, positive):
    blueprint = transformation().build(prepared)

    def flatter(alpha):
        density = blueprint.density(alpha)
        return lambda vector: (0.5 * density(vector)[0], density(vector)[1])

    rng, shapes = np.random.default_rng(5), prepared.cells.shapes
    thetas = [
        _split(rng.normal(0, 0.3, sum(int(np.prod(s)) for s in shapes.values())), shapes)
        for _ in range(3)
    ]
    alpha, log_posterior = np.ones(len(positive)), log_posterior_of(blueprint)
    stated = np.array([log_posterior(theta, alpha) for theta in thetas])
    check_density(transformation(), blueprint, stated, alpha, thetas)
    with pytest.raises(ContractError, match="not that of its model"):
        check_density(transformation(), blueprint._replace(density=flatter), stated, alpha, thetas)


@pytest.mark.long
def test_two_parts_converge_and_keep_shares_heaps_and_bounds(data):
    fitted = rw.fit(two_part(), data, random_seed=1, draws=500, tune=300, engine="nuts")
    assert fitted.diagnostics["r_hat"].max() <= 1.02
    assert fitted.diagnostics["divergences"].max() == 0
    drawn = np.concatenate(
        [frame["income"].to_numpy() for frame in fitted.synthesize(20, random_seed=2)]
    )
    truth = data["income"].to_numpy()
    for share in (lambda y: y == 0, lambda y: y < 0, lambda y: y % 100 == 0):
        expected = share(truth).mean()
        assert abs(share(drawn).mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / N)
    assert np.abs(drawn).max() <= 1e6
    assert (drawn == np.rint(drawn)).all()


def test_ball_probabilities_are_shares_of_draws(fitted, data):
    theta, model = fitted.block.draw(0, 50), fitted.synthesizer
    truth = data["income"].to_numpy()
    lower, upper = truth - 0.2 * np.abs(truth), truth + 0.2 * np.abs(truth)
    mass = model.distribution(theta, fitted.block.prepared).mass(lower, upper)
    rng = np.random.default_rng(6)
    hits = sum(
        (lower <= (y := model.distribution(theta, fitted.block.prepared).draw(rng))) & (y <= upper)
        for _ in range(1000)
    )
    chance = np.minimum(binom.cdf(hits, 1000, mass), binom.sf(hits - 1, 1000, mass))
    assert chance.min() * len(mass) > 1e-3
    often = mass * (1 - mass) > 5e-3
    z = (hits / 1000 - mass)[often] / np.sqrt(mass * (1 - mass) / 1000)[often]
    assert abs(z.std() - 1) < 0.15


@pytest.mark.long
# few draws; only bounds count
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_weights_of_zero_on_a_level_leave_its_draws_within_the_bounds(data):
    alpha = np.where(data["region"] == "c", 0.0, 0.1)
    fitted = quick(two_part(), data, alpha)
    drawn = np.concatenate(
        [frame["income"].to_numpy() for frame in fitted.synthesize(20, random_seed=2)]
    )
    assert np.abs(drawn).max() <= 1e6
    assert np.isfinite(drawn).all()


def test_a_few_negative_values_follow_no_predictor_and_fewer_than_three_are_zeros(data):
    few = data.copy()
    negative = few.index[few["income"] < 0]
    few.loc[negative[5:], "income"] = 500.0
    assert two_part().prepare(few).statuses == ("zero", "negative", "positive")
    few.loc[negative[2:], "income"] = 500.0
    with pytest.warns(FewRecordsWarning, match="drawn as zeros"):
        assert two_part().prepare(few).statuses == ("zero", "positive")


@pytest.mark.long
def test_codes_have_a_share_of_their_own_and_are_drawn_exactly(data):
    coded = data.copy()
    coded.loc[::10, "income"] = -8.0
    model = two_part(codes=[-8], support=[-1e6, 1e6])
    prepared = model.prepare(coded)
    assert prepared.statuses[0] == -8.0
    fitted = quick(model, coded)
    drawn = np.concatenate(
        [frame["income"].to_numpy() for frame in fitted.synthesize(10, random_seed=1)]
    )
    assert abs((drawn == -8).mean() - 0.1) < 0.06
    hundreds = fitted.with_drawing(rw.DrawingSettings(100))
    coarse = hundreds.synthesize(10, random_seed=1)
    assert np.mean([(frame["income"] == -8).mean() for frame in coarse]) == pytest.approx(
        (drawn == -8).mean()
    )


def test_codes_outside_the_bounds_are_released_as_they_are(positive):
    coded = positive.assign(
        income=positive["income"].where(np.arange(len(positive)) % 8 > 0, -1.0)
    ).astype({"income": int})
    fitted = quick(two_part(codes=[-1], support=[0, 1e6]), coded)
    drawn = np.concatenate(
        [frame["income"].to_numpy() for frame in fitted.synthesize(10, random_seed=1)]
    )
    assert abs((drawn == -1).mean() - 1 / 8) < 0.06
    assert drawn[drawn != -1].min() > 0
    table = rw.check_fit(fitted, random_seed=1)
    spike = table[(table["check"] == "check-share") & (table["parameter"] == "exactly -1")]
    assert abs(spike["synthetic"].item() - 1 / 8) < 0.06


def test_knots_that_are_given_are_those_of_positive_values_and_heaping_is_that_of_all(data):
    few = data.assign(income=data["income"].where(data["income"] >= 0, -10_000.0))
    knots = [500.0, 5000.0, 20_000.0, 100_000.0, 500_000.0]
    given = [["knots", knots], ["heaping", [[1, 0.5], [100, 0.5]]]]
    parts = two_part(support=(-10_000, 1e6), value_settings=given).prepare(few).parts
    np.testing.assert_allclose(np.exp(parts["positive"].prepared.grid.knots), knots)
    assert parts["positive"].prepared.grid.given is not None
    assert len(parts["negative"].prepared.grid.knots) == 1
    assert parts["negative"].prepared.grid.given is not None
    assert parts["negative"].prepared.grid.unit == 1.0  # that of the whole column


def test_default_bounds_keep_to_the_dtype_of_the_column(positive):
    small = positive.assign(income=positive["income"].clip(upper=32_000)).astype(
        {"income": "int16"}
    )
    model = rw.load_synthesizer("two-part")("income ~ 1")
    assert model.prepare(small).parts["positive"].prepared.bounds.high == np.iinfo("int16").max
    assert (
        model.prepare(small.astype({"income": "Int64"})).parts["positive"].prepared.bounds.high
        == 1e6
    )


@pytest.mark.parametrize(
    ("make", "change", "text"),
    [
        (transformation, lambda d: d, "must be positive"),
        (
            lambda: transformation(support=(0, 5000)),
            lambda d: d[d["income"] > 0],
            "support excludes",
        ),
        (lambda: two_part(support=(0, 1e6)), lambda d: d, "support excludes"),
        (
            lambda: transformation(knots=(100.0, 1000.0, 2e7)),
            lambda d: d[d["income"] > 0],
            "knots lie outside the bounds",
        ),
        (
            transformation,
            lambda d: d.assign(income=np.arange(len(d)) % 5 + 1.0),
            "negative-binomial",
        ),
        (
            lambda: two_part(value="negative-binomial", support=None),
            lambda d: d.assign(income=d["income"] + 0.5),
            "does not suit",
        ),
        (
            lambda: two_part(value="negative-binomial", support=None),
            lambda d: d,
            "does not suit the positive values: it can draw zero",
        ),
    ],
)
def test_data_that_do_not_suit_are_refused_with_counts_and_no_values(data, make, change, text):
    with pytest.raises(InputError, match=text) as refused:
        make().prepare(change(data).reset_index(drop=True))
    assert "\n" not in str(refused.value)


CATALOGUE = (Path(__file__).parents[2] / "models" / "README.md").read_text(encoding="utf-8")


def households(n=300):
    frame = incomes(n).assign(
        age_band=lambda d: pd.cut(
            d["age"], [0, 40, 60, 99], labels=["young", "middle", "old"]
        ).astype(str)
    )
    frame["income"] = frame["income"].clip(lower=-50_000).where(np.arange(n) % 20 > 0, -8.0)
    return frame.assign(expenditure=np.random.default_rng(2).uniform(5e3, 5e4, n).round())


@pytest.mark.long
def test_the_study_of_the_catalogue_runs(tmp_path):
    (text,) = re.findall(r"```toml\n# study.toml\n(.*?)```", CATALOGUE, re.DOTALL)
    (tmp_path / "study.toml").write_text(text)
    households().to_csv(tmp_path / "households.csv", index=False)
    study = rw.load_study(tmp_path / "study.toml")
    assert set(study.synthesizer.settings) == set(_settings_of("two-part"))
    assert plan_study(study, estimated=False).records == 300
    model = study.make_synthesizer()
    assert model.prepare(households()).statuses == (-8.0, "zero", "negative", "positive")
    drawn = quick(model, households()).synthesize(2, random_seed=1)[1]["income"]
    assert (drawn[drawn != -8] >= -50_000).all()
    assert drawn.max() <= 2_000_000
    assert {-1.0, 0.0, 1.0} == set(np.sign(drawn[drawn != -8]))


def _settings_of(name):
    return [
        field.name
        for field in dataclasses.fields(rw.load_synthesizer(name))
        if field.name != "formula"
    ]


def test_given_heaping_is_what_is_drawn(positive, data):
    given = ((1, 0.2), (100, 0.5), (1000, 0.3))
    model = transformation(heaping=given)
    fitted = quick(model, positive)
    assert "log_heaping" not in fitted.posterior
    drawn = np.concatenate(
        [frame["income"].to_numpy() for frame in fitted.synthesize(20, random_seed=2)]
    )
    assert (drawn % 1000 == 0).mean() == pytest.approx(0.3, abs=0.03)
    assert (drawn % 100 == 0).mean() == pytest.approx(0.8, abs=0.03)
    theta = fitted.block.draw(0, 0)
    prepared = fitted.block.prepared
    values = positive["income"].to_numpy()
    records = model.distribution(theta, prepared)
    np.testing.assert_allclose(
        np.log(records.mass(values, values)), records.log_density(values), rtol=1e-9
    )
    parts = two_part(value_settings={"heaping": [[1, 0.2], [100, 0.8]]}).prepare(data).parts
    assert {part.prepared.grid.heaps.tolist() == [1, 100] for part in parts.values()} == {True}


def test_given_heaping_begins_with_the_precision(positive):
    with pytest.raises(InputError, match="must begin with the precision of the data"):
        transformation(heaping=((10, 0.5), (100, 0.5))).prepare(positive)


@pytest.mark.parametrize("name", ["two-part", "transformation"])
def test_every_setting_stands_in_the_catalogue(name):
    start = CATALOGUE.index(f"| `{name}` | default | meaning |")
    rows = CATALOGUE[start:].split("\n\n")[0].splitlines()[2:]
    assert sorted(row.split("`")[1] for row in rows) == sorted(_settings_of(name))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"support": (5, 1)}, "lower one first"),
        ({"support": "all"}, "two numbers"),
        ({"support": (1, 2, 3)}, "two numbers"),
        ({"knots": (1.0, 2.0)}, "knots must be"),
        ({"knots": (3.0, 2.0, 1.0)}, "knots must increase"),
        ({"heaping": "yes"}, "true or false"),
        *(
            ({"heaping": wrong}, "sum 1")
            for wrong in (
                ((1, 0.5), (100, 0.6)),
                ((1, 1.0),),
                ((1, 1.2), (100, -0.2)),
                ((100, 0.5), (1, 0.5)),
                ((2, 0.5), (5, 0.5)),
                ((1, 0.5), (100, np.nan)),
                ((1, 2, 3), (1, 2, 3)),
            )
        ),
    ],
)
def test_settings_of_a_transformation_that_make_no_sense_are_refused(settings, text):
    with pytest.raises(InputError, match=text):
        transformation(**settings)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"value": "nothing"}, "unknown synthesizer"),
        ({"codes": ["a"]}, "codes must be"),
        ({"value_settings": {"wrong": 1}}, "has no setting"),
        ({"value": "negative-binomial"}, "takes no support"),
        ({"value": "two-part"}, "cannot be used within itself"),
        (
            {"value_settings": {"support": (0, 1)}},
            "no setting 'support' here; valid are knots, heaping",
        ),
        ({"value_settings": {"knots": {1, 2, 3}}}, "a number, a text, or a list"),
        ({"value_settings": (("heaping", True), ("heaping", False))}, "'heaping' more than once"),
    ],
)
def test_settings_of_two_parts_that_make_no_sense_are_refused(settings, text):
    with pytest.raises(InputError, match=text):
        two_part(**settings)


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "Int64", "Float64"])
def test_draws_come_in_the_dtype_of_the_column(short, positive, dtype):
    frame = positive.assign(income=positive["income"].astype(dtype))
    (drawn,) = short.changed(confidential=frame).synthesize(1, random_seed=4)
    assert drawn["income"].dtype == frame["income"].dtype
    pd.testing.assert_frame_equal(drawn.drop(columns="income"), frame.drop(columns="income"))


def test_parameters_of_another_grid_are_refused(fitted, data):
    other = two_part(support=(-2e6, 2e6)).prepare(data)
    with pytest.raises(InputError, match="another grid"):
        fitted.synthesizer.distribution(fitted.block.draw(0, 0), other).draw(
            np.random.default_rng(1)
        )


def test_plug_in_draws_share_one_theta(fitted):
    first, second = (
        frame["income"].to_numpy()
        for frame in fitted.synthesize(2, random_seed=1, parameters="mode")
    )
    assert not np.array_equal(first, second)
    mode = plug_in(fitted.block)
    assert set(mode) == set(fitted.posterior)
    at, drawn = (
        np.concatenate([np.ravel(theta[name]) for name in mode])
        for theta in (mode, fitted.draw(0, 0))
    )
    density = fitted.synthesizer.build(fitted.block.prepared).density(np.ones(N))
    assert density(at)[0] > density(drawn)[0]


class GraphAlone(type(transformation())):
    """The model as a PyMC graph and nothing else."""

    def build(self, prepared):
        return super().build(prepared)._replace(density=None, direct=None)


def test_plug_in_draws_need_a_compiled_density(short):
    graph = GraphAlone("income ~ age + C(region)", support=(0, 1e6))
    with pytest.raises(InputError, match="density of one vector, which GraphAlone has not"):
        short.changed(synthesizer=graph).synthesize(2, random_seed=1, parameters="mode")
