"""The comparison that the paper does not make: schemes at equal total weight and at equal mean
risk.

Pairwise weights are never smaller than marginal ones, so a scheme may look better only because it
keeps more of the likelihood. Here every scheme is scaled, alpha = min(1, c * alpha), along a range
of c that ends at the unweighted synthesizer; schemes are then read off where their total weight, or
the mean risk of what they release, is the same.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted import (
    EvaluationSettings,
    Sampling,
    Scenario,
    adjust_weights,
    compile_model,
    evaluate,
)
from riskweighted.common.checks import check_count
from riskweighted.common.errors import ConvergenceWarning, InputError, listing
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.intruder.world import make_world
from riskweighted.measures.registry import measures
from riskweighted.plots.style import add_legend, add_note, finish, new_axes, scheme_styles
from riskweighted.risk.identification import identification_risks
from riskweighted.risk.whack_a_mole_risk import risk_rise, whack_a_mole_records
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import CompiledSequence
from riskweighted.weights.schemes import scheme_weights

__all__ = [
    "MEAN_WEIGHT",
    "SCALES",
    "SCHEMES",
    "at_equal",
    "interpolate_curve",
    "plot_curves",
    "risk_utility_curves",
    "scaled_weights",
    "summarize",
    "value_at",
    "whacked_records",
]

UNIFORM = "uniform"
SCHEMES = (UNIFORM, "marginal", "pairwise", "3-way")
SCALES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
MEAN_WEIGHT = measures()["mean-weight"].label
_RISES = [measures()["whack-a-mole"].label]
_BASELINE = "unweighted"
_KEY = ["scheme", "scale", "repetition"]


def scaled_weights(
    scheme: str, confidential: pd.DataFrame, scenario: Scenario, scales: Sequence[float]
) -> dict[float, pd.Series]:
    """Weights min(1, c * alpha) of a scheme by the scale c; "uniform" gives every record the weight
    min(1, c).
    """
    if len(set(scales)) < len(scales) or not scales or min(scales) <= 0:
        raise InputError(f"scales must be different numbers above 0, got {list(scales)}")
    alpha = scheme_weights(_BASELINE if scheme == UNIFORM else scheme, confidential, scenario)
    return {float(scale): adjust_weights(alpha, scale) for scale in sorted(scales)}


def risk_utility_curves(
    confidential: pd.DataFrame,
    scenario: Scenario,
    synthesizer: Synthesizer,
    *,
    schemes: Sequence[str] = SCHEMES,
    scales: Sequence[float] = SCALES,
    repetitions: int = 10,
    L: int = 20,  # noqa: N803
    sampling: Sampling | None = None,
    random_seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
    **measures: Any,
) -> pd.DataFrame:
    """Risk and utility of every scheme at every scale, with repetitions of the fit and the
    datasets.

    Within a repetition all fits, datasets and bootstraps have the same seeds, so that schemes
    differ by their weights and less by chance.

    Parameters
    ----------
    confidential : DataFrame, n rows
    scenario : Scenario
        Of the weights and of the evaluation.
    synthesizer : Synthesizer
    schemes : sequence of str
        "uniform" or names of `riskweighted.weights.schemes.scheme_weights`.
    scales : sequence of float
        Values of c. Points of a scheme with the same weights are fitted once.
    repetitions : int
        Repetition k has the seed ``random_seed + k - 1``.
    L : int
        Datasets per fit.
    sampling : Sampling, optional
    progress : callable, optional
        Called with (fits done, fits in all).
    **measures
        Settings of `evaluate`: quantiles, regression, coefficient, resamples, increase, ...

    Returns
    -------
    DataFrame
        Tidy: scheme, scale, repetition, converged, measure, value. Measures are those of
        `evaluate`, "... overlap" of interval measures, and "mean weight".

    Raises
    ------
    InputError
        If schemes repeat, or as in `scaled_weights`, `compile_model` and `evaluate`.
    """
    if not schemes or len(set(schemes)) < len(schemes):
        raise InputError(f"schemes must be different names, at least one, got {listing(schemes)}")
    check_count(repetitions, "repetitions")
    weights = {
        (scheme, c): alpha
        for scheme in schemes
        for c, alpha in scaled_weights(scheme, confidential, scenario, scales).items()
    }
    one = pd.Series(1.0, confidential.index, name="alpha")
    distinct = {alpha.to_numpy().tobytes(): alpha for alpha in [one, *weights.values()]}
    model, tables = compile_model(synthesizer, confidential), []
    for repetition in range(1, repetitions + 1):
        seed = random_seed + repetition - 1
        frames, converged = {}, {}
        for done, (key, alpha) in enumerate(distinct.items(), start=1):
            fitted = _sample(model, alpha, seed, sampling)
            frames[key], converged[key] = fitted.synthesize(L, random_seed=seed), fitted.converged
            if progress is not None:
                progress((repetition - 1) * len(distinct) + done, repetitions * len(distinct))
        measured = _measure(confidential, scenario, next(iter(distinct)), frames, seed, measures)
        for (scheme, scale), alpha in weights.items():
            key = alpha.to_numpy().tobytes()
            rows = pd.concat(
                [
                    measured[key],
                    pd.DataFrame({"measure": [MEAN_WEIGHT], "value": [float(alpha.mean())]}),
                ]
            )
            tables.append(
                rows.assign(
                    scheme=scheme, scale=scale, repetition=repetition, converged=converged[key]
                )
            )
    return pd.concat(tables, ignore_index=True)[[*_KEY, "converged", "measure", "value"]]


def _sample(
    model: CompiledSequence, alpha: pd.Series | None, seed: int, sampling: Sampling | None
) -> Fit:
    """A fit; that it did not converge stands in the tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.sample(alpha, random_seed=seed, sampling=sampling)


