"""Folds of units, by which any tool shows what its release would be without a record; and decoys,
by which it shows that it was.

Of K folds the tool is run K times, each time without the values of one fold, and makes rows for
everybody. Every fold's release is attacked by itself, and only that fold is scored: in a file of
out-of-fold rows a record's neighbours would carry its value.

Some values of each fold's training rows are exchanged for high ones, or for low ones: decoys. A
tool that was trained on them gives values that move with them, and one that was trained on the data
themselves gives values that do not.

Of one release of a small file mean D has a large error. So the tool may be asked for R packs of the
whole file and of every fold, all from the trainings that it makes anyway: then D is a mean over
packs of one population, the file. The first pack of the whole is what may leave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_names, check_seed
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.folders import open_folder
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.progress import Advance, Steps
from riskweighted.data.io import read_table, write_table
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.decoys import (
    Decoys,
    decoy_scores,
    plant,
    shown_elsewhere,
    slope_on_decoys,
)
from riskweighted.disclosure.fold_files import (
    ASSIGNMENT,
    DECOYS,
    check_written,
    read_manifest,
    read_pack,
    write_guide,
    write_manifest,
)
from riskweighted.intruder.world import World

__all__ = ["Folds", "assign_folds", "read_folds", "write_folds"]

_LEAST_Z = 3.0  # of the slope of what the folds' releases give on what they were trained on
# of several packs, whose datasets are so many that the error of a fit that they share is not seen
# among them
_LEAST_SLOPE = 1 / 3


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds are what a tool made without the values of each K-th of the records. Confidential.

    ``of_row`` (n,): the fold of every record; ``packs``: of each fold L datasets of n rows;
    ``trained`` (K,): the mean score of what the tool was to be trained on, decoys among it;
    ``synthesized``: the variables. Where the tool made R packs of each: ``further``, the R - 1
    after the first, each of K times L datasets; ``whole``, the R that it made of the whole file, of
    which the first may leave.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from riskweighted.runs.examples import data, synthetic
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "folds"
    >>> rw.write_folds(data, "income", folder, K=2, random_seed=1)
    >>> for fold in ("1", "2"):  # a tool that is better run on train.csv
    ...     synthetic[0].to_csv(folder / fold / "synthetic_1.csv", index=False)
    >>> rw.read_folds(folder, data).synthesized
    ('income',)
    """

    of_row: np.ndarray = field(repr=False)
    packs: Sequence[Sequence[pd.DataFrame]] = field(repr=False)
    trained: np.ndarray = field(repr=False)
    synthesized: tuple[str, ...]
    further: Sequence[Sequence[Sequence[pd.DataFrame]]] = field(default=(), repr=False)
    whole: Sequence[Sequence[pd.DataFrame]] = field(default=(), repr=False)

    @property
    def made(self) -> Sequence[Sequence[Sequence[pd.DataFrame]]]:
        """R times what was made of every fold."""
        return (self.packs, *self.further)

    def check(self, world: World, released: Sequence[pd.DataFrame]) -> tuple[str, ...]:
        """Return why nothing can be judged by these folds, if the decoys cannot be seen in them.

        Refused are folds of other variables or of another number of datasets than the release,
        those that show the decoys of others, and several packs of the whole file whose first is not
        the release.
        """
        copies = len(released)
        missing = [name for name in world.scenario.synthetic if name not in self.synthesized]
        if missing:
            raise InputError(
                f"the folds synthesize {', '.join(self.synthesized)}, and the scenario "
                f"{', '.join(missing)} as well"
            )
        counts = {len(pack) for packs in (self.whole, *self.made) for pack in packs}
        if counts != {copies}:
            raise InputError(
                f"the release has {copies} datasets and the folds {sorted(counts)}: both must "
                "have L"
            )
        if self.whole and not _alike(world, released, self.whole[0]):
            raise InputError(
                "the release is not pack_1 of the whole file: only folds/0/pack_1 may be released, "
                "fixed before it is judged"
            )
        scores = [
            [
                [
                    decoy_scores(world.confidential, frame, self.synthesized[0]).mean()
                    for frame in pack
                ]
                for pack in packs
            ]
            for packs in self.made
        ]
        given = np.concatenate(scores, axis=1)
        slope, z = slope_on_decoys(self.trained, given)
        if z >= _LEAST_Z and slope >= (_LEAST_SLOPE if self.whole else 0.0):
            return ()
        if shown_elsewhere(self.trained, given):
            raise InputError(
                "the folds show the decoys that were planted in what the tool was to be trained "
                f"on for other folds (slope {slope:.2f}, z "
                f"{z:.1f}): datasets lie in the wrong fold; put what was made of each "
                "folds/k/train.csv into folds/k"
            )
        return (
            f"the decoys cannot be seen in the folds (slope {slope:.2f}, z {z:.1f}): either the "
            "tool hardly follows the data, or datasets "
            "lie in the wrong fold, or they were made with the fold's values"
            + (
                ""
                if self.whole
                else "; of a small file several packs show them better (riskweighted folds "
                "--packs 20)"
            ),
        )


