"""How every figure looks: one colour, marker, line and hatch per scheme, text as text, sizes that
survive print.
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from matplotlib.transforms import ScaledTranslation

from riskweighted.common.checks import check_sequence, is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.contract.synthesizer import baseline_names
from riskweighted.evaluation.measure_rows import CONFIDENTIAL

__all__ = [
    "CONFIDENTIAL_COLOUR",
    "MULTIPLES",
    "Legend",
    "OnAxes",
    "Panel",
    "SchemeStyle",
    "add_legend",
    "add_note",
    "chosen_labels",
    "dress",
    "dress_all",
    "finish",
    "mark_powers",
    "multiples",
    "name_ticks",
    "new_axes",
    "numbers",
    "panel",
    "printable",
    "scheme_styles",
    "short_names",
    "title",
]

LABEL_SIZE, TICK_SIZE, NOTE_SIZE = 12, 11, 10.5  # points, at the width of a page
# characters of a label and of an axis in a figure; tables hold them whole
LONGEST_NAME, LONGEST_TITLE = 24, 48
CONFIDENTIAL_COLOUR = "#4d4d4d"
MULTIPLES = "small multiples"  # label of a figure whose panels can be read one by one
_TWO_COLUMNS = 6  # panels, and three columns for more
Legend = Literal["best", "lower right", "beside", "below"]


@dataclass(frozen=True)
class SchemeStyle:
    """What tells a scheme from the others, with and without colour."""

    colour: str
    marker: str
    line: Any
    hatch: str

    def curve(self, **others: Any) -> dict[str, Any]:
        """How `Axes.plot` and `Axes.stairs` draw its line."""
        return {"color": self.colour, "linestyle": self.line, "linewidth": 2} | others

    def points(self, size: float, **others: Any) -> dict[str, Any]:
        """How `Axes.plot` draws its markers."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "markersize": size,
            "markeredgecolor": "black",
        } | others

    def patch(self, **others: Any) -> dict[str, Any]:
        """How a bar or a violin is filled."""
        return {
            "facecolor": self.colour,
            "hatch": self.hatch,
            "edgecolor": "black",
            "alpha": 0.75,
        } | others


class OnAxes(TypedDict, total=False):
    """Where a figure is drawn: on the axes ``ax``, or in a new figure of ``figsize`` (width,
    height) inches.
    """

    ax: Axes | None
    figsize: tuple[float, float] | None


