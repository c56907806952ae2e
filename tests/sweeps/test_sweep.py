"""The sweep: which cells share a fit, what a killed one goes on from, and that nobody's work is in
the results.
"""

import hashlib
import html
import json
import math
import shutil
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.commands.sweep import sweep as sweep_command
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.evaluation.verdicts import overall
from riskweighted.reports.output_rules import INTERNAL
from riskweighted.reports.sweep_page import sweep_report
from riskweighted.reports.sweep_table import settings_table
from riskweighted.reports.verdict_sentences import brief_sentence
from riskweighted.runs import work as working
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study
from riskweighted.sampling import compilation
from riskweighted.sweeps import sweep as sweeping
from riskweighted.sweeps.cells import Outcome, group_cells, identify
from riskweighted.sweeps.dispatch import run_groups
from riskweighted.sweeps.results import sweep_inputs
from riskweighted.sweeps.scheduling import Pool
from riskweighted.sweeps.settings_grid import Sweep, expand_grid, load_sweep, value_text
from riskweighted.sweeps.sweep import sweep

SECRET = 91827.6453
SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income", "radius": 0.3},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "sampling": {"draws": 60, "tune": 60, "chains": 2, "engine": "nuts"},
    "release": {"L": 3},
    "evaluation": {"resamples": 20, "increase": 0.05},
    "seed": 7,
}
STUDY = make_study(SETTINGS)
LATER = [pytest.mark.long, pytest.mark.slow]
SMALL = {"evaluation.radius": [0.3, 0.1], "release.L": [3, 2]}


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 60)
    income = np.exp(3 + (group == "b") + rng.normal(size=60))
    income[0] = SECRET
    return pd.DataFrame({"group": group, "income": income})


@pytest.fixture(scope="module")
def whole(tmp_path_factory, confidential):
    """The small sweep run through in this process."""
    out = tmp_path_factory.mktemp("whole") / "out"
    return sweep(Sweep(STUDY, SMALL, 2), out, confidential=confidential, workers=1)


@pytest.fixture
def samplings(monkeypatch):
    """Calls of the sampler, by the sum of the weights."""
    sample, seen = compilation.CompiledModel.sample, {"calls": []}

    def counted(self, alpha=None, **settings):
        seen["calls"].append(
            None if self.blueprint is None or alpha is None else round(float(alpha.sum()), 6)
        )  # of a baseline nothing is sampled
        return sample(self, alpha, **settings)

    monkeypatch.setattr(compilation.CompiledModel, "sample", counted)
    return seen


