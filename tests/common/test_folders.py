"""The writer of folders: one command at a time, only its own files, and nothing left but
checkpoints.
"""

import errno
import inspect
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from riskweighted.common import atomic, folders
from riskweighted.common.atomic import keep, recall, write_file
from riskweighted.common.errors import InputError
from riskweighted.common.folders import open_folder, scratch, temporary_folder


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def anything_goes(out):
    pass


def write_result(working):
    (working.result / "t.csv").write_text("x")


def keep_one(working):
    keep(working.folder / "k", b"content", "k")


def work(out, *steps, error=None, **settings):
    """A run of some steps, which may end in an error."""
    with open_folder(out, "a run", **settings) as working:
        for step in steps:
            step(working)
        if error is not None:
            raise error("stop")


def test_a_folder_appears_whole_when_the_work_is_done(tmp_path):
    out = tmp_path / "a" / "b" / "out"
    with open_folder(out, "a run") as working:
        assert working.out == out
        assert working.folder == tmp_path / "a" / "b" / "out.partial"
        assert mode(working.folder) == 0o700
        (working.result / "t.csv").write_text("x")
        # the mark and the lock
        assert [mode(path) for path in working.folder.glob(".*")] == [0o600, 0o600]
        assert not out.exists()
    assert names(tmp_path) == ["a", "a/b", "a/b/out", "a/b/out/t.csv"]
    assert mode(out) == 0o755
    assert mode(out / "t.csv") == 0o644


def test_a_working_folder_is_its_owners_only_from_the_first_moment(tmp_path, monkeypatch):
    modes, lock = [], folders.take_lock

    def locked(path):
        modes.append(mode(path.parent))
        return lock(path)

    monkeypatch.setattr(folders, "take_lock", locked)
    with open_folder(tmp_path / "out", "a run"):
        pass
    assert modes == [0o700]
    # And one that a killed command left open to others is closed before anything is written there.
    (tmp_path / "again.partial").mkdir()
    (tmp_path / "again.partial").chmod(0o755)
    (tmp_path / "again.partial" / ".riskweighted").write_text("a run")
    with open_folder(tmp_path / "again", "a run") as working:
        assert mode(working.folder) == 0o700


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, InputError])
def test_an_error_leaves_nothing_but_checkpoints(tmp_path, error):
    out = tmp_path / "a" / "out"
    with pytest.raises(error):
        work(
            out,
            write_result,
            lambda working: write_file(working.folder / "begun.json", "{}"),
            error=error,
        )
    assert names(tmp_path) == []
    with pytest.raises(error):
        work(out, write_result, keep_one, error=error)
    assert names(tmp_path) == [
        "a",
        "a/out.partial",
        "a/out.partial/.riskweighted",
        "a/out.partial/k",
        "a/out.partial/k.seal",
    ]
    with open_folder(out, "a run") as working:
        assert recall(working.folder / "k", "k") == b"content"
        assert names(working.result) == []
    assert names(tmp_path) == ["a", "a/out"]


@pytest.mark.parametrize("when", ["result", "publish"])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, when):
    def full_disk(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    steps = [
        lambda working: write_file(working.result / "whole", "x"),
        lambda working: monkeypatch.setattr(atomic.os, "fsync", full_disk),
        lambda working: write_file(working.result / "half", "x"),
    ]
    with pytest.raises(OSError, match="No space left"):
        work(tmp_path / "out", *steps[: 3 if when == "result" else 2])
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "stale", ["confidential/old.csv", "result-0123/confidential/old.csv", "result/old.csv"]
)
def test_what_lay_in_a_working_folder_is_never_published(tmp_path, stale):
    partial = tmp_path / "out.partial"
    write_file(partial / stale, "old")
    with (
        pytest.raises(InputError, match="not the working folder of an assessment"),
        open_folder(tmp_path / "out", "an assessment"),
    ):
        pytest.fail("too late")
    assert (partial / stale).read_text() == "old"  # it is not ours
    (partial / ".riskweighted").write_text("an assessment")  # it is ours, and was killed
    with open_folder(tmp_path / "out", "an assessment") as working:
        (working.result / "new").write_text("x")
    assert names(tmp_path) == ["out", "out/new"]


def test_checkpoints_of_another_kind_of_command_are_left_alone(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path / "out", keep_one, error=KeyboardInterrupt)
    before = names(tmp_path)
    with (
        pytest.raises(InputError, match="exists and is not the working folder of a sweep"),
        open_folder(tmp_path / "out", "a sweep"),
    ):
        pytest.fail("too late")
    assert names(tmp_path) == before
    (tmp_path / "link.partial").symlink_to(tmp_path / "out.partial")
    with (
        pytest.raises(InputError, match="not the working folder"),
        open_folder(tmp_path / "link", "a run"),
    ):
        pytest.fail("too late")


