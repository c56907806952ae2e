"""A file cut into parts of whole known patterns has the rows of the whole file, to the last bit."""

import pickle
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common import order
from riskweighted.evaluation import parts
from riskweighted.evaluation.computing import (
    measured_rows,
    released_rows,
    released_table,
    released_tallies,
)
from riskweighted.intruder.world import Paired, make_world
from riskweighted.measures.context import CONFIDENTIAL, Context, Cuts, Mechanism, Rival, Subject
from riskweighted.measures.cuts import isolated_cut, top_cut
from riskweighted.measures.measure import Measure
from riskweighted.measures.parts import by_parts, found_over
from riskweighted.measures.registry import measures
from riskweighted.measures.settings import EvaluationSettings
from riskweighted.risk import holes
from riskweighted.risk.expected import ExpectedRisk
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.utility.regressions import checked_analyses, checked_regression

pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.SingletonWarning")

N, DATASETS = 1400, 3
KNOWN = ("region", "sex", "band")


def people(rng):
    income = np.round(rng.lognormal(7, 1, N), 2)
    income[rng.random(N) < 0.05] = -8.0
    income[rng.random(N) < 0.04] = np.nan
    return pd.DataFrame(
        {
            "region": pd.Categorical(rng.choice(["n", "s", "e", "w"], N, p=[0.5, 0.3, 0.15, 0.05])),
            "sex": rng.choice(["f", "m"], N),
            "band": rng.integers(0, 5, N),
            "age": rng.integers(20, 70, N),
            "income": income,
            "wage": np.round(rng.gamma(2.0, 700.0, N), 1),
            "job": pd.Categorical(rng.choice([*"abcde"], N, p=[0.4, 0.3, 0.2, 0.095, 0.005])),
            "kind": rng.choice([1, 2, 10, 30], N, p=[0.6, 0.3, 0.099, 0.001]),
            "code": rng.choice(["x", "y", None], N, p=[0.7, 0.25, 0.05]),
        },
        index=[f"r{number}" for number in range(N)],
    )


def drawn(data, rng):
    """The synthesized columns of other records."""
    order_of = rng.permutation(N)
    names = ["income", "wage", "job", "code", "kind"]
    made = data.assign(**{name: data[name].array[order_of] for name in names})
    return made.assign(
        income=made["income"].where(
            made["income"] <= 0, np.round(made["income"] * np.exp(rng.normal(0, 0.1, N)), 1)
        )
    )


def mechanism(rng, blocks=5):
    """One that is made up: nothing here asks where it comes from."""
    risk = ExpectedRisk(
        rng.beta(1, 3, (blocks, N)), rng.integers(1, 4, blocks), rng.random(N), rng.random(N)
    )
    columns = ("lipschitz", "range", "information", "pareto_k", "attributable")
    table = pd.DataFrame({name: rng.exponential(size=N) for name in columns})
    table.attrs = {"p_eff": 2 * table["information"].sum()}
    return Mechanism(risk, table)


def cut_mechanism(whole, rows):
    risk = ExpectedRisk(
        np.ascontiguousarray(whole.risk.blocks[:, rows]),
        whole.risk.sizes,
        whole.risk.own_mass[rows],
        whole.risk.outside[rows],
    )
    return Mechanism(risk, whole.influence.iloc[rows])


SCENARIOS = {
    "a number": rw.Scenario(
        known=KNOWN, synthetic="income", radius=0.2, codes={"income": [-8.0]}, singletons="protect"
    ),
    "a number with a regression": rw.Scenario(
        known=KNOWN, synthetic="wage", radius=0.15, singletons="protect"
    ),
    "a category": rw.Scenario(known=KNOWN, synthetic="job", singletons="protect"),
    "several": rw.Scenario(
        known=KNOWN,
        synthetic=["job", "income", "wage", "kind"],
        radius=0.2,
        codes={"income": [-8.0]},
        singletons="protect",
        categorical=["kind"],
    ),
    "text": rw.Scenario(known=KNOWN, synthetic="code", singletons="protect"),
}

REGRESSIONS = [
    "log(wage) ~ age + C(job)",
    "sex ~ wage + C(region) where age > 30",
    "job ~ age where job == 'd' or job == 'e'",
]