# Colours of Okabe & Ito, then of Tol's muted scheme: both are told apart with every common colour
# blindness.
_KNOWN = {
    CONFIDENTIAL: SchemeStyle(CONFIDENTIAL_COLOUR, "s", "-", ""),
    "unweighted": SchemeStyle("#0072B2", "o", "--", "//"),
    "marginal": SchemeStyle("#D55E00", "^", "-.", "\\\\"),
    "pairwise": SchemeStyle("#009E73", "D", ":", "xx"),
    "3-way": SchemeStyle("#CC79A7", "P", (0, (3, 2)), "++"),
    "4-way": SchemeStyle("#56B4E9", "X", (0, (8, 2)), "--"),
}
_BASELINE = SchemeStyle("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1)), "..")
_SPARE_COLOURS = ("#882255", "#999933", "#332288", "#44AA99", "#CC6677", "#117733", "#AA4499")
_SPARE_MARKERS = ("<", ">", "p", "h", "*")
_SPARE_LINES = ((0, (5, 2, 1, 2)), (0, (1, 1)), (0, (10, 3)), (0, (4, 1, 4, 3)))
_SPARE_HATCHES = ("||", "oo", "**")


def scheme_styles(labels: Iterable[object]) -> dict[object, SchemeStyle]:
    """One style per label: the usual schemes have theirs always, others take spare ones in the
    order given.

    Give all labels of a table, not the ones shown, so that a scheme looks the same in every figure.
    """
    styles: dict[object, SchemeStyle] = {}
    known = _KNOWN | dict.fromkeys(baseline_names()[:1], _BASELINE)
    spare = 0
    for label in labels:
        if label in styles:
            continue
        if label in known:
            styles[label] = known[str(label)]
            continue
        kinds = (_SPARE_COLOURS, _SPARE_MARKERS, _SPARE_LINES, _SPARE_HATCHES)
        styles[label] = SchemeStyle(*(kind[spare % len(kind)] for kind in kinds))  # type: ignore[arg-type]
        spare += 1
    return styles


@cache
def _glyphs(path: str) -> frozenset[int]:
    return frozenset(font_manager.get_font(path).get_charmap())


def printable(text: object) -> str:
    """Text that Matplotlib prints as it stands: no formula between dollars, no line break, no glyph
    that the font lacks.
    """
    glyphs = _glyphs(str(font_manager.findfont(font_manager.FontProperties())))
    shown = "".join(
        letter if ord(letter) in glyphs else "\N{WHITE SQUARE}"
        for letter in " ".join(str(text).split())
    )
    return shown.replace("$", r"\$")


def _cut(text: object, longest: int) -> str:
    """Text in one line, without its middle where it is longer than `longest` letters."""
    whole = " ".join(str(text).split())
    kept = longest - 1
    return (
        whole
        if len(whole) <= longest
        else f"{whole[: kept - kept // 2]}…{whole[len(whole) - kept // 2 :]}"
    )


def title(text: object) -> str:
    """A column or measure as the name of an axis: printable, and cut in the middle where it is very
    long, later if lines can break.
    """
    breaks = all(len(word) < LONGEST_NAME for word in str(text).split())
    return printable(_cut(text, 2 * LONGEST_TITLE if breaks else LONGEST_TITLE))


def mark_powers(axis: Axis, least: float, largest: float, span: float = 30.0) -> None:
    """Mark a logarithmic axis in plain numbers: by 1, 2 and 5 times powers of ten, within a decade
    by more, and by the powers alone where its ends are `span` times apart."""
    within = (1, 2, 3, 4, 6, 8) if largest < 10 * least else (1, 2, 5)
    axis.set_major_locator(LogLocator(subs=within if largest < span * least else (1,)))
    axis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    axis.set_minor_formatter(lambda value, _: "")


def short_names(labels: Iterable[object], longest: int = LONGEST_NAME) -> dict[object, str]:
    """A printable name per label, cut in the middle where it is long, and numbered where two would
    look the same.
    """
    names: dict[object, str] = {}
    for label in labels:
        text = _cut(label, longest)
        # Matplotlib hides legend entries that begin with an underscore
        text = f" {text}" if text.startswith("_") else text
        name, copy = printable(text), 1
        while name in names.values():
            copy += 1
            name = f"{printable(text)} ({copy})"
        names[label] = name
    return names


class Panel(NamedTuple):
    """The axes to draw on, a style for each label of a table, and a name for each that is shown."""

    ax: Axes
    styles: dict[object, SchemeStyle]
    names: dict[object, str]


def panel(
    options: OnAxes,
    labels: Iterable[object],
    size: tuple[float, float] = (7.0, 4.5),
    *,
    shown: Iterable[object] | None = None,
) -> Panel:
    """What a figure of a table with these labels is drawn with; `shown`: some of them, default
    all.
    """
    labels = list(labels)
    return Panel(
        new_axes(size, **options),
        scheme_styles(labels),
        short_names(labels if shown is None else shown),
    )


def multiples(
    options: OnAxes, labels: Iterable[object], size: tuple[float, float] = (3.5, 2.8)
) -> list[Panel]:
    """A panel of `size` inches for each label, all on one scale; or one panel of all labels, where
    the axes are given or there is one label.
    """
    labels = list(labels)
    if options.get("ax") is not None or len(labels) < 2:
        return [panel(options, labels)]
    columns = 2 if len(labels) <= _TWO_COLUMNS else 3
    rows = -(-len(labels) // columns)
    figure = _new_figure(options.get("figsize") or (columns * size[0], rows * size[1] + 0.5))
    figure.set_label(MULTIPLES)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in grid[len(labels) :]:
        unused.remove()
    styles, names = scheme_styles(labels), short_names(labels)
    shown = grid[: len(labels)]
    for ax in shown:  # each can be read alone
        ax.tick_params(labelbottom=True, labelleft=True)
    return [
        Panel(ax, styles, {label: names[label]}) for ax, label in zip(shown, labels, strict=True)
    ]


def _new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of (width, height) inches; pyplot is not involved."""
    if not (
        isinstance(size, Sequence)
        and len(size) == 2
        and all(is_number(length) and length > 0 for length in size)
    ):
        raise InputError(f"figsize must be (width, height) in inches, both above 0, got {size!r}")
    return Figure(figsize=(size[0], size[1]), layout="constrained")


def new_axes(
    default: tuple[float, float], ax: Axes | None = None, figsize: tuple[float, float] | None = None
) -> Axes:
    """The axes given, or those of a new figure of `figsize` inches."""
    if ax is not None:
        if not isinstance(ax, Axes):
            raise InputError(f"ax must be Matplotlib axes, got {type(ax).__name__}")
        if figsize is not None:
            raise InputError("figsize is that of a new figure: give ax or figsize, not both")
        return ax
    return _new_figure(default if figsize is None else figsize).subplots()


def chosen_labels(table: pd.DataFrame, labels: Sequence[str] | None, what: str) -> list[str]:
    """The columns to show: those asked for, each of them once, or all."""
    if labels is not None:
        check_sequence(labels, "labels")
    require_columns(table, [] if labels is None else list(labels), what)
    chosen = list(table.columns if labels is None else labels)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(
            f"labels must name at least one of {listing(table.columns)}, each once, got "
            f"{listing(chosen)}"
        )
    return chosen


def numbers(column: pd.Series, what: str) -> np.ndarray:
    """The finite numbers of a column, or a refusal that counts what is not."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise InputError(f"{what} must be numbers, got dtype {column.dtype}")
    values: np.ndarray = column.to_numpy(dtype=float, na_value=np.nan)
    unusable = int((~np.isfinite(values)).sum())
    if unusable:
        raise InputError(
            f"{what} must be finite: {unusable} of {len(values)} are missing or infinite; leave "
            "these out"
        )
    return values


def _letters(length: float, ax: Axes, size: float) -> int:
    """How many letters of `size` points fit along `length` pixels of the axes, which the layout
    enlarges by about a tenth.
    """
    return max(int(1.1 * length / ax.get_figure(root=True).dpi * 72 / (0.58 * size)), 20)  # type: ignore[union-attr]


def finish(ax: Axes, x: str = "", y: str = "", grid: str = "y") -> Axes:
    """Names of the axes in lines that fit, sizes, a grid behind the data along one axis."""
    extent = ax.get_window_extent()
    ax.set_xlabel(
        "\n".join(textwrap.wrap(x, _letters(extent.width, ax, LABEL_SIZE))), fontsize=LABEL_SIZE
    )
    ax.set_ylabel(
        "\n".join(textwrap.wrap(y, _letters(0.8 * extent.height, ax, LABEL_SIZE))),
        fontsize=LABEL_SIZE,
    )
    ax.tick_params(labelsize=TICK_SIZE)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color="#dddddd", linewidth=0.8)  # type: ignore[arg-type]
    return ax


def add_note(ax: Axes, *sentences: str) -> None:
    """A remark above the axes, broken into lines that fit; comes after the names of ticks on the
    left, which narrow them.
    """
    text = " ".join(sentence for sentence in sentences if sentence)
    beyond_numbers = max((len(label.get_text()) - 6 for label in ax.get_yticklabels()), default=0)
    letters = _letters(ax.get_window_extent().width, ax, NOTE_SIZE) - max(beyond_numbers, 0)
    ax.set_title("\n".join(textwrap.wrap(text, max(letters, 20))), loc="left", fontsize=NOTE_SIZE)


def add_legend(ax: Axes, where: Legend = "best", **options: Any) -> None:
    """A legend in the axes, to the right of them, or below the name of the x axis."""
    anchor: dict[str, Any] = {"loc": where}
    if where == "beside":
        anchor = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    if where == "below":
        figure = ax.get_figure(root=True)
        lines = 1 + ax.get_xlabel().count("\n")
        # inches: tick labels, name of the axis
        offset = -(1.3 * (TICK_SIZE + lines * LABEL_SIZE) + 8) / 72
        moved = ax.transAxes + ScaledTranslation(0, offset, figure.dpi_scale_trans)  # type: ignore[union-attr]
        anchor = {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, 0.0),
            "bbox_transform": moved,
            "frameon": False,
        }
    ax.legend(fontsize=NOTE_SIZE, framealpha=0.9, **(anchor | options))


