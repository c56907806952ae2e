"""A synthesized variable as the last look at a pack compares it: amounts or levels, and statuses, against fresh draws of its posterior.

A number is compared as an amount; whether it is missing or a special code is compared apart, as a level is. Of a categorical variable a
missing value is a level of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.contract.categories import categories_of, codes_in
from riskweighted.contract.synthesizer import is_strange
from riskweighted.data.io import DatasetWriter
from riskweighted.design.precision import find_precision
from riskweighted.intruder.statuses import find_statuses
from riskweighted.intruder.world import make_world
from riskweighted.release.leaving import as_the_data_have_it
from riskweighted.release.nearness import Chance, chance_of, equal_rows, most_by_chance
from riskweighted.runs.finished import FinishedRun
from riskweighted.sequence.blinded import blinded, not_leaving, refuse_seeing
from riskweighted.sequence.blocks import Link, PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.saved import read_fit
from riskweighted.weights.match import world_weighting
from riskweighted.weights.names import is_centred
from riskweighted.weights.schemes import scheme_source

__all__ = ["Fresh", "Sensitive", "find_sensitive", "same_records"]

_FRESH = 20  # datasets drawn to see what chance gives


@dataclass(frozen=True, eq=False)
class Sensitive:
    """One synthesized variable. Confidential; made by `find_sensitive`.

    ``levels``: of a categorical variable, whose values are compared by their codes, a missing one having the code after the last; else
    None. ``codes``: special codes of a numeric one. ``gaps``: whether a value may be missing. ``precision``: of the released amounts;
    None: 7 significant digits.
    """

    name: str
    confidential: pd.Series = field(repr=False)
    levels: tuple[object, ...] | None
    codes: tuple[float, ...]
    gaps: bool
    precision: float | None

    @property
    def unit(self) -> float | None:
        """What released values are multiples of: codes of levels are whole."""
        return self.precision if self.levels is None else 1.0

    def numbers(self, column: pd.Series) -> np.ndarray:
        """A column (n,) as the data, or a file that was read, hold it: amounts, NaN where there is none; or codes of levels.

        Refuses a value that is no number, or no level; or is missing, where none may be.
        """
        if self.levels is None:
            if not pd.api.types.is_numeric_dtype(column.dtype) or (column.isna().any() and not self.gaps):
                raise InputError(f"values of {self.name!r} that are missing or no numbers")
            statuses = find_statuses(column, self.codes)
            return np.where(statuses.is_amount, statuses.values, np.nan)
        codes = self._level_codes(column)
        if (codes < 0).any() or (not self.gaps and (codes == len(self.levels)).any()):
            raise InputError(f"values of {self.name!r} that are missing or no levels of it")
        return codes

    def _level_codes(self, column: pd.Series) -> np.ndarray:
        """Codes (n,) of a column, where a file may have made text or numbers of levels; -1 for what is no level."""
        assert self.levels is not None
        missing = column.isna().to_numpy()
        if "" not in self.levels:  # as a file keeps a text that is missing
            missing = missing | (column.astype(object) == "").to_numpy()
        codes, there = np.full(len(column), float(len(self.levels))), column[~missing]
        code = codes_in(there, self.levels)
        codes[~missing] = codes_in(there.astype(str), [str(level) for level in self.levels]) if (code < 0).any() else code
        return codes

    def status(self, column: pd.Series) -> np.ndarray:
        """Whether each value of a number is an amount, missing or which special code, (n,) from 0."""
        return find_statuses(column, self.codes).status.astype(float)

    @cached_property
    def truth(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The confidential numbers (n,), and of a number the statuses (n,)."""
        return self.numbers(self.confidential), None if self.levels is not None else self.status(self.confidential)

    def same(self, column: pd.Series) -> np.ndarray:
        """Which rows hold the confidential value, or miss it or hold a special code alike, (n,)."""
        drawn, (confidential, status) = self.numbers(column), self.truth
        if self.levels is not None:
            return np.asarray(drawn == confidential)
        return np.asarray((equal_rows(drawn, confidential) | np.isnan(confidential)) & (self.status(column) == status))

    def equal(self, frame: pd.DataFrame) -> int:
        """How many rows of a dataset have the confidential amount or level."""
        return int(equal_rows(self.numbers(frame[self.name]), self.truth[0]).sum())

    def chances(self, frames: Sequence[pd.DataFrame]) -> tuple[Chance, Chance | None]:
        """What chance gives in fresh datasets of one scheme: of amounts or levels, and of statuses where there are any."""
        values, status = self.truth
        chance = chance_of((self.numbers(frame[self.name]) for frame in frames), values, self.unit)
        if status is None or not any(drawn_status.any() for drawn_status in (status, *(self.status(frame[self.name]) for frame in frames))):
            return chance, None
        return chance, chance_of((self.status(frame[self.name]) for frame in frames), status, 1.0)

    def texts(self) -> dict[str, np.ndarray]:
        """What no text may list, in the order of the records: amounts or codes of levels, and amounts between special codes."""
        listed = {self.name: self.truth[0][np.isfinite(self.truth[0])]}
        if self.codes:
            numbers = self.confidential.to_numpy(dtype=float, na_value=np.nan)
            listed[f"{self.name} with its codes"] = numbers[np.isfinite(numbers)]
        return listed


