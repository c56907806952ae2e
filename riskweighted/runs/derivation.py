"""What a study says of columns that give a synthesized variable away: which are looked at, which are declared, and what is refused."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from riskweighted.common.errors import DerivedWarning, InputError, listing
from riskweighted.derivation.derived import REFUSE, derived
from riskweighted.derivation.judging import COARSENING, STATUS
from riskweighted.runs.study import AUTO, Study

__all__ = ["check_derived", "how_told", "refuse_derived"]

_ADVICE = (
    "leave one of them out of release.columns and scenario.known, coarsen it, or say why it may leave: [release] derived = "
    '{column = "the reason"}, for each of them'
)


def check_derived(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse columns that give a synthesized variable away and are not declared; warn (`DerivedWarning`) of the declared ones, and of those
    that predict it best."""
    rows = list(_told(study, confidential))
    best = {row["target"]: row for row in sorted(rows, key=lambda row: float(row["recovered"])) if row["verdict"] != REFUSE}
    for row in rows:
        if row["verdict"] != REFUSE and row is not best[row["target"]]:
            continue
        columns, how = listing(row["columns"]), f"{row['target']!r}: {how_told(row)}"
        if row["verdict"] != REFUSE:
            known = "released unaltered" if study.guarantee is None else "public"
            message = f"{known}, {columns} predicts the synthesized {how}"
        elif _is_declared(study, row):
            reasons = "; ".join(dict.fromkeys(study.release.derived[name] for name in row["columns"]))
            message = f"released unaltered, {columns} gives away the synthesized {how}; declared in release.derived: {reasons}"
        else:
            raise _refusal(study, row)
        warnings.warn(message, DerivedWarning, stacklevel=3)


def refuse_derived(study: Study, confidential: pd.DataFrame) -> None:
    """The same without a word of what is not refused, before a release."""
    for row in _told(study, confidential):
        if row["verdict"] == REFUSE and not _is_declared(study, row):
            raise _refusal(study, row)


def how_told(row: Mapping[str, Any]) -> str:
    """A row of `derived` in words."""
    return f"{row['relation']} ({row['rule']}; {100 * row['recovered']:.0f} % of the records, {100 * row['base']:.0f} % without)"


def _refusal(study: Study, row: Mapping[str, Any]) -> InputError:
    one = len(row["columns"]) == 1
    are = "is to be released unaltered, but it gives" if one else "are to be released unaltered, but together they give"
    advice = _advice(one)
    if study.guarantee is not None:
        are = "gives" if one else "together give"
        advice = f"no reason makes {'it' if one else 'them'} public: take {'it' if one else 'one of them'} out of model and release"
    return InputError(f"{_subject(row['columns'])} {are} away the synthesized {row['target']!r}: {how_told(row)}; {advice}")


def _advice(one: bool) -> str:
    return _ADVICE.replace("leave one of them out", "leave it out").replace(", for each of them", "") if one else _ADVICE


def _subject(columns: tuple[str, ...]) -> str:
    return f"the column {columns[0]!r}" if len(columns) == 1 else f"the columns {listing(columns)}"


def _is_declared(study: Study, row: Mapping[str, Any]) -> bool:
    """By a reason, which nothing has under a guarantee."""
    return study.guarantee is None and all(name in study.release.derived for name in row["columns"])


def _told(study: Study, confidential: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """What columns that leave unaltered tell of the synthesized variables; under a guarantee also what is declared public does.

    What a rule `when` states is a declaration, and relations among synthesized variables are rules of the chain.
    """
    tested = study.unaltered(confidential)
    strange = [name for name in study.release.derived if name not in tested and name not in study.synthesizer.columns]
    if strange:
        raise InputError(f"release.derived names {listing(strange)}, which does not leave unaltered; valid are {listing(tested)}")
    if study.guarantee is not None:
        read = dict.fromkeys([*study.guarantee.public, *study.synthesizer.columns])
        tested += [name for name in read if name in confidential.columns and name not in [*tested, *study.variables]]
    scenario, stated = study.evaluating_scenario(), _stated(study)
    numbers = [name for name in study.variables if scenario.is_numeric(confidential[name])]
    reach = {name: scenario.radius_of(name) for name in numbers}
    absolute = {name for name in numbers if scenario.kind_of(name) == "absolute"}
    table = derived(
        confidential,
        study.variables,
        [name for name in scenario.known if name in tested],
        tested,
        radius={name: 0.0 if name in absolute else reach.get(name, 0.0) for name in study.variables},
        min_radius={name: max(scenario.min_radius, reach[name] if name in absolute else 0.0) for name in study.variables},
        codes={name: scenario.codes_of(name) for name in study.variables},
        categorical=scenario.categorical,
    )
    for row in table.to_dict("records"):
        if row["rule"] not in (STATUS, COARSENING) or not set(row["columns"]) <= stated.get(row["target"], set()):
            yield row


def _stated(study: Study) -> dict[str, set[str]]:
    """By variable the columns that its rule `when` looks at."""
    rules = None if study.synthesizer.name == AUTO else getattr(study.make_synthesizer(), "rules", None)
    return {} if rules is None else {structure.variable: set(structure.when.names) for structure in rules.structures}
