"""Tables of one and of two variables, of any type, and the whole file: what tells it from the
confidential one (METHODS section 6).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import ByParts, Tally

if TYPE_CHECKING:
    from riskweighted.common.groups import Grouping
    from riskweighted.common.value_counts import ValueCounts
    from riskweighted.intruder.world import World
    from riskweighted.utility.tables import FileCodes

__all__ = ["DISTANCE", "MEASURES", "ONE_WAY", "TWO_WAY", "TWO_WAY_MEAN", "table_columns"]

_GROUPS = 5  # of numbers
_MOST_LEVELS = 50  # of an unaltered column, beyond which its tables hold hardly any record a cell


def table_columns(world: "World", unaltered: Sequence[str] | None) -> tuple[str, ...]:
    """The unaltered columns that are crossed with the synthesized variables: the given ones, the
    known variables where none are.

    Dates, infinite numbers, columns of one value, and text or categories of more than 50 levels are
    left out.
    """
    wanted = world.scenario.known if unaltered is None else unaltered
    return tuple(
        name
        for name in wanted
        if name not in world.scenario.synthetic and _is_crossed(world.confidential[name])
    )


def _is_crossed(column: pd.Series) -> bool:
    from riskweighted.common.groups import group_kind

    try:
        kind = group_kind(column, "confidential data")
    except InputError:
        return False
    levels = column.nunique(dropna=False)
    return kind != "nothing" and levels > 1 and (kind == "numbers" or levels <= _MOST_LEVELS)


def _tally(context: Context) -> Tally | None:
    """Of two synthesized variables and more, with each other and with unaltered columns; none of
    the confidential data.

    First what the groups of each are made of.
    """
    if not _is_compared(context):
        return None
    from riskweighted.utility.tables import ColumnsToGroup

    names = [*context.scenario.synthetic, *context.subject.crossed]
    confidential, datasets = _files(context.world, context.synthetic, names)
    return Tally(
        columns=Tally(
            {
                name: ColumnsToGroup.of([frame[name] for frame in (confidential, *datasets)])
                for name in names
            }
        )
    )


def _further(total: Tally | None, context: Context) -> "dict[str, Grouping] | None":
    """The groups of each variable."""
    if total is None or "files" in total:
        return None
    codes = {name: context.scenario.codes_of(name) for name in context.world.numeric}
    return {
        name: columns.grouping(name, _GROUPS, codes.get(name, ()))
        for name, columns in total["columns"].items()
    }


def _again(context: Context, groups: "dict[str, Grouping]") -> Tally:
    """The cells of the tables of each file."""
    from riskweighted.utility.tables import cell_counts

    confidential, datasets = _files(context.world, context.synthetic, list(groups))
    coded = (
        {name: of_name.codes(frame[name]) for name, of_name in groups.items()}
        for frame in (confidential, *datasets)
    )
    return Tally(
        files=tuple(Tally(cell_counts(codes, context.scenario.synthetic)) for codes in coded)
    )


def _values_of_tables(total: Tally | None, context: Context) -> Iterator[Value]:
    if total is not None:
        yield from _of_tables(total["files"], context.scenario.synthetic, context.subject.crossed)[
            1
        ]


compared = ByParts(
    _tally,
    _values_of_tables,
    further=_further,
    again=_again,
    completed=lambda total, more: Tally({**total, **more}),
)


def told_apart(context: Context) -> Iterator[Value]:
    """How well a model tells the whole files apart."""
    if _is_compared(context):
        yield _of_file(context, context.scenario.synthetic, context.subject.crossed)


def _is_compared(context: Context) -> bool:
    return not context.of_data and len(context.scenario.synthetic) > 1


def assessed(context: Context) -> Iterator[Value]:
    """The same of any tool's data, which may have altered further columns, and the mean distance of
    the tables of all pairs.
    """
    from riskweighted.utility.tables import cell_counts

    synthesized, crossed = context.scenario.synthetic, context.subject.crossed
    count = len(synthesized) + len(crossed)
    if count == 1:
        return
    if context.of_data:
        yield Value(DISTANCE, 0.0)
        return
    altered = [name for name in crossed if context.paired is None or _is_altered(context, name)]
    changed, unaltered = [*synthesized, *altered], [name for name in crossed if name not in altered]
    coded = _codes(context, [*changed, *unaltered])[0]
    files = [
        {name: codes[number] for name, codes in coded.items()}
        for number in range(1 + len(context.synthetic))
    ]
    distances, values = _of_tables(
        [cell_counts(file, changed) for file in files], changed, unaltered
    )
    yield Value(DISTANCE, float(distances.sum() / (count * (count - 1) / 2)))
    yield from values
    yield _of_file(context, changed, unaltered)


def _is_altered(context: Context, name: str) -> bool:
    """Whether a column has other counts of its values in some dataset."""
    counts = context.confidential[name].value_counts(dropna=False)
    return any(
        not frame[name].value_counts(dropna=False).sort_index().equals(counts.sort_index())
        for frame in context.synthetic
    )


def _codes(context: Context, names: Sequence[str]) -> "tuple[FileCodes, pd.DataFrame]":
    """The groups of some variables in all files, and the confidential columns."""
    from riskweighted.utility.tables import codes_of

    world = context.world
    confidential, datasets = _files(world, context.synthetic, names)
    return codes_of(
        confidential,
        datasets,
        names,
        {name: world.scenario.codes_of(name) for name in world.numeric},
        _GROUPS,
    ), confidential


def _of_tables(
    files: "Sequence[Mapping[str, ValueCounts]]",
    synthesized: Sequence[str],
    unaltered: Sequence[str],
) -> tuple[pd.Series, list[Value]]:
    """The distance of each two-way table; and standardised pMSE of each table, their means, and the
    worst pair.
    """
    from riskweighted.utility.tables import table_rows

    names = [*synthesized, *unaltered]
    one_way = table_rows(files, list(synthesized), synthesized, 1)
    two_way = table_rows(files, names, synthesized, 2)
    # The pairs stand in the order of the tables: combinations of the names, those of unaltered
    # columns alone left out.
    pairs = [(a, b) for number, a in enumerate(synthesized) for b in names[number + 1 :]]
    values = [
        Value(ONE_WAY, float(value), name)
        for name, value in zip(one_way["variables"], one_way["s_pmse"], strict=True)
    ]
    values += [
        Value(TWO_WAY, float(value), a, term=b)
        for (a, b), value in zip(pairs, two_way["s_pmse"], strict=True)
    ]
    of_one, of_two = one_way["s_pmse"].to_numpy(), two_way["s_pmse"].to_numpy()
    values += [
        Value(_ONE_WAY_MEAN, _over(np.mean, of_one)),
        Value(TWO_WAY_MEAN, _over(np.mean, of_two)),
    ]
    return two_way["total_variation"], [*values, Value(_WORST, _over(np.max, of_two))]


def _of_file(context: Context, synthesized: Sequence[str], unaltered: Sequence[str]) -> Value:
    from riskweighted.utility.propensity import coded_propensity

    codes, confidential = _codes(context, [*synthesized, *unaltered])
    return Value(
        _FILE,
        _over(
            np.mean,
            np.array(
                [distance.ratio for distance in coded_propensity(codes, confidential, synthesized)]
            ),
        ),
    )


def _over(summary: Callable[[np.ndarray], Any], values: np.ndarray) -> float:
    """A summary of those that are defined; a table of one cell has no S_pMSE."""
    defined = values[~np.isnan(values)]
    return float(summary(defined)) if len(defined) else np.nan


def _files(
    world: "World", frames: Sequence[pd.DataFrame], names: Sequence[str]
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The columns of all files, synthesized codes as categories: the scenario matches them by
    equality, so tables count them by level.
    """
    for number, frame in enumerate(frames, start=1):
        require_columns(frame, names, f"synthetic dataset {number}")
    coded = [name for name in world.scenario.synthetic if name not in world.numeric]
    coded = [
        name for name in coded if pd.api.types.is_numeric_dtype(world.confidential[name].dtype)
    ]
    first, *others = (
        pd.DataFrame(
            {
                name: frame[name].astype("category") if name in coded else frame[name]
                for name in names
            }
        )
        for frame in (world.confidential, *frames)
    )
    return first, others


