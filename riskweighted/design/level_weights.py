"""How much weight each level of the predictors has: where it is little, the prior decides what is
drawn there.
"""

import numpy as np

from riskweighted.design.design import Design
from riskweighted.design.formulas import shown_name

__all__ = ["SPARSE", "indicators", "level_members", "sparse_levels"]

SPARSE = 5.0  # sum of weights


def level_members(design: Design) -> dict[str, np.ndarray]:
    """Which records (n,) hold each level of the categorical predictors, by column name; references
    and cells of interactions too.

    Every column of the model matrix that is an indicator is a level; the reference level of a
    factor is where all its columns are 0.
    """
    spec = design.spec
    recorded = design.distinct.rows + design.centre
    kept = [position for position, name in enumerate(spec.column_names) if str(name) != "Intercept"]
    column = {position: recorded[:, at] for at, position in enumerate(kept)}
    members: dict[str, np.ndarray] = {}
    for term, places in spec.term_slices.items():
        held = [position for position in range(places.start, places.stop) if position in column]
        if not held or not all(indicators(column[position]) for position in held):
            continue
        ones = {
            shown_name(spec.column_names[position]): column[position] > column[position].max() / 2
            for position in held
        }
        members |= ones
        if len(term.factors) == 1:
            members[shown_name(_reference(str(term), spec))] = ~np.any(list(ones.values()), axis=0)
    return {name: design.distinct.spread(rows) for name, rows in members.items()}


def sparse_levels(members: dict[str, np.ndarray], alpha: np.ndarray) -> tuple[str, ...]:
    """The levels whose weights (n,) sum to less than `SPARSE`; those that no record holds are
    none.
    """
    return tuple(
        name for name, rows in members.items() if rows.any() and alpha[rows].sum() < SPARSE
    )


def indicators(columns: np.ndarray) -> np.ndarray:
    """Which columns (m, p) hold only 0 and one other number, of at most 1, booleans (p,); of one
    column (m,) whether it does.
    """
    largest = columns.max(axis=0, initial=0.0)
    return np.asarray(
        (np.minimum(np.abs(columns), np.abs(columns - largest)) <= 1e-9).all(axis=0)
        & (largest <= 1 + 1e-9)
    )


def _reference(factor: str, spec: object) -> str:
    """The name of a factor's reference level."""
    _, state = getattr(spec, "encoder_state", {}).get(factor, (None, {}))
    categories = state.get("categories", [])
    return f"{factor}[{categories[0]}]" if len(categories) else f"{factor} = 0"