def same_records(variables: Sequence[Sensitive], frame: pd.DataFrame) -> int:
    """How many rows hold the confidential values of all variables."""
    return int(np.logical_and.reduce([variable.same(frame[variable.name]) for variable in variables]).sum())


class Fresh(NamedTuple):
    """What datasets of a scheme that do not leave say of chance. Confidential. ``equal``: of each variable, in how many records each
    fresh dataset has the confidential value, (F,). ``chances``: of each variable, of amounts or levels, and of statuses where there
    are any; none where models of this package drew what leaves and draw it again, byte for byte. ``most_records``: how many rows may
    repeat whole records.
    """

    equal: tuple[np.ndarray, ...]
    chances: tuple[tuple[Chance, Chance | None], ...] = ()
    most_records: float = np.inf


def find_sensitive(run: FinishedRun, confidential: pd.DataFrame, schemes: Iterable[str]) -> tuple[tuple[Sensitive, ...], dict[str, Fresh]]:
    """Every synthesized variable of a run, and what fresh datasets of each scheme say of chance; refuses data that is not that of the
    run.
    """
    prepared = prepare_sequence(run.study.make_synthesizer(), confidential, run.study.weights.survey)
    variables = tuple(_of_link(run, prepared, link) for link in prepared.links)
    strange = any(map(is_strange, [prepared.declared, *(block.model.synthesizer for block in prepared.blocks)]))
    precisions = {variable.name: variable.precision for variable in variables if variable.levels is None and variable.precision is not None}
    fresh = {}
    for scheme in schemes:
        fit, seed = _load(run, prepared, scheme), run.streams.seed_for("leak check", scheme)
        if strange:
            refuse_seeing(fit)
        drawn = not_leaving(blinded(fit) if strange else fit).synthetic(_FRESH, random_seed=seed, precision=precisions or None)
        frames = Datasets.of(confidential, drawn, run.study.variables)
        fresh[scheme] = Fresh(tuple(np.array([variable.equal(frame) for frame in frames]) for variable in variables))
        if strange or not _draws_again(fit, run, scheme, confidential):
            most = most_by_chance(np.array([same_records(variables, frame) for frame in frames]), len(confidential))
            fresh[scheme] = fresh[scheme]._replace(chances=tuple(variable.chances(frames) for variable in variables), most_records=most)
    return variables, fresh


def _draws_again(fit: Fit, run: FinishedRun, scheme: str, confidential: pd.DataFrame) -> bool:
    """Whether the datasets of a run are, byte for byte, what its fit draws with the seed of the run."""
    seed, precision = run.streams.seed_for("synthesize", scheme), run.study.release.precision
    drawn = fit.synthetic(run.study.release.L, random_seed=seed, precision=precision)
    datasets = as_the_data_have_it(run.synthetic[scheme], confidential, run.study.unaltered(confidential), None)
    writer = DatasetWriter(Datasets.of(datasets[0], drawn, run.study.variables))
    return all(writer.is_in(path, number) for number, path in enumerate(sorted((run.folder / "synthetic" / scheme).iterdir())))


def _load(run: FinishedRun, prepared: PreparedSequence, scheme: str) -> Fit:
    """The fit of a scheme; of a centred one with the functions that its weights come from, made anew."""
    study, alpha = run.study, run.alpha(scheme).set_axis(prepared.confidential.index)
    if is_centred(scheme):
        source, table = scheme_source(scheme), pd.DataFrame(dict.fromkeys(study.variables, alpha)) if alpha.ndim == 1 else alpha
        world = make_world(prepared.confidential, study.weighting_scenario())
        made_of = None if source is None else _load(run, prepared, source)
        alpha = world_weighting(world, scheme, made_of, alphas=table, **study.weights.making)
    return read_fit(run.posterior_path(scheme), prepared, alpha, None, study.guarantee, study.release.L)


def _of_link(run: FinishedRun, prepared: PreparedSequence, link: Link) -> Sensitive:
    column, block = prepared.confidential[link.variable], None if link.values is None else link.values.model
    categories = None if block is None else categories_of(block.synthesizer, block.prepared)
    otherwise = () if link.structure is None else (link.structure.value(column),)
    gaps = bool(column.isna().any()) or any(pd.isna(value) for value in otherwise)
    if link.levels:
        named = [*(categories or ()), link.constant, *otherwise, *column.dropna().unique()]
        return Sensitive(link.variable, column, tuple(dict.fromkeys(level for level in named if not pd.isna(level))), (), gaps, None)
    codes = run.study.evaluating_scenario().codes_of(link.variable)
    precision = run.study.release.precision_of(link.variable)
    if categories is not None:  # whole numbers that are drawn as they are
        precision = find_precision(pd.Series(categories, dtype=float))
    elif precision is None and run.study.guarantee is not None:
        precision = 1.0  # of whole numbers, which alone need not state one
    elif precision is None:
        amounts = column[find_statuses(column, codes).is_amount]
        precision = find_precision(amounts if block is None else block.confidential[block.synthesizer.target])
    return Sensitive(link.variable, column, None, codes, gaps, precision)
