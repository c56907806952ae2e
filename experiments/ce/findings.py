"""What the Consumer Expenditure study comes to, in words made of its tables."""

from collections.abc import Mapping

import pandas as pd

from experiments.ce.tables import SIX, variant_of_six
from riskweighted.sampling.convergence import R_HAT_LIMIT

__all__ = ["findings"]

_SCHEMES = ("Synthesizer", "Marginal", "Pairwise")


def findings(tables: Mapping[str, pd.DataFrame]) -> str:
    """Paragraphs, of the tables of `experiments.ce.replicate` by their names."""
    parts = [_of_fits(tables["fits"]), _of_risk(tables["risk"]), _of_utility(tables["table_7"])]
    return "\n".join(f"- {part}" for part in [*parts, *_of_estimates(tables["table_4"])]) + "\n"


def _of_fits(fits: pd.DataFrame) -> str:
    failed = fits.loc[fits["converged"] == "NO", "label"].tolist()
    word = "All fits converged" if not failed else f"Did not converge: {', '.join(failed)}"
    return (
        f"**The fits.** {word}: largest R-hat {fits['r_hat'].max():.3f}, smallest bulk ESS "
        f"{fits['ess_bulk'].min():.0f}, at most {fits['divergences'].max():.0f} divergences."
    )


def _by_label(table: pd.DataFrame, measure: str, column: str = "value") -> pd.Series:
    return table[table["measure"] == measure].set_index("label")[column]


def _of_risk(risk: pd.DataFrame) -> str:
    mean, spread, rises = (
        _by_label(risk, name)
        for name in ("mean risk", "risk interquartile range", "whack-a-mole records")
    )
    published = _by_label(risk, "risk interquartile range", "value published")
    fall = mean["Marginal"] < mean["Synthesizer"]
    return (
        f"**Risk.** Release of the data and top-coding leave a mean risk of {mean['Data']:.2f} and "
        f"{mean['Topcoding']:.2f}; synthesis takes that to {mean['Synthesizer']:.3f}. The paper "
        "sees it fall further under both weightings; here it is "
        f"{mean['Marginal']:.3f} (marginal) and {mean['Pairwise']:.3f} (pairwise), which "
        f"{'agrees for marginal weights' if fall else 'does not agree'}. Interquartile range "
        f"{spread['Marginal']:.3f} and {spread['Pairwise']:.3f} (published "
        f"{published['Marginal']:.4f} and {published['Pairwise']:.4f}). Whack-a-mole at L = 20: "
        f"{rises['Marginal']:.0f} and {rises['Pairwise']:.0f} records rise by .25, most of them by "
        "chance (below)."
    )


def _of_utility(distances: pd.DataFrame) -> str:
    ours, theirs = (
        _by_label(distances, "U_m", column)[list(_SCHEMES)]
        for column in ("value", "value published")
    )
    same = ours.rank().equals(theirs.rank())
    return (
        f"**Utility.** U_m {', '.join(f'{each:.4f}' for each in ours)} (unweighted, marginal, "
        f"pairwise; published {', '.join(f'{each:.4f}' for each in theirs)}): "
        f"{'the same' if same else 'another'} order. Pairwise weights add "
        f"{ours['Pairwise'] - ours['Synthesizer']:.4f} to it, marginal ones "
        f"{ours['Marginal'] - ours['Synthesizer']:.4f}."
    )


def _of_estimates(table: pd.DataFrame) -> list[str]:
    mean = table[table["measure"] == "mean"].set_index("label")
    earner = table[table["measure"] == "coefficient Earner 2"].set_index("label")
    six, r_hat = mean.loc[SIX], variant_of_six()["r_hat"]
    missed = f"; its R-hat is {r_hat:.3f}, so it did not converge" if r_hat > R_HAT_LIMIT else ""
    width, theirs = (
        earner.loc["Marginal", f"upper{end}"] - earner.loc["Marginal", f"lower{end}"]
        for end in ("", " published")
    )
    return [
        f"**The mean.** Under marginal weights ours goes from {_k(mean.loc['Data', 'estimate'])} "
        f"to {_k(mean.loc['Marginal', 'estimate'])}, the paper's to "
        f"{_k(mean.loc['Marginal', 'estimate published'])}. The priors of its model are not "
        "published in what we have. Six components with slopes of their own under narrow priors "
        f"(`python -m experiments.claims.riddle`; last rows of Table 4) give {_k(six['estimate'])} "
        f"({_k(six['lower'])} to {_k(six['upper'])}{missed}), because their tail is the prior's.",
        f"**The Earner 2 interval** under marginal weights is {_k(width)} wide, the paper's "
        f"{_k(theirs)}.",
    ]


def _k(value: float) -> str:
    return f"{value / 1000:.1f}K"
