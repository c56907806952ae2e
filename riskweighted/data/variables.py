"""`Variables`: what a file says of its columns, from the file itself or from one beside it."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from riskweighted.common.checks import check_text
from riskweighted.common.errors import InputError, listing
from riskweighted.common.native import as_pandas
from riskweighted.data.metadata import DESCRIBING, read_metadata
from riskweighted.data.sidecar import SIDECARS, read_sidecar, write_sidecar
from riskweighted.data.typed import apply_types, labelled_levels, type_of
from riskweighted.data.variable import Variable

__all__ = ["Variables"]


class Variables(Mapping[str, Variable]):
    """Variables hold what a survey says of its columns: label, value labels, missing codes, unit,
    type and source of each.

    They are public, as the documentation of the survey is: they leave with every release. Say
    nothing in them that was read off confidential values.

    Parameters
    ----------
    variables : mapping of column name to Variable

    Examples
    --------
    >>> variables = rw.Variables(
    ...     {"income": rw.Variable("Yearly income", {-8: "refused"}, missing=(-8,), unit="$")}
    ... )
    >>> variables.write("variables.toml")
    >>> rw.Variables.read("variables.toml") == variables
    True
    """

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        for name, variable in variables.items():
            check_text(name, "the name of a variable")
            if not isinstance(variable, Variable):
                raise InputError(f"{name!r} must be a Variable, got {type(variable).__name__}")
        self._variables = MappingProxyType(dict(variables))

    def __getitem__(self, name: str) -> Variable:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __hash__(self) -> int:
        return hash(tuple(self._variables.items()))

    def __repr__(self) -> str:
        return f"Variables({dict(self._variables)!r})"

    @classmethod
    def read(cls, path: str | Path) -> "Variables":
        """Return what a file says of its columns.

        Parameters
        ----------
        path : str or Path
            A data file of SPSS (.sav), Stata (.dta), SAS (.xpt, .sas7bdat) or parquet, whose own
            metadata is read; or a sidecar file, TOML or csv. The sidecar in TOML has a table for
            each variable, with label, type, unit, source, missing (a list of codes and of ranges
            [least, largest]) and a table values of labels by value; in csv it has the columns
            variable, value, label, missing, type, unit, source.

        Raises
        ------
        InputError
            If the file is absent, cannot be read, holds another setting, or gives two labels for
            one value.

        Examples
        --------
        >>> rw.Variables({"income": rw.Variable("Yearly income")}).write("names.csv")
        >>> rw.Variables.read("names.csv")["income"].label
        'Yearly income'
        """
        path = Path(path)
        ending = path.suffix.lower()
        if ending not in (*SIDECARS, *DESCRIBING):
            raise InputError(
                f"{path.name!r} does not describe columns; valid are a sidecar file "
                f"({listing(SIDECARS)}) and {listing(DESCRIBING)}"
            )
        if not path.is_file():
            raise InputError(f"there is no file {str(path)!r}")
        return cls(read_sidecar(path) if ending in SIDECARS else read_metadata(path))

    def write(self, path: str | Path) -> None:
        """Write a sidecar file, TOML or csv by the ending of its name; `read` gives the same back.

        Raises
        ------
        InputError
            If the name ends in neither.

        Examples
        --------
        >>> rw.Variables({"income": rw.Variable(unit="$")}).write("units.toml")
        """
        write_sidecar(self, Path(path))

    @property
    def says_something(self) -> bool:
        """Whether any variable has a label, value labels, missing codes or a unit."""
        return any(variable.says_something for variable in self.values())

    def only(self, names: Iterable[object]) -> "Variables":
        """Those of some columns, in their order."""
        return Variables({str(name): self[str(name)] for name in names if str(name) in self})

    def of_types(self, types: Iterable[str]) -> "Variables":
        """Those of some stated types."""
        wanted = set(types)
        return Variables(
            {name: variable for name, variable in self.items() if variable.type in wanted}
        )

    def typed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table whose columns have the stated types.

        Parameters
        ----------
        table : DataFrame (n, columns)

        Raises
        ------
        InputError
            If a column does not hold what is stated of it, such as dates that are written in
            several ways.

        Examples
        --------
        >>> days = pd.DataFrame({"day": ["31.12.2024", "01.02.2025"]})
        >>> rw.Variables({"day": rw.Variable(type="date")}).typed(days)["day"].dt.year.tolist()
        [2024, 2025]
        """
        return apply_types(as_pandas(table), self)

    def as_released(self, table: pd.DataFrame, synthesized: Iterable[str]) -> "Variables":
        """Those of a released table (n, columns), with the types that its columns have; the labels
        of what was replaced say so.

        Levels without a label, which the data may have made, are left out where they do not occur,
        and of what was replaced altogether.
        """
        replaced, described = set(synthesized), {}
        for name in map(str, table):
            stated = self.get(name, Variable())
            kind = stated.type if stated.type and stated.type != "numeric" else type_of(table[name])
            of_file = Variable(
                stated.label,
                labelled_levels(table[name], stated),
                stated.missing,
                stated.unit,
                kind,
                stated.source,
            )
            described[name] = of_file.called_synthetic(name) if name in replaced else of_file
        return Variables(described)
