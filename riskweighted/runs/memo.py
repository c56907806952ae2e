"""What was made of a study and may be needed again: in memory, within a bound, and of a run the
fits of blocks in its working folder.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.common.atomic import keep, recall
from riskweighted.common.seeds import Streams
from riskweighted.runs.randomness import keep_entropy

if TYPE_CHECKING:
    from riskweighted.sampling.block_fit import BlockFit
    from riskweighted.sequence.fit import Fit
    from riskweighted.sequence.tasks import BlockTask

__all__ = ["Memo", "Store", "bytes_of"]

T = TypeVar("T")
_LITTLE = 100  # bytes of what holds no array
# what a run asks for once, and would hold for nothing
_PASSING = ("paired", "scores", "utility", "risk", "expected")


class Memo:
    """Values by what decides them; those used last, as many as `room` bytes hold, and always the
    last `few`, which one cell needs.
    """

    def __init__(self, room: float, few: int = 16) -> None:
        self.room, self.few, self.held = room, few, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def once(
        self, key: Hashable, make: Callable[[], T], size: Callable[[T], int] | None = None
    ) -> T:
        """What `make` gives, or gave before under the same key; `size`: how many bytes that is,
        where `bytes_of` would not know.
        """
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
    """About how many bytes a value holds beside the confidential data, which it shares with
    others.
    """
    if isinstance(value, pd.DataFrame):
        return int(value.memory_usage(index=False).sum())
    if isinstance(value, (np.ndarray, pd.Series, xr.Dataset)):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return _LITTLE + sum(map(bytes_of, value.values()))
    if isinstance(value, (list, tuple, set)):
        return _LITTLE + sum(map(bytes_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(
            bytes_of(getattr(value, part.name))
            for part in fields(value)
            if part.name != "confidential"
        )
    return _LITTLE


@dataclass(frozen=True)
class Store:
    """What keeps the stages of a study: by default all that a run needs again.

    ``folder``: the working folder of a run, from which it goes on when it was interrupted.
    ``archives``: fits that were made elsewhere (`Fit.to_bytes`), by the key of their stage.
    ``passing``: stages that are not kept. ``fits``: held whatever the memo has room for.
    """

    memo: Memo = field(default_factory=lambda: Memo(math.inf))
    folder: Path | None = None
    archives: Mapping[str, bytes | None] = field(default_factory=dict)
    passing: tuple[str, ...] = _PASSING
    fits: dict[str, "Fit"] = field(default_factory=dict)

    def once(
        self, key: tuple[str, ...], make: Callable[[], T], size: Callable[[Any], int] | None = None
    ) -> T:
        """What `make` gives, or gave before under the same stage and key; `size` as `Memo.once`
        takes it.
        """
        return make() if key[0] in self.passing else self.memo.once(key, make, size)

    def fit(self, key: str, make: Callable[[], "Fit"]) -> "Fit":
        """The same of a fit."""
        if key not in self.fits:
            self.fits[key] = self.memo.once(("fit", key), make)
        return self.fits[key]

    def block(self, name: str, task: "BlockTask") -> "BlockFit | None":
        """The fit of a block that is kept under a name, if any: of a chain, where nothing that was
        changed changes it.
        """
        key = ("block", name)
        if key in self.memo:
            return cast("BlockFit", self.memo.once(key, lambda: None))
        if self.folder is None or recall(self.folder / f"{name}.nc", name) is None:
            return None
        return task.block.model.load(
            self.folder / f"{name}.nc", task.alpha, task.seed, task.censoring, task.centring
        )

    def keep_block(self, name: str, fit: "BlockFit", streams: Streams) -> None:
        """Keep the fit of a block, in a folder with the entropy that its seed was made with."""
        self.memo.once(("block", name), lambda: fit)
        if self.folder is not None:
            keep_entropy(streams, self.folder)
            keep(self.folder / f"{name}.nc", fit.to_bytes(), name)
