"""Data that lie in many parquet files, or in one that is read by its row groups: checked by their
footers, read a piece at a time.
"""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_plain_values

__all__ = ["FITTED", "DataParts", "Piece", "files_named", "find_parts", "is_pattern"]

FITTED = 200_000  # records that models are fitted to, of a large file whose study says nothing
_ROWS = 500_000  # of neighbouring row groups that are read together, unless one alone is larger


class Piece(NamedTuple):
    """Neighbouring row ``groups`` of a ``file``, of so many ``rows``; ``before``: rows of all
    pieces before it, files in the order of their names."""

    file: Path
    groups: tuple[int, ...]
    rows: int
    before: int


@dataclass(frozen=True, eq=False)
class DataParts:
    """What is known of data in parts without reading a record.

    ``files`` in the order of their names; ``pieces`` in the order of the records, none of them
    empty; ``types``: of every column, as parquet has it; ``floats``: columns held as floats, which
    are decimals, and whole numbers or true and false where some may be missing; ``levels``: of
    columns of categories that all files have alike, these in their order; ``unlike``: what is wrong
    with the ordered categories of others.
    """

    files: tuple[Path, ...]
    pieces: tuple[Piece, ...] = field(repr=False)
    types: dict[str, str]
    floats: tuple[str, ...] = field(repr=False)
    levels: dict[str, pd.CategoricalDtype] = field(repr=False)
    unlike: dict[str, str] = field(repr=False)

    @property
    def records(self) -> int:
        """All rows."""
        return sum(piece.rows for piece in self.pieces)

    def require(self, columns: Sequence[str]) -> None:
        """Refuse columns that the parts do not have, or that hold neither numbers nor text, true or
        false, nor dates.
        """
        lacking = [name for name in columns if name not in self.types]
        if lacking:
            raise InputError(
                f"the parts lack the column {listing(lacking)}; valid are {listing(self.types)}"
            )
        known = (
            "int",
            "uint",
            "float",
            "halffloat",
            "double",
            "bool",
            "string",
            "date",
            "timestamp",
            "null",
            "decimal",
        )
        if strange := [name for name in columns if not self.types[name].startswith(known)]:
            kind = self.types[strange[0]]
            raise InputError(
                f"column {strange[0]!r} of the parts is {kind}; valid are numbers, text, true or "
                "false, and dates"
            )
        if unlike := [self.unlike[name] for name in columns if name in self.unlike]:
            raise InputError(
                f"the parts differ: the ordered categories of {unlike[0]}; write all categories "
                "in every part, in the same order"
            )

    def whole(self, columns: Sequence[str], identifier: str | None = None) -> pd.DataFrame:
        """Columns of all records, text as categories in the order of the alphabet, in the order of
        the identifiers, or else of the files; refuses an identifier that several records have.
        """
        pieces = [
            self.read(piece, columns, identifier).pipe(_with_categories) for piece in self.pieces
        ]
        names = list(pieces[0])
        frame = pd.DataFrame(
            {name: _joined([piece.pop(name) for piece in pieces]) for name in names}, copy=False
        )
        if identifier is None:
            return frame
        order = np.argsort(frame[identifier].to_numpy(), kind="stable")
        ordered = frame[identifier].take(order)
        if repeated := int((ordered.to_numpy()[1:] == ordered.to_numpy()[:-1]).sum()):
            raise InputError(
                f"data.id {identifier!r}: {repeated:,} records have an identifier that another one "
                "has; valid is one for each record"
            )
        return pd.DataFrame(
            {name: frame.pop(name).take(order).reset_index(drop=True) for name in columns},
            copy=False,
        )

    def read(
        self, piece: Piece, columns: Sequence[str], identifier: str | None = None
    ) -> pd.DataFrame:
        """Columns of a piece in the types of all parts, categories as their levels, indexed by the
        place of each record among all.

        `identifier`: a further column that is read, whose values must not be missing.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = list(dict.fromkeys([*columns, *([] if identifier is None else [identifier])]))
        try:
            table = pq.ParquetFile(piece.file).read_row_groups(list(piece.groups), columns=names)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{piece.file.name!r} cannot be read ({type(error).__name__})"
            ) from None
        for place, name in enumerate(table.column_names):
            if pa.types.is_dictionary(table.schema.types[place]) or pa.types.is_null(
                table.schema.types[place]
            ):
                table = table.set_column(
                    place, name, table.column(place).cast(_arrow(self.types[name]))
                )
        frame = table.to_pandas(ignore_metadata=True, date_as_object=False)[names]
        frame = frame.astype({name: "float64" for name in columns if name in self.floats})
        for name in (name for name in names if name in self.levels):
            categories = frame[name].astype(self.levels[name])
            if not categories.isna().equals(frame[name].isna()):
                raise InputError(
                    f"column {name!r} of {piece.file.name!r} has categories that its first "
                    "records do not name"
                )
            frame[name] = categories
        frame.index = pd.RangeIndex(piece.before, piece.before + len(frame))
        if identifier is not None and (missing := int(frame[identifier].isna().sum())):
            raise InputError(
                f"data.id {identifier!r} is missing in {missing} records of {piece.file.name!r}: "
                "every record needs one"
            )
        require_plain_values(frame, frame.columns, repr(piece.file.name))
        return frame


def _with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as categories, whose records take a byte or two each."""
    text = [
        name
        for name in frame
        if pd.api.types.is_string_dtype(frame[name].dtype) or frame[name].dtype == object
    ]
    return frame.astype(dict.fromkeys(text, "category"))


