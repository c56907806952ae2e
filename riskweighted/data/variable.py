"""What a file says of one of its columns: label, value labels, missing codes, unit, type, where it
comes from.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_choice, check_sequence, check_text
from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.common.settings import as_table

__all__ = [
    "CATEGORIES",
    "TEXTS",
    "TYPES",
    "Code",
    "Missing",
    "Variable",
    "missing_in_words",
    "spell_code",
    "truncate",
]

Code = float | str
Missing = Code | tuple[float, float]
TEXTS, CATEGORIES = ("text",), ("category", "ordered category")
TYPES = (
    "numeric",
    "whole number",
    "number",
    *TEXTS,
    *CATEGORIES,
    "yes or no",
    "date",
    "date and time",
)
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_SYNTHETIC = "(synthetic)"


@dataclass(frozen=True)
class Variable:
    """What is known of a column besides its values; all of it is public, as a survey's
    documentation is.

    Attributes
    ----------
    label : str
        What the variable is, in words.
    values : mapping of number or str to str
        The label of each labelled value, whether it occurs or not; an empty label names a level of
        a category.
    missing : tuple
        Codes that mean that there is no value, and ranges of such codes as pairs (least, largest),
        whose ends may be infinite. What each code means stands in `values`.
    unit : str
    type : str
        "numeric" (whole or not), "whole number", "number", "text", "category", "ordered category",
        "yes or no", "date", "date and time", or "" where nothing is stated.
    source : str
        The file that it comes from, and the format that the column has there.

    Examples
    --------
    >>> income = rw.Variable("Yearly income", {-8: "refused"}, missing=(-8,), unit="$")
    >>> income.values[-8], income.is_missing(pd.Series([1200, -8])).tolist()
    ('refused', [False, True])
    """

    label: str = ""
    values: Mapping[Code, str] = field(default_factory=dict, hash=False)
    missing: tuple[Missing, ...] = ()
    unit: str = ""
    type: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("label", "unit", "source"):
            check_text(getattr(self, name), name)
        if self.type != "":
            check_choice(self.type, TYPES, "type")
        object.__setattr__(self, "values", self._checked_values())
        object.__setattr__(
            self,
            "missing",
            tuple(map(self._checked_missing, check_sequence(self.missing, "missing"))),
        )

    def _checked_values(self) -> dict[Code, str]:
        """Keys as numbers or texts, each once."""
        given = as_table(self.values, "values")
        for label in given.values():
            check_text(label, "a value label")
        as_text = self.type in (*TEXTS, *CATEGORIES) or not all(
            _reads_as_number(key) for key in given
        )
        # a csv has text
        as_text = as_text or (
            not self.type
            and any(isinstance(key, str) and _LEADING_ZERO.match(key) for key in given)
        )
        keys = [str(spell_code(key)) if as_text else _number(key) for key in given]
        if len(set(keys)) < len(keys):
            raise InputError(
                f"values gives {len(keys)} labels for {len(set(keys))} values: a value must have "
                "one label"
            )
        return dict(zip(keys, given.values(), strict=True))

    def _checked_missing(self, code: object) -> Missing:
        if isinstance(code, (list, tuple)):
            ends = [
                -math.inf if end is None and number == 0 else math.inf if end is None else end
                for number, end in enumerate(code)
            ]
            if len(ends) != 2 or not all(_is_number(end) for end in ends) or not ends[0] <= ends[1]:
                raise InputError("missing: a range must be [least, largest], two numbers in order")
            return (_whole(ends[0]), _whole(ends[1])) if ends[0] < ends[1] else _whole(ends[0])
        if isinstance(code, str):
            return code
        if not _is_number(code) or not math.isfinite(_number(code)):
            raise InputError(
                "missing must hold numbers, texts, and ranges [least, largest], got "
                f"{type(code).__name__}"
            )
        return _number(code)

    @property
    def says_something(self) -> bool:
        """Whether anything is stated besides the type and the source."""
        return bool(self.label or self.values or self.missing or self.unit)

    @property
    def number_labels(self) -> dict[Code, str]:
        """The labels of values that are numbers, which the levels of a category may be too."""
        return {
            _number(code): label
            for code, label in self.values.items()
            if label and _reads_as_number(code)
        }

    @property
    def missing_numbers(self) -> tuple[float, ...]:
        """The numeric codes that mean missing, without ranges."""
        return tuple(code for code in self.missing if not isinstance(code, (str, tuple)))

    @property
    def missing_ranges(self) -> tuple[tuple[float, float], ...]:
        """The ranges of codes that mean missing."""
        return tuple(code for code in self.missing if isinstance(code, tuple))

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that mean missing."""
        return tuple(code for code in self.missing if isinstance(code, str))

    def is_missing(self, column: pd.Series) -> np.ndarray:
        """Which values of a column (n,) are codes that mean missing; those that are absent
        altogether are none.
        """
        if not holds_numbers(column):
            return np.asarray(column.isin(self.missing_texts), dtype=bool)
        values = as_floats(column)
        within = [(values >= least) & (values <= most) for least, most in self.missing_ranges]
        return np.asarray(
            np.isin(values, self.missing_numbers)
            | np.any([np.zeros(len(values), dtype=bool), *within], axis=0)
        )

    def called_synthetic(self, name: str) -> "Variable":
        """The same, its label ending in "(synthetic)"; unlabelled levels, which the data may have
        made, are left out.
        """
        label = self.label or name
        told = label if label.endswith(_SYNTHETIC) else f"{label} {_SYNTHETIC}"
        labelled = {code: text for code, text in self.values.items() if text}
        return Variable(told, labelled, self.missing, self.unit, self.type, self.source)

    def short_label(self, most: int, *, in_bytes: bool = False) -> str:
        """The label in at most so many characters, or bytes of UTF-8; that it is synthetic is
        kept.
        """
        return truncate(
            self.label,
            most,
            f" {_SYNTHETIC}" if self.label.endswith(_SYNTHETIC) else "",
            in_bytes=in_bytes,
        )

    def in_words(self) -> dict[str, str]:
        """What a codebook and a report tell: label, value labels, codes that mean missing."""
        values = "; ".join(
            f"{text} = {spell_code(code)}" for code, text in self.values.items() if text
        )
        missing = "; ".join(
            f"code{'s' if isinstance(code, tuple) else ''} {missing_in_words(code)}"
            for code in self.missing
        )
        return {"label": self.label, "value labels": values, "missing codes": missing}

    def to_table(self) -> dict[str, Any]:
        """As it stands in a sidecar file: what is empty is left out."""
        listed = [
            list(map(_whole, code)) if isinstance(code, tuple) else spell_code(code)
            for code in self.missing
        ]
        values = {str(spell_code(code)): text for code, text in self.values.items()}
        table = {
            "label": self.label,
            "type": self.type,
            "unit": self.unit,
            "source": self.source,
            "missing": listed,
            "values": values,
        }
        return {name: value for name, value in table.items() if value}


