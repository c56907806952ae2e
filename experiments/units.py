"""What a chain keeps of units, and what leaving one out by weights is worth (METHODS sections 12.5
and 13.1).

`python -m experiments.units rho`: correlation within simulated units and the slope within them;
`roles`: couples, children and siblings of simulated households; `refits --data PSID7682.csv`:
disclosure of a panel's units by importance weights beside fits without each of thirty, and what an
intruder who knows the others is told. Each prints its table.
"""

import argparse
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.disclosure import members
from riskweighted.disclosure.members import known_by_others, told_of
from riskweighted.disclosure.own_fit import CopyDraws, leave_out, terms_of
from riskweighted.disclosure.refits import refit_without
from riskweighted.intruder.world import make_world

DATASETS, LEFT_OUT, DRAWS = 10, 30, 500


def fitted(data, variables, predictors, units, models=None, **sampling):
    chain = rw.load_synthesizer("sequential")(variables, predictors, models or {}, units=units)
    return rw.fit(chain, data, random_seed=1, **sampling)


def mean_and_sd(rows):
    return rows.groupby("case").agg(["mean", "std"])


# -- correlation within units


def units_of(rho, units=2_000, seed=1):
    rng = np.random.default_rng(seed)
    house = np.repeat(np.arange(units), rng.integers(1, 7, units))
    common, own = rng.normal(size=(2, units)), rng.normal(size=(2, len(house)))
    x = math.sqrt(0.3) * common[0][house] + math.sqrt(0.7) * own[0]
    error = math.sqrt(rho) * common[1][house] + math.sqrt(1 - rho) * own[1]
    return pd.DataFrame({"house": house, "x": x.round(2), "y": np.exp(0.5 * x + error).round(3)})


def within(frame):
    """The intraclass correlation of residuals on x, and the slope within units."""
    x, y, house = frame["x"].to_numpy(), np.log(frame["y"].to_numpy()), frame["house"].to_numpy()
    sizes = np.bincount(house)
    off = [value - (np.bincount(house, value) / sizes)[house] for value in (x, y)]
    residual = y - np.polyval(np.polyfit(x, y, 1), x)
    several = sizes[house] > 1
    left = residual[several] - (np.bincount(house, residual) / sizes)[house][several]
    inside = (left**2).sum() / (several.sum() - (sizes > 1).sum())
    return {
        "icc": 1 - inside / residual[several].var(ddof=1),
        "slope": (off[0] @ off[1]) / (off[0] @ off[0]),
    }


def rho():
    rows = []
    for value in (0.0, 0.2, 0.5, 0.8):
        data = units_of(value)
        fit = fitted(data, ["y"], ["x"], rw.Units(id="house"))
        rows.append({"case": f"{value} data"} | within(data))
        drawn = fit.synthesize(DATASETS, random_seed=2)
        rows += [{"case": f"{value} drawn"} | within(frame) for frame in drawn]
    print(mean_and_sd(pd.DataFrame(rows)).round(3).to_string())


# -- households with roles


def households(units=1_500, seed=3):
    rng = np.random.default_rng(seed)
    couple, children = rng.random(units) < 0.6, rng.poisson(0.9, units)
    size = 1 + couple + children
    house = np.repeat(np.arange(units), size)
    line = np.concatenate([np.arange(count) for count in size])
    child = line >= 1 + couple[house]
    role = np.where(line == 0, "head", np.where(child, "child", "spouse"))
    head = np.clip(rng.gamma(9, 5, units), 20, 90)
    eldest = np.maximum(head - 26 - 4 * np.abs(rng.normal(size=units)), 0)
    age = np.where(line == 0, head[house], head[house] - 2 + 5 * rng.normal(size=len(house)))
    later = (line - 1 - couple[house]) * 2.8 + rng.normal(size=len(house))
    age = np.where(child, np.maximum(eldest[house] - later, 0), age)
    race = rng.choice(["a", "b", "c"], units, p=[0.6, 0.25, 0.15])[house]
    other = rng.random(len(house)) < 0.05
    race = np.where(other, rng.choice(["a", "b", "c"], len(house)), race)
    data = {"house": house, "line": line, "role": role, "race": race, "age": age.round(1)}
    return pd.DataFrame(data)