@pytest.fixture(scope="module")
def begun(tmp_path_factory, confidential):
    """The working folder of the small sweep, interrupted in its sixth fit."""
    out, sample, calls = (
        tmp_path_factory.mktemp("begun") / "out",
        compilation.CompiledModel.sample,
        [],
    )

    def interrupted(self, alpha=None, **settings):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return sample(self, alpha, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation.CompiledModel, "sample", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sweep(Sweep(STUDY, SMALL, 2), out, confidential=confidential, workers=1)
    return out.with_name("out.partial")


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def at(results, **settings):
    names = {"radius": "evaluation.radius", "L": "release.L"}
    for name, value in settings.items():
        results = results[results[names.get(name, name)] == value]
    return results


# -- the grid


def test_every_combination_repetition_and_label_is_a_point():
    points = expand_grid(Sweep(STUDY, SMALL | {"weights.schemes": ["unweighted", "3-way"]}, 2))
    assert len(points) == 2 * 2 * 2 * 3
    assert [point.label for point in points[:3]] == ["confidential", "unweighted", "3-way"]
    assert points[0].settings == {"evaluation.radius": 0.3, "release.L": 3}
    assert [point.study.seed for point in points[::3][:2]] == [7, 8]
    assert points[-1].study.evaluating_scenario().radius == 0.1
    assert points[-1].study.weighting_scenario().radius == 0.3
    assert points[-1].study.release.L == 2


def test_top_coding_joins_where_the_study_or_the_grid_has_it():
    points = expand_grid(Sweep(STUDY, {"top_coding.quantile": [0.9, 0.8]}))
    assert [point.label for point in points][-1] == "top-coding"
    assert points[-1].study.baselines["top-coding"]["quantile"] == 0.8


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({}, "the grid is empty"),
        (
            {"seed": list(range(1001)), "release.L": list(range(1, 1001))},
            r"the grid has 1,001,000 cells.*at most 1,000,000",
        ),
        (
            {"scenario.radios": [1]},
            r"unknown setting 'scenario.radios' in the grid; valid are "
            r".*'scenario.radius'.*'weights.radius'",
        ),
        ({"scenario.radios": [1]}, "'evaluation.radius'.*'synthesizer.transform'.*'seed'"),
        ({"synthesizer.components": [1]}, "unknown setting 'synthesizer.components'"),
        ({"synthesizer.name": ["nope"]}, "unknown synthesizer 'nope'"),
        ({"release.L": []}, "'release.L' lists no value"),
        ({"release.L": 20}, "'release.L' must be a list of values, got int"),
        ({"release.L": "20"}, "'release.L' must be a list of values, got str"),
        ({"release.L": [2, 2]}, "lists '2' more than once"),
        ({"release.L": [2, 0]}, "at the grid point release.L = 0: setting 'release.L'.*got 0"),
        (
            {"release.L": [2], "sampling.draws": [60, 0]},
            "release.L = 2, sampling.draws = 0: setting 'sampling.draws'",
        ),
        ({"release.L": [121]}, "at most the 120 posterior draws"),
        (
            {"scenario.radius": [-0.1]},
            "scenario.radius = -0.1: setting 'scenario.radius': radius must be a finite number",
        ),
        (
            {"weights.radius": [-0.1]},
            "weights.radius = -0.1: setting 'weights.radius': radius must be a finite number",
        ),
        ({"weights.schemes": [["marginal"]]}, "must be the name of one scheme"),
        ({"weights.schemes": ["marginal", "nope"]}, "unknown weighting scheme 'nope'"),
        (
            {"weights.schemes": ["uniform(c=0.1)", "uniform(c=.10)"]},
            r"lists 'uniform\(c=0.1\)' more than once",
        ),
        ({"evaluation.quantiles": [[0.5], [0.5, 0.5]]}, "quantiles must each be named once"),
        (
            {"scenario.known": ["group", "nope"]},
            "known = nope: confidential data has no column 'nope'",
        ),
        ({"synthesizer.formula": ["income ~ nope"]}, "nope"),
        ({"data.path": ["other.csv"]}, "the data are given as a DataFrame"),
    ],
)
def test_bad_grids_are_refused_before_anything_runs(
    tmp_path, confidential, samplings, grid, message
):
    with pytest.raises(InputError, match=message) as caught:
        sweep(Sweep(STUDY, grid), tmp_path / "out", confidential=confidential, workers=1)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert samplings["calls"] == []


@pytest.mark.parametrize(
    ("grid", "settings", "message"),
    [
        ({"seed": [1, 2]}, {"repetitions": 2}, "both set the seed"),
        (SMALL, {"repetitions": 0}, "repetitions must be a whole number >= 1, got 0"),
    ],
)
def test_bad_repetitions(grid, settings, message):
    with pytest.raises(InputError, match=message):
        Sweep(STUDY, grid, **settings)


FILE = """
study = "study.toml"
repetitions = 3
[grid]
"scenario.radius" = [0.3, 0.2]
release.L = [5]
"""


def test_a_sweep_file_names_its_study_by_path_or_holds_it(tmp_path):
    tables = (
        '[{0}data]\npath = "d.csv"\n[{0}scenario]\nsynthetic = "y"\n[{0}synthesizer]\nname = '
        '"negative-binomial"\nformula = "y ~ 1"\n'
    )
    (tmp_path / "study.toml").write_text(tables.format(""))
    (tmp_path / "by_path.toml").write_text(FILE)
    (tmp_path / "inline.toml").write_text(
        FILE.replace('study = "study.toml"', "") + tables.format("study.")
    )
    by_path, inline = (load_sweep(tmp_path / name) for name in ("by_path.toml", "inline.toml"))
    assert by_path == inline
    assert by_path.grid == {"scenario.radius": [0.3, 0.2], "release.L": [5]}
    assert by_path.study.data.path == tmp_path / "d.csv"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('study = "study.toml"', "", "must name its study"),
        ('study = "study.toml"', 'study = "other.toml"', "there is no study file"),
        (
            "repetitions = 3",
            "repetition = 3",
            "unknown setting 'repetition' in 'sweep.toml'; valid are 'study', 'repetitions', "
            "'grid'",
        ),
        ("[grid]", "[grid", "not valid TOML"),
    ],
)
def test_bad_sweep_files(tmp_path, old, new, message):
    (tmp_path / "sweep.toml").write_text(FILE.replace(old, new))
    with pytest.raises(InputError, match=message):
        load_sweep(tmp_path / "sweep.toml")


