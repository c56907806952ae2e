"""What mends a study: each reason why it fails, and the change of its settings that lowers the
failing figure.

Advice never changes the scenario, what is known, a radius or a threshold in order to pass: where
one looks wrong it says so and stops.
"""

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import holds_numbers, require_columns
from riskweighted.common.settings import to_table
from riskweighted.common.text import as_argument
from riskweighted.design.formulas import split_formula
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.evaluation.judgement import missed_checks, worst_misfits
from riskweighted.evaluation.main_table import CONVERGED, FITS
from riskweighted.evaluation.verdicts import (
    FAIL,
    NOT_JUDGED,
    NOT_SHOWN,
    WARN,
    Verdict,
    find_failures,
    is_of_disclosure,
)
from riskweighted.measures import disclosure_measures
from riskweighted.runs.check_study import check_study
from riskweighted.runs.derivation import (
    RELEASE_OR_STRIKE,
    check_derived,
    told_by_rules,
    undeclared_columns,
)
from riskweighted.runs.edit_study import (
    Table,
    as_chain,
    terms_of,
    with_choice,
    with_codes,
    with_models,
    with_scheme,
    with_settings,
    with_splines,
    without_columns,
)
from riskweighted.runs.folder import CONCERNED
from riskweighted.runs.lacking import find_lacks
from riskweighted.runs.reasons import COUNTS, REASONS, is_inference_risk, largest, told_by
from riskweighted.runs.refusals import COARSEN
from riskweighted.runs.study import AUTO, Study, read_study
from riskweighted.runs.undeclared import known_codes, likely_codes, with_unstated
from riskweighted.sampling.convergence import ESS_LIMIT, deciding_rows
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.evidence import RECORD_ID
from riskweighted.suggest.kinds import kinds_of
from riskweighted.suggest.suggestion import quote_name, suggest
from riskweighted.tuning.tuning_settings import find_target
from riskweighted.weights.scheme_names import UNWEIGHTED, parse_scheme

__all__ = ["Advice", "advise", "apply_advice"]

_WIDE, _NARROW = 0.5, 0.01  # relative radii beyond which one looks wrong
_FEWEST_DRAWS, _MOST_DRAWS = 500, 10_000
# rules of few records; those in a pattern who may stand alone
_OF_FEW, _FEW = {"largest", "isolated", "group"}, 5
_FEWEST_UNITS = 10  # of a size or larger, which may be kept
_TWO = 2  # levels, which cost one parameter
# of the records: alone in the released pattern, so that shuffling does nothing for them
_ALONE = 0.2
_CHAINED = (
    "predictors then enter as they suit and amounts have the model of their type, in place of "
    "the formula and model"
)


@dataclass(frozen=True)
class Advice:
    """``reason``: what is wrong, with its figure; ``what``: what to do about it, in words;
    ``change``: of the tables of the study file, None where it is not ours to change."""

    reason: str
    what: str
    change: Callable[[Table], Table] | None = field(default=None, repr=False)


def advise(
    study: Study,
    data: pd.DataFrame,
    verdicts: Sequence[Verdict] = (),
    tables: Mapping[str, pd.DataFrame] | None = None,
) -> list[Advice]:
    """Return what to do about a study, the largest reason first.

    What no release may hold stands first: identifiers and columns that give a synthesized variable
    away; then a radius that looks wrong; then, of a finished run, the reasons why the first scheme
    that fails does not pass.

    Parameters
    ----------
    study : Study
    data : DataFrame
        Its confidential data.
    verdicts, tables
        Those of its run, where there is one (`FinishedRun`).

    Returns
    -------
    list of Advice
        Empty where there is nothing to say.
    """
    require_columns(
        data, [*study.scenario.known, *study.variables, *study.release.columns], "confidential data"
    )
    found = [
        *_identifiers(study, data),
        *_giving_away(study, data),
        *_radius(study),
        *_missing(study, data),
        *_units_alone(study, data),
    ]
    if not verdicts:
        found += _codes(study, data, "")
        if not found:
            _checked(study, data)
        return found
    reason = largest(verdicts, study.weights.schemes)
    for each in [] if reason is None else find_failures(verdicts, reason.label):
        said = {one.what for one in found}
        found += [
            one
            for one in _of_verdict(study, data, each, verdicts, tables or {})
            if one.what not in said
        ]
    return found or [*_codes(study, data, "")]


