"""The definitions of METHODS sections 1-3, written out as loops over records, and small random data
to try them on.

Nothing here comes from the package: settings are plain dicts with the names of a Scenario's fields.
Slow on purpose.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

DEFAULTS = {
    "known": (),
    "radius": 0.2,
    "radius_kind": "relative",
    "boundary": "closed",
    "singletons": "protect",
    "min_radius": 0.0,
    "categorical": (),
    "allow_wide": True,
}


def rows(frame):
    """The records as dicts of Python values."""
    columns = {name: list(frame[name]) for name in frame.columns}
    return [{name: columns[name][i] for name in columns} for i in range(len(frame))]


def level(value):
    """A known value; None, NaN and pd.NA are one level of their own."""
    if value is None or value is pd.NA or value is pd.NaT:
        return ("missing",)
    if isinstance(value, float) and value != value:
        return ("missing",)
    return ("value", value)


def pattern(records, i, known):
    """M_i: the positions of the records that agree with record i on every known variable."""
    return [
        h
        for h in range(len(records))
        if all(level(records[h][v]) == level(records[i][v]) for v in known)
    ]


def is_number(value):
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.bool_)
    )


def lies_in(candidate, centre, variable, settings):
    """Whether one value lies in the ball around another one."""
    if variable in settings["categorical"] or not is_number(centre):
        return candidate == centre
    candidate, centre = float(candidate), float(centre)
    radius = settings["radius"]
    if isinstance(radius, dict):
        radius = radius[variable]
    half = float(radius) if settings["radius_kind"] == "absolute" else float(radius) * abs(centre)
    if half < settings["min_radius"]:
        half = float(settings["min_radius"])
    if candidate == centre:
        return settings["boundary"] == "closed" or half > 0 or radius == 0
    if settings["boundary"] == "open":
        return centre - half < candidate < centre + half
    return centre - half <= candidate <= centre + half


def inside(candidate, centre, settings):
    """Whether one record lies in the box of balls around another one, or is that."""
    return candidate is centre or all(
        lies_in(candidate[v], centre[v], v, settings) for v in settings["synthetic"]
    )


def _setup(frame, settings):
    settings = DEFAULTS | settings
    for name in ("known", "synthetic", "categorical"):
        if isinstance(settings[name], str):
            settings[name] = (settings[name],)
    return rows(frame), settings


def confidential_risk(frame, settings):
    """IR_i^c = #{h in M_i : y_h not in B_i} / |M_i| (Hu et al. 2022, eq. 2)."""
    records, settings = _setup(frame, settings)
    risk = []
    for i, centre in enumerate(records):
        members = pattern(records, i, settings["known"])
        outside = [h for h in members if not inside(records[h], centre, settings)]
        alone = len(members) == 1 and settings["singletons"] == "protect"
        risk.append(1.0 if alone else len(outside) / len(members))
    return np.array(risk)


def synthetic_risk(frame, synthetic, settings):
    """IR_i^(l) = #{h in M_i : y*_h not in B_i} / |M_i| * T_i^(l) (Hu et al. 2022, eq. 1), one
    synthetic dataset.
    """
    records, settings = _setup(frame, settings)
    released = rows(synthetic)
    risk = []
    for i, centre in enumerate(records):
        members = pattern(records, i, settings["known"])
        outside = [h for h in members if not inside(released[h], centre, settings)]
        found = 1 if inside(released[i], centre, settings) else 0
        alone = len(members) == 1 and settings["singletons"] == "protect"
        risk.append(found if alone else len(outside) / len(members) * found)
    return np.array(risk)


def marginal_weights(frame, settings):
    """alpha_i = 1 - IR_i^c (Hu et al. 2022, eq. 3)."""
    return np.array([1.0 - risk for risk in confidential_risk(frame, settings)])


def pairwise_weights(frame, settings):
    """alpha_i = 1 - sum_{j != i} IR_ij^c / (M - 1), every pair formed (Hu et al. 2022, eq. 6-9)."""
    records, settings = _setup(frame, settings)
    alpha = []
    for i in range(len(records)):
        members = pattern(records, i, settings["known"])
        if len(members) == 1:
            alpha.append(0.0 if settings["singletons"] == "protect" else 1.0)
            continue
        total = 0.0
        for j in members:
            if j != i:
                missed = 0
                for h in members:
                    if not inside(records[h], records[i], settings) and not inside(
                        records[h], records[j], settings
                    ):
                        missed += 1
                total += missed / len(members)
        alpha.append(1.0 - total / (len(members) - 1))
    return np.array(alpha)


