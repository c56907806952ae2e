"""What the run was, and its main table."""

import json
from collections.abc import Iterator

import pandas as pd

from riskweighted.common.fingerprints import file_hash
from riskweighted.common.text import plain
from riskweighted.evaluation.labels import CONFIDENTIAL
from riskweighted.reports.blocks import Column, DataTable, Section, Term, make_table
from riskweighted.reports.disclosure import MISSING, number
from riskweighted.reports.glossary import ball_rule
from riskweighted.reports.source import Source
from riskweighted.reports.summary import summary_table

__all__ = ["about_section", "main_section"]


def about_section(source: Source) -> Section:
    """Settings, scenario, versions, seed and hashes, and what was left out."""
    run, view = source.run, source.view
    study, scenario = run.study, run.study.evaluating_scenario()
    known = ", ".join(scenario.known) or "nothing"
    paragraphs = [
        f"{view.records} records. The variable {source.target} was replaced by draws from a model ({study.synthesizer.name}), "
        f"{study.release.L} synthetic datasets for each weighting scheme; all other variables are unaltered.",
        f"The intruder is taken to know {known} of a record, and to look for its {', '.join(scenario.synthetic)}. {ball_rule(scenario)}",
        "A scheme with weights below 1 tells the model less about records that stand out. What it gains is lower risk of these "
        "records; what it costs is utility.",
    ]
    if not view.internal:
        m = view.minimum_count
        paragraphs.append(
            f"This report may be released: it shows no record. Extremes are left out; counts of records are rounded to multiples "
            f"of {m}, and below {m} only that is said; every bin of a figure holds at least {m} confidential records; quantiles "
            f"have 3 significant digits, or fewer until {m} confidential records round to the same number."
        )
    settings = pd.DataFrame(_flat(run.manifest["settings"]), columns=["Setting", "Value"])
    versions = pd.DataFrame(run.manifest["versions"].items(), columns=["Software", "Version"])
    hashes = {"run manifest": file_hash(run.folder / "manifest.json")}
    if view.internal:
        hashes["confidential data file"] = run.manifest["input"].get("sha256") or "embedded data, no file"
        hashes |= {name: digest for name, digest in run.manifest["files"].items() if name.startswith("tables/")}
    blocks = (
        make_table("settings", "Settings of the run, with the seed", settings),
        make_table("versions", "Versions", versions),
        make_table("hashes", "SHA-256", pd.DataFrame(hashes.items(), columns=["File", "SHA-256"])),
    )
    return Section("about", "What this is", tuple(map(plain, paragraphs)), blocks)


def _flat(settings: dict[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as (name with dots, value)."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        elif value is not None and value != []:
            yield f"{above}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def main_section(source: Source) -> Section:
    """A row per measure, a column per label."""
    run, view = source.run, source.view
    exact = summary_table(run)
    summary = run.tables["summary"].set_index("label")
    rows: list[tuple[str, ...]] = []
    terms: list[Term | None] = []
    for name, (title, cells, definition) in zip(summary, exact.rows, strict=True):
        if view.shows(str(name)):
            shown = (
                tuple(MISSING if cell == "-" else cell for cell in cells)
                if view.internal
                else tuple(_cell(source, str(name), value) for value in summary[name])
            )
            rows.append((title, *shown))
            terms.append(source.glossary.summary(str(name), definition))
    columns = (Column("Measure"), *map(Column, exact.columns))
    table = DataTable("main", exact.caption, columns, tuple(rows), tuple(terms))
    text = "One column per way to synthesize; the confidential data itself stands first, as the yardstick."
    return Section("main", "Main table", (text,), (table,))


def _cell(source: Source, name: str, value: object) -> str:
    """A cell of the main table in the releasable report."""
    view, run = source.view, source.run
    if isinstance(value, str) or pd.isna(value):  # type: ignore[call-overload]
        return number(value)
    figure = float(value)  # type: ignore[arg-type]
    if name in set(run.tables["risk"]["measure"]):
        return view.risk(name, figure)
    if name.endswith(": overlap"):
        return view.overlap(figure)
    if name in ("mean weight", "largest R-hat"):
        return f"{figure:.3f}"
    keys = run.tables["utility"].loc[run.tables["utility"]["label"] != CONFIDENTIAL, ["variable", "measure"]].drop_duplicates()
    variable, measure = next((v, m) for v, m in keys.itertuples(index=False, name=None) if f"{m} of {v}" == name)
    return view.estimate(variable, measure, figure)