def apply_advice(
    study: Study, data: pd.DataFrame, advice: Sequence[Advice]
) -> tuple[Study, list[Advice]]:
    """The study with all changes that are ours to make, checked as a run would check it, and which
    they are.
    """
    made = [each for each in advice if each.change is not None]
    for each in made:
        study = _changed(study, each)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run says them
            _checked(study, study.data.of_kinds(data))
    except InputError as error:
        raise InputError(f"what was advised does not suit the data: {error}") from None
    return study, made


def _checked(study: Study, data: pd.DataFrame) -> None:
    """Refuse what a run would refuse before it fits anything; of a study that leaves the model to
    the run, what can be known.
    """
    if study.synthesizer.name != AUTO:
        check_study(study, data)
        return
    study.check_synthesizer()
    check_derived(study, data)


def _changed(study: Study, advice: Advice) -> Study:
    assert advice.change is not None
    table = advice.change(
        {
            name: part
            for name, part in copy.deepcopy(to_table(study)).items()
            if name != "thresholds"
        }
    )
    read = read_study(table)
    kinds = {**study.data.kinds, **table["data"].get("kinds", {})}
    return dataclasses.replace(
        read, data=dataclasses.replace(study.data, kinds=kinds), thresholds=study.thresholds
    )


def _named(names: Iterable[str]) -> str:
    return ", ".join(names)


# -- whatever the verdicts


def _identifiers(study: Study, data: pd.DataFrame) -> Iterator[Advice]:
    """Columns that name persons among those that leave or predict."""
    used = dict.fromkeys([*study.release.columns, *study.synthesizer.columns_among(data.columns)])
    keys = [
        of.name
        for of in kinds_of(data, study.data.described, study.data.kinds)
        if of.kind == RECORD_ID
    ]
    names = [name for name in keys if name in used and name not in study.variables]
    if names:
        yield Advice(
            f"{_named(names)}: nearly every record has a value of its own, so that it names "
            "single records",
            f"leave out {_named(names)} of [release] columns and of what predicts",
            partial(without_columns, names=names),
        )
    known = [name for name in keys if name in study.scenario.known]
    if known:
        yield Advice(
            f"{_named(known)} is known to the intruder and names single records",
            "an intruder who has it needs no data: take it out of the scenario yourself",
        )


def _giving_away(study: Study, data: pd.DataFrame) -> Iterator[Advice]:
    """Columns that give a synthesized variable away, and those that a rule gives away."""
    for _, why in told_by_rules(study, data):
        yield Advice(why, RELEASE_OR_STRIKE)
    for names, how in undeclared_columns(study, data):
        free = [name for name in names if name not in study.scenario.known]
        if free:
            last = free[-1:]
            yield Advice(
                f"{_named(names)}: {how}",
                f"leave out {_named(last)} of [release] columns and of what predicts",
                partial(without_columns, names=last),
            )
        else:
            yield Advice(
                f"{_named(names)}, known: {how}",
                "what is known determines the variable: no synthesis protects it; coarsen it "
                "yourself",
            )


def _radius(study: Study) -> Iterator[Advice]:
    """A radius that spans nearly everything, or nothing."""
    for name in study.variables:
        scenario = study.evaluating_scenario()
        if (
            scenario.kind_of(name) == "relative"
            and not _NARROW <= scenario.radius_of(name) <= _WIDE
        ):
            yield Advice(
                f"the radius of {name} is {scenario.radius_of(name):g} of the value: every risk "
                "and weight is read from it",
                "Hu et al. (2022) use 0.2, and 0.15 to 0.3 for comparison; it is the board's "
                "decision, which advice does not change",
            )


def _missing(study: Study, data: pd.DataFrame) -> Iterator[Advice]:
    """A variable of a single model that is missing in some records."""
    if study.synthesizer.formula is not None and (gaps := int(data[study.target].isna().sum())):
        yield Advice(
            f"{study.target} is missing in {gaps} of {len(data)} records, which a single model "
            "does not draw",
            "a chain of the one variable, which gives missing values a share of their own; "
            f"{_CHAINED}",
            partial(as_chain, study=study),
        )


