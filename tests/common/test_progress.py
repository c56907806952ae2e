"""What long work tells: lines of a log."""

import io
import re
import threading

import pytest

from riskweighted.common import progress
from riskweighted.common.progress import Forward, LogLines, Steps, Stretches, TerminalBars, duration

pytestmark = pytest.mark.quick

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "


def test_a_step_that_is_done_is_one_line_and_one_that_fails_is_none():
    lines = []
    log = LogLines(lines.append)
    with log.step("counting") as advance:
        advance(1, 2)
    with pytest.raises(ValueError, match="x"), log.step("failing"):
        raise ValueError("x")
    assert len(lines) == 1
    assert re.fullmatch(STAMP + "counting: done in 0 s", lines[0])


def test_a_long_step_says_how_far_it_is(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = []
    with LogLines(lines.append).step("sampling") as advance:
        for done in range(1, 11):
            now[0] += 25.0
            advance(done, 10)
    assert [line.split(": ")[1] for line in lines] == [
        "30 %, 75 s",
        "60 %, 2 min",
        "90 %, 4 min",
        "done in 4 min",
    ]


def test_parts_of_a_step_that_count_differently_read_as_one_whole(monkeypatch):
    """1203 of 2406 draws, then 4 of 6 packs."""
    now, lines = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with LogLines(lines.append).step("measuring") as advance:
        for done, total in ((1203, 2406), (4, 6), (3, 6), (11, 12)):
            now[0] += 60.0
            advance(done, total)
    shares = [int(line.split("measuring: ")[1].split(" %")[0]) for line in lines[:-1]]
    assert shares == [50, 67, 67, 92]


def test_detail_says_when_a_step_begins_and_what_it_held():
    lines = []
    with LogLines(lines.append, detail=True).step("fitting"):
        pass
    assert re.fullmatch(STAMP + "fitting: begins", lines[0])
    assert re.fullmatch(STAMP + r"fitting: done in 0 s, \S+ [MG]B at the peak", lines[1])


def told_of(*reports):
    """What is passed on of reports of (done, in all)."""
    passed = []
    forward = Forward(lambda done, total: passed.append((done, total)))
    for report in reports:
        forward(*report)
    forward.end()
    return passed


def test_progress_never_runs_backwards_and_ends_once():
    assert told_of((1, 8), (7779, 8000), (4428, 8000), (7800, 8000)) == [
        (1, 8),
        (7779, 8000),
        (7800, 8000),
        (8000, 8000),
    ]
    # chains began again
    assert told_of((8000, 8000), (400, 8000), (8000, 8000)) == [(8000, 8000), (8000, 8000)]
    # blocks of other engines count other draws
    assert told_of((12, 24), (16, 24), (16, 48), (17, 32)) == [(12, 24), (16, 24), (24, 24)]
    assert told_of() == [(1, 1)]


def test_stretches_that_were_not_foreseen_move_what_is_shown_and_never_bring_it_back():
    passed = []
    stretches = Stretches(lambda done, total: passed.append(done / total))
    looks = Stretches(stretches.begin())
    for _ in range(3):
        told = Steps(looks.begin(), 4)
        for _ in range(4):
            told()
    longer = Steps(looks.begin(), 2)
    longer()
    longer.total = 8  # more of it than was foreseen
    longer()
    for done in range(3):
        stretches.begin(last=done == 2)(1, 2)
    assert passed == sorted(passed)
    assert passed[3] == pytest.approx(0.25, abs=1e-4)
    assert passed[11] == pytest.approx(0.4375, abs=1e-4)
    assert passed[-3:] == pytest.approx([0.625, 0.8125, 0.9375], abs=1e-4)


def test_a_line_of_work_that_begins_again_says_how_far_it_was(monkeypatch):
    now, lines = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with LogLines(lines.append).step("fitting") as advance:
        for done in (7779, 40, 7900):
            now[0] += 60.0
            advance(done, 8000)
    assert [line.split(" ", 2)[2] for line in lines] == [
        "fitting: 97 %, 60 s",
        "fitting: 97 %, 2 min",
        "fitting: 99 %, 3 min",
        "fitting: done in 3 min",
    ]


def test_a_step_that_tells_nothing_is_told_of(monkeypatch):
    monkeypatch.setattr(progress, "_EVERY", 0.02)
    told, lines = threading.Event(), []

    def write(line):
        lines.append(line)
        told.set()

    with LogLines(write).step("measuring"):
        assert told.wait(60)
    assert re.fullmatch(STAMP + "measuring: at work, 0 s", lines[0])
    assert "done in" in lines[-1]
    with pytest.raises(ValueError, match="x"), LogLines(write).step("failing"):
        raise ValueError("x")


def bars_of(*reports):
    """What a terminal shows at last of steps that report so."""
    from rich.console import Console

    file = io.StringIO()
    with TerminalBars(Console(file=file, force_terminal=True, width=120, color_system=None)).step(
        "fitting"
    ) as advance:
        for report in reports:
            advance(*report)
    return file.getvalue().split("\x1b[2K")


def test_a_bar_is_at_100_per_cent_when_nothing_is_left():
    assert re.search(r"fitting .* 100% 0:00:00 left 0:00:00", bars_of((7999, 8000))[-1])
    assert not any(
        re.search(r"fitting .* 0% ", shown) for shown in bars_of((8000, 8000), (4, 8000))
    )


def test_durations():
    assert [duration(seconds) for seconds in (0.2, 89, 90, 3600)] == [
        "0 s",
        "89 s",
        "2 min",
        "60 min",
    ]
