"""Families as paths to ever smaller weights, scanned at the mode of the pseudo posterior, and where
each meets a target.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import FlatWeightsWarning, InputError
from riskweighted.contract.centring import CentredWeights
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.measure import Aim, Estimate
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.modes import Modes, Vectors
from riskweighted.tuning.constraints import Constraint, load
from riskweighted.tuning.dataset_measures import DATASETS
from riskweighted.tuning.information import (
    InformationSummary,
    information_at_mode,
    joint_information,
)
from riskweighted.tuning.tuning_settings import TuningLoss
from riskweighted.weights.families import family_of
from riskweighted.weights.scheme_names import scheme_text

__all__ = ["Path", "Scan", "ScannedSetting", "Scorer", "Weigh", "path_of", "scan_path"]

Weigh = Callable[[str, Fit], pd.DataFrame | CentredWeights]

_RISK_DRAWS = 10  # of y* at a mode: the Monte Carlo error of the isolated risk is about 1e-4
_LAPLACE_DRAWS = 200  # of parameters around a mode, for influence
_STEPS = 10
_NEAR = 0.004  # share of the target within which a search ends
# share of a target by which it may rise along a path and count as falling: noise of few draws
_WOBBLE = 0.02
_DIGITS = 4  # of a setting


class Path(NamedTuple):
    """A family's settings in order of strength, from the unweighted synthesizer to ever smaller
    weights.

    ``setting``: its name; ``points``: those that are scanned first.
    """

    family: str
    setting: str
    points: tuple[float, ...]

    def text(self, value: float) -> str:
        """The scheme as it stands in a study file."""
        return scheme_text(self.family, {self.setting: value})


def path_of(family: str, fit: Fit) -> Path:
    """The path of a family; `fit` is the unweighted one, of which the settings of some are
    shares.
    """
    declared = family_of(family)
    assert declared is not None
    (setting,) = declared.settings
    if declared.unit is None:
        return Path(family, setting, declared.path)
    unit = declared.unit(fit)
    return Path(family, setting, tuple(_rounded(share * unit) for share in declared.path))


def _rounded(value: float) -> float:
    """A setting with four digits, so that a file can hold it as it was used."""
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else value


class ScannedSetting(NamedTuple):
    """A setting of weights scored at the mode: ``target``, ``loss``, the constraints ``kept`` and
    what records ``taught`` as found there.

    ``mode`` of every block is confidential.
    """

    setting: float
    target: Estimate
    loss: Estimate
    mode: Vectors
    kept: tuple[Estimate, ...] = ()
    taught: InformationSummary = InformationSummary()

    def load(self, aim: float, limits: Sequence[float]) -> float:
        """At most 1 where the target is at most `aim` and every constraint its limit."""
        return load((self.target, *self.kept), (aim, *limits))


@dataclass(frozen=True, eq=False)
class Scorer:
    """What scores schemes: the mode their weights lead to, a target, a loss. The same noise every
    time, so differences are of the weights.

    ``weigh``: from a scheme as text, and the unweighted fit, to its weights.
    """

    modes: Modes = field(repr=False)
    weigh: Weigh = field(repr=False)
    subject: EvaluationInputs = field(repr=False)
    target: Aim
    loss: TuningLoss
    seed: int = field(repr=False)
    constraints: tuple[Constraint, ...] = field(default=(), repr=False)
    scored: dict[bytes, ScannedSetting] = field(default_factory=dict, repr=False)

    def alphas(self, scheme: str) -> pd.DataFrame | CentredWeights:
        """The weights of a scheme, (n, V), with their functions if they are centred.

        At the weak end of a family all of them are 1, which is no cause for a warning.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlatWeightsWarning)
            return self.weigh(scheme, self.modes.fit)

    def score(self, scheme: str, setting: float, near: Vectors | None = None) -> ScannedSetting:
        """Target and loss of a scheme, the mode searched from one that is `near`; the same weights
        are scored once.
        """
        alphas = self.alphas(scheme)
        table = alphas.alpha if isinstance(alphas, CentredWeights) else alphas
        if not (table.to_numpy() > 0).any(axis=0).all():
            raise InputError(f"scheme {scheme!r} gives every record weight zero")
        key = table.to_numpy().tobytes() + bytes(isinstance(alphas, CentredWeights))
        if key not in self.scored:
            self.scored[key] = self._scored(scheme, setting, alphas, near)
        return self.scored[key]._replace(setting=setting)

    def _scored(
        self,
        scheme: str,
        setting: float,
        alphas: pd.DataFrame | CentredWeights,
        near: Vectors | None,
    ) -> ScannedSetting:
        with threadpool_limits(1):
            mode = self.modes.find(alphas, near)
            fixed = self.modes.plug_in(alphas, mode, _RISK_DRAWS)
            of_draws = self.target.influence or any(
                constraint.of_draws for constraint in self.constraints
            )
            around = (
                self.modes.laplace(alphas, mode, _LAPLACE_DRAWS, self._rng()) if of_draws else fixed
            )
            information = self.modes.information(alphas, mode)

            def measured(
                aim: Aim, subject: EvaluationInputs, otherwise: Callable[[Fit], Estimate]
            ) -> Estimate:
                if aim.of_information is not None:
                    return Estimate(
                        aim.of_information(joint_information(information, subject), subject), 0.0
                    )
                return otherwise(around if aim.influence else fixed)

            target = measured(
                self.target,
                self.subject,
                lambda fit: self.target.measure(fit, self.subject, _RISK_DRAWS, self.seed),
            )
            kept = tuple(
                measured(
                    one.asked.aim,
                    one.subject,
                    partial(
                        one.measure, scheme=scheme, draws=_RISK_DRAWS, seed=self.seed, at_mode=True
                    ),
                )
                for one in self.constraints
            )
            taught = information_at_mode(information, self.subject)
            rng, theta = self._rng(), fixed.thetas(0, 0)
            return ScannedSetting(
                setting,
                target,
                self.loss.measure([fixed.released(theta, rng) for _ in range(DATASETS)]),
                mode,
                kept,
                taught,
            )

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, eq=False)
class Scan:
    """A path scored at its points, which later searches add to. ``score``: from a setting and a
    mode near it to a point.
    """

    path: Path
    points: tuple[ScannedSetting, ...] = field(repr=False)
    score: Callable[[float, Vectors], ScannedSetting] = field(repr=False)

    @property
    def monotone(self) -> bool:
        """Whether the target falls all along the path, but for noise."""
        return self.rise is None

    @property
    def rise(self) -> float | None:
        """The first setting at which the target is higher than at a weaker one, by more than
        noise.
        """
        place = _rise([point.target.value for point in self.points])
        return None if place is None else self.points[place].setting

    def reach(self, which: int = 0) -> tuple[float, float]:
        """The least and the largest target along the path, or those of the constraint number
        `which`.
        """
        values = [(point.target, *point.kept)[which].value for point in self.points]
        return float(np.nanmin(values)), float(np.nanmax(values))

    def meet(self, aim: float, limits: Sequence[float] = ()) -> ScannedSetting | None:
        """The point of least loss with a target of at most `aim` and constraints within their
        `limits`: where the path first crosses all of them, found by bisection.

        A scanned point beyond is taken where it costs less by more than chance, or where they do
        not fall all along the path. None: they are nowhere met.
        """
        loads = [point.load(aim, limits) for point in self.points]
        met = [number for number, share in enumerate(loads) if share <= 1]
        if not met:
            return None
        first, falls = met[0], _rise(loads) is None
        crossing = (
            self.points[0]
            if first == 0
            else self._bisected(self.points[first - 1], self.points[first], aim, limits)
        )
        beyond = [
            self.points[number]
            for number in met
            if not falls or self._cheaper(self.points[number], crossing)
        ]
        return min([crossing, *beyond], key=lambda point: point.loss.value)

    @staticmethod
    def _cheaper(point: ScannedSetting, other: ScannedSetting) -> bool:
        return bool(
            other.loss.value - point.loss.value > 2 * np.hypot(point.loss.error, other.loss.error)
        )

    def _bisected(
        self, weak: ScannedSetting, strong: ScannedSetting, aim: float, limits: Sequence[float]
    ) -> ScannedSetting:
        """Between a point that exceeds `aim` or a limit and one that exceeds none, the weakest
        found that exceeds none.
        """
        for _ in range(_STEPS):
            heavy, light = weak.load(aim, limits), strong.load(aim, limits)
            if light >= 1 - _NEAR:
                break
            setting = _rounded(
                weak.setting + _share_of_way(heavy, light) * (strong.setting - weak.setting)
            )
            if setting in (weak.setting, strong.setting):
                break
            point = self.score(setting, strong.mode)
            weak, strong = (weak, point) if point.load(aim, limits) <= 1 else (point, strong)
        return strong


