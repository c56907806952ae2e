"""What each scheme did to risk, influence and utility against the unweighted one, in sentences made
of a run's own numbers.
"""

from collections.abc import Iterator

import numpy as np

from riskweighted.common.numbers import together
from riskweighted.evaluation.evaluate import Evaluation
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label, distinct
from riskweighted.measures import distributions, expected_measures, influence_measures
from riskweighted.measures.estimates import QUANTILE

__all__ = ["scheme_sentences"]

_ISOLATED, _MEAN, _DELTA = (
    Statistic(measure.key)
    for measure in (expected_measures.ISOLATED, expected_measures.MEAN, influence_measures.DELTA)
)
_SAME = 0.02  # of expected mean risk: less is no change to speak of


def scheme_sentences(result: Evaluation, baseline: str) -> list[str]:
    """A sentence on average risk, then one a scheme, with Monte Carlo errors; none where the fits
    were not given.
    """
    lipschitz = by_label(result.risk, _DELTA)
    schemes = [
        label
        for label in result.expected
        if label in lipschitz and label not in (CONFIDENTIAL, baseline)
    ]
    if baseline not in lipschitz or not schemes:
        return []
    mean, error = by_label(result.risk, _MEAN), by_label(result.risk, _MEAN, "error")
    told = {label: together(mean[label], error[label]) for label in (baseline, *schemes)}
    values = ", ".join(f"{label} {' ± '.join(numbers)}" for label, numbers in told.items())
    moved = any(
        abs(mean[each] - mean[baseline]) >= max(_SAME, 2 * np.hypot(error[each], error[baseline]))
        for each in schemes
    )
    verdict = f"Weights {'changed' if moved else 'do not change'} average identification risk"
    return [
        f"{verdict} (expected mean risk: {values}).",
        *(_of_scheme(result, label, baseline) for label in schemes),
    ]


def _of_scheme(result: Evaluation, label: str, baseline: str) -> str:
    isolated, error = by_label(result.risk, _ISOLATED), by_label(result.risk, _ISOLATED, "error")
    before, after = isolated[baseline], isolated[label]
    share = after / before if before > 0 else np.nan
    off = share * np.hypot(error[label] / after, error[baseline] / before) if after > 0 else 0.0
    text = (
        f"{label}: isolated records' expected risk {_change(share, off)} "
        f"({' ± '.join(together(after, error[label]))})"
    )
    return (
        f"{text}; "
        f"{'; '.join([*_costs(result, label, baseline), *_influence(result, label, baseline)])}."
    )


def _costs(result: Evaluation, label: str, baseline: str) -> Iterator[str]:
    """The largest quantile that was measured, and the distance of the distribution functions, of
    each variable.
    """
    statistics = distinct(result.utility)
    for variable in dict.fromkeys(statistic.variable for statistic in statistics):
        of_variable = [statistic for statistic in statistics if statistic.variable == variable]
        quantiles = sorted(
            (each for each in of_variable if each.key == QUANTILE.key),
            key=lambda each: each.parameter or 0,
        )
        if quantiles:
            values = by_label(result.utility, quantiles[-1])
            yield (
                f"{quantiles[-1].name} "
                f"{_change(values[label] / values[baseline] if values[baseline] else np.nan)}"
            )
        for statistic in of_variable:
            if statistic.measure in (distributions.U_M, distributions.TOTAL_VARIATION):
                values = by_label(result.utility, statistic)
                yield f"{statistic.name} {' for '.join(together(values[label], values[baseline]))}"


def _influence(result: Evaluation, label: str, baseline: str) -> Iterator[str]:
    values = by_label(result.risk, _DELTA)
    if values[label] > 0:
        ratio = values[baseline] / values[label]
        compared = (
            f"{ratio:.1f} times less"
            if ratio > 1.05
            else f"{1 / ratio:.1f} times more"
            if ratio < 1 / 1.05
            else "as before"
        )
        yield (
            f"influence of any one record {compared} (Delta "
            f"{' for '.join(together(values[label], values[baseline]))})"
        )


def _change(share: float, error: float | None = None) -> str:
    """A ratio in words: "71 ± 1 % lower"."""
    if not np.isfinite(share):
        return "not comparable"
    if error is None and f"{share:.0%}" == "100%":
        return "as before"
    if error is not None and abs(share - 1) <= 2 * error:
        return f"not changed beyond its error of {100 * error:.1f} %"
    shown = (
        f"{abs(share - 1):.0%}"
        if error is None
        else f"{100 * abs(share - 1):.0f} ± {100 * error:.1f} %"
    )
    return f"{shown} {'lower' if share < 1 else 'higher'}"
