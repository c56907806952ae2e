"""Weights of several variables: each by its own ball, all by one box, or by the boxes of stated
subsets (METHODS section 3.6).
"""

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.units import Units
from riskweighted.contract.centring import CentredWeights, OwnFunction
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.weights.adjust import adjust_weights, cluster_weights, running_weights
from riskweighted.weights.by_scheme import own_weights
from riskweighted.weights.functions import GivenWeights, LeastOf, OfRows
from riskweighted.weights.scheme_names import UNWEIGHTED, is_centred, parse_scheme
from riskweighted.weights.schemes import bounds_lengths, scheme_alpha, scheme_source
from riskweighted.weights.subsets import Match, scheme_subsets

if TYPE_CHECKING:
    from riskweighted.sequence.fit import Fit
    from riskweighted.weights.families import Fits

__all__ = [
    "Match",
    "centred_weights",
    "match_weights",
    "world_functions",
    "world_weighting",
    "world_weights",
]

_Result = TypeVar("_Result")


def world_weights(
    world: World,
    scheme: str,
    risk_of: Match = "each-variable",
    fit: "Fit | Fits | None" = None,
    *,
    scale: float = 1,
    shift: float = 0,
    cluster: str | None = None,
) -> pd.DataFrame:
    """Return the weights of `match_weights` of checked data, (n, V).

    `fit`: that of `scheme_source`, if there is one; each variable's weights are then made of the
    influence on its own blocks, whose parameters are independent of the others', so that nothing is
    matched. Every column of the unweighted scheme is 1 and stays so. In a world of units a member's
    weight is the smallest of its own and those of earlier members, and a variable of units is
    weighed by one row a unit; `cluster` plays no part. Of several intruders they are the smallest.
    """
    if world.others:
        of_each = [
            world_weights(each, scheme, risk_of, fit, scale=scale, shift=shift, cluster=cluster)
            for each in world.each
        ]
        return reduce(lambda one, other: one.where(one <= other, other), of_each)
    subsets = _subsets(world, scheme, risk_of)
    of, clusters = world.arrangement, None if cluster is None else world.confidential[cluster]
    _refuse_mixed(world, subsets)

    def weights_of(subset: tuple[str, ...]) -> pd.Series:
        once = of is not None and world.is_of_unit(subset[0])
        asked = world.only(subset)
        alpha = scheme_alpha(asked.of_firsts() if once else asked, scheme, fit)
        if once and of is not None:
            alpha = pd.Series(
                alpha.to_numpy()[of.place_of_first], world.confidential.index, name="alpha"
            )
        if scheme == UNWEIGHTED:
            return alpha
        alpha = alpha if (scale, shift) == (1, 0) else adjust_weights(alpha, scale, shift)
        if of is not None:
            return alpha if once or bounds_lengths(scheme) else running_weights(alpha, of)
        return alpha if clusters is None else cluster_weights(alpha, clusters)

    made = _each(weights_of, subsets)
    return pd.DataFrame(
        {
            name: made[subset]
            for name in world.scenario.synthetic
            for subset in subsets
            if name in subset
        }
    )


def _refuse_mixed(world: World, subsets: Sequence[Sequence[str]]) -> None:
    """Refuse to match variables of units with those of members: their boxes are of other rows."""
    for subset in subsets:
        if len({world.is_of_unit(name) for name in subset}) > 1:
            raise InputError(
                f"risk_of joins {listing(subset)}, of which some are of the unit and some of its "
                "members: match each by its own ball"
            )


