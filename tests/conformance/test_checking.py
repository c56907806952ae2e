"""The contract check: a small model that keeps the contract, and one that breaks each clause of
it.
"""

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from brute import assert_clear
from pytensor.compile.mode import Mode
from records import Asked
from scipy import stats

import riskweighted as rw
from riskweighted.conformance import checking
from riskweighted.sampling import compilation
from riskweighted.sampling.graphs import PLAIN

N = 120
SHORT = {"draws": 60, "tune": 100, "chains": 2, "cores": 1, "random_seed": 3}


def waits():
    rng = np.random.default_rng(11)
    shift = rng.choice(["day", "night"], N)
    age = rng.normal(40, 9, N)
    wait = rng.exponential(np.where(shift == "day", 20.0, 60.0) * np.exp(0.02 * (age - 40)))
    return pd.DataFrame(
        {"wait": wait, "shift": shift, "age": age, "note": rng.choice(["p", "q"], N)},
        index=[f"w{i}" for i in range(N)],
    )


class Waits(NamedTuple):
    y: np.ndarray
    design: rw.Design

    def at(self, frame):
        design = self.design.at(frame)
        return Waits(design.response(frame), design)


@dataclass(frozen=True)
class Exponential:
    """y_i ~ Exponential with mean exp(level + x_i' slope)."""

    formula: str = "wait ~ shift + age"

    @property
    def target(self):
        return "wait"

    def prepare(self, data):
        y = rw.response_values(self.formula, data)
        if (y <= 0).any():
            raise rw.InputError(f"'wait' must be positive: {(y <= 0).sum()} of {len(y)} are not")
        return Waits(y, rw.build_design(self.formula, data))

    def build(self, prepared):
        with pm.Model() as model:
            alpha = pm.Data("alpha", np.ones(len(prepared.y)))
            level = pm.Normal("level", 3.0, 1.0)
            slope = pm.Normal("slope", 0.0, 1.0, shape=prepared.design.whitened.shape[1])
            log_mean = level + pt.as_tensor(prepared.design.whitened) @ slope
            total = (alpha * (-log_mean - prepared.y * pt.exp(-log_mean))).sum()
        return rw.Blueprint(model, total, self.weigh, ("level", "slope"), len(prepared.y))

    def weigh(self, alpha):
        return {"alpha": alpha}

    def log_mean(self, theta, prepared):
        return theta["level"] + prepared.design.whitened @ theta["slope"]

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def log_density(self, theta, prepared, y):
        return stats.expon.logpdf(y, scale=np.exp(self.log_mean(theta, prepared)))

    def mass(self, theta, prepared, lower, upper):
        mean = np.exp(self.log_mean(theta, prepared))
        return stats.expon.cdf(upper, scale=mean) - stats.expon.cdf(lower, scale=mean)

    def inverse(self, theta, prepared, lower, upper, share):
        scale = np.exp(self.log_mean(theta, prepared))
        below, above = stats.expon.cdf(lower, scale=scale), stats.expon.cdf(upper, scale=scale)
        return stats.expon.ppf(below + share * (above - below), scale=scale)

    def draw(self, theta, prepared, rng):
        return rng.exponential(np.exp(self.log_mean(theta, prepared)))


class Clippable(Exponential):
    """What a guarantee asks for besides."""

    data_dependent: ClassVar[tuple[str, ...]] = ()

    def log_density(self, theta, prepared, y):
        if isinstance(theta["level"], np.ndarray):
            return super().log_density(theta, prepared, y)
        log_mean = theta["level"] + pt.as_tensor(prepared.design.whitened) @ theta["slope"]
        return -log_mean - y * pt.exp(-log_mean)

    def mass(self, theta, prepared, lower, upper):
        if isinstance(theta["level"], np.ndarray):
            return super().mass(theta, prepared, lower, upper)
        rate = pt.exp(-theta["level"] - pt.as_tensor(prepared.design.whitened) @ theta["slope"])
        low, high = (np.clip(end, 0.0, 1e6) for end in (lower, upper))
        return pt.exp(-low * rate) - pt.exp(-high * rate)

    def response(self, prepared):
        return prepared.y

    def from_response(self, responses, prepared):
        return responses


class IgnoresAlpha(Exponential):
    def weigh(self, alpha):
        return {"alpha": np.ones_like(alpha)}


class WrongSign(Exponential):
    def log_density(self, theta, prepared, y):
        return -super().log_density(theta, prepared, y)


