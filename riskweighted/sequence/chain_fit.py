"""The fits of a chain: a posterior for every block, and datasets drawn down the chain on synthetic predecessors (METHODS section 12)."""

import io
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.atomic import write_file
from riskweighted.common.checks import check_choice, check_count, check_number, check_seed
from riskweighted.common.errors import ConvergenceWarning, InputError, listing
from riskweighted.common.frames import holds_numbers
from riskweighted.common.native import Native
from riskweighted.contract.drawing import draw_values, random_draws
from riskweighted.contract.synthesizer import Draw
from riskweighted.design.distinct import Distinct
from riskweighted.design.precision import Precision, precision_of
from riskweighted.design.tables import Tables
from riskweighted.sampling.posterior import Fit
from riskweighted.sequence.blocks import Block, Link, PreparedChain
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.outcomes import Outcomes

__all__ = ["ROUNDS", "AnyFit", "ChainFit", "Thetas", "block_file"]

AnyFit: TypeAlias = "Fit | ChainFit"
Thetas = Mapping[str, Draw]  # one posterior draw of every block
ROUNDS = 100  # of redrawing what breaks a rule


@dataclass(frozen=True, eq=False)
class ChainFit:
    """A sampled chain and all that is needed to draw from it. Confidential: it carries data.

    Attributes
    ----------
    prepared : PreparedChain
    alpha : DataFrame (n, V)
        The risk weights of each variable.
    fits : mapping of block's name to Fit
        Each on the records that reach the block.
    random_seed : int or None
    native : Native or None
        What the data were given as, and datasets are given back as, where that is not pandas.
    """

    prepared: PreparedChain = field(repr=False)
    alpha: pd.DataFrame = field(repr=False)
    fits: Mapping[str, Fit]
    random_seed: int | None = field(default=None, repr=False)
    native: Native | None = field(default=None, repr=False)

    keeps_true_values = False
    statement = None
    censoring = None

    @property
    def synthesizer(self) -> Chain:
        """The chain."""
        return self.prepared.chain

    @property
    def confidential(self) -> pd.DataFrame:
        """The data that it was fitted to."""
        return self.prepared.confidential

    @property
    def variables(self) -> tuple[str, ...]:
        """The synthesized variables, in order."""
        return tuple(self.prepared.chain.variables)

    @property
    def estimates(self) -> bool:
        """Whether there are parameters."""
        return any(fit.estimates for fit in self.fits.values())

    @property
    def converged(self) -> bool:
        """Whether every block did."""
        return all(fit.converged for fit in self.fits.values())

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """The diagnostics of all blocks, each row named "block: quantity"."""
        parts = [fit.diagnostics.rename(lambda name, block=block: f"{block}: {name}") for block, fit in self.fits.items()]
        return pd.concat(parts).rename_axis("quantity")

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Chains and draws of each, which every block has alike."""
        sizes = next(fit for fit in self.fits.values() if fit.estimates).posterior.sizes
        return {"chain": int(sizes["chain"]), "draw": int(sizes["draw"])}

    def value_fits(self) -> dict[str, Fit | None]:
        """The fit of each variable's amounts or levels; None where its statuses say all."""
        return {link.variable: None if link.values is None else self.fits[link.values.name] for link in self.prepared.links}

    def draw(self, chain: int, draw: int) -> dict[str, dict[str, np.ndarray]]:
        """One posterior draw: block -> parameter name -> value."""
        return {name: fit.draw(chain, draw) if fit.estimates else fit.draw(0, 0) for name, fit in self.fits.items()}

    def contributions(self, thetas: Thetas, variable: str | None = None) -> np.ndarray:
        """What each record adds to the log posterior, (n,): the sum over the blocks that it reaches, of all variables or of one."""
        total = np.zeros(len(self.confidential))
        for block in self.prepared.blocks:
            if variable is None or block.variable == variable:
                total[block.member] += self.fits[block.name].contributions(thetas[block.name])
        return total

    def synthesize(
        self,
        L: int = 20,  # noqa: N803
        *,
        random_seed: int | None = None,
        precision: Precision = None,
        parameters: str = "draws",
    ) -> list[pd.DataFrame]:
        """Draw L synthetic datasets, each from its own posterior draw of every block (METHODS sections 5.4 and 12).

        Each variable is drawn given the synthetic values of those before it. A value that breaks a rule is drawn again, which draws from
        the model restricted to what the rules allow; nothing is clipped.

        Parameters
        ----------
        L, random_seed
            See `Fit.synthesize`.
        precision : float or mapping of variable to float, optional
            Drawn numbers are multiples of it; without it of the largest power of ten of which all amounts of the variable are
            multiples, or they have 7 significant digits.
        parameters : {"draws"}

        Returns
        -------
        list of L DataFrames: the confidential frame with its synthesized variables replaced; rows, index, columns, dtypes and
        categories are kept, and a missing value is drawn as missing.

        Raises
        ------
        InputError
            If L exceeds the number of draws, or a rule leaves a record no value that its model would draw.
        """
        return list(self.synthetic(L, random_seed=random_seed, precision=precision, parameters=parameters))

    def synthetic(
        self,
        L: int = 20,  # noqa: N803
        *,
        random_seed: int | None = None,
        precision: Precision = None,
        parameters: str = "draws",
    ) -> Iterator[pd.DataFrame]:
        """The datasets of `synthesize`, the same ones, one after the other: each is drawn when it is asked for."""
        check_seed(random_seed)
        check_choice(parameters, ("draws",), "parameters")
        self.check_precision(precision)
        streams, sizes = np.random.SeedSequence(random_seed), self.sizes
        choice = np.random.default_rng(streams.spawn(1)[0])
        places = random_draws(sizes["chain"], sizes["draw"], check_count(L, most=sizes["chain"] * sizes["draw"]), choice)
        self._warn_of_few_draws(L)
        drawn = self._drawn(places, streams.spawn(L), precision)
        return drawn if self.native is None else map(self.native.like, drawn)

    def _drawn(
        self, places: Sequence[tuple[int, int]], seeds: Sequence[np.random.SeedSequence], precision: Precision
    ) -> Iterator[pd.DataFrame]:
        """A dataset for each place and seed; then the warnings of amounts that lie far out."""
        fits = {name: fit for name, fit in self.value_fits().items() if fit is not None}
        far, amounts = Counter[str](), Counter[str]()
        for place, seed in zip(places, seeds, strict=True):
            frame = self.released(self.draw(*place), np.random.default_rng(seed), precision)
            for link in self.prepared.links:
                if link.values is not None and not link.levels:
                    column = frame[link.variable]
                    held = column[~column.isin([*self.prepared.chain.codes.get(link.variable, ())])].dropna()
                    far[link.variable] += fits[link.variable].count_far(held)
                    amounts[link.variable] += len(held)
            yield frame
        for name, count in far.items():
            fits[name].warn_of_far(count, amounts[name])

    def check_precision(self, precision: Precision) -> None:
        """Refuse a precision that is no number, or of a variable that is none of the chain or categorical."""
        if precision is None:
            return
        numeric = [name for name in self.variables if holds_numbers(self.confidential[name])]
        given = precision if isinstance(precision, Mapping) else dict.fromkeys(numeric, precision)
        strange = [name for name in given if name not in numeric]
        if strange:
            raise InputError(f"precision names {listing(strange)}; valid are the numeric variables {listing(numeric)}")
        for name, value in given.items():
            if check_number(value, f"precision of {name!r}", least=0) == 0:
                raise InputError(f"precision of {name!r} must be a number > 0, got 0")

    def released(self, thetas: Thetas, rng: np.random.Generator, precision: Precision = None) -> pd.DataFrame:
        """One synthetic dataset given parameters, rounded as in `synthesize`."""
        frame, encoded = self.confidential.assign(), dict(self.prepared.encoded)
        for link in self.prepared.links:
            values = self.drawn(link, frame, encoded, thetas, rng, precision)
            self.put(link, values, frame, encoded)
        return frame

    @cached_property
    def outcomes(self) -> dict[str, Outcomes]:
        """What each variable can be."""
        return {link.variable: self._outcomes_of(link) for link in self.prepared.links}

    def _outcomes_of(self, link: Link) -> Outcomes:
        column = self.confidential[link.variable]
        others = [block.status.outcome for block in link.statuses if block.status is not None]
        others += [] if link.structure is None else [link.structure.value(column)]
        return Outcomes(column, None if link.values is None else self.fits[link.values.name].categories, [*others, link.constant])

    def put(self, link: Link, values: np.ndarray, frame: pd.DataFrame, encoded: dict[str, Distinct], needed: bool = True) -> None:
        """Put drawn values (n,) of a variable into a frame, and where they are needed their numeric columns beside those of the others."""
        outcomes, recipe = self.outcomes[link.variable], self.prepared.recipes.get(link.variable)
        frame[link.variable] = outcomes.column(values)
        if needed and recipe is not None:
            encoded[link.variable] = outcomes.table(values, frame[link.variable], recipe)

    def drawn(
        self,
        link: Link,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        precision: Precision = None,
        rows: np.ndarray | None = None,
    ) -> np.ndarray:
        """A variable of a frame whose earlier variables are synthetic, as numbers (n,); what breaks a rule is drawn again.

        `rows`: for these alone; the others keep the value of the frame. `encoded`: numeric columns of predictors and earlier variables.
        """
        outcomes, rules = self.outcomes[link.variable], self.prepared.chain.rules
        values = outcomes.empty(len(frame)) if rows is None else outcomes.numbers(frame[link.variable])
        rows = np.arange(len(frame)) if rows is None else rows
        for _ in range(ROUNDS):
            values[rows] = self.values_at(link, frame, encoded, thetas, rng, rows, precision_of(precision, link.variable))
            if not rules.at(link.variable):
                return values
            drawn = frame.assign(**{link.variable: outcomes.column(values)})
            rows = rows[rules.broken_by(drawn, link.variable)[rows]]
            if not len(rows):
                return values
        raise rules.unmet(drawn, link.variable, ROUNDS)

    def values_at(
        self,
        link: Link,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
        precision: float | None,
    ) -> np.ndarray:
        """New values of a variable for some rows, as numbers, without regard to rules: structure, statuses, then the value."""
        outcomes = self.outcomes[link.variable]
        values, left = outcomes.empty(len(rows)), np.arange(len(rows))
        if link.structure is not None:
            holds = link.structure.when.holds(frame.iloc[rows])
            values[~holds] = outcomes.number(link.structure.value(self.confidential[link.variable]))
            left = np.flatnonzero(holds)
        for block in link.statuses:
            if len(left):
                hit = self.numbers_at(block, frame, encoded, thetas, rng, rows[left]) == 1
                values[left[hit]] = outcomes.number(block.status.outcome)  # type: ignore[union-attr]
                left = left[~hit]
        if link.values is None:
            values[left] = outcomes.number(link.constant)
        elif len(left):
            numbers = self.numbers_at(link.values, frame, encoded, thetas, rng, rows[left])
            values[left] = outcomes.drawn(self.fits[link.values.name].rounded(numbers, precision))
        return values

    def numbers_at(
        self,
        block: Block,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
    ) -> np.ndarray:
        """What a block draws for some rows, (m,)."""
        prepared = self.at(block, frame, encoded, rows)
        return draw_values(self.fits[block.name].synthesizer, thetas[block.name], prepared, rng, len(rows))

    def at(self, block: Block, frame: pd.DataFrame, encoded: Mapping[str, Distinct], rows: np.ndarray) -> Any:
        """A block's arrays for some rows of a frame, without its target."""
        prepared = self.fits[block.name].prepared
        placed: Callable[[Tables], object] | None = getattr(prepared, "placed", None)
        if placed is None or block.keep is None:
            return prepared.at(self.prepared.columns_of(block, frame, encoded, rows))
        return placed(self.prepared.tables_of(block, encoded, rows))

    def save(self, path: str | Path) -> None:
        """Write `to_bytes` to a file of its owner's only. Confidential; holds neither the data nor alpha."""
        write_file(Path(path), self.to_bytes(), private=True)

    def to_bytes(self) -> bytes:
        """The fits of all blocks as an archive of what `Fit.to_bytes` makes of each, in the order of the chain."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for place, fit in enumerate(self.fits.values()):
                archive.writestr(zipfile.ZipInfo(block_file(place)), fit.to_bytes())
        return content.getvalue()

    def _warn_of_few_draws(self, count: int) -> None:
        smallest = self.diagnostics["ess_bulk"].min() if len(self.diagnostics) else np.inf
        if count > smallest:
            warnings.warn(
                f"L = {count} datasets exceed the {smallest:.0f} effective draws of a block: their parameters are not independent; "
                "sample longer or take a smaller L",
                ConvergenceWarning,
                stacklevel=4,
            )


def block_file(place: int) -> str:
    """The name of a block's fit in the archive of a chain."""
    return f"{place:03d}.nc"
