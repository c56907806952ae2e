"""What a run measures by each of several intruders: the risks and the disclosure of the same
datasets, each as of a study whose scenario is that intruder's.
"""

from collections.abc import Sequence

import pandas as pd

from riskweighted.disclosure.holm import judge_each
from riskweighted.evaluation.computing import released_rows
from riskweighted.evaluation.evaluate import Evaluation
from riskweighted.evaluation.verdicts import INTRUDER, OF_EACH
from riskweighted.runs.disclosure_stage import Disclosed, disclosure_tables
from riskweighted.runs.work import Work

__all__ = ["tables_by_intruder"]


def tables_by_intruder(
    work: Work, labels: Sequence[str], first: Evaluation
) -> tuple[dict[str, pd.DataFrame], dict[str, Disclosed]]:
    """Tables of risk and disclosure by intruder, and by label what is disclosed to the one who
    judges, with the verdict that holds of all together; `first`: the evaluation by this one.
    """
    study, works, measured, told = work.study, work.by_each(), {}, {}
    for name, one in works.items():
        of_one = first if name == study.intruder else one.evaluated(labels)
        released = released_rows(one.world(), study.unaltered(one.confidential))
        measured[name] = pd.concat([of_one.risk, released], ignore_index=True)
        told[name] = {label: one.disclosed(label) for label in labels}
    for label in labels:
        disclosed = {name: of[label].table for name, of in told.items()}
        for name, verdict in judge_each(disclosed, study.release.disclosure).items():
            told[name][label] = told[name][label]._replace(verdict=verdict)
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in OF_EACH}
    for name in works:
        of = {"risk": measured[name], **disclosure_tables(told[name])}
        for table, parts in tables.items():
            rows = of[table.removeprefix(f"{INTRUDER}_")].copy()
            rows.insert(0, INTRUDER, name)
            parts.append(rows)
    joined = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    return joined, told[str(study.intruder)]