def _joined(columns: Sequence[pd.Series]) -> pd.Series:
    """One column of those of all pieces, with the categories of all in their order."""
    first = columns[0].dtype
    if isinstance(first, pd.CategoricalDtype) and any(each.dtype != first for each in columns):
        return pd.Series(union_categoricals(list(columns), sort_categories=True))
    return pd.concat(list(columns), ignore_index=True)


def is_pattern(path: Path) -> bool:
    """Whether a path stands for several files, and is no file itself."""
    return any(mark in path.name for mark in "*?[") and not path.is_file()


def files_named(path: Path) -> list[Path]:
    """The files that a pattern stands for, in the order of their names; of a path that is none,
    itself.
    """
    return (
        sorted(map(Path, glob.glob(str(Path(glob.escape(str(path.parent))) / path.name))))
        if is_pattern(path)
        else [path]
    )


def find_parts(path: Path) -> DataParts:
    """The parts that a path, or a pattern such as ``parts/*.parquet``, names; refuses those that
    differ in columns or types.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = files_named(path)
    if not files:
        raise InputError(
            f"no file is called {str(path)!r}; valid is a pattern that names parquet files, such "
            "as 'parts/*.parquet'"
        )
    other = [file.name for file in files if file.suffix.lower() != ".parquet"]
    if other:
        raise InputError(
            f"data in parts are parquet files, and {listing(other[:3])} is none; valid are files "
            "that end in .parquet"
        )
    read = []
    for file in files:
        try:
            read.append(pq.ParquetFile(file))
        except FileNotFoundError:
            raise InputError(f"there is no file {str(file)!r}") from None
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{file.name!r} cannot be read ({type(error).__name__})") from None
    schemas = [
        {
            name: _kind(kind)
            for name, kind in zip(one.schema_arrow.names, one.schema_arrow.types, strict=True)
        }
        for one in read
    ]
    types = _common(files, schemas)
    counts = [(file, one.metadata) for file, one in zip(files, read, strict=True)]
    pieces = tuple(_pieces(counts))
    if not pieces:
        raise InputError(f"{str(path)!r} has no records")
    return DataParts(
        tuple(files),
        pieces,
        types,
        tuple(
            name
            for name in types
            if types[name].startswith("decimal") or _has_gaps(name, types[name], counts)
        ),
        *_levels(files, read, types),
    )


def _levels(
    files: Sequence[Path], read: Sequence[Any], types: dict[str, str]
) -> tuple[dict[str, pd.CategoricalDtype], dict[str, str]]:
    """Categories of the columns that have the same in all files, others being text; and what is
    wrong with those that have an order of their own in each.
    """
    import pyarrow as pa

    found, unlike = dict[str, pd.CategoricalDtype](), dict[str, str]()
    kinds = [dict(zip(one.schema_arrow.names, one.schema_arrow.types, strict=True)) for one in read]
    for name in types:
        if not any(pa.types.is_dictionary(of_file[name]) for of_file in kinds):
            continue
        held = [
            (file, one, of_file[name])
            for file, one, of_file in zip(files, read, kinds, strict=True)
            if one.metadata.num_rows
        ]
        every = [_categories(one, name, kind) for _, one, kind in held]
        other = [
            file.name for (file, _, _), each in zip(held, every, strict=True) if each != every[0]
        ]
        if every[0] is not None and not other:
            found[name] = pd.CategoricalDtype(*every[0])
        elif any(each is not None and each[1] for each in every):
            unlike[name] = f"{name!r} are others in {other[0]!r} than in {held[0][0].name!r}"
    return found, unlike


def _categories(one: Any, name: str, kind: Any) -> tuple[list[object], bool] | None:
    """The categories of a column of a file, as its first records have them, and whether they are
    ordered; None where it has none.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(kind):
        return None
    group = next(
        place
        for place in range(one.metadata.num_row_groups)
        if one.metadata.row_group(place).num_rows
    )
    return one.read_row_group(group, columns=[name]).column(0).chunk(
        0
    ).dictionary.to_pylist(), kind.ordered


