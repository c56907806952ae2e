"""Rows of an evaluation of several synthesized variables, of any type: tables, the whole file, risk of each variable alone."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.common.frames import require_columns
from riskweighted.common.groups import group_kind
from riskweighted.evaluation.tables import CONFIDENTIAL, Statistic, measured
from riskweighted.intruder.world import Paired, World
from riskweighted.risk.confidential import confidential_risk
from riskweighted.risk.expected import isolated_records
from riskweighted.risk.identification import mean_identification_risk
from riskweighted.utility.propensity import coded_propensity
from riskweighted.utility.tables import coded_tables, codes_of

__all__ = ["FileTables", "file_tables", "has_several", "several_risk_rows", "several_utility_rows", "table_columns", "table_rows"]

_MOST_LEVELS = 50  # of an unaltered column, beyond which its tables hold hardly any record a cell


def has_several(world: World) -> bool:
    """Whether these rows are made: where two variables or more are synthesized."""
    return len(world.scenario.synthetic) > 1


def table_columns(world: World, unaltered: Sequence[str] | None) -> tuple[str, ...]:
    """The unaltered columns that are crossed with the synthesized variables: the given ones, the known variables where none are.

    Dates, infinite numbers, columns of one value, and text or categories of more than 50 levels are left out.
    """
    wanted = world.scenario.known if unaltered is None else unaltered
    return tuple(name for name in wanted if name not in world.scenario.synthetic and _is_crossed(world.confidential[name]))


def _is_crossed(column: pd.Series) -> bool:
    try:
        kind = group_kind(column, "confidential data")
    except InputError:
        return False
    levels = column.nunique(dropna=False)
    return kind != "nothing" and levels > 1 and (kind == "numbers" or levels <= _MOST_LEVELS)


def several_utility_rows(label: str, world: World, frames: Sequence[pd.DataFrame], unaltered: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Standardised pMSE of one-way and two-way tables, and of the file as a whole (METHODS section 6); none of the confidential data."""
    if label == CONFIDENTIAL:
        return
    yield from table_rows(label, file_tables(world, frames, world.scenario.synthetic, unaltered))


class FileTables(NamedTuple):
    """``one`` and ``two``: what `table_utility` says of each synthesized variable and of each pair with one, whose names are ``pairs``;
    ``ratios``: pMSE ratio of the file in each dataset."""

    one: pd.DataFrame
    two: pd.DataFrame
    pairs: list[tuple[str, str]]
    ratios: np.ndarray


def file_tables(world: World, frames: Sequence[pd.DataFrame], synthesized: Sequence[str], unaltered: Sequence[str]) -> FileTables:
    """Tables of synthesized variables, with each other and with unaltered columns; two variables or more, and rows need not pair."""
    names, special = [*synthesized, *unaltered], {name: world.scenario.codes_of(name) for name in world.numeric}
    confidential, datasets = _files(world, frames, names)
    codes = codes_of(confidential, datasets, names, special)
    one, two = coded_tables(codes, list(synthesized), synthesized, 1), coded_tables(codes, names, synthesized, 2)
    # The pairs stand in the order of the tables: combinations of the names, those of unaltered columns alone left out.
    pairs = [(a, b) for place, a in enumerate(synthesized) for b in names[place + 1 :]]
    ratios = np.array([found.ratio for found in coded_propensity(codes, confidential, synthesized)])
    return FileTables(one, two, pairs, ratios)


def table_rows(label: str, tables: FileTables) -> Iterator[dict[str, Any]]:
    """Standardised pMSE of each table, their means, the worst pair, and the file's."""
    one, two = (table["s_pmse"].to_numpy() for table in (tables.one, tables.two))
    values = {Statistic("one-way-table", name): value for name, value in zip(tables.one["variables"], one, strict=True)}
    values |= {Statistic("two-way-table", a, term=b): value for (a, b), value in zip(tables.pairs, two, strict=True)}
    values |= {
        Statistic("one-way-mean"): _over(np.mean, one),
        Statistic("two-way-mean"): _over(np.mean, two),
        Statistic("two-way-worst"): _over(np.max, two),
        Statistic("file-propensity"): _over(np.mean, tables.ratios),
    }
    for statistic, value in values.items():
        yield measured(label, statistic, float(value), statistic.define())


def _over(summary: Any, values: np.ndarray) -> float:
    """A summary of those that are defined; a table of one cell has no S_pMSE."""
    defined = values[~np.isnan(values)]
    return float(summary(defined)) if len(defined) else np.nan


def _files(world: World, frames: Sequence[pd.DataFrame], names: Sequence[str]) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The columns of all files, synthesized codes as categories: the scenario matches them by equality, so tables count them by level."""
    for number, frame in enumerate(frames, start=1):
        require_columns(frame, names, f"synthetic dataset {number}")
    coded = [name for name in world.scenario.synthetic if name not in world.numeric]
    coded = [name for name in coded if pd.api.types.is_numeric_dtype(world.confidential[name].dtype)]
    first, *others = (
        pd.DataFrame({name: frame[name].astype("category") if name in coded else frame[name] for name in names})
        for frame in (world.confidential, *frames)
    )
    return first, others


def several_risk_rows(label: str, paired: Paired, joint: np.ndarray, matches: float, isolated: np.ndarray) -> Iterator[dict[str, Any]]:
    """Match risk and isolated records' risk on all synthesized variables together, then each variable's risk where it is looked for alone.

    Parameters
    ----------
    label : str
        Of the datasets; under the confidential one they are the confidential data themselves, whose risk is IR^c.
    paired : Paired
    joint : ndarray (n,)
        Risk of the records on all variables, mean over datasets.
    matches : float
        Expected match risk on all variables.
    isolated : boolean ndarray (n,)
        The isolated records on all variables.
    """
    values = {Statistic("expected-match"): matches, Statistic("isolated-risk"): joint[isolated].mean()}
    for name in paired.world.scenario.synthetic:
        alone = paired.only(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingletonWarning)  # the patterns are those of all variables, of which it was said
            own = confidential_risk(alone.world).to_numpy()
        risk = own if label == CONFIDENTIAL else mean_identification_risk(alone)
        values[Statistic("own-mean-risk", name)] = risk.mean()
        values[Statistic("own-isolated-risk", name)] = risk[isolated_records(own)].mean()
    for statistic, value in values.items():
        yield measured(label, statistic, float(value), statistic.define_risk(label))
