"""The search of `tune`: settings are compared at the mode of the pseudo posterior, which takes a
fraction of a second.

What they come to is sampled, measured, and corrected once by how far the mode was off.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.common.seeds import Streams
from riskweighted.intruder.world import World
from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.measures.measure import Estimate
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.alphas import Alpha, alphas_of
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.modes import modes_of
from riskweighted.tuning.constraints import Constraint, Leaving, constraints_of, constraints_table
from riskweighted.tuning.dataset_measures import DATASETS
from riskweighted.tuning.information import InformationSummary, information_of_fit
from riskweighted.tuning.scan import Path, Scan, ScannedSetting, Scorer, Weigh, path_of, scan_path
from riskweighted.tuning.tuning_settings import (
    TuningLoss,
    TuningSettings,
    check_measurable,
    loss_of,
)
from riskweighted.tuning.tuning_tables import (
    SampledSetting,
    Tuning,
    explain_choice,
    families_table,
    frontier_table,
    unreachable,
)
from riskweighted.utility.regressions import Analysis
from riskweighted.weights.families import family_of
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["tune_model"]

_RISK_DRAWS = 200  # on which the expected risk of a fit is measured
# of the target, for the first fit: the mode is off by a few hundredths, and a fit shall end below
# rather than above
_AIM = 0.975
_CLOSE = 0.95  # of the target: a fit between this and the target is not corrected
_DEARER = 1.5  # times its loss at the mode: a fit that costs more is compared with the next family
_HAIR = 0.01  # of the target, by which a corrected fit ends below it
_REFERENCES = ("marginal", "pairwise", "drop-riskiest(q=0.05)", "uniform(c=0.1)")


def tune_model(
    model: PreparedSequence,
    world: World,
    weigh: Weigh,
    settings: TuningSettings,
    sampling: Sampling,
    streams: Streams,
    *,
    analysis: Analysis | None = None,
    unweighted: Fit | None = None,
    reporter: Reporter | None = None,
    sample: Callable[[str, Alpha], Fit] | None = None,
    leaving: Leaving | None = None,
) -> Tuning:
    """`tune` of checked data: risk under the scenario of `world`, weights from `weigh`, of a scheme
    as text and the unweighted fit.

    `leaving`: how a record is left out of a fit, for constraints of disclosure. `sample` gives the
    fit of a scheme with weights (n, V), as a run does, which keeps it; without it fits are sampled
    here, with the seeds ``streams.seed_for("fit", scheme)``.
    """
    reporter = reporter or default_reporter()
    check_measurable(settings, world)
    loss, of = loss_of(settings.loss, world, analysis), settings.asked.variable
    _check_draws(settings.risk_draws, sampling if unweighted is None else unweighted)
    if unweighted is not None:
        _check_unweighted(unweighted, model)
    sample = sample or partial(_sample, model, sampling, streams, reporter)
    if unweighted is None:
        unweighted = sample(UNWEIGHTED, alphas_of(model.variables, None, model.confidential.index))
    drawn = unweighted.settings
    subject = EvaluationInputs(world if of is None else world.only(of), EvaluationSettings())
    constraints = constraints_of(settings, world, leaving)
    return _Search(
        lambda scheme, alphas: sample(scheme, alphas).with_drawing(drawn),
        subject,
        weigh,
        settings,
        streams,
        unweighted,
        loss,
        reporter,
        constraints,
    ).run()


def _check_draws(asked: int | None, of: Sampling | Fit) -> None:
    sizes = of.sizes if isinstance(of, Fit) else {"chain": of.chains, "draw": of.draws}
    if asked is not None and asked > sizes["chain"] * sizes["draw"]:
        raise InputError(
            f"risk_draws must be at most the {sizes['chain'] * sizes['draw']} draws that a fit "
            f"has, got {asked}"
        )


def _check_unweighted(fit: Fit, model: PreparedSequence) -> None:
    """Refuse a fit that is not the unweighted one of this model."""
    if fit.synthesizer != model.declared or not fit.confidential.equals(model.confidential):
        raise InputError(
            "fit is of another synthesizer or of other data: give the unweighted fit of these, "
            "or leave it out"
        )
    if not (fit.alphas == 1).all(axis=None):
        raise InputError("fit is a weighted one: give the unweighted fit, or leave it out")
    if not _same(fit.survey, model.survey):
        raise InputError(
            "fit has other survey weights than survey: give the same to both, or leave fit out"
        )


def _same(survey: pd.Series | None, other: pd.Series | None) -> bool:
    return survey is other if survey is None or other is None else survey.equals(other)


def _sample(
    model: PreparedSequence,
    sampling: Sampling,
    streams: Streams,
    reporter: Reporter,
    scheme: str,
    alpha: Alpha,
) -> Fit:
    with reporter.step(f"fitting {scheme}") as advance:
        return fit_sequence(model, alpha, sampling, streams.seed_for("fit", scheme), advance)


def _ratio(fitted: Estimate, found: Estimate) -> float:
    """By what a figure is to be multiplied to be the other one; 1 where it is nothing, or no
    number.
    """
    return fitted.value / found.value if found.value and np.isfinite(found.value) else 1.0


@dataclass(frozen=True, eq=False)
class _Search:
    """Everything that a search needs; see `tune_model`."""

    sample: Callable[[str, Alpha], Fit]
    subject: EvaluationInputs
    weigh: Weigh
    settings: TuningSettings
    streams: Streams
    unweighted: Fit
    loss: TuningLoss
    reporter: Reporter
    constraints: tuple[Constraint, ...] = ()

    def run(self) -> Tuning:
        """Scan, choose, sample, correct."""
        target = self.settings.asked.aim
        scorer = Scorer(
            modes_of(self.unweighted),
            self.weigh,
            self.subject,
            target,
            self.loss,
            self._seed("plug-in"),
            constraints=self.constraints,
        )
        with self.reporter.step("measuring the unweighted fit"):
            start = self._measured(UNWEIGHTED, np.nan, self.unweighted)
            self._check_judged(start)
            mode = scorer.score(UNWEIGHTED, np.nan)
        # of what is found at the mode, from the fit that is there
        scales = [
            _ratio(fitted, found)
            for fitted, found in zip(
                (start.target, *start.kept), (mode.target, *mode.kept), strict=True
            )
        ]
        taught = start.taught.over(mode.taught)
        scans = self._scan(self.settings.tried, scorer, mode)
        references = self._references(scorer, mode)
        if start.load(self.settings) <= 1:
            return self._tuning(None, start, [start], scans, {}, scales, taught, references)
        aim, *limits = (
            most * _AIM / scale
            for most, scale in zip((self.settings.target_max, *self._limits), scales, strict=True)
        )
        with self.reporter.step("finding where each family meets the target"):
            met = {scan.path.family: scan.meet(aim, limits) for scan in scans}
        points = {family: point for family, point in met.items() if point is not None}
        if not points:
            raise InputError(unreachable(self.settings, scans, scales))
        sampled = self._sampled({scan.path.family: scan for scan in scans}, points)
        path, best = min(sampled, key=lambda fitted: self._worth(fitted[1]))
        return self._tuning(
            path,
            best,
            [start, *(fitted for _, fitted in sampled)],
            scans,
            points,
            scales,
            taught,
            references,
        )

    @property
    def _limits(self) -> tuple[float, ...]:
        """What each constraint shall not exceed."""
        return tuple(self.settings.constraints.values())

    def _check_judged(self, start: SampledSetting) -> None:
        """Refuse a constraint that cannot be measured on the unweighted fit."""
        unknown = [
            one.name
            for one, figure in zip(self.constraints, start.kept, strict=True)
            if not np.isfinite(figure.value)
        ]
        if unknown:
            raise InputError(
                f"constraint {unknown[0]!r} is not judged on the unweighted fit, so that no "
                "setting can be said to keep it"
            )

    def _worth(self, fitted: SampledSetting) -> tuple[bool, float]:
        """A fit that meets the target and keeps all constraints before one that does not; then the
        least loss, or the least excess.
        """
        met = fitted.meets(self.settings)
        return not met, fitted.loss.value if met else fitted.load(self.settings)

    def _seed(self, purpose: str) -> int:
        return self.streams.seed_for("tune", purpose)

    def _measured(self, scheme: str, setting: float, fit: Fit) -> SampledSetting:
        """Target, loss and constraints of a fit."""
        available = fit.sizes["chain"] * fit.sizes["draw"]
        draws = self.settings.risk_draws or min(_RISK_DRAWS, available)
        target = self.settings.asked.aim.measure(fit, self.subject, draws, self._seed("measure"))
        frames = fit.synthesize(min(DATASETS, available), random_seed=self._seed("synthesize"))
        kept = tuple(
            constraint.measure(fit, scheme, draws, self._seed("measure"))
            for constraint in self.constraints
        )
        taught = information_of_fit(fit, self.subject, draws, self._seed("measure"))
        return SampledSetting(scheme, setting, fit, target, self.loss.measure(frames), kept, taught)

    def _scan(self, families: Sequence[str], scorer: Scorer, start: ScannedSetting) -> list[Scan]:
        """Every family's path at its points; of families that were not named those that the model
        and the weights allow.
        """
        declared = [family_of(name) for name in families]
        total = sum(len(family.path) for family in declared if family is not None)
        done = 0
        scans = list[Scan]()
        with self.reporter.step(f"scanning {', '.join(families)}") as advance:

            def count() -> None:
                nonlocal done
                done += 1
                advance(min(done, total), total)

            for family in families:
                # uncentred where it cannot be centred here
                for name in dict.fromkeys((family, family.removesuffix("+"))):
                    try:
                        scans.append(
                            scan_path(path_of(name, self.unweighted), scorer, start.mode, count)
                        )
                        break
                    except InputError as error:
                        refused = error
                        if self.settings.family is not None:
                            raise
        if not scans:
            raise refused
        return scans

    def _references(self, scorer: Scorer, start: ScannedSetting) -> dict[str, ScannedSetting]:
        """Schemes to compare with."""
        scored = {}
        with self.reporter.step("scoring references"):
            for scheme in _REFERENCES:
                # such as weights that are all 0: nothing to compare with
                with suppress(InputError):
                    scored[scheme] = scorer.score(scheme, np.nan, start.mode)
        return scored

    def _sampled(
        self, scans: Mapping[str, Scan], points: Mapping[str, ScannedSetting]
    ) -> list[tuple[Path, SampledSetting]]:
        """The fit of the family of least loss at the mode; and a second one where it costs far more
        than its mode said and another family may cost less, or at the corrected setting where its
        target is off."""
        by_loss = sorted(points, key=lambda family: points[family].loss.value)
        scan, point = scans[by_loss[0]], points[by_loss[0]]
        first = self._fitted(scan.path, point.setting)
        fitted = [(scan.path, first)]
        if (
            first.loss.value > _DEARER * point.loss.value
            and len(by_loss) > 1
            and points[by_loss[1]].loss.value < first.loss.value
        ):
            other = scans[by_loss[1]].path
            return [*fitted, (other, self._fitted(other, points[by_loss[1]].setting))]
        if first.meets(self.settings) and first.load(self.settings) >= _CLOSE:
            return fitted
        aim, *limits = (
            (most - max(_HAIR * most, np.nan_to_num(measured.error))) * _ratio(found, measured)
            for most, found, measured in zip(
                (self.settings.target_max, *self._limits),
                (point.target, *point.kept),
                (first.target, *first.kept),
                strict=True,
            )
        )
        corrected = scan.meet(aim, limits)
        if corrected is None or corrected.setting == point.setting:
            return fitted
        return [*fitted, (scan.path, self._fitted(scan.path, corrected.setting))]

    def _fitted(self, path: Path, setting: float) -> SampledSetting:
        scheme = path.text(setting)
        fit = self.sample(scheme, self.weigh(scheme, self.unweighted))
        with self.reporter.step(f"measuring {scheme}"):
            return self._measured(scheme, setting, fit)

    def _tuning(
        self,
        path: Path | None,
        best: SampledSetting,
        sampled: list[SampledSetting],
        scans: list[Scan],
        points: Mapping[str, ScannedSetting],
        scales: Sequence[float],
        taught: InformationSummary,
        references: Mapping[str, ScannedSetting],
    ) -> Tuning:
        """The result of a search; `path` None where nothing needs to be weighted."""
        families = families_table(
            scans, points, scales, self.settings, None if path is None else best
        )
        frontier = frontier_table(
            scans, points, scales, references, sampled, best, self.settings, taught
        )
        frontier.attrs = {
            "target": self.settings.asked.label,
            "loss": self.loss.label,
            "target_max": self.settings.target_max,
        }
        return Tuning(
            target=self.settings.target,
            target_max=self.settings.target_max,
            family=UNWEIGHTED if path is None else path.family,
            settings={} if path is None else {path.setting: best.setting},
            scheme=best.scheme,
            alpha=best.fit.alpha,
            fit=best.fit,
            unweighted=self.unweighted,
            reached=best.target.value,
            error=best.target.error,
            loss=best.loss.value,
            loss_error=best.loss.error,
            fits=len(sampled) - 1,
            frontier=frontier,
            families=families,
            constraints=constraints_table(self.constraints, sampled[0].kept, best.kept),
            why=explain_choice(self.settings, best, families, self.loss),
        )
