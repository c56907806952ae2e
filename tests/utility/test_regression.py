"""Least squares on the different rows of the predictors, against least squares on all records."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import model_matrix
from scipy.optimize import minimize

from riskweighted.common.errors import InputError
from riskweighted.design.distinct import Distinct
from riskweighted.utility.newton import solve_regression
from riskweighted.utility.regressions import analyse, checked_regression

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b", "c"], 300)
    frame = pd.DataFrame(
        {"group": group, "size": rng.integers(1, 6, 300), "age": rng.normal(45, 12, 300)}
    )
    return frame.assign(
        income=np.exp(9 + 0.1 * frame["size"] + (group == "b") + rng.normal(0, 0.5, 300))
    )


@pytest.mark.parametrize(
    "formula",
    [
        "income ~ group",
        "income ~ C(size) + group",
        "income ~ group * size + log(size)",
        "income ~ age + group",
    ],
)
@pytest.mark.parametrize("change", ["income", "lost level"])
def test_alike_records_count_as_they_stand(data, formula, change):
    analysis = checked_regression(data, formula, "group[T.b]", ["income"])
    changed = {
        "income": lambda: data.assign(income=data["income"] * 2 + data["age"]),
        "lost level": lambda: data[data["group"] != "c"],
    }
    frame = changed[change]()
    columns = np.asarray(model_matrix(analysis.design.spec, frame), dtype=float)
    with warnings.catch_warnings():
        # a lost level makes columns dependent, of which some versions tell
        warnings.simplefilter("ignore")
        slow = sm.OLS(frame["income"].to_numpy(), columns).fit()
    place = list(analysis.design.spec.column_names).index("group[T.b]")
    estimates = analyse(analysis, frame)
    assert analysis.terms == (("group[T.b]", place),)
    assert estimates.values[place] == pytest.approx(slow.params[place], rel=1e-9)
    assert estimates.variances[place] == pytest.approx(slow.bse[place] ** 2, rel=1e-9)
    assert estimates.df == slow.df_resid


def test_an_error_names_no_level_and_says_what_takes_missing_values():
    data = pd.DataFrame(
        {
            "income": [1.0, 2.0, 4.0, 3.0],
            "name": ["ann", "bob", "cem", "dan"],
            "age": [1.0, 3.0, 2.0, 5.0],
        }
    )
    with pytest.raises(InputError, match=r"it has 'C\(name\)\[T\.level\]'$"):
        checked_regression(data, "income ~ C(name)", "x", ["income"])
    data.loc[0, "income"] = np.nan
    with pytest.raises(
        InputError,
        match=r"'income' is missing in 1 of 4 records; valid is a list, evaluation\.regressions",
    ):
        checked_regression(data, "income ~ age", "age", ["income"])


@pytest.mark.parametrize("logistic", [True, False])
def test_under_priors_there_is_a_mode_where_the_response_is_separated_or_records_are_few(logistic):
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(6), rng.normal(0, [1, 30, 0.1, 1, 1, 1, 1], (6, 7))])
    which, precision = np.tile(np.arange(6), 2), np.append(0.25, rng.uniform(0.5, 2, 7))
    target, weights = (which > 2).astype(float), rng.uniform(0.2, 1, 12)
    assert solve_regression(Distinct(rows, which), target, weights, logistic) is None
    solved = solve_regression(Distinct(rows, which), target, weights, logistic, precision)

    def negative(beta):
        line = rows[which] @ beta
        loss = np.logaddexp(0, line) - target * line if logistic else (target - line) ** 2 / 2
        return (weights * loss).sum() + (precision * beta**2).sum() / 2

    best = minimize(negative, np.zeros(8), tol=1e-12, method="BFGS", options={"maxiter": 5_000})
    np.testing.assert_allclose(solved[0], best.x, atol=2e-4)
    assert negative(solved[0]) <= best.fun + 1e-12
