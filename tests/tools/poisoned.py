"""A folder of unfinished work that somebody sent: every file a pickle that runs code when it is
loaded, rightly sealed.
"""

import json
import pickle
from pathlib import Path

from riskweighted.common import atomic


class Runs:
    """Leaves a file when it is loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def poison(folder, mark, spared=()):
    """Put such a pickle into every file below a folder but those of some endings; returns what
    these held.
    """
    assert pickle.loads(pickle.dumps(Runs(mark))) is None
    assert mark.exists()  # so it would
    mark.unlink()
    held = {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    for path in held:
        if path.suffix != ".seal" and not path.name.endswith(spared):
            path.write_bytes(pickle.dumps(Runs(mark)))
            seal = path.with_name(f"{path.name}.seal")
            if seal.exists():
                seal.write_text(
                    atomic._seal(path.read_bytes(), json.loads(seal.read_text())["made_for"])
                )
    return held


def restore(held):
    """What they held."""
    for path, content in held.items():
        path.write_bytes(content)