def write_folds(
    confidential: Frame,
    synthesized: str | Sequence[str],
    out: str | Path,
    *,
    K: int = 5,  # noqa: N803
    packs: int = 1,
    unit: str | None = None,
    random_seed: int | None = None,
) -> None:
    """Write what a tool is to be run on, K times, so that `attribution` can tell what its release
    would be without a record.

    ``out/k/train.csv``: the data without fold k, with decoys; ``out/k/rows.csv``: everybody's other
    columns, for which the tool makes values; ``assignment.csv``: the fold of every row;
    ``decoys.csv`` and ``folds.json``; ``README.txt``: what to do. The tool's L datasets, of n rows
    in the order of ``rows.csv``, are put beside them as ``out/k/synthetic_1.csv`` to
    ``synthetic_L.csv``. All files are confidential and their owner's.

    Of several packs there is ``out/0`` as well, the whole file without decoys, and the tool draws
    `packs` times L datasets from each training, as ``out/k/pack_1/synthetic_1.csv`` and so on.
    ``out/0/pack_1`` is what may leave.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthesized : str or sequence of str
        The variables that the tool synthesizes.
    out : path
        A new folder.
    K : int
        The number of folds, from 2.
    packs : int
        How many packs of L datasets the tool makes of each training. One release of a file of a few
        hundred records cannot show that mean D is small, 20 packs can; with fewer than 5 the error
        is still that over records.
    unit : str, optional
        A column such as a household's number: rows of one unit stand in one fold.
    random_seed : int, optional
        Leave it out but for experiments.

    Raises
    ------
    InputError
        If a column is unknown, the folder exists, there are fewer than K units, or `packs` is no
        number from 1.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from riskweighted.runs.examples import data
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "folds"
    >>> rw.write_folds(data, "income", folder, random_seed=1)
    >>> sorted(path.name for path in folder.iterdir())
    ['1', '2', '3', '4', '5', 'README.txt', 'assignment.csv', 'decoys.csv', 'folds.json']
    """
    confidential = as_pandas(confidential)
    names = check_names(synthesized, "synthesized")
    out = Path(out)
    check_seed(random_seed)
    require_columns(confidential, [*names, *([] if unit is None else [unit])], "confidential data")
    if not names or check_count(K, "K") < 2:
        raise InputError(
            f"folds need a synthesized variable and K >= 2, got {len(names)} variables and K = {K}"
        )
    check_count(packs, "packs")
    rng = np.random.default_rng(random_seed)
    of_row = assign_folds(confidential, unit, K, rng)
    planted = plant(confidential, names, of_row, rng)
    rows = confidential.drop(columns=list(names))
    with open_folder(out, "folds") as working:
        made = working.result
        made.chmod(0o700)
        # the whole file is number -1, of which no row is out
        for number in range(-1 if packs > 1 else 0, K):
            folder = made / str(number + 1)
            write_table(
                planted.trained(confidential, names, of_row, number),
                folder / "train.csv",
                private=True,
            )
            write_table(rows, folder / "rows.csv", private=True)
        write_table(
            pd.DataFrame({"row": np.arange(1, len(of_row) + 1), "fold": of_row + 1}),
            made / ASSIGNMENT,
            private=True,
        )
        write_table(planted.table(), made / DECOYS, private=True)
        write_guide(made, K, names, out.name, packs)
        write_manifest(
            made,
            {"K": K, "packs": packs, "synthesized": list(names), "data": fingerprint(confidential)},
        )


