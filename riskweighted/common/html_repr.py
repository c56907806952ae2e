"""What objects show in a notebook, answer first and at most a screen; and whether this is one."""

import sys
from collections.abc import Mapping, Sequence
from html import escape
from numbers import Number
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["html_repr", "in_notebook"]

_MOST_ROWS = 24
_WHOLE = 10_000  # from which on a number is shown without decimals
_CELL = "padding:2px 8px;text-align:right;border-bottom:1px solid rgba(128,128,128,.25)"
_FIRST = (
    "padding:2px 8px;text-align:left;font-weight:normal;border-bottom:1px solid "
    "rgba(128,128,128,.25)"
)
_BOX = (
    "border-left:3px solid rgba(128,128,128,.5);padding:2px 12px;margin:4px "
    "0;max-width:60em;overflow-x:auto"
)


def in_notebook() -> bool:
    """Whether a kernel of a notebook runs this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def html_repr(
    heading: str,
    answers: Sequence[str] = (),
    facts: Mapping[str, object] | None = None,
    table: "pd.DataFrame | None" = None,
    note: str = "",
) -> str:
    """An object as HTML: its name, what it comes to, facts, a table of at most 24 rows, and a note
    below.
    """
    parts = [f"<div><strong>{escape(heading)}</strong></div>"]
    parts += [f"<div>{escape(answer)}</div>" for answer in answers]
    if facts:
        rows = (
            f'<tr><th style="{_FIRST}">{escape(name)}</th><td '
            f'style="{_FIRST}">{escape(_shown(fact))}</td></tr>'
            for name, fact in facts.items()
        )
        parts.append(f'<table style="margin:4px 0">{"".join(rows)}</table>')
    if table is not None and len(table):
        parts.append(_table(table.head(_MOST_ROWS)))
        if len(table) > _MOST_ROWS:
            parts.append(f"<div>{len(table) - _MOST_ROWS} more rows</div>")
    if note:
        parts.append(f'<div style="opacity:.75"><small>{escape(note)}</small></div>')
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _table(table: "pd.DataFrame") -> str:
    head = "".join(
        f'<th scope="col" style="{_CELL};font-weight:600">{escape(str(name))}</th>'
        for name in table.columns
    )
    rows = (
        f'<tr><th scope="row" style="{_FIRST}">{escape(str(label))}</th>'
        + "".join(f'<td style="{_CELL}">{escape(_shown(value))}</td>' for value in row)
        + "</tr>"
        for label, row in zip(table.index, table.itertuples(index=False), strict=True)
    )
    return (
        '<table style="margin:4px '
        f'0"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _shown(value: object) -> str:
    """A value in a cell: numbers by four digits, what is missing as a dash."""
    if value is None or (isinstance(value, float) and value != value):
        return "-"
    if isinstance(value, bool) or not isinstance(value, Number):
        return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"
