"""What a study does not say of its file, and the file says of itself: codes, identifiers, survey
weights, recodes, names.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from riskweighted.common.errors import listing
from riskweighted.data.foreign import takes_name
from riskweighted.derivation.find import MOST_COLUMNS, FoundStructure, find_structure
from riskweighted.measures.survey_values import differing
from riskweighted.runs.release_remarks import release_remarks
from riskweighted.runs.study import Study
from riskweighted.suggest.columns import ColumnSummary, look_at
from riskweighted.suggest.evidence import NUMBER, RECORD_ID, UNIT_ID, ColumnKind
from riskweighted.suggest.kinds import kinds_of
from riskweighted.suggest.survey_columns import find_survey_columns

__all__ = ["known_codes", "likely_codes", "remarks", "with_unstated"]

_MOST = 5  # columns of which recodes are told


def remarks(
    study: Study,
    data: pd.DataFrame,
    found: FoundStructure | None = None,
    kinds: Sequence[ColumnKind] | None = None,
) -> list[str]:
    """A sentence each, for who wrote the study; counts and shares, no value of the data. Under a
    guarantee nothing is looked for.

    `found`, `kinds`: what holds together in the file, and what its columns are, where somebody has
    looked already.
    """
    if study.guarantee is not None:
        return []
    used = study.synthesizer.columns_among(data.columns)
    looked_at = dict.fromkeys([*study.variables, *study.unaltered(data), *used])
    kinds = kinds_of(data, study.data.described, study.data.kinds) if kinds is None else kinds
    codes = likely_codes(
        look_at(data, study.data.described, kinds, study.variables), known_codes(study)
    )
    told = [
        *release_remarks(study, data, kinds),
        *(f"{each}: name them in [scenario] codes, as `init` does" for each in codes),
        *_undescribed(study, data),
        *_identifiers(study, kinds, looked_at),
        *_weights(study, data, kinds),
        *_of_design(study, data),
        *_recodes(study, data, used, found),
    ]
    return [*told, *_unnameable([*study.unaltered(data), *study.variables])]


def _unnameable(names: Sequence[str]) -> Iterator[str]:
    """Columns that leave and that a file of a package cannot name."""
    refused = {
        ending: [name for name in names if not takes_name(name, ending)]
        for ending in (".dta", ".sav", ".xpt")
    }
    kinds = {ending: listing(wrong) for ending, wrong in refused.items() if wrong}
    if kinds:
        told = "; ".join(f"{ending} {wrong}" for ending, wrong in kinds.items())
        yield (
            f"names that a format cannot hold, so that `release --format` refuses them ({told}): "
            "rename them in the data"
        )


def _undescribed(study: Study, data: pd.DataFrame) -> Iterator[str]:
    """What the file of variables says of columns that are not there."""
    unknown = [name for name in study.data.described or () if name not in data]
    if unknown:
        yield f"[data] variables describes {listing(unknown)}, and the data has no such column"


def likely_codes(
    columns: Iterable[ColumnSummary],
    stated: Mapping[str, Collection[float]],
    uses: Collection[str] = (NUMBER,),
) -> Iterator[str]:
    """Of numbers, the likely codes none of which is stated: how many, and how many records have
    them; `uses`: of which kinds.
    """
    for column in with_unstated(columns, stated, uses):
        number = f"{len(column.codes)} likely code{'s' if len(column.codes) > 1 else ''}"
        yield (
            f"{column.name} has {number} ({100 * column.of_codes:.0f} % of the records), counted "
            "among its amounts"
        )


def with_unstated(
    columns: Iterable[ColumnSummary],
    stated: Mapping[str, Collection[float]],
    uses: Collection[str] = (NUMBER,),
) -> Iterator[ColumnSummary]:
    """Of numbers, those with likely codes none of which is stated."""
    for column in columns:
        if (
            column.kind in uses
            and column.codes
            and not np.isin(column.codes, list(stated.get(column.name, ()))).any()
        ):
            yield column


def known_codes(study: Study) -> dict[str, list[float]]:
    """By variable the codes that a study states, of its scenario or its chain."""
    return {
        name: [*study.scenario.codes_of(name), *study.synthesizer.codes.get(name, ())]
        for name in study.variables
    }


def _identifiers(study: Study, kinds: Sequence[ColumnKind], used: Collection[str]) -> Iterator[str]:
    """Columns that leave, or predict, and tell one record from every other, or one unit."""
    keys = [
        of.name
        for of in kinds
        if of.kind == RECORD_ID and of.name in used and of.name not in study.variables
    ]
    if keys:
        yield (
            f"{listing(keys)}: nearly every record has a value of its own, so that it names "
            "single ones, and `release` refuses it: leave "
            "it out of [release] columns and of what predicts"
        )
    units = [of.name for of in kinds if of.kind == UNIT_ID and of.name in study.synthesizer.columns]
    if units:
        yield (
            f"{listing(units)}: groups records, as an id of households or firms does, and "
            "predicts: [data.kinds] says so if it is none"
        )


def _weights(study: Study, data: pd.DataFrame, kinds: Sequence[ColumnKind]) -> Iterator[str]:
    """Columns that are called like those of a survey's design, of which the study says nothing."""
    found = find_survey_columns(data, [of for of in kinds if of.name not in study.variables])
    asked = study.evaluation
    if found.weight is not None and study.weights.survey is None and asked.survey is None:
        yield (
            f"{found.weight!r}: called like survey weights, and not used as such: [weights] "
            "survey, [evaluation] survey"
        )
    if asked.survey is not None and asked.replicates is None:
        named = {"strata": found.strata, "psu": found.psu}
        told = [
            f"{setting} = {column!r}"
            for setting, column in named.items()
            if column is not None and getattr(asked, setting) is None
        ]
        if told:
            yield (
                "the design is known in part: the file has columns called like [evaluation] "
                f"{', '.join(told)}"
            )


def _of_design(study: Study, data: pd.DataFrame) -> Iterator[str]:
    """Survey weights, strata and primary units that differ within units."""
    if study.units is None:
        return
    of, asked = study.units.arranged(data), study.evaluation
    weights = dict.fromkeys(filter(None, [study.weights.survey, asked.survey]))
    do = dict.fromkeys(weights, "members have their own, and what is of the unit the mean")
    do |= dict.fromkeys(filter(None, [asked.strata, asked.psu]), "they count as one in each")
    for name, done in do.items():
        if count := len(differing(data[name], of)):
            yield f"{name!r} differs within {count} of {len(of.sizes)} units: {done}"


def _recodes(
    study: Study, data: pd.DataFrame, used: Sequence[str], found: FoundStructure | None
) -> Iterator[str]:
    """Predictors that follow from another one."""
    names = [name for name in used if name not in study.variables][:MOST_COLUMNS]
    if len(names) < 2:
        return
    follow = (find_structure(data, names) if found is None else found.among(names)).recodes
    told = [f"{name} from {of}" for name, of in follow.items()][:_MOST]
    if told:
        yield f"predictors that follow from another one: {', '.join(told)}: one of each is enough"