# -- which cells are one, and which share a fit


def cell_at(label, **changes):
    settings = {
        section: dict(values) if isinstance(values, dict) else values
        for section, values in SETTINGS.items()
    }
    for name, value in changes.items():
        section, _, key = name.partition("__")
        settings[section] = settings.get(section, {}) | {key: value} if key else value
    point = expand_grid(Sweep(make_study(settings), {"weights.schemes": [label]}))[1]
    assert point.label == label
    return identify(point, "data", {"numpy": "1"}, whack_a_mole=True)


@pytest.mark.parametrize(
    ("label", "change", "same_cell", "same_fit"),
    [
        ("marginal", {"release__L": 2}, False, True),
        ("marginal", {"evaluation__radius": 0.1}, False, True),
        ("marginal", {"evaluation__resamples": 21}, False, True),
        ("marginal", {"release__format": "parquet"}, True, True),
        # as the scenario has it
        ("marginal", {"evaluation__radius": 0.3, "weights__radius": 0.3}, True, True),
        ("marginal", {"weights__radius": 0.1}, False, False),
        ("marginal", {"weights__scale": 0.5}, False, False),
        ("marginal", {"seed": 8}, False, False),
        ("marginal", {"sampling__draws": 61}, False, False),
        ("marginal", {"synthesizer__transform": "asinh"}, False, False),
        ("marginal", {"scenario__radius": 0.1}, False, False),
        ("unweighted", {"weights__radius": 0.1, "weights__scale": 0.5}, True, True),
        ("unweighted", {"scenario__radius": 0.1}, False, True),
        ("unweighted", {"release__L": 2}, False, True),
        ("unweighted", {"seed": 8}, False, False),
    ],
)
def test_what_decides_a_cell_and_its_fit(label, change, same_cell, same_fit):
    before, after = cell_at(label), cell_at(label, **change)
    assert (before.key == after.key) == same_cell
    assert (before.fit == after.fit) == same_fit


def test_data_and_versions_decide_a_cell():
    point = expand_grid(Sweep(STUDY, SMALL))[1]
    keys = {
        identify(point, data, {"numpy": version}, whack_a_mole=True).key
        for data in ("d", "e")
        for version in ("1", "2")
    }
    assert len(keys) == 4


def test_the_baseline_is_the_unweighted_fit_of_the_same_repetition():
    assert cell_at("marginal", weights__radius=0.1).baseline == cell_at("unweighted").fit
    assert cell_at("marginal", seed=8).baseline == cell_at("unweighted", seed=8).fit
    assert cell_at("unweighted").baseline is None


def test_a_finished_baseline_is_fitted_again_only_where_someone_needs_it():
    cells = [cell_at("unweighted"), cell_at("marginal"), cell_at("pairwise")]
    groups = group_cells(cells, {cells[0].key, cells[1].key})
    assert [(group.first.label, len(group.cells)) for group in groups] == [
        ("unweighted", 0),
        ("pairwise", 1),
    ]
    assert group_cells(cells, {cell.key for cell in cells}) == []


def test_groups_wait_for_their_baseline_whatever_finishes_first():
    cells = [
        cell_at(label, seed=seed)
        for seed in range(4)
        for label in ("marginal", "unweighted", "pairwise")
    ]
    rng, submitted = np.random.default_rng(0), []

    def slow(group, seconds):
        time.sleep(seconds)
        return Outcome(
            {},
            {},
            f"posterior {group.first.study.seed}" if group.first.label == "unweighted" else None,
        )

    with ThreadPoolExecutor(3) as executor:

        def submit(function, group, posteriors, worker):
            submitted.append((group.first.label, group.first.study.seed, set(posteriors.values())))
            return executor.submit(slow, group, rng.uniform(0, 0.02))

        outcomes = list(run_groups(Pool(submit, lambda: ["a", "b"]), group_cells(cells, set())))
    assert len(outcomes) == len(submitted) == len(cells)
    for label, seed, posteriors in submitted:
        assert posteriors == (set() if label == "unweighted" else {f"posterior {seed}"})


