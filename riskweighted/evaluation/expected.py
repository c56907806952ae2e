"""Rows of the mechanism's risk and of influence, beside those of the L datasets at hand (METHODS sections 2.4 to 2.6 and 9.1)."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.evaluation.settings import EvaluationSettings
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, measured
from riskweighted.intruder.world import World
from riskweighted.risk.chance import expected_over, expected_whacked
from riskweighted.risk.expected import ExpectedRisk, count_draws, expected_risk, gives_masses, isolated_records, top_values

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.design.precision import Precision
    from riskweighted.sequence.fit import Fit

__all__ = [
    "RISES",
    "Groups",
    "Mechanism",
    "chance_rows",
    "check_fits",
    "expected_rows",
    "expected_seed",
    "find_mechanism",
    "groups_of",
    "influence_rows",
    "top_amounts",
]

RISES = (0.05, 0.1, 0.25)  # over the unweighted fit, counted


def expected_seed(random_seed: int | None, label: str) -> int | None:
    """The seed of a label's expected risk: the same in whatever company the label stands."""
    return None if random_seed is None else int(np.random.SeedSequence([random_seed, zlib.crc32(label.encode())]).generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Expected risk of a fit, and the influence of its records and of their clusters (`riskweighted.influence`), where it has any.

    ``compared``: whether its records' risk is held against that of the baseline, as that of protected true values never is.
    """

    risk: ExpectedRisk = field(repr=False)
    influence: pd.DataFrame | None = field(default=None, repr=False)
    clusters: pd.DataFrame | None = field(default=None, repr=False)
    compared: bool = True


def find_mechanism(
    label: str, fit: "Fit", world: World, settings: EvaluationSettings, random_seed: int | None, precision: "Precision" = None
) -> Mechanism:
    """Both of the fit under a label, in one walk over its draws; `precision`: of the released values."""
    seed, draws = expected_seed(random_seed, label), settings.risk_draws
    if not fit.estimates:
        return Mechanism(expected_risk(fit, world, draws, seed, precision=precision), compared=not fit.keeps_true_values)
    from riskweighted.risk.influence import InfluenceSums, clusters_of  # loads numba, for which who gives no fits need not wait

    count, records = count_draws(fit, draws), world.confidential
    of_records = InfluenceSums(records.index, count, attributes=gives_masses(fit))
    clusters = None if settings.cluster is None else clusters_of(records, settings.cluster)
    of_clusters = None if clusters is None else InfluenceSums(clusters.index, count, attributes=False)

    def each(terms: np.ndarray, masses: np.ndarray) -> None:
        of_records.add(terms, masses)
        if clusters is not None and of_clusters is not None:
            of_clusters.add(clusters.sums(terms))

    found = expected_risk(fit, world, draws, seed, precision=precision, each=each)
    return Mechanism(found, of_records.table(), None if of_clusters is None else of_clusters.table())


@dataclass(frozen=True, eq=False)
class Groups:
    """Which of the n records are isolated, and which hold the top 1 % of values (none where the variable is no number)."""

    isolated: np.ndarray = field(repr=False)
    top: np.ndarray | None = field(repr=False)


def top_amounts(world: World) -> np.ndarray:
    """Which records hold the largest hundredth of the amounts of the one numeric synthetic variable; booleans (n,)."""
    (name,) = world.numeric
    own = world.scenario.statuses(world.confidential[name])
    top = own.is_amount
    top[top] = top_values(own.amounts)
    return top


def groups_of(world: World, confidential_risk: np.ndarray) -> Groups:
    """The groups of records whose mean risk is reported."""
    return Groups(isolated_records(confidential_risk), top_amounts(world) if len(world.numeric) == 1 else None)


class _Estimate(NamedTuple):
    value: float
    error: float  # Monte Carlo standard error


def _jackknife(statistic: Callable[[np.ndarray], float], risk: ExpectedRisk) -> _Estimate:
    """A statistic of the records' risk (n,), its error from leaving out each block of draws."""
    value, blocks = statistic(risk.risk), len(risk.sizes)
    if blocks == 1:
        return _Estimate(value, np.nan)
    without = np.array([statistic(risk.without(block)) for block in range(blocks)])
    return _Estimate(value, float(np.sqrt((blocks - 1) / blocks * ((without - without.mean()) ** 2).sum())))


def _jackknife_rise(statistic: Callable[[np.ndarray], float], risk: ExpectedRisk, baseline: ExpectedRisk) -> _Estimate:
    """The same of its rise over another fit, which errs independently."""
    own = _jackknife(lambda values: statistic(values - baseline.risk), risk)
    other = _jackknife(lambda values: statistic(risk.risk - values), baseline)
    return _Estimate(own.value, float(np.hypot(own.error, other.error)))


def expected_rows(
    label: str, risk: ExpectedRisk | np.ndarray, groups: Groups, threshold: float, baseline: tuple[str, ExpectedRisk] | None = None
) -> Iterator[dict[str, Any]]:
    """Summaries of the expected risk under one label; of the confidential data, whose `risk` is IR^c (n,), the same without error.

    `baseline`: its label and expected risk, over which rises and falls are counted.
    """
    over = Statistic("expected-records-over", parameter=float(threshold))
    summaries: dict[Statistic, Callable[[np.ndarray], float]] = {
        Statistic("expected-mean-risk"): np.mean,
        Statistic("expected-isolated-risk"): lambda values: float(values[groups.isolated].mean()),
        Statistic("expected-maximum-risk"): np.max,
        over: lambda values: float((values > threshold).sum()),
    }
    if groups.top is not None:
        top = groups.top
        summaries[Statistic("expected-top-risk")] = lambda values: float(values[top].mean())
    for statistic, summarise in summaries.items():
        found = _jackknife(summarise, risk) if isinstance(risk, ExpectedRisk) else _Estimate(float(summarise(risk)), np.nan)
        yield _row(label, statistic, found, risk)
    if label == CONFIDENTIAL:
        yield _row(label, Statistic("isolated-records"), _Estimate(float(groups.isolated.sum()), np.nan), risk)
    if baseline is None or not isinstance(risk, ExpectedRisk):
        return
    for limit in RISES:
        counts = (
            ("expected-rises", lambda rise, limit=limit: float((rise >= limit).sum())),
            ("expected-falls", lambda rise, limit=limit: float((rise <= -limit).sum())),
        )
        for key, count in counts:
            yield _row(label, Statistic(key, parameter=limit), _jackknife_rise(count, risk, baseline[1]), risk, baseline[0])


def chance_rows(
    label: str, risk: ExpectedRisk, datasets: int, settings: EvaluationSettings, baseline: tuple[str, ExpectedRisk] | None = None
) -> Iterator[dict[str, Any]]:
    """The counts that L datasets would give by chance, from the expected risks."""
    counts = {Statistic("chance-records-over", parameter=settings.threshold): expected_over(risk, datasets, settings.threshold)}
    if baseline is not None:
        whacked = expected_whacked(risk, baseline[1], datasets, settings.increase)
        counts[Statistic("chance-whack-a-mole", parameter=settings.increase)] = whacked
    for statistic, value in counts.items():
        yield measured(label, statistic, value, statistic.define(datasets=str(datasets)))


def _row(
    label: str, statistic: Statistic, found: _Estimate, risk: ExpectedRisk | np.ndarray, baseline: str | None = None
) -> dict[str, Any]:
    draws = risk.draws if isinstance(risk, ExpectedRisk) else None
    return measured(label, statistic, found.value, statistic.define_expected(label, draws, baseline), error=found.error)


def influence_rows(label: str, mechanism: Mechanism, groups: Groups, cluster: str | None = None) -> Iterator[dict[str, Any]]:
    """How far one record, or one cluster of records, can move the pseudo posterior of one label."""
    found = mechanism.influence
    if found is None:
        return
    from riskweighted.sampling.loo import K_LIMIT

    values = {
        "influence-lipschitz": found["lipschitz"].max(),
        "influence-range": found["range"].max(),
        "influence-information": found["information"].sum(),
        "p-eff": found.attrs["p_eff"],
    }
    if "attributable" in found:
        attributable = found["attributable"].to_numpy()
        values["attributable-mean"] = attributable.mean()
        if groups.top is not None:
            values["attributable-top"] = attributable[groups.top].mean()
        values["attributable-unreliable"] = float((found["pareto_k"] > K_LIMIT).sum())
    if mechanism.clusters is not None:
        clusters = mechanism.clusters
        values |= {"cluster-lipschitz": clusters["lipschitz"].max(), "cluster-range": clusters["range"].max()}
        values["cluster-information"] = clusters["information"].sum()
    for key, value in values.items():
        yield measured(label, Statistic(key), float(value), Statistic(key).define(draws=str(mechanism.risk.draws), cluster=str(cluster)))


def check_fits(fits: Mapping[str, "Fit"], labels: Sequence[str], confidential: pd.DataFrame) -> None:
    """Refuse fits of labels that the synthetic data does not have, or of other data."""
    if not isinstance(fits, Mapping) or not all(hasattr(fit, "contributions") for fit in fits.values()):
        raise InputError("fits must be a mapping of label to Fit")
    unknown = [label for label in fits if label not in labels]
    if unknown:
        raise InputError(f"fits names {listing(unknown)}, which the synthetic data does not hold; valid are {listing(labels)}")
    for label, fit in fits.items():
        if fit.confidential is not confidential and not fit.confidential.equals(confidential):
            raise InputError(f"the fit of {label!r} is of other data than the confidential ones")
