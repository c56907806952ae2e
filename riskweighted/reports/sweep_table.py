"""A sweep as a table of its settings, the best first, and in a few lines of a terminal."""

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.numbers import together
from riskweighted.evaluation.judgement import FITS as MODEL_FITS, MISFITS, MODEL
from riskweighted.evaluation.main_table import (
    CONVERGED,
    CONVERGED_WORDS,
    FITS,
    LARGEST_R_HAT,
    MEAN_WEIGHT,
)
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.evaluation.verdicts import (
    FAIL,
    LEAVES,
    PASS,
    WARN,
    WORDS,
    Verdict,
    find_verdicts,
    overall,
)
from riskweighted.measures import (
    cross_tables,
    disclosure_measures,
    distributions,
    expected_measures,
)
from riskweighted.reports.brief import verdict_lines
from riskweighted.reports.output_rules import INTERNAL
from riskweighted.reports.verdict_sentences import brief_sentence

if TYPE_CHECKING:  # at run time it would load what samples
    from riskweighted.sweeps.sweep import SweepResult

__all__ = ["at_settings", "setting_names", "settings_table", "swept_lines"]

_RISKS = (disclosure_measures.MEAN, expected_measures.MEAN)
_LOSSES = (distributions.U_M, distributions.TOTAL_VARIATION, cross_tables.DISTANCE)
_SHORT = {disclosure_measures.MEAN.key: "D"}


def settings_table(
    swept: "SweepResult",
    schemes: Sequence[str],
    thresholds: Thresholds,
    declared: Container[str] = (),
) -> pd.DataFrame:
    """One row for each setting of the grid with each scheme: ``setting`` in words, ``verdict`` and
    ``why``, those that `run` gives the same fit, the worst over repetitions; and the figures by
    which it is chosen, risk and then loss, means over repetitions. Those that a release would take
    first, of these those to which no other is better in both figures, and then by loss.

    `declared`: predictors that are not released and may be told.
    """
    names = setting_names(swept.results)
    rows, disclosed, checks = (
        at_settings(table, names)
        for table in (swept.results, swept.disclosure_verdicts, swept.fit_check)
    )
    rows = rows[rows["label"].isin(list(schemes))]
    judged: dict[str, list[tuple[str, str]]] = {}
    for (at, repetition), cells in rows.groupby(["at", "repetition"], sort=False):
        there, checked = (
            table[(table["at"] == at) & (table["repetition"] == repetition)]
            for table in (disclosed, checks)
        )
        verdicts = _verdicts(cells, there, checked, thresholds, declared)
        for label in cells["label"].unique():
            judged.setdefault(f"{at}{label}", []).append(
                (overall(verdicts, label), brief_sentence(verdicts, label, INTERNAL))
            )
    table = pd.DataFrame(
        [(setting, *_worst(words)) for setting, words in judged.items()],
        columns=["setting", "verdict", "why"],
    )
    # a risk is that of all variables together
    whole = rows[rows["variable"].isna() | rows["key"].isin([loss.key for loss in _LOSSES])]
    means = (
        whole.groupby([whole["at"] + whole["label"], "key"], sort=False)["value"]
        .mean()
        .unstack("key")
    )
    for measures in (_RISKS, _LOSSES):
        found = next((each for each in measures if each.key in means), None)
        if found is not None:
            table[_SHORT.get(found.key, found.label)] = table["setting"].map(means[found.key])
    figures, failing = table.iloc[:, 3:].to_numpy(dtype=float), _fails(table)
    worse = _worse(np.where(failing.to_numpy()[:, None], np.inf, figures))
    order = pd.DataFrame(
        {"failing": failing, "worse": worse, "loss": figures[:, -1] if figures.size else 0.0}
    )
    return table.iloc[
        order.sort_values(["failing", "worse", "loss"], kind="stable").index
    ].reset_index(drop=True)


def _worst(words: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The worst verdict of some repetitions and its reason, and of how many of them it is."""
    worst, why = min(words, key=lambda told: WORDS.index(told[0]))
    count = sum(word == worst for word, _ in words)
    return worst, why if count == len(words) else f"{why} ({count} of {len(words)} repetitions)"


def _fails(table: pd.DataFrame) -> "pd.Series[bool]":
    return ~table["verdict"].isin(LEAVES)


def _worse(figures: np.ndarray) -> list[bool]:
    """Whether another row, or an earlier one that is the same, is as low in all of its figures (m,
    k).
    """
    return [
        any(
            (other <= row).all() and ((other < row).any() or earlier < place)
            for earlier, other in enumerate(figures)
        )
        for place, row in enumerate(figures)
    ]


def swept_lines(table: pd.DataFrame) -> Iterator[str]:
    """At most four settings, the others counted, and the largest reason of the first that a release
    would not take, or is warned of.
    """
    numbers = {name: together(*table[name]) for name in table.columns[3:]}
    told = {}
    for place, row in enumerate(table.itertuples(index=False)):
        told[row.setting] = (
            row.verdict,
            ", ".join(f"{name} {values[place]}" for name, values in numbers.items()),
        )
    reasons = [*table[_fails(table)].itertuples(), *table[table["verdict"] == WARN].itertuples()]
    yield from verdict_lines(
        told, f"{reasons[0].setting}: {reasons[0].verdict}: {reasons[0].why}" if reasons else ""
    )


def setting_names(results: pd.DataFrame) -> list[str]:
    """The columns of a sweep's results that hold settings."""
    columns = results.loc[:, :"label"].columns
    return [str(name) for name in columns if name not in ("repetition", "seed", "label")]


def at_settings(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A table with ``at``, the setting of every row in words: settings by the last part of their
    name, where that tells them apart.
    """
    last = [name.rpartition(".")[2] for name in names]
    short = {
        name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)
    }
    rows = table[list(names)].itertuples(index=False, name=None)
    at = [
        "".join(f"{short[name]}={value} " for name, value in zip(names, row, strict=True))
        for row in rows
    ]
    return table.assign(at=at, label=table["label"].astype(str))


def _verdicts(
    rows: pd.DataFrame,
    disclosed: pd.DataFrame,
    checks: pd.DataFrame,
    thresholds: Thresholds,
    declared: Container[str],
) -> tuple[Verdict, ...]:
    """Those of a run of one setting: every scheme's."""
    fits = rows.drop_duplicates("label").set_index("label")
    passed, diverged = fits["converged"].fillna(True), fits["divergences"].fillna(0) > 0
    words = [
        CONVERGED_WORDS[FAIL if not good else WARN if some else PASS]
        for good, some in zip(passed, diverged, strict=True)
    ]
    model = {
        label: str(checked["verdict"].iloc[0])
        for label, checked in checks[checks["check"] == MODEL].groupby("label")
    }
    summary = {
        "label": fits.index,
        FITS.name: [
            {MODEL_FITS: "yes", MISFITS: "NO"}.get(model.get(label, "")) for label in fits.index
        ],
        CONVERGED.name: words,
        MEAN_WEIGHT.name: fits["mean_weight"].to_numpy(),
        LARGEST_R_HAT.name: fits["largest_r_hat"].to_numpy(),
    }
    convergence = pd.DataFrame(
        {
            "label": fits.index,
            "divergences": fits["divergences"].fillna(0).to_numpy(),
            "converged": passed.to_numpy(),
        }
    )
    measured = {
        "risk": rows,
        "utility": rows.iloc[:0],
        "fit_check": checks,
        "disclosure_verdicts": disclosed,
    }
    return find_verdicts(
        thresholds,
        {"summary": pd.DataFrame(summary), "convergence": convergence, **measured},
        declared,
    )
