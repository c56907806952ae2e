"""What the main paper publishes about its Consumer Expenditure sample, beside the same figures of a
data set.
"""

import warnings

import numpy as np
import pandas as pd
from formulaic import model_matrix
from scipy.stats import norm

from experiments.ce.population import CE_CATEGORIES, CE_RECORDS
from riskweighted.common.errors import SingletonWarning
from riskweighted.common.frames import require_columns, require_finite
from riskweighted.common.native import as_pandas
from riskweighted.intruder.patterns import known_patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.risk.identification import confidential_risk

__all__ = ["CE_KNOWN", "CE_PUBLISHED", "CE_REGRESSION", "CE_TOP_CODE", "ce_facts"]

CE_KNOWN = ("gender", "age_band", "region")
CE_REGRESSION = "income ~ C(region) + C(urban) + C(earner)"
_EARNER_2 = "C(earner)[T.not earner]"
# the paper gives the share above it, 6 %, and no dollar value: ours is a round number
CE_TOP_CODE = 195_000.0

# Hu et al. 2022: sections 1.1 and 2.3, Tables 1 to 4. Half-widths are half of upper minus lower
# limit in Table 4.
CE_PUBLISHED: dict[str, float] = {
    "records": CE_RECORDS,
    "known patterns": 40,
    "patterns of one record": 0,
    **{f"categories of {name}": len(labels) for name, labels in CE_CATEGORIES.items()},
    "smallest income": -7_000.0,
    "largest income": 1_800_000.0,
    "incomes of 1,000K and more": 3,
    "mean": 72_075.60,
    "mean, half-width of 95 % interval": 1_984.68,
    "median": 50_225.15,
    "median, half-width of 95 % interval": 1_502.50,
    "90 % quantile": 153_916.30,
    "90 % quantile, half-width of 95 % interval": 6_010.70,
    "97.5 % quantile": 270_000.0,
    "share above the top code": 0.06,
    "coefficient of Earner 2": -45_826.20,
    "coefficient of Earner 2, half-width of 95 % interval": 3_990.09,
    "largest identification risk": 0.9944,
}


def ce_facts(data: pd.DataFrame) -> pd.DataFrame:
    """Published figures of the paper's Consumer Expenditure sample beside those of `data`.

    Parameters
    ----------
    data : DataFrame
        From `simulate_ce` or `load_ce_pumd`.

    Returns
    -------
    DataFrame, one row per fact, with columns
        ``fact``; ``published`` (Hu et al. 2022, sections 1.1 and 2.3, Tables 1 to 4); ``achieved``;
        ``difference`` (achieved - published). Half-widths: normal theory for the mean and the
        coefficient, order statistics for the quantiles (the paper: bootstrap). The share above the
        top code is that above `CE_TOP_CODE`; the risk is eq. 2 with `CE_KNOWN` known and a radius
        of 20 %.

    Raises
    ------
    InputError
        If a column is absent, or income missing or infinite in some record.
    """
    data = as_pandas(data)
    require_columns(data, [*CE_CATEGORIES, "income"], "data")
    require_finite(data["income"], "data")
    achieved = _counts(data) | _incomes(data["income"].to_numpy(dtype=float)) | _regression(data)
    scenario = Scenario(known=CE_KNOWN, synthetic=("income",), singletons="paper")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)  # the table counts them itself
        achieved["largest identification risk"] = confidential_risk(
            make_world(data, scenario)
        ).max()
    table = pd.DataFrame(
        {"fact": list(CE_PUBLISHED), "published": list(CE_PUBLISHED.values())}
    ).astype({"published": float})
    table["achieved"] = [float(achieved[fact]) for fact in CE_PUBLISHED]
    return table.assign(difference=table["achieved"] - table["published"])


def _counts(data: pd.DataFrame) -> dict[str, float]:
    patterns = known_patterns(data, CE_KNOWN)
    counts = {
        "records": len(data),
        "known patterns": len(patterns.sizes),
        "patterns of one record": patterns.singletons,
    }
    return counts | {f"categories of {name}": data[name].nunique() for name in CE_CATEGORIES}


def _incomes(income: np.ndarray) -> dict[str, float]:
    return {
        "smallest income": income.min(),
        "largest income": income.max(),
        "incomes of 1,000K and more": (income >= 1_000_000).sum(),
        "mean": income.mean(),
        "mean, half-width of 95 % interval": norm.ppf(0.975)
        * income.std(ddof=1)
        / np.sqrt(len(income)),
        "median": np.median(income),
        "median, half-width of 95 % interval": _quantile_half_width(income, 0.5),
        "90 % quantile": np.quantile(income, 0.9),
        "90 % quantile, half-width of 95 % interval": _quantile_half_width(income, 0.9),
        "97.5 % quantile": np.quantile(income, 0.975),
        "share above the top code": (income > CE_TOP_CODE).mean(),
    }


def _quantile_half_width(values: np.ndarray, share: float) -> float:
    """Half the distance of the quantiles that bound a 95 % interval: share -+ 1.96 sqrt(share (1 -
    share) / n).
    """
    margin = norm.ppf(0.975) * np.sqrt(share * (1 - share) / len(values))
    lower, upper = np.quantile(values, np.clip([share - margin, share + margin], 0, 1))
    return float(upper - lower) / 2


def _regression(data: pd.DataFrame) -> dict[str, float]:
    columns = model_matrix(CE_REGRESSION.partition("~")[2], data).astype(float)
    if _EARNER_2 not in columns:
        return dict.fromkeys(
            ["coefficient of Earner 2", "coefficient of Earner 2, half-width of 95 % interval"],
            np.nan,
        )
    response, matrix = data["income"].to_numpy(dtype=float), columns.to_numpy()
    inverse, place = np.linalg.pinv(matrix), list(columns).index(_EARNER_2)
    slopes = inverse @ response
    variance = ((response - matrix @ slopes) ** 2).sum() / (
        len(response) - np.linalg.matrix_rank(matrix)
    )
    half_width = norm.ppf(0.975) * np.sqrt(variance * (inverse[place] ** 2).sum())
    return {
        "coefficient of Earner 2": slopes[place],
        "coefficient of Earner 2, half-width of 95 % interval": half_width,
    }
