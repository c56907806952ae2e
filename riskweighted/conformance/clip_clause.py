"""The clause of a centred clip: what is taken off in the graph is what the distribution says
(METHODS section 9.3).
"""

from typing import Any

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.conformance.clauses import Skipped, Trial, close, needs_likelihood, require
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.distribution import has_mass
from riskweighted.contract.synthesizer import ContractError, probability_mass
from riskweighted.guarantee.clip import DATA, clipped_sum, record_graph
from riskweighted.guarantee.interval_cells import IntervalCells, cells_of
from riskweighted.guarantee.statement import Guarantee, Reference
from riskweighted.sampling.clipped import ClipTerm, clip_term_graph
from riskweighted.sampling.graphs import compile_clipped_sum

__all__ = ["clip_agrees"]

_NEAR = 1e-6  # of the number of records
_ALPHA = 0.8


def clip_agrees(trial: Trial) -> str:
    """The centring term of a clip is the same in the graph and of masses, and from_response is the
    way back from response.
    """
    needs_likelihood(trial)
    if not has_mass(trial.synthesizer, trial.thetas[0], trial.prepared):
        raise Skipped(
            "its distribution has no mass(): under a guarantee its clip cannot be centred"
        )
    blueprint = trial.synthesizer.build(trial.prepared)
    assert blueprint is not None
    records = record_graph(trial.synthesizer, trial.prepared, blueprint, trial.data)
    if records is None:
        raise Skipped("no log_density of expressions, which is optional; a guarantee needs it")
    _check_way_back(trial)
    cells, statement = _some_cells(trial), Guarantee(M=0.5).statement(1)
    term = ClipTerm.of(trial.synthesizer, trial.prepared, trial.data, cells)
    clipped_sum(blueprint.model, records, trial.n)
    try:
        function = compile_clipped_sum(blueprint, clip_term_graph(term, blueprint))
    except ContractError as error:
        raise Skipped(str(error)) from None
    values = dict(
        zip(DATA, (_ALPHA, np.zeros(trial.n), statement.lower, statement.upper), strict=True)
    )
    off = [
        function(theta, values) - term.each(theta, _ALPHA, statement).sum()
        for theta in trial.thetas
    ]
    require(
        float(np.abs(off).max()) <= _NEAR * trial.n,
        trial,
        "mass() of expressions is not that of numbers",
    )
    return f"over {len(cells.lower)} cells"


def _check_way_back(trial: Trial) -> None:
    respond, find = (
        getattr(trial.synthesizer, name, None) for name in ("response", "from_response")
    )
    if callable(respond) and callable(find):
        back = find(np.asarray(respond(trial.prepared), dtype=float), trial.prepared)
        same = close(
            np.asarray(back), target_numbers(trial.synthesizer, trial.prepared, trial.data)
        )
        require(
            same,
            trial,
            "from_response(response(prepared), prepared) must give the values of the target",
        )


def _some_cells(trial: Trial) -> IntervalCells:
    """The levels; or those of a reference that lies where the values do."""
    try:
        return cells_of(trial.synthesizer, trial.prepared, Guarantee(M=0.5, centred=True))
    except InputError:  # which asks for a reference
        if not all(
            callable(getattr(trial.synthesizer, name, None))
            for name in ("response", "from_response")
        ):
            raise Skipped(
                "no response and from_response, which are optional; a centred clip of numbers "
                "needs them"
            ) from None
    synthesizer: Any = trial.synthesizer
    values = np.asarray(synthesizer.response(trial.prepared), dtype=float)
    middle, spread = float(values.mean()), float(values.std())
    counted = Reference("nbinom", {"n": 2, "p": 2 / (2 + max(middle, 0.1))})
    reference = (
        counted
        if probability_mass(trial.synthesizer)
        else Reference("norm", {"loc": middle, "scale": spread})
    )
    return cells_of(
        trial.synthesizer, trial.prepared, Guarantee(M=0.5, reference=reference, centred=True)
    )
