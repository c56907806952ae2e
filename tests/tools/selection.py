"""Which tests a session is for: of the quick and of the long ones only the files are imported that hold one; and what it cost.

``pytest -m quick`` and ``-m "long ..."`` look for the mark in the text of a file before importing it: collecting every test takes 21 s of
processor time. A file without the mark holds no such test, so nothing is left out and no list is kept.
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
