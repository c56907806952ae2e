"""What a report is made of: text that the template escapes, never HTML."""

import base64
import io
import re
from dataclasses import dataclass
from functools import cached_property

import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.text import plain

__all__ = ["Column", "DataTable", "Figure", "Group", "Section", "Term", "make_table", "picture"]

_DOTS_PER_INCH = 150
_NUMBER = re.compile(r"-?\d[\d.]*(e[-+]\d+)?|n/a")


@dataclass(frozen=True)
class Term:
    """An entry of the glossary; `key` is its place on the page, empty sentences are left out."""

    key: str
    title: str
    definition: str
    boundary: str = ""
    interval: str = ""
    direction: str = ""


@dataclass(frozen=True)
class Column:
    """Heading of a column, and the term that explains its numbers."""

    title: str
    term: Term | None = None


@dataclass(frozen=True)
class DataTable:
    """Cells as they are shown; `row_terms` explain the rows, one each or none at all."""

    key: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    row_terms: tuple[Term | None, ...] = ()
    note: str = ""

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns are set like numbers, to the right: those that hold numbers in half of their cells or more."""
        return tuple(2 * sum(_NUMBER.fullmatch(cell) is not None for cell in cells) >= len(cells) for cells in zip(*self.rows, strict=True))


@dataclass(frozen=True)
class Figure:
    """A picture (PNG in base64, or empty where nothing may be shown), in words, and as tables."""

    key: str
    title: str
    image: str
    alternative: str
    tables: tuple[DataTable, ...]
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Group:
    """Blocks of one variable of several, which the reader opens."""

    key: str
    title: str
    blocks: tuple["DataTable | Figure", ...]


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    paragraphs: tuple[str, ...]
    blocks: tuple[DataTable | Figure | Group, ...]


def make_table(key: str, caption: str, cells: pd.DataFrame, terms: dict[str, Term] | None = None, note: str = "") -> DataTable:
    """A table of cells that are text already; `terms` by column."""
    columns = tuple(Column(plain(str(name)), (terms or {}).get(str(name))) for name in cells)
    rows = tuple(tuple(plain(str(cell)) for cell in row) for row in cells.itertuples(index=False, name=None))
    return DataTable(key, plain(caption), columns, rows, note=plain(note))


def picture(ax: Axes) -> str:
    """A figure as PNG in base64: no coordinate in it can be read as text, and the same figure gives the same bytes."""
    out = io.BytesIO()
    ax.figure.savefig(out, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})  # type: ignore[union-attr]
    return base64.b64encode(out.getvalue()).decode()
