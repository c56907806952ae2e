"""What a guarantee takes as public: declared, column by column, and not made of the sensitive
values (METHODS section 9.3).
"""

import json
import warnings
from collections.abc import Sequence

from riskweighted.common.errors import InputError, listing
from riskweighted.derivation.derived import REFUSE, derived
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.declared import SideBySide
from riskweighted.sequence.prepare import prepare_sequence

__all__ = ["not_public", "refuse_told"]


def not_public(prepared: PreparedSequence, guarantee: Guarantee) -> list[str]:
    """What the models read and a guarantee does not declare public, in words that say what to
    write: columns, and levels of a variable.

    InputError where it declares what is no column, or the numbers that are synthesized.
    """
    public, columns = guarantee.public, [str(name) for name in prepared.confidential.columns]
    levels = [link.variable for link in prepared.links if link.levels]
    strange = [name for name in public if name not in columns]
    if strange:
        raise InputError(
            f"guarantee.public names {listing(strange)}; valid are columns of the data: "
            f"{listing(columns)}"
        )
    numbers = [name for name in public if name in prepared.variables and name not in levels]
    if numbers:
        raise InputError(
            f"guarantee.public names {listing(numbers)}, which is synthesized and not a "
            "variable of levels: its numbers are not public"
        )
    read, unknown = _read(prepared, public), [name for name in levels if name not in public]
    if not read and not unknown:
        return []
    parts = [f"the columns {listing(read)} that the model reads"] * bool(read) + [
        f"the levels of {listing(unknown)}"
    ] * bool(unknown)
    write = json.dumps([*public, *read, *unknown], ensure_ascii=False)
    return [
        f"{' and '.join(parts)}, not declared public (if anyone may know them, write public = "
        f"{write} in the guarantee)"
    ]


def _read(prepared: PreparedSequence, public: Sequence[str]) -> list[str]:
    """The undeclared columns without which the models cannot be prepared."""
    others = [
        str(name)
        for name in prepared.confidential.columns
        if name not in public and name not in prepared.variables
    ]
    if _suits(prepared, others):
        return []
    return [name for name in others if not _suits(prepared, [name])] or others


def _suits(prepared: PreparedSequence, left_out: Sequence[str]) -> bool:
    """Whether the data without some columns can be prepared."""
    declared = prepared.declared
    if isinstance(declared, SideBySide):  # which have no guarantee
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prepare_sequence(declared, prepared.confidential.drop(columns=list(left_out)))
        except Exception:  # an InputError, or whatever a stranger's code says
            return False
    return True


def refuse_told(prepared: PreparedSequence, guarantee: Guarantee) -> None:
    """Refuse what is declared public and gives a sensitive variable away (`derived`): what is made
    of it is not public.
    """
    public = [name for name in guarantee.public if name not in prepared.variables]
    levels = [link.variable for link in prepared.links if link.levels]
    table = derived(
        prepared.confidential,
        prepared.variables,
        released=public,
        codes=prepared.codes,
        categorical=levels,
    )
    for row in table[table["verdict"] == REFUSE].to_dict("records"):
        raise InputError(
            f"guarantee.public names {listing(row['columns'])}, which discloses the synthesized "
            f"{row['target']!r}: {row['relation']} "
            f"({row['rule']}); what is derived from it is not public: leave it out of the model"
        )
