"""What each way of synthesizing costs: risk and utility of L synthetic datasets per label, as tidy tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.evaluation.settings import EvaluationSettings
from riskweighted.intruder.pairing import as_frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.confidential import confidential_risk
from riskweighted.risk.identification import identification_risks
from riskweighted.utility.bootstrap import pooled_bootstrap
from riskweighted.utility.ecdf import mean_ecdf_distance
from riskweighted.utility.intervals import Interval, combine_partially_synthetic, interval_overlap
from riskweighted.utility.regression import Regression, checked_regression

__all__ = ["CONFIDENTIAL", "Evaluation", "evaluate", "evaluate_world"]

CONFIDENTIAL = "confidential"  # label of the confidential data's own rows
Frames = Sequence[pd.DataFrame]


@dataclass(frozen=True)
class Evaluation:
    """Tables of an evaluation.

    Attributes
    ----------
    risk : DataFrame
        One row per (label, measure): value, whether higher is riskier, definition.
    utility : DataFrame
        One row per (label, variable, measure): estimate, interval, its overlap with the confidential interval, the
        rule that made the interval, definition.
    records : DataFrame (n, labels)
        Identification risk of every record. Confidential.
    """

    risk: pd.DataFrame
    utility: pd.DataFrame
    records: pd.DataFrame = field(repr=False)

    def summary(self) -> pd.DataFrame:
        """The main table: one row per label, the risk and utility figures side by side."""
        risk = self.risk.pivot(index="label", columns="measure", values="value")
        over = [name for name in risk if name.startswith("records over")]
        table = risk.reindex(columns=["mean risk", "maximum risk", *over, *(name for name in ["whack-a-mole records"] if name in risk)])
        for variable, rows in self.utility.groupby("variable", sort=False):
            for measure, group in rows.groupby("measure", sort=False):
                name = f"{measure} of {variable}"
                table[name] = group.set_index("label")["estimate"]
                if group["overlap"].notna().any():
                    table[f"{name}: overlap"] = group.set_index("label")["overlap"]
        return table.reindex(self.risk["label"].unique())


def evaluate(
    confidential: pd.DataFrame,
    synthetic: Mapping[str, Frames | pd.DataFrame],
    scenario: Scenario,
    *,
    baseline: str | None = None,
    quantiles: Sequence[float] = EvaluationSettings.quantiles,
    regression: str | None = EvaluationSettings.regression,
    coefficient: str | None = EvaluationSettings.coefficient,
    resamples: int = EvaluationSettings.resamples,
    level: float = EvaluationSettings.level,
    threshold: float = EvaluationSettings.threshold,
    increase: float = EvaluationSettings.increase,
    random_seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Score synthetic datasets on identification risk and utility (METHODS sections 2 and 6).

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : mapping of label to a list of L DataFrames
        Each pairs with `confidential` row by row (same index).
    scenario : Scenario
    baseline : str, optional
        Label of the unweighted synthesizer; with it, whack-a-mole records are counted for the other labels.
    quantiles, regression, coefficient, resamples, level, threshold, increase
        See `EvaluationSettings`.
    random_seed : int, optional
        For the bootstrap.
    progress : callable, optional
        Called with (labels done, labels in all).

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If a frame does not pair with the confidential data, the baseline is no label, or a setting is not valid.
    """
    settings = EvaluationSettings(
        quantiles=quantiles,
        regression=regression,
        coefficient=coefficient,
        resamples=resamples,
        level=level,
        threshold=threshold,
        increase=increase,
    )
    world = make_world(confidential, scenario)
    analysis = checked_regression(confidential, regression, coefficient, scenario.synthetic)
    return evaluate_world(world, synthetic, settings, analysis, baseline=baseline, random_seed=random_seed, progress=progress)