def _units_alone(study: Study, data: pd.DataFrame) -> Iterator[Advice]:
    """Units that no other one is composed as, of which more than the study allows would leave."""
    if study.units is None:
        return
    of = study.units.arranged(data)
    alone = of.alone(released_patterns(data, study.unaltered(data))).mean()
    if alone <= study.release.unique_share:
        return
    shapes, size = np.unique(of.sizes, return_counts=True)
    held = shapes[np.cumsum(size[::-1])[::-1] >= _FEWEST_UNITS]
    cut = f"; {held.max()} members or more have {_FEWEST_UNITS} units" if len(held) else ""
    yield Advice(
        f"{100 * alone:.1f} % of the records are of units with a unique composition, by all "
        f"released columns; {100 * of.alone(of.role).mean():.1f} % by size and role",
        f"{COARSEN}{cut}; you decide which levels are alike",
    )


def _codes(study: Study, data: pd.DataFrame, why: str) -> Iterator[Advice]:
    """Likely codes that a study does not state."""
    columns, stated = look_at(data, only=study.variables), known_codes(study)
    told = list(likely_codes(columns, stated))
    codes = {
        column.name: [int(code) if float(code).is_integer() else code for code in column.codes]
        for column in with_unstated(columns, stated)
    }
    if codes and study.guarantee is None:
        yield Advice(
            "; ".join([*told, why] if why else told),
            f"state the codes of {_named(codes)} in [synthesizer.variables]: a chain gives each "
            "a share of its own" + (f"; {_CHAINED}" if study.synthesizer.formula else ""),
            partial(with_codes, study=study, codes=codes),
        )


# -- the first reason of a run


def _of_verdict(
    study: Study,
    data: pd.DataFrame,
    reason: Verdict,
    verdicts: Sequence[Verdict],
    tables: Mapping[str, pd.DataFrame],
) -> Iterator[Advice]:
    key, failing = reason.statistic.key, reason.verdict == FAIL
    if is_of_disclosure(reason) and reason.verdict == WARN:
        yield Advice(
            f"{reason.label}: warn: {reason.why}",
            "a warning does not stop a release; the sign-off sheet states it, and a person decides",
        )
    elif is_of_disclosure(reason) and key == disclosure_measures.HIDDEN.key:
        yield from _of_hidden(study, data, reason)
    elif is_of_disclosure(reason):
        yield from _of_disclosure(study, data, reason, tables)
    elif key == CONVERGED.statistic.key and not failing:
        yield Advice(
            f"{reason.label}: converged with {reason.why}",
            "look at its convergence card (riskweighted report RUN --internal); shorter steps: "
            "[sampling] target_accept = 0.99",
            partial(with_settings, section="sampling", target_accept=0.99),
        )
    elif key == CONVERGED.statistic.key:
        yield from _of_convergence(study, reason.label, tables["convergence"])
    elif key == FITS.statistic.key and not failing:
        yield from _unjudged_model(study)
    elif key == FITS.statistic.key or (reason.limit is not None and reason.limit.of_check):
        yield from _of_misfit(study, data, tables["fit_check"])
    elif not failing:
        yield Advice(
            f"{reason.label}: {reason.statistic.key} is not judged",
            "the run did not measure it: its limit names what this study does not have",
        )
    elif is_inference_risk(reason):
        yield from _of_risk(
            study, data, reason, tables.get("reasons", pd.DataFrame(columns=list(REASONS)))
        )
    elif reason.limit is not None and reason.limit.of_cost:
        yield from _of_cost(study, data, reason, verdicts, tables)
    else:
        yield Advice(
            f"{reason.label}: {reason.statistic.key} is {reason.value:.3g}, outside its limit",
            _sought(reason),
        )


def _sought(reason: Verdict) -> str:
    """How weights that keep to a limit are sought, where they can be."""
    variable = f"({reason.statistic.variable})" if reason.statistic.variable else ""
    target = f"{reason.statistic.key}{variable}"
    try:
        find_target(target)
    except InputError:
        target = ""
    if not target or reason.limit is None or reason.limit.at_most is None:
        return (
            "no setting is sure to correct it: the internal report shows what it depends on "
            "(riskweighted report RUN --internal)"
        )
    return (
        f"weights that keep to it: riskweighted tune STUDY.toml --target {as_argument(target)} "
        f"--target-max {reason.limit.at_most:g}"
    )