class File:
    """A whole file and what its labels are computed from, of all its records or of some of them."""

    def __init__(self, scenario, seed=1):
        rng = np.random.default_rng(seed)
        self.scenario, self.data = scenario, people(rng)
        self.frames = {
            label: [drawn(self.data, rng) for _ in range(DATASETS)]
            for label in ("plain", "weighted")
        }
        self.mechanisms = {label: mechanism(rng) for label in self.frames}
        self.settings = EvaluationSettings(
            resamples=40, threshold=0.4, increase=0.1, quantiles=[0.25, 0.5, 0.9]
        )
        if scenario.synthetic == ("wage",):
            self.settings = replace(
                self.settings,
                regression="wage ~ C(region) + sex + age",
                coefficient="age",
                regressions=REGRESSIONS,
            )
        self.analyses = checked_analyses(self.data, self.settings.regressions)
        self.analysis = checked_regression(
            self.data, self.settings.regression, self.settings.coefficient, scenario.synthetic
        )

    def subject(self, rows, cuts=None):
        world = make_world(self.data.iloc[rows], self.scenario)
        crossed = ("region", "sex", "age") if len(self.scenario.synthetic) > 1 else ()
        return Subject(
            world,
            self.settings,
            self.analysis,
            self.analyses,
            crossed=crossed,
            expected=True,
            cuts=cuts,
        )

    def context(self, label, rows, cuts=None):
        subject, rng = self.subject(rows, cuts), np.random.default_rng(7)
        if label == CONFIDENTIAL:
            return self._context(
                label, subject, Paired(subject.world, (subject.world.confidential,)), rng, rows
            )
        paired = {
            name: subject.world.pair([frame.iloc[rows] for frame in frames], subject.columns)
            for name, frames in self.frames.items()
        }
        return self._context(
            label,
            subject,
            paired[label],
            rng,
            rows,
            paired["plain"] if label == "weighted" else None,
        )

    def _context(self, label, subject, paired, rng, rows, against=None):
        risk, matched = mean_risk_and_matches(paired)
        rival = None
        if against is not None:
            rival = Rival(
                "plain",
                mean_risk_and_matches(against)[0],
                cut_mechanism(self.mechanisms["plain"], rows),
            )
        of_label = None if label == CONFIDENTIAL else cut_mechanism(self.mechanisms[label], rows)
        risk = subject.confidential_risk if label == CONFIDENTIAL else risk
        return Context(
            label,
            subject,
            paired.frames,
            rng,
            mechanism=of_label,
            paired=paired,
            risk=risk,
            matched=matched,
            baseline=rival,
        )


@pytest.fixture(scope="module", params=SCENARIOS)
def file(request):
    return File(SCENARIOS[request.param])


def cut(data, count, seed):
    """The records of each part: all of a known pattern lie in one, and parts stand in no order."""
    rng = np.random.default_rng(seed)
    patterns = data.groupby(list(KNOWN), observed=True).ngroup().to_numpy()
    into = rng.integers(0, count, patterns.max() + 1)
    into[rng.permutation(len(into))[:count]] = np.arange(count)  # none is empty
    return [
        rng.permutation(np.flatnonzero(into[patterns] == part)) for part in rng.permutation(count)
    ]


def cuts_of(file, parts_of):
    """As whoever has many parts finds them, before anything else."""
    contexts = [file.context(CONFIDENTIAL, rows) for rows in parts_of]
    names = [None, *file.scenario.synthetic]
    isolated = {
        name: found_over(isolated_cut, [replace(context, variable=name) for context in contexts])
        for name in names
    }
    return Cuts(
        isolated, found_over(top_cut, contexts) if len(contexts[0].world.numeric) == 1 else None
    )


def added(tallies):
    return reduce(parts.add, [pickle.loads(pickle.dumps(each)) for each in tallies])


def rows_of_parts(contexts, table, variables):
    """The rows as whoever has many parts makes them."""
    total = added(parts.tallies(context, variables, table) for context in contexts)
    any_part = replace(contexts[-1], rng=np.random.default_rng(7))
    while told := parts.asked(total, any_part, variables, table):
        told = pickle.loads(pickle.dumps(told))
        more = added(parts.again(context, told, variables, table) for context in contexts)
        total = parts.complete(total, more, any_part, variables, table)
    return parts.rows(total, any_part, variables, table)


def same(one, other):
    pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("most", [None, 100])
def test_parts_have_the_rows_of_the_whole_file(file, count, most, monkeypatch):
    # so that some patterns have copies enough for guesses of their own
    monkeypatch.setattr(holes, "_FEWEST", 60)
    if most is not None:
        monkeypatch.setattr(order, "_MOST", most)  # so that order statistics take several looks
    parts_of = cut(file.data, count, seed=count)
    cuts = cuts_of(file, parts_of)
    for label in (CONFIDENTIAL, "plain", "weighted"):
        whole = file.context(label, np.arange(N))
        contexts = [file.context(label, rows, cuts) for rows in parts_of]
        for table in ("risk", "utility"):
            without = {measure.key for measure in parts.left_out(table)}
            expected = [
                row
                for row in measured_rows(whole, table, file.scenario.synthetic)
                if row["key"] not in without
            ]
            found = rows_of_parts(contexts, table, file.scenario.synthetic)
            assert found
            regressions = [
                row["value"]
                for row in found
                if row["key"] in ("coefficient", "regression-coefficient")
            ]
            assert np.isfinite(regressions).all()
            assert len(regressions) == (0 if table == "risk" or file.analysis is None else 13)
            same(found, expected)
            same(rows_of_parts(contexts[::-1], table, file.scenario.synthetic), expected)


def test_released_columns_make_finer_patterns(file):
    unaltered = [*KNOWN, "age"]
    whole = released_rows(make_world(file.data, file.scenario), file.frames, unaltered)
    parts_of = cut(file.data, 4, seed=4)
    tallies = [
        released_tallies(
            make_world(file.data.iloc[rows], file.scenario),
            {
                label: [frame.iloc[rows] for frame in frames]
                for label, frames in file.frames.items()
            },
            unaltered,
        )
        for rows in parts_of
    ]
    same(released_table(sum(tallies[1:], tallies[0])), whole)


def test_what_is_left_out_is_said():
    left_out = {measure.key for table in ("risk", "utility") for measure in parts.left_out(table)}
    every: list[Measure] = [
        measure for measure in measures().values() if measure.compute is not None
    ]
    assert left_out == {measure.key for measure in every if not by_parts(measure)}
    assert {"survey-mean", "analysis-estimate"} <= left_out
    assert not left_out & {
        "mean-risk",
        "expected-isolated-risk",
        "hole-attack",
        "ecdf-maximum",
        "mean",
        "level-share",
    }
