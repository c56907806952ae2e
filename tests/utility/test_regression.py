"""Least squares on the different rows of the predictors, against least squares on all records."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import model_matrix

from riskweighted.common.errors import InputError
from riskweighted.utility.regressions import analyse, checked_regression

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b", "c"], 300)
    frame = pd.DataFrame({"group": group, "size": rng.integers(1, 6, 300), "age": rng.normal(45, 12, 300)})
    return frame.assign(income=np.exp(9 + 0.1 * frame["size"] + (group == "b") + rng.normal(0, 0.5, 300)))


@pytest.mark.parametrize(
    "formula", ["income ~ group", "income ~ C(size) + group", "income ~ group * size + log(size)", "income ~ age + group"]
)
@pytest.mark.parametrize("change", ["income", "lost level"])
def test_alike_records_count_as_they_stand(data, formula, change):
    analysis = checked_regression(data, formula, "group[T.b]", ["income"])
    changed = {"income": lambda: data.assign(income=data["income"] * 2 + data["age"]), "lost level": lambda: data[data["group"] != "c"]}
    frame = changed[change]()
    columns = np.asarray(model_matrix(analysis.design.spec, frame), dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a lost level makes columns dependent, of which some versions tell
        slow = sm.OLS(frame["income"].to_numpy(), columns).fit()
    place = list(analysis.design.spec.column_names).index("group[T.b]")
    estimates = analyse(analysis, frame)
    assert analysis.terms == (("group[T.b]", place),)
    assert estimates.values[place] == pytest.approx(slow.params[place], rel=1e-9)
    assert estimates.variances[place] == pytest.approx(slow.bse[place] ** 2, rel=1e-9)
    assert estimates.df == slow.df_resid


def test_an_error_names_no_level_and_says_what_takes_missing_values():
    data = pd.DataFrame({"income": [1.0, 2.0, 4.0, 3.0], "name": ["ann", "bob", "cem", "dan"], "age": [1.0, 3.0, 2.0, 5.0]})
    with pytest.raises(InputError, match=r"it has 'C\(name\)\[T\.level\]'$"):
        checked_regression(data, "income ~ C(name)", "x", ["income"])
    data.loc[0, "income"] = np.nan
    with pytest.raises(InputError, match=r"'income' is missing in 1 of 4 records; valid is a list, evaluation\.regressions"):
        checked_regression(data, "income ~ age", "age", ["income"])
