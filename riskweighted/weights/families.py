"""Families of weights with a parameter, by name, and what can be tuned along them (METHODS sections
3.4, 9.2 and 11).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_number
from riskweighted.common.errors import InputError, listing
from riskweighted.intruder.world import World
from riskweighted.risk.identification import confidential_risk

if TYPE_CHECKING:
    from riskweighted.sequence.fit import Fit

__all__ = ["FAMILIES", "Family", "Fits", "family_alpha", "family_of", "family_settings"]


class Fits(NamedTuple):
    """The fit whose weights are changed, and the unweighted one that it is compared with."""

    weighted: "Fit"
    unweighted: "Fit"


class Family(NamedTuple):
    """A family of weights.

    ``make`` from checked data, a fit and settings to alpha (n,); ``settings``: their defaults, None
    where one must be given; ``bounds``: the least and the largest value of each; ``fit``: of what
    kind the fit must be that it needs, if any, or "both"; ``nothing``: whether settings leave no
    weight, whatever the data. ``shape``, of families that are made of IR^c, and so of the scenario:
    from checked data and settings to a function of risks and of how many records share the pattern,
    both of one shape, which gives the weights. ``limit``, of families that bound what a record
    teaches a fit: from settings to a function of marginal risks, 0 unless the family
    ``reads_risk``, that says how long the score of a value may be (`riskweighted.weights.of_fit`).
    A family with neither has no function of a record's own value to centre.

    `tune` goes along a family of one setting by its ``path``, values from the unweighted
    synthesizer to ever smaller weights that are scanned first; what then falls is ``lowers``, of
    "risk", "influence" (the largest one of a record) and "information". ``unit`` of an unweighted
    fit: what the values of the path are shares of.
    """

    make: Callable[..., np.ndarray]
    settings: Mapping[str, float | None]
    bounds: Mapping[str, tuple[float, float]]
    fit: str | None = None
    nothing: Callable[[Mapping[str, float]], bool] | None = None
    shape: Callable[..., "Shape"] | None = None
    limit: Callable[..., "Limit"] | None = None
    reads_risk: bool = False
    path: tuple[float, ...] = ()
    lowers: tuple[str, ...] = ()
    unit: Callable[["Fit"], float] | None = None

    @property
    def risk(self) -> bool:
        """Whether it is made of IR^c."""
        return self.shape is not None or self.reads_risk


Shape = Callable[[np.ndarray, np.ndarray], np.ndarray]
Limit = Callable[[np.ndarray], np.ndarray]


def _uniform(world: World, fit: "Fit", *, c: float) -> np.ndarray:
    return np.full(len(world.confidential), c)


def _drop_riskiest(world: World, *, q: float) -> Shape:
    cut = np.quantile(confidential_risk(world).to_numpy(), 1 - q)
    return lambda risk, size: np.where(risk > cut, 0.0, 1.0)


def _power(world: World, *, g: float) -> Shape:
    return lambda risk, size: np.asarray((1 - risk) ** g)


def _mix(world: World, *, t: float) -> Shape:
    return lambda risk, size: np.asarray(1 - t * risk)


def _others_in_ball(world: World) -> Shape:
    """The other records in the ball, of the others of the pattern; 0 of a record alone."""
    return lambda risk, size: np.where(
        size > 1, np.clip(1 - risk * size / np.maximum(size - 1, 1), 0.0, 1.0), 0.0
    )


def _shaped(shape: Callable[..., Shape]) -> Callable[..., np.ndarray]:
    """Weights of the records as they are."""

    def make(world: World, fit: "Fit", **settings: float) -> np.ndarray:
        return shape(world, **settings)(
            confidential_risk(world).to_numpy(), world.patterns.in_pattern
        )

    return make


_TINY = float(np.finfo(float).tiny)


def _lipschitz(world: World, fit: "Fit", *, c: float, g: float) -> np.ndarray:
    largest, _ = _largest(world, fit)
    span = np.ptp(largest)
    share = (largest - largest.min()) / span if span > 0 else np.zeros(len(largest))
    return np.asarray(np.clip(c * (1 - share) + g, 0.0, 1.0))


def _lipschitz_target(world: World, fit: "Fit", *, D: float) -> np.ndarray:  # noqa: N803
    return np.asarray(np.minimum(1.0, D / np.maximum(_largest(world, fit)[0], _TINY)))


def _reweighted(world: World, fit: "Fit", *, c: float) -> np.ndarray:
    largest, alpha = _largest(world, fit)
    grown = c * alpha * largest.max() / np.maximum(largest, _TINY)
    return np.where(alpha > 0, np.clip(grown, 0.0, 1.0), 0.0)


def _by_risk(world: World, fit: Fits, *, rise: float) -> np.ndarray:
    """alpha min(1, E0[IR] / E1[IR]) where the expected risk rises by ``rise`` or more."""
    from riskweighted.risk.expected_identification import expected_risk

    before, after = (expected_risk(of, world, random_seed=0).risk for of in reversed(fit))
    alpha = fit.weighted.alphas[world.scenario.synthetic[0]].to_numpy()
    less = alpha * np.minimum(1.0, before / np.maximum(after, _TINY))
    return np.asarray(np.where(after - before >= rise, less, alpha))


def _bounded(*, b: float) -> Limit:
    return lambda risk: np.full(np.shape(risk), b)


def _budget(*, b: float) -> Limit:
    """A bound that falls with the record's risk."""
    return lambda risk: b * (1 - risk)


