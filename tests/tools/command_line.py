"""The command line as a user starts it: in a process of its own, forked from one that has loaded
the packages.
"""

import functools
import multiprocessing
import multiprocessing.forkserver
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

LOG_LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^\n]+\n"
_LIMIT = 900  # seconds, of a machine that works on other things besides


class Command:
    """A command that runs: its arguments, its number as a process, what it has said so far and its
    exit code once it has ended.
    """

    def __init__(self, *arguments, cwd, columns=None, before=None):
        self.words = ["riskweighted", *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        environment |= {} if columns is None else {"COLUMNS": str(columns)}
        self._folder = tempfile.TemporaryDirectory()
        self._said = [Path(self._folder.name, name) for name in ("stdout", "stderr")]
        for path in self._said:
            path.touch()
        os.umask(mask := os.umask(0))
        self._process = _loaded().Process(
            target=_run, args=(self.words, Path(cwd), environment, mask, before, *self._said)
        )
        self._process.start()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self._process.kill()
        self._process.join()
        self._folder.cleanup()

    @property
    def pid(self):
        return self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    @property
    def stdout(self):
        return self._said[0].read_text(encoding="utf-8")

    @property
    def stderr(self):
        return self._said[1].read_text(encoding="utf-8")

    def ended(self):
        """What became of it, as `subprocess.run` says it."""
        self._process.join(_LIMIT)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.words, _LIMIT)
        return subprocess.CompletedProcess(self.words, self.returncode, self.stdout, self.stderr)


def riskweighted(*arguments, cwd, columns=None, before=None):
    """A command that has ended; `columns`: as wide a terminal as it is told of; `before`: called in
    its process first.
    """
    with Command(*arguments, cwd=cwd, columns=columns, before=before) as command:
        return command.ended()


def pytest_runtest_setup(item):
    """What a fit of a class that is none of the package's tries in a fresh process is tried in a
    forked one: a tenth of the time.
    """
    isolation = sys.modules.get("riskweighted.sampling.isolation")
    if isolation is not None:
        isolation.subprocess = _FORKED


@pytest.fixture
def anew(monkeypatch):
    """A fit starts Python anew in this test, as it does for users."""
    from riskweighted.sampling import isolation

    monkeypatch.setattr(isolation, "subprocess", subprocess)


def _program(words, *, input, **settings):
    """What `subprocess.run` gives of a program of Python (``-c``) that reads bytes and writes
    bytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "given"), Path(folder, "answer")
        given.write_bytes(input)
        process = _loaded().Process(
            target=_answer, args=(words[words.index("-c") + 1], given, answer)
        )
        process.start()
        process.join(_LIMIT)
        return subprocess.CompletedProcess(words, process.exitcode, answer.read_bytes())


_FORKED = SimpleNamespace(run=_program, TimeoutExpired=subprocess.TimeoutExpired)


def _answer(program, given, answer):
    with (
        given.open(encoding="utf-8") as sys.stdin,
        answer.open("w", encoding="utf-8") as sys.stdout,
    ):
        exec(program, {})


@functools.cache
def _loaded():
    """What starts processes: each is forked from one that imported the module `loaded`."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["loaded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        multiprocessing.forkserver.ensure_running()
    return processes


def _run(words, folder, environment, mask, before, *said):
    """What ``python -m riskweighted`` does at a terminal, with what it says in two files."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(mask)
    for descriptor, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = words
    from riskweighted.commands.main import main

    if before is not None:
        before()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def without_log(text):
    """What stands on stderr besides the lines that tell of steps."""
    return re.sub(f"(?m)^{LOG_LINE}", "", text)
