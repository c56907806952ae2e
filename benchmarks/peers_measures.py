"""What every method of the comparison is measured by, under one scenario: risk, utility, and the
shape of the values.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers_cases import Case
from riskweighted import EvaluationSettings, assess, evaluate, matching_risk
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.intruder.patterns import known_patterns

__all__ = ["COLUMNS", "OF_ANY_DATA", "QUANTILES", "measured", "printed"]

OF_ANY_DATA = (
    "DCAP, absent keys 0",
    "copied records",
    "two-way total variation",
    "pMSE ratio of the file",
)

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
LEAST_GROUP = 50
COLUMNS = (
    "data",
    "method",
    "weights",
    "parameters",
    "measure",
    "parameter",
    "confidential",
    "value",
)
_SHOWN = {
    ("identification risk", ""): "IR mean",
    ("expected match risk", ""): "match risk",
    ("U_m", ""): "U_m",
    ("coefficient overlap", ""): "overlap",
    ("correlation", ""): "correlation",
    ("zeros", ""): "zeros",
    ("largest", ""): "largest",
    ("sd", ""): "sd",
    ("quantile", "0.5"): "median",
    ("quantile", "0.99"): "0.99 quantile",
    ("group means, mean error", ""): "group means off",
    ("own values copied", ""): "copied",
    ("DCAP, absent keys 0", ""): "DCAP",
    ("two-way total variation", ""): "two-way TV",
}


def measured(
    case: Case, frames: Sequence[pd.DataFrame], *, pairs: bool = True
) -> list[tuple[str, str, float, float]]:
    """Measure, its parameter, the confidential value where there is one, and that of L datasets
    (the mean over them).

    `pairs`: whether rows pair with the confidential ones; else only what any data has is measured.
    """
    with warnings.catch_warnings():
        # what they say is the same for every method
        warnings.simplefilter("ignore", RiskWeightedWarning)
        paired = [*_risk_and_utility(case, frames), *_shape(case, frames)] if pairs else []
        return [*paired, *_of_any_data(case, frames, pairs)]


def _of_any_data(
    case: Case, frames: Sequence[pd.DataFrame], pairs: bool
) -> Iterator[tuple[str, str, float, float]]:
    """What `assess` measures whether or not rows pair; on the columns of the formula."""
    kept = [frame[case.columns] for frame in frames]
    columns = [name for name in case.columns if name != case.target]
    found = assess(
        case.frame, {"it": kept}, case.scenario, unpaired=() if pairs else "it", columns=columns
    ).summary()
    for name in OF_ANY_DATA:
        yield name, "", float(found.loc["confidential itself", name]), float(found.loc["it", name])
    if not pairs:
        yield "U_m", "", 0.0, float(found.loc["it", f"U_m of {case.target}"])


def _risk_and_utility(
    case: Case, frames: Sequence[pd.DataFrame]
) -> Iterator[tuple[str, str, float, float]]:
    settings: dict[str, Any] = {
        "quantiles": (),
        "resamples": 10,
        "regression": case.regression,
        "coefficient": case.coefficient,
    }
    found = evaluate(
        case.frame,
        {"it": frames},
        case.scenario,
        settings=EvaluationSettings(**settings),
        random_seed=1,
    )
    own, drawn = found.records["confidential"].mean(), found.records["it"].mean()
    yield "identification risk", "", float(own), float(drawn)
    yield (
        "expected match risk",
        "",
        np.nan,
        matching_risk(case.frame, list(frames), case.scenario).expected_match_risk,
    )
    yield (
        "U_m",
        "",
        0.0,
        float(by_label(found.utility, Statistic("ecdf-maximum", case.target))["it"]),
    )
    coefficient = found.utility[
        (found.utility["key"] == "coefficient") & (found.utility["label"] == "it")
    ].iloc[0]
    confidential = found.utility[
        (found.utility["key"] == "coefficient") & (found.utility["label"] == "confidential")
    ].iloc[0]
    yield "coefficient", case.coefficient, float(confidential["value"]), float(coefficient["value"])
    yield "coefficient overlap", "", 1.0, float(coefficient["overlap"])


def _shape(case: Case, frames: Sequence[pd.DataFrame]) -> Iterator[tuple[str, str, float, float]]:
    own = case.frame[case.target].to_numpy(dtype=float)
    drawn = np.array([frame[case.target].to_numpy(dtype=float) for frame in frames])
    other = case.frame[case.numeric].to_numpy(dtype=float)
    yield (
        "correlation",
        "",
        float(np.corrcoef(own, other)[0, 1]),
        float(np.mean([np.corrcoef(y, other)[0, 1] for y in drawn])),
    )
    yield "zeros", "", float((own == 0).mean()), float((drawn == 0).mean())
    yield "negative", "", float((own < 0).mean()), float((drawn < 0).mean())
    yield "largest", "", float(own.max()), float(drawn.max(axis=1).mean())
    yield "sd", "", float(own.std()), float(drawn.std(axis=1).mean())
    for q in QUANTILES:
        yield (
            "quantile",
            f"{q:g}",
            float(np.quantile(own, q)),
            float(np.quantile(drawn, q, axis=1).mean()),
        )
    yield "own values copied", "", 1.0, float((drawn == own).mean())
    patterns, errors, weights = known_patterns(case.frame, case.scenario.known), [], []
    for code in np.flatnonzero(patterns.sizes >= LEAST_GROUP):
        inside = patterns.codes == code
        first = case.frame[inside].iloc[0]
        name = ", ".join(f"{known}={first[known]}" for known in case.scenario.known)
        truth, mean = float(own[inside].mean()), float(drawn[:, inside].mean())
        errors.append(abs(mean - truth) / own.std())
        weights.append(inside.sum())
        yield "group mean", name, truth, mean
    yield (
        "group means, mean error",
        "",
        0.0,
        float(np.average(errors, weights=weights)) if errors else np.nan,
    )


def printed(table: pd.DataFrame) -> str:
    """The tidy table as one Markdown table for each data set, the confidential values first."""
    parts = []
    for name, rows in table.groupby("data", sort=False):
        keys = list(zip(rows["measure"], rows["parameter"], strict=True))
        shown = rows.assign(column=[_SHOWN.get(key) for key in keys]).dropna(subset="column")
        labels = ["method", "weights", "parameters"]
        wide = shown.pivot(index=labels, columns="column", values="value")
        wide = wide.reindex(shown[labels].drop_duplicates().itertuples(index=False, name=None))
        wide = wide.reindex(columns=list(_SHOWN.values()))  # data whose rows do not pair lack some
        first = (
            shown.drop_duplicates("column")
            .set_index("column")["confidential"]
            .reindex(list(_SHOWN.values()))
        )
        lines = [
            "| " + " | ".join([*labels, *_SHOWN.values()]) + " |",
            "|" + "---|" * (3 + len(_SHOWN)),
        ]
        lines.append("| " + " | ".join(["(confidential)", "", "", *map(_cell, first)]) + " |")
        lines += [
            "| " + " | ".join([*map(str, index), *map(_cell, row)]) + " |"
            for index, row in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        parts.append(f"## {name}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
