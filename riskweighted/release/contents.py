"""What a release pack holds and how each file of it is made: the same contents give the same
bytes.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from riskweighted.common.atomic import write_file
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.found import hide_found, is_found
from riskweighted.common.frames import with_columns
from riskweighted.common.numbers import exactly
from riskweighted.common.settings import to_table
from riskweighted.common.text import for_spreadsheet
from riskweighted.common.units import Units
from riskweighted.data.csv_layout import CsvLayout
from riskweighted.data.io import DatasetWriter, write_table
from riskweighted.data.variables import Variables
from riskweighted.evaluation.verdicts import overall
from riskweighted.release.analysis_code import (
    MEMBERS,
    UNITS,
    Linked,
    combining_code,
    find_analysis,
    kappa_of,
    render,
    special_codes,
)
from riskweighted.release.codebook import codebook, codebook_markdown, with_descriptions
from riskweighted.release.ddi import ddi_codebook
from riskweighted.release.methods import methods_facts
from riskweighted.release.record import disclosure_record, own_weights, record_schema
from riskweighted.release.released_datasets import restrict_levels
from riskweighted.reports.intruder_section import about_intruders, intruder_table
from riskweighted.reports.output_rules import outside
from riskweighted.reports.verdict_sentences import bounds_of, brief_sentence, verdict_records
from riskweighted.runs.file_order import numbered_columns
from riskweighted.runs.finished import FinishedRun
from riskweighted.runs.refusals import (
    Accepted,
    find_failing,
    find_unaccepted,
    identifying_columns,
    share_of_uniques,
)
from riskweighted.suggest.evidence import LEVELS
from riskweighted.weights.scheme_names import is_centred, stem_of

__all__ = [
    "PLAIN",
    "ROWS",
    "SIDECAR",
    "Contents",
    "Dataset",
    "dataset_files",
    "dataset_stem",
    "failing_schemes",
    "write_pack",
]

PLAIN = "plain"  # in the manifest, where csv files are not laid out as the data's
SIDECAR = "variables.toml"
_LABEL = "SYNTHETIC DATA"  # SAS keeps 40 characters of a label
_LONGEST_UNIT = 40
_NEW_NUMBERS = "new numbers"  # the status of such a column in the codebook
# in the manifest; packs that do not say so keep the order of the file
ROWS = "in one random order, the same in every dataset"


@dataclass(frozen=True)
class Contents:
    """What goes into a pack; the same for every file of it. ``datasets``: by scheme, as they leave
    (`leaving_datasets`); ``accepted_fail``: why schemes that do not pass leave all the same;
    ``plain_csv``: whether csv files are plain ones whatever the data's own file is.
    """

    run: FinishedRun
    datasets: Mapping[str, Sequence[pd.DataFrame]]
    schemes: tuple[str, ...]
    formats: tuple[str, ...]
    units: Mapping[str, str]
    report: Callable[[FinishedRun], str] | None
    accepted_fail: str = ""
    plain_csv: bool = False

    def __post_init__(self) -> None:
        # of a pack that is checked, by its manifest
        if why := find_unaccepted(self.run, None, self.schemes, Accepted(fail=self.accepted_fail)):
            raise InputError(why)
        long = [name for name, unit in self.units.items() if len(unit) > _LONGEST_UNIT]
        if long:
            raise InputError(
                f"the unit of {listing(long)} is longer than {_LONGEST_UNIT} characters"
            )

    @property
    def variables(self) -> tuple[str, ...]:
        """The synthesized ones."""
        return self.run.study.variables

    @cached_property
    def layout(self) -> CsvLayout:
        """How csv files are laid out: as that of the data."""
        return CsvLayout() if self.plain_csv else self.run.study.data.layout

    @cached_property
    def described(self) -> Variables | None:
        """What is said of the columns as they leave; None where the study names no file that says
        anything.
        """
        described = self.run.described
        return (
            None
            if described is None
            else described.as_released(self.datasets[self.schemes[0]][0], self.variables)
        )

    @cached_property
    def numbered(self) -> list[str]:
        """The unaltered columns that leave with new numbers, since theirs are in the order of the
        file.
        """
        return numbered_columns(self.run.study, self.run.synthetic[self.schemes[0]][0])

    @cached_property
    def frames(self) -> list[pd.DataFrame]:
        """The datasets of all schemes as the run holds them, with levels in an order that tells
        nothing of the data, and new numbers where they leave with such.
        """
        every = [self.run.synthetic[scheme] for scheme in self.schemes]
        described = self.run.described or Variables({})
        leaving = self.datasets[self.schemes[0]][0]
        anew = {name: leaving[name] for name in self.numbered}
        return [
            with_columns(frame, {name: of.set_axis(frame.index) for name, of in anew.items()})
            for each in every
            for frame in (restrict_levels(each, described) if isinstance(each, Datasets) else each)
        ]

    @cached_property
    def all_units(self) -> dict[str, str]:
        """The given units, and those that the file of variables states of the others."""
        stated = {
            name: variable.unit
            for name, variable in (self.described or {}).items()
            if variable.unit
        }
        return {**stated, **self.units}

    @cached_property
    def parts(self) -> dict[str, list[str]]:
        """The columns of each file of a dataset: all in one, or those of the unit and those of its
        members, both with the id.
        """
        units, study = self.run.study.units, self.run.study
        every = [str(name) for name in next(iter(self.datasets.values()))[0]]
        if study.release.layout == "long":
            return {"": every}
        assert units is not None
        of_unit = {*units.unit_level, *units.totals}
        return {
            UNITS: [name for name in every if name == units.id or name in of_unit],
            MEMBERS: [name for name in every if name not in of_unit],
        }

    def part(self, datasets: Sequence[pd.DataFrame], part: str) -> Sequence[pd.DataFrame]:
        """A file's columns of datasets; of units one row each."""
        if not part:
            return datasets
        units = self.run.study.units
        assert units is not None
        assert isinstance(datasets, Datasets)
        taken = datasets.only(self.parts[part])
        if part == MEMBERS:
            return taken
        first = ~taken.base[units.id].duplicated()
        return Datasets(
            taken.base[first].reset_index(drop=True),
            (
                {name: column[first.array].reset_index(drop=True) for name, column in each.items()}
                for each in taken.altered
            ),
        )

    def writer(self, scheme: str, part: str) -> DatasetWriter:
        """What writes a file of each dataset of a scheme, in every format."""
        datasets = self.part(self.datasets[scheme], part)
        return DatasetWriter(datasets, layout=self.layout, variables=self.described)

    def book(self) -> pd.DataFrame:
        """The codebook."""
        run, datasets = self.run, self.frames
        stated, is_number = run.study.data.kinds, run.study.scenario.is_numeric
        levels = [
            name
            for name in self.variables
            if stated.get(name) == LEVELS or not is_number(datasets[0][name])
        ]
        drawn = run.study.altered
        book = codebook(datasets, drawn, self.all_units, special_codes(run), levels)
        book.loc[
            book["variable"].isin([for_spreadsheet(name) for name in self.numbered]), "status"
        ] = _NEW_NUMBERS
        if run.study.units is not None:
            totals = [for_spreadsheet(name) for name in run.study.units.totals]
            book.loc[book["variable"].isin(totals), "status"] = "computed"
            said = [_in_units(run.study.units, name) for name in datasets[0]]
            book = with_columns(book, {"in units": said})
        # as they were rounded
        return book.assign(
            precision=[run.manifest["precision"].get(name, "") for name in book["variable"]]
        )

    def facts(self) -> dict[str, object]:
        """What several pages say."""
        return {
            "variables": self.variables,
            "schemes": self.schemes,
            "count": self.run.study.release.L,
            "records": f"{self.run.manifest['input']['records']:,}",
            "where": self.run.study.data.where,
            "two_files": UNITS in self.parts,
            "demonstration": self.run.study.reproducible,
            "kappas": {
                scheme: self._kappa(scheme) for scheme in self.schemes if is_centred(scheme)
            },
        }

    def _kappa(self, scheme: str) -> str:
        """What is stated of the centred weights of a scheme; nothing where it is not known."""
        kappa = kappa_of(self.run, scheme)
        return "" if kappa is None else f"{kappa:.12g}"


