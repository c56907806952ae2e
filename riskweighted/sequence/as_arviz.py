"""A fit in the form that the installed ArviZ reads: groups, named coordinates, and what is
confidential of it (METHODS section 5).

ArviZ 1 reads a DataTree, ArviZ 0 its own InferenceData. Every group is confidential, as the fit is,
and says so in its attributes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from riskweighted.common.checks import check_names
from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import late
from riskweighted.contract.distribution import draw_values
from riskweighted.design.design import Design
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import shown_name

__all__ = ["GROUPS", "as_arviz"]

POSTERIOR, STATS, DIAGNOSTICS = "posterior", "sample_stats", "diagnostics"
LOG_LIKELIHOOD, PREDICTIVE, OBSERVED = "log_likelihood", "posterior_predictive", "observed_data"
GROUPS = (POSTERIOR, STATS, DIAGNOSTICS, LOG_LIKELIHOOD, PREDICTIVE, OBSERVED)
_MOST = 100_000_000  # numbers of a group that has one for each record and draw
_CONFIDENTIAL = "Confidential: made of the confidential data. It does not leave the agency."
_PLACES = ("chain", "draw")


def as_arviz(fit: Any, groups: Sequence[str], *, weighted: bool, random_seed: int | None) -> Any:
    """See `Fit.to_datatree`."""
    asked = check_names(groups, "groups")
    strange = [name for name in asked if name not in GROUPS]
    if strange:
        raise InputError(f"groups names {listing(strange)}; valid are {listing(GROUPS)}")
    if PREDICTIVE in asked and any(block.entropy is not None for block in fit.blocks.values()):
        raise InputError(
            "this fit has a guarantee, whose datasets are those of synthesize and no others: "
            "leave out posterior_predictive"
        )
    large = [name for name in (LOG_LIKELIHOOD, PREDICTIVE) if name in asked]
    size = int(np.prod(list(fit.sizes.values()))) * sum(
        len(block.confidential) for block in fit.blocks.values()
    )
    if large and size > _MOST:
        raise InputError(
            f"{listing(large)} would hold {size:,} numbers, one for each record and draw; at "
            f"most are {_MOST:,}: sample fewer draws, or a "
            "part of the records"
        )
    rng = np.random.default_rng(random_seed)
    made = {
        group: xr.merge(
            _parts(fit, group, weighted, rng), combine_attrs="override", compat="no_conflicts"
        )
        for group in asked
    }
    stated = {name: data.assign_attrs(_attrs(fit, name, weighted)) for name, data in made.items()}
    return _of_installed(stated)


def _of_installed(groups: Mapping[str, xr.Dataset]) -> Any:
    az = late("arviz")
    return (
        az.InferenceData(**groups)
        if az.__version__.startswith("0.")
        else xr.DataTree.from_dict(groups)
    )


def _attrs(fit: Any, group: str, weighted: bool) -> dict[str, str]:
    attrs = {"confidential": _CONFIDENTIAL, "inference_library": "riskweighted"}
    if group == LOG_LIKELIHOOD:
        weights = "as it entered the likelihood: times its weight" if weighted else "not weighted"
        attrs["weighted"] = (
            f"{weights}, less what centring takes off" if weighted and _centred(fit) else weights
        )
    return attrs


def _centred(fit: Any) -> bool:
    return any(block.centring is not None for block in fit.blocks.values())


def _parts(fit: Any, group: str, weighted: bool, rng: np.random.Generator) -> Iterator[xr.Dataset]:
    """A group of each block; of several every name has its block's before it."""
    if group == DIAGNOSTICS:
        yield _diagnostics(fit)
        return
    for name, block in fit.blocks.items():
        part = _MAKERS[group](block, weighted, rng)
        if not fit.prepared.of_one:
            dimensions = [dimension for dimension in part.dims if dimension not in _PLACES]
            names = [
                *part.data_vars,
                *dimensions,
                *(
                    coordinate
                    for coordinate in part.coords
                    if coordinate not in (*_PLACES, *dimensions)
                ),
            ]
            part = part.rename({old: fit.prepared.label_of(name, str(old)) for old in names})
        yield part


def _diagnostics(fit: Any) -> xr.Dataset:
    judged = fit.diagnostics.astype({"converged": "int8", "judged": "int8"}).reset_index(
        names="quantity"
    )
    texts = ("quantity", "engine")
    return xr.Dataset(
        {
            name: ("quantity", column.to_numpy(dtype=str if name in texts else None))
            for name, column in judged.items()
        }
    )