def _rise(values: Sequence[float]) -> int | None:
    """The place of the first value that is higher than one before, by more than noise."""
    least = np.inf
    for place, value in enumerate(values):
        if value > least * (1 + _WOBBLE):
            return place
        least = min(least, value)
    return None


def _share_of_way(heavy: float, light: float) -> float:
    """From one load to another, how far a load whose logarithm is straight between them is just
    below 1; away from either end.

    Half of the way from one that is no number, as the normal approximation may give of a skewed
    posterior.
    """
    if not np.isfinite(heavy):
        return 0.5
    high, low = np.log(heavy), np.log(max(light, np.finfo(float).tiny))
    return float(np.clip((high - np.log(1 - _NEAR / 2)) / (high - low), 0.1, 0.9))


def scan_path(path: Path, scorer: Scorer, start: Vectors, advance: Callable[[], None]) -> Scan:
    """A path scored from its weakest point and the unweighted modes; it ends early where no weight
    is left or no mode is found.
    """

    def score(setting: float, near: Vectors) -> ScannedSetting:
        return scorer.score(path.text(setting), setting, near)

    points: list[ScannedSetting] = []
    for setting in path.points:
        try:
            points.append(score(setting, points[-1].mode if points else start))
        except InputError:
            if len(points) < 2:
                raise
            break
        advance()
    return Scan(path, tuple(points), score)