def _in_units(units: Units, name: object) -> str:
    """What a column is to the units, as the codebook says it."""
    if name == units.id:
        return "names the unit: records of one value belong together"
    if name == units.role:
        return f"role; every unit has {units.first!r} once, listed first"
    if name == units.time:
        return "time: orders the records of a unit"
    if name in units.totals:
        ((kind, of),) = units.totals[str(name)].items()
        return f"the same for all of a unit: {'sum of ' if kind == 'sum' else 'members with '}{of}"
    if name in units.unit_level:
        return "the same for all of a unit"
    steps = units.rules.get("steps", {})
    if name in steps:
        return f"of each record; goes up by {steps[name]:g} per unit of time"
    gaps = [
        f"; less that of {gap['from']}: {gap.get('least', 'any')} to {gap.get('most', 'any')}"
        + (f" where {gap['where']}" if "where" in gap else "")
        for gap in units.rules.get("gaps", ())
        if gap["of"] == name
    ]
    return f"of each record{''.join(gaps)}"


def dataset_stem(scheme: str, place: int, count: int) -> str:
    """The name of a dataset in the pack, one of so many, without its ending."""
    scheme = stem_of(scheme)
    return f"data/{scheme}/synthetic_{scheme}_{place + 1:0{len(str(count))}d}"


