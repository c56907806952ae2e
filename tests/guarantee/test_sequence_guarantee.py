"""The guarantee of several variables: each block clipped at its share, and what the chain takes
from the data refused.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import riskweighted as rw
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.distribution import read_only
from riskweighted.guarantee.statement import Statement
from riskweighted.sequence.alphas import alphas_of
from riskweighted.sequence.clipping import sequence_obstacles
from riskweighted.sequence.drawing import Drawing
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks

N = 60
RENT = {"model": "linear-regression", "formula": "rent ~ age", "location": 700.0, "scale": 100.0}
SIZE = {"model": "logistic", "formula": "size ~ age", "levels": ("small", "large")}
STATED = {"rent": RENT, "size": SIZE}
PUBLIC = ["age", "size"]


def frame(seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, N).astype(float)
    return pd.DataFrame(
        {
            "age": age,
            "rent": np.round(700 + 100 * rng.normal(size=N), 1),
            "size": np.where(rng.random(N) < 0.4, "small", "large"),
        }
    )


def chain_of(settings=None, variables=("rent", "size"), **others):
    return rw.load_synthesizer("sequential")(
        list(variables),
        predictors=["age"],
        settings=STATED if settings is None else settings,
        **others,
    )


def tasks_of(data, guarantee, datasets=3):
    prepared = prepare_sequence(chain_of(), data)
    return block_tasks(
        prepared,
        alphas_of(prepared.variables, np.full(len(data), 0.8), data.index),
        None,
        guarantee,
        datasets,
    )


def thetas():
    """From the middle of the posterior to where every contribution is clipped."""
    rng = np.random.default_rng(2)
    sharp = np.array([0.0, 0.0]), np.array([1e4, 0.0])
    yield {
        "rent": {"coefficient": sharp[0], "sigma": np.array(0.01)},
        "size": {"coefficient": sharp[1]},
    }
    for size in (0.1, 1.0, 30.0, 1e4):
        for _ in range(10):
            yield {
                "rent": {
                    "coefficient": size * rng.normal(size=2),
                    "sigma": np.array(np.exp(rng.normal())),
                },
                "size": {"coefficient": size * rng.normal(size=2)},
            }


def totals(tasks, theta):
    """What each record adds to the log posterior of all blocks, (n,)."""
    found = np.zeros(N)
    for task in tasks:
        model = task.block.model
        numbers = target_numbers(model.synthesizer, model.prepared, model.confidential)
        terms = model.synthesizer.distribution(theta[task.name], model.prepared).log_density(
            read_only(numbers)
        )
        found[task.block.member] += task.censoring.contributions(
            task.alpha.to_numpy(), np.asarray(terms, dtype=float)
        )
    return found


@pytest.mark.parametrize(
    "guarantee", [{"epsilon": 6}, {"M": 1.5}, {"epsilon": 6, "neighbours": "add-drop"}]
)
def test_no_record_adds_more_to_all_blocks_than_the_statement_says(guarantee):
    """Whatever its values of both variables and the parameters; each block has half, and the halves
    are used up.
    """
    data, widest, guarantee = frame(), 0.0, rw.Guarantee(**guarantee, public=PUBLIC)
    tasks = tasks_of(data, guarantee)
    whole = Statement.together([task.censoring.statement for task in tasks])
    assert whole.width == pytest.approx(sum(task.censoring.statement.width for task in tasks))
    if guarantee.epsilon is not None:
        assert whole.epsilon() == pytest.approx(6)
        assert [task.censoring.statement.epsilon() for task in tasks] == pytest.approx([3, 3])
    else:
        assert pytest.approx(1.5) == whole.M
    others = [data]
    for rent, size in (
        (1e-9, "small"),
        (1e9, "large"),
        (-5e4, "small"),
        (700.0, "large"),
        (700.0, "small"),
        (1e9, "small"),
    ):
        others.append(
            data.assign(
                rent=data["rent"].where(data.index > 0, rent),
                size=data["size"].where(data.index > 0, size),
            )
        )
    prepared = [tasks_of(other, guarantee) for other in others]
    for theta in thetas():
        found = np.array([totals(one, theta) for one in prepared])
        assert found.min() >= whole.lower - 1e-12
        assert found.max() <= whole.upper + 1e-12
        widest = max(widest, float(np.ptp(found[:, 0])))
        # the others' terms stay what they are
        np.testing.assert_array_equal(found[:, 1:], np.tile(found[:1, 1:], (len(found), 1)))
    assert widest == pytest.approx(whole.width)


def test_every_choice_that_looks_at_the_data_is_named_at_once():
    data = frame().assign(rent=lambda one: one["rent"].where(one.index > 4))
    with pytest.raises(rw.InputError) as caught:
        rw.fit(
            chain_of({"size": {"formula": "size ~ rent"}}),
            data,
            np.linspace(0.2, 1, N),
            guarantee=rw.Guarantee(epsilon=1),
        )
    message = str(caught.value)
    assert "\n" not in message
    for named in (
        "the model, chosen by the values of 'rent'",
        "predictors, their levels, codes and knots, and how many its events allow of 'rent'",
        "which codes and gaps of 'rent' occur",
        "the model, chosen by the values of 'size'",
        "levels, centre and scale of 'rent' as predictors of 'size'",
        "weights alpha of 'rent' that are not all the same",
    ):
        assert named in message, named


@pytest.mark.parametrize(
    ("settings", "others", "named"),
    [
        ({}, {}, None),
        (
            {
                "rent": {
                    name: value for name, value in RENT.items() if name not in ("location", "scale")
                }
            },
            {},
            "location",
        ),
        (
            {"rent": {name: value for name, value in RENT.items() if name != "formula"}},
            {},
            "predictors",
        ),
        ({"size": {name: value for name, value in SIZE.items() if name != "levels"}}, {}, "levels"),
        (
            {"size": SIZE | {"formula": "size ~ age + rent"}},
            {},
            "levels, centre and scale of 'rent'",
        ),
        (
            {"size": SIZE | {"applies_if": "rent > 500", "else_value": "large"}},
            {},
            "the rule of 'size' selects by 'rent'",
        ),
        (
            {},
            {"forbidden": ["rent > 1e6 and size == 'small'"], "violations": "exclude"},
            "break a rule of 'size'",
        ),
    ],
)
def test_each_of_them_alone_is_enough(settings, others, named):
    found = sequence_obstacles(
        prepare_sequence(chain_of(STATED | settings, **others), frame()),
        rw.Guarantee(epsilon=1, public=PUBLIC),
    )
    assert bool(found) == (named is not None), found
    assert named is None or any(named in one for one in found), found


def test_a_chain_that_does_not_say_what_it_takes_is_refused(monkeypatch):
    monkeypatch.delattr(type(chain_of()), "data_dependent_choices")
    found = sequence_obstacles(
        prepare_sequence(chain_of(), frame()), rw.Guarantee(epsilon=1, public=PUBLIC)
    )
    assert [
        one
        for one in found
        if "Sequential, which does not say what it takes from the data for 'rent'" in one
    ]


def test_a_reference_and_survey_weights_are_refused():
    with pytest.raises(rw.InputError, match="a reference is a density of one variable"):
        tasks_of(frame(), rw.Guarantee(epsilon=1, reference=rw.Reference("norm"), public=PUBLIC))
    with pytest.raises(rw.InputError, match="a guarantee holds for no survey weights"):
        rw.fit(chain_of(), frame().assign(w=1.0), survey="w", guarantee=rw.Guarantee(epsilon=1))


def guaranteed_fit(seed):
    """A fit of the chain with made-up posteriors under a guarantee."""
    data, rng = frame(), np.random.default_rng(seed)
    prepared = prepare_sequence(chain_of(), data)
    alphas, blocks = alphas_of(prepared.variables, None, data.index), {}
    for task in block_tasks(prepared, alphas, None, rw.Guarantee(epsilon=6, public=PUBLIC), 3):
        parts = {"coefficient": (("chain", "draw", "column"), rng.normal(size=(2, 40, 2)))}
        parts |= (
            {"sigma": (("chain", "draw"), np.exp(rng.normal(size=(2, 40))))}
            if task.name == "rent"
            else {}
        )
        diagnostics = pd.DataFrame({"ess_bulk": [80.0], "converged": [True]}, index=["coefficient"])
        blocks[task.name] = task.block.model.fitted(
            task.alpha, xr.Dataset(parts), None, task.censoring, diagnostics
        )
    return Fit(prepared, alphas, blocks)


def drawn_of(fit, monkeypatch):
    """The parameters of rent that its datasets are drawn with."""
    seen, made = [], Drawing.made
    with monkeypatch.context() as patch:
        patch.setattr(
            Drawing,
            "made",
            lambda self, thetas, *given: seen.append(thetas["rent"]) or made(self, thetas, *given),
        )
        fit.with_drawing(rw.DrawingSettings({"rent": 1.0})).synthesize(3)
    return [(*theta["coefficient"], float(theta["sigma"])) for theta in seen]


def test_a_block_gives_the_same_draws_whatever_stands_beside_it(monkeypatch):
    """Else blocks of other fits beside it would draw others and others of them."""
    first, second = guaranteed_fit(1), guaranteed_fit(2)
    mixed = replace(first, blocks={"rent": first.blocks["rent"], "size": second.blocks["size"]})
    found = [drawn_of(fit, monkeypatch) for fit in (first, mixed, Fit.of(first.blocks["rent"]))]
    assert found[0] == found[1] == found[2] != drawn_of(second, monkeypatch)
    assert len(set(found[0])) == 3


@pytest.mark.parametrize(
    ("public", "named"),
    [((), '["age", "size"]'), (["age"], '["age", "size"]'), (["size"], '["size", "age"]')],
)
def test_predictors_and_levels_of_a_chain_are_declared_public(public, named):
    with pytest.raises(rw.InputError) as caught:
        rw.fit(chain_of(), frame(), guarantee=rw.Guarantee(epsilon=1, public=public), L=2)
    assert f"public = {named}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_made_of_a_variable_does_not_pass_as_public():
    data = frame().assign(age=lambda one: one["rent"] * 12)
    with pytest.raises(rw.InputError, match="'age', which discloses the synthesized 'rent'"):
        rw.fit(chain_of(), data, guarantee=rw.Guarantee(epsilon=1, public=PUBLIC), L=2)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_a_chain_is_fitted_under_a_guarantee_saved_and_counted(tmp_path):
    data, asked = frame(), {"guarantee": rw.Guarantee(epsilon=40, public=PUBLIC), "L": 2}
    fit = rw.fit(chain_of(), data, random_seed=1, draws=60, tune=60, chains=2, **asked)
    assert fit.statement.epsilon() == pytest.approx(40)
    assert (rw.influence(fit)["range"] <= fit.statement.width + 1e-9).all()
    with pytest.raises(
        rw.InputError, match="precision must be given under a guarantee: the dtype of 'rent'"
    ):
        fit.synthesize(2)
    with pytest.raises(rw.InputError, match="L must be at most 2"):
        fit.synthesize(3)
    whole = fit.with_drawing(rw.DrawingSettings({"rent": 1.0}))
    assert set(whole.synthesize(2, random_seed=1)[0]["size"]) <= {"small", "large"}
    total = rw.accountant({"all": fit}).query("release == 'all' and neighbours == 'replace'")
    assert total["epsilon"].tolist() == pytest.approx([40])
    fit.save(tmp_path / "fit.zip")
    again = rw.load_fit(tmp_path / "fit.zip", chain_of(), data, None, random_seed=1, **asked)
    assert again.statement == fit.statement
    with pytest.raises(rw.InputError, match="under another guarantee"):
        rw.load_fit(
            tmp_path / "fit.zip",
            chain_of(),
            data,
            None,
            guarantee=rw.Guarantee(epsilon=41, public=PUBLIC),
            L=2,
        )


def test_units_are_no_part_of_a_guarantee_even_where_the_models_state_all():
    data = frame().assign(house=np.arange(N) // 3)
    settings = {"size": {key: SIZE[key] for key in ("model", "levels")}}
    chain = chain_of(settings, ("size",), units=rw.Units(id="house"))
    prepared, public = prepare_sequence(chain, data), [*PUBLIC, "house"]
    hindering = sequence_obstacles(prepared, rw.Guarantee(M=0.5, public=public))
    assert any(text.startswith("units, in which") for text in hindering)
