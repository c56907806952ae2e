"""The L datasets of a fit under a guarantee are fixed: no way of asking gives others, or more of
them.
"""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.guarantee.ledger import LEDGER, open_ledger
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.isolated_draws import drop_guarantee

pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")

N, L = 120, 3
GUARANTEE = rw.Guarantee(epsilon=60_000)  # clips little, so that datasets differ
MODEL = PoissonGraph("jobs ~ 1")
SHORT = {"draws": 60, "tune": 100, "chains": 2, "cores": 1}


def data():
    return pd.DataFrame(
        {
            "jobs": np.random.default_rng(8).negative_binomial(3, 0.1, N),
            "size": np.tile(["a", "b"], N // 2),
        }
    )


@pytest.fixture(scope="module")
def made():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rw.fit(MODEL, data(), guarantee=GUARANTEE, L=L, **SHORT)


def drawn(fit, count=L, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.concat(fit.synthesize(count, **how), keys=range(count))


def loaded(fit, path, **how):
    fit.save(path)
    return rw.load_fit(path, MODEL, data(), fit.alpha, **{"guarantee": GUARANTEE, "L": L, **how})


SAME = {
    "again": lambda fit, path: drawn(fit),
    "another seed": lambda fit, path: drawn(fit, random_seed=1),
    "a third seed": lambda fit, path: drawn(fit, random_seed=2),
    "a NumPy global seed": lambda fit, path: np.random.seed(5) or drawn(fit),  # noqa: NPY002
    "one by one": lambda fit, path: pd.concat(
        [fit.synthesize(count)[-1] for count in range(1, L + 1)], keys=range(L)
    ),
    "lazily": lambda fit, path: pd.concat(list(fit.synthetic(L, random_seed=9)), keys=range(L)),
    "replace": lambda fit, path: drawn(replace(fit)),
    "replace with another seed": lambda fit, path: drawn(
        replace(fit, random_seed=77), random_seed=3
    ),
    "copy": lambda fit, path: drawn(copy.copy(fit)),
    "deepcopy": lambda fit, path: drawn(copy.deepcopy(fit)),
    "pickle": lambda fit, path: drawn(pickle.loads(pickle.dumps(fit))),
    "of its block": lambda fit, path: drawn(Fit.of(fit.block)),
    "a block with another seed": lambda fit, path: drawn(
        fit.changed(random_seed=55), random_seed=4
    ),
    "saved and loaded": lambda fit, path: drawn(loaded(fit, path)),
    "saved twice": lambda fit, path: drawn(loaded(loaded(fit, path), path), random_seed=6),
    "a loaded copy": lambda fit, path: drawn(copy.deepcopy(loaded(fit, path)), random_seed=7),
    "other diagnostics": lambda fit, path: drawn(
        fit.changed(diagnostics=fit.block.diagnostics.assign(converged=True))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", SAME)
def test_every_way_gives_the_same_datasets(made, tmp_path, way):
    pd.testing.assert_frame_equal(SAME[way](made, tmp_path / "x.fit"), drawn(made, random_seed=0))


def wider(fit):
    statement = replace(fit.block.statement, L=1000)
    return fit.changed(censoring=replace(fit.block.censoring, statement=statement))


def fewer(fit):
    return fit.changed(
        censoring=replace(fit.block.censoring, statement=replace(fit.block.statement, L=1))
    )


def looser(fit):
    return fit.changed(
        censoring=replace(fit.block.censoring, statement=replace(fit.block.statement, lower=-9.0))
    )


def another_ledger(fit):
    ledger = fit.posterior.attrs[LEDGER]
    return fit.changed(posterior=fit.posterior.assign_attrs({LEDGER: "0" * 32 + ledger[32:]}))


def no_ledger(fit):
    posterior = fit.posterior.copy()
    posterior.attrs.clear()
    return fit.changed(posterior=posterior)


def of_other_data(fit, **besides):
    other = data().assign(jobs=data()["jobs"] + 40)
    return fit.changed(confidential=other, prepared=MODEL.prepare(other), **besides)


def of_other_rows(fit):
    other = pd.concat([data()] * 2, ignore_index=True)
    return fit.changed(
        prepared=MODEL.prepare(other), confidential=other, alpha=pd.Series(1.0, other.index)
    )


def dropped(fit):
    return fit.changed(posterior=no_ledger_of(fit.posterior), censoring=None)


def no_ledger_of(posterior):
    bare = posterior.copy(deep=True)
    bare.attrs.clear()
    return bare


REFUSED = {
    "of other data": lambda fit, path: of_other_data(fit).synthesize(L),
    "of other data, said to be the same": lambda fit, path: of_other_data(
        fit, data=fit.data
    ).synthesize(L),
    "of other rows": lambda fit, path: of_other_rows(fit).synthesize(L),
    "of a frame of other rows": lambda fit, path: replace(
        fit, prepared=replace(fit.prepared, confidential=pd.concat([data()] * 2, ignore_index=True))
    ).synthesize(L),
    "of another model": lambda fit, path: fit.changed(
        synthesizer=PoissonGraph("jobs ~ size")
    ).synthesize(L),
    "clip and ledger dropped": lambda fit, path: dropped(fit).synthesize(L),
    "clip and ledger dropped, more": lambda fit, path: dropped(fit).synthesize(
        L + 1, random_seed=1
    ),
    "clip and ledger dropped, a dataset of a draw": lambda fit, path: dropped(fit).released(
        fit.draw(0, 0), np.random.default_rng(1)
    ),
    "clip and ledger dropped, and saved": lambda fit, path: dropped(fit).save(path),
    "by its drawing": lambda fit, path: fit.drawing.released(
        fit.thetas(0, 0), np.random.default_rng(1)
    ),
    "one more": lambda fit, path: fit.synthesize(L + 1),
    "one more, another seed": lambda fit, path: fit.synthesize(L + 1, random_seed=1),
    "one more, lazily": lambda fit, path: fit.synthetic(L + 1),
    "one more, loaded": lambda fit, path: loaded(fit, path).synthesize(L + 1),
    "one more, of a pickle": lambda fit, path: pickle.loads(pickle.dumps(fit)).synthesize(L + 1),
    "the mode": lambda fit, path: fit.synthesize(L, parameters="mode"),
    "without its clip": lambda fit, path: fit.changed(censoring=None).synthesize(L),
    "without its clip, more": lambda fit, path: fit.changed(censoring=None).synthesize(40),
    "a statement of more": lambda fit, path: wider(fit).synthesize(L),
    "a statement of another clip": lambda fit, path: looser(fit).synthesize(L),
    "another ledger": lambda fit, path: another_ledger(fit).synthesize(L),
    "no ledger": lambda fit, path: no_ledger(fit).synthesize(L),
    "some of the draws": lambda fit, path: fit.changed(
        posterior=fit.posterior.isel(draw=slice(20, 60))
    ).synthesize(L),
    "draws in another order": lambda fit, path: fit.changed(
        posterior=fit.posterior.isel(draw=slice(None, None, -1))
    ).synthesize(L),
    "one chain": lambda fit, path: fit.changed(posterior=fit.posterior.isel(chain=[1])).synthesize(
        L
    ),
    "one draw": lambda fit, path: fit.changed(
        posterior=fit.posterior.isel(chain=[0], draw=[0])
    ).synthesize(1),
    "draws that were moved": lambda fit, path: fit.changed(
        posterior=(fit.posterior * 2).assign_attrs(fit.posterior.attrs)
    ).synthesize(L),
    "loaded for more": lambda fit, path: loaded(fit, path, L=L + 1),
    "loaded under another epsilon": lambda fit, path: loaded(
        fit, path, guarantee=rw.Guarantee(epsilon=60)
    ),
    "loaded without a guarantee": lambda fit, path: loaded(fit, path, guarantee=None),
    "saved without its ledger, and loaded": lambda fit, path: loaded(no_ledger(fit), path),
    "an accountant told of more": lambda fit, path: rw.Release.of("a", fit, L + 1),
    "an accountant told of fewer": lambda fit, path: rw.Release.of("a", fit, 1),
    "an accountant told of a narrower statement": lambda fit, path: rw.accountant(
        {"a": fewer(fit)}
    ),
    "a dataset of a draw": lambda fit, path: fit.released(fit.draw(0, 0), np.random.default_rng(1)),
}


@pytest.mark.parametrize("way", REFUSED)
def test_what_would_give_other_or_more_datasets_is_refused(made, tmp_path, way):
    with pytest.raises(rw.InputError) as caught:
        REFUSED[way](made, tmp_path / "x.fit")
    assert "\n" not in str(caught.value)


def test_the_accountant_counts_all_of_them(made):
    assert rw.Release.of("a", made).L == L


def test_a_fit_has_no_way_out_of_its_guarantee(made):
    assert not hasattr(made, "without_guarantee")


def test_datasets_that_say_what_chance_gives_are_others(made):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chance = drop_guarantee(made).synthesize(L, random_seed=1)
    assert not any(frame.equals(other) for frame in chance for other in made.synthesize(L))
    assert made.statement is not None


def test_another_fit_has_other_entropy_and_a_seed_repeats_it(made):
    posterior, clip = made.posterior, made.block.censoring.digest()
    assert (
        open_ledger(posterior, clip, None, "x").attrs
        != open_ledger(posterior, clip, None, "x").attrs
    )
    assert (
        open_ledger(posterior, clip, 1, "x").attrs
        == open_ledger(posterior, clip, 1, "x").attrs
        != open_ledger(posterior, clip, 2, "x").attrs
    )
    assert open_ledger(posterior, clip, 1, "x").attrs != open_ledger(posterior, clip, 1, "y").attrs
