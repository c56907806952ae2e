"""Measures of other packages: computed, held by the tables, never shown outside without a rule, and
left out where they fail.
"""

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.evaluation.measure_rows import Statistic, by_label, statistics_of
from riskweighted.evaluation.thresholds import Limit
from riskweighted.intruder.world import make_world
from riskweighted.measures import registry
from riskweighted.reports.output_rules import releasable
from riskweighted.tuning.tuning_settings import find_target, loss_of

ROOT = Path(__file__).parents[2]
BLOCKS = dict(
    re.findall(
        r"```\w+\n# (\S+)\n(.*?)```",
        (ROOT / "docs" / "own-measure.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
)
SCENARIO = rw.Scenario(known=["group"], synthetic="income")
SECRET = 987654.25


def measure(key, compute, **changes):
    told = {
        "source": "a handbook",
        "direction": "less useful",
        "kind": "share",
        "table": "utility",
        "compute": compute,
    }
    return rw.Measure(key, f"label of {key}", f"what {key} is", **(told | changes))


def median_shift(context):
    own, drawn = context.amounts
    return float(np.mean([np.median(values) / np.median(own) for values in drawn])) - 1


def several_values(context):
    return [
        rw.Value(TAILS, float((context.synthetic[0]["income"] > limit).mean()), parameter=limit)
        for limit in (10.0, 20.0)
    ]


def fails(context):
    raise ValueError(f"the largest income is {context.confidential['income'].max()}")


SHIFT = measure("median-shift", median_shift, each=True)
SHOWN = measure(
    "median-shift-shown", median_shift, each=True, disclosure=rw.Disclosure.THREE_DIGITS
)
TAILS = measure("tails", several_values, parameter="threshold", table="risk", direction="riskier")
RAISES = measure("raises", fails)
TEXT = measure("text", lambda context: f"the largest income is {SECRET}")
FOREIGN = measure("foreign", lambda context: [rw.Value(SHIFT, 1.0)])
TWICE = measure("twice", lambda context: [rw.Value(TWICE, 1.0), rw.Value(TWICE, 2.0)])
TAKEN = measure("mean", lambda context: 1.0)
NO_TEXT = measure("no-text", lambda context: 1.0, source="")
RANDOM = measure("random", lambda context: context.rng.random())


class Point:
    """An entry point that stands for an installed one."""

    def __init__(self, loaded, name="one"):
        self.name, self._loaded = name, loaded

    def load(self):
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def install(monkeypatch):
    def of(*added):
        points = [
            Point(one, getattr(one, "key", f"point-{place}")) for place, one in enumerate(added)
        ]
        monkeypatch.setattr(
            registry, "entry_points", lambda group: points if group == registry.GROUP else []
        )
        registry.measures.cache_clear()

    yield of
    registry.measures.cache_clear()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    income = np.append(np.exp(3 + rng.normal(size=119)), SECRET)
    return pd.DataFrame({"group": rng.choice(["a", "b"], 120), "income": income})


@pytest.fixture(scope="module")
def frames(data):
    rng = np.random.default_rng(2)
    return {
        label: [
            data.assign(income=data["income"] * np.exp(rng.normal(size=120))) for _ in range(10)
        ]
        for label in ("one", "two")
    }


def evaluated(data, frames, **changes):
    return rw.evaluate(
        data,
        frames,
        SCENARIO,
        settings=rw.EvaluationSettings(resamples=5),
        random_seed=1,
        **changes,
    )


def test_it_stands_in_its_table_beside_all_others(data, frames, install):
    install()
    plain = evaluated(data, frames)
    install(SHIFT, TAILS)
    found = evaluated(data, frames)
    shift = by_label(found.utility, Statistic("median-shift", "income"))
    assert shift["confidential"] == 0
    expected = (
        np.mean([np.median(one["income"]) / np.median(data["income"]) for one in frames["two"]]) - 1
    )
    assert shift["two"] == pytest.approx(expected)
    assert (
        by_label(found.risk, Statistic("tails", parameter=20.0))["one"]
        == (frames["one"][0]["income"] > 20).mean()
    )
    assert "label of median-shift of income" in found.summary()
    pd.testing.assert_frame_equal(
        found.utility[found.utility["key"] != "median-shift"].reset_index(drop=True), plain.utility
    )
    pd.testing.assert_frame_equal(
        found.risk[found.risk["key"] != "tails"].reset_index(drop=True), plain.risk
    )


def test_a_measure_of_ours_may_give_a_plain_number_too(data, frames, install, monkeypatch):
    """A file of `riskweighted.measures` and a package declare the same thing."""
    ours = dict(registry._ours())
    monkeypatch.setattr(registry, "_ours", lambda: ours | {SHIFT.key: SHIFT})
    install()
    found = by_label(evaluated(data, frames).utility, Statistic("median-shift", "income"))
    own, others = data["income"].median(), [one["income"].median() for one in frames["one"]]
    assert found["one"] == pytest.approx(np.mean(others) / own - 1)


def test_its_random_numbers_do_not_depend_on_which_others_there_are(data, frames, install):
    install(RANDOM)
    alone = by_label(evaluated(data, frames).utility, Statistic("random"))
    install(SHIFT, RANDOM, TAILS)
    pd.testing.assert_series_equal(
        alone, by_label(evaluated(data, frames).utility, Statistic("random"))
    )
    assert alone.nunique() == 3


def test_without_a_rule_it_is_never_shown_outside(data, frames, install):
    install(SHIFT, SHOWN)
    found = evaluated(data, frames)
    summary = (
        found.summary()
        .rename_axis("label")
        .reset_index()
        .assign(**dict.fromkeys(["model fits", "mean weight", "largest R-hat", "converged"], 1))
    )
    tables = {
        "risk": found.risk,
        "utility": found.utility,
        "summary": summary,
        "convergence": pd.DataFrame({"label": []}),
    }
    kept, withheld = releasable(tables, ["confidential", "one", "two"], ["income"])
    keys = {one.key for one in statistics_of(kept["utility"])}
    assert "median-shift-shown" in keys
    assert "median-shift" not in keys
    assert withheld["utility"] == ["median-shift"]
    install()  # a run whose measure is no longer installed
    kept, withheld = releasable(tables, ["confidential", "one", "two"], ["income"])
    assert not {"median-shift", "median-shift-shown"} & {
        one.key for one in statistics_of(kept["utility"])
    }
    # nobody has checked the text of a measure that is not registered
    assert withheld["utility"] == ["", ""]


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (RAISES, "the measure 'raises' raised ValueError: it is left out"),
        (TEXT, "the measure 'text' raised TypeError: it is left out|gave no number"),
        (FOREIGN, "the measure 'foreign' gave no number, nor values of its own"),
        (TWICE, "the measure 'twice' gave no number, nor values of its own"),
    ],
)
def test_one_that_fails_is_named_and_the_others_stand(data, frames, install, added, said):
    install()
    plain = evaluated(data, frames)
    install(added, SHIFT)
    with pytest.warns(RiskWeightedWarning, match=said) as caught:
        found = evaluated(data, frames)
    assert not any(
        f"{SECRET:.0f}" in str(one.message) or "\n" in str(one.message) for one in caught
    )
    assert set(found.utility["key"]) == {*plain.utility["key"], "median-shift"}


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (TAKEN, "'mean' of riskweighted.measures has the key 'mean', which is taken"),
        (NO_TEXT, "says no key, label, definition, source, direction or kind"),
        (measure("idle", None), "has no compute"),
        (
            measure("shown", lambda context: 1.0, disclosure="2 decimals"),
            "is no riskweighted.Disclosure",
        ),
        (object, "is no riskweighted.Measure"),
        (
            ImportError(f"{SECRET}"),
            r"'point-0' of riskweighted.measures cannot be loaded \(ImportError\): it is left out",
        ),
    ],
)
def test_what_is_no_measure_is_named_and_left_out(data, frames, install, added, said):
    install(added, SHIFT)
    with pytest.warns(RiskWeightedWarning, match=said):
        keys = set(registry.measures())
    assert "median-shift" in keys
    assert (
        by_label(evaluated(data, frames).utility, Statistic("mean", "income"))["confidential"] > 1
    )


