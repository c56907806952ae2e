import sys
from pathlib import Path

import hypothesis

sys.path[:0] = [str(Path(__file__).parent / name) for name in ("tools", "harness")]
# what also runs as `python -m tests.NAME` imports by that name
sys.path.append(str(Path(__file__).parents[1]))

pytest_plugins = [
    "command_line",
    "interruptible",
    "longest_first",
    "pages",
    "selection",
    "shared_runs",
    "skips",
]
# whoever calls a kernel first compiles it
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")