def test_a_group_waits_for_the_fit_that_its_weights_are_made_of():
    cells = [cell_at(label) for label in ("reweighted(of=pairwise)", "pairwise", "unweighted")]
    submitted = []

    def submit(function, group, posteriors, worker):
        submitted.append(group.first.label)
        done = Future()
        done.set_result(Outcome({}, {}, group.first.label if group.posterior else None))
        assert set(posteriors.values()) == {"unweighted", "pairwise"} & set(submitted[:-1])
        return done

    assert len(list(run_groups(Pool(submit, lambda: ["a", "b"]), group_cells(cells, set())))) == 3
    assert submitted == ["unweighted", "pairwise", "reweighted(of=pairwise)"]
    finished = {cells[1].key}  # whose posterior is needed again
    submitted.clear()
    list(run_groups(Pool(submit, lambda: ["a"]), group_cells(cells, finished)))
    assert submitted == ["unweighted", "pairwise", "reweighted(of=pairwise)"]
    failing = [Outcome.failed(group, "no") for group in group_cells(cells, set())]
    found = list(
        run_groups(
            Pool(lambda *_, worker: _done(failing[0]), lambda: ["a"]), group_cells(cells, set())
        )
    )
    assert found[0].failure == "no"
    assert all("a fit that it needs failed" in outcome.failure for outcome in found[1:])


def _done(outcome):
    done = Future()
    done.set_result(outcome)
    return done


# -- results


def of_the_file(rows):
    """Figures of the whole file, those of disclosure among them; one that is not judged is none."""
    return (
        rows[rows["variable"].isna()]
        .dropna(subset="value")
        .set_index(["label", "measure"])["value"]
    )


def test_what_is_given_away_beyond_inference_stands_first(whole):
    results = at(whole.results, radius=0.3, L=3, repetition=1)
    of_one = results[results["key"].isin(["disclosure", "attack-success"])].set_index(
        ["label", "key"]
    )["value"]
    for label in ("unweighted", "marginal", "pairwise"):
        disclosed = of_one[label, "disclosure"]
        converged = results.loc[results["label"] == label, "converged"].all()
        # of a fit that did not converge nothing is said
        assert abs(disclosed) < 0.2 if converged else np.isnan(disclosed)
        assert 0 <= of_one[label, "attack-success"] <= 1
    assert ("confidential", "disclosure") not in of_one.index
    # it follows radius, L and seed
    assert (
        whole.results.groupby(["label", "key"])["value"].nunique()["unweighted", "attack-success"]
        > 1
    )


# too short to, and the same in both
@pytest.mark.filterwarnings("ignore:LinearRegression did not converge")
def test_repetition_one_is_what_run_gives(tmp_path, confidential, whole):
    radius = 0.1  # another one than that of the weights
    study = make_study(
        SETTINGS | {"evaluation": SETTINGS["evaluation"] | {"radius": radius}, "reproducible": True}
    )
    run = run_study(study, tmp_path / "run", confidential=confidential)
    ours = at(whole.results, radius=radius, L=3, repetition=1)
    risk, expected = of_the_file(ours), of_the_file(run.evaluation.risk)
    assert risk.to_dict() == expected.to_dict()
    assert ("pairwise", "whack-a-mole records") in risk.index
    cells = (
        at(table, radius=radius, L=3, repetition=1)
        for table in (whole.results, whole.disclosure_verdicts, whole.fit_check)
    )
    named = SimpleNamespace(
        **dict(zip(("results", "disclosure_verdicts", "fit_check"), cells, strict=True))
    )
    # the words of a sweep are those of a run
    for row in settings_table(named, study.weights.schemes, study.thresholds).itertuples():
        scheme = row.setting.rpartition(" ")[2]
        assert (row.verdict, row.why) == (
            overall(run.verdicts, scheme),
            brief_sentence(run.verdicts, scheme, INTERNAL),
        )
    distances = run.evaluation.utility.query("measure in ['U_m', 'U_a']").set_index(
        ["label", "measure"]
    )["value"]
    assert (
        ours[ours["measure"].isin(["U_m", "U_a"])]
        .set_index(["label", "measure"])["value"]
        .to_dict()
        == distances.to_dict()
    )
    # The bootstrap of the first label has the same seed, so it is the same too.
    mean = run.evaluation.utility.query("measure == 'mean'").set_index("label")
    for label in ("confidential", "unweighted"):
        row = ours[(ours["label"] == label) & (ours["measure"] == "mean")].iloc[0]
        assert (row["value"], row["lower"]) == (mean.loc[label, "value"], mean.loc[label, "lower"])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:LinearRegression did not converge")
