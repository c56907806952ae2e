"""The risk-weighted pseudo posterior (S003 eq. 4, 10): compile once, sample for each weight vector, check.

This file, `agreement`, `checking` and `convergence` beside it are the ones that know the versions of PyMC, nutpie and ArviZ.
"""

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.atomic import write_file
from riskweighted.common.checks import check_count, check_seed
from riskweighted.common.errors import ConvergenceWarning, InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.frames import check_weights
from riskweighted.synthesis.agreement import WeightedSum, check_agreement, compile_weighted_sum
from riskweighted.synthesis.contract import Blueprint, ContractError, Synthesizer, keeps_true_values
from riskweighted.synthesis.convergence import ESS_LIMIT, R_HAT_LIMIT, diagnose, no_diagnostics
from riskweighted.synthesis.drawing import as_column, draw_values, spread_draws
from riskweighted.synthesis.sampling import Sampling
from riskweighted.synthesis.saving import data_hash, read_sealed, sealed, weights_hash

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import nutpie
    import pymc as pm
    import pytensor

__all__ = ["CompiledModel", "Fit", "compile_model", "fit", "load_fit"]

Progress = Callable[[int, int], None]  # draws done, draws in all


@dataclass(frozen=True)
class Fit:
    """A sampled pseudo posterior and all that is needed to draw from it. Confidential: it carries data.

    Attributes
    ----------
    synthesizer : Synthesizer
    alpha : Series (n,)
    posterior : xr.Dataset
        Parameters by (chain, draw); neither the observed data nor alpha. One empty draw where nothing is estimated.
    diagnostics : DataFrame
        One row per monitored quantity: r_hat (rank-normalised, split), ess_bulk, ess_tail, divergences, converged.
    random_seed : int or None
        That it was sampled with, where it is known.
    """

    synthesizer: Synthesizer
    alpha: pd.Series = field(repr=False)
    posterior: xr.Dataset = field(repr=False)
    diagnostics: pd.DataFrame
    confidential: pd.DataFrame = field(repr=False)
    prepared: Any = field(repr=False)
    random_seed: int | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """Whether every monitored quantity passed: R-hat <= 1.02, bulk ESS >= 100, no divergence."""
        return bool(self.diagnostics["converged"].all())

    @property
    def estimates(self) -> bool:
        """Whether there are parameters; without any, every dataset comes from the same (empty) draw."""
        return len(self.posterior.data_vars) > 0

    @property
    def keeps_true_values(self) -> bool:
        """Whether its output holds confidential values, so that it is confidential too and never called synthetic."""
        return keeps_true_values(self.synthesizer)

    def draw(self, chain: int, draw: int) -> dict[str, np.ndarray]:
        """One posterior draw: parameter name -> value."""
        return {str(name): values.values[chain, draw] for name, values in self.posterior.items()}

    def synthesize(self, L: int = 20, *, random_seed: int | None = None) -> list[pd.DataFrame]:  # noqa: N803
        """Draw L synthetic datasets, each from its own posterior draw (METHODS section 5).

        Parameters
        ----------
        L : int
            From 1 to the number of posterior draws.
        random_seed : int, optional
            The same seed gives the same datasets.

        Returns
        -------
        list of L DataFrames: the confidential frame with its sensitive column replaced; rows, index, columns,
        dtypes and categories are kept.
        """
        check_seed(random_seed)
        sizes = self.posterior.sizes
        places = spread_draws(sizes["chain"], sizes["draw"], L) if self.estimates else [(0, 0)] * check_count(L)
        target = self.synthesizer.target
        frames = []
        for place, seed in zip(places, np.random.SeedSequence(random_seed).spawn(L), strict=True):
            rng = np.random.default_rng(seed)
            values = draw_values(self.synthesizer, self.draw(*place), self.prepared, rng, len(self.confidential))
            frames.append(self.confidential.assign(**{target: as_column(values, self.confidential[target])}))
        return frames

    def save(self, path: str | Path) -> None:
        """Write `to_bytes` to a file of its owner's only. Confidential; holds neither the data nor alpha."""
        write_file(Path(path), self.to_bytes(), private=True)

    def to_bytes(self) -> bytes:
        """The posterior draws and diagnostics as netCDF, with hashes of what they were made for and a checksum."""
        stored = self.posterior.assign({f"_{name}": ("quantity", column) for name, column in self.diagnostics.items()})
        for name, column in self.diagnostics.select_dtypes(bool).items():
            stored[f"_{name}"] = ("quantity", column.astype("int8"))
        stored = stored.assign_coords(quantity=("quantity", list(self.diagnostics.index)))
        seed = "" if self.random_seed is None else str(self.random_seed)  # netCDF has no whole numbers of 64 bits
        made_for = data_hash(self.synthesizer, fingerprint(self.confidential))
        return sealed(stored.assign_attrs(made_for=made_for, weights=weights_hash(self.alpha), random_seed=f"seed {seed}"))


