"""What a run by parts would do, said before it does."""

import json

import pytest
from command_line import riskweighted
from parted import people, study_file, write_parts

from riskweighted.parts import plan as module
from riskweighted.parts.plan import plan_by_parts
from riskweighted.runs.study import load_study


@pytest.fixture
def file(tmp_path):
    write_parts(tmp_path, people(), [100, 100, 500])
    return study_file(tmp_path)


def test_patterns_and_buckets_are_counted(file):
    plan, data = plan_by_parts(load_study(file)), people()
    sizes = data.groupby(["region", "age"]).size()
    assert (plan.records, plan.files, plan.patterns, plan.largest) == (
        900,
        4,
        len(sizes),
        sizes.max(),
    )
    assert (plan.singletons, plan.buckets) == (0, 1)
    assert plan.disk > 900 * 8 * 10
    assert plan.memory > 900 * 1000


def test_designs_that_are_nearly_as_many_as_records_are_said_with_what_helps(file, monkeypatch):
    study = load_study(file)
    assert "counts save little" not in plan_by_parts(study).lines(study)["designs"]
    monkeypatch.setattr(module, "_MANY", -1.0)
    monkeypatch.setattr(module, "_ENOUGH", 90)
    assert "fitted = 90" in plan_by_parts(study).lines(study)["designs"]
    assert "10% of that of all" in plan_by_parts(study).lines(study)["designs"]


def test_check_writes_nothing(file):
    said = riskweighted("check", file.name, cwd=file.parent)
    assert "900 in 4 files, worked on in 1 buckets" in said.stdout
    assert sorted(path.name for path in file.parent.iterdir()) == ["parts", "study.toml"]


def test_check_as_json(file):
    told = json.loads(riskweighted("check", file.name, "--json", cwd=file.parent).stdout)
    assert (told["records"], told["files"]) == (900, 4)


def test_workers_are_of_data_in_parts(tmp_path):
    people().to_parquet(tmp_path / "people.parquet")
    file = study_file(tmp_path, "people.parquet", identified="")
    said = riskweighted("run", file.name, "--out", "out", "--workers", "2", cwd=tmp_path)
    assert said.returncode == 2
    assert "--workers and --scheduler are of data in parts" in said.stderr
