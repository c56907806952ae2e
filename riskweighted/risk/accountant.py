"""What several releases come to together: proved epsilons add up, and so, apart, does what is
measured and proves nothing (METHODS 9.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_share, check_text, is_number
from riskweighted.common.errors import InputError
from riskweighted.guarantee.statement import NEIGHBOURS, Statement, epsilon_at
from riskweighted.risk.influence import influence
from riskweighted.sequence.fit import Fit

__all__ = ["EMPIRICAL", "PROVED", "TOTAL", "Release", "accountant"]

PROVED, EMPIRICAL, TOTAL = "proved", "empirical, no guarantee", "all together"


@dataclass(frozen=True)
class Release:
    """A release is what the accountant adds up: L datasets of one scheme, variable or year.

    Parameters
    ----------
    name : str
    L : int
        Number of datasets.
    width : float, optional
        w = b - a of a censored posterior: the range of a record's clipped contribution. The release
        is proved.
    lipschitz : float, optional
        Delta of a pseudo posterior that is not censored (`riskweighted.influence`), the largest
        over records. Nothing is proved; what is added up is 2 Delta a dataset. Give width or
        lipschitz.
    term : float, default 0
        Beside width, where the clip is centred: the range of a record's centring term, which counts
        where a contribution is left out.

    Examples
    --------
    >>> rw.Release("income 2025", L=20, width=0.05)
    Release(name='income 2025', L=20, width=0.05, lipschitz=None, term=0.0)
    """

    name: str
    L: int
    width: float | None = None
    lipschitz: float | None = None
    term: float = 0.0

    def __post_init__(self) -> None:
        check_text(self.name, "name")
        check_count(self.L)
        if (self.width is None) == (self.lipschitz is None):
            raise InputError(
                f"width or lipschitz must be given of release {self.name!r}, one of the two"
            )
        for what, value in (("width", self.width), ("lipschitz", self.lipschitz)):
            if value is not None and not (is_number(value) and value > 0):
                raise InputError(
                    f"{what} of release {self.name!r} must be a finite number > 0, got {value!r}"
                )
        if not (is_number(self.term) and self.term >= 0) or (self.term and self.width is None):
            raise InputError(
                f"term of release {self.name!r} must be a finite number >= 0, beside a width, "
                f"got {self.term!r}"
            )

    @classmethod
    def of(cls, name: str, made: "Statement | Fit", L: int | None = None) -> "Release":  # noqa: N803
        """The release of L datasets of a fit without a guarantee; of one with it, or of its
        statement, all that it is stated for count.
        """
        statement = made.statement if isinstance(made, Fit) else made
        if isinstance(made, Fit):
            made.ledger()  # which refuses a fit whose statement was changed
        if statement is not None:
            if L is not None and L != statement.L:
                raise InputError(
                    f"L of release {name!r} must be {statement.L}, for which its guarantee is "
                    f"stated: all count; got {L}"
                )
            return cls(name, statement.L, width=statement.width, term=statement.term)
        if L is None or not isinstance(made, Fit):
            raise InputError(
                f"L of release {name!r} must be given: its fit has no guarantee that states how "
                "many datasets are released"
            )
        return cls(name, L, lipschitz=float(influence(made)["lipschitz"].max()))

    def statement(self) -> Statement | None:
        """What is proved of it."""
        return None if self.width is None else Statement(-self.width, 0.0, self.L, term=self.term)


def accountant(
    releases: Sequence[Release] | Mapping[str, "Statement | Fit"], delta: float = 1e-6
) -> pd.DataFrame:
    """Return what releases about the same persons come to: schemes, variables, years (METHODS
    section 9.3).

    Parameters
    ----------
    releases : sequence of Release, or mapping of name to Statement or to Fit with a guarantee
    delta : float

    Returns
    -------
    DataFrame
        One row per release and relation, and one for all together of each kind: ``kind`` ("proved";
        "empirical, no guarantee"), ``release``, ``neighbours`` ("replace", "add-drop"; "fixed
        alpha" of the empirical kind), ``datasets``, ``epsilon``, ``rho`` (zCDP), ``delta``,
        ``epsilon_delta``: epsilon at delta, of the sum of rho or pure, the smaller. Empirical
        releases have an epsilon alone, 2 L Delta: a maximum over posterior draws at fixed weights,
        which bounds nothing. It is never added to what is proved.

    Raises
    ------
    InputError
        If there is no release, or two have the same name.

    Examples
    --------
    >>> table = rw.accountant(
    ...     [rw.Release("income 2024", L=5, width=0.1), rw.Release("income 2025", L=5, width=0.1)]
    ... )
    >>> table[["release", "neighbours", "epsilon"]].round(2)
            release neighbours  epsilon
    0   income 2024    replace      1.0
    1   income 2025    replace      1.0
    2  all together    replace      2.0
    3   income 2024   add-drop      0.5
    4   income 2025   add-drop      0.5
    5  all together   add-drop      1.0
    """
    check_share(delta, "delta")
    listed = (
        [Release.of(name, made) for name, made in releases.items()]
        if isinstance(releases, Mapping)
        else list(releases)
    )
    if not listed or not all(isinstance(release, Release) for release in listed):
        raise InputError("releases must be at least one Release, or statements by name")
    names = [release.name for release in listed]
    if len(set(names)) < len(names):
        raise InputError(
            "releases must have different names, and "
            f"{next(name for name in names if names.count(name) > 1)!r} is there twice"
        )
    proved = [
        (release.name, stated) for release in listed if (stated := release.statement()) is not None
    ]
    rows = [
        row for neighbours in NEIGHBOURS for row in _proved(proved, neighbours, delta)
    ] + _empirical(listed)
    columns = (
        "kind",
        "release",
        "neighbours",
        "datasets",
        "epsilon",
        "rho",
        "delta",
        "epsilon_delta",
    )
    return pd.DataFrame(rows, columns=list(columns))


def _proved(
    stated: Sequence[tuple[str, Statement]], neighbours: str, delta: float
) -> list[tuple[object, ...]]:
    parts = [
        (name, statement.L, statement.epsilon(neighbours), statement.rho(neighbours))
        for name, statement in stated
    ]
    if parts:
        parts.append(
            (
                TOTAL,
                sum(part[1] for part in parts),
                sum(part[2] for part in parts),
                sum(part[3] for part in parts),
            )
        )
    return [
        (PROVED, name, neighbours, L, eps, rho, delta, min(eps, epsilon_at(rho, delta)))
        for name, L, eps, rho in parts
    ]


def _empirical(releases: Sequence[Release]) -> list[tuple[object, ...]]:
    parts = [
        (release.name, release.L, 2 * release.L * release.lipschitz)
        for release in releases
        if release.lipschitz is not None
    ]
    if parts:
        parts.append((TOTAL, sum(part[1] for part in parts), sum(part[2] for part in parts)))
    return [
        (EMPIRICAL, name, "fixed alpha", L, epsilon, np.nan, np.nan, np.nan)
        for name, L, epsilon in parts
    ]
