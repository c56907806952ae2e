"""A population like the Consumer Expenditure sample of the main paper (Hu et al. 2022, section
1.1), whose confidential file is not public.

Shares and effects are round numbers of our own, of the size known for US households of 2017. Income
has the quantiles that the paper publishes: its marginal distribution is a fixed quantile function,
its dependence on the predictors comes through ranks of a linear score.

`python -m experiments.ce.population --out ce-like.parquet [--records N] [--seed S]` writes it to a
file that a study can name.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_seed
from riskweighted.data.io import write_table

__all__ = [
    "CALIBRATED",
    "CE_CATEGORIES",
    "CE_RECORDS",
    "CE_SEED",
    "Calibration",
    "draw_population",
    "simulate_ce",
]

CE_RECORDS = 6208
CE_SEED = 2017

# Table 1 of Hu et al. 2022 gives the number of categories, the Consumer Expenditure codes their
# names; the five age bands are ours.
CE_CATEGORIES: dict[str, tuple[str, ...] | tuple[int, ...]] = {
    "gender": ("male", "female"),
    "age_band": ("under 25", "25-34", "35-49", "50-64", "65 and over"),
    "education": (
        "never attended",
        "grades 1-8",
        "grades 9-12",
        "high school",
        "some college",
        "associate degree",
        "bachelor",
        "graduate degree",
    ),
    "region": ("Northeast", "Midwest", "South", "West"),
    "urban": ("urban", "rural"),
    "marital_status": ("married", "widowed", "divorced", "separated", "never married"),
    "urban_type": ("urbanized area", "urban cluster", "rural area"),
    "cbsa": ("metropolitan", "micropolitan", "neither"),
    "family_size": tuple(range(1, 12)),
    "earner": ("earner", "not earner"),
}

# Shares in percent, in the order of CE_CATEGORIES; rows are what a variable depends on.
_REGION = [18.5, 20, 36.5, 25]
_CBSA_BY_REGION = [[93, 5, 2], [78, 12, 10], [84, 9, 7], [90, 7, 3]]
_URBAN_TYPE_BY_CBSA = [[86, 3, 11], [0, 60, 40], [0, 35, 65]]
_AGE = [5.5, 16, 25.5, 27, 26]
_FEMALE_BY_AGE = [53, 52, 52, 52, 56]
_EDUCATION_BY_AGE = [
    [0.2, 0.6, 8, 25, 42, 8, 14, 2.2],
    [0.2, 1.2, 6, 22, 20, 11, 26, 13.6],
    [0.3, 3.2, 7, 22, 18, 11, 23, 15.5],
    [0.3, 3.0, 7, 26, 19, 11.7, 19, 14],
    [0.7, 6.3, 9, 31, 18, 7, 15, 13],
]
_MARITAL_BY_AGE_AND_GENDER = [
    [[14, 0, 1, 1, 84], [16, 0, 2, 2, 80]],
    [[46, 0.2, 5, 2, 46.8], [44, 0.5, 8, 4, 43.5]],
    [[62, 0.7, 13, 3, 21.3], [54, 2, 18, 5, 21]],
    [[61, 2.5, 19, 3, 14.5], [51, 8, 24, 3, 14]],
    [[63, 13, 15, 1.5, 7.5], [37, 36, 19, 1.3, 6.7]],
]
_SIZE_BY_MARRIED_AND_AGE_50 = [
    [
        [47, 23.5, 14, 8, 4, 1.8, 0.8, 0.3, 0.2, 0.2, 0.2],
        [72, 17.5, 6, 2.5, 1, 0.4, 0.2, 0.1, 0.1, 0.1, 0.1],
    ],
    [
        [0, 25, 22, 28.5, 14.5, 5.6, 2.4, 0.9, 0.4, 0.35, 0.35],
        [0, 67, 17, 9, 4, 1.5, 0.7, 0.35, 0.15, 0.15, 0.15],
    ],
]
_EARNER_BY_AGE = [72, 88, 86, 72, 24]
_EARNER_WOMEN, _EARNER_GRADUATES, _EARNER_NO_DIPLOMA = -6, 6, -12  # percentage points

# Effects on the score, in units of log income; the noise makes them explain about half of its
# variance.
_EFFECTS: dict[str, list[float]] = {
    "gender": [0.0, -0.1],
    "age_band": [-0.45, -0.05, 0.1, 0.1, 0.15],
    "education": [-0.55, -0.55, -0.45, -0.2, 0.0, 0.1, 0.4, 0.65],
    "region": [0.05, -0.02, -0.06, 0.05],
    "urban": [0.06, -0.06],
    "marital_status": [0.45, -0.05, 0.0, -0.15, 0.0],
    "urban_type": [0.05, -0.05, 0.0],
    "cbsa": [0.06, -0.05, -0.06],
    "family_size": [0.0, 0.1, 0.2, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25],
}
_NOISE = 0.7
# dollars: the quantile function is interpolated in arcsinh(income / scale), which takes losses and
# long tails
_SCALE = 1_000.0


class Calibration(NamedTuple):
    """What `experiments/ce/calibrate.py` solves for.

    ``quantile_75``, ``quantile_995``: incomes in dollars at these quantiles; ``earner``: effect on
    the score where the reference person is no earner.
    """

    quantile_75: float
    quantile_995: float
    earner: float


# Root of: mean 72,075.60; half-width of its 95 % interval 1,984.7; coefficient of Earner 2
# -45,826.20 (Hu et al. 2022, Table 4); each the average over seeds 0 to 9. Found by
# experiments/ce/calibrate.py.
CALIBRATED = Calibration(quantile_75=88_730.0, quantile_995=459_100.0, earner=-0.6446)


def simulate_ce(n: int = CE_RECORDS, random_seed: int | None = CE_SEED) -> pd.DataFrame:
    """Households like those of the paper's Consumer Expenditure sample (Hu et al. 2022, section
    1.1, Tables 1 and 4).

    Parameters
    ----------
    n : int, default 6208
        Number of consumer units. Calibrated for the default; a larger sample reaches farther into
        the same tails.
    random_seed : int or None, default 2017

    Returns
    -------
    DataFrame (n, 11), with columns
        the ten predictors of Table 1, text with the values of `CE_CATEGORIES` (``family_size``:
        int, 11 is eleven or more), and ``income``: family income before tax in whole dollars a
        year, float, sensitive; a few zeros and losses.

    Raises
    ------
    InputError
        If `n` is no whole number >= 1 or `random_seed` no whole number >= 0.
    """
    check_count(n, "n")
    check_seed(random_seed)
    return draw_population(n, np.random.default_rng(random_seed), CALIBRATED)


def draw_population(n: int, rng: np.random.Generator, calibration: Calibration) -> pd.DataFrame:
    """The simulator with given constants: predictors, score, income."""
    codes = {**_place(n, rng), **_person(n, rng)}
    effects = _EFFECTS | {"earner": [0.0, calibration.earner]}
    score = sum(np.array(effect)[codes[name]] for name, effect in effects.items()) + rng.normal(
        0, _NOISE, n
    )
    columns: dict[str, object] = {
        name: np.array(labels, dtype=_kind(labels))[codes[name]]
        for name, labels in CE_CATEGORIES.items()
    }
    return pd.DataFrame(columns | {"income": _income(np.asarray(score), rng, calibration)})


def _kind(labels: tuple[str, ...] | tuple[int, ...]) -> type:
    return np.int64 if isinstance(labels[0], int) else object


def _draw(percent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One code per row of shares (n, K)."""
    cumulative = percent.cumsum(axis=1) / percent.sum(axis=1, keepdims=True)
    codes: np.ndarray = (rng.random((len(percent), 1)) > cumulative[:, :-1]).sum(axis=1)
    return codes


