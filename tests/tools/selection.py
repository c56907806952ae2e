"""Which tests a session is for: of the quick, the long and those that versions could change, only
files that hold one are imported; and what it cost.

``pytest -m quick``, ``-m "(quick or versions) and ..."`` and ``-m "long ..."`` look for the mark in
the text of a file before importing it: collecting every test takes 9 s of processor time, and 20
where no module is compiled yet. A file without the mark holds no such test: nothing is left out, no
list is kept. A session ends with the processor time of the tests that took most of it: on a machine
that does other work too, a clock would not tell.
"""

import os
import re

import pytest

ALONE = re.compile(r"(quick|long)\b(?! or )|\((quick or versions)\) and ")

COST, SHOWN = "processor seconds", 10
BEGAN = pytest.StashKey[float]()


def spent():
    """Processor seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def pytest_ignore_collect(collection_path, config):
    sought = ALONE.match(config.option.markexpr or "")
    if sought and collection_path.suffix == ".py":
        marks = (sought[1] or sought[2]).replace(" or ", "|")
        if not re.search(rf"\bmark\.({marks})\b", collection_path.read_text(encoding="utf-8")):
            return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[BEGAN] = spent()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown":
        report.user_properties.append((COST, spent() - item.stash[BEGAN]))
    return report


def pytest_terminal_summary(terminalreporter):
    reports = [
        report
        for group in terminalreporter.stats.values()
        for report in group
        if hasattr(report, "user_properties")
    ]
    costs = {
        report.nodeid: seconds
        for report in reports
        for name, seconds in report.user_properties
        if name == COST
    }
    for test in sorted(costs, key=costs.__getitem__, reverse=True)[:SHOWN]:
        if costs[test] >= 1:
            terminalreporter.write_line(f"{costs[test]:7.1f} s of processor time: {test}")
    terminalreporter.write_line(
        f"processor time of this process and those it has waited for: {spent():.0f} s"
    )
