"""The setting ``risk_of``: of several variables, whose boxes make weights (METHODS section 3.6).
Light: a study file is read with it.
"""

from collections.abc import Sequence

from riskweighted.common.checks import check_names
from riskweighted.common.errors import InputError, listing
from riskweighted.weights.scheme_names import parse_scheme

__all__ = ["Match", "match_subsets", "scheme_subsets"]

Match = str | Sequence[Sequence[str]]
_VALID = "'each-variable', 'joint' or a list of lists of variables"


def match_subsets(risk_of: Match, variables: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The subsets of the synthetic variables whose box makes the weights of their variables; each
    variable must stand in just one.
    """
    if risk_of == "each-variable":
        return tuple((name,) for name in variables)
    if risk_of == "joint":
        return (tuple(variables),)
    if (
        isinstance(risk_of, str)
        or not isinstance(risk_of, Sequence)
        or not all(_is_subset(subset) for subset in risk_of)
    ):
        raise InputError(f"risk_of must be {_VALID}, got {risk_of!r}")
    subsets = tuple(check_names(subset, "a subset of risk_of") for subset in risk_of)
    named = [name for subset in subsets for name in subset]
    wrong = {
        "which is not synthetic": [name for name in dict.fromkeys(named) if name not in variables],
        "in two subsets": [name for name in dict.fromkeys(named) if named.count(name) > 1],
        "in no subset": [name for name in variables if name not in named],
    }
    for how, names in wrong.items():
        if names:
            raise InputError(
                f"risk_of has {listing(names)} {how}: each of the synthetic variables "
                f"{listing(variables)} must be in just one"
            )
    return subsets


def scheme_subsets(
    scheme: str, risk_of: Match, variables: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The same of one scheme: a centred one weighs every variable by its own ball, and is refused
    with boxes of several.
    """
    subsets, named = match_subsets(risk_of, variables), parse_scheme(scheme)
    if named.centred and any(len(subset) > 1 for subset in subsets):
        raise InputError(
            f"scheme {scheme!r} with risk_of {risk_of!r}: centred weights of boxes of several "
            "variables are offered no more: write "
            f"risk_of = 'each-variable', or {named.plain.text!r} without the plus"
        )
    return subsets


def _is_subset(subset: object) -> bool:
    return isinstance(subset, Sequence) and not isinstance(subset, str) and len(subset) > 0
