"""A study with its data, checked once before anything runs: what a dry run tells and what a run starts from."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from riskweighted.common.errors import InputError, SparseLevelWarning, listing
from riskweighted.common.frames import require_columns
from riskweighted.intruder.points import warn_of_unscored
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.confidential import confidential_risk
from riskweighted.risk.copies import refuse_copies
from riskweighted.risk.expected import require_equality
from riskweighted.runs.guaranteed import refuse_data_dependent
from riskweighted.runs.study import Study
from riskweighted.synthesis.categories import categories_of
from riskweighted.synthesis.contract import Synthesizer, keeps_true_values
from riskweighted.synthesis.design import Design, build_design
from riskweighted.synthesis.levels import SPARSE, level_members, sparse_levels
from riskweighted.synthesis.posterior import Fit, PreparedModel, prepare_model
from riskweighted.synthesis.sampling import NUTS
from riskweighted.tuning.targets import check_measurable
from riskweighted.utility.regression import Regression, checked_regression
from riskweighted.weights.adjust import adjust_weights, cluster_weights
from riskweighted.weights.names import UNWEIGHTED
from riskweighted.weights.schemes import in_order, scheme_alpha, scheme_source
from riskweighted.weights.shift import world_shift

__all__ = ["CheckedStudy", "Plan", "check_study", "plan_study", "study_alpha", "study_weights"]

_SECONDS_PER_DENSITY = 3e-8  # one log density and its gradient, measured on one core of the development machine
_SECONDS_PER_PROPOSAL = 1e-8  # one log density among many


@dataclass(frozen=True, eq=False)
class CheckedStudy:
    """A study and everything that is made of it and its data before a fit. Confidential.

    Attributes
    ----------
    study : Study
    world : World
        Under the scenario that risk is measured with.
    model : PreparedModel
    baselines : mapping of label to PreparedModel
    analysis : Regression or None
        The regression that the evaluation reports.
    weights : mapping of scheme to Series (n,)
        Of the schemes that are made of the data alone; those that are made of a fit come with it (`alpha_of`).
    sparse_levels : mapping of scheme to names
        The levels of the predictors whose weights sum to less than 5.
    """

    study: Study
    world: World = field(repr=False)
    model: PreparedModel = field(repr=False)
    baselines: Mapping[str, PreparedModel] = field(repr=False)
    analysis: Regression | None
    weights: Mapping[str, pd.Series] = field(repr=False)
    sparse_levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def alpha_of(self, scheme: str, fits: Mapping[str, Fit]) -> pd.Series:
        """The weights of a scheme, (n,), where the fit that they are made of, if any, is among `fits`."""
        if scheme in self.weights:
            return self.weights[scheme]
        source = scheme_source(scheme)
        return study_alpha(self.study, self.world.under(self.study.weighting_scenario()), scheme, fits[str(source)])


@dataclass(frozen=True)
class Plan:
    """What a study would do, found without sampling.

    Of the schemes that are made of the data alone: ``mean_weight``; ``shift``, the total variation between the alpha-weighted and the raw
    margin of the synthesized variable, and the least ratio of a weighted share and its raw one (`riskweighted.margin_shift`).
    """

    records: int
    patterns: int
    singletons: int
    predictors: int
    datasets: int
    schemes: tuple[str, ...]
    mean_weight: dict[str, float]
    shift: dict[str, tuple[float, float]]
    seconds: tuple[float, float]
    sparse_levels: dict[str, tuple[str, ...]]


def check_study(study: Study, confidential: pd.DataFrame) -> CheckedStudy:
    """Check a study against its data; refuses whatever can be known to be wrong before a fit.

    Raises
    ------
    InputError
        If the data do not suit the scenario, the model, a weighting scheme or the evaluation.

    Warns
    -----
    SparseLevelWarning
        If under some scheme the weights of a level of the predictors sum to less than 5.
    """
    synthesizer = study.make_synthesizer()
    world = make_world(confidential, study.evaluating_scenario())
    if world.scenario.singletons == "error":
        confidential_risk(world)
    require_columns(confidential, study.release.columns, "confidential data (release.columns)")
    for setting, cluster in (("weights.cluster", study.weights.cluster), ("evaluation.cluster", study.evaluation.cluster)):
        require_columns(confidential, [] if cluster is None else [cluster], f"confidential data ({setting})")
        if cluster in study.variables:
            raise InputError(f"{setting} names {cluster!r}, which is synthesized: name a column that tells who belongs together")
    refuse_copies(confidential, study.target, study.unaltered(confidential))
    if not _hits_points(synthesizer, confidential):
        warn_of_unscored(confidential, world.scenario)
    analysis = checked_regression(confidential, study.evaluation.regression, study.evaluation.coefficient, study.variables)
    if analysis is not None:
        analysis.fit(confidential)
    in_order(study.weights.schemes)
    if study.weights.tuning is not None and study.weights.tuning.loss == "overlap" and analysis is None:
        raise InputError("weights.loss 'overlap' is that of a regression coefficient: give evaluation.regression and coefficient")
    if study.weights.tuning is not None:
        check_measurable(study.weights.tuning.target, study.weights.tuning.loss, world)
    model = prepare_model(synthesizer, confidential)
    _check_levels(study, world, categories_of(synthesizer, model.prepared))
    refuse_data_dependent(study, model)
    baselines = {name: prepare_model(study.make_baseline(name), confidential) for name in study.baselines}
    weights = study_weights(study, world)
    return CheckedStudy(study, world, model, baselines, analysis, weights, _sparse_levels(model, weights))


def _check_levels(study: Study, world: World, levels: tuple[object, ...] | None) -> None:
    """Refuse settings that are of numbers, where the synthesizer draws levels."""
    require_equality(world, study.target, levels)
    if levels is not None and study.release.precision is not None:
        raise InputError(f"release.precision is that of numbers, and {study.target!r} is drawn as levels; leave it out")


def _sparse_levels(model: PreparedModel, weights: Mapping[str, pd.Series]) -> dict[str, tuple[str, ...]]:
    """Per scheme the levels of the design with little weight; warns of them. None where a model keeps no `Design`."""
    design = getattr(model.prepared, "design", None)
    if not isinstance(design, Design):
        return {}
    members = level_members(design)
    found = {scheme: sparse_levels(members, alpha.to_numpy()) for scheme, alpha in weights.items()}
    for scheme, names in found.items():
        if names:
            warnings.warn(
                f"scheme {scheme!r}: {len(names)} of {len(members)} levels of the predictors have weights that sum to less than "
                f"{SPARSE:g}: {listing(names)}; the prior decides what is drawn there; merge them, or set public bounds (support)",
                SparseLevelWarning,
                stacklevel=4,
            )
    return found


def _hits_points(synthesizer: Synthesizer, confidential: pd.DataFrame) -> bool:
    """Whether drawn values can be exactly zero: whole numbers are rounded, and a model may say that it has a part for them."""
    whole = pd.api.types.is_integer_dtype(confidential[synthesizer.target].dtype)
    return whole or keeps_true_values(synthesizer) or getattr(synthesizer, "draws_points", False)


def study_weights(study: Study, world: World) -> dict[str, pd.Series]:
    """Weights of those of the study's schemes that are made of the data alone."""
    weighting = world.under(study.weighting_scenario())
    return {scheme: study_alpha(study, weighting, scheme) for scheme in study.weights.schemes if scheme_source(scheme) is None}