def _has_gaps(name: str, kind: str, counts: Sequence[tuple[Path, Any]]) -> bool:
    """Whether a column of whole numbers, or of true and false, may lack some, by what the footers
    count.
    """
    if not kind.lstrip("u").startswith(("int", "bool")):
        return False
    for _, metadata in counts:
        place = next(
            at for at in range(metadata.num_columns) if metadata.schema.column(at).path == name
        )
        for group in range(metadata.num_row_groups):
            told = metadata.row_group(group).column(place).statistics
            if metadata.row_group(group).num_rows and (
                told is None or not told.has_null_count or told.null_count
            ):
                return True
    return False


def _arrow(kind: str) -> Any:
    """The type of Arrow that `_kind` names."""
    import pyarrow as pa

    return pa.string() if kind in ("string", "null") else pa.type_for_alias(kind)


def _kind(kind: Any) -> str:
    """A type of Arrow in words; how text is laid out in memory makes no difference, nor do
    categories.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    return (
        "string" if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else str(kind)
    )


def _common(files: Sequence[Path], schemas: Sequence[dict[str, str]]) -> dict[str, str]:
    """The columns and types of all parts; InputError names the part and the column that differ. A
    part may lack all values of a column.
    """
    types = dict(schemas[0])
    for file, schema in zip(files, schemas, strict=True):
        if lacking := [name for name in types if name not in schema]:
            raise InputError(
                f"the parts differ: {file.name!r} lacks the column {listing(lacking)}, which "
                f"{files[0].name!r} has"
            )
        if further := [name for name in schema if name not in types]:
            raise InputError(
                f"the parts differ: {file.name!r} has the column {listing(further)}, which "
                f"{files[0].name!r} lacks"
            )
        for name, kind in schema.items():
            if types[name] == "null":
                types[name] = kind
            elif kind not in ("null", types[name]):
                raise InputError(
                    f"the parts differ: column {name!r} is {kind} in {file.name!r} and "
                    f"{types[name]} in {files[0].name!r}; write it alike"
                )
    return types


def _pieces(counts: Sequence[tuple[Path, Any]]) -> Iterator[Piece]:
    """Row groups of every file, neighbours together."""
    before = 0
    for file, metadata in counts:
        rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        ends = list(accumulate(rows))
        held: list[int] = []
        for group, size in enumerate(rows):
            held += [group] if size else []
            full = (
                sum(rows[place] for place in held)
                + (rows[group + 1] if group + 1 < len(rows) else 0)
                > _ROWS
            )
            if held and (full or group + 1 == len(rows)):
                start = before + ends[held[0]] - rows[held[0]]
                yield Piece(file, tuple(held), sum(rows[place] for place in held), start)
                held = []
        before += sum(rows)