class ShortDraw(Exponential):
    def draw(self, theta, prepared, rng):
        return super().draw(theta, prepared, rng)[:-1]


@pytest.mark.quick
def test_a_synthesizer_that_keeps_the_contract_passes_every_clause():
    table = rw.check_synthesizer(Clippable, waits())
    assert list(table.columns) == ["clause", "result", "why"]
    assert table["clause"].is_unique
    assert set(table["result"]) == {"passed"}
    for make in (Clippable(), lambda: Clippable("wait ~ age")):
        assert len(rw.check_synthesizer(make, waits())) == len(table)


def test_what_does_not_apply_is_skipped_with_the_reason():
    class NoMass(Exponential):
        mass = None

    table = rw.check_synthesizer(lambda: NoMass("wait ~ age"), waits()[["wait", "age"]]).set_index(
        "clause"
    )
    skipped = table[table["result"] == "skipped"]
    no_levels = "the data have no column of text or categories"
    no_mass = "its distribution has no mass, which is optional"
    uncentred = "its distribution has no mass(): it takes uncentred weights alone"
    no_centred_clip = "its distribution has no mass(): under a guarantee its clip cannot be centred"
    for_guarantees = "which is optional; a guarantee needs it"
    no_expressions = f"no log_density of expressions, {for_guarantees}"
    assert skipped["why"].to_dict() == {
        "at(frame): a missing level keeps its column": no_levels,
        "at(frame): an unseen level is refused": no_levels,
        "inverse inverts mass": no_mass,
        "mass is the share of draws": no_mass,
        "what centred weights take off is what mass says": uncentred,
        "what a centred clip takes off is what mass says": no_centred_clip,
        "mass of neighbouring intervals adds up": no_mass,
        "log_density of expressions is that of numbers": no_expressions,
        "what is taken from the data is declared": f"no data_dependent, {for_guarantees}",
    }


# The three plug-ins that used to pass a fit


@pytest.fixture(scope="module")
def one_compilation():
    """They share one graph (what differs is Python), so that it is compiled once."""
    original, made = compilation._compile, []

    def once(model):
        if not made:
            made.append(original(model))
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "_compile", once)
        patch.setattr(compilation, "_recent", OrderedDict())
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (IgnoresAlpha, ["IgnoresAlpha", "weigh(alpha)", "unweighted"]),
        (WrongSign, ["WrongSign", "opposite sign"]),
        (ShortDraw, ["ShortDraw", "draw must give 120 numbers", "(119,)"]),
    ],
)
def test_a_broken_plug_in_gets_a_clear_error_from_fit_and_from_the_check(
    one_compilation, kind, named
):
    frame = waits()
    for attempt in (
        lambda: rw.fit(kind(), frame, np.linspace(0.1, 1, N), **SHORT),
        lambda: rw.check_synthesizer(kind, frame),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rw.ConvergenceWarning)
            with pytest.raises(rw.ContractError) as caught:
                attempt()
        assert_clear(caught, *named)
        assert isinstance(caught.value, rw.InputError)
        for value in frame["wait"]:
            assert f"{value:.4g}" not in str(caught.value)


def test_a_weigh_that_ignores_alpha_is_found_without_weights_too(one_compilation):
    """The unweighted fit is right, yet the class is not: another alpha tells."""
    with pytest.raises(rw.ContractError, match="another alpha"):
        rw.fit(IgnoresAlpha(), waits(), **SHORT)


@pytest.mark.slow
def test_a_correct_plug_in_fits_and_synthesizes(one_compilation):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rw.ConvergenceWarning)
        fitted = rw.fit(Exponential(), waits(), np.linspace(0.1, 1, N), **SHORT)
    assert fitted.estimates
    assert not fitted.keeps_true_values
    (synthetic,) = fitted.synthesize(1, random_seed=1)
    assert (synthetic["wait"] > 0).all()
    short = fitted.changed(synthesizer=ShortDraw())
    with pytest.raises(rw.ContractError, match="119"):
        short.synthesize(1, random_seed=1)


# One that breaks each clause


class Mutable(Exponential):
    __hash__ = Exponential.__hash__

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Unequal(Exponential):
    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


class ChangesData(Exponential):
    def prepare(self, data):
        data["age"] = data["age"] - data["age"].mean()
        return super().prepare(data)


class PassesOnErrors(Exponential):
    def prepare(self, data):
        if "wait" in data and data["wait"].isna().any():
            raise ValueError(f"cannot convert {data['wait'].iloc[1]}")
        return super().prepare(data)


