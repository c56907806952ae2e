"""The fit of one model: posterior draws and all that is needed to draw values from them, saved and
read back.
"""

import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.common.errors import ExplosionWarning, InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.frames import as_floats
from riskweighted.common.survey_weights import checked_survey
from riskweighted.contract.categories import categories_of, target_numbers
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import Records, draw_values, read_only
from riskweighted.contract.equations import Regression
from riskweighted.contract.intervals import Places, places_of
from riskweighted.contract.synthesizer import (
    Blueprint,
    Density,
    Draw,
    Layout,
    Synthesizer,
    keeps_true_values,
)
from riskweighted.contract.vector_layout import layout_of
from riskweighted.design.precision import find_precision
from riskweighted.guarantee.clip import Censoring, censor
from riskweighted.guarantee.ledger import CHANGED, LEDGER, entropy_of, open_ledger
from riskweighted.guarantee.statement import Guarantee, Statement
from riskweighted.sampling.centred import CentredTerm
from riskweighted.sampling.clipped import ClipTerm
from riskweighted.sampling.convergence import deciding_rows, no_diagnostics
from riskweighted.sampling.laplace import mode_of
from riskweighted.sampling.saving import data_hash, read_sealed, seal, weights_hash

__all__ = [
    "FAR",
    "BlockFit",
    "OfFile",
    "PreparedModel",
    "built",
    "find_block_mode",
    "plug_in",
    "prepare_model",
    "refuse_survey",
]

_STAT = "_stat_"  # before the name of what the sampler says of a draw, in a file
FAR = 10  # times the largest confidential value: drawn values beyond are warned of


class OfFile(NamedTuple):
    """What is found in the column of the file that a model was fitted to, where a fit holds other
    records of it.

    ``precision`` of the column (`BlockFit.precision`); ``limit``, beyond which drawn values are
    warned of, None of levels; ``places`` where centring looks at weights, None of a fit that is not
    centred. Confidential.
    """

    precision: float | None
    limit: float | None
    places: Places | None


