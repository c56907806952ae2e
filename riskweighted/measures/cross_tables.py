"""Tables of one and of two variables, of any type, and the whole file: what tells it from the
confidential one (METHODS section 6).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

if TYPE_CHECKING:
    from riskweighted.intruder.world import World

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


def select_pairs(context: Context) -> Iterator[Value]:
    """Of two columns and more, those that were synthesized or altered with each other and with
    unaltered ones; of the confidential data the distance from themselves alone.

    One dataset after the other is coded, counted and told apart from the confidential data.
    """
    from riskweighted.utility.contingency_tables import cell_counts, groupings_of, table_rows
    from riskweighted.utility.propensity import file_propensity, ordered_variables

    world, synthesized = context.world, context.scenario.synthetic
    names = [*synthesized, *context.subject.crossed]
    if len(names) == 1:
        return
    if context.of_data:
        yield Value(DISTANCE, 0.0)
        return
    subject = context.subject
    altered = [
        name for name in subject.crossed if not subject.unaltered and _is_altered(context, name)
    ]
    changed = [*synthesized, *altered]
    unaltered = [name for name in names if name not in changed]
    confidential, *datasets = (
        _columns(world, frame, [*changed, *unaltered], what)
        for frame, what in (
            (world.confidential, "confidential data"),
            *(
                (frame, f"synthetic dataset {number}")
                for number, frame in enumerate(context.synthetic, start=1)
            ),
        )
    )
    groupings = groupings_of(
        confidential,
        datasets,
        list(confidential),
        {name: world.scenario.codes_of(name) for name in world.numeric},
        _GROUPS,
    )
    true = {name: of.codes(confidential[name]) for name, of in groupings.items()}
    ordered = ordered_variables(confidential, groupings, [confidential, *datasets])
    files, ratios = [cell_counts(true, changed)], list[float]()
    for dataset in datasets:
        codes = {name: of.codes(dataset[name]) for name, of in groupings.items()}
        files.append(cell_counts(codes, changed))
        ratios.append(file_propensity(true, codes, ordered, changed).ratio)
    one_way = table_rows(files, changed, changed, 1)
    two_way = table_rows(files, [*changed, *unaltered], changed, 2)
    pairs = len(names) * (len(names) - 1) / 2
    yield Value(DISTANCE, float(two_way["total_variation"].sum() / pairs))
    for name, value in zip(one_way["variables"], one_way["s_pmse"], strict=True):
        yield Value(ONE_WAY, float(value), name)
    # in the order of the tables: combinations of the names, those of unaltered columns left out
    crossed = [
        (name, other)
        for number, name in enumerate(changed)
        for other in [*changed, *unaltered][number + 1 :]
    ]
    for (name, other), value in zip(crossed, two_way["s_pmse"], strict=True):
        yield Value(TWO_WAY, float(value), name, term=other)
    yield Value(TWO_WAY_MEAN, _mean_defined(two_way["s_pmse"].to_numpy()))
    yield Value(_FILE, _mean_defined(np.array(ratios)))


def _is_altered(context: Context, name: str) -> bool:
    """Whether a column has other counts of its values in some dataset, or other records."""
    if context.paired is None:
        return True
    true = context.confidential[name]
    others = [frame[name] for frame in context.synthetic if not frame[name].equals(true)]
    counts = true.value_counts(dropna=False).sort_index() if others else None
    return any(not other.value_counts(dropna=False).sort_index().equals(counts) for other in others)


def _mean_defined(values: np.ndarray) -> float:
    """The mean of those that are defined; a table of one cell has no S_pMSE."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else np.nan


def _columns(
    world: "World", frame: pd.DataFrame, names: Sequence[str], what: str
) -> dict[str, pd.Series]:
    """The columns of a file, synthesized codes as categories: the scenario matches them by
    equality, so tables count them by level.
    """
    require_columns(frame, names, what)
    coded = [
        name
        for name in world.scenario.synthetic
        if name not in world.numeric
        and pd.api.types.is_numeric_dtype(world.confidential[name].dtype)
    ]
    return {
        name: frame[name].astype("category") if name in coded else frame[name] for name in names
    }


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
    compute=select_pairs,
)
_table = partial(_file, source="Raab, Nowok & Dibben 2021; METHODS section 6", symbol="S_pMSE")
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
TWO_WAY_MEAN = _table(
    "two-way-mean",
    "mean two-way S_pMSE",
    f"mean over {_PAIRS} {_OVER.format('their tables')}",
    words="distance of tables of two variables over chance, mean",
)
_FILE = _table(
    "file-propensity",
    "pMSE ratio of the file",
    _OVER.format(
        "a logistic regression on the groups of all variables and the products of the group "
        "numbers of pairs"
    ).replace(f" ({_GROUPED})", ","),
    source="Snoke et al. 2018; METHODS section 6",
    words="how well a model distinguishes the files, over chance",
    symbol="pMSE ratio",
)
DISTANCE = _file(
    "two-way-distance",
    "two-way total variation",
    "mean over all pairs of variables of half the sum over the cells of their table "
    f"({_GROUPED}) of the absolute differences of "
    "shares, mean over datasets; 0 is identical, 1 disjoint, and a pair that is unaltered counts 0",
    source="METHODS section 6",
    kind="distance",
    needs="data alone",
)
MEASURES = (ONE_WAY, TWO_WAY, TWO_WAY_MEAN, _FILE, DISTANCE)
