"""What a pack that an earlier version made gives away and a pack of this one does not, as far as a
pack can show it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.data.csv_layout import CsvLayout
from riskweighted.data.io import read_table
from riskweighted.disclosure.row_order import UNLIKELY, order_chance
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.release.contents import PLAIN, dataset_stem
from riskweighted.runs.file_order import numbered_columns, order_told
from riskweighted.runs.finished import FinishedRun

__all__ = ["holes_of_older", "is_older"]

_SAME, _BY_CHANCE = 0.99, 0.5  # of the rows that hold the record of that row of the file
_FOUND = re.compile(r"found in the data, which are not public, [-+\d]")
_NOT_TOLD = (
    "a pack does not show whether the disclosure verdict was read from a table that somebody had "
    "changed, codes and radii that were found in the data and not marked as such, and what was in "
    "temporary folders; a pack that is made again has its verdict made again, too"
)


def is_older(manifest: Mapping[str, Any]) -> bool:
    """Whether a pack was made before whole rows left in a random order, which its manifest would
    say.
    """
    return "rows" not in manifest


def holes_of_older(
    folder: Path, manifest: Mapping[str, Any], run: FinishedRun, confidential: pd.DataFrame
) -> list[str]:
    """A line for each thing that an older pack gives away, and last one on what cannot be told; no
    line holds a value.

    ``confidential`` (n, columns): the data of the run.
    """
    lines = list(_of_pages(folder, manifest))
    lines += _of_rows(folder, manifest, run, confidential)
    numbered = numbered_columns(run.study, confidential)
    lines += (
        [f"{listing(numbered)} is released with its numbers, which are in the order of the file"]
        if numbered
        else []
    )
    lines += order_told(run.study, confidential)
    return [*lines, _NOT_TOLD]


def _of_rows(
    folder: Path, manifest: Mapping[str, Any], run: FinishedRun, confidential: pd.DataFrame
) -> Iterator[str]:
    """What the order of rows and of levels tells, in the first dataset of every scheme in every
    format.
    """
    unaltered = run.study.unaltered(confidential)
    sizes = np.bincount(released_patterns(confidential, unaltered)).astype(float)
    tells = float(((sizes / sizes.sum()) ** 2).sum()) < _BY_CHANCE
    found: dict[str, list[str]] = {}
    for scheme in manifest["schemes"]:
        for kind in manifest["formats"]:
            name = f"{dataset_stem(scheme, 0, run.study.release.L)}.{kind}"
            layout = CsvLayout() if manifest.get("csv") == PLAIN else run.study.data.layout
            try:
                table = read_table(folder / name, layout)
            except InputError:
                found.setdefault("cannot be read, so nothing is said of it", []).append(name)
                continue
            for what in _of_table(table, unaltered, confidential, run, tells):
                found.setdefault(what, []).append(name)
    for what, names in found.items():
        yield f"{names[0]!r}{f' (and {len(names) - 1} more)' if len(names) > 1 else ''}: {what}"


def _of_table(
    table: pd.DataFrame,
    unaltered: list[str],
    confidential: pd.DataFrame,
    run: FinishedRun,
    tells: bool,
) -> Iterator[str]:
    if len(table) != len(confidential) or not set(unaltered) <= set(table.columns):
        yield "other rows or columns than the run has, so nothing is said of their order"
        return
    same = np.ones(len(table), dtype=bool)
    for name in unaltered:
        same &= _equal(table[name], confidential[name])
    everywhere, places = np.zeros(len(table), dtype=np.int64), np.arange(len(table))
    if tells and same.mean() >= _SAME:
        told = [
            str(name)
            for name in confidential
            if order_chance(confidential[name], places, everywhere) < UNLIKELY
        ]
        yield (
            "rows are in the order of the "
            f"file{f', which is that of {listing(told)}' if told else ''}"
        )
    else:
        told = [
            str(name) for name in table if order_chance(table[name], places, everywhere) < UNLIKELY
        ]
        if told:
            yield f"rows are in the order of {listing(told)}"
        elif not tells:
            yield (
                "too few rows differ in what is released unaltered to say whether they are in "
                "the order of the file"
            )
    for name in (
        name
        for name in table
        if isinstance(table[name].dtype, pd.CategoricalDtype) and not table[name].cat.ordered
    ):
        levels = table[name].cat.categories.tolist()
        first = confidential[name].dropna().unique().tolist()
        if (
            name in unaltered
            and levels != sorted(levels, key=str)
            and levels == [level for level in first if level in levels]
        ):
            yield f"the levels of {name!r} are in the order in which they first appear in the file"


def _equal(column: pd.Series, other: pd.Series) -> np.ndarray:
    """In which rows two columns hold the same, (n,)."""
    if holds_numbers(column) and holds_numbers(other):
        return np.asarray(
            np.isclose(as_floats(column), as_floats(other), equal_nan=True, rtol=1e-6, atol=0)
        )
    pairs = [
        each.astype(object).where(each.notna(), "").astype(str).to_numpy()
        for each in (column, other)
    ]
    return np.asarray(pairs[0] == pairs[1])


def _of_pages(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What was found in the data and stands in a page as numbers."""
    places = list(dict.fromkeys(_found_in(manifest["settings"], "")))
    if places:
        yield f"'manifest.json': numbers that were found in the data are in {listing(places)}"
    for path in sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in (".html", ".md", ".json") and path.name != "manifest.json"
    ):
        text = path.read_text(encoding="utf-8")
        beside = path.suffix == ".json" and list(_found_in(json.loads(text), ""))
        if _FOUND.search(text) or beside:
            yield (
                f"{path.relative_to(folder).as_posix()!r}: it holds bounds that were found "
                "in the data as numbers"
            )


def _found_in(setting: object, name: str) -> Iterator[str]:
    """Names of settings that hold numbers beside the word "found"."""
    if isinstance(setting, Mapping):
        for key, value in setting.items():
            yield from _found_in(value, f"{name}.{key}".lstrip("."))
    elif isinstance(setting, list):
        if "found" in setting and any(isinstance(value, int | float) for value in setting):
            yield name
        for value in setting:
            yield from _found_in(value, name)