def test_schemes_made_of_a_fit_are_what_run_gives(tmp_path, confidential):
    schemes = [
        "reweighted(of=marginal)",
        "unweighted",
        "marginal",
        "lipschitz-target(D=2)",
        "uniform(c=.5)",
    ]
    study = make_study(SETTINGS | {"weights": {"schemes": schemes}, "reproducible": True})
    run = run_study(study, tmp_path / "run", confidential=confidential)
    assert list(run.summary.index) == ["confidential", *schemes[:-1], "uniform(c=0.5)"]
    assert run.summary.loc["uniform(c=0.5)", "mean weight"] == 0.5
    assert run.summary.loc["lipschitz-target(D=2)", "mean weight"] < 1
    done = sweep(
        Sweep(study, {"release.L": [3]}), tmp_path / "sweep", confidential=confidential, workers=1
    )
    assert not len(done.failures)
    assert of_the_file(done.results).to_dict() == of_the_file(run.evaluation.risk).to_dict()
    with pytest.raises(InputError, match="made of the fit of 'marginal': name 'marginal'"):
        sweep(
            Sweep(study, {"weights.schemes": ["reweighted", "unweighted"]}),
            tmp_path / "no",
            confidential=confidential,
            workers=1,
        )


def test_the_table_is_tidy(whole):
    table = whole.results
    names = list(table.columns)
    assert names[:6] == [
        "evaluation.radius",
        "release.L",
        "repetition",
        "seed",
        "label",
        "variable",
    ]
    assert not table.duplicated([*names[:6], "measure"]).any()
    one = table.drop_duplicates(names[:5])
    assert len(one) == 2 * 2 * 2 * 4
    weighted = one[one["label"] != "confidential"]
    assert weighted["largest_r_hat"].gt(0.9).all()
    assert weighted["converged"].notna().all()
    assert one.loc[one["label"] == "confidential", "converged"].isna().all()
    assert (one.loc[one["label"] == "unweighted", "mean_weight"] == 1).all()
    assert len(whole.failures) == 0
    assert (whole.folder / "failures.csv").exists() is False
    pd.testing.assert_frame_equal(pd.read_parquet(whole.folder / "results.parquet"), table)
    definitions = pd.read_csv(whole.folder / "definitions.csv")
    assert set(zip(definitions["label"], definitions["measure"], strict=True)) == set(
        zip(table["label"], table["measure"], strict=True)
    )


def test_a_sweep_has_a_page_of_its_settings(whole, tmp_path):
    made = sweep_report(whole.folder)
    names = {key.rpartition("-")[0] for key in (figure.key for figure in made.figures)}
    assert {"evaluation-radius-expected-mean-risk", "release-L-ecdf-maximum"} <= names
    first = settings_table(whole, STUDY.weights.schemes, STUDY.thresholds).iloc[0]
    table = next(section for section in made.sections if section.key == "settings").blocks[0]
    assert len(table.rows) == 2 * 2 * 3
    assert table.rows[0][0] == first["setting"]
    radius, count = (part.partition("=")[2] for part in first["setting"].split()[:2])
    assert (
        f"evaluation.radius = {radius}; release.L = {count}; weights.schemes = "
        in html.unescape(made.page)
    )
    copy = tmp_path / "swept"
    shutil.copytree(whole.folder, copy)
    assert CliRunner().invoke(app, ["report", str(copy)]).exit_code == 0
    page = tmp_path / "swept-report-CONFIDENTIAL.html"
    assert page.read_text(encoding="utf-8") == made.page
    (copy / "fit_check.csv").write_text("label\n")
    with pytest.raises(InputError, match=r"fit_check\.csv.*is not the file that the sweep wrote"):
        sweep_report(copy)


def test_the_manifest_hashes_every_file_and_no_file_holds_a_value(whole):
    files = content(whole.folder)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["files"] == {
        name: hashlib.sha256(text).hexdigest() for name, text in files.items()
    }
    assert manifest["grid"] == SMALL
    assert manifest["settings"]["seed"] == 7
    for text in content(whole.folder).values():
        assert b"91827" not in text


