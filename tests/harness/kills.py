"""Kill real commands and go on: what is published is byte for byte what a command that nobody kills
publishes.

``python -m tests.harness.kills --kills 40`` from the root of the repository; the tests do ten. A
chain kills one command again and again, at a stage of its work or at a random moment, with SIGKILL
or Ctrl-C, and then lets it end. After every kill nothing may stand under the final name, or all of
it; at the end the bytes and modes are those of the reference and no working folder is left.
"""

import argparse
import hashlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tests.tools.finished_run import ACCEPTED
from tests.tools.study_text import study_text

_ACCEPTED = "".join(f'{rule} = "{reason}"\n' for rule, reason in ACCEPTED["accept"].items())
STUDY = study_text(
    '[weights]\nschemes = ["unweighted", "pairwise"]',
    "[evaluation]\nresamples = 50",
    f"[release.disclosure.accept]\n{_ACCEPTED}",
    draws=400,
    tune=200,
)
FILES = {
    "study.toml": STUDY,
    "sweep.toml": 'study = "study.toml"\n[grid]\n"release.L" = [3, 2]\n',
    "reidentify.toml": 'metrics = ["unicity", "taxicab"]\n[run]\nfolder = "reference/run"\n'
    'confidential = "data.csv"\n',
}
COMMANDS = {
    "run": ("run", "study.toml"),
    "sweep": ("sweep", "sweep.toml", "--workers", "1"),
    "release": ("release", "reference/run", "--scheme", "pairwise", "--confidential", "data.csv"),
    "reidentify": ("reidentify", "reidentify.toml"),
}
FINISHED = (0, 3)  # 3: a fit whose secret entropy happens to give chains that do not agree quite
SIGNALS = {"KILL": signal.SIGKILL, "INT": signal.SIGINT}
IN_CI = (  # command, and its kills one after the other: signal, stage
    ("run", (("INT", "begun"), ("KILL", "checkpoint"), ("INT", "checkpoint"), ("KILL", "written"))),
    ("sweep", (("KILL", "checkpoint"), ("INT", "checkpoint"))),
    ("release", (("KILL", "written"), ("INT", "begun"))),
    ("reidentify", (("INT", "written"), ("KILL", "random"))),
)
STAGES = {
    "run": ("begun", "checkpoint", "written", "published", "random"),
    "sweep": ("begun", "checkpoint", "written", "published", "random"),
    "release": ("begun", "written", "published", "random"),
    "reidentify": ("begun", "written", "published", "random"),
}


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of all that lies in a folder, which need not be there; but where the data
    lie, which follows from its place.
    """
    content = {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}
    if (place := folder / "confidential" / "data.txt") in content:
        said = hashlib.sha256(content[place]).hexdigest().encode()
        manifest = folder / "manifest.json"
        content |= {place: b"", manifest: content.get(manifest, b"").replace(said, b"")}
    return {
        path.relative_to(folder).as_posix(): (stat.S_IMODE(path.lstat().st_mode), bytes_of)
        for path, bytes_of in content.items()
    }


class Started:
    """A command in a process group of its own; Ctrl-C means what it means on a terminal, also where
    a script runs this.
    """

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "riskweighted", *arguments],
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def poll(self) -> int | None:
        return self._process.poll()

    def strike(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)

    def ended(self) -> tuple[int, str]:
        """Exit code and errors, which are waited for; nothing of it survives."""
        try:
            _, errors = self._process.communicate(timeout=300)
        finally:
            self._process.kill()
            self._process.wait()
        return self._process.returncode, errors


@dataclass
class Bench:
    """A folder with data, studies and, under ``reference``, what unkilled commands publish;
    `starts` starts a command.
    """

    folder: Path
    starts: Callable[..., Started] = Started
    seconds: dict[str, float] = field(default_factory=dict)
    # command, signal, what became of it
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @classmethod
    def made(cls, folder: Path, starts: Callable[..., Started] = Started) -> "Bench":
        rng = np.random.default_rng(1)
        group = rng.choice(["a", "b"], 120)
        income = np.round(np.exp(6.5 + (group == "b") + 0.5 * rng.normal(size=120)), 4)
        pd.DataFrame({"group": group, "size": rng.integers(1, 4, 120), "income": income}).to_csv(
            folder / "data.csv", index=False
        )
        for name, text in FILES.items():
            (folder / name).write_text(text)
        bench = cls(folder, starts)
        for command in COMMANDS:  # the others start from a run
            begin = time.monotonic()
            code, errors = bench.start(command, f"reference/{command}").ended()
            assert code in FINISHED, errors
            bench.seconds[command] = time.monotonic() - begin
        return bench

    def start(self, command: str, out: str) -> Started:
        repeats = (
            ("--entropy", "reference/run")
            if command == "run" and (self.folder / "reference" / "run").exists()
            else ()
        )
        return self._start(*COMMANDS[command], *repeats, "--out", out)

    def _start(self, *arguments: str) -> Started:
        return self.starts(*arguments, cwd=self.folder)

    def chain(
        self, command: str, kills: tuple[tuple[str, str], ...], rng: np.random.Generator
    ) -> None:
        """Kill one command several times, then let it end."""
        out, reference = self.folder / "out", tree(self.folder / "reference" / command)
        before = {path.name for path in self.folder.iterdir()}
        for name, stage in kills:
            self._kill(command, name, stage, rng)
            assert {path.name for path in self.folder.iterdir()} <= before | {"out", "out.partial"}
            if (self.folder / "out.partial").exists():
                assert stat.S_IMODE((self.folder / "out.partial").stat().st_mode) == 0o700
            if out.exists():  # killed after it had its name
                assert tree(out) == reference, f"{command}: half a result after {name} at {stage!r}"
                out.rename(self.folder / "published")
                remove(self.folder / "published")
        code, errors = self.start(command, "out").ended()
        assert code in FINISHED, f"{command} after {kills}: {errors}"
        assert tree(out) == reference, f"{command} after {kills}: other bytes than without a kill"
        assert {path.name for path in self.folder.iterdir()} == before | {"out"}, (
            "a working folder is left"
        )
        remove(out)
        self.counts[command, "-", "resumed, the same bytes"] += 1

    def keep_entropy(self) -> None:
        """A killed run goes on with its secret entropy; with it the run can be repeated, and
        without it nothing is the same.
        """
        partial = self.folder / "out.partial"
        process = self._start(*COMMANDS["run"], "--out", "out")
        while process.poll() is None and len(list(partial.glob("*.nc.seal"))) < 1:
            time.sleep(0.002)
        process.strike(signal.SIGKILL)
        process.ended()
        kept = (partial / "entropy").read_bytes()
        for arguments in (("--out", "out"), ("--out", "again", "--entropy", "out")):
            code, errors = self._start(*COMMANDS["run"], *arguments).ended()
            assert code in FINISHED, errors
        assert kept.hex() in (self.folder / "out" / "confidential" / "randomness.json").read_text()
        assert tree(self.folder / "out") == tree(self.folder / "again")
        first = "synthetic/pairwise/synthetic_1.csv"
        assert (self.folder / "out" / first).read_bytes() != (
            self.folder / "reference" / "run" / first
        ).read_bytes()
        remove(self.folder / "out")
        remove(self.folder / "again")
        self.counts["run", "KILL", "its entropy used again"] += 1

    def _kill(self, command: str, name: str, stage: str, rng: np.random.Generator) -> None:
        reached = self._stages(rng.uniform(0, self.seconds[command]))
        process = self.start(command, "out")
        ready = reached[stage]
        while process.poll() is None and not seen(ready):
            time.sleep(0.002)
        if stage != "random":
            time.sleep(rng.exponential(0.02))
        ended_first = process.poll() is not None
        at_work = seen(reached["begun"])
        if not ended_first:
            process.strike(SIGNALS[name])
        code, errors = process.ended()
        assert "Traceback" not in errors or code == -signal.SIGINT, errors
        if ended_first or code in FINISHED:  # then all of it is there
            assert code in FINISHED, errors
            assert (self.folder / "out").exists()
        elif name == "KILL":
            assert code == -signal.SIGKILL
        # Python itself may end by the signal, before our first line or after our last; a shell
        # calls both 130
        else:
            assert code == 130 or (
                code == -signal.SIGINT and (not at_work or errors.startswith("interrupted"))
            ), f"{command}: exit code {code} after Ctrl-C at {stage!r}: {errors}"
        self.counts[command, name, "too late" if ended_first else f"at {stage}"] += 1

    def _stages(self, seconds: float) -> dict[str, Callable[[], bool]]:
        """Whether the command that starts now has reached a stage; what an earlier one left does
        not count.
        """
        partial, begin = self.folder / "out.partial", time.monotonic()
        left, seals = set(partial.glob("result-*")), set(partial.rglob("*.seal"))

        def results() -> set[Path]:
            return set(partial.glob("result-*")) - left

        return {
            "random": lambda: time.monotonic() - begin > seconds,
            "begun": lambda: bool(results()),
            "checkpoint": lambda: (
                bool(set(partial.rglob("*.seal")) - seals)
                or any(any(new.glob("*")) for new in results())
            ),
            "written": lambda: any(any(new.glob("*")) for new in results()),
            "published": lambda: any((new / "manifest.json").exists() for new in results()),
        }


def seen(stage: Callable[[], bool]) -> bool:
    """Whether a stage is reached; a folder that gets its final name while we look is looked at
    again.
    """
    try:
        return stage()
    except FileNotFoundError:
        return False


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def chains(
    kills: int, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The same number of kills of every command, three to a chain, at random stages by a random
    signal.
    """
    for place, command in enumerate(COMMANDS):
        left = kills // len(COMMANDS) + (place < kills % len(COMMANDS))
        while left:
            length = min(left, 3)
            yield (
                command,
                tuple(
                    (str(rng.choice(list(SIGNALS))), str(rng.choice(STAGES[command])))
                    for _ in range(length)
                ),
            )
            left -= length


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench.made(Path(folder))
        for command, kills in chains(given.kills, rng):
            bench.chain(command, kills, rng)
            print(command, *(" ".join(kill) for kill in kills), sep=", ", flush=True)
        bench.keep_entropy()
    print(f"\n{'command':12} {'signal':8} {'when':26} count")
    for (command, name, what), count in sorted(bench.counts.items()):
        print(f"{command:12} {name:8} {what:26} {count:5}")


if __name__ == "__main__":
    main()