def _place(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Codes of region, CBSA status, urban type and urban status; rural is a rural area outside
    metropolitan ones.
    """
    region = _draw(np.tile(_REGION, (n, 1)), rng)
    cbsa = _draw(np.array(_CBSA_BY_REGION)[region], rng)
    urban_type = _draw(np.array(_URBAN_TYPE_BY_CBSA)[cbsa], rng)
    return {
        "region": region,
        "cbsa": cbsa,
        "urban_type": urban_type,
        "urban": ((urban_type == 2) & (cbsa != 0)).astype(int),
    }


def _person(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Codes of the reference person's variables and of the size of the family."""
    age = _draw(np.tile(_AGE, (n, 1)), rng)
    female = (100 * rng.random(n) < np.array(_FEMALE_BY_AGE)[age]).astype(int)
    education = _draw(np.array(_EDUCATION_BY_AGE)[age], rng)
    marital = _draw(np.array(_MARITAL_BY_AGE_AND_GENDER)[age, female], rng)
    size = _draw(
        np.array(_SIZE_BY_MARRIED_AND_AGE_50)[(marital == 0).astype(int), (age >= 3).astype(int)],
        rng,
    )
    earns = np.array(_EARNER_BY_AGE)[age] + _EARNER_WOMEN * female
    earns = earns + _EARNER_GRADUATES * (education >= 6) + _EARNER_NO_DIPLOMA * (education <= 2)
    idle = (100 * rng.random(n) >= earns).astype(int)
    return {
        "gender": female,
        "age_band": age,
        "education": education,
        "marital_status": marital,
        "family_size": size,
        "earner": idle,
    }


def _income(score: np.ndarray, rng: np.random.Generator, calibration: Calibration) -> np.ndarray:
    """Incomes in the order of the score: the quantile function at stratified uniform numbers, then
    rounded as people do.
    """
    from scipy.stats import norm

    n = len(score)
    ranks = score.argsort().argsort()
    # The middle of each stratum: the largest value of a sample then stays near the published one.
    income = _quantile_function(calibration)(norm.ppf((ranks + rng.uniform(0.45, 0.55, n)) / n))
    unit = rng.choice([1, 100, 1000], size=n, p=[0.45, 0.25, 0.3])
    unit = np.where(income < 1_000, 1, np.where(income < 10_000, np.minimum(unit, 100), unit))
    rounded: np.ndarray = np.round(income / unit) * unit + 0.0
    return rounded


def _quantile_function(calibration: Calibration) -> Callable[[np.ndarray], np.ndarray]:
    """Income in dollars as a function of the standard normal quantile z: monotone, close to
    lognormal from the median up.

    Published: median, 90 % and 97.5 % quantile, the range at 0.5/6208 from either end, three
    incomes over a million (Tables 1, 3, 4). Ours: the lower half, and that one in a thousand loses
    money and two in a thousand have none.
    """
    from scipy.interpolate import PchipInterpolator
    from scipy.stats import norm

    ends = 0.5 / CE_RECORDS
    shares = {
        ends: -7_000.0,
        0.001: 0.0,
        0.003: 0.0,
        0.006: 1_000.0,
        0.02: 5_000.0,
        0.05: 9_500.0,
        0.1: 13_500.0,
        0.2: 21_500.0,
        0.35: 35_500.0,
        0.5: 50_225.15,
        0.75: calibration.quantile_75,
        0.9: 153_916.30,
        0.975: 270_000.0,
        0.995: calibration.quantile_995,
        1 - 3 / CE_RECORDS: 1_000_000.0,
        1 - ends: 1_800_000.0,
    }
    # Far ends continue the slopes, for samples larger than the published one.
    knots = (
        {-8.0: -60_000.0}
        | {float(norm.ppf(share)): income for share, income in shares.items()}
        | {8.0: 200_000_000.0}
    )
    curve = PchipInterpolator(list(knots), np.arcsinh(np.array(list(knots.values())) / _SCALE))
    return lambda z: _SCALE * np.sinh(curve(z))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a csv or parquet file")
    parser.add_argument("--records", type=int, default=CE_RECORDS)
    parser.add_argument("--seed", type=int, default=CE_SEED)
    options = parser.parse_args()
    write_table(simulate_ce(options.records, options.seed), options.out)


if __name__ == "__main__":
    main()
