"""The command line as a user starts it: in a process of its own."""

import os
import re
import subprocess
import sys

LOG_LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^\n]+\n"


def riskweighted(*arguments, cwd, columns=None, **kwargs):
    """A command; `columns`: as wide a terminal as it is told of."""
    command = [sys.executable, "-m", "riskweighted", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {} if columns is None else {"COLUMNS": str(columns)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, **kwargs)


def without_log(text):
    """What stands on stderr besides the lines that tell of steps."""
    return re.sub(f"(?m)^{LOG_LINE}", "", text)
