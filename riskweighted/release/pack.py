"""The pack that may leave: synthetic datasets, codebook, how to combine them, report, manifest,
sign-off sheet.

Its files have one time and one mode, so that they do not tell when the data were at work, nor where
they lay. It is written to a private working folder, read again by
`riskweighted.release.leak_check`, and put in its place only if nothing was found.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.atomic import settle, unsettled_files
from riskweighted.common.checks import check_path
from riskweighted.common.errors import InputError, RiskWeightedWarning, listing
from riskweighted.common.folders import open_folder, scratch
from riskweighted.common.native import as_pandas
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.data.foreign import refuse_names
from riskweighted.data.formats import WRITABLE
from riskweighted.data.io import require_reader
from riskweighted.release.contents import Contents, failing_schemes, write_pack
from riskweighted.release.leak_check import (
    check_pack,
    gather_secrets,
    read_manifest,
)
from riskweighted.release.older import holes_of_older, is_older
from riskweighted.runs.again import refuse_what_is_not_made
from riskweighted.runs.derivation import refuse_order
from riskweighted.runs.finished import FinishedRun, find_confidential, load_run
from riskweighted.runs.refusals import Accepted, refusal as refused_of_run

__all__ = ["FORMATS", "OLDER", "ReleasePack", "check_release", "older_pack", "release_run"]

OLDER = (
    "the pack was made by an earlier version, whose packs are not made again byte for byte: make "
    "a new one"
)

FORMATS = tuple(ending.removeprefix(".") for ending in WRITABLE)


@dataclass(frozen=True)
class ReleasePack:
    """A release pack was checked and put in its place.

    Attributes
    ----------
    folder : Path
    check : DataFrame
        One row per dataset file and synthesized variable: rows that equal the confidential value,
        the number expected by chance, the most allowed. For the agency; it is not in the pack.
    failing : mapping of str to str
        The released schemes that do not pass, and why: the sign-off sheet says so, with the reason
        of `accept_fail`.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.release_run(folder / "run", "handed-over", schemes=["marginal"]).check.columns.tolist()
    ['file', 'variable', 'rows', 'equal to the confidential value', 'expected by chance', 'at most']
    """

    folder: Path
    check: pd.DataFrame = field(repr=False)
    failing: Mapping[str, str] = field(default_factory=dict)


def release_run(
    run: FinishedRun | str | Path,
    out: str | Path,
    *,
    schemes: Sequence[str] = (),
    formats: Sequence[str] = ("csv",),
    confidential: pd.DataFrame | str | Path | None = None,
    units: Mapping[str, str] | None = None,
    report: Callable[[FinishedRun], str] | None = None,
    accept_uniques: bool = False,
    accept_fail: str = "",
    demonstration: bool = False,
    plain_csv: bool = False,
    reporter: Reporter | None = None,
) -> ReleasePack:
    """Return the pack of one or more schemes of a finished run, after a check of every file of it.

    Parameters
    ----------
    run : FinishedRun or the path of a run folder
    out : str or Path
        A folder that does not exist yet; it appears when the check has passed, and otherwise
        nothing is left.
    schemes : sequence of str
        Which schemes are released; may be left out where the run has one.
    formats : sequence of str
        Of "csv", "parquet", "dta" (Stata), "sav" (SPSS), "xpt" (SAS).
    confidential : DataFrame, str or Path, optional
        The data that the run was made from, for the check; without it, embedded data or the file
        beside the run folder.
    units : mapping of variable to unit, optional
        For the codebook.
    report : callable, optional
        Makes the releasable report of a run, as HTML: of the same run the same text.
        `check_release` makes that of `render_report` again, unless it is given this one.
    accept_uniques : bool
        Release although more records than ``release.unique_share`` of the study are alone on the
        unaltered columns.
    accept_fail : str
        Why schemes that do not pass are released all the same: they do not keep to the thresholds,
        their model misfits, or a limit could not be judged. One line; the sign-off sheet holds it.
    demonstration : bool
        Release a reproducible run of embedded, public data, whose noise everybody can make again.
    plain_csv : bool
        Write csv files with commas, points before decimals and in UTF-8, also where the data's own
        file is laid out otherwise.
    reporter : Reporter, optional
        Shows progress: the run's tables are made again first, which takes as long as the run did
        without its fits.

    Raises
    ------
    InputError
        If `out` exists or another release is at work there, the run is not whole, a scheme or
        format is unknown, a scheme did not converge or does not pass, the run is reproducible, too
        many records are alone on the released columns, the confidential data is not that of the
        run, the run holds datasets or tables that its fits and the data do not make, or the check
        finds anything that must not leave.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> pack = rw.release_run(folder / "run", "pack", schemes=["marginal"])
    >>> pack.failing
    {}
    """
    confidential = as_pandas(confidential)
    with open_folder(check_path(out, "out"), "a release") as working, threadpool_limits(1):
        finished = run if isinstance(run, FinishedRun) else load_run(run)
        page = None if report is None else _made_once(report)
        chosen, kinds = _chosen(finished, schemes), _checked_formats(formats)
        for ending in {f".{kind}" for kind in kinds} - {".csv", ".parquet"}:
            refuse_names(finished.synthetic[chosen[0]][0], ending)
        accepted = Accepted(accept_uniques, demonstration, accept_fail)
        told = reporter or default_reporter()
        data = (
            confidential
            if isinstance(confidential, pd.DataFrame)
            else find_confidential(finished, confidential)
        )
        if why := refused_of_run(finished, data, chosen, accepted):
            raise InputError(why)
        refuse_what_is_not_made(finished, data, told)
        with told.step("making and checking the pack"):
            secrets = gather_secrets(finished, data, chosen, page)
            write_pack(
                Contents(
                    finished,
                    secrets.leaving,
                    chosen,
                    kinds,
                    dict(units or {}),
                    page,
                    accept_fail,
                    plain_csv,
                ),
                working.result,
            )
            settle(working.result)
            return ReleasePack(
                working.out, check_pack(working.result, secrets), failing_schemes(finished, chosen)
            )


def check_release(
    pack: str | Path,
    run: FinishedRun | str | Path,
    *,
    confidential: pd.DataFrame | str | Path | None = None,
    report: Callable[[FinishedRun], str] | None = None,
    reporter: Reporter | None = None,
) -> pd.DataFrame:
    """Return how near a pack's datasets are to the confidential values, after a check that every
    file is what the run makes.

    Warns where files have other times or modes than `release_run` gives them.

    Parameters
    ----------
    pack : str or Path
    run, confidential
        As for `release_run`.
    report : callable, optional
        What made the pack's report, where that is another than `render_report`.
    reporter : Reporter, optional
        As for `release_run`.

    Returns
    -------
    DataFrame: see `ReleasePack.check`.

    Raises
    ------
    InputError
        If anything is found; the message names the file and what it is, never a value. Of a pack of
        an earlier version it says what that gives away.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> pack = rw.release_run(folder / "run", "given", schemes=["marginal"])
    >>> len(rw.check_release(pack.folder, folder / "run"))
    3
    """
    confidential = as_pandas(confidential)
    folder = check_path(pack, "pack")
    if not folder.is_dir():
        raise InputError(f"there is no pack {str(folder)!r}")
    finished = run if isinstance(run, FinishedRun) else load_run(run)
    told = reporter or default_reporter()
    if is_older(manifest := read_manifest(folder)):
        raise InputError(
            f"{OLDER}: {'; '.join(_of_older(folder, manifest, finished, confidential))}"
        )
    place = _scratch_of(finished)
    # sums over threads would not repeat to the byte
    with threadpool_limits(1), scratch(place, "a check of a pack"):
        data = (
            confidential
            if isinstance(confidential, pd.DataFrame)
            else find_confidential(finished, confidential)
        )
        refuse_order(finished.study, data)
        refuse_what_is_not_made(finished, data, told)
        with told.step("checking the pack"):
            table = check_pack(
                folder,
                gather_secrets(finished, data, finished.schemes, report or _rendered_from(data)),
            )
    _warn_of_unsettled(folder)
    return table


def _scratch_of(run: FinishedRun) -> Path:
    """Where data lie for the moment while a pack of a run is checked: beside it, unless nobody may
    write there.
    """
    folder = run.folder.absolute()
    return (
        folder.parent if os.access(folder.parent, os.W_OK) else Path(tempfile.gettempdir())
    ) / f"{folder.name}.check"


def older_pack(
    pack: str | Path,
    run: FinishedRun | str | Path,
    confidential: pd.DataFrame | str | Path | None = None,
) -> list[str] | None:
    """What a pack that an earlier version made gives away, a line each, as far as a pack can show
    it; None of a pack of this version.
    """
    folder = check_path(pack, "pack")
    if not folder.is_dir() or not is_older(manifest := read_manifest(folder)):
        return None
    return _of_older(
        folder,
        manifest,
        run if isinstance(run, FinishedRun) else load_run(run),
        as_pandas(confidential),
    )


def _of_older(folder: Path, manifest: Mapping[str, Any], run: FinishedRun, data: Any) -> list[str]:
    return holes_of_older(
        folder,
        manifest,
        run,
        data if isinstance(data, pd.DataFrame) else find_confidential(run, data),
    )


def _warn_of_unsettled(folder: Path) -> None:
    """Warn of files whose times or modes tell more than release lets them."""
    if unsettled := unsettled_files(folder):
        warnings.warn(
            f"{unsettled} files and folders of the pack have other times or modes than release "
            "gives them, which discloses when and by whom "
            "they were handled: copy them with times and modes kept, or release again",
            RiskWeightedWarning,
            stacklevel=3,
        )


def _rendered_from(confidential: pd.DataFrame) -> Callable[[FinishedRun], str]:
    """The report that the command line puts into a pack."""
    # it loads what draws figures, which a pack without a report does not need
    from riskweighted.reports.render import render_report

    return partial(render_report, confidential=confidential)


def _made_once(report: Callable[[FinishedRun], str]) -> Callable[[FinishedRun], str]:
    """The same page for what is written and for what that is held to: it takes as long as the data
    are large.
    """
    pages: list[str] = []

    def page(run: FinishedRun) -> str:
        if not pages:
            pages.append(report(run))
        return pages[0]

    return page


def _chosen(run: FinishedRun, schemes: Sequence[str]) -> tuple[str, ...]:
    """The schemes to release, which the run has."""
    chosen = tuple(dict.fromkeys(schemes)) or run.schemes
    if not schemes and len(chosen) > 1:
        raise InputError(
            "the run has several schemes: say which are released (--scheme); valid are "
            f"{listing(run.schemes)}"
        )
    unknown = [scheme for scheme in chosen if scheme not in run.schemes]
    if unknown:
        raise InputError(
            f"the run has no scheme {listing(unknown)}; valid are {listing(run.schemes)}"
        )
    return chosen


def _checked_formats(formats: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise InputError(f"unknown format {listing(unknown)}; valid are {listing(FORMATS)}")
    for name in formats:
        require_reader(f".{name}")
    return tuple(dict.fromkeys(formats))
