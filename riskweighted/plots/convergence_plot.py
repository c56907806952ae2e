"""The convergence card: do the chains mix, quantity by quantity?"""

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from scipy.stats import rankdata

from riskweighted.common.checks import check_count
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.plots.style import (
    NOTE_SIZE,
    TICK_SIZE,
    OnAxes,
    add_legend,
    add_note,
    finish,
    new_axes,
    short_names,
)
from riskweighted.sampling.convergence import RELEASED, shown_name
from riskweighted.sampling.monitored import monitored_quantities
from riskweighted.sampling.sampling_settings import DIRECT

if TYPE_CHECKING:
    from riskweighted.sequence.fit import Fit

__all__ = ["plot_convergence", "rank_histogram"]

_LIKELIHOOD, _POSTERIOR = "log_pseudo_likelihood", "log_pseudo_posterior"
_CHAINS = (
    ("#0072B2", "-"),
    ("#D55E00", "--"),
    ("#009E73", ":"),
    ("#CC79A7", "-."),
    ("#56B4E9", (0, (6, 1, 1, 1))),
    ("#E69F00", (0, (1, 1))),
)


def rank_histogram(values: np.ndarray, bins: int = 20) -> np.ndarray:
    """Draws of each chain per bin of the ranks among all draws, over the number expected if chains
    agree; (chains, bins).

    values : array (chains, draws). Ties get their mean rank.
    """
    ranks = rankdata(values, axis=None).reshape(values.shape)
    edges = np.linspace(0.5, values.size + 0.5, bins + 1)
    heights: np.ndarray = (
        np.array([np.histogram(chain, edges)[0] for chain in ranks]) * bins / values.shape[1]
    )
    return heights


def plot_convergence(
    fitted: "Fit | xr.Dataset",
    diagnostics: pd.DataFrame | None = None,
    *,
    most: int = 8,
    bins: int = 20,
    **axes: Unpack[OnAxes],
) -> Axes:
    """Draw rank plots, R-hat and effective sample sizes of the quantities on which a fit is judged,
    and return the axes.

    A row per quantity: for each chain, how many of its draws fall in each part of the ranking of
    all draws. Chains that agree stay within the grey band, 2 binomial standard deviations about the
    level of equal shares (draws of a chain are correlated, so somewhat more is no alarm).

    Parameters
    ----------
    fitted : Fit, or Dataset
        A fit, or its posterior by (chain, draw).
    diagnostics : DataFrame, optional
        Needed with a Dataset: r_hat, ess_bulk, ess_tail, divergences, converged by quantity
        (`Fit.diagnostics`, or the rows of one label of ``tables/convergence.csv``). The log
        pseudo-likelihood and what leaves are not stored, so a Dataset gives them no ranks.
    most : int
        Rows shown at most, those of largest R-hat; of a fit without chains, which has none, those
        of least bulk ESS.
    bins : int
        Bins of the ranks.
    **axes
        ``ax``, the axes to draw on, or ``figsize``, (width, height) of a new figure in inches.

    Raises
    ------
    InputError
        If a column is absent, nothing was estimated, or a quantity is not in the posterior.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> ax = rw.plot_convergence(fit, most=3)
    """
    check_count(most, "most")
    posterior, table = _posterior_and_table(fitted, diagnostics)
    directly = "engine" in table and bool((table["engine"] == DIRECT).all())
    by = {"by": "ess_bulk", "ascending": True} if directly else {"by": "r_hat", "ascending": False}
    # of a chain some blocks have no R-hat
    ordered = _first(fitted, table.sort_values(**by, kind="stable", na_position="last"), most)
    made = _made(fitted, ordered)
    ranks = {
        name: rank_histogram(made[name], bins)
        if name in made
        else _ranks(fitted, posterior, name, bins)
        for name in ordered.index
    }
    ax = new_axes((8.0, 1.4 + 0.95 * len(ordered)), **axes)
    highest = max([2.0, *(rank.max() for rank in ranks.values() if rank is not None)])
    draws = posterior.sizes["draw"]
    slack = 2 * np.sqrt((bins - 1) / draws)  # 2 sd of a share of 1 / bins, over that share
    for row, rank in enumerate(ranks.values()):
        _draw_row(ax, row, rank, highest, slack)
    finish(ax, "rank of a draw among those of all chains", grid="x")
    _name_rows(ax, ordered)
    ax.set(xlim=(0, 1), ylim=(len(ordered) + 0.05, -0.1))
    ax.set_xticks([0, 0.5, 1], ["lowest", "", "highest"])
    chains = (
        f"{posterior.sizes['chain']} chains of {draws} draws; {int(table['divergences'].max())} "
        "divergences."
    )
    if directly:
        chains = (
            f"{posterior.sizes['chain'] * draws} draws by importance, in "
            f"{posterior.sizes['chain']} parts; no chains."
        )
    more = (
        f"The {len(ordered)} of {len(table)} quantities of "
        f"{'least bulk ESS' if directly else 'largest R-hat'}."
    )
    add_note(
        ax, more if len(ordered) < len(table) else "", chains, "Grey: 2 sd about equal shares."
    )
    if any(rank is not None for rank in ranks.values()):
        add_legend(ax, "below", ncols=4, handlelength=3)
    return ax