def _weights_of(alpha: pd.Series, survey: pd.Series | None) -> pd.Series:
    """What enters the likelihood as the power of each record's, (n,): alpha, times survey weights
    where there are any.
    """
    return alpha if survey is None else (alpha * survey).rename("weight")


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A block's fit holds the sampled pseudo posterior of one model on the n records that it is
    fitted to. Confidential: it carries data.

    ``alpha``: risk weights in [0, 1]; ``posterior``: parameters by (chain, draw), neither data nor
    alpha, one empty draw where nothing is estimated; ``random_seed`` and ``data`` (a fingerprint),
    where they are known; ``censoring``: how contributions were clipped under a guarantee;
    ``survey``: survey weights of mean 1, where there are any; ``centring``: what centred weights
    take off (METHODS section 15); ``stats``: of chains ``diverging`` and ``energy`` by (chain,
    draw); ``file``: what is of the whole file, where the records are others of it.

    ``diagnostics``: a row per quantity: r_hat (rank-normalised, split), ess_bulk, ess_tail,
    divergences, converged, engine ("nuts" or "direct"), pareto_k, approximation, limit (of r_hat),
    judged (whether it decides: what leaves does, and where a model gives no masses its parameters
    do). Direct draws have no r_hat, and chains no pareto_k: NaN. ``approximation``: where a density
    was sampled in place of the exact one, by how many of its standard deviations a posterior mean
    is off at most; else NaN.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> next(iter(fit.blocks.values())).diagnostics.index.tolist()[:2]
    ['log_pseudo_likelihood', 'log_pseudo_posterior']
    """

    synthesizer: Synthesizer
    alpha: pd.Series = field(repr=False)
    posterior: xr.Dataset = field(repr=False)
    diagnostics: pd.DataFrame
    confidential: pd.DataFrame = field(repr=False)
    prepared: Any = field(repr=False)
    random_seed: int | None = field(default=None, repr=False)
    data: str | None = field(default=None, repr=False)
    censoring: Censoring | None = field(default=None, repr=False)
    survey: pd.Series | None = field(default=None, repr=False)
    centring: Centring | None = field(default=None, repr=False)
    stats: xr.Dataset | None = field(default=None, repr=False)
    file: OfFile | None = field(default=None, repr=False)

    @property
    def weights(self) -> pd.Series:
        """What enters the likelihood as the power of each record's, (n,): alpha, times the survey
        weight, so it may exceed 1.
        """
        return _weights_of(self.alpha, self.survey)

    @property
    def statement(self) -> Statement | None:
        """What is proved of its datasets, under a guarantee."""
        return None if self.censoring is None else self.censoring.statement

    @property
    def entropy(self) -> int | None:
        """What fixes its datasets under a guarantee; None without one. InputError where the fit was
        changed since.
        """
        if self.censoring is None:
            return entropy_of(self.posterior, None, "")
        entropy = entropy_of(self.posterior, self.censoring.digest(), self._made_of)
        if not self._is_prepared:
            raise InputError(CHANGED)
        return entropy

    @cached_property
    def _made_of(self) -> str:
        """The digest of the model and of the data as they are, whatever ``data`` says."""
        return data_hash(self.synthesizer, fingerprint(self.confidential))

    @cached_property
    def _is_prepared(self) -> bool:
        """Whether it draws what its model draws of its data, prepared anew."""
        theta, n = self.draw(0, 0), len(self.confidential)
        held, anew = (
            draw_values(self.synthesizer, theta, prepared, np.random.default_rng(0), n)
            for prepared in (self.prepared, self.synthesizer.prepare(self.confidential))
        )
        return bool(np.array_equal(held, anew, equal_nan=True))

    @property
    def converged(self) -> bool:
        """Whether every judged quantity passed: R-hat within its limit, bulk ESS >= 100, at most .5
        % of the draws divergent; or k-hat <= 0.7 and ESS >= 100."""
        return bool(deciding_rows(self.diagnostics)["converged"].all())

    @property
    def estimates(self) -> bool:
        """Whether there are parameters; without any, every dataset comes from the same (empty)
        draw.
        """
        return len(self.posterior.data_vars) > 0

    @property
    def sizes(self) -> dict[str, int]:
        """Chains and draws of each."""
        return {name: int(self.posterior.sizes[name]) for name in ("chain", "draw")}

    @cached_property
    def categories(self) -> tuple[object, ...] | None:
        """The levels of a categorical target in the order of their codes; None where it is a
        number.
        """
        return categories_of(self.synthesizer, self.prepared)

    def numbers(self, frame: pd.DataFrame) -> np.ndarray:
        """The target of a frame as the numbers that the synthesizer draws, (n,): its values, or the
        codes of its levels.
        """
        return target_numbers(self.synthesizer, self.prepared, frame)

    @cached_property
    def y(self) -> np.ndarray:
        """The confidential target as such numbers, (n,), which nobody can change."""
        return read_only(self.numbers(self.confidential))

    def distribution(self, theta: Draw) -> Records:
        """The distribution of every record's value given parameters."""
        return self.synthesizer.distribution(theta, self.prepared)

    def terms(self, theta: Draw) -> np.ndarray:
        """log p(y_i | theta) of every record, (n,)."""
        return np.asarray(self.distribution(theta).log_density(self.y), dtype=float)

    @cached_property
    def precision(self) -> float | None:
        """How finely the sensitive column is recorded, see `find_precision`; under a guarantee what
        its dtype alone tells; 1 for codes.
        """
        if self.categories is not None:
            return 1.0
        if self.file is not None:
            return self.file.precision
        column = self.confidential[self.synthesizer.target]
        if self.censoring is not None:
            return 1.0 if pd.api.types.is_integer_dtype(column.dtype) else None
        return find_precision(column)

    @cached_property
    def largest_terms(self) -> np.ndarray:
        """max over the draws of abs(log p(y_i | theta_s)), times the survey weight where there is
        one, (n,).
        """
        largest = np.zeros(len(self.confidential))
        for place in np.ndindex(self.posterior.sizes["chain"], self.posterior.sizes["draw"]):
            largest = np.maximum(largest, np.abs(self.terms(self.draw(*place))))
        return largest if self.survey is None else largest * self.survey.to_numpy()

    @property
    def keeps_true_values(self) -> bool:
        """Whether its output holds confidential values, so that it is confidential too and never
        called synthetic.
        """
        return keeps_true_values(self.synthesizer)

    def draw(self, chain: int, draw: int) -> dict[str, np.ndarray]:
        """One posterior draw: parameter name -> value."""
        variables = self.posterior.variables
        return {str(name): variables[name].values[chain, draw] for name in self.posterior.data_vars}

    @cached_property
    def centred(self) -> CentredTerm | None:
        """What centring takes off, as a function of a draw; None of an uncentred fit."""
        return (
            None
            if self.centring is None
            else CentredTerm(self.synthesizer, self.prepared, self.confidential, self.centring)
        )

    @cached_property
    def clip_term(self) -> ClipTerm | None:
        """What a centred clip takes off, as a function of a draw; None of any other fit."""
        cells = None if self.censoring is None else self.censoring.cells
        return (
            None
            if cells is None
            else ClipTerm.of(self.synthesizer, self.prepared, self.confidential, cells)
        )

    def contributions(self, theta: Draw) -> np.ndarray:
        """What each record adds to the log posterior, on the scale of the model, (n,): alpha_i log
        p(y_i | theta), alpha_i times the survey weight if there is one; or that clipped; or that
        less what its own value was expected to add, where weights or the clip are centred."""
        alpha = self.weights.to_numpy()
        terms = self.terms(theta)
        if self.centred is not None:
            return self.centred.contributions(theta, alpha, terms)
        if self.censoring is not None:
            clipped = self.censoring.contributions(alpha, terms)
            term = self.clip_term
            return (
                clipped
                if term is None
                else clipped - term.each(theta, float(alpha[0]), self.censoring.statement)
            )
        return np.asarray(alpha * np.where(alpha > 0, terms, 0.0))

    def count_far(self, values: pd.Series) -> int:
        """How many drawn values lie beyond ten times the largest absolute confidential one; none of
        levels.
        """
        if self.categories is not None:
            return 0
        return int((np.abs(as_floats(values)) > self.limit).sum())

    @cached_property
    def limit(self) -> float:
        """Ten times the largest absolute confidential value, beyond which drawn ones are far."""
        if self.file is not None and self.file.limit is not None:
            return self.file.limit
        return float(FAR * np.nanmax(np.abs(as_floats(self.confidential[self.synthesizer.target]))))

    def of_other(self, records: pd.DataFrame, alpha: pd.Series) -> "BlockFit":
        """The same posterior for other records of the file, with weights alpha (m,)."""
        limit = None if self.categories is not None else self.limit
        places = (
            None if self.centring is None else places_of(self.synthesizer, self.prepared, self.y)
        )
        file = self.file or OfFile(self.precision, limit, places)
        held = replace(
            self, confidential=records, prepared=self.prepared.at(records), alpha=alpha, file=file
        )
        return replace(held, data=None, survey=None)

    def warn_of_far(self, far: int, drawn: int) -> None:
        """Warn of that many values of those drawn, as `synthesize` does."""
        if far:
            warnings.warn(
                f"{far} of {drawn:,} drawn values of {self.synthesizer.target!r} lie beyond "
                f"{FAR} times the largest confidential one: "
                "the model knows too little there (rare levels, small weights, a scale with "
                "heavy tails); "
                "set support = [low, high] where the synthesizer takes public bounds, or merge "
                "levels",
                ExplosionWarning,
                stacklevel=4,
            )

    def to_bytes(self) -> bytes:
        """The posterior draws and diagnostics as netCDF, with hashes of what they were made for and
        a checksum.
        """
        if self.censoring is None:
            _ = self.entropy  # which refuses draws whose guarantee was dropped
        stored = self.posterior.assign(
            {f"_{name}": ("quantity", column) for name, column in self.diagnostics.items()}
        )
        for name, column in self.diagnostics.select_dtypes(bool).items():
            stored[f"_{name}"] = ("quantity", column.astype("int8"))
        for name, values in () if self.stats is None else self.stats.data_vars.items():
            stored[f"{_STAT}{name}"] = (
                ("chain", "draw"),
                values.values.astype("int8" if values.dtype == bool else float),
            )
        stored["_engine"] = ("quantity", self.diagnostics["engine"].to_numpy(dtype=str))
        stored = stored.assign_coords(quantity=("quantity", list(self.diagnostics.index)))
        # netCDF has no whole numbers of 64 bits
        seed = "" if self.random_seed is None else str(self.random_seed)
        made_for = data_hash(self.synthesizer, self.data or fingerprint(self.confidential))
        guarantee = {} if self.censoring is None else {"guarantee": self.censoring.digest()}
        centred = {} if self.centring is None else {"centred": self.centring.label}
        return seal(
            stored.assign_attrs(
                made_for=made_for,
                weights=weights_hash(self.weights),
                random_seed=f"seed {seed}",
                **guarantee,
                **centred,
            )
        )


