"""`find_structure`: the rules that hold in a file without anyone having written them down (METHODS
section 16).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.derivation.orders import orders, sums
from riskweighted.derivation.recodes import recodes
from riskweighted.derivation.rule_findings import RuleFinding
from riskweighted.derivation.states import Looked, look
from riskweighted.derivation.status_implications import implications

__all__ = ["MOST_COLUMNS", "FoundStructure", "find_structure"]

MOST_COLUMNS = 300


@dataclass(frozen=True)
class FoundStructure:
    """What holds together in a file. Confidential: rules name levels and codes, and that a rule
    holds is told by every record.

    Attributes
    ----------
    findings : tuple of Finding
    records : int
    columns : tuple of str
        Those that were looked at, in the order in which they are known.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> rw.find_structure(data.assign(north=data["region"] == "north")).table["rule"].tolist()
    ['north follows from region and the other way round']
    """

    findings: tuple[RuleFinding, ...] = field(repr=False)
    records: int
    columns: tuple[str, ...]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a rule: ``kind``, ``rule`` in words, ``columns``, how many records
        ``could_break`` it, ``exceptions``, and whether a chain can keep it (``kept``), which it
        does where there is no exception."""
        rows = [
            (
                found.kind,
                found.text,
                found.columns,
                found.could,
                found.exceptions,
                bool(found.declared) and not found.exceptions,
            )
            for found in self.findings
        ]
        return pd.DataFrame(
            rows, columns=["kind", "rule", "columns", "could_break", "exceptions", "kept"]
        )

    @property
    def recodes(self) -> dict[str, str]:
        """Columns that follow from another one without exception, and from which."""
        told: dict[str, str] = {}
        for found in self.findings:
            if found.kind in ("copy", "recode", "bands") and not found.exceptions:
                told.setdefault(found.columns[1], found.columns[0])
        return told

    def among(self, names: Sequence[str]) -> "FoundStructure":
        """The rules that are of these columns alone."""
        return replace(
            self,
            findings=tuple(found for found in self.findings if set(found.columns) <= {*names}),
            columns=tuple(names),
        )

    def kept(self, variables: Sequence[str]) -> tuple[RuleFinding, ...]:
        """The rules that a chain of these variables keeps: without exception, and with a variable
        that it draws.
        """
        return tuple(
            found
            for found in self.findings
            if found.declared and not found.exceptions and set(found.columns) & {*variables}
        )

    def settings(self, variables: Sequence[str]) -> dict[str, list[list[str]]]:
        """The rules as the settings ``order``, ``implied`` and ``sums`` of the chain "sequential";
        those that are empty are left out.
        """
        told: dict[str, list[list[str]]] = {"order": [], "implied": [], "sums": []}
        for found in self.kept(variables):
            for setting, parts in found.declared:
                told[setting].append(list(parts))
        return {setting: rules for setting, rules in told.items() if rules}


def find_structure(
    data: Frame,
    columns: Sequence[str] | None = None,
    *,
    codes: Mapping[str, Sequence[float]] | None = None,
) -> FoundStructure:
    """Return the rules that hold between the columns of a file, each with the records that could
    have broken it and those that do.

    Implications between statuses and levels (zero, a code, missing, a level: "where smoke is no,
    cigarettes is -8"), combinations that never occur, orders a <= b, sums total = a + b
    (differences are sums), and copies, recodes and bands of another column. At least 30 records
    could have broken a rule, and columns that have nothing to do with each other would give no rule
    in 999 of 1,000 files (METHODS section 16). Rules that up to one record, or one in 200, break
    are named with the number of exceptions and are not kept.

    Parameters
    ----------
    data : DataFrame, n rows
        Of pandas or polars, or a table of Arrow.
    columns : sequence of str, optional
        Those to look at, in the order in which they are known: predictors first, then the variables
        as a chain draws them. Of rules that follow from each other those are left that a chain in
        this order needs. Default: all, as in the file.
    codes : mapping of column to sequence of float, optional
        Special codes, which are no amounts.

    Raises
    ------
    InputError
        If there are no records, more than 300 columns, or columns that the data lack.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> spent = data.assign(food=data["income"] // 4, rest=data["income"] - data["income"] // 4)
    >>> rw.find_structure(spent, ["income", "food", "rest"]).settings(["food", "rest"])["sums"]
    [['income', 'food', 'rest']]
    """
    data = as_pandas(data)
    require_columns(data, [], "data")
    names = list(map(str, data.columns)) if columns is None else list(columns)
    require_columns(data, names, "data")
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"columns must be at most {MOST_COLUMNS}, each of which is compared with every "
            f"other, got {len(names)}: name some"
        )
    strange = [name for name in codes or {} if name not in data.columns]
    if strange:
        raise InputError(f"codes name {listing(strange)}, no column of the data")
    looked = look(data, list(dict.fromkeys(names)), codes or {})
    findings = tuple(_findings(looked)) if len(data) and looked else ()
    return FoundStructure(findings, len(data), tuple(column.name for column in looked))


def _findings(looked: Sequence[Looked]) -> Iterator[RuleFinding]:
    """Of columns that follow from each other all but the first are left out of what is looked for
    next.
    """
    found = list(recodes(looked))
    copies = {
        finding.columns[1] for finding in found if finding.kind == "copy" and not finding.exceptions
    }
    yield from (
        finding for finding in found if finding.kind == "copy" or not copies & {*finding.columns}
    )
    told = {
        (finding.columns[0], finding.columns[1])
        for finding in found
        if not finding.exceptions and finding.declared
    }
    rest = [column for column in looked if column.name not in copies]
    yield from implications(rest, told | {(other, one) for one, other in told})
    yield from (
        finding for finding in orders(rest) if not {finding.columns, finding.columns[::-1]} & told
    )
    yield from sums(rest, np.random.default_rng(0))