def write_pack(contents: Contents, folder: Path, hashes: Mapping[str, str] | None = None) -> None:
    """Every file of the pack; the manifest last. `hashes`: SHA-256 by name of datasets that are
    elsewhere, as they would be written.
    """
    hashes = dict(hashes or {})
    files = {
        scheme: _write_datasets(contents, scheme, folder, hashes) for scheme in contents.schemes
    }
    run, first, facts = contents.run, contents.schemes[0], contents.facts()
    datasets, described = contents.frames, contents.described
    book = contents.book()
    if described is not None:
        book = with_descriptions(book, list(map(str, datasets[0])), described)
        described.write(folder / SIDECAR)
    write_table(book, folder / "codebook.csv")
    write_file(
        folder / "codebook.md",
        f"# Codebook\n\nSYNTHETIC DATA: see the column 'status'.\n\n{codebook_markdown(book)}",
    )
    leaving = contents.datasets[first]
    shown = {part: contents.part(leaving[:1], part)[0] for part in contents.parts}
    every = {
        file.name: shown[file.part]
        for scheme in contents.schemes
        for kind in contents.formats
        for file in files[scheme][kind]
    }
    made_by = run.manifest["versions"]["riskweighted"]
    public = {
        name: () if is_found(stated) else stated for name, stated in special_codes(run).items()
    }
    write_file(
        folder / "codebook.xml",
        ddi_codebook(datasets, book, every, public, f"riskweighted {made_by}", described),
    )
    codes = _write_combining(contents, first, files[first], folder)
    if contents.report is not None:
        write_file(folder / "report.html", contents.report(run))
    unaltered = [
        str(name) for name in datasets[0] if name not in (*run.study.altered, *contents.numbered)
    ]
    identifying = identifying_columns(datasets[0], run.study.altered)
    source = file_hash(run.folder / "manifest.json")
    # what an intruder has who knows all unaltered columns
    share, most = share_of_uniques(run), run.study.release.unique_share
    facts |= {
        "uniques": f"{100 * share:.1f} %",
        "most_uniques": f"{100 * most:g} %",
        "accepted": share > most,
    }
    stated = run.study.release
    facts |= {
        "unshuffled": stated.unshuffled_reason,
        "of_units": run.study.units,
        "linked": run.study.linking_column is not None,
        "hidden": stated.hidden,
    }
    facts |= {
        "together": run.study.linking_column in [*unaltered, *contents.numbered],
        "numbered": contents.numbered,
    }
    facts |= {"derived": stated.derived, "own_weights": own_weights(run, contents.schemes)}
    view, policy = outside(run.manifest["input"]["records"]), to_table(stated.disclosure)
    judged = {
        scheme: (overall(run.verdicts, scheme), brief_sentence(run.verdicts, scheme, view))
        for scheme in contents.schemes
    }
    facts |= {
        "by_intruder": intruder_table(run, view, contents.schemes).to_dict("records"),
        "about_intruders": about_intruders(run.study),
    }
    limits = "; ".join(f"{limit.name} {bounds_of(limit)}" for limit in run.study.thresholds.limits)
    told = ", ".join(
        f"{name} {exactly(value)}"
        for name, value in policy.items()
        if name not in ("accept", "earlier")
    )
    facts |= {
        "judged": judged,
        "policy": told,
        "earlier": stated.disclosure.earlier,
        "limits": limits,
    }
    facts |= {
        "described": SIDECAR if described is not None else "",
        "layout": csv_in_words(contents.layout, contents.formats),
    }
    facts |= {
        "unaltered": unaltered,
        "failing": failing_schemes(run, contents.schemes),
        "accepted_fail": contents.accepted_fail,
    }
    _write_json(folder / "disclosure_record.json", disclosure_record(run, contents.schemes, source))
    _write_json(folder / "disclosure_record.schema.json", record_schema())
    write_file(
        folder / "sign_off.md",
        render("sign_off.md", **facts, own=identifying, run=source, version=made_by),
    )
    write_file(
        folder / "README.md",
        render("README.md", **facts, codes=codes, report=contents.report is not None, label=_LABEL),
    )
    write_file(
        folder / "methods.md",
        render("methods.md", **facts, **methods_facts(run, contents.schemes), version=made_by),
    )
    _write_manifest(contents, source, folder, hashes)


