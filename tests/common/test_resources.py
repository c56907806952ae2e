"""What a process can still have: under the limit of a container, and on the disk of a folder that
is not there yet.
"""

import pytest

from riskweighted.common import resources

pytestmark = pytest.mark.quick


def test_a_limit_of_the_control_group_counts(tmp_path, monkeypatch):
    (tmp_path / "max").write_text("3000000\n")
    (tmp_path / "current").write_text("1000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 200000\n")
    monkeypatch.setattr(resources, "_GROUPS", ((str(tmp_path / "max"), str(tmp_path / "current")),))
    assert resources.memory_free() == 2_200_000
    (tmp_path / "max").write_text("max\n")
    assert resources.memory_free() > 3_000_000


def test_the_disk_is_that_of_the_nearest_folder_that_is_there(tmp_path):
    assert (
        abs(resources.disk_free(tmp_path / "not" / "there") - resources.disk_free(tmp_path)) < 1e9
    )


def test_only_what_does_not_fit_is_short_and_twice_as_much_is_certain(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "memory_free", lambda: 2_000_000_000)
    monkeypatch.setattr(resources, "_held_now", lambda: 1_000_000_000)
    monkeypatch.setattr(resources, "disk_free", lambda path: 5_000_000)
    assert resources.shortages(2e9, 4e6, tmp_path) == []
    memory, disk = resources.shortages(4e9, 1e7 + 1, tmp_path)
    assert str(memory) == "memory: needs about 4.0 GB, 3.0 GB are free, 1.0 GB too few"
    assert not memory.certain
    assert disk.certain
    assert str(disk).startswith("disk: needs about 10 MB, 5 MB are free")
