"""Two parts, for incomes with zeros, negatives and special codes: the kind of value first, then the
value (METHODS section 5).
"""

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytensor.tensor as pt

from riskweighted.common.checks import is_number
from riskweighted.common.errors import FewRecordsWarning, InputError
from riskweighted.common.found import found_numbers
from riskweighted.common.frames import with_columns
from riskweighted.common.settings import as_tuples
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import is_symbolic
from riskweighted.contract.synthesizer import (
    Blueprint,
    ContractError,
    Density,
    Draw,
    Layout,
    Synthesizer,
    data_dependent,
    load_synthesizer,
)
from riskweighted.contract.vector_layout import EndToEnd, Joined, layout_of, n_parameters
from riskweighted.design.design import build_design, response_values
from riskweighted.design.precision import find_precision
from riskweighted.sampling.laplace import Independent
from riskweighted_models.bounds import (
    Bounds,
    FoundBoundsMark,
    as_setting,
    check_within,
    checked_bounds,
    largest_of,
)
from riskweighted_models.raw_columns import raw_columns
from riskweighted_models.scaling import OfFormula
from riskweighted_models.status import (
    StatusCells,
    slopes_can_follow,
    status_density,
    status_priors,
    status_sum,
)
from riskweighted_models.transformation import FEWEST_DISTINCT, Transformation
from riskweighted_models.two_part_records import (
    NEGATIVE,
    POSITIVE,
    ZERO,
    Part,
    TwoPartGraph,
    TwoPartRecords,
    TwoParts,
    fill_by_rank,
    point_of,
    status_of,
)

__all__ = ["TwoPart"]

_FEWEST = 3  # records of a status that has a share of its own
_FEW = 100  # negative values: of fewer, a transformation model takes a straight line
_SET_HERE = ("formula", "support")  # of the model of the values, which `TwoPart` decides


def _in_dtype(values: np.ndarray, dtype: Any) -> np.ndarray | pd.Series:
    """Amounts (n,) in the whole-number dtype of their column, which tells how large they can be."""
    if not pd.api.types.is_integer_dtype(dtype):
        return values
    return pd.array(np.minimum(values, largest_of(dtype)).astype(np.int64)).astype(dtype)