def kway_weights(frame, settings, k):
    """One minus the mean joint risk over every tuple of record i and k - 1 others; k > M uses M."""
    records, settings = _setup(frame, settings)
    alpha = []
    for i in range(len(records)):
        members = pattern(records, i, settings["known"])
        if len(members) == 1:
            alpha.append(0.0 if settings["singletons"] == "protect" else 1.0)
            continue
        others = [j for j in members if j != i]
        risks = []
        for chosen in combinations(others, min(k, len(members)) - 1):
            missed = [
                h
                for h in members
                if not any(inside(records[h], records[j], settings) for j in (i, *chosen))
            ]
            risks.append(len(missed) / len(members))
        alpha.append(1.0 - sum(risks) / len(risks))
    return np.array(alpha)


# Small random data: zeros, negatives, ties, values on a ball's boundary, every dtype that a known
# variable may have.

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 8.0, 10.0, 12.0, 12.5, -8.0, -10.0, -12.0, 1e-300, 1e9]),
    st.integers(-6, 6).map(float),
    st.floats(-1e6, 1e6),
)

KNOWN = {
    "object": (["a", "b", None, np.nan, pd.NA], object),
    "string": (["a", "b", pd.NA], "string"),
    "category": (["b", "a", None], "category"),
    "integer": ([1, 2], "int64"),
    "float": ([1.5, -1.5, np.nan], "float64"),
    "nullable integer": ([1, 2, pd.NA], "Int64"),
    "nullable boolean": ([True, False, pd.NA], "boolean"),
}

INDEXES = {
    "range": range,
    "shuffled": lambda n: [10 * (n - i) for i in range(n)],
    "string": lambda n: [f"id{i}" for i in range(n)],
    "repeated": lambda n: [i // 2 for i in range(n)],
}


@st.composite
def settings(draw, numeric=True, coded=False):
    """A scenario's settings for data of `frames`: sensitive y (numeric) and/or g (codes)."""
    known = draw(st.sampled_from([(), ("a",), ("a", "b")]))
    synthetic = (("y",) if numeric else ()) + (("g",) if coded else ())
    kind = draw(st.sampled_from(["relative", "absolute"]))
    radius = draw(st.sampled_from([0.0, 0.2, 0.25, 0.5, 1.0, 1.5, 3.0]))
    return {
        "known": known,
        "synthetic": synthetic,
        "radius": {"y": radius} if numeric and draw(st.booleans()) else radius,
        "radius_kind": kind,
        "boundary": draw(st.sampled_from(["closed", "open"])),
        "singletons": draw(st.sampled_from(["protect", "paper"])),
        "min_radius": draw(st.sampled_from([0.0, 0.0, 2.0])),
        "categorical": ("g",) if coded else (),
        "allow_wide": True,
    }


@st.composite
def frames(draw, max_size=9):
    """Confidential data: known a, b (any dtype), sensitive y (numbers) and g (codes)."""
    n = draw(st.integers(1, max_size))
    columns = {}
    for name in ("a", "b"):
        levels, dtype = KNOWN[draw(st.sampled_from(sorted(KNOWN)))]
        values = draw(st.lists(st.sampled_from(levels), min_size=n, max_size=n))
        columns[name] = pd.Series(values, dtype=dtype)
    columns["y"] = pd.Series(draw(st.lists(NUMBERS, min_size=n, max_size=n)), dtype="float64")
    columns["g"] = pd.Series(
        draw(st.lists(st.sampled_from([1, 2, 3]), min_size=n, max_size=n)), dtype="int64"
    )
    frame = pd.DataFrame(columns)
    frame.index = pd.Index(INDEXES[draw(st.sampled_from(sorted(INDEXES)))](n))
    return frame


@st.composite
def released(draw, frame):
    """A synthetic copy of such data: y and g drawn anew, partly from the confidential values and
    their boundaries.
    """
    n = len(frame)
    near = [v * f for v in frame["y"] for f in (0.8, 1.0, 1.2, 0.75, 1.25)]
    y = draw(st.lists(st.one_of(st.sampled_from(near), NUMBERS), min_size=n, max_size=n))
    g = draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=n, max_size=n))
    return frame.assign(y=np.array(y, dtype=float), g=np.array(g))


# What every refusal has in common: one line, it names what was wrong, and it shows no confidential
# value.

SECRET = 987654.321


def assert_clear(caught, *named):
    """Check the message of an error that `pytest.raises` caught on data that holds SECRET."""
    message = str(caught.value)
    assert message
    assert "\n" not in message
    for name in named:
        assert name in message, message
    for shown in ("987654", "987_654", "987,654", "654.321", "9.87654"):
        assert shown not in message, message
