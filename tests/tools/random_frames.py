"""Random typed frames, as files may hold them."""

import numpy as np
import pandas as pd


def random_frame(seed):
    """Columns of every kind a file may hold, with and without gaps; numbers of fractions, and of
    doubles that hold whole numbers.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    gaps = rng.random(n) < 0.3

    def some(values, missing):
        return pd.Series(
            [np.nan if gap else value for value, gap in zip(values, gaps, strict=True)],
            dtype=missing,
        )

    words = rng.choice(["a", "Zoë", "b c", "1.50", "007", 'q"u', "x,y", "NA", "1e5", "True"], n)
    days = (
        pd.Series(pd.date_range("1950-03-04", "2030-01-01", n))
        .dt.normalize()
        .astype("datetime64[us]")
    )
    every = {
        "i": pd.Series(rng.integers(-5, 2**40, n)),
        "small": pd.Series(rng.integers(0, 9, n), dtype="int32"),
        "igap": some(rng.integers(0, 9, n).tolist(), "Int64" if gaps.any() else "int64"),
        "x": pd.Series(rng.normal(size=n) * 10.0 ** rng.integers(-6, 9)),
        "xgap": some(rng.normal(size=n).tolist(), "float64"),
        "whole": pd.Series(rng.integers(-9, 10**6, n).astype(float)),
        "wgap": some(rng.integers(0, 9, n).astype(float).tolist(), "float64"),
        "text": pd.Series(words),
        "tgap": some(words.tolist(), pd.Series(["a"]).dtype),
        "cat": pd.Series(
            pd.Categorical(
                rng.choice(["lo", "mid", "hi"], n),
                categories=["lo", "mid", "hi", "none"],
                ordered=bool(seed % 2),
            )
        ),
        "ncat": pd.Series(pd.Categorical(rng.choice([1, 2, 3], n), categories=[3, 2, 1])),
        "yes": pd.Series(rng.random(n) < 0.5),
        "ygap": some((rng.random(n) < 0.5).tolist(), "boolean" if gaps.any() else bool),
        "day": days,
        "dgap": days.where(~gaps),
        "moment": (days + pd.Timedelta(hours=5, seconds=7)).astype("datetime64[us]").where(~gaps),
    }
    names = rng.permutation(list(every))[: rng.integers(1, len(every) + 1)].tolist()
    return pd.DataFrame({name: every[name] for name in names})