def failing_schemes(run: FinishedRun, schemes: Sequence[str]) -> dict[str, str]:
    """The schemes that do not keep to the thresholds, whose model misfits, or that a limit could
    not judge; and why, as it may be said outside.
    """
    view = outside(run.manifest["input"]["records"])
    return {
        scheme: brief_sentence(run.verdicts, scheme, view) for scheme in find_failing(run, schemes)
    }


class Dataset(NamedTuple):
    """One file of a dataset: its format, its name in the pack, which of the scheme's datasets it
    is, from 0, its label, and which of the parts of a dataset it holds, where there are two.
    """

    format: str
    name: str
    number: int
    label: str
    part: str


def dataset_files(contents: Contents, scheme: str) -> Iterator[Dataset]:
    """The files of the datasets of a scheme, in every format."""
    count = contents.run.study.release.L
    for number in range(count):
        stem, label = dataset_stem(scheme, number, count), f"{_LABEL} {number + 1} of {count}"
        for kind in contents.formats:
            for part in contents.parts:
                name = f"{stem}{'_' * bool(part)}{part}.{kind}"
                yield Dataset(kind, name, number, label, part)


def _write_datasets(
    contents: Contents, scheme: str, folder: Path, hashes: Mapping[str, str]
) -> dict[str, list[Dataset]]:
    """The datasets of a scheme in every format, but those that are elsewhere; their files by
    format.
    """
    files: dict[str, list[Dataset]] = {name: [] for name in contents.formats}
    writer = cache(partial(contents.writer, scheme))
    for file in dataset_files(contents, scheme):
        files[file.format].append(file)
        if file.name not in hashes:
            writer(file.part).write(file.number, folder / file.name, label=file.label)
    runnable = _runnable_columns(contents.datasets[scheme][0])
    write_file(
        folder / "data" / stem_of(scheme) / "README.txt",
        render("data_README.txt", **contents.facts(), scheme=scheme, run_as=runnable),
    )
    return files


def _linked(contents: Contents) -> Linked | None:
    """What code that reads two files of a dataset joins them by."""
    units = contents.run.study.units
    if UNITS not in contents.parts:
        return None
    assert units is not None
    return Linked(units.id, contents.parts[UNITS], contents.parts[MEMBERS])


def csv_in_words(layout: CsvLayout, formats: Sequence[str]) -> str:
    """How csv files are laid out, where they are not plain ones; empty where they are, or there are
    none.
    """
    if "csv" not in formats or layout.is_plain:
        return ""
    between = {"\t": "a tab"}.get(layout.delimiter, f"{layout.delimiter!r}")
    return (
        f"The csv files have {between} between columns, {layout.decimal!r} before decimals, and "
        f"are in {layout.encoding}."
    )


