"""How near synthetic records lie to confidential ones, whoever made them and whether or not their
rows pair.

Distance to the closest record (DCR) and its ratio to the distance of the second closest (NNDR), to
the confidential records and, where there is one, to a holdout file that the synthesizer never saw
(Zhao et al. 2021; Platzer & Reutterer 2021; METHODS section 7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.spatial import KDTree

from riskweighted.common.checks import check_given
from riskweighted.common.groups import group_codes
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.intruder.pairing import as_comparable
from riskweighted.intruder.patterns import cells
from riskweighted.intruder.scenario import Scenario

__all__ = ["ClosestRecords", "closest_records"]

# synthetic records of a dataset that are looked at: the error of a share is then at most .005
_MOST_QUERIES = 10_000
_MOST_NUMBERS = 100_000_000  # coordinates of a file that are held, 800 MB
_INNER = (0.05, 0.95)  # quantiles between which a number's unit of distance lies


@dataclass(frozen=True)
class ClosestRecords:
    """Closest records tell how near L synthetic datasets lie to the confidential records.

    Attributes
    ----------
    records : DataFrame
        A row for each synthetic record that was looked at, at most 10,000 of a dataset drawn at
        random: ``dataset``; ``distance`` to the closest confidential record; ``ratio`` of it to
        that of the second closest, 1 where both are 0. With a holdout file also ``closer``: 1 where
        a confidential record is closer than any of the holdout file, 1/2 where both are as close,
        else 0. Confidential.
    searched : int
        Among how many confidential records the closest was found: all of them, if their coordinates
        fit into memory.
    compared : int
        Among how many records of either file, drawn at random from the larger one, it was found out
        which is closer; 0 without a holdout.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> rw.closest_records(data, synthetic, scenario).records.round(4).head(2)
       dataset  distance   ratio
    0        1    0.0011  0.5116
    1        1    0.0024  0.7538
    """

    records: pd.DataFrame = field(repr=False)
    searched: int
    compared: int

    def quantile(self, column: str, share: float) -> float:
        """A quantile over the synthetic records of a column of `records`, mean over datasets."""
        return float(self.records.groupby("dataset")[column].quantile(share).mean())

    @property
    def copies(self) -> float:
        """Share of the synthetic records at distance 0 from a confidential one, mean over
        datasets.
        """
        return float((self.records["distance"] == 0).groupby(self.records["dataset"]).mean().mean())

    @property
    def closer(self) -> float:
        """Share of the synthetic records that are closer to a confidential record than to one of
        the holdout file, mean over datasets.

        1/2 where the synthesizer does no more than another sample of the population would, whatever
        the data.
        """
        return float(self.records.groupby("dataset")["closer"].mean().mean())


def closest_records(
    confidential: Frame,
    synthetic: "GivenFrames",
    scenario: Scenario,
    *,
    holdout: "Frame | None" = None,
    random_seed: int = 0,
) -> ClosestRecords:
    """Return how far synthetic records lie from the closest and the second closest confidential
    record (METHODS section 7).

    The distance is Gower's (1971): the mean over the scenario's variables of 0 or 1 for a known
    variable or a category, equal or not, and for a number of the absolute difference in units of
    the distance between the 5 % and the 95 % quantile of the confidential amounts (Gower: the
    range, which one outlier sets). A missing value or special code is a category of its own, 1 from
    an amount, and stands at the confidential median.

    Which file is closer is asked among as many records of either as the smaller one has, since more
    records lie nearer.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame or sequence of L DataFrames
        Of any length, in any order; only the scenario's columns are used.
    scenario : Scenario
    holdout : DataFrame, optional
        Records of the same population that the synthesizer never saw.
    random_seed : int
        For which records are drawn where there are too many.

    Raises
    ------
    InputError
        If a column is absent or of another kind, a target is infinite, or missing or a special code
        where the confidential data has none.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> closest = rw.closest_records(data, synthetic, scenario)
    >>> round(closest.quantile("distance", 0.05), 5)
    0.00012
    """
    confidential = as_pandas(confidential)
    synthetic = as_pandas(synthetic)
    holdout = as_pandas(holdout)
    check_given(scenario, "scenario", "is_numeric", "Scenario", "Scenario(...)")
    frames = as_comparable(confidential, synthetic, scenario)
    others = (
        [] if holdout is None else as_comparable(confidential, holdout, scenario, "holdout file")
    )
    points = _points([confidential, *others, *frames], scenario)
    most = max(_MOST_NUMBERS // points[0].shape[1], 1)
    seeds = iter(np.random.SeedSequence(random_seed).spawn(len(points) + 2))
    drawn = [_some(file, _MOST_QUERIES, next(seeds)) for file in points[1 + len(others) :]]
    numbers = np.repeat(np.arange(1, len(drawn) + 1), [len(file) for file in drawn])
    queries = np.concatenate(drawn)
    searched = _some(points[0], most, next(seeds))
    distance, ratio = _nearest(searched, queries)
    records = pd.DataFrame(
        {"dataset": numbers, "distance": distance / _count(scenario), "ratio": ratio}
    )
    if holdout is None:
        return ClosestRecords(records, len(searched), 0)
    compared = min(*(len(file) for file in points[:2]), most)
    here, there = (_nearest(_some(file, compared, next(seeds)), queries)[0] for file in points[:2])
    return ClosestRecords(
        records.assign(closer=(here < there) + 0.5 * (here == there)), len(searched), compared
    )


def _count(scenario: Scenario) -> int:
    return len(scenario.known) + len(scenario.synthetic)


def _some(points: np.ndarray, most: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Points drawn without replacement where there are more than `most`, else all."""
    if len(points) <= most:
        return points
    return points[np.sort(np.random.default_rng(seed).choice(len(points), most, replace=False))]


