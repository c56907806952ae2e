"""Tables as csv, byte for byte what pandas writes: levels are spelled once, and columns that many
tables share are joined once.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from riskweighted.common.frames import kind_of_values

__all__ = ["CsvTable", "csv_text"]

_ROWS = 1 << 18  # joined at once
_PLAIN = (1e-4, 1e10)  # sizes of numbers that Arrow writes without an exponent, as Python does


class CsvTable:
    """A table as the text of a csv, and others that differ from it in the columns `altered`
    only.
    """

    def __init__(self, table: pd.DataFrame, altered: Sequence[str] = ()) -> None:
        self._names = list(table.columns)
        self._altered = [name for name in self._names if name in altered]
        groups: list[list[Any]] = []  # neighbouring columns that are shared, and each altered one
        for name in self._names:
            if groups and name not in self._altered and groups[-1][-1] not in self._altered:
                groups[-1].append(name)
            else:
                groups.append([name])
        # a lone empty value would be quoted
        usual = table.columns.is_unique and len(self._names) > 1 and len(table) > 0
        shared = (
            {name: csv_text(table[name]) for name in self._names if name not in self._altered}
            if usual
            else {}
        )
        self._simple = usual and all(text is not None for text in shared.values())
        self._groups = (
            [[shared.get(name, name) for name in group] for group in groups] if self._simple else []
        )
        self._starts = range(0, len(table), _ROWS)
        self._parts = [
            [self._joined(group, start) for group in self._groups] for start in self._starts
        ]

    @staticmethod
    def _joined(group: list[Any], start: int) -> Any:
        """The text of some rows of shared columns; of an altered one its name."""
        return (
            group[0]
            if isinstance(group[0], str)
            else pc.binary_join_element_wise(*(text[start : start + _ROWS] for text in group), ",")
        )

    def chunks(self, table: pd.DataFrame) -> Iterator[memoryview] | None:
        """The bytes of a table that shares all columns but the altered ones; None where pandas must
        write it.
        """
        texts = {name: csv_text(table[name]) for name in self._altered} if self._simple else {}
        if not self._simple or any(text is None for text in texts.values()):
            return None
        return self._chunks(texts)

    def _chunks(self, texts: dict[str, Any]) -> Iterator[memoryview]:
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(self._names)
        yield memoryview(header.getvalue().encode())
        for start, parts in zip(self._starts, self._parts, strict=True):
            columns = [
                texts[part][start : start + _ROWS] if isinstance(part, str) else part
                for part in parts
            ]
            lines = pc.binary_join_element_wise(
                pc.binary_join_element_wise(*columns, ","), "", "\n"
            )
            _, offsets, content = lines.buffers()
            yield memoryview(content).cast("B")[
                : int(np.frombuffer(offsets, dtype=np.int32)[len(lines)])
            ]

    def write(self, table: pd.DataFrame, path: Path) -> None:
        """Write a table that shares all columns but the altered ones."""
        chunks = self.chunks(table)
        if chunks is None:
            table.to_csv(path, index=False, lineterminator="\n")
            return
        with path.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)

    def is_in(self, path: Path, table: pd.DataFrame) -> bool | None:
        """Whether a file is, byte for byte, what `write` would write; None where pandas must write
        it.
        """
        chunks = self.chunks(table)
        if chunks is None:
            return None
        with path.open("rb") as file:
            return all(file.read(len(chunk)) == chunk for chunk in chunks) and not file.read(1)


def csv_text(column: pd.Series) -> Any:
    """The values of a column as a csv spells them, an Arrow array of (n,) texts; None where only
    pandas knows how.

    That is of text with ends of lines, and of dates, mixed objects and numbers of half or extended
    precision.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _of_levels(column.cat.codes.to_numpy(), csv_text(pd.Series(column.cat.categories)))
    if kind_of_values(column) in ("string", "str"):
        codes, levels = pd.factorize(column)
        return _of_levels(codes, _quoted([str(level) for level in levels]))
    if column.dtype == np.float64 and isinstance(column.dtype, np.dtype):
        return _floats(column.to_numpy())
    if pd.api.types.is_bool_dtype(column.dtype):
        return pc.fill_null(pc.if_else(pa.array(column, from_pandas=True), "True", "False"), "")
    if pd.api.types.is_integer_dtype(column.dtype):
        return pc.fill_null(pc.cast(pa.array(column, from_pandas=True), pa.string()), "")
    return None


def _of_levels(codes: np.ndarray, levels: Any) -> Any:
    """The spelling of each code; of a missing value, whose code is -1, nothing."""
    if levels is None:
        return None
    return pc.take(
        pa.concat_arrays([levels, pa.array([""], pa.string())]),
        pa.array(np.where(codes < 0, len(levels), codes)),
    )


def _quoted(levels: list[str]) -> Any:
    """Texts with quotation marks where they need any; None where one holds an end of line, which
    would be found within a field.
    """
    if any("\n" in level or "\r" in level for level in levels):
        return None
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows((level, 0) for level in levels)
    return pa.array(
        [line.removesuffix(",0") for line in lines.getvalue().split("\n")[:-1]], pa.string()
    )


def _floats(values: np.ndarray) -> Any:
    """Numbers by the fewest digits that give them back, as Python spells them; missing ones as
    nothing.
    """
    size = np.abs(values)
    plain = ((size >= _PLAIN[0]) & (size < _PLAIN[1])) | (size == 0)
    text = pc.cast(pa.array(values), pa.string())
    whole = np.zeros(len(values), dtype=bool)
    whole[plain] = values[plain] == np.rint(values[plain])
    text = pc.if_else(pa.array(whole), pc.binary_join_element_wise(text, "0", "."), text)
    others = ["" if number != number else repr(number) for number in values[~plain].tolist()]
    return (
        pc.replace_with_mask(text, pa.array(~plain), pa.array(others, pa.string()))
        if others
        else text
    )
