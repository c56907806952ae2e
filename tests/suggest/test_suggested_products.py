"""Products that a first study finds: where they help, and nowhere else."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.sequence.edit_rules import Rules
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.study_file import carries_values, study_file_text
from riskweighted.suggest.suggested_products import find_products
from riskweighted.suggest.suggestion import suggest


def people(depends: bool, n: int = 1_200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    job = rng.choice(["a", "b", "c"], n, p=[0.4, 0.3, 0.3])
    wage = np.where(
        rng.random(n) < np.where(job == "a", 0.2, 0.6), 0.0, np.round(rng.lognormal(7, 0.5, n))
    )
    share = np.where((wage == 0) & (job == "a"), 0.95, 0.05) if depends else 0.3
    own = np.where(rng.random(n) < share, np.round(rng.lognormal(6, 0.5, n)), 0.0)
    return pd.DataFrame({"job": job, "sex": rng.choice(["m", "f"], n), "wage": wage, "own": own})


def found(data: pd.DataFrame):
    return find_products(data, ["wage", "own"], ["job", "sex"], ["job", "sex"], {}, {})


def test_a_product_is_found_where_the_status_depends_on_it_alone():
    (product,) = found(people(True))
    assert product[:3] == ("wage == 0", "job", "own")
    assert product.gain > 0.1
    assert found(people(False)) == []


def test_gaps_are_multiplied_as_zeros_are():
    data = people(True)
    data["wage"] = data["wage"].replace(0, np.nan)
    data["own"] = data["own"].replace(0, np.nan)
    assert [product[:3] for product in found(data)] == [("missing(wage)", "job", "own")]


def test_few_records_have_no_product():
    assert found(people(True, 30)) == []


def test_a_study_states_products_as_found():
    data = people(True)
    suggestion = suggest(data, look_at(data), ["wage", "own"])
    text = study_file_text(suggestion, Path("people.csv"), Path())
    assert tomllib.loads(text)["synthesizer"]["products"] == [["wage == 0", "job", "own", "found"]]
    assert carries_values(suggestion)


def test_what_a_rule_settles_needs_no_product():
    """Two amounts that are missing together: that the second one is tells nothing that the rule
    does not, for any level.
    """
    data = people(False)
    asked = np.random.default_rng(4).random(len(data)) < np.where(data["job"] == "a", 0.9, 0.4)
    data["wage"], data["own"] = data["wage"].where(asked), data["own"].where(asked)
    assert found(data) != []
    together = Rules(
        ["wage", "own"],
        implied=[["missing(wage)", "missing(own)"], ["missing(own)", "missing(wage)"]],
    )
    assert (
        find_products(data, ["wage", "own"], ["job", "sex"], ["job", "sex"], {}, {}, rules=together)
        == []
    )
    assert suggest(data, look_at(data), ["wage", "own"]).products == ()
