"""The contract of a synthesizer, tried clause by clause on any class: `check_synthesizer` (no
sampler is run).
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.conformance import clauses, refusal_clauses
from riskweighted.conformance.centring_clause import centring_agrees
from riskweighted.conformance.clauses import Skipped, Trial
from riskweighted.conformance.clip_clause import clip_agrees
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer
from riskweighted.sampling.graphs import compile_weighted_sum, parameters_at

__all__ = ["check_synthesizer"]

_CLAUSES: dict[str, Callable[[Trial], str | None]] = {
    "settings are a frozen, hashable value": clauses.frozen_value,
    "the data are left alone": clauses.data_left_alone,
    "bad data are refused without showing a value": refusal_clauses.bad_data_refused,
    "the blueprint holds priors, and starts unweighted": clauses.priors_alone,
    "draws fit the column": clauses.draws_fit,
    "the same seed gives the same draws": clauses.seeds_repeat,
    "true values are declared": clauses.true_values_declared,
    "graph and log_density agree for every alpha": clauses.graph_agrees,
    "log_density of expressions is that of numbers": clauses.records_agree,
    "alpha = 0 leaves a record out": clauses.zero_leaves_out,
    "a whole-number alpha replicates records": clauses.whole_numbers_replicate,
    "the order of records does not matter": clauses.order_is_free,
    "at(frame) follows the confidential recipe": clauses.same_recipe,
    "at(frame): other responses move no row": clauses.other_responses,
    "at(frame): draws need no response": clauses.without_response,
    "at(frame): a missing level keeps its column": refusal_clauses.missing_level_kept,
    "at(frame): an unseen level is refused": refusal_clauses.unseen_level_refused,
    "mass is the share of draws": clauses.mass_is_share,
    "mass of neighbouring intervals adds up": clauses.mass_adds_up,
    "inverse inverts mass": clauses.inverse_inverts,
    "what centred weights take off is what mass says": centring_agrees,
    "what is taken from the data is declared": clauses.dependence_declared,
    "what a centred clip takes off is what mass says": clip_agrees,
    "other sensitive values move no draw": clauses.others_move_nothing,
}

_THETAS = 4


class _Clauses(pd.DataFrame):  # type: ignore[misc]
    """The result of every clause, shown whole: pandas would leave out the column that says it where
    a terminal is narrow.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return _Clauses

    def __repr__(self) -> str:
        return str(self.to_string())


def check_synthesizer(make: Callable[[], Synthesizer] | Synthesizer, data: Frame) -> pd.DataFrame:
    """Return the result of every clause of the contract of `Synthesizer` for a class of your own,
    in seconds and without sampling.

    Parameters
    ----------
    make : callable without arguments that returns a synthesizer, or a synthesizer
        For example ``lambda: HurdleGamma("income ~ age + C(region)")``.
    data : DataFrame, n rows
        Data that suit it, 30 rows or more; simulated data are best.

    Returns
    -------
    DataFrame
        One row per clause: ``clause``, ``result`` ("passed" or "skipped"), ``why``.

    Raises
    ------
    ContractError
        On the first clause that fails; names the class and the clause, and shows no value of the
        data. An `InputError`.
    InputError
        If `data` has no records, or the synthesizer refuses them.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> Regression = rw.load_synthesizer("linear-regression")
    >>> rw.check_synthesizer(lambda: Regression("income ~ region", transform="log"), data).head(3)
                                             clause  result              why
    0         settings are a frozen, hashable value  passed
    1                       the data are left alone  passed
    2  bad data are refused without showing a value  passed  9 of 18 refused
    """
    data = as_pandas(data)
    require_columns(data, [], "data")
    trial = _begin(make, data)
    rows = []
    for clause, check in _CLAUSES.items():
        try:
            result, why = "passed", check(trial) or ""
        except Skipped as skipped:
            result, why = "skipped", str(skipped)
        except ContractError as error:
            raise ContractError(f"clause {clause!r}: {error}") from None
        except InputError as error:
            raise ContractError(
                f"clause {clause!r}: {type(trial.synthesizer).__name__} refuses what it must "
                f"take: {error}"
            ) from None
        rows.append((clause, result, why))
    return _Clauses(rows, columns=["clause", "result", "why"])


def _begin(make: Callable[[], Synthesizer] | Synthesizer, data: pd.DataFrame) -> Trial:
    given: Any = make
    instance = hasattr(given, "prepare") and not isinstance(given, type)
    if not instance and not callable(given):
        raise InputError(
            f"make must be a synthesizer, or a callable that makes one, got {type(given).__name__}"
        )
    again = (lambda: copy.copy(given)) if instance else given
    synthesizer = again()
    name = type(synthesizer).__name__
    absent = [
        method
        for method in ("prepare", "build", "distribution")
        if not callable(getattr(synthesizer, method, None))
    ]
    if absent or not isinstance(getattr(synthesizer, "target", None), str):
        raise ContractError(
            f"{name} has no {absent[0] + '()' if absent else 'target, the name of a column'}"
        )
    require_columns(data, [synthesizer.target], "data")
    prepared = synthesizer.prepare(data)
    blueprint = synthesizer.build(prepared)
    if blueprint is None:
        return Trial(again, synthesizer, data, prepared, None, None, ({},))
    if not isinstance(blueprint, Blueprint):
        raise ContractError(
            f"{name}: build must return a Blueprint or None, got {type(blueprint).__name__}"
        )
    weighted_sum = compile_weighted_sum(synthesizer, blueprint, len(data))
    return Trial(again, synthesizer, data, prepared, blueprint, weighted_sum, _places(blueprint))


def _places(blueprint: Blueprint) -> tuple[Draw, ...]:
    """Parameters at random places around the start of the sampler, by name: free ones and
    deterministic ones.
    """
    model = blueprint.model
    start = model.initial_point()
    rng = np.random.default_rng(1)
    points = [
        [
            start[str(value.name)] + rng.normal(0, 0.4, np.shape(start[str(value.name)]))
            for value in model.value_vars
        ]
    ]
    points += [
        [rng.normal(0, 0.4, value.shape) + value for value in points[0]] for _ in range(_THETAS - 1)
    ]
    return parameters_at(blueprint, points)
