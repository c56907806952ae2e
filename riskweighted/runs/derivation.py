"""What a study says of columns that give a synthesized variable away: which are looked at, which
are declared, and what is refused.

Looked at is whatever leaves unaltered and whatever the model reads: values drawn given a copy of
the target are the target."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from riskweighted.common.errors import DerivedWarning, InputError, listing
from riskweighted.derivation.derived import REFUSE, derived, how_told
from riskweighted.derivation.disclosure_findings import COARSENING, PREDICTED, STATUS, UNIVERSE
from riskweighted.runs.file_order import order_told
from riskweighted.runs.study import AUTO, Study
from riskweighted.sequence.edit_rule_kinds import Rule, Structure

__all__ = [
    "RELEASE_OR_STRIKE",
    "check_derived",
    "refuse_derived",
    "refuse_order",
    "refuse_told_by_rules",
    "told_by_rules",
    "undeclared_columns",
]

_ADVICE = (
    "leave {it} out of {places}, coarsen it, or say why it may {do}: [release] derived = "
    '{{column = "the reason"}}{each}'
)
RELEASE_OR_STRIKE = "release that, or leave the rule out"
_LEAVES, _PREDICTS = "release.columns and scenario.known", "the model's formula or predictors"


def check_derived(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse columns that give a synthesized variable away and are not declared; warn
    (`DerivedWarning`) of the declared ones, and of those that predict it best, of universes, and of
    variables that cannot be judged."""
    rows = list(_told(study, confidential))
    predicted = [row for row in rows if row["rule"] == PREDICTED and row["columns"]]
    best = {
        row["target"]: row for row in sorted(predicted, key=lambda row: float(row["recovered"]))
    }
    for row in rows:
        if row["verdict"] == REFUSE and not _is_declared(study, row):
            raise _refusal(study, row)
    refuse_told_by_rules(study, confidential)
    for row in rows:
        if row["verdict"] == REFUSE:
            reasons = "; ".join(
                dict.fromkeys(study.release.derived[name] for name in row["columns"])
            )
            message = (
                f"{_named(study, row)} discloses the synthesized {row['target']!r}: "
                f"{how_told(row)}; "
            )
            message += f"declared in release.derived: {reasons}"
        elif row["rule"] != PREDICTED or not row["columns"] or row is best[row["target"]]:
            message = _remark(study, row)
        else:
            continue
        warnings.warn(message, DerivedWarning, stacklevel=3)
    refuse_order(study, confidential)


def _named(study: Study, row: Mapping[str, Any]) -> str:
    """The columns of a row, and what they are to a study."""
    return f"{_part(study, row)}, {listing(row['columns'])}"


def _remark(study: Study, row: Mapping[str, Any]) -> str:
    """A row of what is not refused, in one sentence."""
    target = row["target"]
    if not row["columns"]:
        return f"{target}: {row['relation']}"
    if row["rule"] == UNIVERSE:
        stated = (
            f"if nobody is asked there, a chain may say so: [synthesizer.variables.{target}] "
            f'applies_if = "..." of {listing(row["columns"])}'
        )
        return (
            f"{_named(study, row)}: {row['relation']} of the synthesized {target!r}; {stated}, "
            'else_value = "missing"'
        )
    does = "predicts" if row["rule"] == PREDICTED else "discloses part of"
    return f"{_named(study, row)} {does} the synthesized {target!r}: {how_told(row)}"


def _part(study: Study, row: Mapping[str, Any]) -> str:
    """What the columns of a row are to a study."""
    if study.guarantee is not None:
        return "public"
    hidden = [name for name in row["columns"] if name in row["hidden"]]
    if not hidden:
        return "released unaltered"
    return (
        "in the model"
        if len(hidden) == len(row["columns"])
        else "released unaltered or in the model"
    )


def refuse_derived(study: Study, confidential: pd.DataFrame) -> None:
    """The same without a word of what is not refused, before a release."""
    for row in _told(study, confidential):
        if row["verdict"] == REFUSE and not _is_declared(study, row):
            raise _refusal(study, row)
    refuse_told_by_rules(study, confidential)
    refuse_order(study, confidential)