def test_open_ends_in_a_grid_are_null_in_json():
    plan = Sweep(STUDY, {"synthesizer.support": [[0, math.inf], [0, 1e9]]})
    inputs = sweep_inputs(plan, {STUDY.data: "x"})
    assert json.loads(json.dumps(inputs, allow_nan=False))["grid"] == {
        "synthesizer.support": [[0, None], [0, 1e9]]
    }
    assert value_text([0, math.inf]) == "[0, null]"


@pytest.mark.slow
def test_cells_share_fits_and_compilation(tmp_path, confidential, samplings, monkeypatch):
    compiled, original = [], compilation._compile
    monkeypatch.setattr(
        compilation, "_compile", lambda model: compiled.append(1) or original(model)
    )
    grid = {
        "weights.radius": [0.1, 0.3],
        "evaluation.radius": [0.1, 0.2],
        "release.L": [2],
        "top_coding.quantile": [0.9],
    }
    done = sweep(Sweep(STUDY, grid, 2), tmp_path / "out", confidential=confidential, workers=1)
    sampled = [total for total in samplings["calls"] if total is not None]
    # unweighted once, two schemes at two radii, in two repetitions
    assert len(sampled) == 2 * (1 + 2 * 2)
    assert sampled.count(60.0) == 2
    assert len(compiled) <= 1
    # What does not depend on the weighting radius is the same at both.
    plain = done.results[done.results["label"].isin(["unweighted", "top-coding"])]
    low, high = (
        plain[plain["weights.radius"] == radius]
        .drop(columns="weights.radius")
        .reset_index(drop=True)
        for radius in (0.1, 0.3)
    )
    pd.testing.assert_frame_equal(low, high)


# -- interruption, failure, other inputs


def test_an_interrupted_sweep_goes_on_with_the_same_bytes(
    tmp_path, confidential, whole, begun, samplings
):
    """In its sixth fit; killed ones are those of test_scheduling.py."""
    assert not begun.with_name("out").exists()
    kept = sum(1 for _ in begun.glob("cells/*.json"))
    assert kept == 2 + 3 * 4 + 2 + 2 * 4  # the confidential data has no L, so 2 cells and not 4
    shutil.copytree(begun, tmp_path / "out.partial")
    sweep(Sweep(STUDY, SMALL, 2), tmp_path / "out", confidential=confidential, workers=1)
    assert len(samplings["calls"]) == 2  # what is left, and the baseline it needs
    assert content(tmp_path / "out") == content(whole.folder)
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("damaged", ["cells", pytest.param("what was asked", marks=LATER)])
def test_damaged_cells_are_named_and_made_again(tmp_path, confidential, whole, begun, damaged):
    partial = shutil.copytree(begun, tmp_path / "out.partial")
    assert all(path.stat().st_mode & 0o077 == 0 for path in [partial, *partial.rglob("*")])
    if damaged == "what was asked":
        (partial / "sweep.json").write_text('{"sett')
        sweep(Sweep(STUDY, SMALL, 2), tmp_path / "out", confidential=confidential, workers=1)
    else:
        bit, short, foreign, other = sorted((partial / "cells").glob("*.json"))[:4]
        changed = {
            bit: bit.read_bytes().replace(b"0.", b"1.", 1),
            short: short.read_bytes()[:40],
            foreign: other.read_bytes(),
        }
        for cell, content_of_cell in changed.items():
            assert content_of_cell != cell.read_bytes()
            cell.write_bytes(content_of_cell)
        foreign.with_name(foreign.name + ".seal").write_bytes(
            other.with_name(other.name + ".seal").read_bytes()
        )
        with ExitStack() as warned:
            for cell in changed:
                warned.enter_context(
                    pytest.warns(
                        RiskWeightedWarning,
                        match=f"'{cell.name}' is damaged or was made for something else",
                    )
                )
            sweep(Sweep(STUDY, SMALL, 2), tmp_path / "out", confidential=confidential, workers=1)
    assert content(tmp_path / "out") == content(whole.folder)
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_one_failing_cell_stops_no_other(tmp_path, confidential, whole):
    grid = {"release.L": [3, 2], "weights.shift": [0.0, -1.0]}
    done = sweep(Sweep(STUDY, grid), tmp_path / "out", confidential=confidential, workers=1)
    failures = pd.read_csv(tmp_path / "out" / "failures.csv")
    assert set(failures["weights.shift"]) == {-1.0}
    assert set(failures["label"]) == {"marginal", "pairwise"}
    assert len(failures) == len(done.failures) == 2 * 2
    assert failures["error"].str.contains("gives every record weight zero").all()
    fine = (
        done.results[done.results["weights.shift"] == 0]
        .drop(columns="weights.shift")
        .reset_index(drop=True)
    )
    same = at(whole.results, radius=0.3, repetition=1)
    pd.testing.assert_frame_equal(fine, same[fine.columns].reset_index(drop=True))
    assert "failures.csv" in json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]