def _limited(limit: Callable[..., Limit], reads_risk: bool = False) -> Callable[..., np.ndarray]:
    """Weights of the records as they are; in a world of units by the scores of the members up to
    each.
    """

    def make(world: World, fit: "Fit", *, b: float) -> np.ndarray:
        from riskweighted.weights.of_fit import find_scored, weights_within

        (variable,) = world.scenario.synthetic
        vectors = find_scored(fit, variable, "bounded")[1]
        n = len(world.confidential)
        risk = confidential_risk(world).to_numpy() if reads_risk else np.zeros(n)
        alpha = weights_within(limit(b=b)(risk), vectors, world.arrangement)
        if alpha.sum() < 1:
            raise InputError(
                f"a bound of {b:g} keeps less than the likelihood of one record, so that the prior "
                "decides: raise b"
            )
        return alpha

    return make


def _largest(world: World, fit: "Fit") -> tuple[np.ndarray, np.ndarray]:
    """max over the draws of alpha_i abs(log p(y_i | theta_s)) of the world's one variable, and its
    alpha, (n,) each.
    """
    (variable,) = world.scenario.synthetic
    alpha = fit.alphas[variable].to_numpy()
    return alpha * fit.largest(variable), alpha


def _largest_of_all(fit: "Fit") -> float:
    """The largest f_i of all variables."""
    return max(float(block.largest_terms.max()) for block in fit.blocks.values() if block.estimates)


def _largest_score(fit: "Fit") -> float:
    """The largest length of a score of all variables, those that are no number left out."""
    from riskweighted.weights.of_fit import score_vectors

    found = []
    for block in fit.blocks.values():
        if block.estimates:
            lengths = np.linalg.norm(score_vectors(block, block.terms), axis=1)
            found.append(lengths[np.isfinite(lengths)].max())
    return float(max(found))