def test_thresholds_targets_and_losses_take_it_by_its_key(data, frames, install):
    install(SHIFT)
    limit = Limit.read("median-shift", 0.2)
    assert limit.at_most == 0.2
    assert limit.of_cost
    assert find_target("median-shift(income)").variable == "income"
    loss = loss_of("median-shift", make_world(data, SCENARIO), None)
    assert loss.measure(frames["one"]).value == pytest.approx(
        by_label(evaluated(data, frames).utility, Statistic("median-shift", "income"))["one"]
    )
    assert loss.measure(frames["one"]).error > 0
    install()
    with pytest.raises(InputError, match="'median-shift' is no measure"):
        Limit.read("median-shift", 0.2)
    with pytest.raises(InputError, match="another measure of utility, got 'median-shift'"):
        loss_of("median-shift", make_world(data, SCENARIO), None)


def test_an_installed_package_adds_one(data, frames, tmp_path, monkeypatch):
    (tmp_path / "stray.py").write_text(
        "import riskweighted as rw\n"
        "ONE = rw.Measure('of-stray', 'of stray', 'a one', source='s', direction='riskier', "
        "kind='count', compute=lambda context: 1)\n"
    )
    info = tmp_path / "stray-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stray\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[riskweighted.measures]\nof-stray = stray:ONE\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    registry.measures.cache_clear()
    try:
        assert "of-stray" in importlib.metadata.entry_points(group="riskweighted.measures").names
        assert by_label(evaluated(data, frames).risk, Statistic("of-stray"))["two"] == 1
    finally:
        registry.measures.cache_clear()
        sys.modules.pop("stray", None)


def test_the_page_on_a_measure_of_your_own_is_run(tmp_path):
    project = tomllib.loads(BLOCKS["pyproject.toml"])["project"]
    info = tmp_path / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (points,) = project["entry-points"].values()
    (info / "entry_points.txt").write_text(
        "[riskweighted.measures]\n"
        + "".join(f"{name} = {value}\n" for name, value in points.items())
    )
    for name, text in BLOCKS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "models")])
    }
    done = subprocess.run(
        [sys.executable, "try_it.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"share-beyond\s+wild\s+income\s+0\.\d+", done.stdout)
