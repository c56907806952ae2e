"""A study under a guarantee: what of it is taken from the data is refused, what is proved is a
table, and what finished runs released.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.contract.categories import categories_of
from riskweighted.contract.synthesizer import probability_mass
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.guarantee.clip import refusal
from riskweighted.measures.influence_measures import DELTA
from riskweighted.runs.finished import load_run
from riskweighted.runs.study import Study
from riskweighted.sequence.clipping import censor_blocks, sequence_obstacles

if TYPE_CHECKING:
    from riskweighted.guarantee.statement import Statement
    from riskweighted.risk.accountant import Release
    from riskweighted.sampling.block_fit import PreparedModel
    from riskweighted.sequence.blocks import PreparedSequence

__all__ = [
    "SECRET_ONLY",
    "guarantee_statement",
    "guarantee_table",
    "refuse_data_dependent",
    "releases_of",
]

SECRET_ONLY = (
    "The run is reproducible: somebody who knows its seed knows the noise of the draws, so "
    "nothing is proved of these very datasets."
)


def refuse_data_dependent(study: Study, prepared: "PreparedSequence") -> None:
    """Refuse a study whose guarantee would not hold, naming everything in it that is taken from the
    data.
    """
    if study.guarantee is None:
        return
    obstacles = [*study.data_dependent(), *sequence_obstacles(prepared, study.guarantee)]
    if any(
        study.release.precision_of(block.variable) is None
        and not _publicly_whole(study, block.model)
        for block in prepared.blocks
    ):
        obstacles.append(
            "release.precision, which is found in the data where it is not given; only counts, "
            "and whole numbers by a file's schema, "
            "have a public one"
        )
    if obstacles:
        raise refusal(obstacles)
    alphas = pd.DataFrame(1.0, prepared.confidential.index, list(prepared.variables))
    censor_blocks(prepared, alphas, study.guarantee, study.release.L)


def _publicly_whole(study: Study, model: "PreparedModel") -> bool:
    """Whether it is known without a look at the values that they are levels, or whole: of a csv the
    values themselves make the dtype.
    """
    if categories_of(model.synthesizer, model.prepared) is not None:
        return True
    path, target, described = study.data.path, model.synthesizer.target, study.data.described
    whole = pd.api.types.is_integer_dtype(model.confidential[target].dtype)
    by_schema = path is not None and path.suffix != ".csv"
    # then numbers of Stata, as those of SPSS, are whole where all values are
    if described is not None:
        by_schema = target in described and described[target].type == "whole number"
    return whole and (probability_mass(model.synthesizer) or by_schema)


def guarantee_statement(study: Study) -> list[str]:
    """What is proved of a study's datasets, and on what conditions; nothing without a guarantee."""
    statement = study.statement()
    if statement is None:
        return []
    first, *conditions = statement.sentences(listing(study.variables))
    schemes = len(study.weights.schemes)
    together = (
        f" This is of each of {schemes} schemes; released together, their epsilons add up."
        if schemes > 1
        else ""
    )
    if study.reproducible:
        return [SECRET_ONLY, f"With secret noise it would be: {first}{together}", *conditions]
    return [f"{first}{together}", *conditions]


def guarantee_table(statements: "Mapping[str, Statement]") -> pd.DataFrame:
    """What is proved of each scheme, under its ``label``; see `Statement.table`."""
    tables = {label: statement.table() for label, statement in statements.items()}
    return pd.concat(tables, names=["label"]).reset_index("label").reset_index(drop=True)


def releases_of(
    folders: Sequence[str | Path], schemes: Sequence[str] | None = None
) -> "list[Release]":
    """The releases of finished runs, each named "folder: scheme", of some schemes or all: proved
    under a guarantee, else by measured Delta.

    Refuses a run that has none of the schemes, or is under a guarantee and reproducible.
    """
    # loads numba, for which a report need not wait
    from riskweighted.risk.accountant import Release

    releases = []
    for folder in map(Path, folders):
        run = load_run(folder)
        statement = run.study.statement()
        if statement is not None and run.study.reproducible:
            raise InputError(
                f"the run {str(folder)!r} is reproducible: its seed determines the noise, so "
                "nothing is proved of its datasets"
            )
        leaving = [scheme for scheme in run.schemes if schemes is None or scheme in schemes]
        if not leaving:
            raise InputError(
                f"the run {str(folder)!r} has none of the schemes {listing(schemes or ())}; it "
                f"has {listing(run.schemes)}"
            )
        names, count = {scheme: f"{folder}: {scheme}" for scheme in leaving}, run.study.release.L
        if statement is not None:
            releases += [Release.of(names[scheme], statement) for scheme in leaving]
        else:
            measured = by_label(run.tables["risk"], Statistic(DELTA.key))
            releases += [
                Release(names[scheme], count, lipschitz=float(measured[scheme]))
                for scheme in leaving
            ]
    return releases
