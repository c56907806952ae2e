"""The Fellegi-Sunter model in Splink's terms: the one file that knows Splink and DuckDB.

Splink gets row numbers, codes and numbers under the names v0, v1, ... in a database in memory; its
log is silent, nothing goes to disk and nothing leaves the machine.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from riskweighted.common.extras import optional

__all__ = [
    "TRAINING_PAIRS",
    "LinkingVariable",
    "engine",
    "fill",
    "register",
    "score",
    "settings",
    "train",
]

TRAINING_PAIRS = 2_000_000
_ITERATIONS = 200

Model = dict[str, Any]


@dataclass(frozen=True)
class LinkingVariable:
    """A linking variable in both files, PUF first.

    ``values``: numbers or codes, NaN is missing. ``classes``: what it blocks by, 0 is missing.
    ``tolerances``: the levels of agreement as greatest absolute differences, ascending from 0.
    """

    number: int
    numeric: bool
    values: tuple[np.ndarray, np.ndarray]
    classes: tuple[np.ndarray, np.ndarray]
    tolerances: tuple[float, ...]

    @property
    def agreement(self) -> str:
        """Agreement of classes in SQL. A numeric one names the value too: Splink must not train m
        of what it blocks by.
        """
        i = self.number
        return f"l.q{i} = r.q{i} and l.v{i} is not null" if self.numeric else f"l.v{i} = r.v{i}"

    def comparison(self) -> Model:
        """Splink's comparison: missing, each tolerance, everything else."""
        left, right = f"v{self.number}_l", f"v{self.number}_r"
        conditions = [
            f"abs({left} - {right}) <= {tolerance:.17e}" for tolerance in self.tolerances[1:]
        ]
        levels: list[Model] = [
            {"sql_condition": f"{left} is null or {right} is null", "is_null_level": True}
        ]
        levels += [
            {"sql_condition": condition} for condition in (f"{left} = {right}", *conditions, "ELSE")
        ]
        return {"output_column_name": f"v{self.number}", "comparison_levels": levels}


@contextmanager
def engine() -> Iterator[tuple[Any, Any]]:
    """Splink's API on a DuckDB in memory, and the connection: one thread, so that sums repeat to
    the bit; no files.
    """
    duckdb, splink = (optional(package, "record linkage") for package in ("duckdb", "splink"))
    log = logging.getLogger("splink")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # it would print SQL and counts
    try:
        with duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""}) as connection:
            connection.execute(
                "SET enable_progress_bar = false; SET enable_external_access = false"
            )
            yield splink.DuckDBAPI(connection), connection
    finally:
        log.setLevel(level)


def register(api: Any, variables: Sequence[LinkingVariable]) -> list[Any]:
    """Both files as Splink's tables, PUF first; of two tables the alphabetically first is Splink's
    left one.
    """
    tables = []
    for side, name in enumerate(("a_puf", "b_eif")):
        columns = {"unique_id": pa.array(np.arange(len(variables[0].values[side])))}
        for variable in variables:
            columns[f"v{variable.number}"] = pa.array(variable.values[side], from_pandas=True)
            if variable.numeric:
                classes = variable.classes[side]
                columns[f"q{variable.number}"] = pa.array(classes, mask=classes == 0)
        tables.append(api.register(pa.table(columns), dataset_display_name=name))
    return tables


def settings(
    variables: Sequence[LinkingVariable], rules: Sequence[Sequence[LinkingVariable]], prior: float
) -> Model:
    """Splink's settings: compare pairs that agree on every variable of a rule."""
    return {
        "link_type": "link_only",
        "comparisons": [variable.comparison() for variable in variables],
        "blocking_rules_to_generate_predictions": [_blocking(rule) for rule in rules],
        "probability_two_random_records_match": prior,
        "retain_matching_columns": False,
        "max_iterations": _ITERATIONS,
    }


def _blocking(rule: Sequence[LinkingVariable]) -> str:
    return " and ".join(variable.agreement for variable in rule) or "1=1"


