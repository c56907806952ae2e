"""Why a risk exceeds its limit: where the expected risk of the first scheme that fails comes from,
measured on its fit.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import SingletonWarning
from riskweighted.common.numbers import exactly
from riskweighted.evaluation.verdicts import FAIL, LEAVES, Verdict, find_failures, overall
from riskweighted.measures import expected_measures, identification_measures
from riskweighted.weights.scheme_names import UNWEIGHTED

if TYPE_CHECKING:  # at run time they would load what samples
    from riskweighted.intruder.world import World
    from riskweighted.runs.work import Work

__all__ = ["COUNTS", "REASONS", "is_inference_risk", "largest", "risk_reasons", "told_by"]

REASONS = ("label", "key", "kind", "names", "share", "without", "records", "figure", "told", "what")
_KEYS = frozenset(
    measure.key for measure in (*expected_measures.MEASURES, *identification_measures.MEASURES)
)
_MOST, _LEAST = 12, 0.01  # rows that are kept, and their least share
COUNTS = 0.1  # of a risk: a source that is worth leaving out


def largest(verdicts: Sequence[Verdict], schemes: Sequence[str]) -> Verdict | None:
    """The first reason of the first scheme that a release would not take, weighted ones first; else
    of one that is warned of.
    """
    for scheme in sorted(
        schemes, key=lambda scheme: (overall(verdicts, scheme) in LEAVES, scheme == UNWEIGHTED)
    ):
        if reasons := find_failures(verdicts, scheme):
            return reasons[0]
    return None


def is_inference_risk(verdict: Verdict) -> bool:
    """Whether a limit that is exceeded is one of identification risk, which is inference."""
    return verdict.limit is not None and verdict.verdict == FAIL and verdict.statistic.key in _KEYS


def risk_reasons(work: "Work", verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Where that risk comes from, a row a source (`riskweighted.risk.shares`); empty where no
    scheme exceeds a limit of risk.

    ``figure``: the mean expected risk that is explained, of all records, or of the isolated ones
    where the limit is theirs; ``told``: the share of records of which the model gives the own ball
    a probability of one half or more; ``what``: of which variable, how closely.
    """
    from riskweighted.risk.shares import RiskShares

    schemes = [
        scheme for scheme in work.study.weights.schemes if not work.fit(scheme).keeps_true_values
    ]
    found = [
        verdict
        for scheme in schemes
        for verdict in find_failures(verdicts, scheme)
        if is_inference_risk(verdict)
    ]
    if not found or work.rows is not None:  # of a sample's fit nothing is looked for
        return pd.DataFrame(columns=list(REASONS))
    verdict = min(found, key=lambda each: each.label == UNWEIGHTED)
    if verdict.intruder:
        work = work.at(work.study.judged_by(verdict.intruder))
    study, world, key = work.study, work.world(), verdict.statistic.key
    shares = RiskShares(
        work.fit(verdict.label),
        world,
        _counted(work, verdict),
        [
            name
            for name in study.synthesizer.columns_among(world.confidential.columns)
            if name not in study.variables
        ],
        work.streams.seed_for("check", verdict.label),
    )
    table = shares.table()
    kept = table[table["share"] >= _LEAST].head(_MOST)
    return kept.assign(
        label=verdict.label, key=key, figure=shares.figure, told=shares.told, what=_what(world)
    )[list(REASONS)].reset_index(drop=True)


def _counted(work: "Work", verdict: Verdict) -> np.ndarray:
    """The records whose mean the limit is of, (n,); all of them where it is of no group."""
    from riskweighted.risk.expected_identification import isolated_records, top_values
    from riskweighted.risk.identification import confidential_risk

    if "isolated" in verdict.statistic.key:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingletonWarning)  # the run has said it
            return isolated_records(confidential_risk(work.world()).to_numpy())
    if "top" in verdict.statistic.key:
        return top_values(work.expected(verdict.label).risk.risk)
    return np.ones(len(work.confidential), dtype=bool)


def told_by(reasons: pd.DataFrame) -> str:
    """The largest source in words, headed as inference, a predictor where one counts; "" where
    there is none.
    """
    if not len(reasons):
        return ""
    # which can be left out
    predictors = reasons[(reasons["kind"] == "predictor") & (reasons["share"] >= COUNTS)]
    first: Any = (predictors if len(predictors) else reasons).iloc[0]
    of, figure = "isolated records' risk" if "isolated" in first["key"] else "risk", first["figure"]
    part = (
        f"{first['label']}: {figure - first['without']:.2f} of {figure:.2f} of {of} (inference) "
        f"comes from {first['names']}"
    )
    if first["kind"] != "predictor" or first["told"] < _LEAST:
        return part
    tell = "tell" if ", " in first["names"] else "tells"
    return f"{part}, which {tell} {first['what']} for {100 * first['told']:.0f} % of records"


def _what(world: "World") -> str:
    """What a model may tell, and how closely."""
    scenario, name = world.scenario, world.scenario.synthetic[0]
    if len(scenario.synthetic) > 1:
        return "all variables to within their radii"
    if name not in world.numeric:
        return name
    radius = scenario.radius_of(name)
    return (
        f"{name} to within "
        f"{f'{100 * radius:g} %' if scenario.kind_of(name) == 'relative' else exactly(radius)}"
    )
