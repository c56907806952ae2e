"""A sweep as a table of its settings, the best first, and in eight lines of a terminal."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.numbers import together
from riskweighted.common.text import shortened
from riskweighted.disclosure.policy import DisclosureSettings
from riskweighted.evaluation.summary import CONVERGED, CONVERGED_WORDS, FITS, LARGEST_R_HAT, MEAN_WEIGHT
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.evaluation.verdicts import FAIL, NOT_JUDGED, PASS, REFUSE, WARN, Verdict, find_verdicts, overall
from riskweighted.measures import beyond, distributions, expected, tables
from riskweighted.reports.brief import verdict_lines
from riskweighted.reports.disclosure import INTERNAL
from riskweighted.reports.verdicts import in_brief

__all__ = ["settings_table", "swept_lines"]

_RISKS = (beyond.MEAN, expected.MEAN)
_LOSSES = (distributions.U_M, distributions.TOTAL_VARIATION, tables.DISTANCE)
_SHORT = {beyond.MEAN.key: "D"}
_WIDEST = 40  # of a setting, of the 80 columns
_ONE_SIDED = 1.6448536269514722
_VALUES = ["value", "error", "overlap"]
_WHICH = ["variable", "key", "measure", "parameter", "term"]


def settings_table(
    results: pd.DataFrame, schemes: Sequence[str], thresholds: Thresholds, policy: DisclosureSettings, declared: Container[str] = ()
) -> pd.DataFrame:
    """One row for each setting of the grid with each scheme, means over repetitions: ``setting`` in words, ``verdict``, ``why``, and the
    figures by which it is chosen, risk and then loss; those that miss nothing first, of these those to which no other is better in both
    figures, and then by loss.

    `declared`: predictors that are not released and may be told.
    A sweep does not check its models, so that no setting passes: what misses no limit is not judged.
    """
    names = [str(name) for name in results.loc[:, :"label"].columns if name not in ("repetition", "seed", "label")]
    rows = results[results["label"].isin(list(schemes))]
    told = _in_words(rows, names)
    figures = rows.assign(setting=told)[["setting", *_WHICH, *_VALUES]]
    figures = figures.groupby(["setting", *_WHICH], sort=False, dropna=False, as_index=False)[_VALUES].mean()
    fits = rows.assign(setting=told).groupby("setting", sort=False)[["mean_weight", "largest_r_hat", "divergences", "converged"]]
    passed = {"divergences": "max", "converged": lambda each: bool(each.fillna(True).all())}
    fits = fits.agg({"mean_weight": "mean", "largest_r_hat": "max", **passed}).fillna({"divergences": 0})
    verdicts = _verdicts(figures.rename(columns={"setting": "label"}), fits, thresholds, policy, declared)
    table = pd.DataFrame({"setting": fits.index})
    table["verdict"] = [overall(verdicts, setting) for setting in fits.index]
    table["why"] = [in_brief(verdicts, setting, INTERNAL) for setting in fits.index]
    for measures in (_RISKS, _LOSSES):
        found = next((each for each in measures if (figures["key"] == each.key).any()), None)
        if found is not None:
            of = figures[figures["key"] == found.key].groupby("setting")["value"]
            table[_SHORT.get(found.key, found.label)] = table["setting"].map(of.mean() if found in _LOSSES else of.first())
    figures, failing = table.iloc[:, 3:].to_numpy(dtype=float), _fails(table)
    worse = _worse(np.where(failing.to_numpy()[:, None], np.inf, figures))
    order = pd.DataFrame({"failing": failing, "worse": worse, "loss": figures[:, -1] if figures.size else 0.0})
    return table.iloc[order.sort_values(["failing", "worse", "loss"], kind="stable").index].reset_index(drop=True)


def _fails(table: pd.DataFrame) -> "pd.Series[bool]":
    return table["verdict"].isin([REFUSE, FAIL])


def _worse(figures: np.ndarray) -> list[bool]:
    """Whether another row, or an earlier one that is the same, is as low in all of its figures (m, k)."""
    return [
        any((other <= row).all() and ((other < row).any() or earlier < place) for earlier, other in enumerate(figures))
        for place, row in enumerate(figures)
    ]


def swept_lines(table: pd.DataFrame) -> Iterator[str]:
    """At most four settings, the others counted, and the largest reason of the first that fails."""
    numbers = {name: together(*table[name]) for name in table.columns[3:]}
    told: dict[str, tuple[str, str]] = {}
    for place, row in enumerate(table.itertuples(index=False)):
        figures = ", ".join(f"{name} {values[place]}" for name, values in numbers.items())
        told[_unlike(shortened(row.setting, _WIDEST), told)] = row.verdict, figures
    failing = table[_fails(table)]
    why = f"{failing['setting'].iloc[0]}: {failing['why'].iloc[0]}" if len(failing) else "a sweep does not check its models"
    yield from verdict_lines(told, why)


def _unlike(name: str, others: Mapping[str, object]) -> str:
    """A name that no other has, where long ones were cut alike."""
    while name in others:
        name += "'"
    return name


def _in_words(rows: pd.DataFrame, names: Sequence[str]) -> "pd.Series[str]":
    """Setting and scheme of every row: settings by the last part of their name, where that tells them apart."""
    last = [name.rpartition(".")[2] for name in names]
    short = {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}
    words = pd.Series("", rows.index)
    for name in names:
        words = words + f"{short[name]}=" + rows[name].map(str) + " "
    return words + rows["label"].map(str)


def _verdicts(
    figures: pd.DataFrame, fits: pd.DataFrame, thresholds: Thresholds, policy: DisclosureSettings, declared: Container[str]
) -> tuple[Verdict, ...]:
    """Of every setting as of the schemes of a run, but that nothing is known of its model."""
    summary = pd.DataFrame({"label": fits.index, FITS.name: None})
    judged = fits[["divergences", "converged"]].rename_axis("label").reset_index()
    summary[CONVERGED.name] = [
        CONVERGED_WORDS[FAIL if not passed else WARN if count > 0 else PASS]
        for count, passed in fits[["divergences", "converged"]].itertuples(index=False)
    ]
    summary[MEAN_WEIGHT.name], summary[LARGEST_R_HAT.name] = fits["mean_weight"].to_numpy(), fits["largest_r_hat"].to_numpy()
    whole = figures[figures["variable"].isna()].set_index("label")
    told = [_disclosed(whole[whole["key"] == beyond.MEAN.key].reindex([label]).iloc[0], policy) for label in fits.index]
    found = {
        "summary": summary,
        "risk": figures,
        "utility": figures.iloc[:0],
        "fit_check": pd.DataFrame(columns=["label", "check", "verdict"]),
        "convergence": judged,
    }
    found["disclosure_verdicts"] = pd.DataFrame({"label": fits.index, "verdict": told, "reasons": ""})
    return find_verdicts(thresholds, found, declared)


def _disclosed(row: "pd.Series[Any]", policy: DisclosureSettings) -> str:
    """What mean D of the whole file comes to, of all that the policy asks."""
    upper = row["value"] + _ONE_SIDED * row["error"]
    if pd.isna(upper):
        return NOT_JUDGED
    return REFUSE if upper > policy.mean else WARN if row["value"] > policy.warn_mean else PASS
