"""What a whole release tells of persons beyond what it would tell had their values not been used
(METHODS section 13.1).

The computation is that of the room `riskweighted.disclosure`, which needs the fit, or runs on
folds; here are its numbers' names.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.measures.context import EvaluationInputs
from riskweighted.measures.measure import Aim, Disclosure, Estimate, Measure, Value

__all__ = ["MEASURES", "NAMING", "values_of_attribution", "values_of_hidden"]

_ALL, _ISOLATED = "all", "isolated"
_UNTOLD = 0.01  # share of the records above which a release is not judged, nor its largest D


def _largest(fit: Any, subject: EvaluationInputs, draws: int, seed: int) -> Estimate:
    """The largest D of one copy over records; NaN where it is not judged."""
    of_record = np.empty(0) if subject.disclosed is None else subject.disclosed(fit, seed)
    known = of_record[np.isfinite(of_record)]
    judged = len(known) > 0 and len(known) >= (1 - _UNTOLD) * len(of_record)
    return Estimate(float(known.max()) if judged else np.nan, np.nan)


NAMING = (
    "an attack on all L datasets as released, as a rule shuffled within released patterns, "
    "names the value: its ball, or level, by an "
    "attack from a fixed list that is chosen on the other half of the records"
)
_beyond = partial(
    Measure,
    source="METHODS section 13.1",
    direction="riskier",
    disclosure=Disclosure.SHARE,
    unbounded=True,
)
_mean = partial(
    _beyond,
    kind="distance",
    disclosure=Disclosure.THREE_DECIMALS,  # a difference of estimates, not a count of records
    boundary="It may fall below 0 by chance: then nothing was found.",
)
MEAN = _mean(
    "disclosure",
    "disclosure beyond inference",
    f"D: mean over records of T_with - T_out, the share of whom {NAMING}, less that share had "
    "the record's value not been used",
    order=1,
    main=1,
)
ISOLATED = _mean(
    "disclosure-isolated",
    "disclosure of isolated records",
    "D, mean over the 5 % of the records of highest confidential risk",
    order=2,
    main=2,
    share=0.05,
)
LARGEST = _beyond(
    "disclosure-largest",
    "largest disclosure of a record",
    "largest D of one copy over records, by importance weights; of own fits alone",
    kind="extreme",
    disclosure=Disclosure.LEFT_OUT,
    order=4,
    unbounded=False,
    aim=Aim("disclosure-largest", "largest disclosure of a record", "disclosure", _largest),
)
PERSONS = _beyond(
    "persons-disclosed",
    "persons disclosed, at most",
    "N: the larger of the number of records times the upper 95 % limit of D, and the records "
    "named less those named in reverse",
    kind="count",
    disclosure=Disclosure.COUNT,
    order=5,
    main=5,
    unbounded=False,
)
_share = partial(_beyond, kind="share", unbounded=False)
WITH = _share(
    "attack-success",
    "guessed from the release",
    f"T_with: share of the records of whom {NAMING}",
    order=6,
    main=6,
)
OUT = _share(
    "attack-success-leave-one-out",
    "guessed without the own value",
    "T_out: T_with had each record's value not been used, where T_with is the share of the "
    f"records of whom {NAMING}; that is inference",
    order=7,
)
NONE = _share(
    "attack-success-no-release",
    "guessed without a release",
    "T_none: share named by the best guess from public statistics of the other records, by ten "
    "folds; a yardstick of a perfect reference",
    direction="neither",
    order=8,
)
_count = partial(_beyond, kind="count", disclosure=Disclosure.COUNT, unbounded=False)
NAMED = _count(
    "identified-records",
    "records named",
    "records with more copies near their value than without it, by Fisher's one-sided test and "
    "Benjamini-Hochberg at 5 %",
    order=11,
)
RECORDS_PER_PARAMETER = _beyond(
    "records-per-parameter",
    "records per parameter",
    "n / P: records over parameters of the fit; where it is about L / 2 or less, weights do not "
    "show what the L datasets would be without "
    "most records, whose disclosure is bounded, or judged by folds",
    kind="ratio",
    direction="neither",
    disclosure=Disclosure.THREE_DIGITS,
    order=17,
    main=7,
)
_gain = partial(
    _beyond,
    source="METHODS section 13.1: total variation between packs with and without the record's "
    "value",
    unbounded=False,
)
GAIN = _gain(
    "perfect-intruder",
    "gain of a perfect intruder",
    "about what an intruder who knows everybody else's value could gain at most on a person by "
    "the L datasets, mean over records; no limit",
    kind="mean",
    order=18,
    main=8,
)
LARGEST_GAIN = _gain(
    "perfect-intruder-largest",
    "largest gain of a perfect intruder",
    "about what an intruder who knows everybody else's value could gain at most on the person of "
    "whom it is most, by the L datasets; no "
    "limit, and too low where it is near 1",
    kind="extreme",
    disclosure=Disclosure.LEFT_OUT,
    order=19,
    main=9,
)


def _to_others(key: str, words: str, known: str, order: int, main: int) -> tuple[Measure, ...]:
    """The measures of an intruder who knows others' values: D by mass, D by guess, and the mass."""
    mass = f"the probability of the value's ball given {known}, by the fit's draws"
    return (
        _mean(
            f"disclosure-{key}",
            f"disclosure to {words}",
            f"D to {words}: mean over records of {mass}, less that without the unit; of several "
            "variables the one of largest D",
            order=order,
            main=main,
        ),
        _mean(
            f"disclosure-{key}-best",
            f"disclosure to the best guess of {words}",
            f"share of records whose value is near the best guess given {known}, less that "
            "without the unit; of several variables the one of largest D",
            order=order + 1,
        ),
        _share(
            f"guessed-{key}",
            f"guessed by {words}",
            f"mean over records of {mass}; knowing others raises it, and without the unit too: "
            "that is inference",
            order=order + 2,
        ),
    )


