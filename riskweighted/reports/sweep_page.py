"""A finished sweep as an HTML page, for the agency alone: the best settings; risk, disclosure and
cost along each; what runs one of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.frames import with_columns
from riskweighted.common.numbers import format_columns
from riskweighted.common.text import plain
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic
from riskweighted.evaluation.verdicts import FAIL, LEAVES, PASS, REFUSE
from riskweighted.measures import (
    cross_tables,
    disclosure_measures,
    distributions,
    expected_measures,
)
from riskweighted.plots.sweep_plot import plot_sweep
from riskweighted.reports.glossary import Glossary
from riskweighted.reports.page_blocks import Answer, Figure, Group, Judged, Section, make_table
from riskweighted.reports.render import Report, make_page
from riskweighted.reports.sweep_table import at_settings, setting_names, settings_table
from riskweighted.reports.wording import capital, in_words
from riskweighted.runs.study import Study, read_study
from riskweighted.sweeps.settings_grid import SCHEMES
from riskweighted.sweeps.sweep import SweepResult

__all__ = ["sweep_report"]

_SHOWN = 8  # settings in the answer
_MEASURES = (
    disclosure_measures.MEAN,
    disclosure_measures.ISOLATED,
    expected_measures.MEAN,
    expected_measures.ISOLATED,
    distributions.U_M,
    distributions.TOTAL_VARIATION,
    cross_tables.DISTANCE,
)


class _Sweep(NamedTuple):
    """A finished sweep with what its manifest says; ``settings``: of the grid, but the schemes."""

    result: SweepResult
    manifest: Mapping[str, Any]
    study: Study
    settings: tuple[str, ...]
    table: pd.DataFrame  # `settings_table`


def sweep_report(folder: Path) -> Report:
    """The page of the sweep in a folder, and its figures."""
    swept = _read(folder)
    glossary = Glossary(swept.study.evaluating_scenario())
    sections = (_along(swept, glossary), _settings(swept), _about(swept))
    page = make_page(
        f"Settings of a study of {', '.join(swept.study.variables)}",
        "Sweep, for the agency alone: figures are as they are.",
        _answer(swept),
        sections,
        glossary,
        internal=True,
    )
    return Report(page, sections)


def _read(folder: Path) -> _Sweep:
    """The tables of a sweep, refused where one is not what was written."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    names = ("results.parquet", "disclosure_verdicts.csv", "fit_check.csv")
    for name in names:
        path = folder / name
        if not path.is_file() or file_hash(path) != manifest["files"].get(name):
            raise InputError(f"{str(path)!r} is not the file that the sweep wrote: run it again")
    results, told, checks = (
        pd.read_parquet(folder / name) if name.endswith("parquet") else _csv(folder / name)
        for name in names
    )
    failures = folder / "failures.csv"
    result = SweepResult(
        folder, results, _csv(failures) if failures.is_file() else pd.DataFrame(), told, checks
    )
    study = read_study(manifest["settings"])
    schemes = manifest["grid"].get(SCHEMES, study.weights.schemes)
    table = settings_table(result, schemes, study.thresholds, study.release.hidden)
    settings = tuple(name for name in manifest["grid"] if name not in (SCHEMES, "seed"))
    return _Sweep(result, manifest, study, settings, table)


def _csv(path: Path) -> pd.DataFrame:
    """A table of which empty cells of text are empty texts."""
    table = pd.read_csv(path)
    texts = table.select_dtypes(exclude="number").columns
    return with_columns(table, {name: table[name].fillna("") for name in texts})


def _answer(swept: _Sweep) -> Answer:
    """The first settings with their verdicts, and how to run the best one."""
    table, states = swept.table, {PASS: "pass", REFUSE: "fail", FAIL: "fail"}
    shown = table.head(_SHOWN)
    judged = tuple(
        Judged(
            plain(row.setting),
            capital(row.verdict),
            states.get(row.verdict, ""),
            plain(capital(row.why)),
        )
        for row in shown.itertuples()
    )
    leaving = int(table["verdict"].isin(LEAVES).sum())
    best = "; the first is the best of them, by risk and then by loss." if leaving else "."
    told = [f"{leaving} of {len(table)} settings may be released by the study's limits{best}"]
    if len(table) > _SHOWN:
        told.append(f"The other {len(table) - _SHOWN} are in the table below.")
    failed = len(swept.result.failures)
    alarms = (f"{failed} cells failed: failures.csv says where and why.",) if failed else ()
    return Answer(
        "Setting",
        alarms,
        judged,
        "",
        _following(swept),
        tuple(told),
        (),
        (),
        question="Which setting?",
    )


