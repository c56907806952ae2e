"""A study of data in parts: the tables of the same study in memory, and the same bytes whoever does
the work.
"""

import json
import os
import shutil
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import psutil
import pytest
from parted import files_of, people, study_file, write_parts
from poisoned import poison, restore

import riskweighted as rw
from riskweighted.common.atomic import keep
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.progress import Quiet
from riskweighted.common.seeds import ENTROPY_BYTES
from riskweighted.evaluation.verdicts import LEAVES, overall
from riskweighted.parts.run import run_by_parts
from riskweighted.release.pack import check_release, release_run
from riskweighted.reports.render import render_report
from riskweighted.runs.finished import SampledRun, load_run
from riskweighted.runs.folder import CONCERNED
from riskweighted.runs.study import load_study

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.slow]
ROOM, ENTROPY = 250, bytes(ENTROPY_BYTES)
ACCEPTED = (
    '[release.disclosure]\naccept = {isolated = "a test", mean = "a test", not_judged = "a test"}'
)


def of_parts(study, out, **settings):
    """A run with the random numbers of every other one of its study."""
    return run_by_parts(study, out, room=ROOM, entropy=ENTROPY, **settings)


def ran(folder, name, data=None, cuts=(100, 500), workers=1, **asked):
    write_parts(folder / name, people() if data is None else data, list(cuts))
    study = load_study(study_file(folder / name, **asked))
    return of_parts(study, folder / name / "out", workers=workers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("by parts")


@pytest.fixture(scope="module")
def run(folder):
    return ran(folder, "one", release=ACCEPTED)


@pytest.fixture(scope="module")
def centred(folder):
    """One whose numbers follow from its seed, which is not released."""
    write_parts(folder / "three", people(), [100, 500])
    file = study_file(folder / "three", schemes=["unweighted", "mix+(t=0.5)"], seeded=True)
    return run_by_parts(load_study(file), folder / "three" / "out", workers=1, room=ROOM)


@pytest.fixture(scope="module")
def whole(folder):
    """The same study with all records in memory."""
    place = folder / "whole"
    place.mkdir()
    people().drop(columns="hh").to_parquet(place / "people.parquet")
    return rw.run_study(
        load_study(study_file(place, "people.parquet", identified="")), place / "out"
    )


def keyed(table):
    return table.set_index(["label", "key", "variable", "parameter", "term"])


def table_of(run, name):
    return keyed(pd.read_csv(run.folder / "tables" / f"{name}.csv"))


def require_same_of_data(mine, theirs):
    """Nothing of the confidential data is random: the same to the last bit, but for lists of
    regressions, centred elsewhere.
    """
    assert mine.index.equals(theirs.index)
    data = [label == "confidential" for label in mine.index.get_level_values("label")]
    one, other = (
        each[data].query("key != 'regression-coefficient'")["value"] for each in (mine, theirs)
    )
    assert one.equals(other)
    np.testing.assert_allclose(
        mine["value"][data], theirs["value"][data], rtol=1e-10, equal_nan=True
    )


@pytest.mark.parametrize("name", ["risk", "utility"])
def test_the_tables_are_those_of_the_run_in_memory(run, whole, name):
    mine, theirs = (table_of(each, name) for each in (run, whole))
    require_same_of_data(mine, theirs)
    assert (mine["rule"].fillna("") == theirs["rule"].fillna("")).all()


def test_what_is_drawn_differs_as_draws_do(run, whole):
    mine, theirs = (keyed(each.evaluation.risk)["value"].unstack("label") for each in (run, whole))
    for key in ("expected-mean-risk", "expected-isolated-risk", "mean-risk"):
        for label in ("unweighted", "mix(t=0.5)"):
            assert mine.loc[key, label].iloc[0] == pytest.approx(
                theirs.loc[key, label].iloc[0], abs=0.03
            )
    assert run.converged
    weights = [each.summary["mean weight"] for each in (run, whole)]
    pd.testing.assert_series_equal(*weights, rtol=1e-12)


def test_parts_their_order_and_workers_make_no_difference(folder, run):
    data = people().sample(frac=1, random_state=2)
    other = ran(folder, "two", data, cuts=(10, 10, 777, 850), workers=2, release=ACCEPTED)
    assert files_of(other.folder) == files_of(run.folder)


def test_every_record_is_drawn_once(folder, run):
    records = [
        pd.read_parquet(path)
        for path in sorted((run.folder / "confidential" / "records").iterdir())
    ]
    assert sorted(pd.concat(records)["riskweighted order"]) == sorted(people()["hh"])
    drawn = [
        pd.read_parquet(path)
        for path in sorted((run.folder / "synthetic" / "unweighted").iterdir())
    ]
    assert [len(part) for part in drawn] == [len(part) for part in records]
    assert list(drawn[0].columns) == ["income 1", "income 2"]


def test_the_run_is_read_back_as_a_sample_and_reported(folder, run):
    read = load_run(run.folder)
    assert isinstance(read, SampledRun)
    assert (read.total, read.shown) == (900, 900)
    assert len(read.synthetic["unweighted"]) == 2
    assert read.summary.index.tolist() == ["confidential", "unweighted", "mix(t=0.5)"]
    page = render_report(read, internal=True)
    assert "900" in page


def test_centred_weights_are_centred_by_parts(folder, run, centred):
    kappa = centred.evaluation.utility.query("key == 'variance-ratio'")["value"]
    assert len(kappa) == 1
    assert kappa.between(1.0, 1.5).all()
    study, data = load_study(folder / "three" / "study.toml"), people()
    weights = rw.centred_weights("mix+(t=0.5)", data, study.scenario)
    whole = rw.fit(
        study.make_synthesizer(), data, weights, draws=400, chains=2, random_seed=4
    ).posterior
    parts = load_run(centred.folder).posteriors["mix+(t=0.5)"]
    plain = load_run(run.folder).posteriors["mix(t=0.5)"]
    for name in ("coefficient", "sigma"):
        mine, theirs, bent = (
            each[name].mean(("chain", "draw")).to_numpy() for each in (parts, whole, plain)
        )
        spread = whole[name].std(("chain", "draw")).to_numpy()
        assert (np.abs(mine - theirs) < 0.4 * spread).all()
    # what the weights do to the scale where they are not centred
    assert (np.abs(bent - theirs) > 0.8 * spread).all()


def test_a_study_that_is_not_for_release_is_not_released(folder, centred):
    with pytest.raises(InputError, match="the run is reproducible"):
        release_run(centred.folder, folder / "pack", schemes=["unweighted"])


def test_a_pack_is_released_part_by_part(folder, run):
    place = folder / "four"
    shutil.copytree(folder / "one", place)
    made = load_run(place / "out")
    listed = pd.read_csv(made.folder / CONCERNED)
    assert list(listed) == ["label", "row", "rule", "D"]
    assert set(listed["row"]) <= set(people()["hh"])
    scheme, why = "mix(t=0.5)", "a test"
    failing = overall(made.verdicts, scheme) not in LEAVES
    pack = release_run(
        made.folder,
        place / "pack",
        schemes=[scheme],
        formats=["csv", "parquet"],
        accept_fail=why if failing else "",
    )
    data = people().set_index("hh")
    parts = sorted((pack.folder / "data" / scheme / f"synthetic_{scheme}_1").glob("*.parquet"))
    leaving = pd.concat([pd.read_parquet(path) for path in parts])
    texts = pd.concat([pd.read_csv(path.with_suffix(".csv")) for path in parts])
    assert (leaving.reset_index(drop=True) == texts.reset_index(drop=True)).all().all()
    assert "hh" not in leaving.columns
    counts = [
        frame.value_counts(["region", "age", "edu"]).sort_index() for frame in (leaving, data)
    ]
    pd.testing.assert_series_equal(*counts)
    held = pd.concat(
        [pd.read_parquet(path) for path in sorted((made.folder / "synthetic" / scheme).iterdir())]
    )
    assert sorted(leaving["income"]) == sorted(held["income 1"])
    # shuffled within released patterns
    assert not np.array_equal(leaving["income"].to_numpy(), held["income 1"].to_numpy())
    order = pd.concat(
        [
            pd.read_parquet(path)
            for path in sorted((made.folder / "confidential" / "records").iterdir())
        ]
    )
    in_order = data.loc[order["riskweighted order"]].reset_index(drop=True)["edu"]
    # the order of identifiers is not that of the rows
    assert np.corrcoef(in_order, leaving["edu"])[0, 1] < 0.3
    assert len(pack.check) == 2
    assert (pack.check["rows"] == 900).all()
    book = pd.read_csv(pack.folder / "codebook.csv").set_index("variable")
    assert book.loc["region", "values"] == "E; N; S; W"
    before = sorted(place.iterdir())
    assert len(check_release(pack.folder, made.folder)) == 2
    assert sorted(place.iterdir()) == before
    victim = parts[0].with_suffix(".csv")
    text = victim.read_text()
    victim.write_text(f"{text[:-2]}{(int(text[-2]) + 1) % 10}\n")
    with pytest.raises(InputError, match=r"part-000001.csv' is or holds not what the run makes"):
        check_release(pack.folder, made.folder)
    verdicts = made.folder / "tables" / "disclosure_verdicts.csv"
    kept = verdicts.read_text()
    table = pd.read_csv(verdicts, dtype=str, keep_default_na=False)
    other = {"pass": "warn", "warn": "pass"}  # no other word is released
    table.assign(verdict=table["verdict"].replace(other)).to_csv(verdicts, index=False)
    assert verdicts.read_text() != kept
    manifest = json.loads((made.folder / "manifest.json").read_text())
    manifest["files"]["tables/disclosure_verdicts.csv"] = file_hash(verdicts)
    (made.folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"tables/disclosure_verdicts.csv' of the run is not what"):
        release_run(
            made.folder, place / "again", schemes=[scheme], accept_fail=why if failing else ""
        )
    (part,) = sorted((made.folder / "synthetic" / scheme).iterdir())[:1]
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(InputError, match="was changed since its manifest was written"):
        release_run(made.folder, place / "again", schemes=[scheme])


def test_what_is_not_done_by_parts_is_refused_first(folder):
    place = folder / "refused"
    write_parts(place, people(), [100])
    cases = {
        'schemes = ["unweighted", "mix(t=0.5)"]': (
            'schemes = ["delete(q=0.1)"]',
            "is made of the values of all records at once",
        ),
        'formula = "income ~ C(region) + C(age) + edu"': (
            'predictors = ["region", "age"]\nvariables = {}',
            "one variable is fitted from counts",
        ),
        "risk_draws = 20": (
            'risk_draws = 20\ncluster = "hh"',
            "'evaluation.cluster': not possible by parts",
        ),
        'name = "linear-regression"': ('name = "auto"', "compares models on all records"),
        "regressions = [": ('regressions = ["income ~ cs(edu, df=3)", ', "depends on all records"),
        'id = "hh"': ('id = "absent"', "the parts lack the column 'absent'"),
        'columns = ["edu"]': (
            'columns = ["edu", "hh"]',
            "data.id names 'hh', which the study synthesizes, releases, or reads",
        ),
    }
    for given, (changed, says) in cases.items():
        file = study_file(place)
        text = file.read_text()
        assert given in text
        text = text.replace(given, changed)
        if "predictors" in changed:  # a chain of two
            text = text.replace('"linear-regression"', '"sequential"').replace(
                'synthetic = "income"', 'synthetic = ["income", "edu"]'
            )
            text = text.replace('transform = "log"\nsupport = [1, 10000000]\n', "").replace(
                'columns = ["edu"]\n', ""
            )
        file.write_text(text)
        with pytest.raises(InputError, match=says):
            run_by_parts(load_study(file), place / "out", workers=1)
    assert not (place / "out.partial").exists()


def test_a_scheduler_that_is_not_there_is_said(folder, monkeypatch):
    from riskweighted.common import cluster

    monkeypatch.setattr(cluster, "ANSWER_WITHIN", 1.0)
    place = folder / "alone"
    write_parts(place, people(), [100])
    with pytest.raises(
        InputError, match=r"the scheduler at 'tcp://127\.0\.0\.1:1' does not answer"
    ):
        run_by_parts(load_study(study_file(place)), place / "out", scheduler="tcp://127.0.0.1:1")


def test_repeated_identifiers_stop_the_run(folder):
    data = people()
    place = folder / "repeated"
    write_parts(place, pd.concat([data, data.iloc[:1]]), [100, 900])
    with pytest.raises(InputError, match="1 records have an identifier that another one has"):
        run_by_parts(load_study(study_file(place)), place / "out", workers=1)
    assert not (place / "out").exists()


OTHERS = {
    "two-part": (
        'name = "two-part"\nformula = "gain ~ C(region) + C(age)"\nsupport = [-1000000, 10000000]',
        "gain",
        '"mix+(t=0.5)"',
    ),
    "logistic": ('name = "logistic"\nformula = "owner ~ C(region) + edu"', "owner", '"marginal"'),
    "bounded": (
        'name = "linear-regression"\nformula = "gain ~ C(region) + C(age)"\ntransform = "asinh"',
        "gain",
        '"bounded(b=0.1)"',
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_other_models_and_weights_by_parts(folder, name):
    model, target, scheme = OTHERS[name]
    data, place = people(1500), folder / name
    rng = np.random.default_rng(4)
    gain = np.select(
        [rng.random(1500) < 0.2, rng.random(1500) < 0.1], [0, -data["income"] // 10], data["income"]
    )
    data = data.assign(
        gain=gain, owner=np.where(rng.random(1500) < 0.3 + 0.1 * data["edu"], "yes", "no")
    )
    write_parts(place, data, [400])
    data.to_parquet(place / "people.parquet")
    made = {}
    for which, path in (("parts", "parts/*.parquet"), ("whole", "people.parquet")):
        text = study_file(
            place, path, identified='id = "hh"\nfitted = 1500' if which == "parts" else ""
        ).read_text()
        start, end = text.index('name = "linear'), text.index("[weights]")
        text = text[:start] + model + "\n" + text[end:]
        text = text.replace('synthetic = "income"', f'synthetic = "{target}"').replace(
            '"mix(t=0.5)"', scheme
        )
        text = text.replace('regression = "income ~ C(region) + edu"\ncoefficient = "edu"\n', "")
        text = text.replace('columns = ["edu"]', "" if target == "gain" else 'columns = ["edu"]')
        (place / "study.toml").write_text(text)
        study = load_study(place / "study.toml")
        out = place / f"of {which}"
        made[which] = (
            run_by_parts(study, out, workers=1, room=ROOM)
            if which == "parts"
            else rw.run_study(study, out)
        )
    for table in ("risk", "utility"):
        mine, theirs = (table_of(made[which], table) for which in ("parts", "whole"))
        require_same_of_data(mine, theirs)
    for key in ("expected-mean-risk", "expected-isolated-risk"):
        risks = [
            keyed(made[which].evaluation.risk).xs(key, level="key")["value"]
            for which in ("parts", "whole")
        ]
        np.testing.assert_allclose(*risks, atol=0.02)


@pytest.mark.long
def test_a_sample_of_every_pattern_is_fitted(folder, run):
    made = ran(folder, "sampled", identified='id = "hh"\nfitted = 300')
    posteriors = [
        load_run(each.folder).posteriors["unweighted"]["coefficient"] for each in (made, run)
    ]
    ratio = posteriors[0].std(("chain", "draw")) / posteriors[1].std(("chain", "draw"))
    assert 1.4 < float(ratio.mean()) < 2.1  # a third of the records
    assert (
        len(pd.read_parquet(made.folder / "confidential" / "records" / "part-000001.parquet")) > 0
    )


class KillsWorkers(Quiet):
    """Kills a worker at a random moment of every step."""

    def __init__(self, seed):
        self.rng, self.killed = np.random.default_rng(seed), []

    def kill(self, what):
        workers = [
            child
            for child in psutil.Process().children(recursive=True)
            if "spawn_main" in " ".join(child.cmdline())
        ]
        if workers:
            os.kill(workers[int(self.rng.integers(len(workers)))].pid, signal.SIGKILL)
            self.killed.append(what)

    @contextmanager
    def step(self, description):
        timer = threading.Timer(float(self.rng.uniform(0, 1.5)), self.kill, [description])
        timer.start()
        with super().step(description) as advance:
            yield advance
        timer.join()  # a step that took less is followed by a worker less


@pytest.mark.long
def test_killed_workers_change_nothing(folder, run, capfd):
    # among them one that starts, which its nanny gives up
    place, killer = folder / "killed", KillsWorkers(0)
    write_parts(place, people(), [100, 500])
    study = load_study(study_file(place, release=ACCEPTED))
    made = of_parts(study, place / "out", workers=2, reporter=killer)
    assert len(killer.killed) >= 10
    assert files_of(made.folder) == files_of(run.folder)


@pytest.mark.long
def test_a_scheduler_that_runs_already_gives_the_same(folder, run):
    from distributed import LocalCluster

    place = folder / "scheduled"
    write_parts(place, people(), [700])
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        study = load_study(study_file(place, release=ACCEPTED))
        made = of_parts(study, place / "out", scheduler=cluster.scheduler_address)
    assert files_of(made.folder) == files_of(run.folder)


@pytest.mark.long
def test_a_run_that_was_killed_goes_on(folder, run):
    import subprocess
    import sys

    place = folder / "interrupted"
    write_parts(place, people(), [100, 500])
    file = study_file(place, release=ACCEPTED)
    code = (
        "from riskweighted.parts.run import run_by_parts; from riskweighted.runs.study import "
        "load_study\n"
        f"if __name__ == '__main__': run_by_parts(load_study({str(file)!r}), "
        f"{str(place / 'out')!r}, workers=1, room={ROOM}, entropy={ENTROPY!r})"
    )
    (place / "job.py").write_text(code)
    system, seen = place / "tmp", set()
    system.mkdir()
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "env": {**os.environ, "TMPDIR": str(system)},
    }
    process = subprocess.Popen([sys.executable, str(place / "job.py")], **quiet)
    partial = place / "out.partial"
    while process.poll() is None and not list(partial.glob("work-*/fits/*.said")):
        seen |= set(system.rglob("*"))
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    psutil.wait_procs(children, timeout=30)
    told = [
        path
        for path in seen
        if ".partd" in path.as_posix() or path.suffix not in ("", ".crt", ".pem")
    ]
    # keys of the run's workers lie there while they are read; identifiers were shuffled there
    assert not told
    assert sorted(path.name for path in place.iterdir()) == [
        "job.py",
        "out.partial",
        "parts",
        "study.toml",
        "tmp",
    ]
    for stage in ("weighed", "fitted-0", "measured"):  # where earlier versions looked for pickles
        for work in partial.glob("work-*"):
            keep(work / stage / "000000", b"", f"{work.name.removeprefix('work-')}/{stage}/0")
    held = poison(partial, place / "ran", spared=("entropy", "gathered", ".parquet"))
    with pytest.raises(InputError, match="no saved fit, or is damaged"):
        of_parts(load_study(file), place / "out", workers=1)
    (work,) = partial.glob("work-*")
    restore({path: content for path, content in held.items() if path.parent.name == "fits"})
    poison(work, place / "ran", spared=(".fit", ".said"))
    made = of_parts(load_study(file), place / "out", workers=1)
    assert not (place / "ran").exists()
    assert files_of(made.folder) == files_of(run.folder)
    assert not partial.exists()
