"""A file of which a sample is fitted: the ordinary study, drawn and measured bucket by bucket, with
the same bytes whoever does the work.
"""

import os
import shutil
import threading
import time

import numpy as np
import pandas as pd
import psutil
import pytest
from finished_run import accepting
from parted import files_of, people, study_file, write_parts

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.seeds import ENTROPY_BYTES
from riskweighted.release.pack import check_release, release_run
from riskweighted.reports.render import render_report
from riskweighted.runs import buckets
from riskweighted.runs.buckets import BucketTask, bucket_rows, fitted_rows
from riskweighted.runs.finished import load_run
from riskweighted.runs.plan import plan_study
from riskweighted.runs.sample_checks import disclosed_of_sample, sample_rows
from riskweighted.runs.study import load_study
from riskweighted.runs.work import Work
from riskweighted.weights.scheme_names import stem_of

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.slow]
ENTROPY, FITTED, SCHEME = bytes(ENTROPY_BYTES), 400, "mix+(t=0.5)"
ACCEPTED = (
    '[release.disclosure]\naccept = {isolated = "a test", mean = "a test", not_judged = "a test"}'
)


@pytest.fixture(scope="module", autouse=True)
def small_buckets():
    """A file of 900 records has several buckets."""
    room = buckets.ROOM
    buckets.ROOM = 250
    yield
    buckets.ROOM = room


def ran(folder, name, data=None, cuts=(100, 500), workers=None, fitted=FITTED, **asked):
    """A run with the random numbers of every other one of its study."""
    write_parts(folder / name, people() if data is None else data, list(cuts))
    asked = {
        "schemes": ["unweighted", SCHEME],
        "identified": f'id = "hh"\nfitted = {fitted}',
        **asked,
    }
    file = study_file(folder / name, **asked)
    return rw.run_study(load_study(file), folder / name / "out", workers=workers, entropy=ENTROPY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("buckets")


@pytest.fixture(scope="module")
def run(folder):
    return ran(folder, "one", release=ACCEPTED)


@pytest.mark.quick
def test_the_same_share_of_every_pattern_is_fitted_and_every_level():
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 40, 5_000)
    level = np.where(np.arange(5_000) == 77, "once", "often")
    data = pd.DataFrame({"level": level, "x": rng.normal(size=5_000)})
    rows = fitted_rows(data, patterns, 1_000, ["level", "x"], 3)
    assert len(rows) in (1_000, 1_001)
    assert 77 in rows
    assert (np.diff(rows) > 0).all()
    of_pattern = np.bincount(patterns[rows], minlength=40)
    assert (np.abs(of_pattern - np.bincount(patterns) / 5) <= 1.001 + (rows == 77).sum()).all()
    others = fitted_rows(data, patterns, 1_000, ["level", "x"], 4)
    assert len(np.intersect1d(rows, others)) < 400


@pytest.mark.quick
def test_buckets_hold_whole_patterns_and_every_record_once():
    patterns = np.random.default_rng(2).integers(0, 30, 3_000)
    rows = bucket_rows(patterns, np.bincount(patterns), 500)
    assert sorted(np.concatenate(rows)) == list(range(3_000))
    assert all(len(of) <= 500 for of in rows)
    held = [set(patterns[of]) for of in rows]
    assert sum(map(len, held)) == 30
    assert len(bucket_rows(patterns, np.bincount(patterns), 10)) == 30


