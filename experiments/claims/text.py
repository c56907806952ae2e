"""RESULTS.md: what each claim says, where it holds and where not, every number from the results
with its error in brackets.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.ce.tables import as_markdown
from experiments.claims.centred_text import centred_section
from experiments.claims.results import CLEAR, NAMES, Results, digits_of, printed
from experiments.claims.riddle import riddle_text
from experiments.claims.tables import RISES, Number
from riskweighted.sampling.convergence import ESS_LIMIT, R_HAT_LIMIT

__all__ = ["USED", "write_results"]

USED = ("unweighted", "marginal", "pairwise", "delete 5 %", "uniform 0.1")


def write_results(out: Path) -> str:
    """Write RESULTS.md of the tables in a folder; the riddle too where its table lies there."""
    results, equal = Results(pd.read_csv(out / "results.csv")), pd.read_csv(out / "equal_risk.csv")
    parts = [
        _HEAD,
        _reduces(results),
        _efficient(results, equal),
        _whack(results),
        _influence(results),
    ]
    parts.append(centred_section(results, pd.read_csv(out / "centred.csv")))
    if (out / "riddle.csv").exists():
        parts.append(riddle_text(pd.read_csv(out / "riddle.csv")))
    text = "\n".join([*parts, _all_fits(results)])
    (out / "RESULTS.md").write_text(text, encoding="utf-8")
    return text


_HEAD = """# The claims of the main paper, judged by expected risk

`python -m experiments.claims --out FOLDER` writes this page, `results.csv` (every number with its
error), `equal_risk.csv` and the figures; `python -m experiments.claims.riddle --out FOLDER` the
section on the riddle. Expected identification risk is that of the mechanism (METHODS section 2): it
leaves out the chance that dominates counts and maxima over L = 20 datasets. In brackets: Monte
Carlo standard errors, from 20 blocks of posterior draws for expected risk, from chains for p_eff
and attributable probability, from 100 datasets for U_m, mean and 90 % quantile (q90). "Does not
move" means: by less than two errors. The errors are those of the fits to these data; other data of
the same population would move the numbers more.