def test_an_existing_folder_is_replaced_only_where_that_is_allowed(tmp_path):
    out = tmp_path / "out"
    write_file(out / "before", "x")

    def refuses(folder):
        raise InputError("not ours")

    for settings, message in (
        ({}, "exists; choose another folder$"),
        ({"force": True}, "exists; choose another folder$"),
        (
            {"check_replaceable": anything_goes},
            "exists; choose another folder or allow replacing it",
        ),
        ({"check_replaceable": refuses, "force": True}, "not ours"),
    ):
        with pytest.raises(InputError, match=message), open_folder(out, "a run", **settings):
            pytest.fail("too late")
        assert names(tmp_path) == ["out", "out/before"]
    with open_folder(out, "a run", check_replaceable=anything_goes, force=True) as working:
        (working.result / "after").write_text("x")
        assert names(out) == ["before"]
    assert names(tmp_path) == ["out", "out/after"]


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(InputError, match="exists"):
        work(tmp_path / "out", write_result, lambda working: (tmp_path / "out").mkdir())
    assert names(tmp_path) == ["out"]


def test_what_was_to_be_replaced_is_put_back(tmp_path, monkeypatch):
    write_file(tmp_path / "out" / "before", "x")
    rename = os.rename

    def fails_on_the_result(self, target):
        if self.name.startswith("result-"):
            raise OSError(errno.EIO, "broken")
        rename(self, target)
        return target

    monkeypatch.setattr("pathlib.Path.rename", fails_on_the_result)
    with (
        pytest.raises(OSError, match="broken"),
        open_folder(tmp_path / "out", "a run", check_replaceable=anything_goes, force=True),
    ):
        pass
    assert names(tmp_path) == ["out", "out/before"]
    # A command killed between the two steps of replacing leaves the old folder to the next one.
    partial = tmp_path / "out.partial"
    write_file(partial / ".riskweighted", "a run")
    (tmp_path / "out").rename(partial / "replaced")
    with (
        pytest.raises(InputError, match=r"'.*out' exists"),
        open_folder(tmp_path / "out", "a run", check_replaceable=anything_goes),
    ):
        pytest.fail("too late")
    assert names(tmp_path) == ["out", "out/before"]


@pytest.mark.parametrize("place", ["result/out", "result/deep/out", "link/out"])
def test_no_result_is_built_inside_another(tmp_path, place):
    with open_folder(tmp_path / "result", "a run") as working:
        write_file(
            working.result / "manifest.json",
            json.dumps({"versions": {"riskweighted": "1"}, "files": {}}),
        )
    (tmp_path / "link").symlink_to("result")
    before = names(tmp_path)
    with pytest.raises(
        InputError,
        match=r"lies in the finished result '.*result', which must stay as it was written",
    ):
        work(tmp_path / place)
    assert names(tmp_path) == before


def test_a_folder_of_others_that_has_a_manifest_is_no_result(tmp_path):
    for number, content in enumerate(('{"versions": {"npm": "1"}}', "[]", "{", '{"versions": 1}')):
        write_file(tmp_path / str(number) / "manifest.json", content)
        work(tmp_path / str(number) / "out", write_result)
        assert names(tmp_path / str(number)) == ["manifest.json", "out", "out/t.csv"]


def test_a_name_with_nul_is_refused(tmp_path):
    with pytest.raises(InputError, match="no name holds a NUL"):
        work(tmp_path / "a\0b")


@pytest.mark.parametrize("place", ["dangling", "file/out", "dangling/out"])
def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path, place):
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    before = names(tmp_path)
    with pytest.raises((InputError, OSError)), open_folder(tmp_path / place, "a run"):
        pytest.fail("too late")
    assert names(tmp_path) == before


def test_a_parent_without_permission_is_refused_at_once(tmp_path, monkeypatch):
    def refused(self, *arguments, **settings):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr("pathlib.Path.mkdir", refused)  # a test as root may write everywhere
    with pytest.raises(PermissionError), open_folder(tmp_path / "out", "a run"):
        pytest.fail("too late")
    assert names(tmp_path) == []


# -- the lock

WORKS = """
import sys, time
from pathlib import Path
from riskweighted.common.atomic import keep
from riskweighted.common.folders import open_folder
with open_folder(Path(sys.argv[1]), "a run") as working:
    (working.result / "half").write_text("x")
    if sys.argv[2] == "keep":
        keep(working.folder / "k", b"content", "k")
    print("at work", flush=True)
    time.sleep(600)
"""


