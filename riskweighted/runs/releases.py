"""What finished runs have released, for the accountant."""

from collections.abc import Sequence
from pathlib import Path

from riskweighted.common.errors import InputError, listing
from riskweighted.evaluation.tables import Statistic, by_label
from riskweighted.measures.influence import DELTA
from riskweighted.risk.accountant import Release
from riskweighted.runs.finished import load_run

__all__ = ["releases_of"]


def releases_of(folders: Sequence[str | Path], schemes: Sequence[str] | None = None) -> list[Release]:
    """The releases of finished runs, each named "folder: scheme", of some schemes or all: proved under a guarantee, else by measured Delta.

    Refuses a run that has none of the schemes, or is under a guarantee and reproducible.
    """
    releases = []
    for folder in map(Path, folders):
        run = load_run(folder)
        statement = run.study.statement()
        if statement is not None and run.study.reproducible:
            raise InputError(
                f"the run {str(folder)!r} is reproducible: its seed gives the noise away, so nothing is proved of its datasets"
            )
        leaving = [scheme for scheme in run.schemes if schemes is None or scheme in schemes]
        if not leaving:
            raise InputError(f"the run {str(folder)!r} has none of the schemes {listing(schemes or ())}; it has {listing(run.schemes)}")
        names, count = {scheme: f"{folder}: {scheme}" for scheme in leaving}, run.study.release.L
        if statement is not None:
            releases += [Release.of(names[scheme], statement) for scheme in leaving]
        else:
            measured = by_label(run.tables["risk"], Statistic(DELTA.key))
            releases += [Release(names[scheme], count, lipschitz=float(measured[scheme])) for scheme in leaving]
    return releases
