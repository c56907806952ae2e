import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / name) for name in ("tools", "harness")]
sys.path.append(str(Path(__file__).parents[1]))  # what also runs as `python -m tests.NAME` imports by that name

from longest_first import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401
from skips import pytest_sessionfinish, pytest_terminal_summary  # noqa: E402, F401
