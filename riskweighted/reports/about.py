"""What the run was, and its main table."""

import json

import numpy as np
import pandas as pd

from riskweighted.common.fingerprints import file_hash
from riskweighted.common.found import hide_found
from riskweighted.common.numbers import exactly, together
from riskweighted.common.settings import flat
from riskweighted.common.survey_weights import survey_weights
from riskweighted.common.text import plain
from riskweighted.evaluation.main_table import SummaryColumn
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.measures import expected_measures
from riskweighted.reports.glossary import ball_rule, codes_in_words
from riskweighted.reports.intruder_section import about_intruders
from riskweighted.reports.output_rules import withheld_note
from riskweighted.reports.page_blocks import Column, DataTable, Group, Section, Term, make_table
from riskweighted.reports.source import Source
from riskweighted.reports.summary_table import summary_table
from riskweighted.reports.wording import main_columns, main_table, symbol_of
from riskweighted.runs.guarantee_checks import guarantee_statement

__all__ = ["about_section", "main_section"]


def about_section(source: Source) -> Section:
    """Settings, scenario, versions and hashes, and what was left out."""
    run, view = source.run, source.view
    study, scenario = run.study, run.study.evaluating_scenario()
    known, released = ", ".join(scenario.known) or "nothing", study.scenario.known
    unaltered = ", ".join(dict.fromkeys([*released, *study.release.columns])) or "no variable"
    those = (
        ""
        if study.data.where is None
        else f", those with {study.data.where}: no other record of the file is released"
    )
    paragraphs = [
        f"{view.records:,} records{those}. {_replaced(source)} ({study.synthesizer.name}), "
        f"{study.release.L} synthetic datasets for each "
        f"weighting scheme. Also released, unaltered: {unaltered}; nothing else is.",
        f"The intruder is taken to know {known} of a record, and to look for its "
        f"{', '.join(scenario.synthetic)}. "
        f"{ball_rule(scenario, view.internal)}",
        *filter(None, [about_intruders(study)]),
        "Weights below 1 limit how much one record's value can move the model: under half weights "
        "its information is about half. They do not lower how often a value is guessed beyond "
        "what it would be without the record (D): over all records D stays or rises.",
        *_gained(source),
    ]
    if study.reproducible:
        paragraphs.append(
            "The run is reproducible: its seed alone makes the noise of its datasets, so they "
            "are for study and not for release."
        )
    if (fitted := run.manifest["input"].get("fitted")) is not None:
        paragraphs.append(
            f"The models are fitted to {fitted:,} of the {run.total:,} records, the same share of "
            "every known pattern at random, and draw for all; measures are of all records, "
            "disclosure of whole released patterns taken at random (METHODS section 17)."
        )
    paragraphs += [*_survey(source), *_chosen(source), *guarantee_statement(source.run.study)]
    if not view.internal:
        m = view.minimum_count
        paragraphs.append(
            "This report may be released: it shows no record. Extremes are left out; counts of "
            "records among the measures are rounded to "
            f"multiples of {m}, and below {m} only that is said; every bin of a figure holds at "
            f"least {m} confidential records; quantiles "
            f"have 3 significant digits, or fewer until {m} confidential records round to the "
            "same number."
        )
    stated = run.manifest["settings"] if view.internal else hide_found(run.manifest["settings"])
    given = ((name, value) for name, value in flat(stated) if value is not None and value != [])
    told = [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in given
    ]
    if not view.internal:  # rules that `init` finds in the data name levels and codes
        told = [
            (name, value)
            for name, value in told
            if not name.startswith(("synthesizer.implied", "synthesizer.sums"))
        ]
    settings = pd.DataFrame(told, columns=["Setting", "Value"])
    versions = pd.DataFrame(run.manifest["versions"].items(), columns=["Software", "Version"])
    hashes = {"run manifest": file_hash(run.folder / "manifest.json")}
    if view.internal:
        hashes["confidential data file"] = (
            run.manifest["input"].get("sha256") or "embedded data, no file"
        )
        hashes |= {
            name: digest
            for name, digest in run.manifest["files"].items()
            if name.startswith("tables/")
        }
    paragraphs = [plain(text) for text in paragraphs]
    tables = (
        make_table("settings", "Settings of the run", settings),
        make_table("versions", "Versions", versions),
        make_table("hashes", "SHA-256", pd.DataFrame(hashes.items(), columns=["File", "SHA-256"])),
    )
    blocks = (Group("made", "Settings, versions and hashes", tables),)
    return Section("about", "How it was made", tuple(paragraphs), (*_described(source), *blocks))


def _described(source: Source) -> tuple[Group, ...]:
    """What the file of the survey says of the variables that are released, where the study names
    one that says anything.
    """
    if source.run.described is None:
        return ()
    released = source.run.described.as_released(
        source.run.synthetic[source.run.schemes[0]][0], source.variables
    )
    told = {
        name: {**variable.in_words(), "unit": variable.unit, "source": variable.source}
        for name, variable in released.items()
    }
    table = pd.DataFrame.from_dict(told, orient="index").rename(
        columns=lambda name: name.capitalize()
    )
    shown = make_table("variables", "Variables", table.rename_axis("Variable").reset_index())
    return (Group("described", "What the survey says of its variables", (shown,)),)


