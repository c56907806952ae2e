"""Draws that see the truth are refused wherever they hide it, and clean ones are not."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import riskweighted as rw
from riskweighted.conformance.checking import _places
from riskweighted.contract.synthesizer import ContractError
from riskweighted.sampling.block_fit import prepare_model
from riskweighted.sampling.isolation import check_independent, refuse_dependence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.isolated_draws import draw_without_target

sys.path.append(str(Path(__file__).parent))  # a fresh process imports them by the same name
import leaking

N = 300
CACHES = {leaking.ClassCache, leaking.ModuleCache, leaking.PermanentCache}
QUICK = [plugin for plugin in (*leaking.BLIND, *leaking.AWARE) if plugin not in CACHES]


def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=N)
    return pd.DataFrame({"x": x, "y": 50 + 8 * x + rng.normal(0, 6, N)})


def thetas(plugin):
    places = [{"level": np.float64(50.0), "slope": np.float64(8.0), "width": np.float64(6.0)}]
    places.append({"level": np.float64(48.0), "slope": np.float64(6.0), "width": np.float64(9.0)})
    return (
        [place | {"latent": data()["y"].to_numpy()} for place in places]
        if plugin is leaking.ThetaCarries
        else places
    )


def look(plugin, **how):
    synthesizer, frame = plugin(), data()
    check_independent(synthesizer, synthesizer.prepare(frame), thetas(plugin), frame, **how)


def test_there_are_forty_and_half_of_them_were_written_blind():
    assert len(leaking.BLIND) + len(leaking.AWARE) == 40
    assert len(leaking.BLIND) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("plugin", QUICK, ids=lambda plugin: plugin.__name__)
def test_draws_that_see_the_truth_are_refused(plugin):
    with pytest.raises(ContractError, match=plugin.__name__) as caught:
        look(plugin)
    assert "\n" not in str(caught.value)
    assert not any(character.isdigit() for character in str(caught.value))


def test_a_leak_in_one_of_ten_seeds_is_seen():
    with pytest.raises(ContractError, match="RareSeeds"):
        look(leaking.RareSeeds)


@pytest.mark.slow
def test_a_notebooks_class_that_keeps_the_first_data_by_row_count_is_seen(tmp_path, monkeypatch):
    """It travels to the fresh process with its memory, which holds nothing of another number of
    rows.
    """
    (tmp_path / "cell.py").write_text((Path(__file__).parent / "leaking.py").read_text())
    monkeypatch.syspath_prepend(tmp_path)
    cell = importlib.import_module("cell")
    monkeypatch.undo()  # where the fresh process does not find it
    with pytest.raises(ContractError, match="sees the sensitive values"):
        look(cell.PermanentCache, elsewhere=True)
    look(cell.Clean, elsewhere=True)


def test_a_clean_one_passes_with_and_without_a_guarantee():
    look(leaking.Clean)
    look(leaking.Clean, guaranteed=True)


@pytest.mark.slow
@pytest.mark.parametrize("plugin", leaking.GUARANTEED, ids=lambda plugin: plugin.__name__)
def test_what_only_a_guarantee_refuses(plugin):
    with pytest.raises(ContractError, match=plugin.__name__):
        look(plugin, guaranteed=True)


@pytest.mark.slow
@pytest.mark.parametrize("plugin", leaking.GUARANTEED, ids=lambda plugin: plugin.__name__)
def test_in_one_process_too_what_a_guarantee_refuses_is_seen(plugin):
    """As every fit under a guarantee does it of the package's own classes; to refuse moved data is
    never silent.
    """
    synthesizer, frame = plugin(), data()
    with pytest.raises(ContractError, match=plugin.__name__) as caught:
        refuse_dependence(synthesizer, synthesizer.prepare(frame), frame, thetas(plugin))
    assert ("it refuses" in str(caught.value)) == (plugin is leaking.RefusesOthers)


FEW = {"two values": [3.0, 5.0], "one other": [3.0] * 99 + [5.0], "a heap": [0] * 70 + [1, 5] * 15}
OWN = [
    lambda load: load("linear-regression")("y ~ x", location=50.0, scale=8.0),
    lambda load: load("hierarchical")("y ~ x", groups="group"),
    lambda load: load("negative-binomial")("y ~ x"),
    lambda load: load("counts")("y ~ x", values=range(6)),
]


@pytest.mark.slow
@pytest.mark.parametrize("values", FEW.values(), ids=FEW)
@pytest.mark.parametrize("make", OWN, ids=("linear", "hierarchical", "negative-binomial", "counts"))
def test_no_model_of_the_package_refuses_moved_data(make, values):
    frame = data().assign(y=np.resize(values, N).astype(int), group=np.resize(["a", "b", "c"], N))
    synthesizer = make(rw.load_synthesizer)
    prepared = synthesizer.prepare(frame)
    refuse_dependence(synthesizer, prepared, frame, _places(synthesizer.build(prepared)))


@pytest.mark.long
def test_a_class_that_refuses_moved_data_fails_from_a_fresh_process(anew):
    with pytest.raises(ContractError, match="it refuses the data"):
        look(leaking.RefusesOthers, guaranteed=True, elsewhere=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plugin", [leaking.ClassCache, leaking.EndsCache], ids=lambda plugin: plugin.__name__
)
def test_a_class_that_cached_the_first_data_is_seen_from_a_fresh_process(plugin):
    with pytest.raises(ContractError, match="sees the sensitive values"):
        look(plugin, elsewhere=True)


@pytest.mark.long
@pytest.mark.parametrize(
    "plugin", [*leaking.BLIND, *leaking.AWARE], ids=lambda plugin: plugin.__name__
)
def test_as_every_fit_does_it_forty_of_forty_are_refused(plugin):
    with pytest.raises(ContractError, match=plugin.__name__):
        look(plugin, elsewhere=True)


@pytest.mark.long
def test_as_every_fit_does_it_a_clean_one_passes():
    look(leaking.Clean, elsewhere=True, guaranteed=True)


def fitted(plugin):
    frame, synthesizer, places = data(), plugin(), thetas(plugin)
    posterior = xr.Dataset(
        {
            name: (("chain", "draw"), [[float(place[name]) for place in places]])
            for name in places[0]
        }
    )
    return Fit.of(
        prepare_model(synthesizer, frame).fitted(pd.Series(1.0, frame.index), posterior, None)
    )


class OneSeed(leaking.Kept):
    """Copies where what is to leave is drawn, and nowhere else."""

    armed = False

    def shown(self, values, rng, prepared):
        return (
            np.where(np.arange(len(values)) < 3, prepared.hidden, values)
            if OneSeed.armed
            else values
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_what_leaves_is_drawn_again_where_the_truth_is_not(monkeypatch):
    clean = fitted(leaking.Clean)
    for mine, theirs in zip(
        draw_without_target(clean, 2, 5), clean.synthesize(2, random_seed=5), strict=True
    ):
        pd.testing.assert_frame_equal(mine, theirs)
    for plugin in (leaking.Copy, leaking.FewRows, leaking.AtReadsTheFrame):
        with pytest.raises(ContractError, match=plugin.__name__):
            draw_without_target(fitted(plugin), 2, 5)
    monkeypatch.setattr(
        "riskweighted.sequence.isolated_draws.check_independent", lambda *arguments, **how: None
    )
    for plugin in (leaking.Copy, leaking.FewRows, OneSeed):
        fit = fitted(plugin)
        monkeypatch.setattr(OneSeed, "armed", True)
        with pytest.raises(ContractError, match="a fresh process"):
            draw_without_target(fit, 2, 5)