def _posterior(block: BlockFit, weighted: bool, rng: np.random.Generator) -> xr.Dataset:
    """Parameters, whose axes have names: the columns of the model matrix, where there is one for
    each of them.
    """
    made, columns = {}, _columns(block.prepared)
    label: Any = getattr(block.synthesizer, "labels", None)
    stated: Mapping[str, Sequence[str]] = label(block.prepared) if callable(label) else {}
    for name, values in block.posterior.data_vars.items():
        shown = shown_name(str(name))
        last = values.ndim - 3
        axes = dict(
            _axis(shown, number, int(size), columns if number == last else ())
            for number, size in enumerate(values.shape[2:])
        )
        if len(told := stated.get(str(name), ())) == values.shape[-1] and axes:
            axes = dict(list(axes.items())[:-1]) | {"term": list(told)}
        sizes = dict(zip(axes, values.shape[2:], strict=True))
        coords = {
            name: np.arange(sizes[name]) if labels is None else labels
            for name, labels in axes.items()
        }
        made[shown] = xr.DataArray(values.values, dims=(*_PLACES, *axes), coords=coords)
    return xr.Dataset(made, {place: block.posterior[place].values for place in _PLACES})


def _axis(
    parameter: str, number: int, size: int, columns: Sequence[str]
) -> tuple[str, list[str] | None]:
    """The name and the labels of an axis: "..._slope" and "drift" have one entry a column,
    "coefficient" the intercept before them.
    """
    last = parameter.rsplit(".", 1)[-1]
    if len(columns) and size == len(columns) and {"slope", "drift"} & set(last.split("_")):
        return "predictor", list(columns)  # ArviZ 1 has a meaning of its own for "column"
    if len(columns) and size == len(columns) + 1 and last in ("coefficient", "common", "tau"):
        return "term", ["Intercept", *columns]
    return f"{parameter}_dim_{number}", None


def _columns(prepared: Any) -> tuple[str, ...]:
    """The columns of a prepared model's matrix, the intercept left out; none where it has no
    design.
    """
    design = getattr(prepared, "design", None)
    return design.columns if isinstance(design, Design) else ()


def _stats(block: BlockFit, weighted: bool, rng: np.random.Generator) -> xr.Dataset:
    """``lp``, the weighted log pseudo-likelihood; of chains ``diverging`` and ``energy``, too."""
    coords = {place: block.posterior[place].values for place in _PLACES}
    if not block.estimates:
        return xr.Dataset(coords=coords)
    lp = _each(block, lambda theta: np.array([block.contributions(theta).sum()]))[..., 0]
    held = (
        {}
        if block.stats is None
        else {str(name): (_PLACES, values.values) for name, values in block.stats.data_vars.items()}
    )
    return xr.Dataset({"lp": (_PLACES, lp), **held}, coords)


def _log_likelihood(block: BlockFit, weighted: bool, rng: np.random.Generator) -> xr.Dataset:
    return _of_records(block, _each(block, block.contributions if weighted else block.terms))


def _predictive(block: BlockFit, weighted: bool, rng: np.random.Generator) -> xr.Dataset:
    count = len(block.confidential)
    return _of_records(
        block,
        _each(
            block, lambda theta: draw_values(block.synthesizer, theta, block.prepared, rng, count)
        ),
    )


def _observed(block: BlockFit, weighted: bool, rng: np.random.Generator) -> xr.Dataset:
    values = np.asarray(block.y, dtype=float)
    return xr.Dataset(
        {block.synthesizer.target: ("record", values)}, {"record": np.arange(len(values))}
    )


def _each(block: BlockFit, of: Callable[[dict[str, np.ndarray]], np.ndarray]) -> np.ndarray:
    """A figure of every record for every draw, (chains, draws, n)."""
    shape = tuple(block.sizes.values())
    made = [np.asarray(of(block.draw(*place)), dtype=float) for place in np.ndindex(shape)]
    return np.stack(made).reshape(*shape, -1)


def _of_records(block: BlockFit, values: np.ndarray) -> xr.Dataset:
    coords = {place: block.posterior[place].values for place in _PLACES} | {
        "record": np.arange(values.shape[-1])
    }
    return xr.Dataset({block.synthesizer.target: ((*_PLACES, "record"), values)}, coords)


_MAKERS = {
    POSTERIOR: _posterior,
    STATS: _stats,
    LOG_LIKELIHOOD: _log_likelihood,
    PREDICTIVE: _predictive,
    OBSERVED: _observed,
}
