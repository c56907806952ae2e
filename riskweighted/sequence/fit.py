"""`Fit`: the fits of a sequence's blocks, and datasets drawn from them (METHODS sections 5.4 and
12).
"""

import io
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.common.atomic import write_file
from riskweighted.common.checks import check_choice, check_count, check_number, check_seed
from riskweighted.common.errors import ConvergenceWarning, InputError, UnitsWarning, listing
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.html_repr import html_repr
from riskweighted.common.native import Frame, Native, as_pandas, native_of
from riskweighted.common.replaced import refuse_replaced
from riskweighted.contract.drawn_columns import random_draws
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.design.precision import Precision
from riskweighted.guarantee.clip import Censoring
from riskweighted.guarantee.ledger import CHANGED
from riskweighted.guarantee.statement import Statement
from riskweighted.sampling.block_fit import BlockFit, PreparedModel, plug_in
from riskweighted.sampling.convergence import deciding_rows
from riskweighted.sampling.saving import BLANK, add_checksum
from riskweighted.sequence.alphas import Alpha, alphas_of, functions_of
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.declared import Chain, SideBySide
from riskweighted.sequence.drawing import Drawing, Thetas
from riskweighted.sequence.other_records import blocks_of_others
from riskweighted.sequence.prepare import sequence_of
from riskweighted.sequence.rounding import DrawingSettings

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Fit", "block_file"]

