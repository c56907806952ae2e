"""What a worker of a sweep has computed and may need again, within a bound."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
import xarray as xr

__all__ = ["Memo", "bytes_of"]

T = TypeVar("T")
_LITTLE = 100  # bytes of what holds no array


class Memo:
    """Values by what decides them; those used last, as many as `room` bytes hold, and always the last `few`, which one cell needs."""

    def __init__(self, room: int, few: int = 16) -> None:
        self.room, self.few, self.held = room, few, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def once(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int] | None = None) -> T:
        """What `make` gives, or gave before under the same key; `size`: how many bytes that is, where `bytes_of` would not know."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return cast(T, self._kept[key][0])
        value = make()
        self._kept[key] = value, (size or bytes_of)(value)
        self.held += self._kept[key][1]
        while self.held > self.room and len(self._kept) > self.few:
            self.held -= self._kept.popitem(last=False)[1][1]
        return value

    def clear(self) -> None:
        self._kept.clear()
        self.held = 0


def bytes_of(value: Any) -> int:
    """About how many bytes a value holds beside the confidential data, which it shares with others."""
    if isinstance(value, pd.DataFrame):
        return int(value.memory_usage(index=False).sum())
    if isinstance(value, (np.ndarray, pd.Series, xr.Dataset)):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return _LITTLE + sum(map(bytes_of, value.values()))
    if isinstance(value, (list, tuple, set)):
        return _LITTLE + sum(map(bytes_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(bytes_of(getattr(value, part.name)) for part in fields(value) if part.name != "confidential")
    return _LITTLE