TO_MEMBER = _to_others("inside", "a member of the unit", "all other values of its unit", 20, 3)
TO_EARLIER = _to_others("earlier", "one who knows earlier waves", "all earlier waves", 23, 4)
_OF_FIT = (RECORDS_PER_PARAMETER, GAIN, LARGEST_GAIN)
_hidden = partial(_share, parameter="variable", many=True)
HIDDEN = _hidden(
    "hidden-named",
    "{term} named",
    "share of the records whose level of this predictor, not released, has a posterior "
    "probability of .95 given its pattern's copies, "
    "at odds of 4 times those before",
    order=14,
)
MEASURES = (
    MEAN,
    ISOLATED,
    LARGEST,
    PERSONS,
    WITH,
    OUT,
    NONE,
    NAMED,
    HIDDEN,
    *_OF_FIT,
    *TO_MEMBER,
    *TO_EARLIER,
)
_COLUMNS = {
    WITH: "with",
    OUT: "out",
    NONE: "none",
    NAMED: "named",
    LARGEST: "largest_D",
}


def values_of_attribution(table: pd.DataFrame) -> Iterator[Value]:
    """The figures of `riskweighted.attribution` that stand among risks: of the file, and of each
    variable where there are several.
    """
    variables, leaves = list(dict.fromkeys(table["variables"])), table.attrs["leaves"]
    for name, rows in table.groupby("variables", sort=False):
        variable = None if name == variables[0] else str(name)  # the box of all stands first
        figures = {(row["release"], row["group"]): row for _, row in rows.iterrows()}
        for measure, key in ((MEAN, (leaves, _ALL)), (ISOLATED, (leaves, _ISOLATED))):
            if key in figures:
                yield _difference(measure, figures[key], variable)
        whole = figures[leaves, _ALL]
        yield Value(PERSONS, _persons(whole), variable)
        for measure, column in _COLUMNS.items():
            yield Value(measure, float(whole[column]), variable)
        if variable is None:
            of_fit = (
                table.attrs.get("records_per_parameter", np.nan),
                *table.attrs.get("gain", ()),
            )
            yield from (
                Value(measure, value)
                for measure, value in zip(_OF_FIT, of_fit, strict=False)
                if np.isfinite(value)
            )
    for who, of_who in (("inside", TO_MEMBER), ("earlier", TO_EARLIER)):
        yield from _values_to_others(table, who, of_who, len(variables) > 1)


def _values_to_others(
    table: pd.DataFrame, who: str, of_who: tuple[Measure, ...], several: bool
) -> Iterator[Value]:
    """The figures of an intruder who knows others' values: of the variable of largest D, and of
    each where there are several.
    """
    by_mass = table[table["group"] == who].set_index("variables")
    by_guess = table[table["group"] == f"{who}, best guess"].set_index("variables")
    if not len(by_mass):
        return
    for name, variable in (
        (by_mass["D"].idxmax(), None),
        *((name, str(name)) for name in (by_mass.index if several else ())),
    ):
        yield _difference(of_who[0], by_mass.loc[name], variable)
        yield _difference(of_who[1], by_guess.loc[name], variable)
        yield Value(of_who[2], float(by_mass.loc[name, "with"]), variable)


def _persons(row: Mapping[str, Any]) -> float:
    """N, a whole number; NaN where it is not judged."""
    most = max(row["records"] * row["upper"], row["named"] - row["reversed"], 0.0)
    return float(np.ceil(most)) if row["upper"] == row["upper"] else np.nan


def _difference(measure: Measure, row: Mapping[str, Any], variable: str | None) -> Value:
    reach = 1.959963984540054 * row["se"]
    return Value(
        measure,
        float(row["D"]),
        variable,
        error=float(row["se"]),
        interval=(row["D"] - reach, row["D"] + reach),
        rule="normal, over units and packs",
    )


def values_of_hidden(table: pd.DataFrame) -> Iterator[Value]:
    """The figures of `riskweighted.disclosure.hidden.hidden_predictors` that stand among risks."""
    for row in table.to_dict("records"):
        yield Value(HIDDEN, float(row["named"]), term=str(row["column"]))
