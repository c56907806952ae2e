"""What stands in a study with the mark "found": it was found in the data, so that it is not public
and leaves with no release.

A number is written ``[500, "found"]``, several ones ``[-8, -9, "found"]``. Without the mark a
setting is public.
"""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "FOUND",
    "NOT_SHOWN",
    "FoundNumber",
    "FoundNumbers",
    "found_number",
    "found_numbers",
    "hide_found",
    "is_found",
    "mark_found",
    "most_beyond",
]

FOUND = "found"
NOT_SHOWN = "found in the data, not shown"
_MOST, _MOST_SHARE = 10, 0.05  # amounts that may lie beyond bounds that were found


class FoundNumber(float):
    """A number that was found in the data."""

    def to_table(self) -> list[float | str]:
        """As it stands in a file."""
        return [float(self), FOUND]


class FoundNumbers(tuple[float, ...]):
    """Several ones."""

    __slots__ = ()

    def to_table(self) -> list[float | str]:
        """As they stand in a file."""
        return [*self, FOUND]


def mark_found(value: Any) -> list[Any]:
    """A setting, one value or several, with the mark."""
    return [*value, FOUND] if isinstance(value, (list, tuple)) else [value, FOUND]


def is_found(value: Any) -> bool:
    """Whether a setting has the mark, as it stands in a file or as it was read."""
    listed = (
        isinstance(value, (list, tuple))
        and len(value) > 1
        and isinstance(value[-1], str)
        and value[-1] == FOUND
    )
    return listed or isinstance(value, (FoundNumber, FoundNumbers))


def found_number(value: Any) -> Any:
    """The number of ``[number, "found"]``, which keeps the mark; anything else as it is, for others
    to check.
    """
    single = (
        is_found(value)
        and not isinstance(value, FoundNumber)
        and len(value) == 2
        and isinstance(value[0], (int, float))
    )
    return FoundNumber(value[0]) if single and not isinstance(value[0], bool) else value


def found_numbers(value: Any) -> tuple[Any, bool]:
    """Several numbers without the mark, and whether they had it."""
    return (
        (value[:-1], True)
        if is_found(value) and not isinstance(value, (FoundNumber, FoundNumbers))
        else (value, is_found(value))
    )


def most_beyond(n: int) -> int:
    """How many of n amounts may lie beyond bounds that were found: where more do, they are those of
    other data.
    """
    return max(_MOST, int(_MOST_SHARE * n))


def hide_found(settings: Any) -> Any:
    """Plain settings as they leave: in the place of what was found stands that it is not shown."""
    if is_found(settings):
        return NOT_SHOWN
    if isinstance(settings, Mapping):
        return {name: hide_found(value) for name, value in settings.items()}
    return (
        [hide_found(value) for value in settings]
        if isinstance(settings, (list, tuple))
        else settings
    )
