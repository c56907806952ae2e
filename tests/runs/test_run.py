"""The main job in one process: what it writes, and how it goes on after an interruption."""

import errno
import json
import math
import os
import shutil
import stat

import numpy as np
import pandas as pd
import pytest
import typer
from poisoned import poison, restore

from riskweighted.commands import run as command_run
from riskweighted.common import atomic
from riskweighted.common.errors import FlatWeightsWarning, InputError, RiskWeightedWarning
from riskweighted.evaluation.fit_check import COLUMNS
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.stages import fit_key
from riskweighted.runs.study import make_study
from riskweighted.sampling import compilation

pytestmark = pytest.mark.versions

SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income"},
    "synthesizer": {
        "name": "linear-regression",
        "formula": "income ~ group",
        "transform": "log",
        "support": [0, math.inf],
    },
    "sampling": {"draws": 55, "tune": 60, "chains": 2},
    "release": {"L": 3, "format": "parquet"},
    "evaluation": {"resamples": 20},
    "reproducible": True,
}


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = pd.Categorical(rng.choice(["a", "b"], 100))
    return pd.DataFrame(
        {"group": group, "income": np.exp(3 + (group == "b") + rng.normal(size=100))},
        index=[f"r{i}" for i in range(100)],
    )


def content_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory, confidential):
    """The run, gone through at once under a umask that lets all read; and the mode of every file
    when it was synced.
    """
    modes, sync, before = {}, atomic.sync, os.umask(0o022)

    def seen(path):
        modes[path.name] = (
            stat.S_IMODE(path.stat().st_mode),
            "confidential" in path.parts or path.suffix in (".nc", ".seal"),
        )
        sync(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic, "sync", seen)
        finished = run_study(
            make_study(SETTINGS),
            tmp_path_factory.mktemp("whole") / "whole",
            confidential=confidential,
        )
    os.umask(before)
    return finished, modes