_MOST_REJECTED = (
    0.05  # of first draws: a rule of units that is broken more often is not in the model
)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit holds a sampled pseudo posterior and all that is needed to draw datasets from it.
    Confidential: it carries data.

    Every variable of a chain has one or several *blocks*, each fitted to the records that reach it.
    Of one variable there is one block, and what is said of it is said of the fit: ``posterior``,
    ``categories``, ``precision`` and what else a `BlockFit` tells.

    Attributes
    ----------
    alphas : DataFrame (n, V)
        The risk weights of each variable, in [0, 1].
    blocks : mapping of block's name to BlockFit
    random_seed : int or None
        That it was sampled with, where it is known.
    native : Native or None
        What the data were given as, and datasets are given back as, where that is not pandas.
    settings : DrawingSettings
        How draws become released values, see `with_drawing`.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> fit.variables, fit.converged
    (('income',), True)
    """

    prepared: PreparedSequence = field(repr=False)
    alphas: pd.DataFrame = field(repr=False)
    blocks: Mapping[str, BlockFit]
    random_seed: int | None = field(default=None, repr=False)
    native: Native | None = field(default=None, repr=False)
    settings: DrawingSettings = field(default_factory=DrawingSettings, repr=False)

    @classmethod
    def of(cls, block: BlockFit) -> "Fit":
        """The fit of one variable whose block is this one."""
        made = sequence_of(
            PreparedModel(block.synthesizer, block.confidential, block.prepared, block.survey)
        )
        name = block.synthesizer.target
        return cls(made, pd.DataFrame({name: block.alpha}), {name: block}, block.random_seed)

    def changed(self, **changes: Any) -> "Fit":
        """The same with other values of the fields of its one block."""
        made = Fit.of(replace(self.block, **changes))
        return replace(made, native=self.native, settings=self.settings)

    def on(self, records: Frame, alphas: Alpha, survey: pd.Series | None = None) -> "Fit":
        """The same posterior for other records of the file, such as a part of it, with their risk
        weights.

        Parameters
        ----------
        records : DataFrame, m rows
            With the columns that the fit was made of; of levels that it has none of, it knows
            nothing.
        alphas : (m,), (m, V) or CentredWeights
            Weights in [0, 1], centred where those of the fit are.
        survey : Series (m,), optional
            Survey weights of mean 1 over the file, where the fit has any.

        Returns
        -------
        Fit. What is of the whole file stays: precision of the column, its largest value,
        diagnostics, and all that the model found in it.

        Raises
        ------
        InputError
            If the fit has a guarantee, its weights are centred and those given are not, or records
            do not suit the model.

        Examples
        --------
        >>> from riskweighted.runs.examples import alpha, data, fit
        >>> half = fit.on(data[:100], alpha[:100])
        >>> [frame.shape for frame in half.synthesize(2, random_seed=2)]
        [(100, 5), (100, 5)]
        """
        native = native_of(records)
        records, alphas = as_pandas(records), as_pandas(alphas)
        checked = alphas_of(self.variables, alphas, records.index)
        prepared, blocks = blocks_of_others(
            self.drawing, records, checked, functions_of(alphas), survey
        )
        return replace(self, prepared=prepared, alphas=checked, blocks=blocks, native=native)

    # -- what it is of

    @property
    def synthesizer(self) -> Synthesizer | Chain | SideBySide:
        """What was declared: a synthesizer, a chain of them, or baselines side by side."""
        return self.prepared.declared

    @property
    def confidential(self) -> pd.DataFrame:
        """The data that it was fitted to."""
        return self.prepared.confidential

    @property
    def survey(self) -> pd.Series | None:
        """Survey weights of mean 1, (n,), where there are any."""
        return self.prepared.survey

    @property
    def variables(self) -> tuple[str, ...]:
        """The synthesized variables, in order."""
        return self.prepared.variables

    @property
    def alpha(self) -> Any:
        """The risk weights: (n,) of a synthesizer, by variable (n, V) of a chain."""
        return self.block.alpha if self.prepared.of_one else self.alphas

    @property
    def weights(self) -> Any:
        """What enters the likelihood as the power of each record's, shaped as alpha: alpha times
        the survey weight, so it may exceed 1.
        """
        if self.prepared.of_one:
            return self.block.weights
        return self.alphas if self.survey is None else self.alphas.mul(self.survey, axis=0)

    @property
    def block(self) -> BlockFit:
        """The one block of a fit of one variable; InputError names the blocks where there are
        several.
        """
        if not self.prepared.of_one:
            raise InputError(
                f"this fit is of a chain of {listing(self.variables)}: name one of its blocks, "
                f"valid are {listing(self.blocks)}"
            )
        return next(iter(self.blocks.values()))

    @property
    def posterior(self) -> xr.Dataset:
        """Parameters of the one block by (chain, draw)."""
        return self.block.posterior

    @property
    def categories(self) -> tuple[object, ...] | None:
        """The levels of a categorical target in the order of their codes; None where it is a
        number.
        """
        return self.block.categories

    @property
    def precision(self) -> float | None:
        """How finely the sensitive column is recorded, see `BlockFit.precision`."""
        return self.block.precision

    @property
    def largest_terms(self) -> np.ndarray:
        """max over the draws of abs(log p(y_i | theta_s)), times the survey weight where there is
        one, (n,).
        """
        return self.block.largest_terms

    @property
    def data(self) -> str | None:
        """Fingerprint of the confidential data, where it is known."""
        return self.block.data

    @property
    def of_part(self) -> bool:
        """Whether its records are others than it was fitted to, see `on`: a fit of them would be
        another posterior.
        """
        return any(block.file is not None for block in self.blocks.values())

    def largest(self, variable: str) -> np.ndarray:
        """max over the draws of abs(log p(y_i | theta_s)) of a variable's blocks, times the survey
        weight where there is one, (n,).
        """
        blocks = [block for block in self.prepared.blocks if block.variable == variable]
        if len(blocks) == 1 and blocks[0].whole:
            return self.blocks[blocks[0].name].largest_terms
        largest = np.zeros(len(self.confidential))
        for place in np.ndindex(self.sizes["chain"], self.sizes["draw"]):
            thetas, total = self.thetas(*place), np.zeros(len(largest))
            for block in blocks:
                total[block.member] += self.blocks[block.name].terms(thetas[block.name])
            largest = np.maximum(largest, np.abs(total))
        return largest if self.survey is None else largest * self.survey.to_numpy()

    def numbers(self, frame: pd.DataFrame) -> np.ndarray:
        """The target of a frame as the numbers that the synthesizer draws, (n,): its values, or the
        codes of its levels.
        """
        return self.block.numbers(frame)

    @property
    def _models(self) -> str:
        """The kind of each block's model."""
        return ", ".join(
            f"{name} by {type(block.synthesizer).__name__}" for name, block in self.blocks.items()
        )

    def __repr__(self) -> str:
        judged = "converged" if self.converged else "did not converge"
        return (
            f"Fit({self._models}; {len(self.confidential)} records, "
            f"{' x '.join(map(str, self.sizes.values()))} draws, {judged})"
        )

    def _repr_html_(self) -> str:
        judged = (
            "Every judged quantity passed."
            if self.converged
            else "It did not converge: draw nothing for release from it."
        )
        chains, draws = self.sizes.values()
        facts = {
            "models": self._models,
            "records": len(self.confidential),
            "draws": f"{chains} x {draws}",
            "datasets": "synthesize(L)",
        }
        columns = ["engine", "r_hat", "ess_bulk", "pareto_k", "divergences"]
        worst = (
            deciding_rows(self.diagnostics).sort_values("ess_bulk")[columns].head(5)
            if self.estimates
            else None
        )
        return html_repr(
            "Fit",
            [judged],
            facts,
            worst,
            "The five quantities of least effective size. Confidential: it carries data.",
        )

    def to_datatree(
        self,
        groups: Sequence[str] = ("posterior", "sample_stats", "diagnostics"),
        *,
        weighted: bool = False,
        random_seed: int | None = None,
    ) -> Any:
        """Return the fit as the installed ArviZ reads it: a DataTree of ArviZ 1, an InferenceData
        of ArviZ 0.

        Parameters
        ----------
        groups : sequence of str
            Among ``"posterior"`` (coefficients by the columns of the model matrix),
            ``"sample_stats"`` (``lp``, the weighted log pseudo-likelihood, and of chains
            ``diverging`` and ``energy``; direct draws have none), ``"diagnostics"``, and what has a
            number for each record and draw, 100 million at most: ``"log_likelihood"`` and
            ``"posterior_predictive"``; ``"observed_data"``.
        weighted : bool
            Whether the log likelihood of a record is as it entered: times its weight. What predicts
            other records, as in ``az.loo``, is without: the default.
        random_seed : int, optional
            Of ``posterior_predictive``, whose values are drawn as the model has them, before they
            are rounded.

        Returns
        -------
        DataTree or InferenceData. Confidential, every group, as its attributes say. Of several
        variables each name has its model before it.

        Raises
        ------
        InputError
            If a group is unknown or too large, or values are to be drawn under a guarantee.

        Examples
        --------
        >>> from riskweighted.runs.examples import fit
        >>> tree = fit.to_datatree(["posterior", "log_likelihood", "observed_data"])
        >>> tree["log_likelihood"].sizes["record"]
        200
        """
        from riskweighted.sequence.as_arviz import as_arviz

        return as_arviz(self, groups, weighted=weighted, random_seed=random_seed)

    def pymc_model(self, block: str | None = None) -> "pm.Model":
        """Return the ``pm.Model`` of a block, with the one ``pm.Potential`` that holds the weighted
        log likelihood.

        Parameters
        ----------
        block : str, optional
            A name of ``blocks``; not needed where there is one.

        Returns
        -------
        pm.Model. Weights stand in its ``pm.Data``, summed over the records that the likelihood does
        not tell apart; a centring term and a guarantee's clip are in the Potential. ``pm.sample``
        gives the posterior of the fit. Confidential: it holds data.

        Raises
        ------
        InputError
            If there is no such block, it estimates nothing, or its graph cannot hold the centring
            term.

        Examples
        --------
        >>> from riskweighted.runs.examples import fit
        >>> [potential.name for potential in fit.pymc_model().potentials]
        ['weighted_log_likelihood']
        """
        from riskweighted.sampling.compilation import pymc_model

        if block is None:
            return pymc_model(self.block)
        check_choice(block, tuple(self.blocks), "block")
        return pymc_model(self.blocks[block])

    @property
    def keeps_true_values(self) -> bool:
        """Whether its output holds confidential values, so that it is confidential too and never
        called synthetic.
        """
        return any(fit.keeps_true_values for fit in self.blocks.values())

    @property
    def estimates(self) -> bool:
        """Whether there are parameters; without any, every dataset comes from the same (empty)
        draw.
        """
        return any(fit.estimates for fit in self.blocks.values())

    @property
    def converged(self) -> bool:
        """Whether every judged quantity passed: R-hat within its limit, bulk ESS >= 100, at most .5
        % of the draws divergent; or k-hat <= 0.7 and ESS >= 100."""
        return all(fit.converged for fit in self.blocks.values())

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """The diagnostics of all blocks, see `BlockFit`; of a chain each row is named "block:
        quantity".
        """
        label = self.prepared.label_of
        parts = [
            fit.diagnostics.rename(lambda name, block=block: label(block, name))
            for block, fit in self.blocks.items()
        ]
        return pd.concat(parts).rename_axis("quantity") if len(parts) > 1 else parts[0]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Chains and draws of each, which every block that estimates anything has alike."""
        fits = list(self.blocks.values())
        return next((fit for fit in fits if fit.estimates), fits[0]).sizes

    @property
    def censoring(self) -> Censoring | None:
        """How contributions were clipped, where the fit of one variable has a guarantee;
        ``statement`` tells what it proves.
        """
        return self.block.censoring if self.prepared.of_one else None

    @property
    def statement(self) -> Statement | None:
        """What is proved of its datasets, under a guarantee: of several blocks, of all that a
        record adds to them together.
        """
        statements = [fit.statement for fit in self.blocks.values() if fit.statement is not None]
        return (
            Statement.together(statements)
            if statements and len(statements) == len(self.blocks)
            else None
        )

    # -- what is made of it

    def thetas(self, chain: int, draw: int) -> dict[str, dict[str, np.ndarray]]:
        """One posterior draw: block -> parameter name -> value."""
        return {name: self._theta(name, (chain, draw)) for name in self.blocks}

    def _theta(self, name: str, place: tuple[int, int]) -> dict[str, np.ndarray]:
        """A posterior draw of one block, the empty one where it estimates nothing."""
        fit = self.blocks[name]
        return fit.draw(*place) if fit.estimates else fit.draw(0, 0)

    def draw(self, chain: int, draw: int) -> dict[str, Any]:
        """One posterior draw: parameter name -> value of a synthesizer, block -> parameter name ->
        value of a chain.
        """
        return self.block.draw(chain, draw) if self.prepared.of_one else self.thetas(chain, draw)

    def _by_block(self, theta: Mapping[str, Any]) -> Thetas:
        """What `draw` or `thetas` gives as block -> parameter name -> value."""
        name = next(iter(self.blocks))
        return theta if isinstance(theta.get(name), Mapping) else {name: theta}

    def contributions(self, theta: Mapping[str, Any], variable: str | None = None) -> np.ndarray:
        """What each record adds to the log posterior, on the scale of the model, (n,), of all
        variables or of one.

        The sum over the blocks that it reaches of alpha_i log p(y_i | theta), alpha_i times the
        survey weight if there is one; or that clipped.
        """
        blocks = [
            block
            for block in self.prepared.blocks
            if variable is None or block.variable == variable
        ]
        thetas = self._by_block(theta)
        if len(blocks) == 1 and blocks[0].whole:
            return self.blocks[blocks[0].name].contributions(thetas[blocks[0].name])
        total = np.zeros(len(self.confidential))
        for block in blocks:
            total[block.member] += self.blocks[block.name].contributions(thetas[block.name])
        return total

    @cached_property
    def drawing(self) -> Drawing:
        """What draws from it: everything that is drawn or measured of the fit asks this."""
        return Drawing(self.prepared, self.blocks, self.settings)

    def with_drawing(self, settings: DrawingSettings) -> "Fit":
        """Return the same posterior with other settings of drawing, which datasets and all that is
        measured of the fit keep to; InputError where they do not suit its variables.

        Examples
        --------
        >>> from riskweighted.runs.examples import fit
        >>> coarse = fit.with_drawing(rw.DrawingSettings(precision=100.0))
        >>> bool((coarse.synthesize(1, random_seed=2)[0]["income"] % 100 == 0).all())
        True
        """
        self._check_precision(settings.precision)
        return self if settings == self.settings else replace(self, settings=settings)

    def released(self, theta: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """One synthetic dataset given parameters, rounded as in `synthesize`; none under a
        guarantee, whose datasets its ledger decides.
        """
        return self.drawing.released(self._by_block(theta), rng)

    def synthesize(
        self,
        L: int = 20,  # noqa: N803
        *,
        random_seed: int | None = None,
        parameters: str = "draws",
        precision: None = None,
    ) -> list[pd.DataFrame]:
        """Draw L synthetic datasets, each from its own posterior draw of every block (METHODS
        sections 5.4 and 12).

        Each variable is drawn given the synthetic values of those before it. A value that breaks a
        rule is drawn again, which draws from the model restricted to what the rules allow; nothing
        is clipped.

        Parameters
        ----------
        L : int
            From 1 to the number of posterior draws, which are chosen at random.
        random_seed : int, optional
            Under a guarantee it plays no part: entropy kept with the fit decides its L datasets, of
            which every call gives the first. Otherwise the same seed gives the same datasets, so it
            gives the noise away: who knows it and sees the datasets can work back to the posterior
            draws, and test a guess at a confidential value. Leave it out, for fresh entropy, where
            datasets are to leave; give one for experiments and tests.
        parameters : {"draws", "mode"}
            "mode" draws every dataset from the mode of each block's posterior, as tools do that
            estimate and plug in: for comparison with them, not for release, since intervals of the
            combining rules are then too short. For models with a density of one vector
            (`Blueprint.of_vector`).
        precision : None
            Refused: see `with_drawing`.

        Returns
        -------
        list of L DataFrames: the confidential frame with its sensitive columns replaced; rows,
        index, columns, dtypes and categories are kept, a missing value is drawn as missing, and
        each is what the data were given as: of pandas, of polars or of Arrow.

        Raises
        ------
        InputError
            If L exceeds the number of draws, or what the guarantee of the fit is stated for; or a
            rule leaves a record no value that its model would draw.

        Warns
        -----
        ConvergenceWarning
            If L exceeds the smallest bulk effective sample size of the fit.
        ExplosionWarning
            If drawn values lie beyond 10 times the largest absolute confidential value; it gives
            their count.

        Examples
        --------
        >>> from riskweighted.runs.examples import fit
        >>> [frame.shape for frame in fit.synthesize(2, random_seed=2)]
        [(200, 5), (200, 5)]
        """
        if precision is not None:
            refuse_replaced("argument", "precision")
        return list(self.synthetic(L, random_seed=random_seed, parameters=parameters))

    def synthetic(
        self,
        L: int = 20,  # noqa: N803
        *,
        random_seed: int | None = None,
        parameters: str = "draws",
        part: int | None = None,
    ) -> Iterator[pd.DataFrame]:
        """The datasets of `synthesize`, the same ones, one after the other: each is drawn when it
        is asked for.

        `part`: of a fit whose records are a part of a file, the number of that part: the same
        posterior draws in all of them, and random numbers of its own.
        """
        check_seed(random_seed)
        check_choice(parameters, ("draws", "mode"), "parameters")
        entropy, every = self._check_guarantee(check_count(L), parameters)
        plugged = (
            {name: plug_in(fit) for name, fit in self.blocks.items()}
            if parameters == "mode"
            else None
        )
        streams = np.random.SeedSequence(random_seed if entropy is None else entropy)
        places = self._chosen(streams, entropy, every)[:L]
        self._warn_of_few_draws(L)
        seeds = streams.spawn(L)
        if part is not None:
            seeds = [
                np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, part))
                for seed in seeds
            ]
        drawn = self._drawn(places, seeds, plugged)
        return drawn if self.native is None else map(self.native.like, drawn)

    def places(self, L: int = 20, *, random_seed: int | None) -> list[tuple[tuple[int, int], ...]]:  # noqa: N803
        """The posterior draw (chain, draw) of every block that each of the L datasets of
        `synthesize` is made from, by the same seed.

        Under a guarantee the seed plays no part. Confidential: with them and the datasets a guess
        at a value can be tested.

        Examples
        --------
        >>> from riskweighted.runs.examples import fit
        >>> [len(of_dataset) for of_dataset in fit.places(2, random_seed=2)]
        [1, 1]
        """
        entropy, count = self.ledger(), check_count(L)
        if self.statement is not None:
            count = max(count, min(self.statement.L, self.sizes["chain"] * self.sizes["draw"]))
        return self._chosen(
            np.random.SeedSequence(random_seed if entropy is None else entropy), entropy, count
        )[:L]

    def thetas_at(self, places: Sequence[tuple[int, int]]) -> dict[str, dict[str, np.ndarray]]:
        """The posterior draw of every block at a place of its own: block -> parameter name ->
        value.
        """
        return {
            name: self._theta(name, place) for name, place in zip(self.blocks, places, strict=True)
        }

    def _chosen(
        self, streams: np.random.SeedSequence, entropy: list[int] | None, count: int
    ) -> list[tuple[tuple[int, int], ...]]:
        """So many posterior draws of every block, chosen at random by what is spawned of the
        streams.
        """
        choices = [streams.spawn(1)[0]] * len(self.blocks)
        # each block by its own, so that its draws are the same L whatever stands beside it
        if entropy is not None and len(entropy) > 1:
            choices = [np.random.SeedSequence(one).spawn(1)[0] for one in entropy]
        return list(zip(*[self._places(count, choice) for choice in choices], strict=True))

    def _places(self, count: int, choice: np.random.SeedSequence) -> list[tuple[int, int]]:
        """So many posterior draws, chosen at random."""
        sizes = self.sizes
        return (
            random_draws(sizes["chain"], sizes["draw"], count, np.random.default_rng(choice))
            if self.estimates
            else [(0, 0)] * count
        )

    def _drawn(
        self,
        places: Sequence[tuple[tuple[int, int], ...]],
        seeds: Sequence[np.random.SeedSequence],
        plugged: Thetas | None,
    ) -> Iterator[pd.DataFrame]:
        """A dataset for each seed, of the posterior draw of every block at its place; then the
        warnings of amounts that lie far out.
        """
        far = []
        for each, seed in zip(places, seeds, strict=True):
            thetas = plugged or self.thetas_at(each)
            frame = self.drawing.made(thetas, np.random.default_rng(seed))
            far.append(self._far(frame))
            yield frame
        self._warn_of_far(far)
        for text, (broken, drawn) in self.drawing.rejected.items():
            if broken > _MOST_REJECTED * drawn:
                warnings.warn(
                    f"units.rules: {text!r} was broken by {100 * broken / drawn:.0f} % of the "
                    "values as they were first drawn, so that the model knows little of it",
                    UnitsWarning,
                    stacklevel=3,
                )

    def warn_of_draws(self, altered: Sequence[Mapping[str, pd.Series]]) -> None:
        """Warn, as `synthesize` does, of few effective draws and of amounts that lie far out, of
        datasets that were made elsewhere.
        """
        self._warn_of_few_draws(len(altered))
        self._warn_of_far([self._far(columns) for columns in altered])

    @property
    def _of_amounts(self) -> dict[str, BlockFit]:
        """The fit of the amounts of each variable that has any."""
        return {
            link.variable: max(
                (self.blocks[block.name] for block in link.parts), key=lambda fit: fit.limit
            )
            for link in self.prepared.links
            if link.values is not None and not link.levels
        }

    def _far(self, columns: Mapping[str, pd.Series] | pd.DataFrame) -> dict[str, tuple[int, int]]:
        """By variable how many drawn amounts of a dataset lie far out, and of how many."""
        counts = {}
        for name, fit in self._of_amounts.items():
            codes, column = [*self.prepared.codes.get(name, ())], columns[name]
            held = (column[~column.isin(codes)] if codes else column).dropna()
            counts[name] = fit.count_far(held), len(held)
        return counts

    def _warn_of_far(self, counts: Sequence[Mapping[str, tuple[int, int]]]) -> None:
        """Warn of amounts that lie far out, by what `_far` says of each dataset."""
        for name, fit in self._of_amounts.items():
            far, drawn = (sum(each[name][place] for each in counts) for place in range(2))
            fit.warn_of_far(far, drawn)

    def _check_precision(self, precision: Precision) -> None:
        """Refuse a precision that is no number, or of a variable that is none of the fit's or
        categorical.
        """
        if precision is None:
            return
        numeric = [link.variable for link in self.prepared.links if not link.levels]
        if not numeric:
            raise InputError(
                f"precision is that of numbers, and {listing(self.variables)} is drawn as "
                "levels; leave it out"
            )
        given = precision if isinstance(precision, Mapping) else dict.fromkeys(numeric, precision)
        strange = [name for name in given if name not in numeric]
        if strange:
            raise InputError(
                f"precision names {listing(strange)}; valid are the numeric variables "
                f"{listing(numeric)}"
            )
        for name, value in given.items():
            if check_number(value, f"precision of {name!r}", least=0) == 0:
                raise InputError(f"precision of {name!r} must be a number > 0, got 0")

    def ledger(self) -> list[int] | None:
        """The entropy of every block, which fixes the datasets of a guarantee; None without one."""
        entropies = [fit.entropy for fit in self.blocks.values()]
        kept = [entropy for entropy in entropies if entropy is not None]
        if kept and len(kept) < len(entropies):
            raise InputError(
                "some blocks of this fit have a guarantee and others have none, so nothing can "
                "be drawn from it; fit again"
            )
        if (
            kept
            and self.prepared.of_one
            and fingerprint(self.confidential) != fingerprint(self.block.confidential)
        ):
            raise InputError(CHANGED)
        return kept or None

    def _check_guarantee(self, count: int, parameters: str) -> tuple[list[int] | None, int]:
        """The entropy that a guarantee keeps, if there is one, and how many datasets it decides;
        refuses those that it does not cover.
        """
        entropy = self.ledger()
        if self.statement is None or entropy is None:
            return None, count
        if count > self.statement.L:
            raise InputError(
                f"L must be at most {self.statement.L}, for which the guarantee of this fit is "
                f"stated, got {count}; fit again"
            )
        if parameters != "draws":
            raise InputError(
                "parameters must be 'draws' under a guarantee, which does not cover the mode"
            )
        for link in self.prepared.links:
            if link.values is not None and self.drawing.rounding(link.values).precision is None:
                raise InputError(
                    "precision must be given under a guarantee: the dtype of "
                    f"{link.variable!r} does not hold whole numbers, and a precision found in the "
                    "data depends on them"
                )
        return entropy, max(count, min(self.statement.L, self.sizes["chain"] * self.sizes["draw"]))

    def _warn_of_few_draws(self, count: int) -> None:
        smallest = (
            deciding_rows(self.diagnostics)["ess_bulk"].min() if len(self.diagnostics) else np.inf
        )
        if count > smallest:
            warnings.warn(
                f"L = {count} datasets exceed the {smallest:.0f} effective draws of the fit "
                "(smallest bulk ESS): their parameters are not "
                "independent; sample longer or take a smaller L",
                ConvergenceWarning,
                stacklevel=4,
            )

    def save(self, path: str | Path) -> None:
        """Write `to_bytes` to a file of its owner's only. Confidential; holds neither the data nor
        alpha.
        """
        write_file(Path(path), self.to_bytes(), private=True)

    def to_bytes(self) -> bytes:
        """The fits of all blocks as an archive of what `BlockFit.to_bytes` makes of each, in order;
        its comment is a checksum.
        """
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for place, fit in enumerate(self.blocks.values()):
                archive.writestr(zipfile.ZipInfo(block_file(place)), fit.to_bytes())
            archive.comment = BLANK
        return add_checksum(content.getvalue())


def block_file(place: int) -> str:
    """The name of a block's fit in the archive of a fit."""
    return f"{place:03d}.nc"