@dataclass(frozen=True)
class TwoPart(OfFormula):
    """The kind of value, then the value given its kind.

    A record is one of: a special code (each its own), zero, negative, positive. With predictors x
    on their raw columns (dummies as they are, others in standard deviations; centred), and statuses
    s in that order::

        logit P(s | none before) = a_s + x'd_s     a_s ~ N(-2.2, 1.5)     d_s ~ N(0, 1)

    A status with fewer than five records has no slopes. Positive values follow `value`, a
    registered synthesizer, and negative ones another of the same kind on their absolute values,
    without predictors if they are few (30 a slope), and with a straight h (`Transformation`) if
    they are fewer than a hundred or hold fewer than 20 distinct values.

    Parameters
    ----------
    formula : str
        ``"income ~ log(expenditure) + C(region)"``.
    support : (low, high), optional
        Public bounds of the values. Draws are truncated to them. ``(low, high, "found")``: bounds
        found in the data; values beyond count as the bound.
    value : str, default "transformation"
        Name of the synthesizer of positive values, for example "normal-mixture". It keeps to its
        side of zero: by `support`, or by a transform that refuses zero ("log", which is set where
        there is one).
    codes : sequence of numbers, optional
        Values that mean something else than an amount, or that many records share: each has a share
        of its own and is drawn exactly.
    value_settings : mapping or pairs, optional
        Further settings of that synthesizer, such as ``{"components": 2}``, in a study file
        ``[["components", 2]]``. Knots and heaps that are given hold for positive values; knots of
        negative values are found.
    """

    draws_points: ClassVar[bool] = True

    support: tuple[float | None, float | None] | None = None
    value: str = "transformation"
    codes: tuple[float, ...] = ()
    value_settings: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "support", checked_bounds(self.support))
        given, _ = found_numbers(self.codes)
        codes = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else (given,)
        if not all(is_number(code) for code in codes) or len(set(codes)) < len(codes):
            raise InputError(f"codes must be different finite numbers, got {list(codes)!r}")
        object.__setattr__(self, "codes", tuple(float(code) for code in codes if code != 0))
        object.__setattr__(self, "value_settings", _checked_pairs(self.value_settings))
        self._value_model(Bounds(0.0, np.inf), self.formula)

    @property
    def data_dependent(self) -> tuple[str, ...]:
        """Which statuses there are and which follow predictors is found in the data; so is what the
        model of amounts takes from them.
        """
        bounds = checked_bounds(self.support) or Bounds(-np.inf, np.inf)
        of_value = data_dependent(self._value_model(bounds._replace(low=0.0), self.formula)) or ()
        return (
            "the statuses and their predictors (counts of events)",
            *(f"{name} of value = {self.value!r}" for name in of_value),
        )

    def _value_model(self, bounds: Bounds, formula: str, sign: str = POSITIVE) -> Synthesizer:
        """The synthesizer of the values of one sign; knots and heaps that are given are those of
        positive values.
        """
        make: Any = load_synthesizer(self.value)
        if make is TwoPart:
            raise InputError(
                f"value = {self.value!r} cannot be used within itself; valid is a synthesizer of "
                "amounts, such as 'transformation'"
            )
        known = (
            {field.name: field for field in dataclasses.fields(make)}
            if dataclasses.is_dataclass(make)
            else {}
        )
        settings = dict(self.value_settings)
        valid = [name for name in known if name not in _SET_HERE]
        unknown = [name for name in settings if name in _SET_HERE or (known and name not in known)]
        if unknown:
            raise InputError(
                f"value = {self.value!r} has no setting {unknown[0]!r} here; valid are "
                f"{', '.join(valid)}"
            )
        if sign == NEGATIVE:
            settings = {
                name: value for name, value in settings.items() if name not in ("knots", "heaps")
            }
        if "transform" in known and "transform" not in settings:
            settings["transform"] = "log"
        if "support" in known:
            settings["support"] = as_setting(bounds)
        elif self.support is not None:
            raise InputError(
                f"value = {self.value!r} takes no support; leave support out, or use a "
                "synthesizer that does"
            )
        made: Synthesizer = make(formula, **settings)
        return made

    def prepare(self, data: pd.DataFrame) -> TwoParts:
        """Find the statuses, build the design, and prepare the models of the values."""
        values = response_values(self.formula, data)
        bounds = checked_bounds(self.support) or Bounds(-np.inf, np.inf)
        low, high = bounds
        amounts = ~np.isin(values, self.codes)
        check_within(values[amounts], bounds, self.target)
        if isinstance(bounds, FoundBoundsMark):  # a loss where there should be none is a zero
            values = np.where(amounts, np.clip(values, low, high), values)
        design = build_design(self.formula, data)
        statuses = self._statuses(values)
        status = status_of(values, statuses)
        raw = raw_columns(design)
        p = len(raw.unit)
        parts = {}
        for sign, ends in ((POSITIVE, (max(low, 0.0), high)), (NEGATIVE, (max(-high, 0.0), -low))):
            if sign in statuses:
                member = status == statuses.index(sign)
                formula = (
                    self.formula
                    if sign == POSITIVE or member.sum() >= 30 * max(p, 1)
                    else f"`{self.target}` ~ 1"
                )
                of_sign = self._value_model(
                    bounds._replace(low=ends[0], high=ends[1]), formula, sign
                )
                parts[sign] = self._part(of_sign, data, np.abs(values), member, sign)
        sloped = slopes_can_follow(status, len(statuses), p)
        wide = bounds._replace(low=min([low, *self.codes]), high=max([high, *self.codes]))
        return TwoParts(design, raw, statuses, status, sloped, parts, wide, bounds)

    def _statuses(self, values: np.ndarray) -> tuple[float | str, ...]:
        """Those that the data have. Negative ones that are fewer than three count as zero, and one
        says so.
        """
        amount = ~np.isin(values, self.codes)
        positive = int((amount & (values > 0)).sum())
        if positive < _FEWEST:
            raise InputError(
                f"{self.target!r} has {positive} positive values; two parts need {_FEWEST} or more"
            )
        statuses: list[float | str] = [code for code in self.codes if (values == code).any()]
        negative, zero = int((amount & (values < 0)).sum()), int((values == 0).sum())
        few = {str(code): int((values == code).sum()) for code in statuses} | {
            ZERO: zero,
            NEGATIVE: negative,
        }
        rare = [name for name, count in few.items() if 0 < count < _FEWEST]
        if rare:
            merged = "; negative ones are drawn as zeros" if NEGATIVE in rare else ""
            warnings.warn(
                f"{self.target!r}: fewer than {_FEWEST} records are {', '.join(rare)}, whose "
                f"share follows no predictor{merged}",
                FewRecordsWarning,
                stacklevel=4,
            )
        if zero or 0 < negative < _FEWEST:
            statuses.append(ZERO)
        if negative >= _FEWEST:
            statuses.append(NEGATIVE)
        return (*statuses, POSITIVE)

    def _part(
        self,
        synthesizer: Synthesizer,
        data: pd.DataFrame,
        sizes: np.ndarray,
        member: np.ndarray,
        sign: str,
    ) -> Part:
        """The model of the members of a sign, prepared for their sizes among those of all (n,)."""
        sized = _in_dtype(fill_by_rank(sizes, member), data[self.target].dtype)
        frame = with_columns(data, {self.target: sized})
        try:
            if sign == NEGATIVE and isinstance(synthesizer, Transformation):
                few = member.sum() < _FEW or len(np.unique(sizes[member])) < FEWEST_DISTINCT
                prepared: Any = synthesizer.prepare_part(
                    frame, find_precision(data[self.target]), few=bool(few)
                )
            else:
                prepared = synthesizer.prepare(frame)
        except InputError as error:
            raise InputError(
                f"value = {self.value!r} does not suit the {sign} values: {error}"
            ) from None
        if not hasattr(synthesizer, "support") and self._takes_zero(synthesizer, frame):
            raise InputError(
                f"value = {self.value!r} does not suit the {sign} values: it can draw zero or "
                "the other sign; valid is a synthesizer "
                "with the setting support, or with transform = 'log'"
            )
        return Part(synthesizer, prepared, member)

    def _takes_zero(self, synthesizer: Synthesizer, frame: pd.DataFrame) -> bool:
        """Whether a model would have a zero among the values of one sign, and so could draw one."""
        zero = frame[self.target].where(np.arange(len(frame)) > 0, 0.0)
        try:
            synthesizer.prepare(with_columns(frame, {self.target: zero}))
        except InputError:
            return False
        return True

    def build(self, prepared: TwoParts) -> Blueprint:
        """One model of all parts, whose likelihoods add."""
        import pymc as pm

        cells = prepared.cells
        with pm.Model() as model:
            data = {
                name: pm.Data(name, value)
                for name, value in cells.weigh(np.ones(prepared.n)).items()
            }
            theta = status_priors(cells)
            total = status_sum(theta, cells, data["status_weight"]) if data else pt.zeros(())
            built = {}
            for sign, part in prepared.parts.items():
                with pm.Model(name=sign):
                    blueprint = part.synthesizer.build(part.prepared)
                if blueprint is None:
                    raise InputError(
                        f"value = {self.value!r} estimates nothing; valid is a synthesizer that "
                        "is fitted"
                    )
                built[sign] = blueprint
                total = total + blueprint.weighted_log_likelihood
        members = {sign: part.member for sign, part in prepared.parts.items()}

        def weigh(alpha: np.ndarray) -> dict[str, np.ndarray]:
            values = cells.weigh(alpha)
            for sign, blueprint in built.items():
                values |= _under(blueprint, blueprint.weigh(alpha * members[sign]))
            return values

        for name, value in weigh(np.ones(prepared.n)).items():
            model[name].set_value(value)

        def geometry(alpha: np.ndarray) -> dict[str, np.ndarray]:
            values: dict[str, np.ndarray] = {}
            for sign, blueprint in built.items():
                if blueprint.geometry is not None:
                    values |= _under(blueprint, blueprint.geometry(alpha * members[sign]))
            return values

        monitored = (
            *cells.shapes,
            *(
                blueprint.model.name_for(name)
                for blueprint in built.values()
                for name in blueprint.monitored
            ),
        )
        terms = sum(blueprint.density_terms for blueprint in built.values()) + len(cells.rows)
        fused = all(blueprint.density is not None for blueprint in built.values())
        density = _joint(cells, built, members) if fused else None
        layout = _side_by_side(cells, built) if fused else None
        centred = None
        if fused and all(blueprint.centred is not None for blueprint in built.values()):
            centred = _centred(
                cells, built, members, [prepared.statuses.index(sign) for sign in built]
            )
        return Blueprint(
            model, total, weigh, monitored, terms, geometry, density, layout=layout, centred=centred
        )

    def n_parameters(self, prepared: TwoParts) -> int:
        """How many parameters `build` gives the model."""
        return EndToEnd(prepared.cells.shapes).size + sum(
            n_parameters(part.synthesizer, part.prepared) for part in prepared.parts.values()
        )

    def intervals(self, prepared: TwoParts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Single values and the intervals of either sign, each status a kind
        (`riskweighted.contract.centring.Intervals`).
        """
        parts = []
        for kind, status in enumerate(prepared.statuses):
            if status not in prepared.parts:
                lower = upper = np.array([point_of(status)])
            else:
                part = prepared.parts[str(status)]
                if not isinstance(part.synthesizer, Transformation):
                    raise ContractError(
                        f"value = {self.value!r} is not centred in two parts: valid is "
                        "'transformation', or uncentred weights"
                    )
                lower, upper, _ = part.synthesizer.intervals(part.prepared)
                lower, upper = (-upper, -lower) if status == NEGATIVE else (lower, upper)
            parts.append((lower, upper, np.full(len(lower), kind)))
        lower, upper, kinds = (np.concatenate(each) for each in zip(*parts, strict=True))
        return lower, upper, kinds

    def distribution(self, theta: Draw, prepared: TwoParts) -> Any:
        """The shares of the statuses in each design, and the distribution of the values of either
        sign.

        `TwoPartRecords`, or `TwoPartGraph` of expressions.
        """
        if is_symbolic(theta):
            return TwoPartGraph(theta, prepared)
        return TwoPartRecords(theta, prepared)


def _checked_pairs(given: Any) -> tuple[tuple[str, Any], ...]:
    """The setting ``value_settings``: pairs of a name and a value."""
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    listed = isinstance(pairs, (tuple, list)) and all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs
    )
    if not listed or not all(isinstance(name, str) for name, _ in pairs):
        raise InputError(
            "value_settings must be pairs of a name and a value, such as [['components', 2]], "
            f"got {given!r}"
        )
    names = [name for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"value_settings has {twice[0]!r} more than once")
    settings = tuple((name, as_tuples(value)) for name, value in pairs)
    try:
        hash(settings)
    except TypeError:
        raise InputError(
            "value_settings must be pairs of a name and a value: a number, a text, or a list of "
            "such"
        ) from None
    return settings


def _under(blueprint: Blueprint, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Data of a part under their names in the whole."""
    return {blueprint.model.name_for(name): value for name, value in values.items()}


def _side_by_side(cells: StatusCells, built: Mapping[str, Blueprint]) -> Joined:
    """The layouts of all parts, in the order of `_joint`."""
    parts: list[tuple[str, Layout]] = [("", EndToEnd(cells.shapes))] if cells.statuses > 1 else []
    for blueprint in built.values():
        # free variables have theirs
        prefix = "" if blueprint.layout is None else blueprint.model.name_for("")
        parts.append((prefix, layout_of(blueprint)))
    return Joined(tuple(parts))


def _joint(
    cells: StatusCells, built: Mapping[str, Blueprint], members: Mapping[str, np.ndarray]
) -> Callable[[np.ndarray], Density]:
    """The densities of all parts, side by side."""

    def weighted(alpha: np.ndarray) -> Density:
        parts: list[tuple[int, Density]] = []
        if cells.statuses > 1:
            parts.append(
                (
                    sum(int(np.prod(shape)) for shape in cells.shapes.values()),
                    status_density(cells, alpha),
                )
            )
        for sign, blueprint in built.items():
            assert blueprint.density is not None
            parts.append((layout_of(blueprint).size, blueprint.density(alpha * members[sign])))
        return Independent(tuple(parts))

    return weighted


def _centred(
    cells: StatusCells,
    built: Mapping[str, Blueprint],
    members: Mapping[str, np.ndarray],
    kinds: Sequence[int],
) -> Callable[[np.ndarray, Centring], Density]:
    """The same less the centring term: of the status by what a status weighs, of the values of a
    sign among those that have it.

    ``kinds``: the status of each part.
    """

    def weighted(alpha: np.ndarray, centring: Centring) -> Density:
        parts: list[tuple[int, Density]] = []
        if cells.statuses > 1:
            expected = centring.sums_of_kinds(cells.which, len(cells.rows))
            size = sum(int(np.prod(shape)) for shape in cells.shapes.values())
            parts.append((size, status_density(cells, centring.of_kinds, expected)))
        for kind, (sign, blueprint) in zip(kinds, built.items(), strict=True):
            assert blueprint.centred is not None
            parts.append(
                (
                    layout_of(blueprint).size,
                    blueprint.centred(alpha * members[sign], centring.of_kind(kind)),
                )
            )
        return Independent(tuple(parts))

    return weighted
