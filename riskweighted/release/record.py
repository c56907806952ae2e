"""The disclosure record of a pack, for machines: what was released, measured and judged, as far as
it may be shown outside.

Its schema is `schemas/disclosure_record.schema.json` beside this file. Numbers are those of the
releasable report, so they are texts: rounded, "fewer than 10", "not shown". It holds neither the
seed nor a path.
"""

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import pandas as pd

from riskweighted.common.found import hide_found
from riskweighted.evaluation.main_table import FIT_COLUMNS
from riskweighted.evaluation.measure_rows import statistics_of
from riskweighted.reports.output_rules import View, outside, releasable
from riskweighted.reports.verdict_sentences import verdict_records
from riskweighted.runs.finished import FinishedRun
from riskweighted.runs.folder import OWN_WEIGHTS
from riskweighted.weights.user_weights import source_of

__all__ = ["MINIMUM_COUNT", "SCHEMA", "disclosure_record", "own_weights", "record_schema"]

MINIMUM_COUNT = 10  # of records in anything that is shown, as in the releasable report
SCHEMA = "riskweighted-disclosure-record/1"
_SCENARIO = (
    "known",
    "synthetic",
    "radius",
    "radius_kind",
    "min_radius",
    "boundary",
    "singletons",
    "codes",
)


def record_schema() -> dict[str, Any]:
    """The JSON Schema that every record follows."""
    text = (
        files("riskweighted.release")
        .joinpath("schemas", "disclosure_record.schema.json")
        .read_text(encoding="utf-8")
    )
    schema: dict[str, Any] = json.loads(text)
    return schema


def disclosure_record(run: FinishedRun, schemes: Sequence[str], source: str) -> dict[str, Any]:
    """The record of a release of some schemes of a run; nothing of the others, of baselines, or of
    the confidential data alone is in it.

    `source`: SHA-256 of the run's own manifest, which the agency keeps.
    """
    records, released = int(run.manifest["input"]["records"]), run.synthetic[schemes[0]][0]
    view = outside(records, MINIMUM_COUNT)
    tables, withheld = releasable(run.tables, schemes, [str(name) for name in released])
    if records < MINIMUM_COUNT:
        tables = tables | {name: tables[name].iloc[:0] for name in ("risk", "utility")}
    named = _of_few_amounts(run, schemes)
    few = {name: tables[name]["variable"].isin(named) for name in ("risk", "utility")}
    scenario = run.manifest["settings"]["scenario"]
    scenario = {**scenario, "known": list(run.study.scenario.known)}
    intruders = hide_found(run.manifest["settings"].get("intruders", []))
    return {
        "schema": SCHEMA,
        "released": {
            "schemes": list(schemes),
            "datasets_per_scheme": run.study.release.L,
            "records": records,
            "synthesized": list(run.study.variables),
            "unaltered": [str(name) for name in released if name not in run.study.altered],
        },
        "scenario": {name: hide_found(scenario[name]) for name in _SCENARIO if name in scenario},
        **({"intruders": intruders} if intruders else {}),
        "minimum_count": MINIMUM_COUNT,
        "earlier_runs": run.study.release.disclosure.earlier,
        **({"own_weights": own} if (own := own_weights(run, schemes)) else {}),
        "fits": {scheme: _fit(tables["summary"], scheme) for scheme in schemes},
        "verdicts": verdict_records(run.verdicts, schemes, view),
        "measures": [
            row for name, rows in few.items() for row in _measures(tables[name][~rows], view)
        ],
        "withheld": sum(len(withheld[name]) + int(rows.sum()) for name, rows in few.items()),
        "versions": dict(run.manifest["versions"]),
        "run_manifest_sha256": source,
    }


def own_weights(run: FinishedRun, schemes: Sequence[str]) -> list[dict[str, str]]:
    """Of schemes whose weights are the agency's own: where they come from, who made them, what they
    depend on as stated, and SHA-256 of their file, where it is not the data's.
    """
    stated, digest = run.study.weights, run.manifest["files"].get(OWN_WEIGHTS)
    return [
        {
            "scheme": scheme,
            "source": source,
            "made_by": stated.made_by or "not stated",
            "depends": stated.depends or "not stated",
            **({"sha256": digest} if digest is not None and source.startswith("column") else {}),
        }
        for scheme in schemes
        if (source := source_of(scheme)) is not None
    ]


def _of_few_amounts(run: FinishedRun, schemes: Sequence[str]) -> list[str]:
    """Synthesized numbers with so few amounts in some released dataset that the data may have fewer
    than the minimum count.
    """
    scenario, few = run.study.evaluating_scenario(), []
    for name in run.study.variables:
        columns = [frame[name] for scheme in schemes for frame in run.synthetic[scheme]]
        if (
            scenario.is_numeric(columns[0])
            and min(scenario.statuses(column).is_amount.sum() for column in columns)
            < 2 * MINIMUM_COUNT
        ):
            few.append(name)
    return few


def _fit(summary: pd.DataFrame, scheme: str) -> dict[str, str]:
    """Whether the model suits the data and the chains agree, yes, warn or NO."""
    row = summary.set_index("label").loc[scheme]
    return {
        column.statistic.key: str(row[column.name])
        for column in FIT_COLUMNS
        if str(row[column.name]) in ("yes", "warn", "NO")
    }


def _measures(table: pd.DataFrame, view: View) -> Iterator[dict[str, Any]]:
    """A record a row, of what may be shown."""
    for statistic, row in zip(statistics_of(table), table.to_dict("records"), strict=True):
        about = {
            "variable": statistic.variable,
            "parameter": statistic.parameter,
            "term": statistic.term,
            "name": statistic.name,
        }
        yield {
            "label": str(row["label"]),
            "measure": statistic.key,
            **{name: value for name, value in about.items() if value is not None},
            **{
                name: view.show(statistic, row[name])
                for name in ("value", "lower", "upper")
                if name == "value" or pd.notna(row[name])
            },
            "higher_is": statistic.measure.direction,
            "definition": str(row["definition"]),
            "source": statistic.measure.source,
        }