def missing_in_words(code: Missing) -> str:
    """A code that means missing, or a range of them, as people write it."""
    if not isinstance(code, tuple):
        return str(spell_code(code))
    ends = [
        {-math.inf: "lowest", math.inf: "highest"}.get(end, str(spell_code(end))) for end in code
    ]
    return " thru ".join(ends)


def truncate(text: str, most: int, ending: str = "", *, in_bytes: bool = False) -> str:
    """A text in at most so many characters, or bytes of UTF-8; a longer one is cut before its
    ending.
    """
    if len(text.encode() if in_bytes else text) <= most:
        return text
    body = text.removesuffix(ending)
    if in_bytes:
        return body.encode()[: most - len(ending.encode())].decode(errors="ignore") + ending
    return body[: most - len(ending)] + ending


def spell_code(code: Code) -> int | float | str:
    """A code as people write it: whole numbers without a point."""
    return code if isinstance(code, str) else _whole(float(code))


def _whole(number: float) -> int | float:
    return int(number) if math.isfinite(number) and float(number).is_integer() else float(number)


def _is_number(value: object) -> bool:
    return (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and not math.isnan(value)
    )


def _number(value: Any) -> float:
    return _whole(float(value))


def _reads_as_number(key: object) -> bool:
    """Whether a key is a finite number, or the text of one."""
    try:
        return not isinstance(key, bool) and math.isfinite(float(key))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