def _runnable_columns(frame: pd.DataFrame) -> list[str]:
    """The columns, by name or by a cell, that a spreadsheet would take for a formula."""
    texts = {
        str(name): [str(name), *(text for text in frame[name].unique() if isinstance(text, str))]
        for name in frame
    }
    return [
        name
        for name, cells in texts.items()
        if any(for_spreadsheet(cell) != cell for cell in cells)
    ]


def _write_combining(
    contents: Contents, scheme: str, files: dict[str, list[Dataset]], folder: Path
) -> bool:
    """The page on combining, and its code in files of their own; whether there is any."""
    facts = contents.facts()
    analysis = find_analysis(contents.run, scheme)
    if analysis is None:
        write_file(
            folder / "how_to_combine.md", render("how_to_combine.md", **facts, analysis=None)
        )
        return False
    codes, missing = combining_code(
        analysis,
        contents.run.synthetic[scheme][0],
        {kind: [file.name for file in each if file.part != UNITS] for kind, each in files.items()},
        contents.layout,
        contents.described is not None,
        of_units=_linked(contents),
    )
    for name, code in codes.values():
        write_file(folder / name, code)
    longest = max(
        (len(ticks) for _, code in codes.values() for ticks in re.findall("`+", code)), default=0
    )
    page = render(
        "how_to_combine.md",
        **facts,
        analysis=analysis,
        what=analysis.what,
        predictors=analysis.predictors,
        scheme=scheme,
        published=[exactly(float(f"{value:.5g}")) for value in analysis.published],
        percent=f"{100 * analysis.level:g}",
        codes=[(language, name, code) for language, (name, code) in codes.items()],
        missing=list(missing.items()),
        fence="`" * max(3, longest + 1),
    )
    write_file(folder / "how_to_combine.md", page)
    return bool(codes)


def _columns(names: Sequence[str]) -> str:
    """The subject of a sentence."""
    return f"the column {names[0]} is" if len(names) == 1 else f"the columns {', '.join(names)} are"


def _write_manifest(
    contents: Contents, source: str, folder: Path, hashes: Mapping[str, str]
) -> None:
    """SHA-256 of every other file, versions and settings; of the confidential data the file's name
    only.
    """
    settings = hide_found(json.loads(json.dumps(contents.run.manifest["settings"])))
    # which `init` finds in the data, and which name levels and codes
    for rules in ("implied", "sums"):
        settings.get("synthesizer", {}).pop(rules, None)
    if settings.get("units"):
        settings["units"].pop("coarsen", None)  # which names levels that nobody has any more
    for name in ("path", "variables"):
        if settings["data"].get(name) is not None:
            settings["data"][name] = re.split(r"[/\\]", settings["data"][name])[-1]
    files = {
        path.relative_to(folder): file_hash(path) for path in folder.rglob("*") if path.is_file()
    }
    files |= {Path(name): digest for name, digest in hashes.items()}
    manifest = {
        "what": f"{_LABEL}: {_columns(contents.variables)} drawn from a model",
        "schemes": list(contents.schemes),
        "formats": list(contents.formats),
        "units": dict(contents.units),
        "accepted_fail": contents.accepted_fail,
        **({"csv": PLAIN} if contents.plain_csv else {}),
        "precision": contents.run.manifest["precision"],
        "synthesized": list(contents.variables),
        "datasets_per_scheme": contents.run.study.release.L,
        "rows": ROWS,
        "records": contents.run.manifest["input"]["records"],
        "verdicts": verdict_records(
            contents.run.verdicts,
            contents.schemes,
            outside(contents.run.manifest["input"]["records"]),
        ),
        "settings": settings,
        "versions": contents.run.manifest["versions"],
        "run_manifest_sha256": source,
        "files": {path.as_posix(): files[path] for path in sorted(files)},
    }
    _write_json(folder / "manifest.json", manifest)


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    write_file(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