def _of_hidden(study: Study, data: pd.DataFrame, reason: Verdict) -> Iterator[Advice]:
    """A predictor that is not released and told all the same."""
    name = str(reason.statistic.term)
    yield Advice(
        f"{reason.label}: {reason.outside} ({100 * reason.value:.1f} %)",
        f"leave {name} out of what predicts, or say why it may be disclosed ([release] hidden)",
        partial(without_columns, names=[name]) if name in data.columns else None,
    )


def _of_disclosure(
    study: Study, data: pd.DataFrame, reason: Verdict, tables: Mapping[str, pd.DataFrame]
) -> Iterator[Advice]:
    """Fewer datasets where the run found that they would pass, else a column that leaves records
    alone, else the predictor that costs most parameters; weights lower no D over all records."""
    why, listed = f"{reason.label}: {reason.why}", f"; the records concerned: {CONCERNED}"
    if reason.verdict == NOT_JUDGED:
        yield Advice(
            why, "the internal report says what was lacking (riskweighted report RUN --internal)"
        )
        return
    told = tables.get("disclosure_verdicts", pd.DataFrame(columns=["label"])).set_index("label")
    told = told.reindex(index=[reason.label], columns=["fewer", "rules"])
    fewer, rules = told["fewer"].fillna(0).iloc[0], str(told["rules"].iloc[0]).split("; ")
    if fewer := int(fewer):
        yield Advice(
            why,
            f"fewer datasets: [release] L = {fewer} would pass",
            partial(with_settings, section="release", L=fewer),
        )
    elif lonely := _leaving_alone(study, data):
        yield Advice(
            why,
            f"with {lonely}, records are alone in their released pattern: leave it out of "
            f"[release] columns{listed}",
            partial(without_columns, names=[lonely]),
        )
    elif set(rules) & _OF_FEW and (parting := _parting(study, data)):
        yield Advice(
            why,
            f"wider levels of {parting}, which separates most of those in a pattern of fewer than "
            f"{_FEW}: join some yourself{listed}",
        )
    elif heavy := _of_most_levels(study, data):
        yield Advice(
            why,
            f"fewer parameters, of which {heavy} takes most ({data[heavy].nunique()} levels): "
            f"leave it out of what predicts{listed}",
            partial(without_columns, names=[heavy], released=False),
        )
    else:
        yield Advice(why, (reason.cure or "fewer datasets, or a stronger prior") + listed)
    if reason.verdict == NOT_SHOWN:
        yield Advice(
            why, 'or, if the board accepts it: [release.disclosure.accept] not_shown = "the reason"'
        )


def _of_most_levels(study: Study, data: pd.DataFrame) -> str:
    """The predictor of most levels, which costs most parameters; "" where none has more than
    two.
    """
    settings = str(to_table(study)["synthesizer"])
    names = [
        name
        for name in study.synthesizer.columns_among(data.columns)
        if name not in study.variables
    ]
    levels = {
        name: data[name].nunique()
        for name in names
        if not holds_numbers(data[name]) or f"C({name})" in settings
    }
    most = max(levels, key=levels.__getitem__, default="")
    return most if most and levels[most] > _TWO else ""


def _leaving_alone(study: Study, data: pd.DataFrame) -> str:
    """The released column without which fewest records are alone in their released pattern, where
    many are; "" where few are.
    """
    leaving = study.unaltered(data)
    free = [
        name
        for name in study.release.columns
        if name in leaving and name not in study.scenario.known
    ]
    if not free or _in_small_patterns(data, leaving, 2) < _ALONE:
        return ""
    return min(
        free,
        key=lambda name: _in_small_patterns(data, [other for other in leaving if other != name], 2),
    )


