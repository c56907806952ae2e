"""The noise of a run can be made again by the agency and by nobody else; what leaves is what was
declared.
"""

import dataclasses
import json
import stat

import pandas as pd
import pytest
from finished_run import ACCEPTED, SETTINGS, confidential_data, finished_run

from riskweighted.common.errors import InputError
from riskweighted.release.pack import release_run
from riskweighted.runs.check_study import check_study
from riskweighted.runs.finished import load_run
from riskweighted.runs.randomness import FILE, load_streams, read_entropy, run_streams
from riskweighted.runs.run import run_study
from riskweighted.runs.study import demo_study, make_study

SHORT = SETTINGS | {"weights": {"schemes": ["pairwise"]}}


def datasets(folder):
    return [path.read_bytes() for path in sorted((folder / "synthetic" / "pairwise").iterdir())]


@pytest.mark.slow
def test_the_same_seed_gives_other_noise_and_the_entropy_gives_it_again(tmp_path):
    study, data = make_study(SHORT), confidential_data()
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    run_study(study, first, confidential=data)
    run_study(study, again, confidential=data, entropy=read_entropy(first))
    run_study(study, other, confidential=data)
    assert datasets(first) == datasets(again)
    assert not set(datasets(first)) & set(datasets(other))
    assert stat.S_IMODE((first / FILE).stat().st_mode) == 0o600
    assert [load_run(run).study.release.disclosure.earlier for run in (first, again, other)] == [
        0,
        0,
        1,
    ]
    streams = load_streams(first)
    for path in first.rglob("*"):
        if path.is_file() and path != first / FILE:
            for secret in (streams.entropy.hex(), streams.key.hex()):
                assert secret.encode() not in path.read_bytes(), path
    assert "seed" not in json.loads((first / "manifest.json").read_text())["settings"]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"release": {"L": 4, "columns": ["size"], "disclosure": ACCEPTED}},
        {"sampling": {"draws": 401, "tune": 200}},
    ],
)
def test_an_edited_study_never_meets_the_same_noise(tmp_path, change):
    data, entropy = confidential_data(), b"0123456789abcdef" * 2 * 2
    one, two = (_streams(settings, data, tmp_path, entropy) for settings in (SHORT, SHORT | change))
    assert one.entropy == two.entropy
    assert one.seed_for("synthesize", "pairwise") != two.seed_for("synthesize", "pairwise")
    more = _streams(SHORT, data.assign(income=data["income"] * 2), tmp_path, entropy)
    assert one.seed_for("synthesize", "pairwise") != more.seed_for("synthesize", "pairwise")


def _streams(settings, data, folder, entropy=None):
    work = check_study(make_study(settings), data).work
    return run_streams(work.study, work.prepared().fingerprint, folder, entropy)


def test_a_reproducible_study_takes_no_entropy(tmp_path):
    settings = SHORT | {"reproducible": True}
    assert _streams(settings, confidential_data(), tmp_path).key is None
    with pytest.raises(InputError, match="its seed alone decides"):
        _streams(settings, confidential_data(), tmp_path, b"0123456789abcdef")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"seed": 1, "entropy": "zz", "key": null}',
        '{"seed": 1, "entropy": "00", "key": null}',
    ],
)
def test_damaged_randomness_is_named(tmp_path, text):
    (tmp_path / "confidential").mkdir()
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match="does not hold the randomness of a run"):
        read_entropy(tmp_path)


def as_if(run, **changes):
    """The run as one of another study."""
    manifest = json.loads(json.dumps(run.manifest))
    for section, change in changes.items():
        manifest["settings"][section] = (
            manifest["settings"].get(section, {}) | change if isinstance(change, dict) else change
        )
    return dataclasses.replace(run, manifest=manifest)