def _linker(tables: list[Any], model: Model) -> Any:
    from splink import Linker

    return Linker(tables, model, log_level=None, validate_settings=False)


def train(
    tables: list[Any], model: Model, rules: Sequence[Sequence[LinkingVariable]], seed: int
) -> tuple[Model, list[tuple[int, bool]]]:
    """u on random pairs, then m by one EM run per rule, of the variables not in it.

    Returns the trained model, and of each run how many iterations it took and whether it converged.
    """
    linker = _linker(tables, model)
    linker.training.estimate_u_using_random_sampling(
        max_pairs=TRAINING_PAIRS, seed=seed, min_count_per_level=None, num_chunks=1
    )
    model, runs = linker.misc.save_model_to_json(), []
    for rule in rules:
        model, iterations, converged = _maximise(tables, model, _blocking(rule))
        runs.append((iterations, converged))
    return model, runs


def _maximise(tables: list[Any], model: Model, rule: str) -> tuple[Model, int, bool]:
    """One EM run. Splink refuses an m that underflows, which happens in tiny files: then stop
    earlier, or not begin.
    """
    limit = _ITERATIONS
    while limit:
        linker = _linker(tables, {**model, "max_iterations": limit})
        try:
            session = linker.training.estimate_parameters_using_expectation_maximisation(
                rule,
                estimate_without_term_frequencies=True,
                max_pairs=TRAINING_PAIRS,
                record_sample_proportion=1.0,
            )
        except (ValueError, ArithmeticError):
            limit //= 2
            continue
        iterations = len(session._core_model_settings_history) - 1
        return linker.misc.save_model_to_json(), iterations, iterations < limit
    return model, 0, False


def fill(
    model: Model, variables: Mapping[str, LinkingVariable], floors: tuple[float, float]
) -> pd.DataFrame:
    """Make every m and u of the model usable, in place, and list them.

    m and u below their floors are raised to them; a level in neither sample weighs 0; where no m of
    a variable was estimated Splink's default stands: 0.95 for equality, the rest shared equally.
    """
    rows = []
    for (name, variable), comparison in zip(variables.items(), model["comparisons"], strict=True):
        levels = comparison["comparison_levels"][1:]
        estimated = any("m_probability" in level for level in levels)
        for number, (tolerance, level) in enumerate(
            zip((*variable.tolerances, np.nan), levels, strict=True)
        ):
            u = max(level.get("u_probability", 0.0), floors[1])
            default = 0.95 if number == 0 else 0.05 / (len(levels) - 1)
            m = level.get("m_probability", 0.0 if estimated else default)
            m = u if not m and "u_probability" not in level else max(m, floors[0])
            level |= {"m_probability": m, "u_probability": u}
            rows.append((name, tolerance, m, u, np.log2(m / u), estimated))
    return pd.DataFrame(rows, columns=["variable", "tolerance", "m", "u", "weight", "estimated"])


def score(
    tables: list[Any],
    model: Model,
    parts: int,
    minimum: float,
    progress: Callable[[int, int], None] | None,
) -> pd.DataFrame:
    """Match weight and probability of the pairs that blocking lets through, part by part to bound
    memory.
    """
    linker, tables_of_pairs = _linker(tables, model), []
    for part in range(1, parts + 1):
        scored = linker.inference.predict_chunk(
            left_chunk=(part, parts),
            right_chunk=(1, 1),
            threshold_match_probability=minimum,
            warning_mode="never",
        )
        tables_of_pairs.append(
            scored.as_pyarrow_table().select(
                ["unique_id_l", "unique_id_r", "match_weight", "match_probability"]
            )
        )
        scored.drop_table_from_database_and_remove_from_cache()
        if progress is not None:
            progress(part, parts)
    pairs = pa.concat_tables(tables_of_pairs).sort_by(
        [("unique_id_l", "ascending"), ("unique_id_r", "ascending")]
    )
    names = ["puf_row", "eif_row", "match_weight", "match_probability"]
    return pd.DataFrame(
        {name: column.to_numpy() for name, column in zip(names, pairs.columns, strict=True)}
    )