def test_an_unforeseen_error_is_recorded_without_its_text(tmp_path, confidential, monkeypatch):
    def fails(tasks, *_):
        raise ValueError(f"income {tasks[0].block.model.confidential['income'].iloc[0]}")

    monkeypatch.setattr(working, "fit_tasks", fails)
    done = sweep(
        Sweep(STUDY, {"release.L": [2]}), tmp_path / "out", confidential=confidential, workers=1
    )
    assert done.failures["label"].tolist() == ["unweighted", "marginal", "pairwise"]
    assert done.failures["error"].iloc[0].startswith("ValueError in test_sweep.py:")
    assert done.failures["error"].iloc[1].startswith("a fit that it needs failed: ValueError")
    assert set(done.results["label"]) == {"confidential"}
    assert b"91827" not in b"".join(content(tmp_path / "out").values())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("setting", "'sampling.tune'"),
        ("grid", "'grid.release.L'"),
        ("repetitions", "'repetitions'"),
        ("data", "'data'"),
        ("versions", "'versions.numpy'"),
    ],
)
def test_a_working_folder_of_other_inputs_is_refused(
    tmp_path, confidential, begun, monkeypatch, change, named
):
    kept = content(shutil.copytree(begun, tmp_path / "out.partial"))
    study, grid, repetitions, data = STUDY, SMALL, 2, confidential
    if change == "setting":
        study = make_study(SETTINGS | {"sampling": SETTINGS["sampling"] | {"tune": 61}})
    elif change == "grid":
        grid = SMALL | {"release.L": [3]}
    elif change == "repetitions":
        repetitions = 3
    elif change == "data":
        data = confidential.assign(income=confidential["income"] + 1)
    else:
        original = sweeping.sweep_inputs
        monkeypatch.setattr(
            sweeping,
            "sweep_inputs",
            lambda *a: original(*a) | {"versions": original(*a)["versions"] | {"numpy": "0"}},
        )
    with pytest.raises(InputError, match="was begun with other inputs: they differ in") as caught:
        sweep(Sweep(study, grid, repetitions), tmp_path / "out", confidential=data, workers=1)
    assert f"differ in {named};" in str(caught.value)
    assert content(tmp_path / "out.partial") == kept


def test_folders_of_others_are_left_alone(tmp_path, confidential):
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "thesis.txt").write_text("dear")
    with pytest.raises(InputError, match="not the working folder of a sweep"):
        sweep(Sweep(STUDY, SMALL), tmp_path / "out", confidential=confidential, workers=1)
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="exists; choose another"):
        sweep(Sweep(STUDY, SMALL), tmp_path / "there", confidential=confidential, workers=1)
    with pytest.raises(InputError, match="not the result of a run"):
        sweep(
            Sweep(STUDY, SMALL),
            tmp_path / "there",
            confidential=confidential,
            workers=1,
            force=True,
        )
    assert (tmp_path / "out.partial" / "thesis.txt").read_text() == "dear"


def test_workers_and_scheduler_exclude_each_other(tmp_path, confidential):
    with pytest.raises(InputError, match="give workers or a scheduler, not both"):
        sweep(
            Sweep(STUDY, SMALL),
            tmp_path / "out",
            confidential=confidential,
            workers=2,
            scheduler="tcp://127.0.0.1:1",
        )


