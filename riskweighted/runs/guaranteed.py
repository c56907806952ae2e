"""A study under a guarantee: what of it is taken from the data is refused, and what is proved becomes a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.risk.accountant import Release
from riskweighted.runs.finished import load_run
from riskweighted.runs.study import Study
from riskweighted.synthesis.censoring import obstacles, refusal

if TYPE_CHECKING:
    from riskweighted.synthesis.guarantee import Statement
    from riskweighted.synthesis.posterior import PreparedModel

__all__ = ["SECRET_ONLY", "guarantee_table", "refuse_data_dependent", "releases_of"]

SECRET_ONLY = "The run is reproducible: who knows its seed knows the noise of the draws, so nothing is proved of these very datasets."


def refuse_data_dependent(study: Study, model: "PreparedModel") -> None:
    """Refuse a study whose guarantee would not hold, naming everything in it that is taken from the data.

    Raises
    ------
    InputError
    """
    if study.guarantee is None:
        return
    found = [*study.data_dependent(), *obstacles(model.synthesizer, model.prepared)]
    whole = pd.api.types.is_integer_dtype(model.confidential[study.target].dtype)
    if study.release.precision is None and not whole:
        found.append("release.precision, which is found in the data where it is not given and the column's dtype is not whole numbers")
    if found:
        raise refusal(found)


def guarantee_table(statements: "Mapping[str, Statement]") -> pd.DataFrame:
    """What is proved of each scheme, under its ``label``; see `Statement.table`."""
    tables = {label: statement.table() for label, statement in statements.items()}
    return pd.concat(tables, names=["label"]).reset_index("label").reset_index(drop=True)


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