def refuse_told_by_rules(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse a rule that every dataset keeps and that looks at a column which does not leave
    (`told_by_rules`).
    """
    for staying, why in told_by_rules(study, confidential):
        it = "it" if len(staying) == 1 else "they"
        raise InputError(
            f"{why}; {RELEASE_OR_STRIKE}, or say why {it} may be disclosed: [release] hidden = "
            '{column = "the reason"}'
        )


def told_by_rules(study: Study, confidential: pd.DataFrame) -> Iterator[tuple[list[str], str]]:
    """Columns that do not leave and that a rule of the chain looks at, and what that gives away:
    every dataset keeps to the rule, so that the columns which leave tell of each record on which
    side of it it is.

    Not what ``release.hidden`` declares with a reason, nor what a guarantee declares public.
    """
    public = () if study.guarantee is None else study.guarantee.public
    spared = {*study.released(confidential), *study.release.hidden, *public}
    for rule in _rules(study):
        staying = [name for name in rule.names if name in confidential and name not in spared]
        if staying:
            verb = "is" if len(staying) == 1 else "are"
            yield (
                staying,
                f"every dataset keeps to the rule {rule.text!r}, which discloses what {verb} not "
                f"released: {listing(staying)}",
            )


def refuse_order(study: Study, confidential: pd.DataFrame) -> None:
    """Refuse a column that leaves unaltered and tells the order of the file, and with it a
    synthesized variable.
    """
    for line in order_told(study, confidential):
        raise InputError(line)


def undeclared_columns(
    study: Study, confidential: pd.DataFrame
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Columns that give a synthesized variable away and are not declared, and how they do."""
    for row in sorted(_told(study, confidential), key=lambda row: -float(row["recovered"])):
        if row["verdict"] == REFUSE and not _is_declared(study, row):
            yield (
                tuple(row["columns"]),
                f"{'discloses' if len(row['columns']) == 1 else 'together disclose'} "
                f"{row['target']}: {how_told(row)}",
            )


def _refusal(study: Study, row: Mapping[str, Any]) -> InputError:
    one = len(row["columns"]) == 1
    hidden = [name for name in row["columns"] if name in row["hidden"]]
    subject = _subject(row["columns"])
    how = f"the synthesized {row['target']!r}: {how_told(row)}"
    if study.guarantee is not None:
        taken = (
            f"no reason makes {'it' if one else 'them'} public: take "
            f"{'it' if one else 'one of them'} out of model and release"
        )
        return InputError(f"{subject} {'discloses' if one else 'together disclose'} {how}; {taken}")
    doing = ["released unaltered"] * (len(hidden) < len(row["columns"])) + [
        "read by the model"
    ] * bool(hidden)
    subject += (
        f" {'is' if one else 'are'} to be {' or '.join(doing)}, but "
        f"{'it discloses' if one else 'together they disclose'} {how}"
    )
    universe = (
        f"; or, if who is asked is no secret, state it: [synthesizer.variables.{row['target']}] "
        'applies_if = "...", else_value = ...'
    )
    return InputError(
        f"{subject}; {_advice(one, doing)}{universe if row['rule'] == STATUS else ''}"
    )


def _advice(one: bool, doing: Sequence[str]) -> str:
    """What to do about one column or several, that leave, predict, or some this and some that."""
    leave, predict = doing[0] == "released unaltered", doing[-1] == "read by the model"
    places = " and ".join([_LEAVES] * leave + [_PREDICTS] * predict)
    do = " or ".join(["be released"] * leave + ["predict"] * predict)
    it, each = ("it", "") if one else ("one of them", ", for each of them")
    return _ADVICE.format(it=it, places=places, do=do, each=each)


def _subject(columns: tuple[str, ...]) -> str:
    return f"the column {columns[0]!r}" if len(columns) == 1 else f"the columns {listing(columns)}"


def _is_declared(study: Study, row: Mapping[str, Any]) -> bool:
    """By a reason, which nothing has under a guarantee."""
    return study.guarantee is None and all(name in study.release.derived for name in row["columns"])


def _told(study: Study, confidential: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """What columns that leave unaltered or that the model reads tell of the synthesized variables;
    under a guarantee also what is declared public does. ``hidden`` of a row: those of all of these
    columns that do not leave.

    What a rule `applies_if` states is a declaration, and relations among synthesized variables are
    rules of the chain.
    """
    leaving = study.unaltered(confidential)
    read = {
        *study.synthesizer.columns_among(confidential.columns),
        *(() if study.guarantee is None else study.guarantee.public),
    }
    hidden = [
        str(name) for name in confidential.columns if name in read - {*leaving, *study.variables}
    ]
    tested = [*leaving, *hidden]
    strange = [
        name for name in study.release.derived if name not in tested and name not in study.variables
    ]
    if strange:
        raise InputError(
            f"release.derived names {listing(strange)}, neither released nor predictors; valid "
            f"are {listing(tested)}"
        )
    in_rules = [name for rule in _rules(study) for name in rule.names if name in confidential]
    told = list(
        dict.fromkeys(
            name
            for name in [*hidden, *in_rules]
            if name not in leaving and name not in study.variables
        )
    )
    strange = [name for name in study.release.hidden if name not in (*told, *leaving)]
    if strange:
        raise InputError(
            f"release.hidden names {listing(strange)}, which nothing reads; valid are "
            f"{listing(told)}"
        )
    scenario, stated = study.evaluating_scenario(), _stated(study)
    numbers = [name for name in study.variables if scenario.is_numeric(confidential[name])]
    reach = {name: scenario.radius_of(name) for name in numbers}
    absolute = {name for name in numbers if scenario.kind_of(name) == "absolute"}
    table = derived(
        confidential,
        study.variables,
        [name for name in scenario.known if name in tested],
        tested,
        radius={
            name: 0.0 if name in absolute else reach.get(name, 0.0) for name in study.variables
        },
        min_radius={
            name: max(
                scenario.min_radius_of(name) if name in reach else 0.0,
                reach[name] if name in absolute else 0.0,
            )
            for name in study.variables
        },
        codes={name: scenario.codes_of(name) for name in study.variables},
        categorical=scenario.categorical,
    )
    for row in table.to_dict("records"):
        if row["rule"] not in (STATUS, UNIVERSE, COARSENING) or not set(
            row["columns"]
        ) <= stated.get(row["target"], set()):
            yield row | {"hidden": hidden}


def _rules(study: Study) -> tuple[Rule, ...]:
    """The rules that its chain declares."""
    rules = (
        None if study.synthesizer.name == AUTO else getattr(study.make_synthesizer(), "rules", None)
    )
    return () if rules is None else rules.rules


def _stated(study: Study) -> dict[str, set[str]]:
    """By variable the columns that its rule `applies_if` looks at."""
    return {
        rule.variable: set(rule.applies_if.names)
        for rule in _rules(study)
        if isinstance(rule, Structure)
    }