@pytest.mark.slow
def test_the_command_tells_by_its_exit_code(tmp_path, confidential, monkeypatch):
    monkeypatch.chdir(tmp_path)  # lines are counted: a long path would make more of them
    confidential.to_csv(tmp_path / "households.csv", index=False)
    text = 'repetitions = 1\n[grid]\n"weights.shift" = [0.0, -1.0]\n'
    sampling = SETTINGS["sampling"] | {"draws": 10, "tune": 20}  # it is not about draws
    for name, table in (SETTINGS | {"sampling": sampling}).items():
        if name != "seed":
            text += f"[study.{name}]\n" + "".join(
                f"{key} = {json.dumps(value)}\n" for key, value in table.items()
            )
    (tmp_path / "sweep.toml").write_text(text)
    app = typer.Typer()
    app.command()(sweep_command)
    dry = CliRunner().invoke(app, [str(tmp_path / "sweep.toml"), "--dry-run"])
    # neither the data nor "unweighted" know a shift
    assert "8 cells, of which 6 differ and are computed, by 5 fits" in dry.output
    out = tmp_path / "results" / "sweep"  # where nobody says where to
    assert not out.exists()
    failing = CliRunner().invoke(app, ["sweep.toml", "--workers", "1"])
    assert failing.exit_code == 1
    assert "2 cells failed" in failing.output
    assert "6 cells" in failing.output
    assert (out / "failures.csv").exists()
    (tmp_path / "sweep.toml").write_text(text.replace(", -1.0", ""))
    fine = CliRunner().invoke(
        app, ["sweep.toml", "--out", "results/sweep", "--workers", "1", "--force"]
    )
    assert fine.exit_code == 0, fine.output
    lines = [line for line in fine.stdout.splitlines() if not line.startswith("20")]
    assert len(lines) <= 9  # a reason is a whole sentence
    assert "results.csv: 4 cells, " in lines[-1]
    assert not (out / "failures.csv").exists()
    assert str(tmp_path).encode() not in b"".join(content(out).values())


# -- a guarantee


def proved(**changes):
    synthesizer = {**SETTINGS["synthesizer"], "location": 3.5, "scale": 1.2}
    given = {
        "synthesizer": synthesizer,
        "release": {"L": 3, "precision": 0.01},
        "weights": {"schemes": ["unweighted"]},
    }
    return make_study(
        {**SETTINGS, **given, "guarantee": {"epsilon": 3, "public": ["group"]}, **changes}
    )


def test_the_guarantee_and_the_number_of_datasets_decide_a_fit():
    """Without a guarantee fits of another L are the same; under one M follows from L."""
    grid = {"guarantee.epsilon": [1, 3], "release.L": [3, 2], "evaluation.radius": [0.3, 0.1]}
    plain = {name: values for name, values in grid.items() if name != "guarantee.epsilon"}
    # of one clip, and yet no cell draws from the fit of another L
    clipped = proved(guarantee={"M": 1, "public": ["group"]})
    cases = (
        (proved(), grid, 2 * 2),
        (proved(guarantee=None), grid, 2 * 2),
        (proved(guarantee=None), plain, 1),
        (clipped, plain, 2),
    )
    for study, settings, fits in cases:
        points = [
            point for point in expand_grid(Sweep(study, settings)) if point.label == "unweighted"
        ]
        assert len({identify(point, "data", {}, whack_a_mole=True).fit for point in points}) == fits


@pytest.mark.long
@pytest.mark.slow
def test_a_sweep_over_epsilon_samples_the_censored_posterior(tmp_path, confidential):
    """The smaller epsilon, the less the data are told."""
    study = proved(sampling={"draws": 100, "tune": 150, "chains": 2})
    found = sweep(
        Sweep(study, {"guarantee.epsilon": [0.003, 300.0]}),
        tmp_path / "out",
        confidential=confidential,
        workers=1,
    )
    assert found.failures.empty
    distance = found.results[
        (found.results["label"] == "unweighted") & (found.results["measure"] == "U_m")
    ]
    values = distance.set_index("guarantee.epsilon")["value"]
    assert values[0.003] > 1.5 * values[300.0]


def test_a_sweep_names_what_voids_its_guarantee(tmp_path, confidential):
    with pytest.raises(InputError, match=r"at the grid point .*location of LinearRegression"):
        sweep(
            Sweep(proved(synthesizer=SETTINGS["synthesizer"]), {"release.L": [2]}),
            tmp_path / "out",
            confidential=confidential,
        )
    with pytest.raises(InputError, match=r"at the grid point .*'marginal'"):
        sweep(
            Sweep(proved(), {"weights.schemes": ["unweighted", "marginal"]}),
            tmp_path / "out",
            confidential=confidential,
        )
