"""The claims judged again under centred weights: the same measures, beside the plain ones."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.ce.tables import as_markdown
from experiments.claims.results import CLEAR, NAMES, Results, printed
from experiments.claims.tables import RISES, Number

__all__ = ["centred_section"]

_SHOWN = (
    "unweighted",
    "marginal",
    "marginal+",
    "pairwise",
    "pairwise+",
    "pairwise+, total of marginal+",
    "mix 0.5+",
    "mix 0.9+",
)
_MIXED = ("unweighted", "mix 0.5+", "mix 0.9+", "marginal+")  # along it less is learned
_LEAST = f"rises >= {RISES[0]:g}"
_MEASURES = [
    "mean weight",
    "mean risk",
    "isolated risk",
    "top 1 % risk",
    _LEAST,
    "U_m",
    "mean",
    "q90",
    "Delta",
    "p_eff",
    "attributable",
]

_HEAD = """## The same claims under centred weights

`python -m experiments.claims --out FOLDER --centred` writes `centred.csv` and this section. A plus
marks the centred (generalised-Bayes) variant: from the log pseudo posterior of the paper is taken
what each record was expected to add by its weight (METHODS section 15). It is **not** the paper's
pseudo posterior and says nothing for or against the claims about that; it says what of them comes
from weights alone, and what from the model that weights bend. p_eff, twice the sum of information
(with a record's own term), is what the records teach the model. The weights are the same with and
without a plus; the plain rows are those recorded above.
"""


def centred_section(plain: Results, rows: pd.DataFrame) -> str:
    """The section, of the results above and the rows of the centred fits."""
    results = Results(
        pd.concat(
            [plain.rows.reset_index(), rows[rows["label"] != "unweighted"]], ignore_index=True
        )
    )
    parts, cases = [_HEAD], list(dict.fromkeys(rows["case"]))
    lacking = [NAMES[case] for case in plain.cases if case not in cases]
    if lacking:
        parts.append(f"Not recorded yet: {', '.join(lacking)}.\n")
    for case in cases:
        parts.append(
            f"On {NAMES[case]}:\n\n" + results.table(case, _of(results, case, _SHOWN), _MEASURES)
        )
    verdicts = [
        ("(a) weights lower mean risk", _mean_risk),
        ("(a) weights lower the risk of isolated records", _isolated_risk),
        ("(b) pairwise weights are more efficient", _efficient),
        ("(c) pairwise weights mitigate whack-a-mole", _whack),
    ]
    table = [
        {"claim": claim} | {f"on {NAMES[case]}": judge(results, case) for case in cases}
        for claim, judge in verdicts
    ]
    return "\n".join([*parts, as_markdown(pd.DataFrame(table)), _verdict(results, cases)])


def _of(results: Results, case: str, labels: Sequence[str]) -> list[str]:
    """Those that were fitted."""
    return [label for label in labels if label in results.labels(case)]


def _lowered(results: Results, case: str, measure: str) -> str:
    """What becomes of a fall of risk, for marginal and for pairwise weights."""
    words = []
    for scheme in ("marginal", "pairwise"):
        held, holds = (results.falls(case, label, measure) for label in (scheme, f"{scheme}+"))
        word = {
            (True, True): "holds still, by less",
            (True, False): "holds no more",
            (False, True): "holds now",
            (False, False): "held for neither",
        }[held, holds]
        if (
            held
            and holds
            and results.number(case, f"{scheme}+", measure).value
            <= results.number(case, scheme, measure).value
        ):
            word = "holds"
        base, now, then = (
            results.cell(case, label, measure) for label in ("unweighted", scheme, f"{scheme}+")
        )
        words.append(f"{scheme}: {word} ({base} to {now} plain, {then} centred)")
    return "; ".join(words)


def _mean_risk(results: Results, case: str) -> str:
    return _lowered(results, case, "mean risk")


def _isolated_risk(results: Results, case: str) -> str:
    return _lowered(results, case, "isolated risk")


def _efficient(results: Results, case: str) -> str:
    """At equal information, since isolated risk is what centred weights leave alone."""
    words = []
    for label in _of(results, case, ("pairwise+", "pairwise+, total of marginal+")):
        p_eff, own = results.number(case, label, "p_eff").value, results.number(case, label, "U_m")
        mixed = _along(results, case, p_eff)
        gap = Number(mixed.value - own.value, float(np.hypot(mixed.error, own.error)))
        word = (
            "no different from"
            if abs(gap.value) <= CLEAR * gap.error
            else "less than"
            if gap.value > 0
            else "more than"
        )
        words.append(
            f"at the p_eff of {label} ({p_eff:.2f}) its U_m {printed(own, 4)} is {word} that of "
            f"marginal+ mixed in, {printed(mixed, 4)}"
        )
    marginal, pairwise = (results.cell(case, label, "U_m") for label in ("marginal+", "pairwise+"))
    return (
        f"as used, U_m {pairwise} pairwise+, {marginal} marginal+; at equal isolated risk moot; "
        + "; ".join(words)
    )


def _along(results: Results, case: str, p_eff: float) -> Number:
    """U_m where marginal weights, centred and mixed in, leave this p_eff: on a line between
    fits.
    """
    points = [
        (results.number(case, label, "p_eff").value, results.number(case, label, "U_m"))
        for label in reversed(_of(results, case, _MIXED))
    ]
    at = [point for point, _ in points]
    value, error = (
        float(np.interp(p_eff, at, [number[place] for _, number in points])) for place in (0, 1)
    )
    return Number(value, error)


def _whack(results: Results, case: str) -> str:
    """Expected rises of the least size that is counted."""
    counts = {
        label: results.cell(case, label, _LEAST)
        for label in ("marginal", "pairwise", "marginal+", "pairwise+")
    }
    rose = results.number(case, "marginal+", _LEAST)
    word = "moot" if rose.value <= CLEAR * rose.error else "still there"
    return (
        f"{word}: {counts['marginal+']} records rise by {RISES[0]:g} under marginal+, "
        f"{counts['pairwise+']} under pairwise+ "
        f"(plain {counts['marginal']}, {counts['pairwise']})"
    )


def _verdict(results: Results, cases: Sequence[str]) -> str:
    """What is left of the fall of isolated risk, and what weights do to what is learned."""
    words = []
    for case in cases:
        base, plain, centred = (
            results.number(case, label, "isolated risk").value
            for label in ("unweighted", "marginal", "marginal+")
        )
        left = 100 * (base - centred) / (base - plain)
        learned = results.change(case, "marginal+", "p_eff")
        words.append(
            f"On {NAMES[case]} {left:.0f} % of the fall of isolated risk under marginal weights "
            f"is left; p_eff {learned} "
            f"({results.cell(case, 'marginal', 'p_eff')} plain), and the attributable probability "
            f"{results.change(case, 'marginal+', 'attributable')}."
        )
    return (
        f"\n**Verdict.** {' '.join(words)} What falls away with centring is what the bent model "
        "did to guesses: a record that stands out "
        "is guessed from a straight model as one that was never in the file would be. What "
        "weights limit is how much each record "
        "teaches, which centring leaves about as it was: so (a) and (b) are to be judged by that.\n"
    )
