"""The pack that may leave: synthetic datasets, codebook, how to combine them, report, manifest, sign-off sheet.

It is written to a private working folder, read again by `riskweighted.release.leak_check`, and put in its place only if nothing was found.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from riskweighted.common.atomic import write_file
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.folders import opened
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import write_table
from riskweighted.evaluation.summary import CONVERGED
from riskweighted.release.analysis_code import combining_code, find_analysis, render
from riskweighted.release.codebook import codebook, codebook_markdown, own_value_for_each
from riskweighted.release.leak_check import check_pack, check_unaltered, gather_secrets
from riskweighted.runs.finished import FinishedRun, find_confidential, load_run

__all__ = ["FORMATS", "ReleasePack", "release_run"]

FORMATS = tuple(ending.removeprefix(".") for ending in WRITABLE)
_LABEL = "SYNTHETIC DATA"  # SAS keeps 40 characters of a label


@dataclass(frozen=True)
class ReleasePack:
    """A pack that was checked and put in its place.

    Attributes
    ----------
    folder : Path
    check : DataFrame
        One row per dataset file: rows that equal the confidential value, the number expected by chance, the most allowed.
        For the agency; it is not in the pack.
    """

    folder: Path
    check: pd.DataFrame = field(repr=False)


@dataclass(frozen=True)
class _Contents:
    """What goes into a pack; the same for every file of it."""

    run: FinishedRun
    schemes: tuple[str, ...]
    formats: tuple[str, ...]
    units: Mapping[str, str]
    report: Callable[[FinishedRun], str] | None

    @property
    def target(self) -> str:
        return self.run.study.target

    def facts(self) -> dict[str, object]:
        """What several pages say."""
        return {
            "target": self.target,
            "schemes": self.schemes,
            "count": self.run.study.release.L,
            "records": self.run.manifest["input"]["records"],
        }


def release_run(
    run: FinishedRun | str | Path,
    out: str | Path,
    *,
    schemes: Sequence[str] = (),
    formats: Sequence[str] = ("csv",),
    confidential: pd.DataFrame | str | Path | None = None,
    units: Mapping[str, str] | None = None,
    report: Callable[[FinishedRun], str] | None = None,
) -> ReleasePack:
    """Make the pack of one or more schemes of a finished run, check every file of it, and hand it over.

    Parameters
    ----------
    run : FinishedRun or the path of a run folder
    out : str or Path
        A folder that does not exist yet; it appears when the check has passed, and otherwise nothing is left.
    schemes : sequence of str
        Which schemes are released; may be left out where the run has one.
    formats : sequence of str
        Of "csv", "parquet", "dta" (Stata), "sav" (SPSS), "xpt" (SAS).
    confidential : DataFrame, str or Path, optional
        The data that the run was made from, for the check; without it, embedded data or the file beside the run folder.
    units : mapping of variable to unit, optional
        For the codebook.
    report : callable, optional
        Makes the releasable report of a run, as HTML.

    Raises
    ------
    InputError
        If `out` exists or another release is at work there, the run is not whole, a scheme or format is unknown, a scheme
        did not converge, the confidential data is not that of the run, or the check finds anything that must not leave.
    """
    with opened(Path(out), "a release") as working:
        finished = run if isinstance(run, FinishedRun) else load_run(run)
        contents = _Contents(finished, _checked_schemes(finished, schemes), _checked_formats(formats), dict(units or {}), report)
        data = confidential if isinstance(confidential, pd.DataFrame) else find_confidential(finished, confidential)
        check_unaltered(data, contents.target)
        secrets = gather_secrets(finished, data, contents.schemes)
        _write_pack(contents, working.result)
        return ReleasePack(working.out, check_pack(working.result, secrets))


def _checked_schemes(run: FinishedRun, schemes: Sequence[str]) -> tuple[str, ...]:
    """The schemes to release: known, and their chains converged."""
    chosen = tuple(dict.fromkeys(schemes)) or run.schemes
    if not schemes and len(chosen) > 1:
        raise InputError(f"the run has several schemes: say which are released (--scheme); valid are {listing(run.schemes)}")
    unknown = [scheme for scheme in chosen if scheme not in run.schemes]
    if unknown:
        raise InputError(f"the run has no scheme {listing(unknown)}; valid are {listing(run.schemes)}")
    converged = run.tables["summary"].set_index("label")[CONVERGED.name]
    failed = [scheme for scheme in chosen if converged[scheme] != "yes"]
    if failed:
        raise InputError(f"the fit of {listing(failed)} did not converge, so it is not released; sample longer or simplify the model")
    return chosen


def _checked_formats(formats: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise InputError(f"unknown format {listing(unknown)}; valid are {listing(FORMATS)}")
    return tuple(dict.fromkeys(formats))


def _write_pack(contents: _Contents, folder: Path) -> None:
    """Every file of the pack; the manifest last."""
    files = {scheme: _write_datasets(contents, scheme, folder) for scheme in contents.schemes}
    run, first, facts = contents.run, contents.schemes[0], contents.facts()
    datasets = [frame for scheme in contents.schemes for frame in run.synthetic[scheme]]
    book = codebook(datasets, [contents.target], contents.units)
    write_table(book, folder / "codebook.csv")
    write_file(folder / "codebook.md", f"# Codebook\n\nSYNTHETIC DATA: see the column 'status'.\n\n{codebook_markdown(book)}")
    codes = _write_combining(contents, first, files[first], folder)
    if contents.report is not None:
        write_file(folder / "report.html", contents.report(run))
    own = [str(name) for name in datasets[0] if name != contents.target and own_value_for_each(datasets[0][name])]
    source = file_hash(run.folder / "manifest.json")
    made_by = run.manifest["versions"]["riskweighted"]
    write_file(folder / "sign_off.md", render("sign_off.md", **facts, own=own, run=source, version=made_by))
    write_file(folder / "README.md", render("README.md", **facts, codes=codes, report=contents.report is not None, label=_LABEL))
    _write_manifest(contents, source, folder)


def _write_datasets(contents: _Contents, scheme: str, folder: Path) -> dict[str, list[str]]:
    """The datasets of a scheme in every format; their paths in the pack by format."""
    frames = contents.run.synthetic[scheme]
    width = len(str(len(frames)))
    files: dict[str, list[str]] = {name: [] for name in contents.formats}
    for number, frame in enumerate(frames, 1):
        for name, paths in files.items():
            paths.append(f"data/{scheme}/synthetic_{scheme}_{number:0{width}d}.{name}")
            write_table(frame, folder / paths[-1], label=f"{_LABEL} {number} of {len(frames)}")
    write_file(folder / "data" / scheme / "README.txt", render("data_README.txt", **contents.facts(), scheme=scheme))
    return files


def _write_combining(contents: _Contents, scheme: str, files: dict[str, list[str]], folder: Path) -> bool:
    """The page on combining, and its code in files of their own; whether there is any."""
    analysis, facts = find_analysis(contents.run, scheme), contents.facts()
    if analysis is None:
        write_file(folder / "how_to_combine.md", render("how_to_combine.md", **facts, analysis=None))
        return False
    codes, missing = combining_code(analysis, contents.run.synthetic[scheme][0], files)
    for name, code in codes.values():
        write_file(folder / name, code)
    longest = max((len(ticks) for _, code in codes.values() for ticks in re.findall("`+", code)), default=0)
    page = render(
        "how_to_combine.md",
        **facts,
        analysis=analysis,
        what=analysis.what,
        exact=analysis.exact,
        scheme=scheme,
        published=[f"{value:.5g}" for value in analysis.published],
        percent=f"{100 * analysis.level:g}",
        codes=[(language, name, code) for language, (name, code) in codes.items()],
        missing=list(missing.items()),
        fence="`" * max(3, longest + 1),
    )
    write_file(folder / "how_to_combine.md", page)
    return bool(codes)


def _write_manifest(contents: _Contents, source: str, folder: Path) -> None:
    """SHA-256 of every other file, versions, seed and settings; of the confidential data the file's name only."""
    settings = json.loads(json.dumps(contents.run.manifest["settings"]))
    if settings["data"].get("path") is not None:
        settings["data"]["path"] = re.split(r"[/\\]", settings["data"]["path"])[-1]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        "what": f"{_LABEL}: the column {contents.target} is drawn from a model",
        "schemes": list(contents.schemes),
        "synthesized": [contents.target],
        "datasets_per_scheme": contents.run.study.release.L,
        "records": contents.run.manifest["input"]["records"],
        "settings": settings,
        "versions": contents.run.manifest["versions"],
        "run_manifest_sha256": source,
        "files": {path.relative_to(folder).as_posix(): file_hash(path) for path in files},
    }
    write_file(folder / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
