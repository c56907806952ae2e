"""Regression with coefficients that vary by group (Kleisle-Murphy 2020: the lab's JAGS model, for
any grouping).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from scipy.stats import norm

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.contract.distribution import cached_on_arrays, is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Draw
from riskweighted.design.design import Design, build_design, response_values
from riskweighted.design.transforms import Transform
from riskweighted.intruder.patterns import known_patterns
from riskweighted_models.normal_graphs import log_normal_graph, normal_mass_graph
from riskweighted_models.normal_parts import normal_mass
from riskweighted_models.scaling import OfFormula, transform_response

__all__ = ["GroupedResponse", "Hierarchical"]


class GroupedResponse(NamedTuple):
    """``z`` (n,): transformed response; ``predictors`` (n, p); ``group``, ``scale_group`` (n,):
    codes of the groups.

    ``groups`` (G rows), ``scale_groups`` (H rows): the values that make each group, in the order of
    the codes.
    """

    z: np.ndarray
    predictors: np.ndarray
    group: np.ndarray
    scale_group: np.ndarray
    groups: pd.DataFrame
    scale_groups: pd.DataFrame
    design: Design
    transform: Transform

    def at(self, frame: pd.DataFrame) -> "GroupedResponse":
        """Other rows on the confidential transform and design, with the confidential codes; an
        unseen group is refused.
        """
        design = self.design.at(frame)
        return self._replace(
            z=transform_response(design.response(frame), self.transform, design.formula),
            predictors=design.centred + design.centre,
            group=_codes(frame, self.groups),
            scale_group=_codes(frame, self.scale_groups),
            design=design,
        )


def _keys(data: pd.DataFrame, names: tuple[str, ...], codes: np.ndarray) -> pd.DataFrame:
    """The values of each group, one row a group, in the order of the codes."""
    _, first = np.unique(codes, return_index=True)
    return data[list(names)].iloc[first].reset_index(drop=True)


def _codes(frame: pd.DataFrame, keys: pd.DataFrame) -> np.ndarray:
    """The code of each row's group, (m,): its place among the keys; a missing value is a level."""
    require_columns(frame, list(keys.columns), "frame")
    both = pd.concat(
        [part[list(keys.columns)].astype(object) for part in (keys, frame)], ignore_index=True
    )
    pattern = known_patterns(both, keys.columns).codes
    place = np.full(pattern.max() + 1, -1)
    place[pattern[: len(keys)]] = np.arange(len(keys))
    codes: np.ndarray = place[pattern[len(keys) :]]
    unseen = int((codes < 0).sum())
    if unseen:
        raise InputError(
            f"frame: {unseen} of {len(frame)} records have groups of {listing(keys.columns)} "
            "that the confidential data lack"
        )
    return codes