class ShowsValues(Exponential):
    def prepare(self, data):
        if "wait" in data and len(data) and np.isinf(pd.to_numeric(data["wait"])).any():
            raise rw.InputError(f"infinite, unlike {data['wait'].iloc[1]}")
        return super().prepare(data)


class ShowsLevels(Exponential):
    def prepare(self, data):
        if "shift" in data and data["shift"].isna().any():
            raise rw.InputError(f"only {data['shift'].iloc[1]!r} and the like")
        return super().prepare(data)


class TakesInfinity(Exponential):
    def prepare(self, data):
        return super().prepare(data.replace(np.inf, 1e6))


class Observed(Exponential):
    def build(self, prepared):
        blueprint = super().build(prepared)
        with blueprint.model:
            pm.Normal("seen", blueprint.model["level"], 1.0, observed=[1.0])
        return blueprint


class StartsWeighted(Exponential):
    def build(self, prepared):
        blueprint = super().build(prepared)
        blueprint.model["alpha"].set_value(np.full(N, 0.5))
        return blueprint


class MonitorsNothing(Exponential):
    def build(self, prepared):
        return super().build(prepared)._replace(monitored=("intercept",))


class NamesOtherData(Exponential):
    def weigh(self, alpha):
        return {"beta": alpha}


class LosesAConstant(Exponential):
    def log_density(self, theta, prepared, y):
        return super().log_density(theta, prepared, y) - 0.5 * np.log(2 * np.pi)


class SquaresAlpha(Exponential):
    def weigh(self, alpha):
        return {"alpha": alpha**2}


class ClipsAlpha(Exponential):
    def weigh(self, alpha):
        return {"alpha": np.minimum(alpha, 1.0)}


class FloorsAlpha(Exponential):
    """At most 1e-9 in the agreement clause, where no weight is near zero."""

    def weigh(self, alpha):
        return {"alpha": np.maximum(alpha, 2e-3)}


class NoAt(Exponential):
    def prepare(self, data):
        return _Bare(*super().prepare(data))


class _Bare(NamedTuple):
    y: np.ndarray
    design: rw.Design


class _Again(NamedTuple):
    """Makes its design anew from each frame."""

    y: np.ndarray
    design: rw.Design

    def at(self, frame):
        design = rw.build_design("wait ~ age", frame) if len(frame) > 2 else self.design.at(frame)
        return _Again(self.design.response(frame), design)


class Reestimates(Exponential):
    def prepare(self, data):
        return _Again(rw.response_values(self.formula, data), rw.build_design("wait ~ age", data))


class _Scaled(NamedTuple):
    """Divides the response by its own mean."""

    y: np.ndarray
    design: rw.Design

    def at(self, frame):
        design = self.design.at(frame)
        y = design.response(frame)
        return _Scaled(y / y.mean() if len(y) > 1 else y / 30, design)


class ScalesByItself(Exponential):
    def prepare(self, data):
        y, design = super().prepare(data)
        return _Scaled(y / y.mean(), design)

    def log_density(self, theta, prepared, y):
        return super().log_density(theta, prepared, y / y.mean() if len(y) > 1 else y / 30)


class _Lenient(NamedTuple):
    y: np.ndarray
    design: rw.Design

    def at(self, frame):
        known = frame.assign(
            shift=frame["shift"].where(frame["shift"].isin(["day", "night"]), "day")
        )
        first = waits()["shift"].iloc[0]
        known["shift"] = np.where(
            frame["shift"] == known["shift"], frame["shift"], "night" if first == "day" else "day"
        )
        design = self.design.at(known)
        return _Lenient(design.response(frame), design)


class TakesUnseenLevels(Exponential):
    def prepare(self, data):
        return _Lenient(*super().prepare(data))


class _Positions(NamedTuple):
    y: np.ndarray
    design: rw.Design
    weight: np.ndarray

    def at(self, frame):
        design = self.design.at(frame)
        return _Positions(design.response(frame), design, np.arange(len(frame)) / 100)


class DependsOnOrder(Exponential):
    def prepare(self, data):
        y, design = super().prepare(data)
        return _Positions(y, design, np.arange(len(y)) / 100)

    def build(self, prepared):
        blueprint = super().build(prepared)
        with blueprint.model:
            total = (
                blueprint.weighted_log_likelihood
                + (blueprint.model["alpha"] * prepared.weight).sum()
            )
        return blueprint._replace(weighted_log_likelihood=total)

    def log_density(self, theta, prepared, y):
        return super().log_density(theta, prepared, y) + prepared.weight


