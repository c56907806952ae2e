"""From the arrays of fits to numbers, each with its error."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.claims.chance import largest_of_sets
from experiments.claims.measured import STATISTICS, Measured
from riskweighted.intruder.world import World
from riskweighted.risk.expected_identification import isolated_records, top_values
from riskweighted.risk.identification import confidential_risk
from riskweighted.risk.whack_a_mole_risk import expected_over, expected_whack_a_mole_records

__all__ = [
    "RISES",
    "Groups",
    "Number",
    "at_equal_risk",
    "expected_of",
    "groups_of",
    "jackknife",
    "mean_of",
    "measures_of",
    "tidy",
]

RISES = (0.05, 0.1, 0.25)
_THRESHOLD = 0.5
_SIMULATED = 2000


class Groups(NamedTuple):
    """Boolean (n,): the isolated records, the ceil(.05 n) largest IR^c with ties at the cut; the
    largest 1 % of values, likewise.
    """

    isolated: np.ndarray
    largest: np.ndarray


class Number(NamedTuple):
    """A value and its Monte Carlo standard error; NaN where it has none."""

    value: float
    error: float = np.nan


def groups_of(world: World) -> Groups:
    """Both groups of records."""
    values = world.confidential[world.scenario.synthetic[0]].to_numpy(dtype=float)
    return Groups(isolated_records(confidential_risk(world).to_numpy()), top_values(values))


def measures_of(
    found: Measured,
    unweighted: Measured,
    world: World,
    L: int = 20,  # noqa: N803
) -> dict[str, Number]:
    """All measures of a fit beside the unweighted one."""
    groups = groups_of(world)
    return {
        "mean weight": Number(float(found.alpha.mean())),
        **_expected(found, groups),
        **_rises(found, unweighted),
        **_of_sets(found, unweighted, L),
        **_influence(found, groups),
        **{name: mean_of(found.statistics[:, place]) for place, name in enumerate(STATISTICS)},
        **{
            name: Number(float(value))
            for name, value in zip(("r_hat", "ess_bulk", "divergences"), found.quality, strict=True)
        },
    }


def tidy(fits: Mapping[str, Measured], world: World, case: str, L: int = 20) -> pd.DataFrame:  # noqa: N803
    """One row a fit and measure: case, label, measure, value, error. The first fit is the
    unweighted one.
    """
    unweighted = next(iter(fits.values()))
    rows = [
        (case, label, measure, *number)
        for label, found in fits.items()
        for measure, number in measures_of(found, unweighted, world, L).items()
    ]
    return pd.DataFrame(rows, columns=["case", "label", "measure", "value", "error"])


def _expected(found: Measured, groups: Groups) -> dict[str, Number]:
    return {
        "mean risk": expected_of(found, lambda risk: risk.mean()),
        "maximum risk": expected_of(found, lambda risk: risk.max()),
        "isolated risk": expected_of(found, lambda risk: risk[groups.isolated].mean()),
        "top 1 % risk": expected_of(found, lambda risk: risk[groups.largest].mean()),
        "records over 0.5": expected_of(found, lambda risk: (risk > _THRESHOLD).sum()),
    }


def expected_of(found: Measured, statistic: Callable[[np.ndarray], float]) -> Number:
    """A statistic of expected risk and its error, by leaving out each block of draws in turn."""
    return Number(
        float(statistic(found.risk)), jackknife([statistic(risk) for risk in found.left_out()])
    )


def jackknife(values: Sequence[float]) -> float:
    """Standard error of a statistic from its values without each block in turn."""
    each = np.array(values, dtype=float)
    return float(np.sqrt((len(each) - 1) / len(each) * ((each - each.mean()) ** 2).sum()))


def _rises(found: Measured, unweighted: Measured) -> dict[str, Number]:
    """Expected rises and falls; the error from the blocks of both fits."""
    numbers = {}
    for least in RISES:
        for name, sign in (("rises", 1), ("falls", -1)):

            def count(
                risk: np.ndarray, base: np.ndarray, least: float = least, sign: int = sign
            ) -> float:
                return float((sign * (risk - base) >= least).sum())

            own = jackknife([count(risk, unweighted.risk) for risk in found.left_out()])
            base = jackknife([count(found.risk, risk) for risk in unweighted.left_out()])
            same = found is unweighted
            numbers[f"{name} >= {least:g}"] = Number(
                count(found.risk, unweighted.risk), 0.0 if same else float(np.hypot(own, base))
            )
    return numbers


def _of_sets(found: Measured, unweighted: Measured, L: int) -> dict[str, Number]:  # noqa: N803
    """What L datasets show (mean over the groups, error), what it is expected to be, and what two
    fits alike would show.
    """
    pairs = [
        (one, other)
        for i, one in enumerate(found.risks)
        for j, other in enumerate(unweighted.risks)
        if i != j
    ]
    numbers = {}
    for least in RISES:
        each = np.array([((one - other) >= least).sum() for one, other in pairs], dtype=float)
        numbers[f"rises >= {least:g} in sets"] = Number(
            each.mean(), each.std(ddof=1) / np.sqrt(len(found.risks))
        )
        numbers[f"rises >= {least:g} in sets, expected"] = Number(
            expected_whack_a_mole_records(found, unweighted, L, least)
        )
        numbers[f"rises >= {least:g} in sets, chance alone"] = Number(
            expected_whack_a_mole_records(unweighted, unweighted, L, least)
        )
    numbers["records over 0.5 in sets"] = mean_of((found.risks > _THRESHOLD).sum(axis=1))
    numbers["records over 0.5 in sets, expected"] = Number(expected_over(found, L, _THRESHOLD))
    numbers["maximum risk in sets"] = mean_of(found.risks.max(axis=1))
    numbers["maximum risk in sets, expected median"] = Number(largest_of_sets(found, L))
    return numbers


def mean_of(values: np.ndarray) -> Number:
    return Number(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))


def _influence(found: Measured, groups: Groups) -> dict[str, Number]:
    """Maxima grow with the number of draws, so the least of a chain alone stands beside; the others
    have an error from chains.
    """
    lipschitz, spread, information = np.moveaxis(found.influence, 2, 0)
    chains = len(lipschitz) - 1

    def error(values: np.ndarray) -> float:
        return float(np.std(values, ddof=1) / np.sqrt(chains))

    numbers = {
        "Delta": Number(float(lipschitz[0].max())),
        "Delta, least chain": Number(float(lipschitz[1:].max(axis=1).min())),
        "Delta, 100 draws": Number(float(found.few)),
        "range": Number(float(spread[0].max())),
        "range, least chain": Number(float(spread[1:].max(axis=1).min())),
        "p_eff": Number(float(found.p_eff[0]), error(found.p_eff[1:])),
        "information": Number(float(information[0].max()), error(information[1:].max(axis=1))),
        "information, isolated": Number(
            float(information[0, groups.isolated].mean()),
            error(information[1:, groups.isolated].mean(axis=1)),
        ),
    }
    for name, members in (
        ("attributable", np.ones(len(found.alpha), dtype=bool)),
        ("attributable top 1 %", groups.largest),
    ):
        means = found.attributable[:, members].mean(axis=1)
        numbers[name] = Number(float(means[0]), error(means[1:]))
    return numbers | {"largest k-hat": Number(float(found.pareto_k[found.alpha > 0].max()))}


def at_equal_risk(
    fits: Mapping[str, Measured],
    world: World,
    families: Mapping[str, Sequence[str]],
    levels: Mapping[str, str],
    seed: int = 1,
) -> pd.DataFrame:
    """U_m, mean and 90 % quantile of each family where its isolated risk is that of a scheme,
    interpolated between fits.

    Parameters
    ----------
    fits : mapping of label to Measured
    world : World
    families : mapping of name to labels
        Along each, isolated risk falls.
    levels : mapping of title to label
        Whose isolated risk is the level.
    seed : int

    Returns
    -------
    DataFrame
        level, risk, family, between (the two fits), and each statistic with its error: that of the
        fits on both sides and of the level, from simulated normal errors. No row where a family
        does not reach the level.
    """
    groups, rng = groups_of(world), np.random.default_rng(seed)
    known = {
        label: [
            expected_of(found, lambda risk: risk[groups.isolated].mean()),
            *(mean_of(column) for column in found.statistics.T),
        ]
        for label, found in fits.items()
    }
    rows = []
    for title, at in levels.items():
        alone = {} if any(at in labels for labels in families.values()) else {at: [at]}
        for family, labels in {**families, **alone}.items():
            if at in labels:
                value, error, between = *np.array(known[at][1:]).T, at
            else:
                place = next(
                    (
                        k
                        for k in range(1, len(labels))
                        if known[labels[k]][0].value <= known[at][0].value
                    ),
                    None,
                )
                if place is None:
                    continue
                around = labels[place - 1], labels[place]
                exact, errors = np.moveaxis(
                    np.array([known[label] for label in (*around, at)]), 2, 0
                )
                value = _between(exact[None])[0]
                error = _between(exact + errors * rng.normal(size=(_SIMULATED, *exact.shape))).std(
                    axis=0
                )
                between = " to ".join(around)
            row = {
                "level": title,
                "isolated risk": known[at][0].value,
                "family": family,
                "fits": between,
            }
            row |= dict(zip(STATISTICS, value, strict=True))
            rows.append(
                row | {f"{name} error": each for name, each in zip(STATISTICS, error, strict=True)}
            )
    return pd.DataFrame(rows)


def _between(points: np.ndarray) -> np.ndarray:
    """Statistics where the first column has the value of the third point, on the line through the
    first two; (S, 3, 1 + k) to (S, k).
    """
    low, high, level = points[:, 0], points[:, 1], points[:, 2]
    share = ((level[:, 0] - low[:, 0]) / (high[:, 0] - low[:, 0])).clip(0, 1)[:, None]
    return np.asarray(low[:, 1:] + share * (high[:, 1:] - low[:, 1:]))