@dataclass(frozen=True)
class Hierarchical(OfFormula):
    """Linear regression whose coefficients vary by group around common ones (Kleisle-Murphy 2020).

    On the transformed scale z, for record i in group g(i) and scale group h(i)::

        z_i ~ N(B0[g] + sum_p B_p[g] x_ip, 1 / sqrt(precision[h]))
        B_q[g] ~ N(b_q, 1 / sqrt(tau_q))   b_q ~ N(0, 1)   tau_q ~ Gamma(1, 1)   q = 0, 1, ..., p
        precision[h] ~ Gamma(1, 1)

    The lab's model is ``Hierarchical("Income ~ log(Expenditure)", groups=("Race", "UrbanRural"),
    scale_groups=("Race",), transform="log")``. The sampler moves in B0[g] + B[g]' mean of x in the
    group, a shear of B0 that leaves the priors as they stand above.

    Parameters
    ----------
    formula : str
    groups : sequence of str
        Columns whose observed intersections are the groups g; a missing value is a level.
    scale_groups : sequence of str, optional
        The same for the residual scale; default: `groups`.
    transform, transform_constant
        See `riskweighted.design.transforms.Transform`.
    """

    data_dependent: ClassVar[tuple[str, ...]] = ()

    groups: tuple[str, ...] = ()
    scale_groups: tuple[str, ...] = ()
    transform: str = "identity"
    transform_constant: float | None = None

    def __post_init__(self) -> None:
        for name in ("groups", "scale_groups"):
            value = getattr(self, name) or ()
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if not self.scale_groups:
            object.__setattr__(self, "scale_groups", self.groups)
        if not self.groups:
            raise InputError(
                "groups must name at least one column; without groups use 'linear-regression'"
            )
        Transform(self.transform, self.transform_constant)
        if self.target in (*self.groups, *self.scale_groups):
            raise InputError(f"the sensitive variable {self.target!r} cannot form groups")

    def prepare(self, data: pd.DataFrame) -> GroupedResponse:
        """Transform the response, evaluate the predictors, code the groups."""
        require_columns(data, (*self.groups, *self.scale_groups), "confidential data")
        transform = Transform(self.transform, self.transform_constant)
        z = transform.forward(response_values(self.formula, data), self.target)
        design = build_design(self.formula, data)
        group, scale_group = (
            known_patterns(data, names).codes for names in (self.groups, self.scale_groups)
        )
        keys = _keys(data, self.groups, group)
        scale_keys = _keys(data, self.scale_groups, scale_group)
        return GroupedResponse(
            z,
            design.centred + design.centre,
            group,
            scale_group,
            keys,
            scale_keys,
            design,
            transform,
        )

    def build(self, prepared: GroupedResponse) -> Blueprint:
        """Priors and weighted likelihood, record by record."""
        n, p = prepared.predictors.shape
        groups, scales = int(prepared.group.max()) + 1, int(prepared.scale_group.max()) + 1
        size = np.bincount(prepared.group)
        middle = (
            np.column_stack(
                [np.bincount(prepared.group, column) / size for column in prepared.predictors.T]
            )
            if p
            else np.zeros((groups, 0))
        )
        within = prepared.predictors - middle[prepared.group]
        with pm.Model() as model:
            alpha = pm.Data("alpha", np.ones(n))
            common = pm.Normal("common", 0.0, 1.0, shape=1 + p)
            tau = pm.Gamma("tau", 1.0, 1.0, shape=1 + p)
            precision = pm.Gamma("precision", 1.0, 1.0, shape=scales)
            centre, mean = common[0], 0.0
            if p:
                slope = pm.Normal("slope", common[1:], 1 / pt.sqrt(tau[1:]), shape=(groups, p))
                centre = common[0] + (slope * middle).sum(axis=1)
                mean = (slope[prepared.group] * within).sum(axis=1)
            level = pm.Normal("level", centre, 1 / pt.sqrt(tau[0]), shape=groups)
            pm.Deterministic("intercept", level - ((slope * middle).sum(axis=1) if p else 0.0))
            mean = mean + level[prepared.group]
            by_record = precision[prepared.scale_group]
            record = 0.5 * (
                pt.log(by_record) - np.log(2 * np.pi) - by_record * (prepared.z - mean) ** 2
            )
            total = (alpha * record).sum()
        monitored = ("common", "tau", "precision", "level", *(("slope",) if p else ()))
        return Blueprint(model, total, lambda weights: {"alpha": weights}, monitored, n)

    def response(self, prepared: GroupedResponse) -> np.ndarray:
        """The transformed response, (n,)."""
        return prepared.z

    def from_response(self, responses: np.ndarray, prepared: GroupedResponse) -> np.ndarray:
        """The values on the original scale that stand at these on the transformed one, (m,)."""
        return prepared.transform.inverse(responses)

    def distribution(self, theta: Draw, prepared: GroupedResponse) -> "GroupedRecords":
        """One normal distribution a record."""
        mean: Any = theta["intercept"][prepared.group]
        if "slope" in theta:
            mean = mean + (theta["slope"][prepared.group] * prepared.predictors).sum(axis=1)
        precision: Any = theta["precision"][prepared.scale_group]
        if is_symbolic(theta):
            return GroupedRecords(
                mean, 1 / pt.sqrt(precision), prepared, log_normal_graph, normal_mass_graph
            )
        return GroupedRecords(mean, 1 / np.sqrt(precision), prepared)


class GroupedRecords(NamedTuple):
    """Responses that are normal on the transformed scale: see `Records`; ``mean`` and ``sd``
    (n,).
    """

    mean: Any
    sd: Any
    prepared: GroupedResponse
    log_normal: Callable[..., Any] = norm.logpdf
    normal_mass: Callable[..., Any] = normal_mass

    def log_density(self, y: np.ndarray) -> Any:
        """log p(z_i | theta) on the transformed scale."""
        return self.log_normal(_transformed(self.prepared, y), self.mean, self.sd)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Any:
        low, high = _transformed_ends(self.prepared, lower, upper)
        return self.normal_mass(low, high, self.mean, self.sd)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        return self.prepared.transform.inverse(rng.normal(self.mean, self.sd))


@cached_on_arrays
def _transformed(prepared: GroupedResponse, y: np.ndarray) -> np.ndarray:
    """A response (n,) on the transformed scale."""
    return np.array(transform_response(y, prepared.transform, prepared.design.formula))


@cached_on_arrays
def _transformed_ends(
    prepared: GroupedResponse, lower: np.ndarray, upper: np.ndarray
) -> list[np.ndarray]:
    """Ends of intervals (n,) on the transformed scale."""
    return [
        prepared.transform.bound(np.broadcast_to(bound, prepared.group.shape))
        for bound in (lower, upper)
    ]