class DrawsFromTheResponse(Exponential):
    def draw(self, theta, prepared, rng):
        return prepared.y * rng.lognormal(0, 0.1, len(prepared.y))


class MarginalMass(Exponential):
    def mass(self, theta, prepared, lower, upper):
        return stats.expon.cdf(upper, scale=np.exp(theta["level"])) - stats.expon.cdf(
            lower, scale=np.exp(theta["level"])
        )


class LeakyMass(Exponential):
    def mass(self, theta, prepared, lower, upper):
        return 0.99 * super().mass(theta, prepared, lower, upper)


class LongMass(Exponential):
    def mass(self, theta, prepared, lower, upper):
        return super().mass(theta, prepared, lower, upper)[None, :]


class OwnRandomness(Exponential):
    def draw(self, theta, prepared, rng):
        return super().draw(theta, prepared, np.random.default_rng())


class Deterministic(Exponential):
    def draw(self, theta, prepared, rng):
        return np.exp(self.log_mean(theta, prepared))


class DrawsInfinity(Exponential):
    def draw(self, theta, prepared, rng):
        return np.where(np.arange(len(prepared.y)) == 3, np.inf, super().draw(theta, prepared, rng))


class DrawsText(Exponential):
    def draw(self, theta, prepared, rng):
        return super().draw(theta, prepared, rng).astype(str)


class KeepsTheTruth(Exponential):
    def build(self, prepared):
        return None

    def draw(self, theta, prepared, rng):
        return prepared.y.copy()


class Declares(KeepsTheTruth):
    keeps_true_values: ClassVar[str] = "yes"


class ShortTerms(Exponential):
    def log_density(self, theta, prepared, y):
        return super().log_density(theta, prepared, y).sum()


class NoNumber(Exponential):
    def log_density(self, theta, prepared, y):
        return np.where(
            np.arange(len(prepared.y)) == 3, np.nan, super().log_density(theta, prepared, y)
        )


class SummedRecords(Clippable):
    def log_density(self, theta, prepared, y):
        each = super().log_density(theta, prepared, y)
        return each if isinstance(each, np.ndarray) else each.sum()


class OtherRecords(Clippable):
    """The same sum, shared out alike."""

    def log_density(self, theta, prepared, y):
        each = super().log_density(theta, prepared, y)
        return each if isinstance(each, np.ndarray) else each * 0 + each.mean()


class DependsOnAnything(Clippable):
    data_dependent: ClassVar[str] = "scale"


class CentresInSilence(Clippable):
    """Divides by the mean of the data it was prepared with, and says that nothing is taken from
    them.
    """

    def prepare(self, data):
        y, design = super().prepare(data)
        return _Units(y / y.mean(), design, y.mean())

    def log_density(self, theta, prepared, y):
        return super().log_density(theta, prepared, y / prepared.unit)

    def draw(self, theta, prepared, rng):
        return prepared.unit * super().draw(theta, prepared, rng)

    mass = None


class _Units(NamedTuple):
    y: np.ndarray
    design: rw.Design
    unit: float

    def at(self, frame):
        design = self.design.at(frame)
        return _Units(design.response(frame) / self.unit, design, self.unit)


class ShortResponse(Clippable):
    def response(self, prepared):
        return prepared.y[:5]