def evaluate_world(
    world: World,
    synthetic: Mapping[str, Frames | pd.DataFrame],
    settings: EvaluationSettings,
    analysis: Regression | None,
    *,
    baseline: str | None = None,
    random_seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """`evaluate` of checked confidential data and a checked regression."""
    labelled = {label: as_frames(frames) for label, frames in synthetic.items()}
    if not labelled:
        raise InputError("no synthetic data was given: pass {label: list of DataFrames}")
    if CONFIDENTIAL in labelled:
        raise InputError(f"the label {CONFIDENTIAL!r} is taken by the confidential data; choose another")
    if baseline is not None and baseline not in labelled:
        raise InputError(f"baseline {baseline!r} is no label of the synthetic data; valid are {listing(labelled)}")
    check_seed(random_seed)
    confidential = world.confidential
    records = pd.DataFrame({CONFIDENTIAL: confidential_risk(world)})
    every = {CONFIDENTIAL: [confidential], **labelled}
    seeds = np.random.SeedSequence(random_seed).spawn(len(every))
    statistics: list[dict[str, object]] = []
    for done, ((label, frames), seed) in enumerate(zip(every.items(), seeds, strict=True)):
        if label != CONFIDENTIAL:
            records[label] = identification_risks(world.pair(frames)).mean(axis=0)
        rng = np.random.default_rng(seed)
        for name in world.numeric:
            values = [frame[name].to_numpy(dtype=float) for frame in frames]
            statistics += _univariate(label, name, confidential[name].to_numpy(dtype=float), values, settings, rng)
        if analysis is not None:
            statistics.append(_coefficient_row(label, frames, analysis, settings.level))
        if progress is not None:
            progress(done + 1, len(every))
    risk = _risk_table(records, world.patterns.singletons, baseline, settings.threshold, settings.increase)
    return Evaluation(risk, _with_overlap(pd.DataFrame(statistics)), records)


def _risk_table(records: pd.DataFrame, singletons: int, baseline: str | None, threshold: float, increase: float) -> pd.DataFrame:
    """Summaries of the per-record risk of every label."""
    rows = []
    for label, risk in records.items():
        what = "IR^c, S003 eq. 2" if label == CONFIDENTIAL else "IR, S003 eq. 1 averaged over datasets"
        q25, q50, q75, q95 = risk.quantile([0.25, 0.5, 0.75, 0.95])
        measures: list[tuple[str, float, str]] = [
            ("mean risk", risk.mean(), f"mean over records of {what}"),
            ("median risk", q50, f"median over records of {what}"),
            ("risk interquartile range", q75 - q25, f"75 % minus 25 % quantile over records of {what}"),
            ("risk 95 % quantile", q95, f"95 % quantile over records of {what}"),
            ("maximum risk", risk.max(), f"maximum over records of {what}"),
            (f"records over {threshold:g}", float((risk > threshold).sum()), f"records with {what} > {threshold:g}"),
            ("singleton patterns", float(singletons), "known patterns of one record, which the pattern alone identifies"),
        ]
        if baseline is not None and label not in (CONFIDENTIAL, baseline):
            rise = risk - records[baseline]
            what = f"IR({label}) - IR({baseline})"
            measures += [
                ("whack-a-mole records", float((rise >= increase).sum()), f"records with {what} >= {increase:g}"),
                ("largest rise", rise.max(), f"maximum over records of {what}"),
            ]
        rows += [{"label": label, "measure": m, "value": v, "higher_is": "riskier", "definition": d} for m, v, d in measures]
    return pd.DataFrame(rows)


def _univariate(
    label: str,
    name: str,
    confidential: np.ndarray,
    values: list[np.ndarray],
    settings: EvaluationSettings,
    rng: np.random.Generator,
) -> list[dict[str, object]]:
    """ECDF distances, mean and quantiles of one numeric variable."""
    rows = []
    if label != CONFIDENTIAL:
        distance = mean_ecdf_distance(confidential, values)
        both = (("U_m", distance.maximum, "maximum"), ("U_a", distance.mean_square, "mean square"))
        for measure, value, how in both:
            definition = f"{how} of the difference of empirical distribution functions, mean over datasets (Woo et al. 2009)"
            rows.append({"label": label, "variable": name, "measure": measure, "estimate": value, "definition": definition})
    for quantile in (None, *settings.quantiles):
        measure = "mean" if quantile is None else "median" if quantile == 0.5 else f"{quantile!r} quantile"
        interval = pooled_bootstrap(values, quantile, rng, resamples=settings.resamples, level=settings.level)
        rows.append(_interval_row(label, name, measure, interval, "mean over datasets of the bootstrap estimates"))
    return rows


def _interval_row(label: str, variable: str, measure: str, interval: Interval, definition: str) -> dict[str, object]:
    bounds = {"estimate": interval.estimate, "lower": interval.lower, "upper": interval.upper}
    return {"label": label, "variable": variable, "measure": measure, **bounds, "rule": interval.rule, "definition": definition}


def _with_overlap(table: pd.DataFrame) -> pd.DataFrame:
    """Add each interval's overlap with the confidential one of the same measure."""
    columns = ["label", "variable", "measure", "estimate", "lower", "upper", "overlap", "rule", "definition"]
    table = table.reindex(columns=columns)
    table["overlap"] = np.nan
    reference = table[table["label"] == CONFIDENTIAL].set_index(["variable", "measure"])
    for place, row in table.iterrows():
        if row["label"] != CONFIDENTIAL and np.isfinite(row["lower"]):
            own = reference.loc[(row["variable"], row["measure"])]
            if own["lower"] < own["upper"] and row["lower"] < row["upper"]:
                table.loc[place, "overlap"] = interval_overlap((own["lower"], own["upper"]), (row["lower"], row["upper"]))
    return table


def _coefficient_row(label: str, frames: Frames, analysis: Regression, level: float) -> dict[str, object]:
    estimates, variances, freedom = zip(*(analysis.fit(frame) for frame in frames), strict=True)
    if len(frames) > 1:
        interval = combine_partially_synthetic(estimates, variances, level=level)
    else:
        half = stats.t.ppf(0.5 + level / 2, freedom[0]) * np.sqrt(variances[0])
        rule = "one dataset: t interval of least squares"
        if label != CONFIDENTIAL:
            rule += " (no combining rule with L = 1: the variance between datasets is left out, so it is too short)"
        interval = Interval(estimates[0], estimates[0] - half, estimates[0] + half, variances[0], freedom[0], rule)
    definition = f"least-squares coefficient in {analysis.formula}"
    return _interval_row(label, analysis.response, f"coefficient {analysis.coefficient}", interval, definition)
