"""How much weight each level of the predictors has: where it is little, the prior decides what is drawn there."""

import numpy as np

from riskweighted.design.design import Design
from riskweighted.design.formulas import shown_name

__all__ = ["SPARSE", "level_members", "sparse_levels"]

SPARSE = 5.0  # sum of weights


def level_members(design: Design) -> dict[str, np.ndarray]:
    """Which records (n,) hold each level of the categorical predictors, by column name; references and cells of interactions too.

    Every column of the model matrix that holds only 0 and 1 is a level; the reference level of a factor is where all its columns are 0.
    """
    spec = design.spec
    recorded = design.distinct.rows + design.centre
    kept = [position for position, name in enumerate(spec.column_names) if str(name) != "Intercept"]
    column = {position: recorded[:, at] for at, position in enumerate(kept)}
    members: dict[str, np.ndarray] = {}
    for term, places in spec.term_slices.items():
        held = [position for position in range(places.start, places.stop) if position in column]
        if not held or not all(_binary(column[position]) for position in held):
            continue
        ones = {shown_name(spec.column_names[position]): column[position] > 0.5 for position in held}
        members |= ones
        if len(term.factors) == 1:
            members[shown_name(_reference(str(term), spec))] = ~np.any(list(ones.values()), axis=0)
    return {name: design.distinct.spread(rows) for name, rows in members.items()}


def sparse_levels(members: dict[str, np.ndarray], alpha: np.ndarray) -> tuple[str, ...]:
    """The levels whose weights (n,) sum to less than `SPARSE`; those that no record holds are none."""
    return tuple(name for name, rows in members.items() if rows.any() and alpha[rows].sum() < SPARSE)


def _binary(column: np.ndarray) -> bool:
    return bool((np.minimum(np.abs(column), np.abs(column - 1.0)) <= 1e-9).all())


def _reference(factor: str, spec: object) -> str:
    """The name of a factor's reference level."""
    _, state = getattr(spec, "encoder_state", {}).get(factor, (None, {}))
    categories = state.get("categories", [])
    return f"{factor}[{categories[0]}]" if len(categories) else f"{factor} = 0"
