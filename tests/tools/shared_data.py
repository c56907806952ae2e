"""Course data that lies beside the checkout and is not ours to publish: where it is absent, a test
skips and says so.
"""

from pathlib import Path

import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> pd.DataFrame:
    """A file of ../shared/data as a DataFrame."""
    if not (FOLDER / name).is_file():
        pytest.skip(
            f"{name} is not there: it lies in ../shared/data beside the checkout and is not "
            "published with it"
        )
    return pd.read_csv(FOLDER / name)