def _replaced(source: Source) -> str:
    """Which variables were replaced, and how."""
    first, *others = source.variables
    if not others:
        return f"The variable {first} was replaced by draws from a model"
    codes = codes_in_words(
        {name: source.codes(name) for name in source.variables}, source.view.internal
    )
    apart = (
        f"Missing values and special codes ({codes}) are no amounts; they are drawn too, and "
        "shown apart. "
        if codes
        else ""
    )
    return (
        f"{apart}The variables {', '.join(source.variables)} were replaced by draws from models, "
        "one after the other"
    )


def _gained(source: Source) -> list[str]:
    """What the weights did to the risk of isolated records, as far as their figures tell it beyond
    chance.
    """
    statistic, baseline = Statistic(expected_measures.ISOLATED.key), source.baseline
    labels = [label for label in source.run.schemes if label != baseline]
    values, errors = (
        by_label(source.run.tables["risk"], statistic, name) for name in ("value", "error")
    )
    few = not source.view.internal and source.view.few(statistic)
    if baseline is None or not labels or few or values.reindex([baseline, *labels]).isna().any():
        return []
    shown = dict(
        zip(
            [baseline, *labels],
            source.by_label(statistic, [baseline, *labels], errors=True),
            strict=True,
        )
    )
    told = ", ".join(
        f"{label} {shown[label]} ({_moved(values, errors, label, baseline)})" for label in labels
    )
    return [f"Expected risk of isolated records, {shown[baseline]} when {baseline}: {told}."]


def _moved(values: pd.Series, errors: pd.Series, label: str, baseline: str) -> str:
    """Whether a figure is lower or higher than that of the baseline, by more than two Monte Carlo
    errors of the difference as they stand beside it outside, rounded up.
    """
    off = 2 * np.hypot(*(np.ceil(1000 * errors[[label, baseline]].fillna(np.inf)) / 1000))
    moved = values[label] - values[baseline]
    return "lower" if moved < -off else "higher" if moved > off else "no difference beyond chance"


def _survey(source: Source) -> list[str]:
    """Where survey weights act, and inside the agency the least and the largest power of a record's
    likelihood.
    """
    column = source.run.study.weights.survey
    if column is None:
        return []
    told = (
        f"The survey weights {column}, normalised to sum n, multiply the weights of every scheme "
        "in the likelihood (METHODS section 12)."
    )
    if not source.view.internal:
        return [told]
    survey = survey_weights(source.confidential, column).to_numpy()
    products = {
        str(scheme): alpha.to_numpy(dtype=float) * survey
        for scheme, alpha in source.weights.items()
    }
    ends = {scheme: together(product.min(), product.max()) for scheme, product in products.items()}
    ranges = "; ".join(f"{scheme} {least} to {most}" for scheme, (least, most) in ends.items())
    return [f"{told} Their products run from the least to the largest: {ranges}."]


def _chosen(source: Source) -> list[str]:
    """That a scheme was chosen by looking at the data, where it was."""
    tuning = source.run.manifest.get("tuning")
    if not tuning:
        return []
    asked = {tuning["target"]: tuning["target_max"], **tuning.get("constraints", {})}
    limits = " and ".join(
        f"its {name} is at most {exactly(at_most)}" for name, at_most in asked.items()
    )
    return [
        f"The scheme {tuning['scheme']} was sought so that {limits} (METHODS section 11). The "
        "choice looked at the data: it lies outside "
        "any epsilon."
    ]


def main_section(source: Source) -> Section:
    """A row per measure that some label has, a column per label."""
    exact, values = summary_table(source.run), main_table(source.run)
    rows: list[tuple[str, ...]] = []
    terms: list[Term | None] = []
    symbols: list[str] = []
    for column, (title, _, _) in zip(main_columns(source.run), exact.rows, strict=True):
        if values[column.name].isna().all():
            continue
        shown = (
            source.view.overlaps(values[column.name])
            if column.overlap
            else _with_errors(source, column, values[column.name])
        )
        symbols.append("" if column.overlap else symbol_of(column.statistic))
        # the symbol stands small beside
        rows.append((title.replace(f", {symbols[-1]}", "", 1) if symbols[-1] else title, *shown))
        terms.append(source.glossary.summary(column))
    columns = (Column("Measure"), *map(Column, exact.columns))
    note = withheld_note(source.withheld.get("summary", ()))
    table = DataTable(
        "main", exact.caption, columns, tuple(rows), tuple(terms), note, tuple(symbols)
    )
    text = (
        "One column per scheme; the confidential data come first, as the yardstick. The Monte "
        "Carlo error follows the sign ±."
    )
    return Section("overview", "Main table", (text,), (table,))


def _with_errors(source: Source, column: SummaryColumn, values: pd.Series) -> list[str]:
    """Values by label with their Monte Carlo errors, where they have any."""
    errors = by_label(source.run.tables["risk"], column.statistic, "error").reindex(values.index)
    return source.view.row(column.statistic, values, errors)