def _points(frames: Sequence[pd.DataFrame], scenario: Scenario) -> list[np.ndarray]:
    """Every record as a point, of which the city-block distance is the sum over variables; the
    first frame sets units and levels.
    """
    # where no variable has two values, too, there is a place
    columns = [np.zeros(sum(map(len, frames)))]
    for name in (*scenario.known, *scenario.synthetic):
        column = [frame[name] for frame in frames]
        if name in scenario.synthetic and scenario.is_numeric(column[0]):
            columns += _amounts(column, scenario)
        else:
            columns += _levels(np.concatenate(group_codes(column, 2, numeric=False)))
    ends = np.cumsum([len(frame) for frame in frames])[:-1]
    return list(np.split(np.column_stack(columns), ends))


def _levels(codes: np.ndarray) -> Iterator[np.ndarray]:
    """Columns (N,) in which two records of different codes (N,) are 1 apart."""
    present = np.unique(codes)
    if len(present) == 2:
        yield (codes == present[1]).astype(float)
    elif len(present) > 2:
        yield from ((codes == code) * 0.5 for code in present)


def _amounts(column: Sequence[pd.Series], scenario: Scenario) -> Iterator[np.ndarray]:
    """The amounts in their unit, those of other statuses at the median, and the statuses as
    levels.
    """
    statuses = [scenario.statuses(of_file) for of_file in column]
    status = np.concatenate([of_file.status for of_file in statuses])
    amounts = statuses[0].amounts
    low, high = np.quantile(amounts, _INNER)
    unit = high - low or float(np.ptp(amounts)) or 1.0
    values = np.concatenate([of_file.values for of_file in statuses])
    yield np.where(status == 0, values, np.median(amounts)) / unit
    yield from _levels(status)


def _nearest(originals: np.ndarray, synthetic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """City-block distance (m,) of points (m, k) to the closest of (n, k), and its ratio to the
    second closest one's (m,).
    """
    cell = cells(
        (pd.Series(column) for column in originals.T), np.zeros(len(originals), dtype=np.int64)
    )
    _, first, counts = np.unique(cell, return_index=True, return_counts=True)
    distance, neighbour = KDTree(originals[first], balanced_tree=False).query(
        synthetic, k=[1, 2], p=1
    )
    # equal records stand in the tree once
    second = np.where(counts[neighbour[:, 0]] > 1, distance[:, 0], distance[:, 1])
    ratio = np.divide(distance[:, 0], second, out=np.ones(len(synthetic)), where=second > 0)
    return distance[:, 0], ratio
