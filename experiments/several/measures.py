"""What is measured of the releases of one fit: tables, risk, regressions, rules, missing values."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.several.case import CODES, PREDICTORS, REGRESSIONS, VARIABLES
from riskweighted.intruder.world import make_world
from riskweighted.risk.expected_identification import expected_risk
from riskweighted.sequence.fit import Fit

__all__ = [
    "compared",
    "decile_of",
    "evaluated",
    "expected_decile",
    "missing_rates",
    "saturated_ratio",
    "top_decile",
    "violations",
]

Frames = Sequence[pd.DataFrame]
_FEWEST = 5  # expected records with and without a status, for its share in a pattern to be compared


def evaluated(
    data: pd.DataFrame, releases: Mapping[str, Frames], scenario: rw.Scenario, resamples: int = 100
) -> pd.DataFrame:
    """Tidy figures of every label: scheme, measure, variable, value."""
    found = rw.evaluate(
        data,
        releases,
        scenario,
        settings=rw.EvaluationSettings(regressions=REGRESSIONS, resamples=resamples),
        unaltered=list(dict.fromkeys([*scenario.known, *PREDICTORS])),
        random_seed=1,
    )
    keys = (
        "one-way-table",
        "two-way-table",
        "two-way-mean",
        "file-propensity",
        "analysis-overlap",
    )
    utility = found.utility[
        found.utility["key"].isin(keys) & (found.utility["label"] != "confidential")
    ]
    risk = found.risk[found.risk["key"].isin(["expected-match", "mean-risk", "isolated-risk"])]
    both = pd.concat([utility, risk])
    names = [
        ", ".join(part for part in pair if isinstance(part, str) and part)
        for pair in zip(both["variable"], both["term"], strict=True)
    ]
    columns = {
        "scheme": both["label"],
        "measure": both["key"].replace({"analysis-overlap": "regression-overlap"}),
        "variable": names,
        "value": both["value"].astype(float),
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def compared(figures: pd.DataFrame) -> pd.DataFrame:
    """Mean one-way table, mean two-way table of the pairs of synthesized variables alone, and the
    worst two-way table, by scheme, in the form of `evaluated`.
    """
    singles, pairs = (
        figures[figures["measure"] == key] for key in ("one-way-table", "two-way-table")
    )
    inner = pairs[[set(text.split(", ")) <= set(VARIABLES) for text in pairs["variable"]]]
    summaries = {
        "one-way-mean": singles.groupby("scheme", sort=False)["value"].mean(),
        "two-way-mean of synthesized pairs": inner.groupby("scheme", sort=False)["value"].mean(),
        "two-way-worst": pairs.groupby("scheme", sort=False)["value"].max(),
    }
    return pd.concat(
        pd.DataFrame(
            {"scheme": each.index, "measure": name, "variable": "", "value": each.to_numpy()}
        )
        for name, each in summaries.items()
    )


def top_decile(
    data: pd.DataFrame, releases: Frames, scenario: rw.Scenario, variable: str = "income"
) -> float:
    """Mean identification risk, on the variable alone, of the tenth of the records with an amount
    whose IR^c is largest, ties included.
    """
    risk = np.asarray(rw.identification_risk(data, releases, scenario.only(variable)), dtype=float)
    return float(risk[decile_of(data, scenario, variable)].mean())


def decile_of(data: pd.DataFrame, scenario: rw.Scenario, variable: str = "income") -> np.ndarray:
    """Which records these are, booleans (n,)."""
    amount = (data[variable].notna() & ~data[variable].isin(CODES.get(variable, ()))).to_numpy()
    confidential = rw.identification_risk(data, scenario=scenario.only(variable)).to_numpy()
    cut = np.sort(confidential[amount])[-int(np.ceil(0.1 * amount.sum()))]
    return np.asarray(amount & (confidential >= cut))


def expected_decile(
    fit: Fit,
    data: pd.DataFrame,
    scenario: rw.Scenario,
    draws: int,
    seed: int,
    variable: str = "income",
) -> tuple[float, float]:
    """The same of the mechanism: expected risk over all releases that the fit could give, and its
    Monte Carlo error.
    """
    found = expected_risk(fit, make_world(data, scenario.only(variable)), draws, seed)
    means = found.blocks[:, decile_of(data, scenario, variable)].mean(axis=1)
    mean = found.risk[decile_of(data, scenario, variable)].mean()
    off = np.average((means - mean) ** 2, weights=found.sizes) / max(len(means) - 1, 1)
    return float(mean), float(np.sqrt(off))


def saturated_ratio(
    data: pd.DataFrame, scenario: rw.Scenario, alpha: pd.Series, variable: str = "income"
) -> float:
    """What weights do to that risk under a model that holds every pattern's distribution as it is:
    q (1 - q) over p (1 - p), in the mean.

    p, q: raw and weighted share of the record's pattern that lies in its ball.
    """
    world = make_world(data, scenario.only(variable))
    every, weights = world.patterns.in_pattern, alpha.to_numpy()
    within = world.patterns.codes
    raw = world.neighbours.within / every
    total = np.bincount(within, weights=weights)[within]
    weighted = np.divide(
        world.neighbours.sums(weights), total, out=np.zeros(len(data)), where=total > 0
    )
    top = decile_of(data, scenario, variable)
    return float((weighted * (1 - weighted))[top].mean() / (raw * (1 - raw))[top].mean())


def violations(fit: Fit, releases: Frames) -> int:
    """Records of the releases that break a rule."""
    return sum(count for frame in releases for _, count in fit.prepared.rules.broken(frame))


def missing_rates(data: pd.DataFrame, releases: Frames, known: Sequence[str]) -> pd.DataFrame:
    """Share of missing values and codes of each variable, and how many standard errors the
    synthetic share is from the confidential one.

    ``z``: over the file; ``worst_z``: of the patterns in which 5 records or more are expected with
    the status, and without it. The error is that of two independent samples: the confidential count
    and the parameters drawn.
    """
    pattern = data.groupby(list(known), dropna=False, sort=False).ngroup().to_numpy()
    rows = []
    for name, status, hits in _statuses(data, releases):
        own, drawn = hits[0], hits[1:].mean(axis=0)
        cells = (
            pd.DataFrame({"own": own, "drawn": drawn, "pattern": pattern})
            .groupby("pattern")
            .agg(["sum", "size"])
        )
        size = cells["own"]["size"].to_numpy()
        expected = cells["drawn"]["sum"].to_numpy()
        enough = (np.minimum(expected, size - expected) >= _FEWEST) & (size > 0)
        z = [
            _z(*cell)
            for cell in zip(
                cells["own"]["sum"].to_numpy()[enough], expected[enough], size[enough], strict=True
            )
        ]
        rows.append(
            {
                "variable": name,
                "status": status,
                "confidential": own.mean(),
                "synthetic": drawn.mean(),
                "z": _z(own.sum(), drawn.sum(), len(own)),
                "worst_z": max(z, key=abs, default=np.nan),
                "patterns": len(z),
            }
        )
    return pd.DataFrame(rows)


def _statuses(data: pd.DataFrame, releases: Frames) -> Iterator[tuple[str, str, np.ndarray]]:
    """Every status that occurs in the confidential data: variable, name, which records have it (1 +
    L, n).
    """
    for name in VARIABLES:
        missing = np.array([frame[name].isna().to_numpy() for frame in (data, *releases)])
        if missing[0].any():
            yield name, "missing", missing
        for code in CODES.get(name, ()):
            yield (
                name,
                f"{code}",
                np.array([(frame[name] == code).to_numpy() for frame in (data, *releases)]),
            )


def _z(own: float, drawn: float, size: int) -> float:
    share = (own + drawn) / (2 * size)
    return (
        float((drawn - own) / size / np.sqrt(2 * share * (1 - share) / size))
        if 0 < share < 1
        else 0.0
    )