_GROUPED = "numbers in fifths of the confidential values, a missing value apart"
_OVER = (
    f"pMSE of {{}} ({_GROUPED}) over its expectation by chance, mean over datasets; 1 where "
    "synthetic values are drawn from what the "
    "confidential data show, 2 where parameters are drawn too"
)
_PAIRS = "the pairs of a synthesized variable with another one, or with an unaltered column, of"
_file = partial(
    Measure,
    direction="less useful",
    kind="ratio",
    disclosure=Disclosure.THREE_DIGITS,
    table="utility",
    order=60,
    assess=assessed,
)
_table = partial(
    _file, source="Raab, Nowok & Dibben 2021; METHODS section 6", symbol="S_pMSE", compute=compared
)
ONE_WAY = _table(
    "one-way-table",
    "one-way S_pMSE",
    _OVER.format("the table of one variable"),
    many=True,
    words="distance of its table over chance",
)
TWO_WAY = _table(
    "two-way-table",
    "two-way S_pMSE with {term}",
    _OVER.format("the table with {term}"),
    parameter="variable",
    many=True,
    words="distance of its table with {term} over chance",
)
_ONE_WAY_MEAN = _table(
    "one-way-mean",
    "mean one-way S_pMSE",
    f"mean over the synthesized variables of {_OVER.format('their tables')}",
    words="distance of tables of one variable over chance, mean",
)
TWO_WAY_MEAN = _table(
    "two-way-mean",
    "mean two-way S_pMSE",
    f"mean over {_PAIRS} {_OVER.format('their tables')}",
    words="distance of tables of two variables over chance, mean",
)
_WORST = _table(
    "two-way-worst",
    "worst two-way S_pMSE",
    f"the largest over these pairs of {_OVER.format('their tables')}",
    words="distance of tables of two variables over chance, largest",
)
_FILE = _table(
    "file-propensity",
    "pMSE ratio of the file",
    _OVER.format(
        "a logistic regression on the groups of all variables and the products of the group "
        "numbers of pairs"
    ).replace(f" ({_GROUPED})", ","),
    source="Snoke et al. 2018; METHODS section 6",
    words="how well a model tells the files apart, over chance",
    symbol="pMSE ratio",
    compute=told_apart,
)
DISTANCE = _file(
    "two-way-distance",
    "two-way total variation",
    "mean over all pairs of variables of half the sum over the cells of their table "
    f"({_GROUPED}) of the absolute differences of "
    "shares, mean over datasets; 0 is identical, 1 disjoint, and a pair that is unaltered counts 0",
    source="METHODS section 6",
    kind="distance",
)
MEASURES = (ONE_WAY, TWO_WAY, _ONE_WAY_MEAN, TWO_WAY_MEAN, _WORST, _FILE, DISTANCE)
