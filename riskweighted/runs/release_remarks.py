"""What is said of a study before anything else: what a release of one column is, columns of the
design on offer, targets of one another.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from riskweighted.common.errors import listing
from riskweighted.common.frames import as_floats
from riskweighted.common.ranks import order_alike
from riskweighted.derivation.derived import REFUSE, derived
from riskweighted.derivation.disclosure_findings import EXACT
from riskweighted.runs.study import Study
from riskweighted.suggest.evidence import DESIGN, NUMBER, RECORD_ID, UNIT_ID, WEIGHT, ColumnKind
from riskweighted.suggest.roles import patterns_of, sample_records
from riskweighted.weights.scheme_names import FILE, OWN, PUBLIC, parse_scheme
from riskweighted.weights.user_weights import source_of

__all__ = ["ids_first", "release_remarks"]

_ALIKE = 0.99  # rank correlation of a function that rises or falls; others are not looked for
_OFFERED = (WEIGHT, DESIGN)
_READ = {
    None: "tried without twenty records each",
    PUBLIC: "stated to read no value that is synthesized",
    OWN: "stated to read the record's own value alone",
    FILE: "taken to read others' values: what their datasets disclose is not judged for a column",
}
_MOST_OFFERED = 3  # columns of the design that are named: replicate weights are hundreds
_NEARLY = 0.995  # of the records, that a number of members tells apart

# what a column of groups is of given units
_THE_SAME, _NUMBERS, _WHOLE, _OTHER = "the same", "numbers members", "of whole units", "other"


def release_remarks(study: Study, data: pd.DataFrame, kinds: Sequence[ColumnKind]) -> list[str]:
    """A sentence each, in this order: of weights that are the user's; of a release of one column,
    or of none unaltered; what units group; targets that are functions of others; columns of the
    design that analysts of a survey need, each with the records that it singles out.
    """
    return [
        *_own_weights(study),
        *_few(study, data),
        *_units(study, data, kinds),
        *_functions(study, data, kinds),
        *_offers(study, data, kinds),
    ]


def ids_first(names: Sequence[str], kinds: Sequence[ColumnKind]) -> list[str]:
    """Names with those of records and units before the others."""
    ids = {of.name for of in kinds if of.kind in (RECORD_ID, UNIT_ID)}
    return sorted(names, key=lambda name: name not in ids)


def _own_weights(study: Study) -> Iterator[str]:
    """Whose weights they are, and what they are taken to depend on."""
    stated = study.weights.depends
    for scheme in study.weights.own:
        of_column = parse_scheme(scheme).column is not None
        read = _READ[FILE if of_column and stated is None else stated]
        yield f"weights of {scheme} are yours ({source_of(scheme)}), {read} (weights.depends)"


def _few(study: Study, data: pd.DataFrame) -> Iterator[str]:
    if len(study.released(data)) == 1:
        yield f"analysts get {study.variables[0]} alone: name columns in [release]"
    elif not study.unaltered(data):
        yield (
            "no column is released unaltered: analysts cannot compare groups; name columns in "
            "[release]"
        )


def _units(study: Study, data: pd.DataFrame, kinds: Sequence[ColumnKind]) -> Iterator[str]:
    """Ids of units that the study does not name, nor others of the same units, each with how many
    it groups; not what numbers the members of those that it names.
    """
    asked = study.evaluation
    stated = (study.release.unit, study.weights.cluster, asked.cluster)
    named = {name for name in stated if name is not None and name in data}
    for of in kinds:
        if of.kind != UNIT_ID or of.name not in data or of.name in (asked.psu, asked.strata):
            continue
        relations = {_of_units(data, of.name, other) for other in named}
        if relations & {_THE_SAME, _NUMBERS}:
            continue
        told = f"{of.name} groups {data[of.name].nunique():,} units in {len(data):,} records"
        if _WHOLE in relations:
            yield (
                f"{told}, each made of whole units of {listing(sorted(named))}: state it as "
                "[evaluation] psu if such groups were sampled"
            )
            continue
        drawn = (
            ""
            if study.synthesizer.formula is not None
            else f"[units] id = {of.name!r} draws the members of each together, as they are "
            "not without; "
        )
        yield (
            f"{told}: {drawn}[release] unit = {of.name!r} leaves out whole "
            "ones where records are held out"
        )


def _of_units(data: pd.DataFrame, one: str, units: str) -> str:
    """What a column is of given units: the same ones, a number of their members, groups of whole
    units, or none of these.
    """
    together, alone, of_units = (
        patterns_of(data, names)[0] for names in ([one, units], [one], [units])
    )
    if together == of_units:
        return _THE_SAME if alone == together else _WHOLE
    return _NUMBERS if together >= _NEARLY * len(data) else _OTHER


def _functions(study: Study, data: pd.DataFrame, kinds: Sequence[ColumnKind]) -> Iterator[str]:
    """Targets that earlier ones determine."""
    some = sample_records(data)
    codes = {
        name: [*study.scenario.codes_of(name), *study.synthesizer.codes.get(name, ())]
        for name in study.variables
    }
    numbers = {
        of.name: as_floats(some[of.name])
        for of in kinds
        if of.kind == NUMBER and of.name in study.variables
    }
    numbers = {
        name: np.where(np.isin(values, codes[name]), np.nan, values)
        for name, values in numbers.items()
    }
    for place, name in enumerate(study.variables[1:], 1):
        near = [
            of
            for of in study.variables[:place]
            if of in numbers
            and name in numbers
            and order_alike(numbers[of], numbers[name]) >= _ALIKE
        ]
        table = (
            derived(some, [name], released=near, codes=codes)
            if near
            else pd.DataFrame(columns=["verdict", "rule"])
        )
        rows = table[(table["verdict"] == REFUSE) & (table["rule"] == EXACT)]
        if len(rows):
            yield (
                f"{name} is a function of {listing(rows.iloc[0]['columns'])}: synthesize one, "
                "compute the other from what is synthetic"
            )


def _offers(study: Study, data: pd.DataFrame, kinds: Sequence[ColumnKind]) -> Iterator[str]:
    """Weights, strata and primary units that stay, with how many records are alone in what leaves
    without and with each.
    """
    leaving = study.unaltered(data)
    staying = [
        of for of in kinds if of.kind in _OFFERED and of.name in data and of.name not in leaving
    ]
    alone = patterns_of(data, leaving)[1] if staying else 0
    told = [
        f"{of.name} ({of.kind}) {patterns_of(data, [*leaving, of.name])[1]:,}"
        for of in staying[:_MOST_OFFERED]
    ]
    if told:
        more = f", and {len(staying) - len(told)} more" if len(staying) > len(told) else ""
        now = f"{alone:,} record{' is' if alone == 1 else 's are'} alone in what is released"
        yield (
            f"of a survey analysts need its design: {now} now, with {', '.join(told)}{more} "
            "([release] columns)"
        )
