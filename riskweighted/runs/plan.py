"""What a study would do and what it would take, found without sampling: what a dry run tells."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.derivation.find import MOST_COLUMNS, FoundStructure, find_structure
from riskweighted.design.design import build_design
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.runs.check_study import check_study
from riskweighted.runs.estimate import RunEstimate, estimate_run
from riskweighted.runs.found_bounds import found_bounds_remarks
from riskweighted.runs.refusals import COARSEN
from riskweighted.runs.release_remarks import ids_first
from riskweighted.runs.study import Study
from riskweighted.runs.undeclared import remarks
from riskweighted.sequence.blocks import Block, PreparedSequence
from riskweighted.sequence.edit_rule_kinds import Implied, Sum
from riskweighted.suggest.kinds import kinds_of
from riskweighted.weights.margins import world_shift
from riskweighted.weights.scheme_names import is_centred

__all__ = ["Plan", "plan_study"]

_FEW = 3  # records, of which each tells the others what they have


@dataclass(frozen=True)
class Plan:
    """What a study would do, found without sampling.

    Of the schemes that are made of the data alone: ``mean_weight``; ``shift``, the table of
    `riskweighted.margin_shift` by variable, with the number of ``parameters`` that its model has
    where there are several variables; ``survey``, where there are survey weights: the least and the
    largest product w_i alpha_i, the power of a record's likelihood. ``models``: of the blocks of a
    chain. ``estimate``: the time, memory and disk that it takes, None where it was not asked for.
    ``rare``: how many levels or counted values of a variable are held by fewer than 3 records, and
    are drawn as they are all the same. ``unstated``: rules that no record breaks and that a chain
    is not told of, by kind and columns. ``unaltered``, ``staying``: the columns that leave as they
    are, and those that do not leave. ``remarks``: what the file says of itself and the study does
    not (codes, identifiers, survey weights, recodes). ``fitted``: to how many records the models
    are fitted, where these are not all. ``units``: how the records belong together, in words.
    """

    records: int
    patterns: int
    singletons: int
    predictors: int
    datasets: int
    schemes: tuple[str, ...]
    mean_weight: dict[str, float]
    shift: dict[str, pd.DataFrame]
    sparse_levels: dict[str, tuple[str, ...]]
    estimate: RunEstimate | None
    models: dict[str, str] = field(default_factory=dict)
    rare: dict[str, int] = field(default_factory=dict)
    survey: dict[str, tuple[float, float]] = field(default_factory=dict)
    unstated: tuple[str, ...] = ()
    unaltered: tuple[str, ...] = ()
    staying: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    fitted: int | None = None
    units: str = ""


def plan_study(
    study: Study,
    confidential: pd.DataFrame | None = None,
    began: float | None = None,
    *,
    estimated: bool = True,
) -> Plan:
    """Check a study against its data and say what it would do (``--dry-run``).

    `began`: the processor time of this process from which on all of it counts as a part of a run: 0
    includes what was loaded. `estimated`: whether steps are tried, which takes most of the time.
    """
    began = time.process_time() if began is None else began
    with threadpool_limits(1):  # threads that wait for each other are processor time, too
        return _planned(
            study,
            study.read_data() if confidential is None else study.coarsened(confidential),
            began,
            estimated,
        )


def _planned(study: Study, confidential: pd.DataFrame, began: float, estimated: bool) -> Plan:
    work, sparse_levels, parameters = check_study(study, confidential)
    preparing = time.process_time() - began
    world, prepared, weights = work.world(), work.prepared(), work.data_weights()
    # centring takes off what they do to margins
    uncentred = {scheme: alpha for scheme, alpha in weights.items() if not is_centred(scheme)}
    shift = {
        scheme: world_shift(work.world("weighing"), alpha) for scheme, alpha in uncentred.items()
    }
    if parameters:
        shift = {
            scheme: table.assign(parameters=table["variable"].map(parameters))
            for scheme, table in shift.items()
        }
    estimate = estimate_run(work) if estimated else None
    found = _found(work.study, prepared) if prepared.chosen and study.guarantee is None else None
    staying = list(map(str, work.confidential.columns.drop(study.released(work.confidential))))
    looked_at = work.fitted.drop(columns=list(study.altered[len(study.variables) :]))
    kinds = (
        kinds_of(looked_at, study.data.described, study.data.kinds)
        if study.guarantee is None
        else ()
    )
    return Plan(
        records=len(work.confidential),
        patterns=len(world.patterns.sizes),
        singletons=world.patterns.singletons,
        predictors=max(map(_predictors, prepared.blocks), default=0),
        datasets=study.release.L,
        schemes=tuple(study.weights.schemes),
        mean_weight={scheme: float(alpha.to_numpy().mean()) for scheme, alpha in weights.items()},
        shift=shift,
        sparse_levels=dict(sparse_levels),
        estimate=estimate
        and replace(estimate, seconds={"reading and checking": preparing, **estimate.seconds}),
        models=prepared.chosen,
        survey=_ranges(prepared, weights),
        rare=_rare(prepared) if prepared.chosen else {},
        unstated=() if found is None else _unstated(found, prepared),
        unaltered=tuple(study.unaltered(work.confidential)),
        staying=tuple(ids_first(staying, kinds)),
        remarks=(
            *remarks(work.study, looked_at, found, kinds),
            *found_bounds_remarks(study, work.study),
        ),
        fitted=None if work.rows is None else len(work.rows),
        units=_units(work.study, work.confidential),
    )


def _units(study: Study, confidential: pd.DataFrame) -> str:
    """How many units there are, and which are composed as no other one; nothing without units."""
    if study.units is None:
        return ""
    of = study.units.arranged(confidential)
    patterns = released_patterns(confidential, study.unaltered(confidential))
    shape, released = (
        int((np.bincount(codes) == 1).sum())
        for codes in (of.compositions(of.role), of.compositions(patterns))
    )
    ties = f"; {of.ties:,} records are in a random order" if of.ties else ""
    return (
        f"{len(of.sizes):,} of {of.sizes.min()} to {of.sizes.max()} records, by {study.units.id}, "
        f"which is released with new numbers; with a unique composition: {shape:,} by size and "
        f"role, {released:,} by all released columns{ties}{f'; fewer: {COARSEN}' if shape else ''}"
    )


def _predictors(block: Block) -> int:
    """How many numeric columns predict."""
    if block.scale is not None:
        return int((block.scale > 0).sum())
    formula = getattr(block.model.synthesizer, "formula", None)
    return 0 if formula is None else len(build_design(formula, block.model.confidential).centre)


def _rare(prepared: PreparedSequence) -> dict[str, int]:
    """By variable how many of its levels or counted values fewer than 3 records hold, unless the
    study lists them.
    """
    counts_of_rare = {}
    for link in prepared.links:
        model = None if link.values is None else link.values.model
        drawn = link.levels or hasattr(None if model is None else model.prepared, "levels")
        listed = any(
            getattr(None if model is None else model.synthesizer, name, None) is not None
            for name in ("levels", "values")
        )
        counts = prepared.confidential[link.variable].value_counts()
        rare = int(((counts > 0) & (counts < _FEW)).sum())
        if drawn and not listed and rare:
            counts_of_rare[link.variable] = rare
    return counts_of_rare


def _found(study: Study, prepared: PreparedSequence) -> FoundStructure:
    """What holds together among the columns that predict, that leave and that are synthesized."""
    data = prepared.confidential
    beside = [*study.synthesizer.columns, *study.unaltered(data)]
    names = [
        name
        for name in dict.fromkeys(beside)
        if name in data.columns and name not in prepared.variables
    ]
    return find_structure(data, [*names, *prepared.variables][-MOST_COLUMNS:], codes=prepared.codes)


def _unstated(found: FoundStructure, prepared: PreparedSequence) -> tuple[str, ...]:
    """Rules that no record breaks and that the study does not state, by kind and columns."""
    rules = prepared.rules
    told = {rule.text for rule in rules.rules}
    covered = [{*rule.names} for rule in rules.rules if not isinstance(rule, Implied | Sum)]
    left = [
        rule
        for rule in found.kept(prepared.variables)
        if not all(_stated(*declared) in told for declared in rule.declared)
    ]
    return tuple(
        f"{rule.kind}: {', '.join(rule.columns)}"
        for rule in left
        if not any({*rule.columns} <= names for names in covered)
    )


def _stated(setting: str, parts: Sequence[str]) -> str:
    """A rule as it is declared, in the words of the rule."""
    if setting == "implied":
        return f"{parts[1]} where {parts[0]}"
    return (
        f"{parts[0]} <= {parts[1]}"
        if setting == "order"
        else f"{parts[0]} = {' + '.join(parts[1:])}"
    )


def _ranges(
    prepared: PreparedSequence, weights: Mapping[str, pd.DataFrame]
) -> dict[str, tuple[float, float]]:
    """By scheme the least and the largest product of risk weight and survey weight; empty without
    survey weights.
    """
    if prepared.survey is None:
        return {}
    survey = prepared.survey.to_numpy()
    products = {scheme: (alpha.to_numpy().T * survey).T for scheme, alpha in weights.items()}
    return {
        scheme: (float(product.min()), float(product.max())) for scheme, product in products.items()
    }