@pytest.mark.slow
def test_a_reproducible_run_is_not_released_but_as_a_demonstration_of_public_data(
    tmp_path, monkeypatch
):
    # the run is not what it is said to be
    monkeypatch.setattr("riskweighted.release.pack.refuse_what_is_not_made", lambda *_: None)
    run = load_run(finished_run())
    assert demo_study().reproducible
    for demonstration in (False, True):
        with pytest.raises(InputError, match="the run is reproducible") as caught:
            release_run(
                as_if(run, reproducible=True),
                tmp_path / "pack",
                schemes=["pairwise"],
                demonstration=demonstration,
            )
        assert "--demonstration" not in str(caught.value)
    public = as_if(run, reproducible=True, data={"path": None, "embedded": "401ksubs"})
    with pytest.raises(InputError, match="--demonstration"):
        release_run(
            public, tmp_path / "pack", schemes=["pairwise"], confidential=confidential_data()
        )
    assert not list(tmp_path.iterdir())
    page = release_run(
        public,
        tmp_path / "pack",
        schemes=["pairwise"],
        confidential=confidential_data(),
        demonstration=True,
    ).folder
    assert "its seed is known" in (page / "README.md").read_text()


@pytest.mark.slow
def test_many_unique_records_need_an_explicit_acceptance(tmp_path, monkeypatch):
    # the run is not what it is said to be
    monkeypatch.setattr("riskweighted.release.pack.refuse_what_is_not_made", lambda *_: None)
    run = load_run(finished_run())
    risk = run.tables["risk"].copy()
    risk.loc[risk["key"] == "released-uniques", "value"] = 0.25
    exposed = dataclasses.replace(run, tables=run.tables | {"risk": risk})
    with pytest.raises(
        InputError, match=r"25\.0 % of the records are alone .* \(5 %\).*--accept-uniques"
    ):
        release_run(exposed, tmp_path / "pack", schemes=["pairwise"])
    pack = release_run(exposed, tmp_path / "pack", schemes=["pairwise"], accept_uniques=True).folder
    assert "accepted explicitly" in (pack / "sign_off.md").read_text()
    release_run(
        as_if(exposed, release={"unique_share": 0.3}), tmp_path / "more", schemes=["pairwise"]
    )


@pytest.mark.slow
def test_only_declared_columns_leave_and_risk_is_that_of_all_of_them():
    run = load_run(finished_run())
    assert [list(frame) for frame in run.synthetic["pairwise"]] == [["group", "size", "income"]] * 3
    risk = run.tables["risk"].set_index(["label", "key"])["value"]
    sizes = confidential_data().groupby(["group", "size"]).size()
    assert risk["confidential", "released-uniques"] == (sizes == 1).sum() / 120


@pytest.mark.parametrize("known", [["group"], ["group", "copy"]])
def test_a_copy_is_refused_before_any_fit(known):
    data = confidential_data()
    data["copy"] = data["income"].map("{:.2f} USD".format).where(data.index != 3)
    settings = SHORT | {
        "scenario": {"known": known, "synthetic": "income"},
        "release": {"L": 3, "columns": ["copy"]},
    }
    with pytest.raises(InputError, match="'copy' is to be released unaltered, but it discloses"):
        check_study(make_study(settings), data)
    with pytest.raises(InputError, match="'nope'"):
        check_study(make_study(SHORT | {"release": {"L": 3, "columns": ["nope"]}}), data)


def test_precision_is_that_of_the_study():
    study = make_study(SHORT | {"release": {"L": 3, "precision": 50}})
    assert study.release.precision == 50
    for wrong in (0, -1, "fine", True):
        with pytest.raises(InputError, match="precision"):
            make_study(SHORT | {"release": {"L": 3, "precision": wrong}})


@pytest.mark.slow
def test_released_numbers_are_as_fine_as_the_data(tmp_path):
    run = load_run(finished_run())
    assert run.manifest["precision"] == {"income": "multiples of 0.0001"}
    for frame in run.synthetic["pairwise"]:
        pd.testing.assert_series_equal(frame["income"], frame["income"].round(4))