def _posterior_and_table(
    fitted: "Fit | xr.Dataset", diagnostics: pd.DataFrame | None
) -> tuple[xr.Dataset, pd.DataFrame]:
    if isinstance(fitted, xr.Dataset):
        if diagnostics is None:
            raise InputError("a posterior needs its diagnostics: pass a Fit, or diagnostics=...")
        posterior, table = fitted, diagnostics
    elif hasattr(fitted, "posterior") and hasattr(fitted, "diagnostics"):
        if diagnostics is not None:
            raise InputError("a Fit has its own diagnostics: pass none")
        posterior, table = fitted.posterior, fitted.diagnostics
    else:
        raise InputError(f"expected a Fit or an xarray Dataset, got {type(fitted).__name__}")
    if isinstance(table, pd.DataFrame) and "quantity" in table.columns:
        table = table.set_index("quantity")
    require_columns(
        table, ["r_hat", "ess_bulk", "ess_tail", "divergences", "converged"], "diagnostics"
    )
    if not table.index.is_unique:
        raise InputError("diagnostics name a quantity more than once: pass the rows of one label")
    if not {"chain", "draw"} <= set(posterior.sizes):
        raise InputError("the posterior must have the dimensions 'chain' and 'draw'")
    return posterior, table


def _is_released(name: str) -> bool:
    """Whether a quantity is of what leaves: its draws are made of a fit, and not stored."""
    return name.rpartition(": ")[2].startswith(RELEASED)


def _first(fitted: "Fit | xr.Dataset", ordered: pd.DataFrame, most: int) -> pd.DataFrame:
    """The first rows; of a posterior what leaves only where it failed, since its draws are not
    there.
    """
    if isinstance(fitted, xr.Dataset):
        ordered = ordered[
            [
                not _is_released(str(name)) or not passed
                for name, passed in ordered["converged"].items()
            ]
        ]
    return ordered.head(most)


def _made(fitted: "Fit | xr.Dataset", ordered: pd.DataFrame) -> dict[str, np.ndarray]:
    """The draws of what leaves, where a row shows any of it, by name."""
    if isinstance(fitted, xr.Dataset) or not any(_is_released(str(name)) for name in ordered.index):
        return {}
    return monitored_quantities(fitted.block)


def _ranks(
    fitted: "Fit | xr.Dataset", posterior: xr.Dataset, quantity: str, bins: int
) -> np.ndarray | None:
    """Rank histogram of a quantity, named as in the diagnostics: "mean", "slope[2]"; None where its
    draws are not stored.
    """
    name, _, position = quantity.rpartition("[") if quantity.endswith("]") else (quantity, "", "")
    stored = {shown_name(str(variable)): variable for variable in posterior}
    if name in stored:
        indices: tuple[Any, ...] = tuple(
            int(number) for number in position.rstrip("]").split(",") if number
        )
        values = posterior[stored[name]].transpose("chain", "draw", ...).values
        if len(indices) == values.ndim - 2 and all(
            index < size for index, size in zip(indices, values.shape[2:], strict=True)
        ):
            return rank_histogram(values[:, :, *indices], bins)
    if _is_released(quantity) or quantity.rpartition(": ")[2] == _POSTERIOR:
        return None
    # that of a block of a chain stands after its name
    if quantity.rpartition(": ")[2] != _LIKELIHOOD:
        raise InputError(f"the posterior has no quantity {quantity!r}, which the diagnostics name")
    if isinstance(fitted, xr.Dataset):
        return None
    block, values = fitted.block, np.empty((posterior.sizes["chain"], posterior.sizes["draw"]))
    for chain, draw in np.ndindex(values.shape):
        values[chain, draw] = block.weights.to_numpy() @ block.terms(block.draw(chain, draw))
    return rank_histogram(values, bins)


def _draw_row(ax: Axes, row: int, rank: np.ndarray | None, highest: float, slack: float) -> None:
    """One quantity between y = row (above) and row + 0.9 (below, where no draw lies)."""
    base, scale = row + 0.92, 0.84 / highest
    ax.axhline(base, color="#888888", linewidth=0.8)
    if rank is None:
        ax.text(0.5, row + 0.5, "draws not stored", ha="center", va="center", fontsize=NOTE_SIZE)
        return
    ax.axhspan(
        base - scale * (1 + slack),
        base - scale * max(1 - slack, 0),
        color="#bbbbbb",
        alpha=0.45,
        linewidth=0,
    )
    edges = np.linspace(0, 1, rank.shape[1] + 1)
    for chain, heights in enumerate(rank):
        colour, line = _CHAINS[chain % len(_CHAINS)]
        name = (
            f"chain {chain}"
            if not any(text == f"chain {chain}" for text in ax.get_legend_handles_labels()[1])
            else None
        )
        ax.stairs(
            base - scale * heights,
            edges,
            baseline=None,
            color=colour,
            linestyle=line,
            linewidth=1.6,
            label=name,
        )


def _name_rows(ax: Axes, table: pd.DataFrame) -> None:
    """Quantities on the left; verdict, R-hat and effective sample sizes on the right."""
    places = np.arange(len(table)) + 0.5
    ax.set_yticks(places, list(short_names(table.index).values()), fontsize=TICK_SIZE)
    ax.tick_params(axis="y", length=0)
    right = ax.secondary_yaxis("right")
    verdicts = []
    for _, row in table.iterrows():
        verdict = (
            "not judged"
            if not row.get("judged", True)
            else "passed"
            if row["converged"]
            else "FAILED"
        )
        if row["converged"] and row["divergences"]:
            verdict = f"{verdict} (warn: {int(row['divergences'])} divergent)"
        sizes = f"ESS bulk {row['ess_bulk']:.0f}, tail {row['ess_tail']:.0f}"
        reached = (
            f"k-hat {row['pareto_k']:.2f}"
            if row.get("engine") == DIRECT
            else f"R-hat {row['r_hat']:.3f}"
        )
        verdicts.append(f"{verdict}: {reached}\n{sizes}")
    right.set_yticks(places, verdicts, fontsize=NOTE_SIZE)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    for label, passed in zip(right.get_yticklabels(), table["converged"], strict=True):
        label.set_fontweight("normal" if passed else "bold")
