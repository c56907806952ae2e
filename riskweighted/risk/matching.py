"""Matching-based identification risk (Hu's lecture; Reiter & Mitra 2009): can the intruder find the
record, and is it the right one?
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.intruder.neighbours import Neighbours
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, make_world
from riskweighted.risk.identification import record_risks

__all__ = ["MatchingRisk", "expected_matches", "match", "matching_risk", "mean_risk_and_matches"]


@dataclass(frozen=True)
class MatchingRisk:
    """A matching risk tells how often an intruder finds a record in L synthetic datasets, and
    whether it is the right one.

    Attributes
    ----------
    expected_match_risk : float
        sum T_i / c_i over the N targets (c_i = 0 counts 0), in [0, N]; higher is riskier.
    true_match_rate : float
        sum K_i / N: share of targets whose unique match is the true one; higher is riskier.
    false_match_rate : float
        sum F_i / s: share of false ones among the unique matches; higher is safer. NaN where no
        match is unique.
    unique_matches : float
        s, the number of targets with exactly one match.
    targets : int
        N.
    by_dataset : DataFrame (L, 4)
        The four figures of each dataset; those above are their means (the false match rate over the
        datasets where it is defined).
    records : DataFrame
        One row per dataset and target, on the confidential index: c (matches), T (the true record
        is among them), K (unique and true), F (unique and false). Confidential.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> rw.matching_risk(data, synthetic, scenario).by_dataset.round(2)
             expected_match_risk  true_match_rate  false_match_rate  unique_matches
    dataset
    1                       3.32              0.0               1.0             2.0
    2                       2.77              0.0               1.0             3.0
    3                       2.35              0.0               1.0             5.0
    """

    expected_match_risk: float
    true_match_rate: float
    false_match_rate: float
    unique_matches: float
    targets: int
    by_dataset: pd.DataFrame
    records: pd.DataFrame = field(repr=False)

    @property
    def expected_by_target(self) -> np.ndarray:
        """T/c of each target, 0 where c is 0, averaged over the datasets, (N,); confidential."""
        c, true = (
            self.records[name].to_numpy(dtype=float).reshape(-1, self.targets)
            for name in ("c", "T")
        )
        return np.asarray(np.divide(true, c, out=np.zeros_like(true), where=c > 0).mean(axis=0))


def matching_risk(
    confidential: Frame,
    synthetic: "GivenFrames",
    scenario: Scenario,
    *,
    targets: Sequence[object] | np.ndarray | None = None,
    match_on: Literal["both", "known"] = "both",
    identifier: str | None = None,
) -> MatchingRisk:
    """Return the expected match risk and the true and false match rates (Hu's lecture; METHODS
    section 7).

    The intruder knows a target's known variables and the confidential values of its synthetic ones,
    and looks for synthetic records equal on the former and within the ball (numbers) or equal
    (categories) on the latter.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame or sequence of L DataFrames
        Rows pair with the confidential ones as `riskweighted.intruder.pairing.pair` says.
    scenario : Scenario
        ``boundary="closed"`` is the lecture's rule, ``"open"`` that of the R package
        IdentificationRiskCalculation.
    targets : sequence of index labels, or boolean mask (n,), optional
        The N records looked for; default all.
    match_on : {"both", "known"}
        "known" ignores the synthetic variables, as the lab's helper (Kleisle-Murphy 2020) does:
        every record then matches its own pattern, and the expected match risk is the number of
        known patterns whatever was synthesized.
    identifier : str, optional
        Column that pairs rows.

    Raises
    ------
    InputError
        If rows do not pair, a column is absent, or a target is unknown.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> risk = rw.matching_risk(data, synthetic, scenario)
    >>> round(risk.expected_match_risk, 2), risk.true_match_rate
    (2.81, 0.0)
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    if match_on not in ("both", "known"):
        raise InputError(f"match_on must be 'both' or 'known', got {match_on!r}")
    return match(
        make_world(confidential, scenario).pair_rows(synthetic, identifier), targets, match_on
    )


def match(
    paired: Paired,
    targets: Sequence[object] | np.ndarray | None = None,
    match_on: Literal["both", "known"] = "both",
) -> MatchingRisk:
    """`matching_risk` of paired data."""
    index, in_pattern = paired.world.confidential.index, paired.world.patterns.in_pattern
    chosen = _targets(targets, index)
    tables = []
    for number, neighbours in enumerate(paired.neighbours(), start=1):
        if match_on == "known":
            matches, true = in_pattern, np.ones(len(index), dtype=bool)
        else:
            matches, true = neighbours.within, neighbours.own_inside
        unique = matches == 1
        columns = {
            "dataset": number,
            "c": matches,
            "T": true,
            "K": unique & true,
            "F": unique & ~true,
        }
        tables.append(pd.DataFrame(columns, index=index)[chosen])
    by_dataset = pd.DataFrame(
        [_figures(table) for table in tables],
        index=pd.RangeIndex(1, len(tables) + 1, name="dataset"),
    )
    return MatchingRisk(
        **by_dataset.mean().to_dict(),
        targets=int(chosen.sum()),
        by_dataset=by_dataset,
        records=pd.concat(tables),
    )


def mean_risk_and_matches(paired: Paired) -> tuple[np.ndarray, np.ndarray]:
    """IR_i of every record, (n,), and its T_i / c_i, (n,), means over the datasets, in one walk
    through them.
    """
    total, matched = np.zeros((2, len(paired.world.confidential)))
    for neighbours in paired.neighbours():
        total += record_risks(paired.world, neighbours)
        matched += expected_matches(neighbours)
    return total / len(paired), matched / len(paired)


def expected_matches(neighbours: Neighbours) -> np.ndarray:
    """T_i / c_i of all records in one synthetic dataset, (n,), whose sum is the
    `expected_match_risk` of `match`.
    """
    within = neighbours.within
    return np.asarray(
        np.divide(
            1.0, within, out=np.zeros(len(within)), where=neighbours.own_inside & (within > 0)
        )
    )


def _targets(targets: Sequence[object] | np.ndarray | None, index: pd.Index) -> np.ndarray:
    """Boolean mask of the target records, (n,)."""
    if targets is None:
        return np.ones(len(index), dtype=bool)
    chosen = np.asarray(targets)
    if chosen.dtype == bool:
        if chosen.shape != (len(index),):
            raise InputError(
                f"a mask of targets must have one value per record: got {chosen.size} for "
                f"{len(index)} records"
            )
        mask = chosen
    else:
        unknown = int((~pd.Index(chosen).isin(index)).sum())
        if unknown:
            raise InputError(
                f"{unknown} of {len(chosen)} targets are not in the index of the confidential data"
            )
        mask = index.isin(chosen)
    if not mask.any():
        raise InputError("targets name no record; valid is at least one")
    return mask


def _figures(table: pd.DataFrame) -> dict[str, float]:
    """The four figures of one dataset from its per-target table."""
    unique = int((table["c"] == 1).sum())
    matched = table[table["c"] > 0]
    return {
        "expected_match_risk": float((matched["T"] / matched["c"]).sum()),
        "true_match_rate": float(table["K"].mean()),
        "false_match_rate": float(table["F"].sum() / unique) if unique else np.nan,
        "unique_matches": float(unique),
    }