def dress(
    ax: Axes,
    x: str = "",
    y: str = "",
    *notes: str,
    grid: str = "y",
    legend: Legend = "best",
    **options: Any,
) -> Axes:
    """The axes with names, a remark above them and a legend: `finish`, `add_note` and
    `add_legend`.
    """
    finish(ax, x, y, grid)
    add_note(ax, *notes)
    add_legend(ax, legend, **options)
    return ax


def dress_all(
    panels: Sequence[Panel],
    x: str = "",
    y: str = "",
    *notes: str,
    grid: str = "y",
    legend: Legend = "best",
    **options: Any,
) -> Axes:
    """The first of the panels of `multiples`, all dressed: a title each, one remark above them,
    and a legend in the first.
    """
    first = panels[0].ax
    if len(panels) == 1:
        return dress(first, x, y, *notes, grid=grid, legend=legend, **options)
    for each in panels:
        finish(each.ax, x, y, grid)
        each.ax.set_title(", ".join(each.names.values()), loc="left", fontsize=LABEL_SIZE)
    add_legend(first, "best", **options)
    figure = first.get_figure(root=True)
    text = " ".join(note for note in notes if note)
    width = figure.get_figwidth() * figure.dpi  # type: ignore[union-attr]
    lines = textwrap.wrap(text, _letters(0.9 * width, first, NOTE_SIZE))
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=NOTE_SIZE)  # type: ignore[union-attr]
    return first


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Names below the positions 0, 1, ...: level where they fit side by side, else slanted."""
    level = (max(map(len, names)) + 1) * len(names) <= _letters(
        ax.get_window_extent().width, ax, TICK_SIZE
    )
    ax.set_xticks(range(len(names)), names, fontsize=TICK_SIZE)
    if not level:
        ax.tick_params(axis="x", labelrotation=30)
        for label in ax.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, len(names) - 0.4)
