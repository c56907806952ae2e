"""What a file given to `init` shows of itself before its values are looked at: how a csv is laid
out, what is said of the columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from riskweighted.common.checks import path_from
from riskweighted.common.errors import InputError
from riskweighted.common.text import plain
from riskweighted.data.csv_layout import CsvLayout, guess_layout
from riskweighted.data.io import MISSING
from riskweighted.data.metadata import DESCRIBING, codes_of_kinds
from riskweighted.data.odd_lines import odd_lines
from riskweighted.data.variables import Variables
from riskweighted.suggest.columns import ColumnSummary
from riskweighted.suggest.evidence import NUMBER

__all__ = ["FileLayout", "inspect_file"]

# whose files cannot say that a number means missing
_PACKAGES = {".dta": "Stata", ".xpt": "SAS", ".sas7bdat": "SAS"}


@dataclass(frozen=True)
class FileLayout:
    """How a file is to be read. ``layout``: of a csv, guessed; ``named``: the file that says what
    the columns are, and what it says, ``variables``; None where there is none. ``kinds``: kinds of
    missing values that are told apart in the file and not in what is read. ``odd``: which lines of
    a csv seem to be no records.
    """

    layout: CsvLayout | None = None
    named: Path | None = None
    variables: Variables | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    silent: str = ""
    odd: tuple[str, ...] = ()

    def with_missing(self, texts: Iterable[str]) -> "FileLayout":
        """The same with further texts that mean that there is no number in a csv; those that are
        blank cannot be stated.
        """
        if self.layout is None:
            return self
        missing = dict.fromkeys([*self.layout.missing, *(text for text in texts if text.strip())])
        return replace(self, layout=replace(self.layout, missing=tuple(missing)))

    def laid_out_as(self, layout: CsvLayout) -> "FileLayout":
        """The same read as another file was, as long as its columns are parted alike."""
        return (
            replace(self, layout=layout)
            if self.layout is not None and self.layout.delimiter == layout.delimiter
            else self
        )

    def place(self, data: Path, folder: Path) -> dict[str, Any]:
        """The settings [data] of a study in `folder`: where the file is, how it is laid out, and
        what says what its columns are.
        """
        said = {} if self.named is None else {"variables": path_from(folder, self.named)}
        return {
            "path": path_from(folder, data),
            **({} if self.layout is None else self.layout.stated),
            **said,
        }

    def remarks(self, columns: Sequence[ColumnSummary]) -> list[str]:
        """How the file is read and what it does not say, a sentence each; counts, and no value."""
        stated = {} if self.layout is None else self.layout.stated
        told = (
            [
                "Read as a csv with "
                f"{', '.join(f'{name} {value!r}' for name, value in stated.items())}: guessed, "
                "see [data]."
            ]
            if stated
            else []
        )
        if self.variables is not None:
            labels = sum(bool(variable.label) for variable in self.variables.values())
            values = sum(bool(variable.values) for variable in self.variables.values())
            missing = sum(bool(variable.missing) for variable in self.variables.values())
            told.append(
                f"{self._file()} labels {labels} columns, the values of {values}, and declares "
                f"missing codes of {missing}."
            )
        told += [
            f"{plain(name)}: {count} kinds of missing values are read as one: only codes can be "
            "distinguished."
            for name, count in self.kinds.items()
        ]
        return [*told, *self._unsaid(columns), *([self.silent] if self.silent else [])]

    def _file(self) -> str:
        return plain(self.named.name) if self.named is not None else "the file"

    def _unsaid(self, columns: Sequence[ColumnSummary]) -> Iterator[str]:
        """Columns of amounts of which a file labels some values, and cannot say whether these mean
        missing.
        """
        package = None if self.named is None else _PACKAGES.get(self.named.suffix.lower())
        if self.variables is None or package is None:
            return
        for column in columns:
            labelled = self.variables[column.name].values if column.name in self.variables else {}
            if column.kind == NUMBER and labelled:
                taken = len(
                    {*column.codes} & {code for code in labelled if not isinstance(code, str)}
                )
                yield (
                    f"{plain(column.name)}: {len(labelled)} labelled among its amounts, of which "
                    f"{taken} stand out and are taken for "
                    f"codes; a file of {package} cannot say which mean missing, one of SPSS or a "
                    "sidecar file can (--variables)."
                )


def inspect_file(data: Path, named: Path | None = None) -> FileLayout:
    """How a file seems to be read, and what it, or the file `named`, says of its columns."""
    ending = data.suffix.lower()
    layout = guess_layout(data) if ending == ".csv" and data.is_file() else None
    odd = () if layout is None else tuple(odd_lines(data, layout, MISSING))
    if named is not None:
        return FileLayout(layout, named, Variables.read(named), odd=odd)
    if ending not in DESCRIBING or not data.is_file():
        return FileLayout(layout, odd=odd)
    try:
        variables, kinds = Variables.read(data), codes_of_kinds(data)
    except InputError as error:  # its values may be readable all the same
        return FileLayout(layout, silent=f"Its labels and missing codes are not read: {error}.")
    return (
        FileLayout(layout, data, variables, kinds)
        if variables.says_something
        else FileLayout(layout, kinds=kinds)
    )
