"""A study with its data, checked once before anything runs: what a dry run and a run start from."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from riskweighted.common.errors import InputError, OverfillWarning, SparseLevelWarning, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.groups import most_categories
from riskweighted.common.survey_weights import survey_weights
from riskweighted.contract.categories import categories_of
from riskweighted.contract.synthesizer import Synthesizer, keeps_true_values, probability_mass
from riskweighted.contract.vector_layout import n_parameters
from riskweighted.design.design import Design
from riskweighted.design.level_weights import SPARSE, level_members, sparse_levels
from riskweighted.disclosure.shuffle import warn_of_columns_causing_uniques
from riskweighted.intruder.point_balls import warn_of_unscored
from riskweighted.intruder.world import World
from riskweighted.measures.survey_values import checked_design
from riskweighted.risk.expected_identification import require_equality
from riskweighted.risk.identification import confidential_risk
from riskweighted.runs.derivation import check_derived
from riskweighted.runs.found_bounds import refuse_heaps_of_few
from riskweighted.runs.guarantee_checks import refuse_data_dependent
from riskweighted.runs.study import Study
from riskweighted.runs.work import Work
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.tasks import block_alpha
from riskweighted.sequence.totals import Total
from riskweighted.sequence.unit_rules import FIRST, LAST, PREVIOUS, Between
from riskweighted.suggest.evidence import DESIGN, LEVELS, NUMBER, PLAYING, WEIGHT
from riskweighted.suggest.kinds import check_kinds
from riskweighted.tuning.tuning_settings import check_measurable
from riskweighted.utility.own_analyses import checked_own_analyses
from riskweighted.utility.regressions import checked_analyses
from riskweighted.weights.margins import FLOOR, overfill_factor, warn_of_shift, world_shift
from riskweighted.weights.scheme_names import UNWEIGHTED, is_centred
from riskweighted.weights.schemes import order_schemes

__all__ = ["CheckedStudy", "check_study"]


class CheckedStudy(NamedTuple):
    """What checking leaves. Confidential.

    ``work``: holds what was made of study and data. ``sparse_levels``: by scheme the levels of
    predictors whose weights sum to less than 5. ``parameters``: how many the models of a variable
    have, where they were chosen for it.
    """

    work: Work
    sparse_levels: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, int]


def check_study(
    study: Study, confidential: pd.DataFrame, folder: Path | None = None
) -> CheckedStudy:
    """A study checked against its data; refuses whatever can be known to be wrong before a fit.
    `folder`: the working folder of its run.

    Warns (`SparseLevelWarning`) where under some scheme the weights of a level of the predictors
    sum to less than 5, and (`MarginShiftWarning`) where those of a variable whose models were
    chosen for it sum to less than they have parameters, or leave little of one of its levels.
    """
    work = Work.of(study, confidential, folder)
    confidential = work.fitted
    _refuse_levels_of_amounts(study, confidential)
    refuse_heaps_of_few(study, confidential)
    world = work.world()
    if world.scenario.singletons == "error":
        confidential_risk(world)
    _check_columns(study, confidential)
    analysis = work.analysis()
    order_schemes(study.weights.schemes)
    if (
        study.weights.tuning is not None
        and study.weights.tuning.loss == "overlap"
        and analysis is None
    ):
        raise InputError(
            "weights.loss 'overlap' is that of a regression coefficient: give "
            "evaluation.regression and coefficient"
        )
    if study.weights.tuning is not None:
        check_measurable(study.weights.tuning, world)
    prepared = work.prepared()
    _check_units(study, confidential, prepared)
    _check_values(study, world, prepared)
    refuse_data_dependent(study, prepared)
    for name in study.baselines:
        work.prepared(name)
    whole, parameters = work.data_weights(), chosen_parameters(prepared)
    weights = {scheme: work.of_fitted(alphas) for scheme, alphas in whole.items()}
    for alphas in weights.values():
        for block in prepared.blocks:
            block_alpha(block, alphas)
    if parameters:
        _warn_of_shift(work.world("weighing"), whole, parameters)
    _warn_of_overfilling(weights)
    if study.release.shuffle:
        warn_of_columns_causing_uniques(confidential, study.unaltered(confidential))
    return CheckedStudy(work, _sparse_levels(prepared, weights), parameters)


def _check_columns(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse columns that the data lack, that are synthesized where they must not be, or that give
    a synthesized one away.
    """
    require_columns(confidential, study.release.columns, "confidential data (release.columns)")
    _check_kinds(study, confidential)
    linking = {
        "weights.cluster": study.weights.cluster,
        "evaluation.cluster": study.evaluation.cluster,
        "release.unit": study.release.unit,
    }
    for setting, cluster in linking.items():
        require_columns(
            confidential, [] if cluster is None else [cluster], f"confidential data ({setting})"
        )
        if cluster in study.variables:
            raise InputError(
                f"{setting} names {cluster!r}, which is synthesized: name a column that states "
                "who belongs together"
            )
    _check_own_weights(study, confidential)
    _check_survey(study, confidential)
    check_derived(study, confidential)