Two cases: the paper's simulated counts (n = 1,000, one negative binomial, radius 20 %, one
pattern), and the CE-like population (n = 6,208, `experiments/ce/study.toml`). Isolated: the 5 %
largest IR^c; top 1 %: the largest values. References: `delete 5 %` gives weight 0 to the 5 % of
largest IR^c, `uniform 0.1` gives 0.1 to all.
"""


def _reduces(results: Results) -> str:
    parts = [
        "## (a) Weighting reduces identification risk\n",
        "Claimed for the marginal weights against the unweighted synthesizer (Hu et al. 2022, "
        "sections 2.3 and 2.4), "
        "and for the pairwise ones.\n",
    ]
    for case in results.cases:
        parts.append(f"**On {NAMES[case]}:**\n")
        for label in USED[1:]:
            moves = "; ".join(
                f"{name} {results.change(case, label, measure)}"
                for name, measure in (
                    ("mean risk", "mean risk"),
                    ("that of isolated records", "isolated risk"),
                    ("of the top 1 %", "top 1 % risk"),
                )
            )
            parts.append(f"- {label}: {moves}.")
        measures = [
            "mean weight",
            "mean risk",
            "maximum risk",
            "isolated risk",
            "top 1 % risk",
            "records over 0.5",
            "U_m",
            "mean",
            "q90",
        ]
        parts.append("\n" + results.table(case, USED, measures))
        parts.append(f"![Expected risk by value](figures/risk_by_value_{case}.png)\n")
    return "\n".join([*parts, _verdict_a(results)])


def _verdict_a(results: Results) -> str:
    falls = {
        (case, label): results.change(case, label, "mean risk").startswith("falls")
        for case in results.cases
        for label in ("marginal", "pairwise")
    }
    isolated = all(
        results.change(case, label, "isolated risk").startswith("falls") for case, label in falls
    )
    where = [f"{label} weights on {NAMES[case]}" for (case, label), fell in falls.items() if fell]
    not_where = [
        f"{label} weights on {NAMES[case]}" for (case, label), fell in falls.items() if not fell
    ]
    clauses = [
        "Of isolated records the claim "
        f"{'holds everywhere' if isolated else 'does not hold everywhere'}.",
        f"Of mean risk it holds under {', '.join(where) or 'none'},",
        f"and not under {', '.join(not_where)}." if not_where else ".",
    ]
    return (
        f"**Verdict.** {' '.join(clauses)} Mean risk is about p (1 - p) averaged: moving mass "
        "from the tail to the bulk "
        "lowers the tail's and raises that of records with p below one half, and lowers it where "
        "p passes one half.\n"
    )


def _efficient(results: Results, equal: pd.DataFrame) -> str:
    parts = [
        "## (b) Pairwise weights are more efficient than marginal ones\n",
        "Claimed: more utility at about the same risk. Pairwise weights are never below marginal "
        "ones, so they keep more of the data. Here",
        "the schemes stand beside each other at equal isolated risk (marginal weights mixed in "
        "by t, pairwise weights to a power, and a",
        "share deleted; interpolated along lines between fits, which lie above a curve that "
        "bends) and at equal total weight.\n",
    ]
    for case in results.cases:
        used = " against ".join(
            f"{label}: U_m {results.cell(case, label, 'U_m')}, isolated risk "
            f"{results.cell(case, label, 'isolated risk')}"
            for label in ("pairwise", "marginal")
        )
        parts.append(f"**On {NAMES[case]}**, as used, {used}.\n")
        part = equal[equal["case"] == case]
        for level, rows in part.groupby("level", sort=False):
            parts.append(
                f"- At the isolated risk {level} weights ({rows['isolated risk'].iloc[0]:.4f}): "
                f"{_compare(rows)}"
            )
        shown = [
            {
                "level": row["level"],
                "isolated risk": f"{row['isolated risk']:.4f}",
                "family": row["family"],
                "fits": row["fits"],
            }
            | {
                name: printed(Number(row[name], row[f"{name} error"]), digits_of(case, name))
                for name in ("U_m", "mean", "q90")
            }
            for _, row in part.iterrows()
        ]
        parts.append("\n" + as_markdown(pd.DataFrame(shown)))
        labels = ["marginal", "pairwise, total of marginal", "uniform, total of marginal"]
        labels += ["pairwise", "marginal, total of pairwise"]
        parts.append("At equal total weight:\n")
        parts.append(
            results.table(
                case,
                labels,
                [
                    "mean weight",
                    "mean risk",
                    "isolated risk",
                    "top 1 % risk",
                    "Delta",
                    "U_m",
                    "mean",
                    "q90",
                ],
            )
        )
        parts.append(f"![Isolated risk against U_m](figures/frontier_{case}.png)\n")
    return "\n".join([*parts, _verdict_b(results, equal)])


def _compare(rows: pd.DataFrame) -> str:
    """U_m of the families at one level: which is least, and what does not differ from it."""
    order = rows.sort_values("U_m")
    best = order.iloc[0]
    near = order.iloc[1:][
        (order["U_m"].iloc[1:] - best["U_m"])
        <= CLEAR * np.hypot(order["U_m error"].iloc[1:], best["U_m error"])
    ]
    worse = order.iloc[1:].drop(near.index)
    named = {
        at: f"{row['family']} {printed(Number(row['U_m'], row['U_m error']), 4)}"
        for at, row in order.iterrows()
    }
    text = f"least U_m for {named[best.name]}"
    text += (
        f"; not beyond error above it: {', '.join(named[at] for at in near.index)}"
        if len(near)
        else ""
    )
    return text + (
        f"; above it: {', '.join(named[at] for at in worse.index)}." if len(worse) else "."
    )


def _verdict_b(results: Results, equal: pd.DataFrame) -> str:
    wins = []
    for (case, level), rows in equal.groupby(["case", "level"], sort=False):
        by = rows.set_index("family")
        own = next(
            (
                name
                for name in ("pairwise, total of marginal", "pairwise to a power")
                if name in by.index
            ),
            None,
        )
        if own is not None and "marginal, mixed in" in by.index:
            pair, marg = by.loc[own], by.loc["marginal, mixed in"]
            gap = marg["U_m"] - pair["U_m"]
            error = np.hypot(pair["U_m error"], marg["U_m error"])
            word = (
                "no different from"
                if abs(gap) <= CLEAR * error
                else "less than"
                if gap > 0
                else "more than"
            )
            where = f"at that {level} weights, on {NAMES[str(case)]},"
            wins.append(
                f"{where} their U_m is {word} that of marginal ones mixed in (by "
                f"{printed(Number(gap, error), 4)})"
            )
    weight = [
        f"on {NAMES[case]} U_m "
        f"{results.change(case, 'pairwise, total of marginal', 'U_m', 'marginal')} and isolated "
        "risk "
        f"{results.change(case, 'pairwise, total of marginal', 'isolated risk', 'marginal')}"
        for case in results.cases
    ]
    return (
        f"**Verdict.** At equal isolated risk: {'; '.join(wins)}. At the total weight of "
        "marginal weights, from those to pairwise ones: "
        f"{'; '.join(weight)}. "
        "Most of what pairwise weights keep of utility as used is what they leave of isolated "
        "risk; mean risk, which is much "
        "the same under both, hides it.\n"
    )


def _whack(results: Results) -> str:
    parts = [
        "## (c) Whack-a-mole is mitigated by pairwise weights\n",
        "Claimed from counts at L = 20. First the mechanism's own rises and falls over the "
        "unweighted one; then what 20 datasets show",
        "(pairs of five sets each), what the double binomial law expects of them, and what two "
        "sets of the unweighted fit would show:",
        "chance alone.\n",
    ]
    schemes = USED[1:]
    for case in results.cases:
        parts.append(
            f"**On {NAMES[case]}:** "
            + " ".join(_rises_in_words(results, case, least) for least in (RISES[0], RISES[-1]))
            + "\n"
        )
        expected = [f"{kind} >= {least:g}" for least in RISES for kind in ("rises", "falls")]
        parts.append("Expected:\n\n" + results.table(case, schemes, expected))
        parts.append("At L = 20:\n\n" + _sets(results, case))
        parts.append(f"![Changes of expected risk](figures/changes_{case}.png)\n")
    return "\n".join([*parts, _verdict_c(results)])


_PAIRS = [
    ("records over 0.5", ""),
    ("records over 0.5", ", expected"),
    ("maximum risk", ""),
    ("maximum risk", ", expected median"),
]


def _sets(results: Results, case: str) -> str:
    """Measures in rows, schemes in columns."""
    names = [
        f"rises >= {least:g} in sets{what}"
        for least in RISES
        for what in ("", ", expected", ", chance alone")
    ]
    names += [f"{name} in sets{what}" for name, what in _PAIRS]
    return as_markdown(
        pd.DataFrame(
            [
                {"measure": name} | {label: results.cell(case, label, name) for label in USED}
                for name in names
            ]
        )
    )


def _rises_in_words(results: Results, case: str, least: float) -> str:
    name = f"rises >= {least:g}"
    shown = {
        label: results.cell(case, label, f"{name} in sets") for label in ("marginal", "pairwise")
    }
    return (
        f"Expected rises of {least:g} and more: {results.cell(case, 'marginal', name)} marginal, "
        f"{results.cell(case, 'pairwise', name)} "
        f"pairwise; 20 datasets show {shown['marginal']} and {shown['pairwise']}, where chance "
        "alone gives "
        f"{results.cell(case, 'unweighted', f'{name} in sets, chance alone')}."
    )


def _verdict_c(results: Results) -> str:
    least = f"rises >= {RISES[0]:g}"
    clauses = []
    for case in results.cases:
        marginal, pairwise = (
            results.number(case, label, least) for label in ("marginal", "pairwise")
        )
        if marginal.value <= CLEAR * marginal.error:
            clauses.append(f"on {NAMES[case]} there is none to mitigate")
        else:
            word = "fewer" if pairwise.value < marginal.value else "not fewer"
            clauses.append(
                f"on {NAMES[case]} pairwise weights have {word} expected rises of {RISES[0]:g} "
                f"({results.cell(case, 'pairwise', least)} against "
                f"{results.cell(case, 'marginal', least)}), as they protect isolated"
                " records less; deleting 5 %, at an isolated risk of "
                f"{results.cell(case, 'delete 5 %', 'isolated risk')} beside pairwise "
                f"{results.cell(case, 'pairwise', 'isolated risk')}, has "
                f"{results.cell(case, 'delete 5 %', least)}"
            )
    most = f"rises >= {RISES[-1]:g}"
    worst = max(
        results.number(case, label, most).value
        for case in results.cases
        for label in ("marginal", "pairwise")
    )
    return (
        f"**Verdict.** By expected risk {'; '.join(clauses)}. Of rises of {RISES[-1]:g} and "
        "more, which the paper's figures mark, the "
        f"largest expected number over all these is {worst:.0f}. Those that 20 datasets show are "
        "chance: where they are more than chance "
        "alone gives, it carries smaller expected rises over the mark, and the double binomial "
        "law expects their number.\n"
    )


def _influence(results: Results) -> str:
    parts = [
        "## Influence\n",
        "What weights do control (METHODS section 9.1). Delta and range are maxima over all "
        "draws, lower bounds that grow with their",
        "number: the least of a chain alone, and Delta of 100 draws, stand beside. Units: log "
        "density or log mass, on the scale of the",
        "model. Attributable: the probability of a synthetic value in the record's ball that is "
        "due to the record, mean over the records",
        "(400 draws).\n",
    ]
    measures = [
        "Delta",
        "Delta, least chain",
        "Delta, 100 draws",
        "range",
        "range, least chain",
        "p_eff",
        "attributable",
    ]
    measures += ["attributable top 1 %", "largest k-hat"]
    for case in results.cases:
        parts.append(f"On {NAMES[case]}:\n\n" + results.table(case, USED, measures))
    return "\n".join(parts)


def _all_fits(results: Results) -> str:
    parts = ["## All fits\n", _missed(results)]
    measures = [
        "mean weight",
        "mean risk",
        "maximum risk",
        "isolated risk",
        "top 1 % risk",
        "rises >= 0.05",
        "falls >= 0.05",
        "Delta",
        "p_eff",
    ]
    measures += ["U_m", "mean", "q90", "r_hat", "ess_bulk", "divergences"]
    for case in results.cases:
        parts.append(f"On {NAMES[case]}:\n\n" + results.table(case, results.labels(case), measures))
    return "\n".join(parts)


def _missed(results: Results) -> str:
    """Which fits missed the limits of convergence."""
    missed = [
        f"{label} on {NAMES[case]} (R-hat {results.cell(case, label, 'r_hat')})"
        for case in results.cases
        for label in results.labels(case)
        if results.number(case, label, "r_hat").value > R_HAT_LIMIT
        or results.number(case, label, "ess_bulk").value < ESS_LIMIT
        or results.number(case, label, "divergences").value > 0
    ]
    return (
        f"Missed the limits of convergence: {'; '.join(missed) or 'none'}. R-hat is the largest, "
        "ESS the smallest of what is monitored.\n"
    )
