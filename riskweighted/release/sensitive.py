"""A synthesized variable as the last look at a pack reads it, and how often fresh draws of its
posterior are the confidential value.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

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
from riskweighted.runs.again import not_made
from riskweighted.runs.finished import FinishedRun
from riskweighted.sequence.blinded import drawn_blindly, not_leaving
from riskweighted.sequence.blocks import Link, PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.saved import read_fit
from riskweighted.weights.match import world_weighting
from riskweighted.weights.names import is_centred
from riskweighted.weights.schemes import scheme_source

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
            statuses = find_statuses(column, self.codes)
            return np.where(statuses.is_amount, statuses.values, np.nan)
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

    def equal(self, drawn: np.ndarray) -> int:
        """How many of the numbers (n,) of a dataset are the confidential ones, but for rounding to
        6 digits.
        """
        return int((np.abs(drawn - self.truth) <= 1e-6 * np.abs(self.truth)).sum())

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
    prepared = prepare_sequence(
        run.study.make_synthesizer(), confidential, run.study.weights.survey
    )
    variables = tuple(_of_link(run, prepared, link) for link in prepared.links)
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
    equal = {}
    for scheme in schemes:
        fit, seed = _load(run, prepared, scheme), run.streams.seed_for("leak check", scheme)
        if strange:
            _refuse_other_draws(fit, run, scheme, confidential)
        finely = replace(fit.settings, precision=precisions or None)
        frames = [*not_leaving(fit).with_drawing(finely).synthetic(_FRESH, random_seed=seed)]
        equal[scheme] = tuple(
            np.array([variable.equal(variable.numbers(frame[variable.name])) for frame in frames])
            for variable in variables
        )
    return variables, equal


def _refuse_other_draws(
    fit: Fit, run: FinishedRun, scheme: str, confidential: pd.DataFrame
) -> None:
    """Refuse datasets of a run that are not, byte for byte, what its fit draws with the seed of the
    run where the truth is not.
    """
    seed = run.streams.seed_for("synthesize", scheme)
    drawn = drawn_blindly(fit, run.study.release.L, seed)
    datasets = as_the_data_have_it(
        run.synthetic[scheme], confidential, run.study.unaltered(confidential), None
    )
    writer = DatasetWriter(Datasets.of(datasets[0], drawn, run.study.variables))
    for number, path in enumerate(sorted((run.folder / "synthetic" / scheme).iterdir())):
        if not writer.is_in(path, number):
            raise not_made(path.relative_to(run.folder).as_posix())


def _load(run: FinishedRun, prepared: PreparedSequence, scheme: str) -> Fit:
    """The fit of a scheme; of a centred one with the functions that its weights come from, made
    anew.
    """
    study, alpha = run.study, run.alpha(scheme).set_axis(prepared.confidential.index)
    if is_centred(scheme):
        source = scheme_source(scheme)
        table = pd.DataFrame(dict.fromkeys(study.variables, alpha)) if alpha.ndim == 1 else alpha
        world = make_world(prepared.confidential, study.weighting_scenario())
        made_of = None if source is None else _load(run, prepared, source)
        alpha = world_weighting(world, scheme, made_of, alphas=table, **study.weights.making)
    fit = read_fit(
        run.posterior_path(scheme), prepared, alpha, None, study.guarantee, study.release.L
    )
    return fit.with_drawing(study.release.drawing)


def _of_link(run: FinishedRun, prepared: PreparedSequence, link: Link) -> Sensitive:
    column = prepared.confidential[link.variable]
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