def _refuse_levels_of_amounts(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse variables whose kind says that their numbers are levels, and which have too many
    different ones to be drawn as such.
    """
    for name in study.variables:
        if (
            study.data.kinds.get(name) == LEVELS
            and name in confidential
            and name not in study.scenario.categorical
        ):
            levels, most = confidential[name].nunique(), most_categories(len(confidential))
            if levels > most:
                raise InputError(
                    f"[data.kinds] says {LEVELS!r} of {name!r}, which has {levels:,} different "
                    f"values in {len(confidential):,} records, "
                    f"and at most {most:,} are drawn as levels: of an amount say {NUMBER!r}, or "
                    "take the line out"
                )


def _check_kinds(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse kinds that the columns cannot have, and columns in parts that their stated kinds do
    not play.
    """
    check_kinds(confidential, study.data.kinds)
    predictors = [name for name in study.synthesizer.columns if name not in study.variables]
    parts = {
        "scenario.synthetic": study.variables,
        "scenario.known": study.scenario.known,
        "synthesizer": predictors,
    }
    for setting, names in {**parts, "release.columns": study.release.columns}.items():
        leave = (WEIGHT, DESIGN) if setting == "release.columns" else ()
        for name in names:
            kind = study.data.kinds.get(name, LEVELS)
            if kind not in (*PLAYING, *leave):
                raise InputError(
                    f"{setting} names {name!r}, which is {kind!r} by [data.kinds]; valid are "
                    f"{listing([*PLAYING, *leave])}"
                )


def _check_own_weights(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse columns of weights that play another part: weights may tell the value that they are
    made of.
    """
    columns = list(study.weights.columns)
    require_columns(confidential, columns, "confidential data (weights.schemes)")
    named = {
        "scenario.synthetic": study.variables,
        "scenario.known": study.scenario.known,
        "synthesizer": study.synthesizer.columns_among(confidential.columns),
        "release.columns": study.release.columns,
    }
    for setting, names in named.items():
        if both := [name for name in columns if name in names]:
            raise InputError(
                f"{setting} names {listing(both)}, a column of weights (weights.schemes), which "
                "may disclose the value that it is made of: leave it out there"
            )


def _check_survey(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse survey weights, strata and regressions that do not suit the data; weights must be the
    same in every synthetic dataset.
    """
    column = study.weights.survey
    if column is not None and column in study.variables:
        raise InputError(
            f"weights.survey names {column!r}, which is synthesized: survey weights must be the "
            "same in every dataset"
        )
    if column is not None:
        survey_weights(confidential, column)
    measures, units = study.evaluation.measures, study.units
    design = checked_design(confidential, measures, study.variables, units)
    checked_own_analyses(confidential, study.evaluation.analyses, design)
    checked_analyses(
        confidential,
        study.evaluation.regressions,
        {name: study.scenario.codes_of(name) for name in study.scenario.codes},
    )


def _check_units(study: Study, confidential: pd.DataFrame, prepared: PreparedSequence) -> None:
    """Refuse totals and rules of units of what does not leave: nobody could see that they hold."""
    if prepared.members is None or study.units is None:
        return
    in_order = {LAST, PREVIOUS} if study.units.role else {FIRST, LAST, PREVIOUS}
    stated: list[Total | Between] = [*prepared.members.totals, *prepared.members.rules.rules]
    for each in stated:
        named = [*each.names]
        if not isinstance(each, Total) and {*each.others} & in_order:
            named += study.units.order
        if staying := [name for name in named if name not in study.released(confidential)]:
            raise InputError(
                f"[units] {each.text!r} names {listing(staying)}, which is not released: name it "
                "in scenario.known or release.columns, or leave it out there"
            )


def _check_values(study: Study, world: World, prepared: PreparedSequence) -> None:
    """Refuse settings that are of numbers where a model draws levels; say whose values of zero no
    model hits.
    """
    for link in prepared.links:
        if link.values is None:
            continue
        model = link.values.model
        require_equality(world, link.variable, categories_of(model.synthesizer, model.prepared))
        if not link.levels and not _hits_points(
            model.synthesizer, world.confidential[link.variable]
        ):
            warn_of_unscored(world.confidential, world.scenario.only(link.variable))
    given = study.release.precision
    of_levels = [
        link.variable
        for link in prepared.links
        if link.levels and study.release.precision_of(link.variable) is not None
    ]
    # one number is that of the numeric ones
    if of_levels and (isinstance(given, Mapping) or len(of_levels) == len(prepared.links)):
        raise InputError(
            f"release.precision is that of numbers, and {listing(of_levels)} is drawn as levels; "
            "leave it out"
        )


def _hits_points(synthesizer: Synthesizer, column: pd.Series) -> bool:
    """Whether drawn values can be exactly zero: whole numbers are rounded, a model may draw from
    listed values or counts, and it may say that it has a part for zeros.
    """
    return (
        pd.api.types.is_integer_dtype(column.dtype)
        or probability_mass(synthesizer)
        or keeps_true_values(synthesizer)
        or getattr(synthesizer, "draws_points", False)
    )


def _sparse_levels(
    prepared: PreparedSequence, weights: Mapping[str, pd.DataFrame]
) -> dict[str, tuple[str, ...]]:
    """Per scheme the levels of the designs with little weight; warns of them. None where a model
    keeps no `Design`.
    """
    sparse: dict[str, tuple[str, ...]] = {}
    for block in (block for link in prepared.links for block in link.parts):
        model = block.model
        design = getattr(model.prepared, "design", None)
        if not isinstance(design, Design):
            continue
        members = level_members(design)
        for scheme, alphas in weights.items():
            names = sparse_levels(members, model.weights(block_alpha(block, alphas)).to_numpy())
            sparse[scheme] = (*sparse.get(scheme, ()), *names)
            if names:
                columns = dict.fromkeys(re.split(r"\[| = ", name)[0] for name in names)
                bounds = (
                    ", or set public bounds (support)"
                    if hasattr(model.synthesizer, "support")
                    else ""
                )
                have = "has" if len(names) == 1 else "each have"
                warnings.warn(
                    f"scheme {scheme!r}: {len(names)} of {len(members)} levels of what predicts "
                    f"{block.variable!r}, of {listing(columns)}, "
                    f"{have} weights that sum to less than {SPARSE:g}: the prior decides what is "
                    f"drawn there; merge levels{bounds}",
                    SparseLevelWarning,
                    stacklevel=4,
                )
    return sparse


def _warn_of_shift(
    weighting: World, weights: Mapping[str, pd.DataFrame], parameters: Mapping[str, int]
) -> None:
    for scheme in weights:
        if scheme != UNWEIGHTED:
            shift = world_shift(weighting, weights[scheme])
            warn_of_shift(
                shift.assign(erased=0) if is_centred(scheme) else shift, parameters, scheme
            )


def _warn_of_overfilling(weights: Mapping[str, pd.DataFrame]) -> None:
    """Say of a centred scheme whose weights come near 0 by how much it overfills what is rare."""
    for scheme, alphas in weights.items():
        if is_centred(scheme) and alphas.to_numpy().min() < FLOOR:
            times = overfill_factor(float(alphas.to_numpy().min()))
            warnings.warn(
                f"scheme {scheme!r}: its smallest weight is below {FLOOR:g}, and where weights "
                "are near 0 a centred fit overfills what is "
                f"rare: a level of one in a thousand was released up to {times:g} times as often "
                "in our measurement (docs/choosing.md); "
                "a release takes a floor, as in 'mix+(t=0.5)'",
                OverfillWarning,
                stacklevel=4,
            )


def chosen_parameters(prepared: PreparedSequence) -> dict[str, int]:
    """How many parameters the models of each variable have, where they were chosen for it."""
    counts = dict.fromkeys(prepared.variables if prepared.chosen else (), 0)
    for block in prepared.blocks if counts else ():
        counts[block.variable] += n_parameters(block.model.synthesizer, block.model.prepared)
    return counts
