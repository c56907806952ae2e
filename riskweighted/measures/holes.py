"""The hole attack: whom an intruder finds who guesses where the copies of a pattern are missing."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import ByParts, Tally

__all__ = ["MEASURES"]


class Told(NamedTuple):
    """What parts are told: ``bins`` in which sizes are counted; the ``line``; the bins that are
    guessed for patterns with few copies.
    """

    bins: Any = None
    line: Any = None
    pooled: np.ndarray | None = None


def _tally(context: Context) -> Tally | None:
    """Nothing of the confidential data; else first what the line is made of on which all copies
    lie.
    """
    if (
        context.paired is None
        or context.variable is None
        or context.of_data
        or not context.is_numeric
    ):
        return None
    from riskweighted.risk.holes import Extent

    return Tally(extent=Extent.of(context.paired, context.variable))


def _further(total: Tally | None, context: Context) -> Told | None:
    """In turn the line's bend, what the line is, and where patterns with few copies are guessed at,
    of which all parts have some.
    """
    from riskweighted.risk.holes import Line, lowest_bins

    if total is None or "found" in total:
        return None
    if (bins := total["extent"].unsettled()) is not None:
        return Told(bins=bins)
    line = Line.of(context.scenario, str(context.variable), total["extent"])
    if "pooled" not in total and line.bins:
        return Told(line=line)
    return Told(
        line=line,
        pooled=lowest_bins(total["pooled"][None], line.step)[:, 0] if line.bins else np.empty(0),
    )


def _again(context: Context, told: Told) -> Tally:
    from riskweighted.risk.holes import found_on, pooled_copies, sizes_within

    assert context.paired is not None
    paired, variable = context.paired, str(context.variable)
    if told.bins is not None:
        return Tally(sizes=sizes_within(paired, variable, told.bins))
    if told.pooled is None:
        return Tally(pooled=pooled_copies(paired, variable, told.line))
    found = found_on(paired, variable, told.line, told.pooled)
    return Tally(found=found.sum(axis=1), records=found.shape[1])


def _completed(total: Tally, more: Tally) -> Tally:
    if "sizes" not in more:
        return Tally({**total, **more})
    extent = total["extent"]
    return Tally({**total, "extent": extent._replace(sizes=extent.sizes.finer(more["sizes"]))})


def _values(total: Tally | None, context: Context) -> Iterator[Value]:
    """Share of the records, of the width that finds most of them."""
    if total is not None:
        yield Value(_ALL, float((total["found"] / total["records"]).max()), context.variable)


attacked = ByParts(_tally, _values, further=_further, again=_again, completed=_completed)
_GUESS = (
    "in whose ball lies the guess of an intruder who looks for holes: where all copies of a "
    "known pattern lie lowest under their own "
    "smooth density, by the best of three widths; the true values say which is best, so it is an "
    "upper figure"
)
_hole = partial(
    Measure,
    source="METHODS section 13.1",
    direction="riskier",
    kind="share",
    disclosure=Disclosure.SHARE,
    order=75,
    each=True,
    compute=attacked,
    pairs=True,
    limited=False,
)
_ALL = _hole("hole-attack", "hole attack", f"share of the records {_GUESS}")
MEASURES = (_ALL,)
