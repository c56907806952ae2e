"""What finished runs under a guarantee have released, for the accountant."""

from collections.abc import Sequence
from pathlib import Path

from riskweighted.common.errors import InputError, listing
from riskweighted.risk.accountant import Release
from riskweighted.runs.finished import load_run

__all__ = ["releases_of"]


def releases_of(folders: Sequence[str | Path], schemes: Sequence[str] | None = None) -> list[Release]:
    """The releases of finished runs under a guarantee, from their settings, each named "folder: scheme".

    Parameters
    ----------
    folders : sequence of str or Path
    schemes : sequence of str, optional
        Only these; each run must have at least one of them.

    Raises
    ------
    InputError
        If a folder is no finished run, or one without a guarantee or without these schemes.
    """
    releases = []
    for folder in map(Path, folders):
        run = load_run(folder)
        statement = run.study.statement()
        if statement is None:
            raise InputError(f"the run {str(folder)!r} has no guarantee: nothing is proved of its datasets, so nothing can be added up")
        if run.study.reproducible:
            raise InputError(
                f"the run {str(folder)!r} is reproducible: its seed gives the noise away, so nothing is proved of its datasets"
            )
        leaving = [scheme for scheme in run.schemes if schemes is None or scheme in schemes]
        if not leaving:
            raise InputError(f"the run {str(folder)!r} has none of the schemes {listing(schemes or ())}; it has {listing(run.schemes)}")
        releases += [Release.of(f"{folder}: {scheme}", statement) for scheme in leaving]
    return releases