def built(
    synthesizer: Synthesizer, prepared: Any, centring: Centring | None = None
) -> Blueprint | None:
    """The blueprint of a synthesizer; that of a `Regression` with a density by JAX, less the term
    of `centring`, where JAX is installed.
    """
    blueprint = synthesizer.build(prepared)
    if blueprint is None or not isinstance(synthesizer, Regression) or find_spec("jax") is None:
        return blueprint
    from riskweighted.sampling.through_jax import through_jax

    return through_jax(synthesizer, prepared, blueprint, centring)


def find_block_mode(fit: BlockFit) -> tuple[Layout, Density, np.ndarray] | None:
    """What the one vector of the fit stands for, its log density and the mode of it, (d,); None
    where its synthesizer states no density.
    """
    blueprint = built(fit.synthesizer, fit.prepared, fit.centring)
    density = (
        None if blueprint is None else blueprint.weighted(fit.weights.to_numpy(), fit.centring)
    )
    if blueprint is None or density is None:
        return None
    layout = layout_of(blueprint)
    return layout, density, mode_of(density, layout.size)


def plug_in(fit: BlockFit) -> dict[str, np.ndarray]:
    """The parameters at the mode of the fit's pseudo posterior, where its synthesizer has a density
    of one vector to maximise.
    """
    found = find_block_mode(fit)
    if found is None:
        raise InputError(
            "parameters = 'mode' needs a synthesizer with a density of one vector, which "
            f"{type(fit.synthesizer).__name__} has not"
        )
    layout, _, mode = found
    return {name: values[0] for name, values in layout.parameters(mode[None]).items()}


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A synthesizer and the data it was prepared for, once, with survey weights if any.
    Confidential; made by `prepare_model`.
    """

    synthesizer: Synthesizer
    confidential: pd.DataFrame = field(repr=False)
    prepared: Any = field(repr=False)
    survey: pd.Series | None = field(default=None, repr=False)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.confidential)

    def weights(self, alpha: pd.Series) -> pd.Series:
        """What enters the likelihood, (n,): alpha, times the survey weights where there are any."""
        return _weights_of(alpha, self.survey)

    def build(self, centring: Centring | None = None) -> Blueprint | None:
        """See `built`."""
        return built(self.synthesizer, self.prepared, centring)

    def censor(
        self,
        guarantee: Guarantee | None,
        alpha: pd.Series,
        L: int,  # noqa: N803
        besides: Sequence[str] = (),
    ) -> Censoring | None:
        """The clip of a guarantee on this model; see `riskweighted.guarantee.clip.censor`."""
        refuse_survey(self.survey, guarantee)
        return (
            None
            if guarantee is None
            else censor(
                self.synthesizer, self.prepared, self.confidential, alpha, guarantee, L, besides
            )
        )

    def fitted(
        self,
        alpha: pd.Series,
        posterior: xr.Dataset,
        random_seed: int | None,
        censoring: Censoring | None = None,
        diagnostics: pd.DataFrame | None = None,
        centring: Centring | None = None,
        stats: xr.Dataset | None = None,
    ) -> BlockFit:
        """A fit of this model, not yet judged where it is given no diagnostics."""
        judged = no_diagnostics() if diagnostics is None else diagnostics
        if censoring is not None and LEDGER not in posterior.attrs:
            posterior = open_ledger(
                posterior,
                censoring.digest(),
                random_seed,
                data_hash(self.synthesizer, self.fingerprint),
            )
        held = (self.synthesizer, alpha, posterior, judged, self.confidential, self.prepared)
        return BlockFit(
            *held, random_seed, self.fingerprint, censoring, self.survey, centring, stats
        )

    def load(
        self,
        path: str | Path | zipfile.Path,
        alpha: pd.Series,
        random_seed: int | None = None,
        censoring: Censoring | None = None,
        centring: Centring | None = None,
    ) -> BlockFit:
        """A fit read back; InputError says so where it is that of another model, of other data,
        weights, seed, clip or centring.
        """
        stored = read_sealed(path if isinstance(path, zipfile.Path) else Path(path))
        if stored.attrs.pop("made_for", None) != data_hash(self.synthesizer, self.fingerprint):
            raise InputError(f"{str(path)!r} is the fit of another synthesizer or of other data")
        if stored.attrs.pop("weights", None) != weights_hash(self.weights(alpha)):
            raise InputError(f"{str(path)!r} is the fit of other weights")
        if stored.attrs.pop("guarantee", None) != (
            None if censoring is None else censoring.digest()
        ):
            raise InputError(f"{str(path)!r} is a fit under another guarantee, or under none")
        if stored.attrs.pop("centred", None) != (None if centring is None else centring.label):
            raise InputError(
                f"{str(path)!r} is the fit of weights that are centred otherwise, or not"
            )
        if censoring is not None and LEDGER not in stored.attrs:
            raise InputError(
                f"{str(path)!r} is a fit from before the datasets of a guarantee were fixed with "
                "it: fit again"
            )
        text = str(stored.attrs.pop("random_seed", "")).removeprefix("seed ")
        seed = int(text) if text else None
        if random_seed is not None and seed != random_seed:
            raise InputError(f"{str(path)!r} is the fit of another random_seed than {random_seed}")
        columns = [str(name) for name in stored.data_vars if "quantity" in stored[name].dims]
        diagnostics = pd.DataFrame(
            {name[1:]: stored[name].values for name in columns},
            index=stored["quantity"].values.astype(str),
        )
        diagnostics = diagnostics.reindex(columns=list(no_diagnostics().columns)).astype(
            {"converged": bool, "divergences": int, "judged": bool}
        )
        posterior = stored.drop_vars([*columns, "quantity"])
        held = [str(name) for name in posterior.data_vars if str(name).startswith(_STAT)]
        stats = (
            posterior[held].rename({name: name.removeprefix(_STAT) for name in held})
            if held
            else None
        )
        stats = (
            stats
            if stats is None
            else stats.assign(diverging=stats["diverging"].astype(bool))
            .drop_vars(["chain", "draw"])
            .drop_attrs()
        )
        return self.fitted(
            alpha,
            posterior.drop_vars(held),
            seed,
            censoring,
            diagnostics.rename_axis("quantity"),
            centring,
            stats,
        )


def refuse_survey(survey: pd.Series | None, guarantee: Guarantee | None) -> None:
    """A record's contribution, and so what a guarantee bounds, grows with its survey weight."""
    if survey is not None and guarantee is not None:
        raise InputError(
            "a guarantee holds for no survey weights, which multiply what a record adds to the "
            "posterior: leave one of them out"
        )


def prepare_model(
    synthesizer: Synthesizer,
    confidential: pd.DataFrame,
    survey: str | pd.Series | np.ndarray | None = None,
) -> PreparedModel:
    """A synthesizer and the data that it was prepared for, checked, with survey weights if any;
    InputError says what is wrong with them.
    """
    if isinstance(survey, str) and survey == synthesizer.target:
        raise InputError(
            f"survey weights {survey!r} are the column that is synthesized: name another one"
        )
    weights = checked_survey(survey, confidential)
    return PreparedModel(synthesizer, confidential, synthesizer.prepare(confidential), weights)
