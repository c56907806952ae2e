"""The mechanism of a fit, its expected risk and its influence in one walk over its draws (METHODS
sections 2.4 to 2.6 and 9.1).
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from riskweighted.common.errors import InputError, listing
from riskweighted.intruder.world import World
from riskweighted.measures.context import Mechanism
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.risk.expected_identification import count_draws, expected_risk, gives_masses

if TYPE_CHECKING:  # at run time it would load xarray
    import pandas as pd

    from riskweighted.sequence.fit import Fit

__all__ = ["check_fits", "expected_seed", "find_mechanism"]


def expected_seed(random_seed: int | None, label: str) -> int | None:
    """The seed of a label's expected risk: the same in whatever company the label stands."""
    return (
        None
        if random_seed is None
        else int(
            np.random.SeedSequence([random_seed, zlib.crc32(label.encode())]).generate_state(1)[0]
        )
    )


def find_mechanism(
    label: str,
    fit: "Fit",
    world: World,
    settings: EvaluationSettings,
    random_seed: int | None,
) -> Mechanism:
    """Both of the fit under a label, in one walk over its draws."""
    seed, draws = expected_seed(random_seed, label), settings.risk_draws
    if not fit.estimates:
        return Mechanism(
            expected_risk(fit, world, draws, seed),
            compared=not fit.keeps_true_values,
        )
    # loads numba, for which who gives no fits need not wait
    from riskweighted.risk.influence import InfluenceSums, clusters_of

    count, records = count_draws(fit, draws), world.confidential
    of_records = InfluenceSums(records.index, count, attributes=gives_masses(fit))
    clusters = None if settings.cluster is None else clusters_of(records, settings.cluster)
    of_clusters = (
        None if clusters is None else InfluenceSums(clusters.index, count, attributes=False)
    )

    def each(terms: np.ndarray, masses: np.ndarray) -> None:
        of_records.add(terms, masses)
        if clusters is not None and of_clusters is not None:
            of_clusters.add(clusters.sums(terms))

    risk = expected_risk(fit, world, draws, seed, each=each)
    return Mechanism(risk, of_records.table(), None if of_clusters is None else of_clusters.table())


def check_fits(
    fits: Mapping[str, "Fit"], labels: Sequence[str], confidential: "pd.DataFrame"
) -> None:
    """Refuse fits of labels that the synthetic data does not have, or of other data."""
    if not isinstance(fits, Mapping) or not all(
        hasattr(fit, "contributions") for fit in fits.values()
    ):
        raise InputError("fits must be a mapping of label to Fit")
    unknown = [label for label in fits if label not in labels]
    if unknown:
        raise InputError(
            f"fits names {listing(unknown)}, which the synthetic data does not hold; valid are "
            f"{listing(labels)}"
        )
    for label, fit in fits.items():
        if fit.confidential is not confidential and not fit.confidential.equals(confidential):
            raise InputError(f"the fit of {label!r} is of other data than the confidential ones")
