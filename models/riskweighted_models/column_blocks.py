"""Linear predictors of many distinct designs, whose columns fall into blocks of few distinct rows
each.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted_models.kernels.row_blocks import gather, scatter

__all__ = ["ColumnBlocks", "column_blocks"]

_MOST = 4096  # distinct rows of a block: a table of them stays in the processor's cache


class ColumnBlocks(NamedTuple):
    """Columns (m, p) as ``tables`` (m_b, p_b) of distinct parts of rows, each of its ``columns``,
    and which parts make up every row.

    ``part`` (B, m): the row of each table, in all tables laid end to end; ``size``: p. Ten
    categorical predictors have a million combinations, of which every half has a thousand: a linear
    predictor is then a sum of two numbers that are looked up, in place of a product.
    """

    tables: tuple[np.ndarray, ...]
    columns: tuple[np.ndarray, ...]
    part: np.ndarray
    size: int

    def linear(self, slopes: np.ndarray) -> np.ndarray:
        """Columns times slopes (K, p), for every row: (K, m)."""
        return self.linear_within(slopes)[0]

    def linear_within(self, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, and what none of them exceeds in size, (K,)."""
        if not self.tables:
            return np.zeros((len(slopes), self.part.shape[1])), np.zeros(len(slopes))
        parts = [
            slopes[:, columns] @ table.T
            for table, columns in zip(self.tables, self.columns, strict=True)
        ]
        bound = np.sum([np.abs(part).max(axis=1, initial=0.0) for part in parts], axis=0)
        return gather(np.ascontiguousarray(np.concatenate(parts, axis=1)), self.part), bound

    def pulled(self, by_row: np.ndarray) -> np.ndarray:
        """The transpose: derivatives in the linear predictors (K, m) as derivatives in the slopes,
        (K, p).
        """
        by_slope = np.zeros((len(by_row), self.size))
        sums = scatter(np.ascontiguousarray(by_row), self.part, sum(map(len, self.tables)))
        start = 0
        for table, columns in zip(self.tables, self.columns, strict=True):
            by_slope[:, columns] = sums[:, start : start + len(table)] @ table
            start += len(table)
        return by_slope


def column_blocks(rows: np.ndarray, most: int = _MOST) -> ColumnBlocks:
    """Blocks of neighbouring columns of rows (m, p), each of at most so many distinct parts unless
    a single column has more.
    """
    m, p = rows.shape
    blocks: list[tuple[list[int], np.ndarray]] = []  # columns, and the code of every row
    for column in range(p):
        code, values = pd.factorize(rows[:, column])
        if blocks:
            columns, before = blocks[-1]
            both, distinct = pd.factorize(before * len(values) + code)
            if len(distinct) <= most:
                blocks[-1] = ([*columns, column], both)
                continue
        blocks.append(([column], code))
    index, tables, start = np.empty((len(blocks), m), dtype=np.uint32), [], 0
    for place, (columns, code) in enumerate(blocks):
        first = np.unique(code, return_index=True)[1]
        tables.append(np.ascontiguousarray(rows[first][:, columns]))
        index[place] = start + code
        start += len(first)
    return ColumnBlocks(tuple(tables), tuple(np.array(columns) for columns, _ in blocks), index, p)