def _parting(study: Study, data: pd.DataFrame) -> str:
    """The column of those that leave unaltered without which fewest records are in a small pattern;
    "" where none is.
    """
    leaving = study.unaltered(data)
    if not _in_small_patterns(data, leaving, _FEW):
        return ""
    return min(
        leaving,
        key=lambda name: _in_small_patterns(
            data, [other for other in leaving if other != name], _FEW
        ),
    )


def _in_small_patterns(data: pd.DataFrame, names: Sequence[str], size: int) -> float:
    """The share of the records in a pattern of some columns that fewer than so many have."""
    if not names:
        return 0.0
    return float(
        (
            data.groupby(list(names), observed=True, dropna=False)[names[0]].transform("size")
            < size
        ).mean()
    )


def _of_convergence(study: Study, label: str, convergence: pd.DataFrame) -> Iterator[Advice]:
    """As many draws as the least effective sample size asks for, twice as many at least."""
    rows = deciding_rows(convergence[convergence["label"] == label])
    sampling, least = study.sampling, rows["ess_bulk"].min()
    missed = int((rows["converged"].astype(str) != "True").sum())
    times = 2.0 if not least > 0 else max(2.0, 1.5 * ESS_LIMIT / float(least))
    reason = (
        f"{label}: {missed} of {len(rows)} judged quantities did not converge, from "
        f"{sampling.chains} x {sampling.draws} draws"
    )
    if sampling.draws >= _MOST_DRAWS:
        yield Advice(
            reason,
            "more draws will hardly help: a simpler model, such as fewer components or predictors",
        )
        return
    draws, tune = (
        int(min(max(np.ceil(times * count / 100) * 100, _FEWEST_DRAWS), _MOST_DRAWS))
        for count in (sampling.draws, sampling.tune)
    )
    yield Advice(
        reason,
        f"longer chains: [sampling] draws = {draws}, tune = {tune}",
        partial(
            with_settings,
            section="sampling",
            draws=draws,
            tune=tune,
            chains=max(sampling.chains, 4),
        ),
    )


def _unjudged_model(study: Study) -> Iterator[Advice]:
    if study.weights.survey is not None:
        yield Advice(
            "the model is not judged: survey weights depart from the data as sampled",
            "run it once without weights.survey to judge the model",
        )
        return
    yield Advice(
        "the model is not judged: no fit is unweighted",
        f'"{UNWEIGHTED}" first in [weights] schemes',
        partial(with_settings, section="weights", schemes=[UNWEIGHTED, *study.weights.schemes]),
    )


def _of_misfit(study: Study, data: pd.DataFrame, checks: pd.DataFrame) -> Iterator[Advice]:
    """Codes among amounts first, then what the study lacks, then another model, then predictors
    that bend.
    """
    missed = missed_checks(checks)
    reason = "; ".join([missed, *worst_misfits(checks, 1)])
    codes = list(_codes(study, data, missed))
    if codes:
        yield from codes
        return
    lacks = find_lacks(study, data)
    if lacks:
        yield from (Advice(f"{reason}; {lack.reason}", lack.what, lack.change) for lack in lacks)
        return
    other = _other_models(study, data)
    if other:
        said = ", ".join(f"{name}: {settings['model']}" for name, settings in other.items())
        yield Advice(
            reason,
            f"the model that suits the type of its values ({said})",
            partial(with_models, other=other),
        )
        return
    straight = _straight(study, data)
    if straight:
        yield Advice(
            reason,
            f"nonlinear effects: spline({', '.join(straight)})",
            partial(with_splines, names=straight),
        )
        return
    if study.synthesizer.formula is None:
        yield Advice(
            reason,
            "a variable of [synthesizer.variables] that misfits takes another model, or a "
            "formula: the report shows where",
        )
        return
    yield Advice(
        reason,
        f'[synthesizer] name = "{AUTO}": the run compares the models that take the data',
        with_choice,
    )


