"""Which tests a session is for: of the quick and of the long ones only the files are imported that hold one; and what it cost.

``pytest -m quick`` and ``-m "long ..."`` look for the mark in the text of a file before importing it: collecting every test takes 9 s of
processor time, and 20 where no module is compiled yet. A file without the mark holds no such test: nothing is left out, no list is kept.
"""

import os
import re

ALONE = re.compile(r"(quick|long)\b(?! or )")


def pytest_ignore_collect(collection_path, config):
    sought = ALONE.match(config.option.markexpr or "")
    if sought and collection_path.suffix == ".py" and not re.search(rf"\bmark\.{sought[1]}\b", collection_path.read_text(encoding="utf-8")):
        return True
    return None


def pytest_terminal_summary(terminalreporter):
    spent = sum(os.times()[:4])
    terminalreporter.write_line(f"processor time of this process and those it has waited for: {spent:.0f} s")
