"""What a report is made of: text that the template escapes, never HTML."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from riskweighted.common.text import plain
from riskweighted.reports.svg import inline_svg

__all__ = [
    "Answer",
    "Cell",
    "Column",
    "DataTable",
    "Figure",
    "Figures",
    "Group",
    "Judged",
    "Section",
    "Term",
    "make_table",
]

_NOTHING = "n/a"
_NUMBER = re.compile(
    r"(about |(all but )?fewer than |more than )?[<>]?-?\d[\d.,]*( ± <?[\d.,]+| to -?[\d.,]+)?|n/a"
)


@dataclass(frozen=True)
class Term:
    """An entry of the glossary; `key` is its place on the page, empty sentences are left out.
    ``ball``: how close is close, of a risk.
    """

    key: str
    title: str
    definition: str
    boundary: str = ""
    interval: str = ""
    direction: str = ""
    ball: str = ""


@dataclass(frozen=True)
class Column:
    """Heading of a column, and the term that explains its numbers."""

    title: str
    term: Term | None = None


@dataclass(frozen=True)
class DataTable:
    """Cells as they are shown; `row_terms` explain the rows, `symbols` stand small beside them, one
    each or none at all.
    """

    key: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    row_terms: tuple[Term | None, ...] = ()
    note: str = ""
    symbols: tuple[str, ...] = ()

    def without_repeats(self) -> "DataTable":
        """Without rows that say one thing of all columns, or nothing; the note says it once."""
        kept, same = [], []
        for row, (title, *cells) in enumerate(self.rows):
            told = set(cells) - {_NOTHING}
            if len(told) < 2 and len(cells) > 2 and (not told or cells.count(_NOTHING) <= 1):
                same += [f"{title}: {told.pop()}"] if told else []
            else:
                kept.append(row)
        said = f"The same for all: {'; '.join(same)}." if same else ""
        terms = tuple(self.row_terms[row] for row in kept) if self.row_terms else ()
        symbols = tuple(self.symbols[row] for row in kept) if self.symbols else ()
        note = f"{said} {self.note}".strip()
        return replace(
            self,
            rows=tuple(self.rows[row] for row in kept),
            row_terms=terms,
            symbols=symbols,
            note=note,
        )

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns are set like numbers, to the right: those that hold numbers in half of
        their cells or more.
        """
        return tuple(
            2 * sum(_NUMBER.fullmatch(cell) is not None for cell in cells) >= len(cells)
            for cells in zip(*self.rows, strict=True)
        )


@dataclass(frozen=True)
class Figure:
    """A picture (none where nothing may be shown), in words, and as tables."""

    key: str
    title: str
    axes: Axes | None
    alternative: str
    tables: tuple[DataTable, ...]
    terms: tuple[Term, ...] = ()

    @property
    def drawing(self) -> Drawing | None:
        """The whole figure, to be saved elsewhere."""
        return None if self.axes is None else self.axes.get_figure(root=True)

    @cached_property
    def image(self) -> str:
        """As an SVG element of the page, or empty; the same figure gives the same text."""
        return "" if self.drawing is None else inline_svg(self.drawing, self.key, self.alternative)


@dataclass(frozen=True)
class Group:
    """Blocks that few read, or of one variable of several: folded until the reader opens them, or
    `unfolded`; a printed page has them.
    """

    key: str
    title: str
    blocks: tuple["DataTable | Figure", ...]
    unfolded: bool = False


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    paragraphs: tuple[str, ...]
    blocks: tuple[DataTable | Figure | Group, ...]


class Judged(NamedTuple):
    """What is judged, its verdict, how that is marked ("pass", "fail", "open" where nobody limits
    the cost, or ""), and why.
    """

    label: str
    verdict: str
    state: str
    why: str


class Cell(NamedTuple):
    text: str
    state: str = ""  # "pass", "fail", "open" (a cost that no threshold limits) or ""


class Figures(NamedTuple):
    """A row of numbers, a cell for each label: what it is, its symbol, its limit in words, and its
    entry in the glossary.
    """

    title: str
    symbol: str
    limit: str
    term: Term | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Answer:
    """What a page opens with: may this leave, why not, and what comes next; then the figures behind
    it.

    ``what``: what is judged, a "Scheme" or a "Tool"; ``told``: paragraphs; ``labels``: of the cells
    of ``figures``; ``trust``: titles, each with what is said under it; ``by_intruder``: verdicts
    and risks by each of several intruders; ``sentence``: the verdicts in one sentence.
    """

    what: str
    alarms: tuple[str, ...]
    judged: tuple[Judged, ...]
    why: str
    following: str
    told: tuple[str, ...]
    labels: tuple[str, ...]
    figures: tuple[Figures, ...]
    trust: tuple[tuple[str, str], ...] = ()
    note: str = ""
    question: str = "May this be released?"
    by_intruder: DataTable | None = None
    sentence: str = ""


def make_table(
    key: str,
    caption: str,
    cells: pd.DataFrame,
    terms: dict[str, Term] | None = None,
    note: str = "",
) -> DataTable:
    """A table of cells that are text already; `terms` by column."""
    columns = tuple(Column(plain(str(name)), (terms or {}).get(str(name))) for name in cells)
    rows = tuple(
        tuple(plain(str(cell)) for cell in row) for row in cells.itertuples(index=False, name=None)
    )
    return DataTable(key, plain(caption), columns, rows, note=plain(note))