def _of_risk(
    study: Study, data: pd.DataFrame, reason: Verdict, reasons: pd.DataFrame
) -> Iterator[Advice]:
    """The fewest predictors without which the figure keeps to its limit, or those that lower it
    most.
    """
    told = (
        told_by(reasons)
        or f"{reason.label}: {reason.statistic.key} is {reason.value:.2f}, over its limit"
    )
    limit = reason.limit.at_most if reason.limit is not None else None
    sources = reasons[(reasons["kind"] == "predictor") & (reasons["share"] >= COUNTS)].copy()
    if not len(sources):
        one = (
            reasons[(reasons["kind"] == "predictor") & ~reasons["names"].str.contains(", ")]
            if len(reasons)
            else reasons
        )
        guess = (
            f"; without any one predictor it is {one['without'].min():.2f} at least"
            if len(one)
            else ""
        )
        yield Advice(
            told,
            f"no predictor accounts for it{guess}: it is inference, which no weight that keeps "
            "the model unbiased lowers; ask the "
            "board whether a limit of disclosure is meant (METHODS section 13.1)",
        )
        return
    sources["count"] = sources["names"].str.count(", ") + 1
    enough = sources[sources["without"] <= (limit if limit is not None else np.inf)].sort_values(
        ["count", "without"]
    )
    chosen: Any = (enough if len(enough) else sources.sort_values("without")).iloc[0]
    names = [name for name in chosen["names"].split(", ") if name in data.columns]
    leaves = [
        name for name in names if name in study.release.columns and name not in study.scenario.known
    ]
    also = (
        f" and {_named(leaves)} out of [release] columns, since who has it predicts as well"
        if leaves
        else ""
    )
    after = f"the figure falls to about {chosen['without']:.2f} ({chosen['figure']:.2f} now)"
    beyond_it = "" if len(enough) or limit is None else f"; {limit:g} stays out of reach"
    yield Advice(
        told,
        f"leave {_named(names)} out of what predicts{also}: {after}{beyond_it}",
        partial(without_columns, names=names),
    )


def _of_cost(
    study: Study,
    data: pd.DataFrame,
    reason: Verdict,
    verdicts: Sequence[Verdict],
    tables: Mapping[str, pd.DataFrame],
) -> Iterator[Advice]:
    """Weaker weights where the unweighted fit keeps to the limit, otherwise another model."""
    own = [each for each in find_failures(verdicts, UNWEIGHTED) if each.limit == reason.limit]
    figure = f"{reason.label}: {reason.statistic.key} is {reason.value:.3g}"
    if own and UNWEIGHTED in study.weights.schemes:
        yield from _of_misfit(study, data, tables["fit_check"])
        return
    weaker = _weaker(reason.label)
    yield Advice(
        f"{figure}: the weights are too strong for this limit, which the unweighted fit keeps",
        f"{weaker} in place of {reason.label} in [weights] schemes",
        partial(with_scheme, old=reason.label, new=weaker),
    )


def _weaker(scheme: str) -> str:
    """A centred scheme with a floor in place of one without; half as strong where it is one
    already.
    """
    parsed = parse_scheme(scheme)
    if parsed.name == "mix+":
        return f"mix+(t={parsed.settings['t'] / 2:g})"
    return "mix+(t=0.5)"


def _other_models(study: Study, data: pd.DataFrame) -> dict[str, dict[str, str]]:
    """By variable the model that suits its type, where the study has another one, with what bounds
    it.
    """
    if study.guarantee is not None or study.synthesizer.name == AUTO:
        return {}
    columns = look_at(
        data, study.data.described, kinds_of(data, study.data.described, study.data.kinds)
    )
    if not all(column.usable for column in columns if column.name in study.variables):
        return {}
    found = suggest(data, columns, study.variables)
    other: dict[str, dict[str, Any]] = {}
    for name in study.variables:
        own = study.synthesizer.settings.get("variables", {}).get(name, {})
        now = study.synthesizer.name if study.synthesizer.formula else own.get("model")
        if now is not None and found.models.get(name) and now != found.models[name]:
            bounds = found.found_bounds(name)
            other[name] = {"model": found.models[name]} | (
                {} if bounds is None else {"support": list(bounds.support)}
            )
    return other


def _straight(study: Study, data: pd.DataFrame) -> list[str]:
    """Numeric predictors of many values that enter a formula as a line."""
    if study.synthesizer.formula is None:
        return []
    terms = terms_of(split_formula(study.synthesizer.formula).right)
    columns = {column.name: column for column in look_at(data, only=study.synthesizer.columns)}
    return [name for name, column in columns.items() if column.bends and quote_name(name) in terms]
