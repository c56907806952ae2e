"""RADII.md: the paper's claims on r, L and whack-a-mole, where each is made, what is found, and
whether that is the same.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from experiments.ce.tables import as_markdown
from experiments.claims.results import CLEAR, NAMES, printed
from experiments.claims.tables import Number

__all__ = ["NEAR", "claims", "page"]

NEAR = (0.15, 0.2, 0.3)  # of the radii here those in the range that the paper tries
SMALL = (0.05, 0.1, 0.15)
_RISES = "rises >= 0.02"
_DIGITS = {_RISES: 0, "rises by a fifth": 0}

_HEAD = """# The claims on r, L and whack-a-mole, by radius

`python -m experiments.claims.radii --out FOLDER` writes this page, `radii.csv`, `lengths.csv` and
Figure 5b. Weights and evaluation have the same radius. Expected identification risk is that of the
mechanism (METHODS section 2), of 400 posterior draws; a *rise* is the record's expected risk less
that under the unweighted fit. *Control*: a second unweighted fit, whose rises are Monte Carlo error
alone. U_m: mean of 20 datasets. In brackets: Monte Carlo standard errors, of expected risk by
leaving out each of 20 blocks of draws; those of counts are too small, since records of equal counts
rise together, and another fit moves all of them (446 or 457 at r = 15 %). Isolated: the 5 % of
largest IR^c at that radius. Figure 5b as the paper draws it enlarges every record whose risk over
20 datasets is larger than under the unweighted synthesizer, and the control stands beside it.
"""


def page(radii: pd.DataFrame, lengths: pd.DataFrame) -> str:
    """The page, of the tables that the command writes."""
    parts = [_HEAD]
    for case, rows in radii.groupby("case", sort=False):
        own = lengths[lengths["case"] == case]
        parts += [f"## On {NAMES[str(case)]}\n", as_markdown(claims(rows, own))]
        parts += ["### By radius\n", as_markdown(_shown(rows))]
        parts += ["### Whack-a-mole before and after re-weighting by risk\n", _before_after(rows)]
        if len(own):
            parts += ["### By L, r = 20 %\n", as_markdown(_by_count(own))]
            parts += [f"![Figure 5b](figures/figure_5b_{case}.png)\n"]
    failed = radii[radii["converged"] == "NO"]
    named = ", ".join(f"{row.fit} at {row.radius:.0%} ({row.case})" for row in failed.itertuples())
    parts.append(f"Fits that did not converge: {named or 'none'} of {len(radii)} rows.\n")
    return "\n".join(parts)


def claims(rows: pd.DataFrame, lengths: pd.DataFrame) -> pd.DataFrame:
    """A row a claim: its words, its place in Hu et al. 2022, what is found, and a verdict."""
    found = [*_of_whack(rows), *_of_radius(rows), *_of_count(lengths)]
    return pd.DataFrame(found, columns=["claim", "section", "found", "verdict"])


def number(rows: pd.DataFrame, fit: str, radius: float, measure: str) -> Number | None:
    """One number of radii.csv with its error; None where there is no such fit."""
    here = rows[(rows["fit"] == fit) & np.isclose(rows["radius"], radius)]
    if here.empty:
        return None
    return Number(*map(float, here[[measure, f"{measure} error"]].iloc[0]))


def _series(rows: pd.DataFrame, fit: str, measure: str) -> dict[float, Number]:
    """By radius, the smallest first."""
    numbers = {radius: number(rows, fit, radius, measure) for radius in sorted(set(rows["radius"]))}
    return {radius: each for radius, each in numbers.items() if each is not None}


def _in_print(series: dict[float, Number], digits: int) -> str:
    return ", ".join(f"{printed(each, digits)} at {radius:.0%}" for radius, each in series.items())


def _beyond(after: Number, before: Number) -> int:
    """-1, 0 or 1: whether a number lies below or above another one by more than its error."""
    gap, error = after.value - before.value, np.hypot(after.error, before.error)
    return 0 if abs(gap) <= CLEAR * error else int(np.sign(gap))


def _of_whack(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    marginal, control, pairwise = (
        _series(rows, fit, _RISES) for fit in ("marginal", "control", "pairwise")
    )
    if (here := marginal.get(0.15)) is not None:
        chance = control[0.15]
        yield (
            "marginal weights raise the risk of some records at r = 15 %",
            "2.4.2, Fig. 5b",
            f"{printed(here, 0)} records rise by .02 or more, {printed(chance, 0)} under the "
            "control",
            "holds" if _beyond(here, chance) > 0 else "not found",
        )
    if len(marginal) > 1:
        relative = _series(rows, "marginal", "rises by a fifth")
        yield (
            "the smaller r, the more whack-a-mole",
            "2.4.2",
            f"rises of .02 or more: {_in_print(marginal, 0)}; by a fifth of the risk or more: "
            f"{_in_print(relative, 0)}",
            f"absolute rises: {_grows(marginal)}; relative ones: {_grows(relative)}",
        )
        mean, base = (_series(rows, fit, "mean risk") for fit in ("marginal", "unweighted"))
        moves = {radius: mean[radius].value / base[radius].value - 1 for radius in mean}
        yield (
            "a very small r protects less than a large one",
            "2.4.2",
            "mean risk under marginal weights against unweighted: "
            + ", ".join(f"{100 * move:+.0f} % at {radius:.0%}" for radius, move in moves.items()),
            "holds" if moves[min(moves)] > moves[max(moves)] else "does not hold",
        )
    risen = {radius: each for radius, each in marginal.items() if _beyond(each, control[radius])}
    both = {radius: pairwise[radius] for radius in risen if radius in pairwise}
    if both:
        fewer = all(_beyond(each, marginal[radius]) < 0 for radius, each in both.items())
        yield (
            "pairwise weights mitigate it",
            "3.1, 3.2.1, Fig. 9",
            f"rises of .02 or more under pairwise weights: {_in_print(both, 0)}",
            "holds" if fewer else "does not hold throughout",
        )


def _grows(series: dict[float, Number]) -> str:
    """Whether numbers grow from each radius to the next smaller one."""
    steps = [
        _beyond(small, large)
        for small, large in zip(series.values(), list(series.values())[1:], strict=False)
    ]
    return "holds" if min(steps) >= 0 and max(steps) > 0 else "does not hold throughout"


def _of_radius(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    near = rows[rows["radius"].apply(lambda radius: np.isclose(radius, NEAR).any())]
    mean, tail, distance = (
        _series(near, "marginal", name) for name in ("mean risk", "risk 95 % quantile", "U_m")
    )
    if len(tail) > 1:
        small, *_, large = tail
        share = max(each.value for each in mean.values()) / min(
            each.value for each in mean.values()
        )
        yield (
            "mean risks at r = 15 to 30 % are similar, and a smaller r has higher risks",
            "2.4.3, Fig. 6",
            f"mean risk {_in_print(mean, 4)}; 95 % quantile {_in_print(tail, 3)}",
            f"means differ by {100 * (share - 1):.0f} %; the upper risks "
            f"{('fall', 'do not move', 'rise')[_beyond(tail[small], tail[large]) + 1]} as r falls",
        )
    if len(distance) > 1:
        small, *_, large = distance
        word = {-1: "holds", 0: "no difference beyond error", 1: "the reverse is found"}
        yield (
            "utility improves slightly as r falls from 30 to 15 %",
            "2.4.3, Table 5",
            f"U_m {_in_print(_series(rows, 'marginal', 'U_m'), 4)}",
            f"{word[_beyond(distance[small], distance[large])]} (the paper's own U_m: .1061, "
            ".1124, .1152, .1088 at 30, 25, 20, 15 %)",
        )


def _of_count(lengths: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    for fit, rows in lengths.groupby("fit", sort=False):
        by = rows.set_index("L")
        least, few, many = (by.loc[count] for count in (1, by.index[by.index <= 10].max(), 50))
        short = least["length"] < many["length"] - CLEAR * many["length sd"]
        stable = abs(by.loc[20, "length"] - many["length"]) <= many["length sd"] + by.loc[
            20, "length sd"
        ] / np.sqrt(10)
        yield (
            f"intervals of L = 1 are too short, and those of L > 10 are stable ({fit})",
            "2.4.4, Table 6",
            f"length {_length(least)} at L = 1, {_length(few)} at 10, {_length(by.loc[20])} at 20, "
            f"{_length(many)} at 50 (sd of one release)",
            f"{'too short at 1' if short else 'not too short at 1'}; "
            f"{'the same' if stable else 'not the same'} at 20 as at 50",
        )


def _length(row: pd.Series) -> str:
    digits = 2 if row["length"] < 100 else 0
    return f"{row['length']:,.{digits}f} ({row['length sd']:,.{digits}f})"


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    measures = (_RISES, "rises by a fifth", "largest rise", "mean risk", "isolated risk", "U_m")
    return pd.DataFrame(
        [
            {
                "r": f"{row['radius']:.0%}",
                "fit": row["fit"],
                "mean weight": f"{row['mean weight']:.3f}",
            }
            | {
                name: printed(Number(row[name], row[f"{name} error"]), _DIGITS.get(name, 4))
                for name in measures
            }
            | {"converged": row["converged"]}
            for _, row in rows.iterrows()
        ]
    )


def _before_after(rows: pd.DataFrame) -> str:
    """Rises under a scheme, and after its weights were lowered once where its risks rise."""
    table = []
    for radius in SMALL:
        for scheme in ("marginal", "pairwise"):
            cells: dict[str, object] = {"r": f"{radius:.0%}", "weights": scheme}
            for name in (_RISES, "largest rise", "isolated risk", "U_m"):
                digits = _DIGITS.get(name, 4)
                before = number(rows, scheme, radius, name)
                after = number(rows, f"reweighted(by=risk, of={scheme})", radius, name)
                cells[name] = "" if before is None else printed(before, digits)
                cells[f"{name}, after"] = "no rise" if after is None else printed(after, digits)
            if cells[_RISES]:
                table.append(cells)
    return as_markdown(pd.DataFrame(table))


def _by_count(lengths: pd.DataFrame) -> pd.DataFrame:
    digits = 2 if lengths["length"].max() < 100 else 0

    def mean(row: pd.Series) -> str:
        return f"{row['mean']:,.{digits}f} ({row['mean sd']:,.{digits}f})"

    return pd.DataFrame(
        [
            {
                "fit": row["fit"],
                "L": row["L"],
                "mean (sd of one release)": mean(row),
                "length of the interval": _length(row),
            }
            for _, row in lengths.iterrows()
        ]
    )