BROKEN = [
    (SummedRecords, "expressions", "120 numbers"),
    (OtherRecords, "expressions", "differ in 120 of 120"),
    (DependsOnAnything, "declared", "tuple of names"),
    (CentresInSilence, "declared", "nothing is taken from the data"),
    (ShortResponse, "declared", "120 numbers"),
    (Mutable, "frozen", "'formula' can be changed"),
    (Unequal, "frozen", "equal"),
    (ChangesData, "left alone", "must not change the data"),
    (PassesOnErrors, "bad data", "ValueError"),
    (ShowsValues, "bad data", "shows a value of 'wait'"),
    (ShowsLevels, "bad data", "shows a value of 'shift'"),
    (TakesInfinity, "bad data", "infinite values of 'wait'"),
    (Observed, "blueprint", "priors alone"),
    (StartsWeighted, "blueprint", "'alpha' must start"),
    (MonitorsNothing, "blueprint", "monitored"),
    (IgnoresAlpha, "agree", "weigh(alpha)"),
    (WrongSign, "agree", "opposite sign"),
    (LosesAConstant, "agree", "constants included"),
    (SquaresAlpha, "agree", "another alpha"),
    (ShortTerms, "agree", "120 numbers"),
    (NoNumber, "agree", "not a number in 1 of 120"),
    (FloorsAlpha, "leaves a record out", "alpha = 0"),
    (ClipsAlpha, "replicates", "twice"),
    (NoAt, "replicates", "_Bare without at(frame)"),
    (DependsOnOrder, "replicates", "twice"),
    (Reestimates, "replicates", "twice"),
    (ScalesByItself, "replicates", "twice"),
    (TakesUnseenLevels, "unseen level", "'shift'"),
    (DrawsFromTheResponse, "draws need no response", "must not use the response"),
    (MarginalMass, "mass", "share of draws"),
    (LeakyMass, "mass", "must"),
    (LongMass, "mass", "(1, 120)"),
    (OwnRandomness, "same seed", "same bytes"),
    (Deterministic, "same seed", "rng"),
    (DrawsInfinity, "fit the column", "finite"),
    (DrawsText, "fit the column", "120 numbers"),
    (KeepsTheTruth, "true values", "keeps_true_values"),
    (Declares, "true values", "str"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "clause", "named"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_each_broken_clause_is_named(kind, clause, named):
    with pytest.raises(rw.ContractError) as caught:
        rw.check_synthesizer(kind, waits())
    assert_clear(caught, clause, named)


@pytest.mark.parametrize(
    "clause", ["the order of records does not matter", "at(frame) follows the confidential recipe"]
)
def test_clauses_that_others_shade_are_tried_on_their_own(monkeypatch, clause):
    monkeypatch.setattr(checking, "_CLAUSES", {clause: checking._CLAUSES[clause]})
    for kind in (DependsOnOrder, Reestimates) if "order" not in clause else (DependsOnOrder,):
        with pytest.raises(rw.ContractError) as caught:
            rw.check_synthesizer(kind, waits())
        assert_clear(caught, clause)


def test_a_response_scaled_by_its_own_frame_moves_other_rows(monkeypatch):
    clause = "at(frame): other responses move no row"
    monkeypatch.setattr(checking, "_CLAUSES", {clause: checking._CLAUSES[clause]})
    with pytest.raises(rw.ContractError, match="other rows change"):
        rw.check_synthesizer(ScalesByItself, waits())
    assert rw.check_synthesizer(Exponential, waits())["result"].tolist() == ["passed"]


@pytest.mark.quick
def test_what_is_no_synthesizer_is_refused():
    class NoTarget(Exponential):
        target = None

    class NoDraw(Exponential):
        draw = None

    class NoDistribution(Exponential):
        distribution = None

    class NoBlueprint(Exponential):
        def build(self, prepared):
            return super().build(prepared).model

    for kind, named in (
        (NoTarget, "target"),
        (NoDraw, "draw()"),
        (NoDistribution, "distribution()"),
        (NoBlueprint, "Blueprint"),
        (NamesOtherData, "'beta'"),
    ):
        with pytest.raises(rw.ContractError) as caught:
            rw.check_synthesizer(kind, waits())
        assert_clear(caught, kind.__name__, named)
    for data, named in (
        (waits().iloc[:0], "no records"),
        (waits().drop(columns="wait"), "'wait'"),
        (None, "DataFrame"),
    ):
        with pytest.raises(rw.InputError) as caught:
            rw.check_synthesizer(Exponential, data)
        assert_clear(caught, named)


def test_what_is_rewritten_in_whole_arrays_keeps_its_values_and_dtypes():
    """Truth values and short whole numbers are added in the dtype of the sum; a clip whose bounds
    cross gives the lower one below it.
    """
    x, i, j = pt.vector("x"), pt.vector("i", dtype="int8"), pt.vector("j", dtype="int8")
    outputs = [
        (x > 1) + ((x > 2) + x),
        i + (j + x),
        i * (j * x),
        pt.clip(x, 2.0, 1.0),
        pt.clip(i, 3, 5),
        pt.softplus(x),
        i + (j + i),
    ]
    with pytensor.config.change_flags(cxx=""):
        found, plain = (
            pytensor.function([x, i, j], outputs, mode=mode, on_unused_input="ignore")
            for mode in (PLAIN, Mode(linker="py", optimizer=None))
        )
    given = (
        np.array([1.0, 2.0, 3.0]),
        np.array([100, 2, 7], dtype="int8"),
        np.array([100, 1, -3], dtype="int8"),
    )
    for one, other in zip(found(*given), plain(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
        assert one.dtype == other.dtype