_ANY = (0.0, np.inf)
_SHARES = (1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
# times the largest length of a score: a bound that falls with risk, and yet binds next to nobody
_LOOSE = 100
_ALL = ("risk", "influence", "information")
FAMILIES: Mapping[str, Family] = {
    "mix": Family(
        _shaped(_mix),
        {"t": None},
        {"t": (0, 1)},
        shape=_mix,
        path=(0, 0.2, 0.4, 0.6, 0.8, 0.9, 1),
        lowers=_ALL,
    ),
    "power": Family(
        _shaped(_power),
        {"g": None},
        {"g": _ANY},
        shape=_power,
        path=(0, 0.1, 0.25, 0.5, 1, 2, 4),
        lowers=_ALL,
    ),
    "drop-riskiest": Family(
        _shaped(_drop_riskiest),
        {"q": None},
        {"q": (0, 1)},
        shape=_drop_riskiest,
        path=(0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4),
        lowers=_ALL,
    ),
    "uniform": Family(
        _uniform, {"c": None}, {"c": (0, 1)}, path=_SHARES, lowers=("influence", "information")
    ),
    "lipschitz": Family(
        _lipschitz,
        {"c": 1.0, "g": 0.0},
        {"c": _ANY, "g": (-1, 1)},
        "unweighted",
        lambda given: given["c"] + given["g"] <= 0,
    ),
    "lipschitz-target": Family(
        _lipschitz_target,
        {"D": None},
        {"D": _ANY},
        "unweighted",
        lambda given: given["D"] == 0,
        path=_SHARES,
        lowers=("influence",),
        unit=_largest_of_all,
    ),
    "reweighted": Family(
        _reweighted, {"c": 0.95}, {"c": _ANY}, "weighted", lambda given: given["c"] == 0
    ),
    "reweighted(by=risk)": Family(_by_risk, {"rise": 0.02}, {"rise": (0, 1)}, "both"),
    "bounded": Family(
        _limited(_bounded),
        {"b": None},
        {"b": _ANY},
        "unweighted",
        lambda given: given["b"] == 0,
        limit=_bounded,
        path=_SHARES,
        lowers=("influence", "information"),
        unit=_largest_score,
    ),
    "budget": Family(
        _limited(_budget, True),
        {"b": None},
        {"b": _ANY},
        "unweighted",
        lambda given: given["b"] == 0,
        limit=_budget,
        reads_risk=True,
        path=(_LOOSE, *_SHARES),
        lowers=("influence", "information"),
        unit=_largest_score,
    ),
    "others-in-ball": Family(_shaped(_others_in_ball), {}, {}, shape=_others_in_ball),
}


def family_of(name: str) -> Family | None:
    """The family of a name, or the one of centred weights where a plus stands behind it; None for
    none.

    Centred weights lower no expected risk: a record that stands out is guessed from a straight
    model as one that was never in the file is.
    """
    family = FAMILIES.get(name.removesuffix("+"))
    if family is None or not name.endswith("+"):
        return family
    if family.shape is None and family.limit is None:
        return None
    return family._replace(lowers=tuple(of for of in family.lowers if of != "risk"))


def family_settings(name: str, settings: Mapping[str, Any]) -> dict[str, float]:
    """The settings of a family, checked, with the defaults of those that are not given."""
    family = FAMILIES[name]
    for setting in settings:
        if setting not in family.settings:
            raise InputError(
                f"scheme {name!r} has no setting {setting!r}; valid are "
                f"{', '.join(family.settings)}"
            )
    values = {}
    for setting, default in family.settings.items():
        value = settings.get(setting, default)
        if value is None:
            raise InputError(
                f"scheme {name!r} needs its setting {setting}, as in '{name}({setting}=0.5)'"
            )
        least, most = family.bounds[setting]
        values[setting] = check_number(value, f"{setting} of scheme {name!r}", least=least)
        if values[setting] > most:
            raise InputError(
                f"{setting} of scheme {name!r} must be at most {most:g}, got {value!r}"
            )
    if family.nothing is not None and family.nothing(values):
        raise InputError(
            f"scheme {name!r} with "
            f"{', '.join(f'{key} = {value:g}' for key, value in values.items())} gives every "
            "record weight zero"
        )
    return values


def family_alpha(
    world: World, name: str, fit: "Fit | Fits | None", settings: Mapping[str, Any]
) -> pd.Series:
    """Weights of a family, (n,); see `riskweighted.weights.schemes.scheme_weights`."""
    family, values = FAMILIES[name], family_settings(name, settings)
    if (family.fit == "both") != isinstance(fit, Fits):
        needed = "two fits: pass fit = (weighted, unweighted)" if family.fit == "both" else "no two"
        raise InputError(f"scheme {name!r} is made of {needed}")
    for kind, each in fit._asdict().items() if isinstance(fit, Fits) else [(family.fit, fit)]:
        if kind is not None:
            _check_fit(name, kind, each, world)
    return pd.Series(family.make(world, fit, **values), world.confidential.index, name="alpha")


def _check_fit(name: str, kind: str, fit: "Fit | None", world: World) -> None:
    if fit is None:
        raise InputError(
            f"scheme {name!r} is made of a fit of the {kind} model: pass fit, or name it in the "
            "schemes of a study"
        )
    if fit.confidential is not world.confidential and not fit.confidential.equals(
        world.confidential
    ):
        raise InputError(f"scheme {name!r}: the fit is of other data than the confidential ones")
    variables = world.scenario.synthetic
    if len(variables) > 1:
        raise InputError(
            f"scheme {name!r} gives each of {listing(variables)} weights of its own: see "
            "match_weights, or synthesize one"
        )
    if variables[0] not in fit.variables:
        raise InputError(
            f"scheme {name!r}: the fit is one of {listing(fit.variables)}, and the scenario "
            f"synthesizes {variables[0]!r}"
        )
    if kind == "unweighted" and not (fit.alphas[variables[0]] == 1).all():
        raise InputError(
            f"scheme {name!r} is made of the unweighted fit, and the weights of this one are not "
            "all 1"
        )