def load_fit(
    path: str | Path, synthesizer: Synthesizer, confidential: pd.DataFrame, alpha: pd.Series, *, random_seed: int | None = None
) -> Fit:
    """Read back a fit that `Fit.save` wrote, for the same synthesizer, data and weights.

    Parameters
    ----------
    path : str or Path
    synthesizer : Synthesizer
    confidential : DataFrame, n rows
    alpha : Series (n,)
        Weights that differ by less than one millionth are the same.
    random_seed : int, optional
        Refuse a fit that was not sampled with it.

    Raises
    ------
    InputError
        If the file is absent or damaged (its checksum differs), or is the fit of another synthesizer, of other data, of
        other weights or of another seed.
    """
    check_seed(random_seed)
    return prepare_model(synthesizer, confidential).load(path, alpha, random_seed)


def _load(path: str | Path, model: "PreparedModel", alpha: pd.Series, random_seed: int | None) -> Fit:
    alpha = check_weights(alpha, model.confidential.index)
    stored = read_sealed(Path(path))
    if stored.attrs.pop("made_for", None) != data_hash(model.synthesizer, model.fingerprint):
        raise InputError(f"{str(path)!r} is the fit of another synthesizer or of other data")
    if stored.attrs.pop("weights", None) != weights_hash(alpha):
        raise InputError(f"{str(path)!r} is the fit of other weights")
    text = str(stored.attrs.pop("random_seed", "")).removeprefix("seed ")
    seed = int(text) if text else None
    if random_seed is not None and seed != random_seed:
        raise InputError(f"{str(path)!r} is the fit of another random_seed than {random_seed}")
    columns = [str(name) for name in stored.data_vars if "quantity" in stored[name].dims]
    diagnostics = pd.DataFrame({name[1:]: stored[name].values for name in columns}, index=stored["quantity"].values.astype(str))
    diagnostics["converged"] = diagnostics["converged"].astype(bool)
    posterior = stored.drop_vars([*columns, "quantity"])
    return Fit(model.synthesizer, alpha, posterior, diagnostics.rename_axis("quantity"), model.confidential, model.prepared, seed)