@pytest.fixture(scope="module")
def begun(tmp_path_factory, confidential):
    """The working folder of the run, interrupted in its third fit."""
    out, sample, calls = (
        tmp_path_factory.mktemp("begun") / "out",
        compilation.CompiledModel.sample,
        [],
    )

    def interrupted(self, *arguments, **settings):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return sample(self, *arguments, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation.CompiledModel, "sample", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(make_study(SETTINGS), out, confidential=confidential)
    return out.with_name("out.partial")


@pytest.fixture
def samplings(monkeypatch):
    """Calls of the sampler; the number in "stop" is interrupted."""
    sample, seen = compilation.CompiledModel.sample, {"calls": 0, "stop": None}

    def counted(self, *arguments, **settings):
        seen["calls"] += 1
        if seen["calls"] == seen["stop"]:
            raise KeyboardInterrupt
        return sample(self, *arguments, **settings)

    monkeypatch.setattr(compilation.CompiledModel, "sample", counted)
    return seen


@pytest.mark.slow
def test_what_never_leaves_is_its_owners_only_from_the_first_byte(whole):
    finished, modes = whole
    written = [mode for mode, confidential in modes.values() if confidential]
    assert len(written) >= 3 * 2 + 2 + 3  # fits with their seals, weights and risks, posteriors
    assert set(written) == {0o600}
    for path in [finished.folder, *finished.folder.rglob("*")]:
        parts = path.relative_to(finished.folder).parts
        # whose rows pair with the data
        secret, paired = "confidential" in parts, "synthetic" in parts
        expected = (
            (0o700 if secret or paired else 0o755)
            if path.is_dir()
            else (0o600 if secret else 0o644)
        )
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
    assert not finished.folder.with_name("whole.partial").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "damages", [("bit", "short"), pytest.param(("foreign", "old"), marks=pytest.mark.long)]
)
def test_damaged_fits_are_named_and_made_again(
    tmp_path, confidential, whole, begun, samplings, damages
):
    files = sorted(shutil.copytree(begun, tmp_path / "out.partial").glob("*.nc"))
    for one, other, damage in zip(files, files[::-1], damages, strict=True):
        content = one.read_bytes()
        if damage == "bit":
            one.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
        elif damage == "short":
            one.write_bytes(content[: len(content) // 2])
        elif damage == "foreign":  # the fit of another scheme, whole with its seal
            for end in ("", ".seal"):
                one.with_name(one.name + end).write_bytes(
                    other.with_name(other.name + end).read_bytes()
                )
        else:
            one.with_name(one.name + ".seal").unlink()
    named, also = (f"'{file.name}' is damaged or was made for something else" for file in files)
    with (
        pytest.warns(RiskWeightedWarning, match=named),
        pytest.warns(RiskWeightedWarning, match=also),
    ):
        run_study(make_study(SETTINGS), tmp_path / "out", confidential=confidential)
    assert samplings["calls"] == 3  # the damaged ones and the interrupted one
    assert content_of(tmp_path / "out") == content_of(whole[0].folder)
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.slow
def test_another_seed_never_picks_up_a_finished_fit(tmp_path, confidential, samplings):
    samplings["stop"] = 2
    with pytest.raises(KeyboardInterrupt):
        run_study(make_study(SETTINGS), tmp_path / "out", confidential=confidential)
    samplings["stop"] = 5
    with pytest.raises(KeyboardInterrupt):
        run_study(make_study(SETTINGS | {"seed": 1}), tmp_path / "out", confidential=confidential)
    assert len(list((tmp_path / "out.partial").glob("*.nc"))) == 1 + 2


def test_a_full_disk_leaves_nothing(tmp_path, confidential, monkeypatch):
    def full_disk(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        run_study(
            make_study(SETTINGS | {"weights": {"schemes": ["unweighted"]}}),
            tmp_path / "out",
            confidential=confidential,
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_disk_that_was_full_costs_no_finished_fit(tmp_path, confidential, samplings, monkeypatch):
    study = make_study(SETTINGS | {"weights": {"schemes": ["unweighted", "marginal"]}})

    def full_disk(*results):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("riskweighted.runs.run.write_results", full_disk)
        with pytest.raises(OSError, match="No space left"):
            run_study(study, tmp_path / "out", confidential=confidential)
    found = samplings["calls"]
    run_study(study, tmp_path / "out", confidential=confidential)
    assert samplings["calls"] == found == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_a_place_that_leads_nowhere_is_refused_before_any_fit(tmp_path, confidential, samplings):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere" / "out")
    with pytest.raises(InputError, match="leads nowhere"):
        run_study(make_study(SETTINGS), tmp_path / "out", confidential=confidential)
    assert samplings["calls"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_an_interrupted_run_resumes_with_the_same_bytes(tmp_path, confidential, whole, monkeypatch):
    study, whole = make_study(SETTINGS), whole[0]
    assert whole.summary.loc["marginal", "converged"] == "yes"
    assert np.isnan(whole.summary.loc["confidential", "largest R-hat"])

    sample, calls = compilation.CompiledModel.sample, []

    def interrupted_in_the_second(self, *arguments, **settings):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return sample(self, *arguments, **settings)

    monkeypatch.setattr(compilation.CompiledModel, "sample", interrupted_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "parts", confidential=confidential)
    assert not (tmp_path / "parts").exists()
    assert len(list((tmp_path / "parts.partial").glob("*.nc"))) == 1
    held = poison(tmp_path / "parts.partial", tmp_path / "ran", spared="entropy")
    with pytest.raises(InputError, match="no saved fit, or is damaged"):
        run_study(study, tmp_path / "parts", confidential=confidential)
    assert not (tmp_path / "ran").exists()
    restore(held)
    run_study(study, tmp_path / "parts", confidential=confidential)
    # one before the interruption, the interrupted one, and the two that were left
    assert len(calls) == 4
    assert content_of(tmp_path / "parts") == content_of(whole.folder)
    assert not (tmp_path / "parts.partial").exists()

    # Other data or settings never pick up a finished fit.
    monkeypatch.setattr(compilation.CompiledModel, "sample", sample)
    manifest = json.loads((whole.folder / "manifest.json").read_text())
    assert manifest["settings"]["release"]["format"] == "parquet"
    frame = pd.read_parquet(whole.folder / "synthetic" / "marginal" / "synthetic_2.parquet")
    assert frame["group"].tolist() == confidential["group"].tolist()


@pytest.mark.slow
def test_an_open_end_is_null_in_the_manifest_and_decides_the_same_fit(confidential, whole):
    """The run above, which is interrupted and goes on, has support = [0, inf]; JSON knows no
    infinite numbers.
    """

    def refuse(text):
        raise AssertionError(text)

    manifest = json.loads((whole[0].folder / "manifest.json").read_text(), parse_constant=refuse)
    assert manifest["settings"]["synthesizer"]["support"] == [0, None]
    given, stored = make_study(SETTINGS), make_study(manifest["settings"])
    assert (
        load_run(whole[0].folder).study.make_synthesizer()
        == given.make_synthesizer()
        == stored.make_synthesizer()
    )
    assert stored.make_synthesizer().support == (0, math.inf)
    first, again = (check_study(study, confidential).work for study in (given, stored))
    alpha = first.weights("marginal")["income"]
    assert fit_key(given, first.prepared().blocks[0].model, alpha) == fit_key(
        stored, again.prepared().blocks[0].model, alpha
    )
    narrow = check_study(
        make_study(SETTINGS | {"synthesizer": SETTINGS["synthesizer"] | {"support": [0, 1e9]}}),
        confidential,
    ).work
    assert fit_key(narrow.study, narrow.prepared().blocks[0].model, alpha) != fit_key(
        given, first.prepared().blocks[0].model, alpha
    )


def test_the_plan_counts_what_the_data_hold(confidential):
    plan = plan_study(make_study(SETTINGS), confidential)
    assert (plan.records, plan.patterns, plan.singletons, plan.predictors, plan.datasets) == (
        100,
        2,
        0,
        1,
        3,
    )
    assert plan.mean_weight["unweighted"] == 1
    assert plan.mean_weight["marginal"] < plan.mean_weight["pairwise"] < 1
    assert 0 < plan.estimate.seconds["fitting"] < plan.estimate.total
    assert plan.estimate.memory > plan.estimate.disk > 0


def test_a_folder_that_is_no_result_is_never_replaced(tmp_path, confidential):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("dear")
    with pytest.raises(InputError, match="not the result of a run"):
        run_study(make_study(SETTINGS), tmp_path / "thesis", confidential=confidential, force=True)
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "dear"


def test_weights_that_are_all_zero_are_refused_before_any_fit(tmp_path, confidential):
    study = make_study(SETTINGS | {"weights": {"schemes": ["marginal"], "shift": -1.0}})
    with (
        pytest.warns(FlatWeightsWarning),
        pytest.raises(InputError, match="'marginal' gives every record weight zero"),
    ):
        run_study(study, tmp_path / "out", confidential=confidential)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_are_left_alone(tmp_path, confidential):
    study = make_study(SETTINGS)
    (tmp_path / "a.partial").mkdir()
    (tmp_path / "a.partial" / "thesis.txt").write_text("dear")
    with pytest.raises(InputError, match="not the working folder of a run"):
        run_study(study, tmp_path / "a", confidential=confidential)
    assert (tmp_path / "a.partial" / "thesis.txt").read_text() == "dear"
    (tmp_path / "web").mkdir()
    for name, text in (("manifest.json", '{"files": {}}'), ("thesis.txt", "dear")):
        (tmp_path / "web" / name).write_text(text)
    with pytest.raises(InputError, match=r"'thesis\.txt'"):
        run_study(study, tmp_path / "web", confidential=confidential, force=True)


def test_an_error_leaves_no_working_folder(tmp_path, confidential, monkeypatch):
    def fails(*arguments):
        raise InputError("too late")

    monkeypatch.setattr("riskweighted.runs.work.compile_prepared", fails)
    with pytest.raises(InputError, match="too late"):
        run_study(make_study(SETTINGS), tmp_path / "out", confidential=confidential)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_models_verdict_leads_the_summary_and_its_table_names_every_check(whole):
    finished, _ = whole
    assert next(iter(finished.summary)) == "model fits"
    assert finished.fits is True
    assert finished.converged is True
    # a weighted fit is not judged
    assert finished.summary["model fits"].dropna().to_dict() == {"unweighted": "yes"}
    table = load_run(finished.folder).tables["fit_check"]
    assert list(table) == ["label", *COLUMNS]
    assert {label: set(rows["verdict"]) for label, rows in table.groupby("label")} == {
        "unweighted": {"fits"},
        "marginal": {"cost"},
        "pairwise": {"cost"},
    }
    assert {"group=a", "group=b"} <= set(table["parameter"])
    np.testing.assert_allclose(table["effect"], finished.fit_check["effect"], rtol=1e-12)


@pytest.mark.slow
def test_a_run_without_the_unweighted_scheme_is_not_judged(tmp_path, confidential):
    settings = {**SETTINGS, "weights": {"schemes": ["pairwise"]}}
    finished = run_study(make_study(settings), tmp_path / "out", confidential=confidential)
    assert finished.fits is None
    assert "model fits" in finished.summary
    assert finished.summary["model fits"].isna().all()


@pytest.mark.slow
def test_a_model_that_misfits_is_said_and_fails_only_where_that_is_asked(
    tmp_path, confidential, capsys
):
    data = confidential.assign(income=np.where(np.arange(100) % 2, confidential["income"], 7.0))
    data.to_csv(tmp_path / "households.csv", index=False)
    study = make_study({**SETTINGS, "weights": {"schemes": ["unweighted"]}}, tmp_path)
    options = {"force": False, "dry_run": False, "seed": None, "entropy": None, "full": True}
    command_run._run(study, tmp_path / "lenient", run_study, strict=False, **options)
    said = capsys.readouterr()
    assert "Model: misfits in" in said.out
    assert "share: 0.500 in the data" in said.out
    assert "exactly 7" not in said.out  # a value of the data
    assert said.out.index("Model:") < said.out.index("Risk and utility")
    assert (
        load_run(tmp_path / "lenient")
        .tables["summary"]
        .set_index("label")
        .loc["unweighted", "model fits"]
        == "NO"
    )
    with pytest.raises(typer.Exit) as stopped:
        command_run._run(study, tmp_path / "strict", run_study, strict=True, **options)
    assert stopped.value.exit_code == 3
    said = capsys.readouterr()
    assert "misfits" in said.err
    assert "not converged" not in said.err
    assert content_of(tmp_path / "strict") == content_of(tmp_path / "lenient")
    few = make_study({**SETTINGS, "weights": {"schemes": ["pairwise"]}}, tmp_path)
    with pytest.raises(InputError, match="name 'unweighted' in weights"):
        command_run._run(few, tmp_path / "unjudged", run_study, strict=True, **options)
    assert not (tmp_path / "unjudged").exists()
