"""A small survey file that other software was given, too."""

import numpy as np
import pandas as pd


def file():
    """40 records, made without random numbers so that other software can be given the same."""
    i = np.arange(1, 41)
    return pd.DataFrame(
        {
            "y": (i * 37) % 41 + 0.5,
            "x": ((i * 17) % 23).astype(float),
            "w": 1.0 + (i * 7) % 5,
            "h": np.array(["a", "b", "c"])[i % 3],
            "b": ((i * 11) % 7 < 3).astype(float),
        }
    )