def _measure(
    confidential: pd.DataFrame,
    scenario: Scenario,
    unweighted: bytes,
    frames: Mapping[bytes, list[pd.DataFrame]],
    seed: int,
    measures: Mapping[str, Any],
) -> dict[bytes, pd.DataFrame]:
    """Measures and values of every distinct weight vector, against the unweighted one of the same
    repetition.
    """
    labels = {
        key: _BASELINE if key == unweighted else f"weights {place}"
        for place, key in enumerate(frames)
    }
    named = {labels[key]: datasets for key, datasets in frames.items()}
    result = evaluate(
        confidential,
        named,
        scenario,
        settings=EvaluationSettings(**measures),
        baseline=_BASELINE,
        random_seed=seed,
    )
    overlap, wanted = result.utility.dropna(subset="overlap"), ["label", "measure", "value"]
    everything = pd.concat(
        [
            result.risk[wanted],
            result.utility[wanted],
            overlap[["label", "measure"]].assign(
                measure=overlap["measure"] + " overlap", value=overlap["overlap"]
            ),
            pd.DataFrame({"label": _BASELINE, "measure": _RISES, "value": 0.0}),  # over itself
        ],
        ignore_index=True,
    )
    tables = {label: table[["measure", "value"]] for label, table in everything.groupby("label")}
    return {key: tables[label] for key, label in labels.items()}