def world_functions(
    world: World,
    scheme: str,
    risk_of: Match = "each-variable",
    fit: "Fit | None" = None,
    *,
    scale: float = 1,
    shift: float = 0,
    cluster: str | None = None,
) -> dict[str, OwnFunction]:
    """Return the weights of a centred scheme of checked data as functions of the records' own
    values, by variable.
    """
    if world.others:
        of_each = [
            world_functions(each, scheme, risk_of, fit, scale=scale, shift=shift, cluster=cluster)
            for each in world.each
        ]
        return {name: LeastOf(tuple(of[name] for of in of_each)) for name in of_each[0]}
    functions, of = dict[str, OwnFunction](), world.arrangement
    for (name,) in _subsets(world, scheme, risk_of):
        alone = world.only(name)
        if of is not None and world.is_of_unit(name):
            by_unit = world_functions(
                alone.of_firsts(), scheme, risk_of, fit, scale=scale, shift=shift
            )
            functions[name] = OfRows(by_unit[name], of.place_of_first, "of units")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the weights were made
            alpha = (
                None
                if (cluster is None and of is None) or bounds_lengths(scheme)
                else adjust_weights(scheme_alpha(alone, scheme), scale, shift).to_numpy()
            )
            functions[name] = own_weights(
                alone, scheme, fit, scale=scale, shift=shift, cluster=cluster, alpha=alpha
            )
    return functions


def _subsets(world: World, scheme: str, risk_of: Match) -> tuple[tuple[str, ...], ...]:
    """Whose boxes are looked at; nothing is matched of a scheme that is made of a fit."""
    return scheme_subsets(
        scheme,
        "each-variable" if scheme_source(scheme) is not None else risk_of,
        world.scenario.synthetic,
    )


def world_weighting(
    world: World,
    scheme: str,
    fit: "Fit | None" = None,
    *,
    alphas: pd.DataFrame | None = None,
    **making: Any,
) -> pd.DataFrame | CentredWeights:
    """Return the weights of a scheme as a fit takes them: of a centred one with the functions that
    they come from.

    `alphas`: the weights where they are there already; `making`: the settings of `world_weights`.
    """
    alphas = world_weights(world, scheme, fit=fit, **making) if alphas is None else alphas
    return (
        CentredWeights(alphas, world_functions(world, scheme, fit=fit, **making))
        if is_centred(scheme)
        else alphas
    )


def _each(
    make: Callable[[tuple[str, ...]], _Result], subsets: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], _Result]:
    """The value of every subset; a warning that all of them give is passed on once, any other names
    its variables.
    """
    made, told = {}, dict[tuple[type[Warning], str], list[tuple[str, ...]]]()
    for subset in subsets:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made[subset] = make(subset)
        for warning in dict.fromkeys(
            (warning.category, str(warning.message)) for warning in caught
        ):
            told.setdefault(warning, []).append(subset)
    for (category, text), whose in told.items():
        of = (
            ""
            if len(whose) == len(subsets)
            else f"{listing(name for subset in whose for name in subset)}: "
        )
        warnings.warn(f"{of}{text}", category, stacklevel=4)
    return made


def centred_weights(
    scheme: str | Callable[[pd.DataFrame, pd.Series], np.ndarray],
    confidential: Frame,
    scenario: Scenario | Sequence[Scenario],
    *,
    fit: "Fit | None" = None,
    scale: float = 1,
    shift: float = 0,
    cluster: str | None = None,
    units: Units | None = None,
) -> CentredWeights:
    """Return centred weights, which limit what is learned from each record and leave the model
    straight (METHODS section 15).

    Risk weights are made of the values that they weigh, and so bend the model: they shrink spreads
    and coefficients. Centring subtracts from the log pseudo posterior what each record was expected
    to add by its weight, given its predictors. It is a generalised-Bayes posterior (weighted
    scores: Diks, Panchenko and van Dijk 2011), not the pseudo posterior of Hu et al. 2022.

    Parameters
    ----------
    scheme : str or callable
        A scheme of `scheme_weights` with a plus behind its name: "mix+(t=0.5)", "marginal+",
        "others-in-ball+". Or a function of your own: from the m rows of some records and G values
        of the variable to weights (m, G) in [0, 1], which must not read the records' own value.
    confidential : DataFrame, n rows
    scenario : Scenario or sequence of Scenario
        Each synthetic variable is weighted by its own ball or level; of several intruders by the
        smallest weight over all.
    fit : Fit, optional
        For schemes that are made of one: "bounded+(b=0.1)", "budget+(b=0.3)" (both of the
        unweighted fit).
    scale, shift, cluster, units
        As for `match_weights`.

    Returns
    -------
    CentredWeights, for `fit`.

    Raises
    ------
    InputError
        If the scheme is not known or has nothing to centre, or a function gives no weights.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> weights = rw.centred_weights("mix+(t=0.5)", data, scenario)
    >>> rw.fit(synthesizer, data, weights, draws=200, tune=200, random_seed=1).converged
    True
    """
    confidential = as_pandas(confidential)
    world = make_world(confidential, scenario, units)
    require_columns(confidential, [] if cluster is None else [cluster], "confidential data")
    if callable(scheme):
        names = world.scenario.synthetic
        given = {name: GivenWeights(world.only(name), scheme) for name in names}
        return CentredWeights(
            pd.DataFrame({name: function.alpha() for name, function in given.items()}), given
        )
    if not is_centred(str(scheme)):
        raise InputError(
            f"scheme {scheme!r} is not centred: valid is a plus behind its name, as in "
            f"{parse_scheme(scheme).name + '+'!r}"
        )
    made = world_weighting(world, str(scheme), fit, scale=scale, shift=shift, cluster=cluster)
    assert isinstance(made, CentredWeights)
    return made