def study_alpha(study: Study, weighting: World, scheme: str, fit: Fit | None = None) -> pd.Series:
    """Weights of one scheme under the study's `weighting_scenario`; all but the unweighted are adjusted by its scale and shift.

    `fit`: that of `scheme_source`, if there is one.
    """
    alpha = scheme_alpha(weighting, scheme, fit)
    if scheme != UNWEIGHTED:
        alpha = adjust_weights(alpha, study.weights.scale, study.weights.shift)
        if study.weights.cluster is not None:
            alpha = cluster_weights(alpha, weighting.confidential[study.weights.cluster])
    if not (alpha > 0).any():
        raise InputError(
            f"scheme {scheme!r} gives every record weight zero: enlarge the radius, coarsen the known variables or raise weights.shift"
        )
    return alpha


def _shift(world: World, alpha: pd.Series) -> tuple[float, float]:
    found = world_shift(world, alpha).iloc[0]
    return float(found["total_variation"]), float(found["least_ratio"])


def _seconds(checked: CheckedStudy) -> tuple[float, float]:
    """A rough range of the running time: draws without chains first, where the model offers them, and chains at worst."""
    blueprint, study, sampling = checked.model.build(), checked.study, checked.study.sampling
    terms, schemes = blueprint.density_terms if blueprint else 0, len(study.weights.schemes)
    rounds = -(-sampling.chains // (os.cpu_count() or 1)) * (sampling.draws + sampling.tune) * schemes
    gradient = 2e-6 + terms * _SECONDS_PER_DENSITY
    least = 15 + rounds * 7 * gradient
    if blueprint is not None and blueprint.direct is not None and study.guarantee is None and sampling.engine != NUTS:
        least = 2 + schemes * (0.1 + sampling.chains * sampling.draws * terms * _SECONDS_PER_PROPOSAL)
    return least, 40 + rounds * 63 * gradient


def plan_study(study: Study, confidential: pd.DataFrame | None = None) -> Plan:
    """Check a study against its data and say what it would do (``--dry-run``).

    The time is a rough range: densities per gradient, times 7 to 63 gradients per iteration, plus compilation; or proposals without chains.
    """
    checked = check_study(study, study.read_data() if confidential is None else confidential)
    return Plan(
        records=len(checked.world.confidential),
        patterns=len(checked.world.patterns.sizes),
        singletons=checked.world.patterns.singletons,
        predictors=build_design(study.synthesizer.formula, checked.world.confidential).centred.shape[1],
        datasets=study.release.L,
        schemes=tuple(study.weights.schemes),
        mean_weight={scheme: float(alpha.mean()) for scheme, alpha in checked.weights.items()},
        shift={scheme: _shift(checked.world, alpha) for scheme, alpha in checked.weights.items()},
        seconds=_seconds(checked),
        sparse_levels=dict(checked.sparse_levels),
    )