def _following(swept: _Sweep) -> str:
    """What runs the best setting."""
    if not len(swept.table):
        return "no setting has a result: failures.csv says why"
    best = _best(swept)
    changed = [f"{name} = {json.dumps(_value(best[name]))}" for name in swept.settings]
    schemes = json.dumps(list(dict.fromkeys(["unweighted", str(best["label"])])))
    return (
        f"in the study file {'; '.join([*changed, f'weights.schemes = {schemes}'])}; then "
        "riskweighted run STUDY.toml"
    )


def _value(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _best(swept: _Sweep) -> pd.Series:
    """A row of the results at the setting and scheme that stand first."""
    results = swept.result.results
    rows = at_settings(results, setting_names(results))
    return rows[rows["at"] + rows["label"] == swept.table["setting"].iloc[0]].iloc[0]


def _along(swept: _Sweep, glossary: Glossary) -> Section:
    """A figure a measure along every setting of numbers, the other settings being the best ones."""
    figures = tuple(_figures(swept, glossary)) if len(swept.table) else ()
    text = (
        "Each figure varies one setting; the others are those of the setting listed first."
        if figures
        else "No setting of numbers has several values."
    )
    groups = tuple(
        Group(
            f"along-{place}",
            f"Along {name}",
            tuple(each for of, each in figures if of == name),
            unfolded=place == 0,
        )
        for place, name in enumerate(dict.fromkeys(of for of, _ in figures))
    )
    return Section("along", "Risk, disclosure and cost along the settings", (text,), groups)


def _figures(swept: _Sweep, glossary: Glossary) -> Iterator[tuple[str, Figure]]:
    results, best = swept.result.results, _best(swept)
    for name in swept.settings:
        if not pd.api.types.is_numeric_dtype(results[name]) or results[name].nunique() < 2:
            continue
        rows = results
        for other in swept.settings:
            rows = rows if other == name else rows[rows[other] == best[other]]
        for measure in _MEASURES:
            # the data themselves lie far above every scheme
            shown = rows["value"].notna() & (rows["label"] != CONFIDENTIAL)
            of = rows[(rows["key"] == measure.key) & shown]
            for variable, each in of.groupby(of["variable"].fillna(""), sort=False):
                one = each.drop_duplicates([name, "label", "repetition"])
                if one[name].nunique() > 1:
                    yield (
                        name,
                        _figure(name, one, Statistic(measure.key, variable or None), glossary),
                    )


def _figure(setting: str, rows: pd.DataFrame, statistic: Statistic, glossary: Glossary) -> Figure:
    words = plain(capital(in_words(statistic)))
    axes = plot_sweep(rows.assign(measure=words), setting, words)
    means = rows.groupby(["label", setting], sort=False)["value"].mean().unstack(setting)
    key = f"{setting}-{statistic.key}-{statistic.variable or 'all'}".replace(".", "-")
    shown = format_columns(means.rename_axis(columns=None).reset_index(), missing="n/a")
    term = glossary.of(statistic, statistic.define())
    alternative = f"{words} along {setting}, a line for each scheme: " + "; ".join(
        f"{label} from {values.iloc[0]:.3g} to {values.iloc[-1]:.3g}"
        for label, values in means.iterrows()
    )
    table = make_table(f"{key}-table", f"{words} along {setting}", shown)
    return Figure(key, words, axes, plain(alternative), (table,), (term,))


def _settings(swept: _Sweep) -> Section:
    table = format_columns(swept.table, missing="n/a").rename(columns=capital)
    return Section(
        "settings",
        "Every setting with each scheme",
        ("Those that a release would take first; verdicts are the worst over repetitions.",),
        (make_table("all-settings", "Means over repetitions, and verdicts", table),),
    )


def _about(swept: _Sweep) -> Section:
    manifest = swept.manifest
    facts: Sequence[tuple[str, object]] = [
        *((name, ", ".join(map(str, values))) for name, values in manifest["grid"].items()),
        ("repetitions", manifest["repetitions"]),
        *((f"data {each['name']}", each["fingerprint"]) for each in manifest["data"]),
        *manifest["versions"].items(),
    ]
    table = pd.DataFrame(facts, columns=["What", "Value"]).astype(str)
    return Section(
        "about", "About this sweep", (), (make_table("grid", "Grid, data, versions", table),)
    )
