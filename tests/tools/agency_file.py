"""A file as an agency has it: an identifier, survey weights, an age and its band, codes for what
was not answered, gaps.
"""

import numpy as np
import pandas as pd

CHAIN = ("work", "hours", "income", "rent")  # declared to be synthesized, in this order


def agency_file(records: int, seed: int = 1) -> pd.DataFrame:
    """A frame of 35 columns; of the variables `CHAIN` hours are a count, income and rent hold the
    codes -8 and -9.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(16, 96, records)
    sex = rng.choice(["f", "m"], records)
    region = rng.choice(["north", "east", "south", "west", "centre"], records)
    school = np.clip(
        np.round(10 + 0.8 * rng.normal(size=records) - 0.02 * (age - 50) + (region == "centre")),
        6,
        18,
    )
    work = np.where(rng.random(records) < np.where(age < 66, 0.7, 0.08), "yes", "no")
    hours = np.where(work == "yes", np.clip(rng.normal(37, 9, records), 2, 70).round(), 0)
    income = np.exp(
        7 + 0.06 * school + 0.3 * (sex == "m") + 0.01 * hours + 0.5 * rng.normal(size=records)
    ).round(-1)
    rent = (income * rng.uniform(0.15, 0.5, records)).round()
    columns = {
        "id": 100_000 + rng.permutation(records),
        "wgt": np.round(
            rng.gamma(4, 0.25, records) * np.where(region == "north", 1.6, 0.9) + 0.05, 4
        ),
        "age": age,
        "age_band": pd.cut(age, [15, 25, 35, 45, 55, 65, 75, 95], labels=False),
        "sex": sex,
        "region": region,
        "school": _with_gaps(school, 0.03, rng),
        "work": work,
        "hours": hours.astype(int),
        "income": np.where(
            rng.random(records) < 0.22, -8, np.where(rng.random(records) < 0.05, -9, income)
        ).astype(int),
        "rent": _with_gaps(np.where(rng.random(records) < 0.1, -8, rent), 0.04, rng),
        "size": 1 + rng.poisson(1.3, records),
        "married": np.where(rng.random(records) < np.where(age > 30, 0.6, 0.1), "yes", "no"),
    }
    for number in range(11):  # answers to questions of four levels, some of which few were asked
        answers = rng.choice(
            ["never", "seldom", "often", "always"], records, p=[0.4, 0.3, 0.2, 0.1]
        )
        columns[f"q{number + 1}"] = pd.Series(answers).mask(rng.random(records) < 0.02 * number)
    for number in range(11):  # scales and amounts
        scale = np.round(
            rng.normal(50 + 0.1 * age, 10, records) if number % 2 else rng.gamma(2, 300, records)
        )
        columns[f"s{number + 1}"] = _with_gaps(scale, 0.01 * number, rng)
    return pd.DataFrame(columns)


def _with_gaps(values: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(values)) < share, np.nan, values)
