import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / name) for name in ("tools", "harness")]

from longest_first import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401
from skips import pytest_sessionfinish, pytest_terminal_summary  # noqa: E402, F401