def start(out, keeps="nothing", before=""):
    process = subprocess.Popen(
        [sys.executable, "-c", before + WORKS, str(out), keeps], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "at work\n"
    return process


@pytest.mark.parametrize("what", ["a run", "a sweep"])
def test_a_second_command_says_that_one_is_at_work(tmp_path, what):
    process = start(tmp_path / "out")
    try:
        before = names(tmp_path)
        with (
            pytest.raises(InputError, match=r"a command is at work on '.*out' already") as caught,
            open_folder(tmp_path / "out", what),
        ):
            pytest.fail("two at work")
        assert "\n" not in str(caught.value)
        assert names(tmp_path) == before
        with open_folder(tmp_path / "other", what):
            pass
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("keeps", ["nothing", "keep"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_goes_with_its_process(tmp_path, how, keeps):
    process = start(tmp_path / "out", keeps)
    process.send_signal(how)
    process.communicate(timeout=120)
    assert not (tmp_path / "out").exists()
    with open_folder(tmp_path / "out", "a run") as working:
        assert recall(working.folder / "k", "k") == (b"content" if keeps == "keep" else None)
        assert names(working.result) == []
    assert names(tmp_path) == ["out"]


def test_two_threads_of_one_process_exclude_each_other_too(tmp_path):
    with open_folder(tmp_path / "out", "a run"):
        with pytest.raises(InputError, match="at work"), open_folder(tmp_path / "out", "a run"):
            pytest.fail("two at work")
        assert (tmp_path / "out.partial").is_dir()


RACES = """
import sys
from pathlib import Path
from riskweighted.common.errors import InputError
from riskweighted.common.folders import open_folder
print("ready", flush=True)
sys.stdin.read()  # until the start
won = 0
for number in range(60):
    try:
        with open_folder(Path(sys.argv[1]) / str(number), "a run") as working:
            for name in "abc":
                (working.result / name).write_text(sys.argv[2])
        won += 1
    except InputError as error:
        assert "at work" in str(error) or "exists" in str(error), error
print(won)
"""


def test_of_racing_commands_one_wins_each_folder_and_none_is_mixed(tmp_path):
    command, pipe = [sys.executable, "-c", RACES, str(tmp_path)], subprocess.PIPE
    racing = [
        subprocess.Popen([*command, str(who)], stdin=pipe, stdout=pipe, text=True)
        for who in range(3)
    ]
    assert [process.stdout.readline() for process in racing] == 3 * ["ready\n"]
    for process in racing:
        process.stdin.close()
    won = [int(process.stdout.read()) for process in racing]
    for process in racing:
        process.wait(120)
        process.stdout.close()
    assert [process.returncode for process in racing] == [0, 0, 0]
    assert sum(won) == len(list(tmp_path.iterdir())) == 60
    for folder in tmp_path.iterdir():
        assert len({path.read_text() for path in folder.iterdir()}) == 1
        assert len(list(folder.iterdir())) == 3


def lacks_locks(lacks=errno.ENOLCK):
    def flock(descriptor, operation):
        raise OSError(lacks, os.strerror(lacks))

    return flock


@pytest.mark.parametrize("lacks", [errno.ENOSYS, errno.ENOLCK])
def test_where_the_file_system_has_no_locks_a_claim_is_named(tmp_path, monkeypatch, lacks):
    monkeypatch.setattr("fcntl.flock", lacks_locks(lacks))
    claim = tmp_path / "out.partial" / ".claim"
    with open_folder(tmp_path / "out", "a run") as working:
        (working.result / "new").write_text("x")
        assert claim.is_file()
        with (
            pytest.raises(InputError, match=r"at work.*remove '.*\.claim' if it was killed"),
            open_folder(tmp_path / "out", "a run"),
        ):
            pytest.fail("two at work")
        assert claim.is_file()
    assert names(tmp_path) == ["out", "out/new"]
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path / "other", keep_one, error=KeyboardInterrupt)
    assert not (tmp_path / "other.partial" / ".claim").exists()


def test_a_claim_that_a_killed_command_left_is_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", lacks_locks())
    process = start(
        tmp_path / "out",
        "keep",
        "import errno, fcntl, os\n"
        + inspect.getsource(lacks_locks)
        + "fcntl.flock = lacks_locks()\n",
    )
    process.kill()
    process.communicate(timeout=120)
    assert (tmp_path / "out.partial" / ".claim").is_file()
    with open_folder(tmp_path / "out", "a run") as working:
        assert recall(working.folder / "k", "k") == b"content"
    assert names(tmp_path) == ["out"]


def test_nothing_that_is_published_holds_a_time_a_process_or_a_chance_name(tmp_path):
    for out in ("one", "two"):
        with open_folder(tmp_path / out, "a run") as working:
            write_file(
                working.result / "manifest.json", json.dumps({"files": names(working.result)})
            )
    assert (tmp_path / "one" / "manifest.json").read_bytes() == (
        tmp_path / "two" / "manifest.json"
    ).read_bytes()


def test_files_for_the_moment_lie_in_the_working_folder(tmp_path):
    """A check publishes nothing; what a killed one left goes when the next one begins, and nothing
    is left at its end.
    """
    code = (
        "import os, pathlib, signal, sys; from riskweighted.common.folders import "
        "scratch, temporary_folder\n"
        "with scratch(pathlib.Path(sys.argv[1]), 'a check'), temporary_folder() as folder:\n"
        "    (folder / 'ids').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "out"], check=False)
    assert any(name.endswith("/ids") for name in names(tmp_path))
    assert mode(tmp_path / "out.partial") == 0o700
    with scratch(tmp_path / "out", "a check") as working, temporary_folder() as folder:
        assert folder.parent == working.folder == tmp_path / "out.partial"
        assert not any(name.endswith("ids") for name in names(tmp_path))
        assert names(working.result) == []
    assert names(tmp_path) == []
    with open_folder(tmp_path / "out", "a run") as working, temporary_folder() as folder:
        assert folder.parent == working.folder
    with temporary_folder() as folder:
        assert tmp_path not in folder.parents
        assert mode(folder) == 0o700
