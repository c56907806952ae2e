"""Products of a chain: what they predict, that draws follow them, what is refused."""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sequence.prepare import prepare_sequence

VARIABLES = ("wage", "own", "aid")
PRODUCT = ("wage == 0", "job", "own")


def people(n=1_500):
    """Of those in job a who have no wage nearly all are their own masters, and hardly anybody else
    is.
    """
    rng = np.random.default_rng(3)
    job = pd.Series(rng.choice(["a", "b", "c"], n, p=[0.4, 0.3, 0.3]))
    wage = np.where(
        rng.random(n) < np.where(job == "a", 0.2, 0.6), 0.0, np.round(rng.lognormal(7, 0.5, n))
    )
    share = np.where((wage == 0) & (job == "a"), 0.95, 0.05)
    own = np.where(rng.random(n) < share, np.round(rng.lognormal(6, 0.5, n)), 0.0)
    aid = np.where(rng.random(n) < 0.3, np.round(rng.lognormal(5, 0.5, n)), 0.0)
    return pd.DataFrame(
        {"job": job, "sex": rng.choice(["m", "f"], n), "wage": wage, "own": own, "aid": aid}
    )


@pytest.fixture(scope="module")
def data():
    return people()


def chain(variables=VARIABLES, settings=None, **more):
    return rw.load_synthesizer("sequential")(
        variables, ["job", "sex"], settings or {}, recoding="statuses", **more
    )


def sources(made, data):
    return {block.name: block.sources for block in prepare_sequence(made, data).blocks}


def share_of_own(frame):
    who = (frame["job"] == "a") & (frame["wage"] == 0)
    return float((frame.loc[who, "own"] > 0).mean())


def test_a_product_predicts_those_that_it_names_or_all_later_ones(data):
    codes = {name: {"codes": [0]} for name in VARIABLES}
    named, all_later = (
        sources(chain(settings=codes, products=[each]), data) for each in (PRODUCT, PRODUCT[:2])
    )
    assert [name for name, used in named.items() if "wage == 0 at job" in used] == ["own is 0"]
    assert [name for name, used in all_later.items() if "wage == 0 at job" in used] == [
        "own is 0",
        "aid is 0",
    ]
    assert "wage == 0 at job" in sources(chain(products=[PRODUCT]), data)["own"], (
        "a model of two parts asks whether it is zero"
    )


def test_a_product_has_the_levels_at_which_ten_records_meet_it_and_ten_do_not(data):
    few = data.assign(job=data["job"].where(data.index >= 12, "rare"))
    recipe = prepare_sequence(chain(products=[PRODUCT]), few).products["wage == 0 at job"]
    assert recipe.levels == ("a", "b", "c")
    table = recipe.table(few)
    columns = table.rows[table.which]
    for place, level in enumerate(recipe.levels):
        assert (
            columns[:, place].tolist()
            == ((few["wage"] == 0) & (few["job"] == level)).astype(float).tolist()
        )


@pytest.mark.parametrize("coded", [False, True])
def test_draws_follow_a_product_of_the_synthetic_values_before_it(data, coded):
    variables, bounds = VARIABLES[:2], {"support": [0, 10_000]}
    own = {"own": {"codes": [0], **bounds} if coded else bounds}
    more = {"draws": 50, "random_seed": 1}
    with_it = rw.fit(chain(variables, own, products=[PRODUCT]), data, **more).synthesize(
        L=3, random_seed=2
    )
    without = rw.fit(chain(variables, own), data, **more).synthesize(L=3, random_seed=2)
    true = share_of_own(data)
    assert np.mean([share_of_own(frame) for frame in with_it]) == pytest.approx(true, abs=0.1)
    assert np.mean([share_of_own(frame) for frame in without]) < true - 0.2


@pytest.mark.parametrize(
    ("products", "words"),
    [
        ([["wage == 0"]], ("products[0]",)),
        ([["wage ==", "job"]], ("products[0]",)),
        ([["wage == 0", "nope"]], ("'nope'", "'job'")),
        ([["own == 0", "job", "wage"]], ("'wage'", "'aid'")),
        ([["aid == 0", "job"]], ("predicts nothing",)),
        ([["wage == 0", "job", "own"], ["wage == 0", "job", "aid"]], ("twice",)),
    ],
)
def test_products_that_cannot_be_are_refused_before_data_are_read(products, words):
    with pytest.raises(InputError) as caught:
        chain(products=products)
    assert all(word in str(caught.value) for word in words)


def test_a_product_without_levels_or_records_is_refused(data):
    with pytest.raises(InputError, match="'wage' holds numbers"):
        prepare_sequence(chain(products=[("missing(job)", "wage", "own")]), data)
    with pytest.raises(InputError, match="at no level 10 records"):
        prepare_sequence(chain(products=[("wage < 0", "job", "own")]), data)


def test_products_and_formulas_of_all_that_they_predict_are_refused():
    with pytest.raises(InputError, match="formula"):
        chain(settings={"own": {"formula": "own ~ job"}}, products=[PRODUCT])


def test_a_guarantee_is_told_of_products_that_were_found():
    made = chain(products=[(*PRODUCT, "found")])
    assert any("wage == 0" in choice for choice in made.data_dependent_choices("own"))
    assert not any(
        "wage == 0" in choice for choice in chain(products=[PRODUCT]).data_dependent_choices("own")
    )


def test_a_fit_with_a_product_is_checked_measured_and_read_again(data, tmp_path):
    made = chain(VARIABLES[:2], {"own": {"codes": [0]}}, products=[PRODUCT])
    fit = rw.fit(made, data, draws=50, random_seed=1)
    checks = rw.check_fit(fit, random_seed=1)
    zero = checks[
        (checks["check"] == "check-share")
        & (checks["variable"] == "own")
        & (checks["parameter"] == "code zero")
    ]
    assert zero["synthetic"].iloc[0] == pytest.approx((data["own"] == 0).mean(), abs=0.02)
    scenario = rw.Scenario(known=["job", "sex"], synthetic=list(VARIABLES[:2]))
    risk = rw.expected_identification_risk(fit, scenario, draws=20, random_seed=1)
    assert 0 < float(risk["risk"].mean()) < 1
    fit.save(tmp_path / "chain.fit")
    again = rw.load_fit(tmp_path / "chain.fit", made, data, None)
    for one, other in zip(
        fit.synthesize(L=1, random_seed=2), again.synthesize(L=1, random_seed=2), strict=True
    ):
        pd.testing.assert_frame_equal(one, other)
