import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / name) for name in ("tools", "harness")]
sys.path.append(str(Path(__file__).parents[1]))  # what also runs as `python -m tests.NAME` imports by that name

pytest_plugins = ["interruptible", "longest_first", "selection", "shared_runs", "skips"]
