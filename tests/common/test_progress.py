"""What long work tells: lines of a log."""

import re

import pytest

from riskweighted.common import progress
from riskweighted.common.progress import LogLines, duration

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
    assert [line.split(": ")[1] for line in lines] == ["3 of 10, 75 s", "6 of 10, 2 min", "9 of 10, 4 min", "done in 4 min"]


def test_detail_says_when_a_step_begins_and_what_it_held():
    lines = []
    with LogLines(lines.append, detail=True).step("fitting"):
        pass
    assert re.fullmatch(STAMP + "fitting: begins", lines[0])
    assert re.fullmatch(STAMP + r"fitting: done in 0 s, \S+ [MG]B at the peak", lines[1])


def test_durations():
    assert [duration(seconds) for seconds in (0.2, 89, 90, 3600)] == ["0 s", "89 s", "2 min", "60 min"]
