import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from skips import pytest_sessionfinish, pytest_terminal_summary  # noqa: E402, F401