@pytest.mark.quick
def test_whole_released_patterns_are_looked_at_and_stand_for_all():
    rng = np.random.default_rng(3)
    known = rng.choice(5, 9_000, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    released = known * 300 + rng.integers(0, 300, 9_000)
    rows, stands_for = sample_rows(known, released, 1, most=2_000)
    assert stands_for.sum() == pytest.approx(np.isin(known, np.unique(known[rows])).sum())
    part = rows[known[rows] == known[rows][0]]
    taken = np.isin(released, released[part])
    assert taken.sum() <= len(part) + 40  # all of a released pattern but those of the last one
    assert sample_rows(known, released, 1, most=5_000)[1].sum() == 9_000


def test_what_is_of_the_data_is_what_it_is_in_memory(folder, run):
    place = folder / "whole"
    place.mkdir()
    people().sort_values("hh").drop(columns="hh").to_parquet(place / "people.parquet")
    asked = {"identified": "", "release": ACCEPTED, "schemes": ["unweighted", SCHEME]}
    file = study_file(place, "people.parquet", **asked)
    whole = rw.run_study(load_study(file), place / "out", entropy=ENTROPY)
    keys = ["label", "key", "variable", "parameter", "term"]
    for name in ("risk", "utility"):
        mine, theirs = (
            pd.read_csv(each.folder / "tables" / f"{name}.csv").set_index(keys)
            for each in (run, whole)
        )
        assert mine.index.equals(theirs.index)
        of_data = mine.index.get_level_values("label") == "confidential"
        np.testing.assert_allclose(
            mine["value"][of_data], theirs["value"][of_data], rtol=1e-10, equal_nan=True
        )
    mine, theirs = (
        each.evaluation.risk.set_index(keys)["value"].unstack("label") for each in (run, whole)
    )
    for key in ("expected-mean-risk", "expected-isolated-risk", "mean-risk"):
        for label in ("unweighted", SCHEME):
            assert mine.loc[key, label].iloc[0] == pytest.approx(
                theirs.loc[key, label].iloc[0], abs=0.04
            )
    weights = [each.summary["mean weight"] for each in (run, whole)]
    pd.testing.assert_series_equal(*weights, rtol=1e-12)


def test_parts_their_order_and_workers_make_no_difference(folder, run):
    data = people().sample(frac=1, random_state=2)
    other = ran(folder, "two", data, cuts=(10, 10, 777, 850), workers=2, release=ACCEPTED)
    assert files_of(other.folder) == files_of(run.folder)


def test_a_run_that_was_interrupted_goes_on(folder, run, monkeypatch):
    place, asked = folder / "interrupted", []
    do = BucketTask.__call__

    def counted(task, number, *tables):
        asked.append((task.label, number))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return do(task, number, *tables)

    monkeypatch.setattr(BucketTask, "__call__", counted)
    with pytest.raises(KeyboardInterrupt):
        ran(folder, place.name, release=ACCEPTED)
    partial = folder / place.name / "out.partial"
    assert oct(partial.stat().st_mode)[-3:] == "700"
    again = rw.run_study(load_study(place / "study.toml"), place / "out", entropy=ENTROPY)
    assert len(asked) == len(set(asked)) + 1  # the one that was interrupted
    assert files_of(again.folder) == files_of(run.folder)
    assert not partial.exists()


def test_it_is_reported_released_and_checked_as_any_run(folder, run):
    made, scheme = load_run(run.folder), SCHEME
    assert made.total == 900
    assert made.manifest["input"]["fitted"] == FITTED
    assert f"{FITTED}" in render_report(made, internal=True)
    pack = release_run(made.folder, folder / "pack", schemes=[scheme], **accepting(made, scheme))
    stem = stem_of(scheme)
    leaving = pd.read_csv(pack.folder / "data" / stem / f"synthetic_{stem}_1.csv")
    counts = [
        frame.value_counts(["region", "age", "edu"]).sort_index() for frame in (leaving, people())
    ]
    pd.testing.assert_series_equal(*counts)
    assert len(check_release(pack.folder, made.folder)) == 2  # datasets
    (folder / "one" / "parts").rename(folder / "one" / "elsewhere")
    try:
        with pytest.raises(InputError, match="the confidential data"):
            release_run(made.folder, folder / "none", schemes=[scheme])
        other = folder / "one" / "parts"
        shutil.copytree(folder / "one" / "elsewhere", other)
        first = sorted(other.iterdir())[0]
        pd.read_parquet(first).assign(income=1).to_parquet(first, index=False)
        with pytest.raises(InputError, match="is not the data that the run was made from"):
            release_run(made.folder, folder / "none", schemes=[scheme])
    finally:
        shutil.rmtree(folder / "one" / "parts")
        (folder / "one" / "elsewhere").rename(folder / "one" / "parts")


def test_a_chain_with_survey_weights_and_centred_weights_is_drawn_whole(folder):
    data = people().assign(weight=lambda each: 1.0 + each["hh"] % 3)
    place = folder / "chain"
    write_parts(place, data, [300])
    file = study_file(place, identified='id = "hh"\nfitted = 300', schemes=["mix+(t=0.5)"])
    text = file.read_text().replace('synthetic = "income"', 'synthetic = ["edu", "income"]')
    start, end = text.index('name = "linear'), text.index("[weights]")
    text = f'{text[:start]}name = "sequential"\npredictors = ["region", "age"]\n{text[end:]}'
    text = text.replace("[weights]", '[weights]\nsurvey = "weight"').replace(
        'columns = ["edu"]', ""
    )
    start = text.index("regression = ")
    text = f"{text[:start]}risk_draws = 10\n"
    file.write_text(text)
    done = rw.run_study(load_study(file), place / "out", entropy=ENTROPY)
    drawn = load_run(done.folder).synthetic["mix+(t=0.5)"]
    assert [len(frame) for frame in drawn] == [900, 900]
    for frame in drawn:
        assert set(frame["edu"]) == {1, 2, 3, 4}
        assert np.log(frame["income"]).mean() == pytest.approx(
            np.log(data["income"]).mean(), abs=0.1
        )
    d = done.evaluation.risk.query("key == 'disclosure'")["value"]
    assert d.notna().all()


def test_any_file_may_be_fitted_to_a_sample(tmp_path):
    people().drop(columns="hh").to_csv(tmp_path / "people.csv", index=False)
    file = study_file(tmp_path, "people.csv", identified="fitted = 300")
    plan = plan_study(load_study(file), estimated=False)
    assert (plan.records, plan.fitted) == (900, 300)
    assert plan_study(load_study(study_file(tmp_path, "people.csv", identified=""))).fitted is None


def test_what_a_sample_cannot_have_is_refused_first(tmp_path):
    write_parts(tmp_path, people(), [100])
    file = study_file(tmp_path, identified="fitted = 300")
    text = file.read_text()
    for given, changed, says in (
        ("risk_draws = 20", 'risk_draws = 20\ncluster = "edu"', r"evaluation\.cluster is not"),
        ("L = 2", 'L = 2\nunit = "edu"', r"release\.unit is not possible"),
        ("fitted = 300", 'id = "absent"\nfitted = 300', "lack the column 'absent'"),
        ("fitted = 300", 'id = "edu"\nfitted = 300', r"data\.id names 'edu', which"),
    ):
        file.write_text(text.replace(given, changed))
        with pytest.raises(InputError, match=says):
            rw.run_study(load_study(file), tmp_path / "out")
    assert not (tmp_path / "out.partial").exists()
    file.write_text(text.replace("fitted = 300", "fitted = 900"))
    with pytest.raises(InputError, match="workers and a scheduler are for a file of which a sam"):
        rw.run_study(load_study(file), tmp_path / "out", workers=2)


def test_identifiers_that_repeat_or_lack_stop_the_run(tmp_path):
    write_parts(tmp_path, pd.concat([people(), people().iloc[:1]]), [100, 900])
    with pytest.raises(InputError, match="1 records have an identifier that another one has"):
        rw.run_study(load_study(study_file(tmp_path)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_is_not_there_is_said(tmp_path, monkeypatch):
    from riskweighted.common import cluster

    monkeypatch.setattr(cluster, "ANSWER_WITHIN", 1.0)
    write_parts(tmp_path, people(), [100])
    file = study_file(tmp_path, identified="fitted = 300")
    with pytest.raises(InputError, match=r"'tcp://127\.0\.0\.1:1' does not answer"):
        rw.run_study(load_study(file), tmp_path / "out", scheduler="tcp://127.0.0.1:1")


@pytest.mark.long
def test_workers_that_are_killed_make_no_difference(folder, run):
    ended = threading.Event()

    def kill():
        rng = np.random.default_rng(0)
        while not ended.wait(3):
            workers = [
                each
                for each in psutil.Process(os.getpid()).children(recursive=True)
                if "spawn_main" in " ".join(each.cmdline())
            ]
            if len(workers) > 1:
                workers[int(rng.integers(len(workers)))].kill()
                time.sleep(1)
                return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        other = ran(folder, "killed", workers=2, release=ACCEPTED)
    finally:
        ended.set()
        killer.join()
    assert files_of(other.folder) == files_of(run.folder)


@pytest.mark.parametrize("label", ["unweighted", SCHEME])
def test_records_outside_the_sample_add_nothing_to_the_law(folder, run, label):
    """Of a small file all records are looked at; were none of them fitted, packs without any would
    be as probable as they are.
    """
    study = load_study(folder / "one" / "study.toml")
    work = Work.of(study, study.read_data())
    assert len(work.fitted) == FITTED
    told = disclosed_of_sample(
        work.task(label),
        study,
        work.confidential,
        np.arange(0),
        work.drawn(label),
        work.world().patterns.codes,
        None,
        work.streams,
    )
    everybody = told.table.query("group == 'all'")
    assert (everybody["records"] == 900).all()
    figures = everybody[["D", "copy_D", "largest_D", "bound"]]
    np.testing.assert_allclose(figures, 0, atol=1e-12)
    assert not any("that the fit depends on" in reason for reason in told.verdict.reasons)
