"""What a study by parts cannot do, said before anything is read; and which columns it reads."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from riskweighted.common.errors import (
    FewRecordsWarning,
    FlatWeightsWarning,
    InputError,
    MarginShiftWarning,
    SingletonWarning,
    SparseLevelWarning,
    listing,
)
from riskweighted.contract.synthesizer import takes_counts
from riskweighted.data.parts import Parts
from riskweighted.design.formulas import uses_all_records
from riskweighted.parts.regressions import formulas_of
from riskweighted.runs.checked import check_study
from riskweighted.runs.finished import OURS
from riskweighted.runs.study import AUTO, Study
from riskweighted.utility.regressions import split_regression
from riskweighted.weights.names import is_centred, parse_scheme
from riskweighted.weights.schemes import scheme_source

__all__ = ["BASE", "BYTES", "check_sample", "columns_read", "refuse_what_is_not_by_parts"]

# that a worker needs for a record of the bucket at hand, and without any (benchmarks/parts.py)
BYTES, BASE = 3_500.0, 5e8
# records and pieces on which a study is checked before anything runs
_SAMPLE, _PIECES = 100_000, 20
# whose weights are made of the values of all records
_OF_ALL = ("delete", "lipschitz", "reweighted")


def refuse_what_is_not_by_parts(study: Study) -> None:
    """Refuse settings that need all records at once."""
    if len(study.variables) > 1:
        raise InputError(
            f"the study synthesizes {listing(study.variables)}, and by parts one variable is "
            "fitted from counts; valid is one variable, or "
            "data in one file"
        )
    if study.synthesizer.name == AUTO:
        raise InputError(
            "synthesizer.name = 'auto' compares models on all records; by parts name one"
        )
    declared: Any = study.make_synthesizer()
    if not takes_counts(declared):
        raise InputError(
            f"{study.synthesizer.name!r} is not fitted from counts (its prepare has no counts), "
            "so not by parts"
        )
    asked = {
        "weights.target": study.weights.target,
        "weights.cluster": study.weights.cluster,
        "weights.survey": study.weights.survey,
        "evaluation.cluster": study.evaluation.cluster,
        "evaluation.survey": study.evaluation.survey,
        "evaluation.analyses": study.evaluation.analyses or None,
        "release.unit": study.release.unit,
        "guarantee": study.guarantee,
        "data.variables": study.data.variables,
        **dict(study.baselines.items()),
    }
    given = [name for name, value in asked.items() if value is not None]
    if given:
        raise InputError(
            f"{listing(given)}: not possible by parts; leave out, or put the data in one file"
        )
    for formula in formulas_of(study):
        if uses_all_records(split_regression(formula).plain):
            raise InputError(
                f"regression {formula!r} has a function that depends on all records, which are "
                "not there at once; valid are columns, "
                "C(), log(), log1p(), sqrt() and exp()"
            )
    for scheme in study.weights.schemes:
        name = parse_scheme(scheme).plain.name
        if name in _OF_ALL:
            raise InputError(
                f"scheme {scheme!r} is made of the values of all records at once, so not by "
                "parts; 'mix(t=0.5)' and others are not"
            )
        if is_centred(scheme) and scheme_source(scheme) is not None:
            raise InputError(
                f"scheme {scheme!r} is centred and made of a fit, which is not done by parts; "
                "valid is 'mix+(t=0.5)'"
            )


def columns_read(study: Study, parts: Parts) -> list[str]:
    """What the intruder knows, the model reads, the evaluation names, and what leaves: columns in
    the order of the parts.
    """
    named = {
        *study.scenario.known,
        *study.variables,
        *study.synthesizer.columns_among(parts.types),
        *study.release.columns,
        *(name for formula in formulas_of(study) for name in split_regression(formula).names),
    }
    needed = [*named, *([] if study.data.id is None else [study.data.id])]
    parts.require(needed)
    if taken := [name for name in parts.types if name.startswith(OURS)]:
        raise InputError(
            f"the parts have a column {taken[0]!r}: names that begin with {OURS!r} are ours, so "
            "rename it"
        )
    if study.data.id in named:
        raise InputError(
            f"data.id names {study.data.id!r}, which the study synthesizes, releases, or reads "
            "as known, predictor or of a regression: an "
            "identifier is none of these, so leave it out there, or name another column"
        )
    return [name for name in parts.types if name in named]


def check_sample(study: Study, parts: Parts, columns: Sequence[str]) -> pd.DataFrame:
    """Check a study on evenly spaced records of some pieces, which are returned: what is wrong with
    it is said before anything runs.

    What these records lack, such as a level, others may have: where they do not pass, some of all
    pieces are looked at.
    """
    sample = parts.sample(columns, _SAMPLE, _PIECES)
    try:
        _check(study, sample)
    except InputError:
        if len(sample) == parts.records:
            raise
        sample = parts.witnesses(columns, _SAMPLE)
        _check(study, sample)
    return sample


def _check(study: Study, sample: pd.DataFrame) -> None:
    """Refuse a study that does not suit some records of its data."""
    if study.scenario.singletons == "error":  # which the whole file is asked for
        study = replace(study, scenario=replace(study.scenario, singletons="protect"))
    with warnings.catch_warnings():
        for category in (
            SparseLevelWarning,
            SingletonWarning,
            MarginShiftWarning,
            FlatWeightsWarning,
            FewRecordsWarning,
        ):
            warnings.simplefilter("ignore", category)  # a sample has more of them
        check_study(study, sample)