@dataclass(frozen=True)
class CompiledModel:
    """A synthesizer compiled for one dataset; samples for any weight vector without compiling again."""

    synthesizer: Synthesizer
    confidential: pd.DataFrame = field(repr=False)
    prepared: Any = field(repr=False)
    blueprint: Blueprint | None = field(repr=False)
    compiled: Any = field(repr=False)
    weighted_sum: WeightedSum | None = field(default=None, repr=False)

    def sample(
        self,
        alpha: pd.Series | np.ndarray | None = None,
        *,
        random_seed: int | None = None,
        sampling: Sampling | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Sample the pseudo posterior with weights alpha; see `fit`."""
        check_seed(random_seed)
        checked = _check_alpha(alpha, self.confidential.index)
        return self._sample(checked, random_seed, sampling or Sampling(), progress)

    def _sample(self, checked: pd.Series, random_seed: int | None, sampling: Sampling, progress: Progress | None) -> Fit:
        """Sample with checked weights; a warning points to the caller's caller."""
        if self.blueprint is None:
            posterior = xr.Dataset(coords={"chain": [0], "draw": [0]})
            fitted = Fit(self.synthesizer, checked, posterior, no_diagnostics(), self.confidential, self.prepared, random_seed)
            _check_contract(fitted, None)
            return fitted
        values = self.blueprint.weigh(checked.to_numpy())
        posterior, divergences = _run(self.compiled.with_data(**values), sampling, random_seed, progress)
        fitted = Fit(self.synthesizer, checked, posterior, no_diagnostics(), self.confidential, self.prepared, random_seed)
        _check_contract(fitted, self.weighted_sum)
        fitted = replace(fitted, diagnostics=diagnose(_quantities(fitted, self.blueprint.monitored), divergences))
        if not fitted.converged:
            failed = fitted.diagnostics[~fitted.diagnostics["converged"]]
            warnings.warn(
                f"{type(self.synthesizer).__name__} did not converge: R-hat up to {failed['r_hat'].max():.3f} (limit {R_HAT_LIMIT}), "
                f"bulk ESS down to {failed['ess_bulk'].min():.0f} (limit {ESS_LIMIT:.0f}), {divergences} divergences; "
                "sample longer or simplify the model before releasing anything",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fitted


def _check_contract(fitted: Fit, weighted_sum: WeightedSum | None) -> None:
    """On three posterior draws: graph and log_likelihood agree, alpha acts, and n finite values are drawn.

    Costs 0.02 to 0.3 s for 5,000 records, and no compilation.
    """
    sizes, n = fitted.posterior.sizes, len(fitted.alpha)
    thetas = [fitted.draw(*place) for place in spread_draws(sizes["chain"], sizes["draw"], min(3, sizes["chain"] * sizes["draw"]))]
    if weighted_sum is not None:
        other = np.random.default_rng(0).uniform(0.1, 1.0, n)
        alphas = {"alpha = 1": np.ones(n), "the given alpha": fitted.alpha.to_numpy(), "another alpha": other}
        check_agreement(fitted.synthesizer, fitted.prepared, weighted_sum, thetas, alphas)
    for theta in thetas:
        values = draw_values(fitted.synthesizer, theta, fitted.prepared, np.random.default_rng(0), n)
        unusable = int((~np.isfinite(values)).sum())
        if unusable:
            raise ContractError(
                f"{type(fitted.synthesizer).__name__}: draw gave {unusable} of {n} values that are missing or infinite; "
                "check the model, the transform and the weights"
            )


def _check_alpha(alpha: pd.Series | np.ndarray | None, index: pd.Index) -> pd.Series:
    """Checked weights on the index of the data, not all zero."""
    checked = check_weights(np.ones(len(index)) if alpha is None else alpha, index).rename("alpha")
    if not (checked > 0).any():
        raise InputError(
            f"all {len(checked)} weights are zero: the pseudo posterior would be the prior; valid is at least one positive weight"
        )
    return checked


def _compile(model: "pm.Model") -> Any:
    """Compile for nutpie with numba and without a C++ compiler."""
    with pytensor.config.change_flags(cxx="", mode="NUMBA"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nutpie.compile_pymc_model(model, backend="numba")


_recent: OrderedDict[tuple[Any, ...], CompiledModel] = OrderedDict()


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A synthesizer and the data it was prepared for, once. Confidential; made by `prepare_model`."""

    synthesizer: Synthesizer
    confidential: pd.DataFrame = field(repr=False)
    prepared: Any = field(repr=False)

    @cached_property
    def fingerprint(self) -> str:
        """Of the data."""
        return fingerprint(self.confidential)

    def build(self) -> Blueprint | None:
        """Priors and weighted likelihood, not yet compiled."""
        return self.synthesizer.build(self.prepared)

    def compile(self) -> CompiledModel:
        """The model compiled; the last few are kept, since compiling takes seconds."""
        key = (self.synthesizer, self.fingerprint)
        if key in _recent:
            _recent.move_to_end(key)
            return replace(_recent[key], confidential=self.confidential)
        blueprint = self.build()
        compiled, weighted_sum = None, None
        if blueprint is not None:
            weighted_sum = compile_weighted_sum(self.synthesizer, blueprint, len(self.confidential))
            with blueprint.model:
                pm.Potential("weighted_log_likelihood", blueprint.weighted_log_likelihood)
            compiled = _compile(blueprint.model)
        _recent[key] = CompiledModel(self.synthesizer, self.confidential, self.prepared, blueprint, compiled, weighted_sum)
        while len(_recent) > 4:
            _recent.popitem(last=False)
        return _recent[key]

    def load(self, path: str | Path, alpha: pd.Series, random_seed: int | None = None) -> Fit:
        """Read back a fit of this model with these weights (and seed); see `load_fit`."""
        return _load(path, self, alpha, random_seed)


def prepare_model(synthesizer: Synthesizer, confidential: pd.DataFrame) -> PreparedModel:
    """Check the data and prepare them for a synthesizer.

    Raises
    ------
    InputError
        Whatever the synthesizer finds wrong with the data.
    """
    return PreparedModel(synthesizer, confidential, synthesizer.prepare(confidential))


def compile_model(synthesizer: Synthesizer, confidential: pd.DataFrame) -> CompiledModel:
    """Prepare and compile a synthesizer for a dataset; the last few are kept, since compiling takes seconds.

    Raises
    ------
    InputError
        Whatever the synthesizer finds wrong with the data.
    """
    return prepare_model(synthesizer, confidential).compile()


def fit(
    synthesizer: Synthesizer,
    confidential: pd.DataFrame,
    alpha: pd.Series | np.ndarray | None = None,
    *,
    random_seed: int | None = None,
    draws: int = 500,
    tune: int = 500,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float = 0.8,
    progress: Progress | None = None,
) -> Fit:
    """Sample the risk-weighted pseudo posterior of a synthesizer (S003 eq. 4 and 10).

    Parameters
    ----------
    synthesizer : Synthesizer
        For example ``load_synthesizer("normal-mixture")("income ~ C(region)")``.
    confidential : DataFrame, n rows
    alpha : Series on the index of `confidential`, array (n,), or None
        Weights in [0, 1]; None is the unweighted synthesizer, 1 everywhere.
    random_seed : int, optional
        The same seed gives the same draws, whatever the number of cores.
    draws, tune, chains, cores, target_accept
        See `Sampling`.
    progress : callable, optional
        Called with (draws done, draws in all) twice a second.

    Raises
    ------
    InputError
        If weights are outside [0, 1], missing, of another length or index, or all zero, or if the data does not
        suit the synthesizer.
    ContractError
        If the synthesizer's graph and log_likelihood disagree, alpha does not act, or it draws no n finite values.

    Warns
    -----
    ConvergenceWarning
        If a monitored quantity has R-hat > 1.02 or bulk ESS < 100, or a transition diverged.
    """
    sampling = Sampling(draws=draws, tune=tune, chains=chains, cores=cores, target_accept=target_accept)
    check_seed(random_seed)
    checked = _check_alpha(alpha, confidential.index)
    return compile_model(synthesizer, confidential)._sample(checked, random_seed, sampling, progress)


def _run(compiled: Any, sampling: Sampling, random_seed: int | None, progress: Progress | None) -> tuple[xr.Dataset, int]:
    """Sample with nutpie; BLAS is held to one thread, which the chains need for themselves and sums need to repeat."""
    seed = int(np.random.SeedSequence(random_seed).generate_state(1, np.uint32)[0])
    if progress is not None:
        _report_to(compiled, sampling.cores or 1, progress)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = nutpie.sample(
            compiled,
            draws=sampling.draws,
            tune=sampling.tune,
            chains=sampling.chains,
            cores=sampling.cores,
            seed=seed,
            target_accept=sampling.target_accept,
            progress_bar=False,
            save_warmup=False,
            blocking=False,
        )
        try:
            trace = sampler.wait()
        except BaseException:
            sampler.cancel()
            raise
    posterior, stats = (group.to_dataset() if hasattr(group, "to_dataset") else group for group in (trace.posterior, trace.sample_stats))
    constrained = posterior[[name for name in posterior.data_vars if not str(name).endswith("__")]]
    return constrained.sortby("chain").drop_attrs(), int(stats["diverging"].sum())


def _report_to(compiled: Any, cores: int, progress: Progress) -> None:
    """Have nutpie report the draws done, twice a second; it offers that to notebooks only, so we hand it our own."""

    def report(text: str) -> None:
        done, total = text.split("/")
        progress(int(done), int(total))

    def make_sampler(*arguments: Any) -> Any:
        return original(*(bars if isinstance(argument, type(bars)) else argument for argument in arguments))

    kinds = nutpie._lib.ProgressType
    bars = kinds.template_callback(500, "{{ total_finished_draws }}/{{ total_draws }}", cores, report)
    original = compiled._make_sampler
    object.__setattr__(compiled, "_make_sampler", make_sampler)


def _quantities(fitted: Fit, monitored: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The log pseudo-likelihood and every scalar of the monitored parameters, each (chains, draws)."""
    sizes = fitted.posterior.sizes
    alpha = fitted.alpha.to_numpy()
    quantities = {"log_pseudo_likelihood": np.empty((sizes["chain"], sizes["draw"]))}
    for chain, draw in np.ndindex(sizes["chain"], sizes["draw"]):
        terms = fitted.synthesizer.log_likelihood(fitted.draw(chain, draw), fitted.prepared)
        quantities["log_pseudo_likelihood"][chain, draw] = alpha @ terms
    for name in monitored:
        values = fitted.posterior[name].values
        for place in np.ndindex(values.shape[2:]):
            label = name if not place else f"{name}[{', '.join(map(str, place))}]"
            quantities[label] = values[(slice(None), slice(None), *place)]
    return quantities
