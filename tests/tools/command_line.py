"""The command line as a user starts it: in a process of its own."""

import subprocess
import sys


def riskweighted(*arguments, cwd, **kwargs):
    command = [sys.executable, "-m", "riskweighted", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, **kwargs)
