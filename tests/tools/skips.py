"""A table of what was skipped and why; a session in which something was skipped that it had to run
does not pass.

``RISKWEIGHTED_MUST_RUN`` names what must run, by words separated by spaces: a skip whose reason
holds one of them fails the session. ``RISKWEIGHTED_UNTIL`` is a time, in seconds as ``date +%s``
gives them, from which on no further test begins: those that are left are skipped, and counted.
"""

import os
import re
import time
from collections import Counter

import pytest

MUST_RUN = "RISKWEIGHTED_MUST_RUN"
UNTIL = "RISKWEIGHTED_UNTIL"
_until = float(os.environ.get(UNTIL, "inf"))


def skips(terminal) -> Counter[str]:
    """How many tests and files were skipped for each reason."""
    reports = terminal.stats.get("skipped", [])
    return Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)


def not_allowed(reasons) -> list[str]:
    """The reasons that name something which must run."""
    words = os.environ.get(MUST_RUN, "").split()
    return [
        reason
        for reason in reasons
        if any(re.search(rf"\b{re.escape(word)}\b", reason, re.IGNORECASE) for word in words)
    ]


def pytest_runtest_setup(item):
    os.environ.pop(UNTIL, None)  # a session that a test starts ends with the test
    if time.time() > _until:
        pytest.skip("the time for this run is over")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and exitstatus == pytest.ExitCode.OK and not_allowed(skips(terminal)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    found = skips(terminalreporter)
    terminalreporter.section("skipped, by reason")
    for reason, count in found.most_common():
        terminalreporter.write_line(f"{count:5}  {reason}")
    terminalreporter.write_line(f"{found.total():5}  in all")
    for reason in not_allowed(found):
        terminalreporter.write_line(
            f"FAILED: {MUST_RUN} says that this must run, and it was skipped: {reason}", red=True
        )