def value_at(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """y where a curve through the points (x, y), joined by lines in their order, last meets x =
    level; NaN: nowhere.

    The points go along a growing scale, so of several meetings the one that keeps the most of the
    likelihood counts.
    """
    for place in range(len(x) - 1, -1, -1):
        if x[place] == level:
            return float(y[place])
        if place and min(x[place - 1], x[place]) < level < max(x[place - 1], x[place]):
            share = (level - x[place - 1]) / (x[place] - x[place - 1])
            return float(y[place - 1] + share * (y[place] - y[place - 1]))
    return float("nan")


def interpolate_curve(curves: pd.DataFrame, axis: str, levels: Sequence[float]) -> pd.DataFrame:
    """Every measure of every scheme where the measure `axis` has the given levels, on the mean
    curve of the repetitions.

    Parameters
    ----------
    curves : DataFrame
        From `risk_utility_curves`.
    axis : str
        What is held equal: "mean weight", "mean risk" or any other measure.
    levels : sequence of float

    Returns
    -------
    DataFrame by (scheme, level), measures in columns, "scale" among them; NaN where no scale
    reaches the level.

    Raises
    ------
    InputError
        If the measure is unknown.
    """
    known = list(dict.fromkeys(curves["measure"]))
    if axis not in known:
        raise InputError(
            f"the curves have no measure {axis!r}; valid are {listing(known, limit=len(known))}"
        )
    rows = {}
    for scheme, group in curves.groupby("scheme", sort=False):
        wide = group.pivot_table(index="scale", columns="measure", values="value").sort_index()
        wide["scale"] = wide.index
        for level in levels:
            rows[scheme, level] = {
                name: value_at(wide[axis].to_numpy(), wide[name].to_numpy(), level) for name in wide
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["scheme", "level"])


def summarize(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Mean, Monte Carlo sd (ddof = 1) and number of repetitions that have a value, per measure and
    further columns.
    """
    return (
        table.groupby([*by, "measure"], sort=False)["value"]
        .agg(mean="mean", sd="std", repetitions="count")
        .reset_index()
    )


def at_equal(
    curves: pd.DataFrame, axis: str, levels: Sequence[float], measures: Sequence[str]
) -> pd.DataFrame:
    """One row per level and scheme: the measures where `axis` has the level, and their Monte Carlo
    sd.

    The sd is that of one repetition, from the jackknife over repetitions: where `axis` does not
    vary between them, it is the usual sd (ddof = 1). A level that a scheme does not reach, with
    every repetition left out in turn too, is empty.
    """
    repetitions = sorted(set(curves["repetition"]))
    found = interpolate_curve(curves, axis, levels)
    if len(repetitions) < 2:
        raise InputError(f"a Monte Carlo sd needs at least 2 repetitions, got {len(repetitions)}")
    without = [
        interpolate_curve(curves[curves["repetition"] != left], axis, levels)
        for left in repetitions
    ]
    values = np.array([table.to_numpy() for table in without])
    sd = pd.DataFrame(
        np.sqrt((len(values) - 1) * ((values - values.mean(axis=0)) ** 2).sum(axis=0)),
        found.index,
        found.columns,
    )
    found = found.where(sd.notna())
    columns = {
        f"{name}{end}": table[name]
        for name in measures
        for end, table in (("", found), (" sd", sd))
    }
    order = pd.MultiIndex.from_product(
        [levels, dict.fromkeys(curves["scheme"])], names=["level", "scheme"]
    )
    return pd.DataFrame(columns).reorder_levels(["level", "scheme"]).reindex(order).reset_index()


def whacked_records(
    confidential: pd.DataFrame,
    scenario: Scenario,
    synthesizer: Synthesizer,
    weights: Mapping[str, pd.Series],
    *,
    increases: Sequence[float] = (0.05, 0.1, 0.25),
    L: int = 1000,  # noqa: N803
    sampling: Sampling | None = None,
    random_seed: int = 1,
) -> pd.DataFrame:
    """How many records each scheme whacks: those whose risk rises over that of the unweighted
    synthesizer.

    With the 20 datasets of a release a record's risk has a Monte Carlo sd of about 0.06, so that
    counts of small rises are mostly chance. Hence many datasets here, and a row "unweighted again",
    other datasets of the unweighted synthesizer against the first ones, which shows what chance
    still makes.

    Parameters
    ----------
    weights : mapping of label to Series (n,)
    increases : sequence of float
        Rises counted.
    L : int
        Datasets per fit, at most its draws.

    Returns
    -------
    DataFrame
        One row per label: mean risk, "largest rise", "rise >= x" and "fall >= x" (numbers of
        records), converged.
    """
    model, world = compile_model(synthesizer, confidential), make_world(confidential, scenario)
    plain = _sample(model, None, random_seed, sampling)
    baseline = identification_risks(world.pair(plain.synthesize(L, random_seed=random_seed))).mean(
        axis=0
    )
    others = {
        label: _sample(model, alpha, random_seed, sampling) for label, alpha in weights.items()
    }
    rows = []
    for label, fitted in {"unweighted again": plain, **others}.items():
        frames = fitted.synthesize(L, random_seed=random_seed + 1)
        risk = identification_risks(world.pair(frames)).mean(axis=0)
        rise = risk_rise(risk, baseline)
        rises = {
            f"rise >= {least:g}": int(whack_a_mole_records(risk, baseline, least).sum())
            for least in increases
        }
        falls = {f"fall >= {least:g}": int((rise <= -least).sum()) for least in increases}
        rows.append(
            {
                "label": label,
                "mean risk": risk.mean(),
                "largest rise": rise.max(),
                **rises,
                **falls,
                "converged": fitted.converged,
            }
        )
    return pd.DataFrame(rows)


def plot_curves(curves: pd.DataFrame, x: str, y: str, *, ax: Axes | None = None) -> Axes:
    """One measure against another along the scale, one curve per scheme; crosses span mean - 2 sd
    to mean + 2 sd.

    The point of a scheme at c = 1 is enlarged.
    """
    summary = summarize(curves, ["scheme", "scale"])
    ax = new_axes((8.5, 5.0), ax)
    styles = scheme_styles(dict.fromkeys(summary["scheme"]))
    for scheme, rows in summary.groupby("scheme", sort=False):
        means, sds = (
            rows.pivot(index="scale", columns="measure", values=what).sort_index()
            for what in ("mean", "sd")
        )
        style = styles[scheme]
        look = {
            "color": style.colour,
            "linestyle": style.line,
            "marker": style.marker,
            "markersize": 6,
            "elinewidth": 0.8,
        }
        ax.errorbar(means[x], means[y], xerr=2 * sds[x], yerr=2 * sds[y], label=str(scheme), **look)
        if 1.0 in means.index:
            ax.scatter(
                means.loc[1.0, x],
                means.loc[1.0, y],
                s=190,
                color=style.colour,
                marker=style.marker,
                edgecolor="black",
                zorder=3,
            )
    finish(ax, x, y, grid="both")
    count = curves["repetition"].nunique()
    add_note(ax, f"Mean of {count} repetitions; crosses: 2 sd over them each way. Large: c = 1.")
    add_legend(ax, "beside", handlelength=4)
    return ax
