"""The writer of files and checkpoints: whole or not at all, private from the first byte, nothing
left after an error.
"""

import errno
import os
import stat

import pandas as pd
import pytest

from riskweighted.common import atomic
from riskweighted.common.atomic import (
    has_checkpoints,
    keep,
    make_folder,
    recall,
    whole_file,
    write_file,
)
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.data.io import WRITABLE, write_table

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def full_disk(*arguments, **settings):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# -- files


def test_a_file_is_seen_only_when_it_is_whole(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("before")
    with whole_file(path) as unfinished:
        assert unfinished.parent == tmp_path  # the same file system, so that renaming is one step
        assert unfinished.suffix == ".csv"
        unfinished.write_text("half")
        assert path.read_text() == "before"
    assert path.read_text() == "half"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_of_one_file_do_not_share_its_working_name(tmp_path):
    with whole_file(tmp_path / "w") as one, whole_file(tmp_path / "w") as other:
        assert one != other


def test_where_files_have_no_modes_a_private_one_is_made_in_a_closed_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_FILES_HAVE_MODES", False)
    for replace in (True, False):
        with whole_file(
            tmp_path / "new" / f"{replace}.csv", private=True, replace=replace
        ) as unfinished:
            assert unfinished.suffix == ".csv"
            assert unfinished.parent.parent == tmp_path / "new"
            assert [mode(unfinished.parent), len(list(unfinished.parent.iterdir()))] == [0o700, 1]
            unfinished.write_text("x")
    with (
        pytest.raises(ValueError, match="stop"),
        whole_file(tmp_path / "no" / "no.csv", private=True),
    ):
        raise ValueError("stop")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["False.csv", "True.csv", "new"]
    with whole_file(tmp_path / "public.csv") as unfinished:
        assert unfinished.parent == tmp_path


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
@pytest.mark.parametrize("private", [True, False])
def test_modes_from_the_first_byte(tmp_path, umask, private):
    os.umask(umask)
    with whole_file(tmp_path / "new" / "deep" / "w", private=private) as unfinished:
        seen = [mode(unfinished), mode(tmp_path / "new"), mode(tmp_path / "new" / "deep")]
        unfinished.write_text("x")
    seen.append(mode(tmp_path / "new" / "deep" / "w"))
    file, folder = (0o600, 0o700) if private else (0o666 & ~umask, 0o777 & ~umask)
    assert seen == [file, folder, folder, file]


def test_a_private_file_takes_the_place_of_one_that_all_could_read(tmp_path):
    (tmp_path / "w").write_text("before")
    assert mode(tmp_path / "w") == 0o644
    write_file(tmp_path / "w", "secret", private=True)
    assert mode(tmp_path / "w") == 0o600


@pytest.mark.parametrize("ending", WRITABLE)
@pytest.mark.parametrize("private", [True, False])
def test_tables_of_every_format_are_whole_and_private(tmp_path, monkeypatch, ending, private):
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    seen, sync = [], atomic.sync
    monkeypatch.setattr(
        atomic,
        "sync",
        lambda path: (seen.append((path.name, mode(path), path.stat().st_size > 0)), sync(path)),
    )
    write_table(table, tmp_path / f"t{ending}", private=private)
    ((name, written, filled),) = seen
    assert name != f"t{ending}"
    assert (written, filled) == (0o600 if private else 0o644, True)
    assert mode(tmp_path / f"t{ending}") == written
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("what", ["fsync", "write"])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, what):
    (tmp_path / "there.csv").write_text("before")
    monkeypatch.setattr(
        *((atomic.os, "fsync") if what == "fsync" else (pd.DataFrame, "to_csv")), full_disk
    )
    for path in (tmp_path / "there.csv", tmp_path / "new" / "deep" / "w.csv"):
        with pytest.raises(OSError, match="No space left"):
            write_table(pd.DataFrame({"a": [1]}), path, private=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "before"


def test_an_interrupt_leaves_nothing(tmp_path):
    def interrupted():
        with whole_file(tmp_path / "a" / "w") as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_be_replaced_is_not(tmp_path):
    path = tmp_path / "w"

    def overtaken():
        with whole_file(path, replace=False) as unfinished:
            unfinished.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(InputError, match=r"'.*w' exists"):
        overtaken()
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    with whole_file(path, replace=False) as unfinished:
        unfinished.write_text("ours")
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_links(tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "w")
    with pytest.raises(InputError, match="leads nowhere"), whole_file(tmp_path / "dangling"):
        pytest.fail("too late")
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "after"


def test_an_error_names_the_place_that_was_asked_for(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError) as caught, whole_file(tmp_path / "file" / "w"):
        pytest.fail("too late")
    assert caught.value.filename == str(tmp_path / "file" / "w")


def test_make_folder_says_what_it_made(tmp_path):
    assert make_folder(tmp_path / "a" / "b", private=True) == [tmp_path / "a" / "b", tmp_path / "a"]
    assert make_folder(tmp_path / "a" / "b") == []
    assert mode(tmp_path / "a") == 0o700


# -- checkpoints


def test_a_checkpoint_comes_back_for_what_it_was_made_for(tmp_path):
    path = tmp_path / "cells" / "k.json"
    assert recall(path, "alpha 1 seed 2") is None  # without a warning: they are errors here
    assert not has_checkpoints(tmp_path)
    keep(path, b"content", "alpha 1 seed 2")
    assert recall(path, "alpha 1 seed 2") == b"content"
    assert has_checkpoints(tmp_path)
    assert [mode(found) for found in path.parent.iterdir()] == [0o600, 0o600]
    assert mode(path.parent) == 0o700


def test_every_flipped_bit_is_found(tmp_path):
    path = tmp_path / "k"
    keep(path, b"content", "seed 2")
    for file in (path, tmp_path / "k.seal"):
        whole = file.read_bytes()
        for place in range(len(whole)):
            for bit in range(8):
                damaged = bytearray(whole)
                damaged[place] ^= 1 << bit
                file.write_bytes(damaged)
                with pytest.warns(RiskWeightedWarning, match="the checkpoint 'k' is damaged"):
                    assert recall(path, "seed 2") is None
        file.write_bytes(whole)
    assert recall(path, "seed 2") == b"content"


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.with_name("k.seal").unlink(),
        lambda path: path.with_name("k.seal").write_bytes(b"\xff{"),
        lambda path: keep(path, b"content", "seed 3"),
        lambda path: path.rename(path.with_name("was")) and path.write_bytes(b"another"),
    ],
)
def test_a_damaged_or_foreign_checkpoint_is_named_and_made_again(tmp_path, damage):
    path = tmp_path / "k"
    keep(path, b"content", "seed 2")
    damage(path)
    with pytest.warns(
        RiskWeightedWarning, match="'k' is damaged or was made for something else"
    ) as caught:
        assert recall(path, "seed 2") is None
    assert len(caught) == 1
    keep(path, b"content", "seed 2")
    assert recall(path, "seed 2") == b"content"


def test_a_kill_between_seal_and_content_is_no_damage(tmp_path):
    keep(tmp_path / "k", b"content", "seed 2")
    (tmp_path / "k").unlink()
    assert recall(tmp_path / "k", "seed 2") is None
