"""A synthesized variable as the last look at a pack reads it, and how often fresh draws of its
posterior are the confidential value.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.progress import Quiet
from riskweighted.contract.categories import categories_of, codes_in
from riskweighted.contract.synthesizer import is_strange
from riskweighted.data.io import DatasetWriter
from riskweighted.design.precision import find_precision
from riskweighted.intruder.statuses import find_statuses
from riskweighted.release.released_datasets import restore_spelling
from riskweighted.runs.again import not_made, work_of
from riskweighted.runs.finished import FinishedRun
from riskweighted.runs.work import Work
from riskweighted.sequence.blocks import ChainVariable
from riskweighted.sequence.isolated_draws import draw_without_target, drop_guarantee
from riskweighted.weights.scheme_names import stem_of

__all__ = ["Sensitive", "find_sensitive"]

_FRESH = 20  # datasets drawn to see what chance gives


@dataclass(frozen=True, eq=False)
class Sensitive:
    """One synthesized variable. Confidential; made by `find_sensitive`.

    ``levels``: of a categorical variable, whose values are compared by their codes, a missing one
    having the code after the last; else None. ``codes``: special codes of a numeric one. ``gaps``:
    whether a value may be missing. ``precision``: of the released amounts; None: 7 significant
    digits.
    """

    name: str
    confidential: pd.Series = field(repr=False)
    levels: tuple[object, ...] | None
    codes: tuple[float, ...]
    gaps: bool
    precision: float | None

    def numbers(self, column: pd.Series) -> np.ndarray:
        """A column (n,) as the data, or a file that was read, hold it: amounts, NaN where there is
        none; or codes of levels.

        Refuses a value that is no number, or no level; or is missing, where none may be.
        """
        if self.levels is None:
            if not pd.api.types.is_numeric_dtype(column.dtype) or (
                column.isna().any() and not self.gaps
            ):
                raise InputError(f"values of {self.name!r} that are missing or no numbers")
            return find_statuses(column, self.codes).numbers
        codes = self._level_codes(column)
        if (codes < 0).any() or (not self.gaps and (codes == len(self.levels)).any()):
            raise InputError(f"values of {self.name!r} that are missing or no levels of it")
        return codes

    def _level_codes(self, column: pd.Series) -> np.ndarray:
        """Codes (n,) of a column, where a file may have made text or numbers of levels; -1 for what
        is no level.
        """
        assert self.levels is not None
        missing = column.isna().to_numpy()
        if "" not in self.levels:  # as a file keeps a text that is missing
            missing = missing | (column.astype(object) == "").to_numpy()
        codes, there = np.full(len(column), float(len(self.levels))), column[~missing]
        code = codes_in(there, self.levels)
        codes[~missing] = (
            codes_in(there.astype(str), [str(level) for level in self.levels])
            if (code < 0).any()
            else code
        )
        return codes

    @cached_property
    def truth(self) -> np.ndarray:
        """The confidential numbers (n,)."""
        return self.numbers(self.confidential)

    def equal(self, drawn: np.ndarray, rows: np.ndarray | None = None) -> int:
        """How many of the numbers (n,) of a dataset, or of some of its rows, are the confidential
        ones, but for rounding to 6 digits.
        """
        truth = self.truth if rows is None else self.truth[rows]
        return int((np.abs(drawn - truth) <= 1e-6 * np.abs(truth)).sum())

    def texts(self) -> dict[str, np.ndarray]:
        """What no text may list, in the order of the records: amounts or codes of levels, and
        amounts between special codes.
        """
        listed = {self.name: self.truth[np.isfinite(self.truth)]}
        if self.codes:
            numbers = self.confidential.to_numpy(dtype=float, na_value=np.nan)
            listed[f"{self.name} with its codes"] = numbers[np.isfinite(numbers)]
        return listed


def find_sensitive(
    run: FinishedRun, confidential: pd.DataFrame, schemes: Iterable[str]
) -> tuple[tuple[Sensitive, ...], dict[str, tuple[np.ndarray, ...]]]:
    """Every synthesized variable of a run, and of each scheme and variable in how many records each
    of 20 datasets that do not leave has the confidential value, (F,).

    Refuses data that is not that of the run, and datasets that a stranger's model drew and does not
    draw again where the truth is not.
    """
    work = work_of(run, confidential, Quiet())
    prepared = work.prepared()
    variables = tuple(_of_link(run, confidential, link) for link in prepared.links)
    strange = any(
        map(
            is_strange, [prepared.declared, *(block.model.synthesizer for block in prepared.blocks)]
        )
    )
    precisions = {
        variable.name: variable.precision
        for variable in variables
        if variable.levels is None and variable.precision is not None
    }
    equal, schemes = {}, tuple(schemes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # the run has said it of its weights
        for scheme in schemes:
            work.fit(scheme)
    for scheme in schemes:
        seed = run.streams.seed_for("leak check", scheme)
        counts = np.zeros((len(variables), _FRESH))
        if strange:
            _refuse_other_draws(work, run, scheme)
        for number, rows, fit in work.each_bucket(scheme):
            finely = replace(fit.settings, precision=precisions or None)
            drawn = drop_guarantee(fit).with_drawing(finely)
            for place, frame in enumerate(drawn.synthetic(_FRESH, random_seed=seed, part=number)):
                counts[:, place] += [
                    variable.equal(variable.numbers(frame[variable.name]), rows)
                    for variable in variables
                ]
        equal[scheme] = tuple(counts.astype(np.int64))
    return variables, equal


def _refuse_other_draws(work: Work, run: FinishedRun, scheme: str) -> None:
    """Refuse datasets of a run that are not, byte for byte, what its fit draws with the seed of the
    run where the truth is not.
    """
    confidential, names = work.confidential, list(run.study.altered)
    seed, order, parts = run.streams.seed_for("synthesize", scheme), list[np.ndarray](), []
    for number, rows, fit in work.each_bucket(scheme):
        order.append(rows)
        parts.append(
            [each[names] for each in draw_without_target(fit, run.study.release.L, seed, number)]
        )
    place = np.argsort(np.concatenate(order))
    drawn = [pd.concat(of_dataset).iloc[place] for of_dataset in zip(*parts, strict=True)]
    datasets = restore_spelling(
        run.synthetic[scheme], confidential, run.study.unaltered(confidential), None
    )
    writer = DatasetWriter(Datasets.of(datasets[0], drawn, names))
    for number, path in enumerate(sorted((run.folder / "synthetic" / stem_of(scheme)).iterdir())):
        if not writer.is_in(path, number):
            raise not_made(path.relative_to(run.folder).as_posix())


def _of_link(run: FinishedRun, confidential: pd.DataFrame, link: ChainVariable) -> Sensitive:
    column = confidential[link.variable]
    block = None if link.values is None else link.values.model
    categories = None if block is None else categories_of(block.synthesizer, block.prepared)
    otherwise = () if link.structure is None else (link.structure.value(column),)
    gaps = bool(column.isna().any()) or any(pd.isna(value) for value in otherwise)
    if link.levels:
        named = [*(categories or ()), link.constant, *otherwise, *column.dropna().unique()]
        return Sensitive(
            link.variable,
            column,
            tuple(dict.fromkeys(level for level in named if not pd.isna(level))),
            (),
            gaps,
            None,
        )
    codes = run.study.evaluating_scenario().codes_of(link.variable)
    precision = run.study.release.precision_of(link.variable)
    if categories is not None:  # whole numbers that are drawn as they are
        precision = find_precision(pd.Series(categories, dtype=float))
    elif precision is None and run.study.guarantee is not None:
        precision = 1.0  # of whole numbers, which alone need not state one
    elif precision is None:
        amounts = column[find_statuses(column, codes).is_amount]
        precision = find_precision(
            amounts if block is None else block.confidential[block.synthesizer.target]
        )
    return Sensitive(link.variable, column, None, codes, gaps, precision)
