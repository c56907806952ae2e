"""Log density and mass as PyTensor expressions are those of NumPy, of every registered synthesizer,
and have gradients.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest

import riskweighted as rw
from riskweighted.contract.categories import target_numbers
from riskweighted.sampling.graphs import PLAIN, parameters_at

pytestmark = pytest.mark.versions

N = 70


@cache
def simulated():
    rng = np.random.default_rng(3)
    x, g = rng.normal(size=N), rng.choice(["a", "b", "c"], N)
    income = np.rint(np.exp(7 + 0.3 * x + 0.2 * (g == "b") + 0.5 * rng.normal(size=N)))
    kind = rng.choice([-1.0, 0.0, 1.0], N, p=[0.25, 0.15, 0.6])
    return pd.DataFrame(
        {
            "x": x,
            "g": g,
            "h": rng.choice(["u", "v"], N),
            "income": income,
            "profit": kind * income,
            "count": rng.negative_binomial(3, 0.2, N),
            "few": rng.integers(0, 4, N),
            "flag": rng.choice(["no", "yes"], N),
        }
    )


EXAMPLES = {
    "linear-regression": [
        {"formula": "income ~ x + g", "transform": "log"},
        {"formula": "income ~ 1", "support": (0, 9000)},
    ],
    "normal-mixture": [
        {"formula": "income ~ x + g"},
        {"formula": "income ~ 1", "components": 2, "support": (50, 1e5)},
        {"formula": "income ~ x", "components": 1},
        {"formula": "income ~ x + g", "components": 2, "gating": True},
    ],
    "negative-binomial": [
        {"formula": "count ~ 1"},
        {"formula": "count ~ x + g"},
        {"formula": "count ~ x", "components": 2},
    ],
    "hierarchical": [
        {"formula": "income ~ x", "groups": ("g",), "scale_groups": ("h",), "transform": "log"}
    ],
    "transformation": [
        {"formula": "income ~ x + g", "support": (0, 1e5)},
        {"formula": "income ~ 1", "heaping": False, "support": (0, 1e5)},
    ],
    "two-part": [
        {"formula": "profit ~ x", "support": (-1e5, 1e5)},
        {
            "formula": "profit ~ x",
            "value": "normal-mixture",
            "value_settings": (("components", 2),),
        },
    ],
    "logistic": [{"formula": "flag ~ x + g"}],
    "multinomial": [{"formula": "g ~ x"}],
    "ordinal": [{"formula": "g ~ x", "levels": ("a", "b", "c"), "drift": True}],
    "counts": [{"formula": "few ~ x + g"}],
}
LATER = [pytest.mark.long, pytest.mark.slow]  # all but the first of each model
CASES = [
    pytest.param(name, settings, marks=LATER if number else ())
    for name, examples in EXAMPLES.items()
    for number, settings in enumerate(examples)
]


def test_every_model_of_this_package_is_held_to_its_numbers():
    ours = {
        name
        for name in rw.synthesizer_names()
        if rw.load_synthesizer(name).__module__.startswith("riskweighted_models")
    }
    assert ours - {"top-coding"} == set(EXAMPLES)


def intervals(y):
    rng = np.random.default_rng(4)
    width = 0.3 * np.abs(y) + 0.5
    lower, upper = y - width * rng.random(N), y + width * rng.random(N)
    lower[:7], upper[7:14] = -np.inf, np.inf
    lower[14:16], upper[14:16] = -np.inf, np.inf
    return lower, upper


@pytest.mark.parametrize(
    ("name", "settings"),
    CASES,
    ids=lambda value: value if isinstance(value, str) else value["formula"],
)
def test_expressions_are_the_numbers(name, settings):
    model = rw.load_synthesizer(name)(**settings)
    prepared = model.prepare(simulated())
    blueprint = model.build(prepared)
    y = target_numbers(model, prepared, simulated())
    ends, graph = intervals(y), blueprint.model
    theta = {str(variable.name): variable for variable in (*graph.free_RVs, *graph.deterministics)}
    symbolic = model.distribution(theta, prepared)
    outputs = [symbolic.log_density(y), symbolic.mass(*ends)]
    slopes = pt.grad(
        graph.replace_rvs_by_values([outputs[1].sum()])[0],
        graph.value_vars,
        disconnected_inputs="ignore",
    )
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(
            graph.value_vars,
            [*graph.replace_rvs_by_values(outputs), *slopes],
            mode=PLAIN,
            on_unused_input="ignore",
        )
    start, rng = graph.initial_point(), np.random.default_rng(5)
    for _ in range(2):
        point = [
            start[str(value.name)] + rng.normal(0, 0.1, np.shape(start[str(value.name)]))
            for value in graph.value_vars
        ]
        numbers = model.distribution(parameters_at(blueprint, [point])[0], prepared)
        log_density, mass, *gradient = function(*point)
        np.testing.assert_allclose(log_density, numbers.log_density(y), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(mass, numbers.mass(*ends), rtol=1e-10, atol=1e-10)
        assert mass.shape == (N,)
        assert 0 < mass.min() < mass.max() <= 1 + 1e-9
        assert all(np.isfinite(slope).all() for slope in gradient)