def family(frame):
    """Races, couples' ages, and gaps of children."""
    age = frame.set_index("house")["age"].astype(float)
    head, spouse = (age[frame.set_index("house")["role"] == role] for role in ("head", "spouse"))
    both = pd.concat([head, spouse], axis=1, keys=["head", "spouse"]).dropna()
    children = frame[frame["role"] == "child"]
    gap = head[children["house"]].to_numpy() - children["age"].to_numpy(dtype=float)
    several = children[children["house"].duplicated(keep=False)]
    of_house = several.groupby("house")["age"]
    siblings = math.sqrt(
        of_house.var().mul(of_house.size() - 1).sum() / (of_house.size() - 1).sum()
    )
    sizes = frame.groupby("house")["race"].agg(["size", "nunique"])
    return {
        "one race": (sizes.loc[sizes["size"] > 1, "nunique"] == 1).mean(),
        "couples": both.corr().iloc[0, 1],
        "sd gap": (both["head"] - both["spouse"]).std(),
        "sd child": gap.std(),
        "sd siblings": siblings,
    }


def roles():
    data = households()
    units = rw.Units(id="house", role="role", first="head", order=["line"])
    fit = fitted(data, ["race", "age"], ["role"], units)
    rows = [{"case": "data"} | family(data)]
    rows += [{"case": "drawn"} | family(frame) for frame in fit.synthesize(DATASETS, random_seed=2)]
    print(mean_and_sd(pd.DataFrame(rows)).round(3).T.to_string())


# -- a panel's units left out, by weights and by fits


def refits(path):
    data = pd.read_csv(path)
    if "id" not in data:
        data["id"] = np.arange(len(data)) // 7
    data = data[["id", "year", "gender", "education", "wage"]]
    units = rw.Units(id="id", time="year", unit_level=["gender", "education"])
    known = {"known": ["gender", "education"], "synthetic": "wage", "radius": 0.2}
    models = {"wage": {"model": "linear-regression", "transform": "log"}}
    sampling = {"chains": 4, "draws": 250, "tune": 200}
    fit = fitted(data, ["wage"], ["gender", "education"], units, models, **sampling)
    world = make_world(data, rw.Scenario(**known, inside=True, earlier=True), units)
    rng, of, rows = np.random.default_rng(2), world.arrangement, []
    told = known_by_others(fit, world, None, "shuffled", rng)
    print(pd.DataFrame(told).round(4).to_string(), flush=True)
    thetas = [fit.thetas(*place) for place in spread_draws(4, 250, DRAWS)]
    terms = np.column_stack([terms_of(fit, theta, "wage") for theta in thetas])
    drawn = CopyDraws(np.empty((0, 0, DRAWS)), {"wage": terms}, None)
    without = leave_out(fit, world, drawn, None, of.unit)
    # a fine grid, the same for both fits: two of them differ by more than a person moves
    members._OWN, members._OF_COLUMN = 100, 100
    draw_own = members._drawn_of
    # from the unit on which the posterior depends least to that on which it does most
    order = np.argsort(without.weights.std(axis=1)[np.unique(of.unit, return_index=True)[1]])

    def masses(some, records):
        """Of the balls of a unit's waves given its other waves, and given the earlier ones."""
        even, link = np.full((len(records), DRAWS), 1 / DRAWS), some.prepared.links[0]
        draws = [some.thetas(*place) for place in spread_draws(4, 250, DRAWS)]
        for who in ("inside", "earlier"):
            told = told_of(some, world, link, who, records, draws, even, rng)
            yield told.mass.mean(axis=0)

    for unit in order[np.linspace(0, len(order) - 1, LEFT_OUT).astype(int)].tolist():
        gone = np.flatnonzero(of.unit == unit)
        again = refit_without(fit, world, gone, None, np.random.default_rng(100 + unit))
        # asked of the true values
        again = replace(again, prepared=replace(again.prepared, confidential=data))
        own = draw_own(fit, fit.prepared.links[0], gone, thetas, rng)
        members._drawn_of = lambda *_, own=own: own
        asked = masses(fit, gone), masses(again, gone)
        both = zip(("inside", "earlier"), *asked, strict=True)
        for who, using, own in both:
            weights = without.weights[gone[0]]
            out = weights @ using
            error = math.sqrt(weights**2 @ (using - out) ** 2 + own.var() / DRAWS)
            row = (using.mean() - out, using.mean() - own.mean(), (out - own.mean()) / error)
            rows.append((who, unit, *row, without.pareto_k[gone[0]]))
            print(who, unit, *np.round(rows[-1][2:], 4), flush=True)
    made = pd.DataFrame(rows, columns=["who", "unit", "weights", "refit", "z", "k"])
    for who, some in made.groupby("who"):
        print(who, "correlation", round(some["weights"].corr(some["refit"]), 3))
        print(who, "rms z", round(math.sqrt((some["z"] ** 2).mean()), 2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["rho", "roles", "refits"])
    parser.add_argument("--data")
    given = parser.parse_args()
    warnings.simplefilter("ignore", RiskWeightedWarning)
    {"rho": rho, "roles": roles, "refits": lambda: refits(given.data)}[given.what]()