def match_weights(
    confidential: Frame,
    scenario: Scenario | Sequence[Scenario],
    scheme: str = "pairwise",
    risk_of: Match = "each-variable",
    *,
    fit: "Fit | None" = None,
    scale: float = 1,
    shift: float = 0,
    cluster: str | None = None,
    units: Units | None = None,
) -> pd.DataFrame:
    """Return weights of its own for each synthetic variable (METHODS section 3.6).

    In many dimensions nearly every record is alone in its box, so that weights made of it leave the
    prior to decide. `risk_of` says what is compared instead: the intruder who looks for one
    variable at a time, for all, or for some together.

    Parameters
    ----------
    confidential : DataFrame, n rows
    scenario : Scenario or sequence of Scenario
        With V synthetic variables; of several intruders a record has the smallest weight over all.
    scheme : str, default "pairwise"
        As for `scheme_weights`, with its settings in its text: "mix(t=0.5)".
    risk_of : {"each-variable", "joint"} or sequence of sequences of str, default "each-variable"
        Of centred schemes "each-variable" alone. "each-variable": the weights of a variable are the
        scheme's under the scenario that synthesizes this variable alone, by its own ball or level.
        "joint": those of the box of all variables, the same for each. Subsets, of which each
        variable stands in just one: the weights of a variable are those of the box of its subset.
    fit : Fit, optional
        For schemes that are made of a fit: the weights of a variable follow from each record's
        influence on its own models' posterior, and `risk_of` plays no part.
    scale, shift : float
        As for `adjust_weights`, column by column.
    cluster : str, optional
        A column of `confidential`: the records of equal value share their smallest weight
        (`cluster_weights`), column by column.
    units : Units, optional
        Which records belong together, of a chain with the same ones: a member's weight is then the
        smallest of its own and those of the members before it, and a variable of the unit is
        compared with one row a unit.

    Returns
    -------
    DataFrame (n, V) on the index of `confidential`, columns in the order of ``scenario.synthetic``,
    in [0, 1]; lower protects more.

    Raises
    ------
    InputError
        If `risk_of` or `scheme` is not valid, a fit is lacking, a column is unknown, or a sensitive
        value is missing or infinite.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> scenario = rw.Scenario(known="region", synthetic=["income", "smokes"])
    >>> rw.match_weights(data, scenario, "marginal").round(2).head(2)
       income  smokes
    0    0.24    0.67
    1    0.27    0.62
    """
    confidential = as_pandas(confidential)
    world = make_world(confidential, scenario, units)
    require_columns(confidential, [] if cluster is None else [cluster], "confidential data")
    return world_weights(
        world, str(scheme), risk_of, fit, scale=scale, shift=shift, cluster=cluster
    )
