"""Does the model suit the data: inside the agency, every check of every fit with its verdict."""

import pandas as pd

from riskweighted.evaluation.fit_check import COST, FITS, MODEL, fit_verdict
from riskweighted.evaluation.measures import MEASURES
from riskweighted.reports.blocks import DataTable, Section, make_table
from riskweighted.reports.disclosure import number
from riskweighted.reports.source import Source

__all__ = ["fit_check_section"]


def fit_check_section(source: Source) -> Section:
    """For the internal report: none of these numbers has a rule for outside."""
    table = source.run.tables["fit_check"]
    verdicts = {str(label): fit_verdict(rows) for label, rows in table.groupby("label", sort=False)}
    judged = {label: verdict for label, verdict in verdicts.items() if verdict != COST}
    lines = [f"{label}: the model {'fits' if verdict == FITS else 'MISFITS'}." for label, verdict in judged.items()]
    lines += ["No fit of the study is unweighted (alpha 1, no survey weights), so the model is not judged."] if not judged else []
    lines += ["The distance of a weighted fit from the data is what its weights cost; it is shown beside, without a verdict."]
    blocks = tuple(_table(source, place, label) for place, label in enumerate(verdicts, 1))
    return Section("fit-check", "Does the model suit the data?", (" ".join(lines),), blocks)


def _table(source: Source, place: int, label: str) -> DataTable:
    table = source.run.tables["fit_check"]
    rows = table[(table["label"] == label) & (table["check"] != MODEL)]
    parameters = rows["parameter"].fillna("").astype(str)
    variables = {"Variable": list(rows["variable"].fillna(""))} if "variable" in rows else {}
    cells = pd.DataFrame(
        {
            **variables,
            "Check": [f"{MEASURES[key].label} {parameter}".strip() for key, parameter in zip(rows["check"], parameters, strict=True)],
            "Confidential": [number(value) for value in rows["confidential"]],
            "Synthetic": [number(value) for value in rows["synthetic"]],
            "Standard error": [number(value, 2) for value in rows["standard_error"]],
            "Effect": [number(value, 3) for value in rows["effect"]],
            "Threshold": [number(value, 3) for value in rows["threshold"]],
            "Verdict": list(rows["verdict"]),
        }
    )
    return make_table(f"fit-check-{place}", f"Checks of {label}", cells)
