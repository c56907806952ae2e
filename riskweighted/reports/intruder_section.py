"""The table by intruder, of a study that has several: what each knows, and risk, disclosure and
verdict of each scheme by each.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.evaluation.verdicts import (
    INTRUDER,
    OF_EACH,
    Verdict,
    overall,
    verdicts_of_intruder,
)
from riskweighted.intruder.intruders import WORST
from riskweighted.measures import disclosure_measures, expected_measures
from riskweighted.reports.output_rules import View
from riskweighted.reports.wording import half_width

if TYPE_CHECKING:
    from riskweighted.runs.finished import FinishedRun
    from riskweighted.runs.run import Run
    from riskweighted.runs.study import Study

__all__ = ["FIGURES", "about_intruders", "figures_of", "intruder_table"]

FIGURES = {
    "Expected risk": expected_measures.MEAN,
    "of isolated records": expected_measures.ISOLATED,
    "Disclosure (D)": disclosure_measures.MEAN,
}


def intruder_table(
    run: "Run | FinishedRun",
    view: View,
    schemes: Sequence[str],
    verdicts: Sequence[Verdict] | None = None,
) -> pd.DataFrame:
    """Return a row of texts for each intruder and scheme; no row of a study of one scenario."""
    rows = list[dict[str, str]]()
    for name in (each.name for each in run.study.intruders):
        scenario = run.study.judged_by(name).evaluating_scenario()
        of_one = verdicts_of_intruder(run.verdicts if verdicts is None else verdicts, name)
        shown = figures_of(run.tables[OF_EACH[0]].query(f"{INTRUDER} == @name"), view, schemes)
        rows += [
            {
                "Intruder": name,
                "Knows": ", ".join(scenario.known) or "nothing",
                "Half-width": half_width(scenario, view.internal),
                "Scheme": scheme,
                "Verdict": overall(of_one, scheme),
                **{title: texts[place] for title, texts in shown.items()},
            }
            for place, scheme in enumerate(schemes)
        ]
    return pd.DataFrame(rows)


def figures_of(table: pd.DataFrame, view: View, schemes: Sequence[str]) -> dict[str, list[str]]:
    """Risk and disclosure of schemes by title, a text for each, as far as they may be shown and
    were measured.
    """
    shown = {}
    for title, measure in FIGURES.items():
        statistic = Statistic(measure.key)
        values, errors = (
            by_label(table, statistic, column).reindex(list(schemes))
            for column in ("value", "error")
        )
        if values.notna().any() and (view.internal or not view.few(statistic)):
            shown[title] = view.row(statistic, values, errors)
    return shown


def about_intruders(study: "Study") -> str:
    """How several intruders are judged together, in a few sentences; nothing of one scenario."""
    if not study.intruders:
        return ""
    names = [each.name for each in study.intruders]
    against = (
        "the largest risk over all of them"
        if study.weights.intruder == WORST
        else study.weights.intruder or names[0]
    )
    knows = {name: study.judged_by(name).evaluating_scenario().known for name in names}
    told = "; ".join(f"{name} knows {', '.join(of) or 'nothing'}" for name, of in knows.items())
    together = (
        ""
        if any(set(known) == set(study.scenario.known) for known in knows.values())
        else " Nobody is judged who knows what all of them know together: an intruder with "
        "union = true does."
    )
    return (
        f"{told}. A scheme passes if it does by each of them; that D is above a limit is said at a "
        "level corrected for their number (Holm 1979). Weights protect against "
        f"{against}; figures elsewhere are by {study.intruder}. D looks within patterns of all "
        "released columns, whatever an intruder knows, so mean D differs between intruders by "
        f"their radius alone.{together}"
    )