def assign_folds(
    confidential: pd.DataFrame, unit: str | None, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The fold of every row, (n,), from 0; units stay together."""
    n = len(confidential)
    codes = (
        np.arange(n) if unit is None else pd.factorize(confidential[unit], use_na_sentinel=False)[0]
    )
    units = int(codes.max()) + 1
    if units < count:
        raise InputError(f"K = {count} folds need as many units, and there are {units}")
    return np.asarray((rng.permutation(units) % count)[codes])


def _alike(world: World, released: Sequence[pd.DataFrame], pack: Sequence[pd.DataFrame]) -> bool:
    """Whether two packs hold the same values, however they were read."""
    coding = Coding(world)
    return all(
        np.allclose(coding.numbers(one), coding.numbers(other), rtol=1e-9, atol=0)
        for one, other in zip(released, pack, strict=True)
    )


def read_folds(
    folder: str | Path, confidential: Frame, *, progress: Advance | None = None
) -> Folds:
    """Return what a tool made of the folder of `write_folds`, checked.

    Parameters
    ----------
    folder : path
    confidential : DataFrame, n rows
        The data that the folds were written of.
    progress : callable, optional
        Called with how many packs of datasets were read, and of how many.

    Raises
    ------
    InputError
        If the folder is of other data, any file of it was changed, a fold's rows stand in its
        train.csv, a fold or a pack has no datasets or another number of them, rows differ, or text
        or infinite numbers stand where the data hold numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from riskweighted.runs.examples import data, synthetic
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "folds"
    >>> rw.write_folds(data, "income", folder, K=2, random_seed=1)
    >>> for fold in ("1", "2"):  # a tool that is better run on train.csv
    ...     synthetic[0].to_csv(folder / fold / "synthetic_1.csv", index=False)
    >>> [len(pack) for pack in rw.read_folds(folder, data).packs]
    [1, 1]
    """
    folder, confidential = Path(folder), as_pandas(confidential)
    about = read_manifest(folder)
    if about["data"] != fingerprint(confidential):
        raise InputError(f"{str(folder)!r} holds the folds of other data")
    names, count, several = tuple(about["synthesized"]), int(about["K"]), int(about.get("packs", 1))
    of_row = read_table(folder / ASSIGNMENT)["fold"].to_numpy() - 1
    planted = Decoys.read(read_table(folder / DECOYS))
    trained, wholes = np.empty(count), several > 1
    told = Steps(progress, (count + wholes) * several)
    made: list[list[Datasets]] = []
    for number in range(-1 if wholes else 0, count):
        part = folder / str(number + 1)
        shown = planted.trained(confidential, names, of_row, number)
        check_written(part / "train.csv", shown)
        # that of the whole is written over by the last fold
        trained[number] = decoy_scores(confidential, shown, names[0]).mean()
        made.append([])
        for each in range(several):
            made[-1].append(
                read_pack(part / f"pack_{each + 1}" if wholes else part, confidential, names)
            )
            told()
    sizes = [len(pack) for packs in made for pack in packs]
    if len(set(sizes)) > 1:
        raise InputError(
            f"the {'packs' if wholes else 'folds'} hold {listing(sorted(set(sizes)))} datasets: "
            "each must hold L"
        )
    whole, folds = (made[0], made[1:]) if wholes else ((), made)
    first, *further = ([packs[each] for packs in folds] for each in range(several))
    return Folds(of_row, first, trained, names, further, whole)
