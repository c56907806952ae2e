"""A study with its data, checked once before anything runs: what a dry run and a run start from."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pandas as pd

from riskweighted.common.errors import InputError, SparseLevelWarning, listing
from riskweighted.common.extras import optional
from riskweighted.common.frames import require_columns
from riskweighted.common.survey import survey_weights
from riskweighted.contract.categories import categories_of
from riskweighted.contract.layout import free_shapes
from riskweighted.contract.synthesizer import Synthesizer, keeps_true_values
from riskweighted.design.design import Design
from riskweighted.design.levels import SPARSE, level_members, sparse_levels
from riskweighted.intruder.points import warn_of_unscored
from riskweighted.intruder.world import World, make_world
from riskweighted.measures.survey import checked_design
from riskweighted.risk.confidential import confidential_risk
from riskweighted.risk.copies import refuse_copies
from riskweighted.risk.expected import require_equality
from riskweighted.runs.guaranteed import refuse_data_dependent
from riskweighted.runs.study import Study
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sampling.settings import JAX
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_alpha
from riskweighted.tuning.targets import check_measurable
from riskweighted.utility.regression import Regression, checked_regression
from riskweighted.utility.regressions import checked_analyses
from riskweighted.weights.adjust import adjust_weights, cluster_weights
from riskweighted.weights.margins import warn_of_shift, world_shift
from riskweighted.weights.match import world_weights
from riskweighted.weights.names import UNWEIGHTED
from riskweighted.weights.schemes import in_order, scheme_alpha, scheme_source

__all__ = ["CheckedStudy", "check_study", "study_alpha", "study_weights"]


@dataclass(frozen=True, eq=False)
class CheckedStudy:
    """A study and everything that is made of it and its data before a fit. Confidential.

    Attributes
    ----------
    study : Study
    world : World
        Under the scenario that risk is measured with.
    model : PreparedSequence
    baselines : mapping of label to PreparedSequence
    analysis : Regression or None
        The regression that the evaluation reports.
    weights : mapping of scheme to Series (n,), or DataFrame (n, V) of several variables
        Of the schemes that are made of the data alone; those that are made of a fit come with it (`alpha_of`).
    sparse_levels : mapping of scheme to names
        The levels of the predictors whose weights sum to less than 5.
    parameters : mapping of variable to int
        How many its models have, where there are several variables.
    """

    study: Study
    world: World = field(repr=False)
    model: PreparedSequence = field(repr=False)
    baselines: Mapping[str, PreparedSequence] = field(repr=False)
    analysis: Regression | None
    weights: Mapping[str, pd.Series | pd.DataFrame] = field(repr=False)
    sparse_levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)

    def alpha_of(self, scheme: str, fits: Mapping[str, Any]) -> pd.Series:
        """The weights of a scheme, (n,), where the fit that they are made of, if any, is among `fits`."""
        if scheme in self.weights:
            return cast(pd.Series, self.weights[scheme])
        source = scheme_source(scheme)
        return study_alpha(self.study, self.world.under(self.study.weighting_scenario()), scheme, fits[str(source)])

    def alphas_of(self, scheme: str, fits: Mapping[str, Any]) -> pd.DataFrame:
        """The same of several variables, (n, V)."""
        if scheme in self.weights:
            return cast(pd.DataFrame, self.weights[scheme])
        raise InputError(f"scheme {scheme!r} is made of the fit of one variable; of several valid are those made of the data alone")


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
    if study.sampling.engine == JAX:
        optional("jax", f"engine = {JAX!r}")
    several = study.synthesizer.of_several
    made = study.make_chain() if several else study.make_synthesizer()
    world = make_world(confidential, study.evaluating_scenario())
    if world.scenario.singletons == "error":
        confidential_risk(world)
    require_columns(confidential, study.release.columns, "confidential data (release.columns)")
    for setting, cluster in (("weights.cluster", study.weights.cluster), ("evaluation.cluster", study.evaluation.cluster)):
        require_columns(confidential, [] if cluster is None else [cluster], f"confidential data ({setting})")
        if cluster in study.variables:
            raise InputError(f"{setting} names {cluster!r}, which is synthesized: name a column that tells who belongs together")
    _check_survey(study, confidential)
    for variable in study.variables:
        refuse_copies(confidential, variable, study.unaltered(confidential))
    if not several and not _hits_points(cast(Synthesizer, made), confidential):
        warn_of_unscored(confidential, world.scenario)
    analysis = checked_regression(confidential, study.evaluation.regression, study.evaluation.coefficient, study.variables)
    if analysis is not None:
        analysis.fit(confidential)
    in_order(study.weights.schemes)
    if study.weights.tuning is not None and study.weights.tuning.loss == "overlap" and analysis is None:
        raise InputError("weights.loss 'overlap' is that of a regression coefficient: give evaluation.regression and coefficient")
    if study.weights.tuning is not None:
        check_measurable(study.weights.tuning.target, study.weights.tuning.loss, world)
    if several:
        return _check_several(study, world, cast(Chain, made), analysis)
    prepared = prepare_sequence(made, confidential, study.weights.survey)
    model = prepared.blocks[0].model
    _check_levels(study, world, categories_of(model.synthesizer, model.prepared))
    refuse_data_dependent(study, model)
    baselines = {name: prepare_sequence(study.make_baseline(name), confidential) for name in study.baselines}
    weights = study_weights(study, world)
    return CheckedStudy(study, world, prepared, baselines, analysis, weights, _sparse_levels(model, weights))


def _check_several(study: Study, world: World, chain: Chain, analysis: Regression | None) -> CheckedStudy:
    """The same of a study of several variables.

    Warns
    -----
    MarginShiftWarning
        If the weights of a variable sum to less than its model has parameters, or leave little of one of its levels.
    """
    if study.baselines:
        raise InputError(f"[{next(iter(study.baselines))}] is a baseline of one variable; of several leave it out")
    made_of_fits = [scheme for scheme in study.weights.schemes if scheme_source(scheme) is not None]
    if made_of_fits:
        raise InputError(f"weights.schemes names {listing(made_of_fits)}, made of the fit of one variable; of several leave it out")
    prepared = prepare_sequence(chain, world.confidential, study.weights.survey)
    for link in prepared.links:
        if link.values is not None:
            require_equality(world, link.variable, categories_of(link.values.model.synthesizer, link.values.model.prepared))
    weighting = world.under(study.weighting_scenario())
    given = study.release.precision if isinstance(study.release.precision, Mapping) else {}
    of_levels = [link.variable for link in prepared.links if link.levels and link.variable in given]
    if of_levels:
        raise InputError(f"release.precision is that of numbers, and {listing(of_levels)} is drawn as levels; leave it out")
    own = study.weights
    weights = {
        scheme: world_weights(weighting, scheme, own.match, scale=own.scale, shift=own.shift, cluster=own.cluster) for scheme in own.schemes
    }
    parameters = chain_parameters(prepared)
    for scheme, alpha in weights.items():
        for block in prepared.blocks:
            block_alpha(block, alpha)
        if scheme != UNWEIGHTED:
            warn_of_shift(world_shift(weighting, alpha), parameters, scheme)
    return CheckedStudy(study, world, prepared, {}, analysis, weights, parameters=parameters)


def _check_survey(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse survey weights, strata and regressions that do not suit the data; weights must be the same in every synthetic dataset."""
    column = study.weights.survey
    if column is not None and column in study.variables:
        raise InputError(f"weights.survey names {column!r}, which is synthesized: survey weights must be the same in every dataset")
    if column is not None:
        survey_weights(confidential, column)
    checked_design(confidential, study.evaluation.measures, study.variables)
    checked_analyses(confidential, study.evaluation.regressions, {name: study.scenario.codes_of(name) for name in study.scenario.codes})


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
    found = {scheme: sparse_levels(members, model.weights(alpha).to_numpy()) for scheme, alpha in weights.items()}
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


def chain_parameters(prepared: PreparedSequence) -> dict[str, int]:
    """How many parameters the models of each variable have."""
    found = dict.fromkeys(prepared.variables, 0)
    for block in prepared.blocks:
        blueprint = block.model.build()
        if blueprint is not None:
            found[block.variable] += sum(math.prod(shape) for shape in free_shapes(blueprint.model).values())
    return found
