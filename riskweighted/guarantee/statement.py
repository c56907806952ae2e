"""What the censored pseudo posterior proves: the settings of a guarantee, and the statement that
follows (METHODS section 9.3).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import (
    check_choice,
    check_count,
    check_names,
    check_share,
    check_text,
    is_number,
)
from riskweighted.common.errors import InputError
from riskweighted.common.settings import UNSAID

__all__ = [
    "ADD_DROP",
    "NEIGHBOURS",
    "OF_UNITS",
    "REPLACE",
    "Guarantee",
    "Reference",
    "Statement",
    "epsilon_at",
]

ADD_DROP, REPLACE = "add-drop", "replace"
NEIGHBOURS = (REPLACE, ADD_DROP)
_LEAST, _MOST = 1e-6, 1e6  # of epsilon and M: less is nothing learnt, more nothing proved
# widths of the clip by which one record can move the log posterior
_STEPS = {ADD_DROP: 1, REPLACE: 2}
_TERMS = {ADD_DROP: 1, REPLACE: 0}  # the same of the centring term, in which no value stands
_IN_WORDS = {
    ADD_DROP: "leaving out any one record's contribution",
    REPLACE: "replacing any one record's value by any other",
}

# why units have no guarantee: a clip by record bounds too little, and what is read of members is
# found in their values
OF_UNITS = (
    "units, in which a member's value enters the terms of later members too, by columns whose "
    "centre, scale and blocks are found in the values (leave out [guarantee] or [units])"
)

LogDensity = Callable[[np.ndarray, pd.DataFrame], np.ndarray]


@dataclass(frozen=True)
class Reference:
    """A reference is a public log density r(y), by which contributions to a censored posterior are
    centred so that less is clipped.

    Parameters
    ----------
    distribution : str
        Of scipy.stats, with a density or a probability mass: "norm", "t", "nbinom", ...
    parameters : mapping of name to number
        Its parameters by scipy's names, on the model's scale: ``{"loc": 0, "scale": 1}``; counts of
        mean 80 and size 2 are "nbinom" with ``{"n": 2, "p": 2 / 82}``. They must not be taken from
        the data.

    Examples
    --------
    >>> normal = rw.Reference("norm", {"loc": 10, "scale": 2})
    >>> normal(np.array([10.0, 14.0]), pd.DataFrame(index=range(2))).round(2).tolist()
    [-1.61, -3.61]
    """

    distribution: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text(self.distribution, "distribution")
        if not isinstance(self.parameters, Mapping) or not all(
            is_number(value) for value in self.parameters.values()
        ):
            raise InputError("parameters must be a table of finite numbers by name")
        with np.errstate(all="ignore"):
            valid = bool(np.isfinite(self._made().cdf(0.0)))
        if not valid:
            raise InputError(
                f"parameters of distribution {self.distribution!r} are outside its range: "
                f"{dict(self.parameters)!r}"
            )

    def _made(self) -> Any:
        from scipy import stats

        kind = getattr(stats, self.distribution, None)
        if not isinstance(kind, (stats.rv_continuous, stats.rv_discrete)):
            raise InputError(
                "distribution must be one of scipy.stats, such as 'norm', 't' or 'nbinom', got "
                f"{self.distribution!r}"
            )
        try:
            return kind(**self.parameters)
        except TypeError:
            names = [
                *(kind.shapes or "").replace(",", " ").split(),
                "loc",
                *(["scale"] if isinstance(kind, stats.rv_continuous) else []),
            ]
            raise InputError(
                f"parameters of distribution {self.distribution!r} are {', '.join(names)} (loc "
                "and scale may be left out), "
                f"got {', '.join(self.parameters) or 'none'}"
            ) from None

    def __call__(self, values: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
        """r(y_i) of values (n,) on the model's scale; the frame plays no part."""
        from scipy import stats

        made = self._made()
        return np.asarray(
            made.logpmf(values)
            if isinstance(made.dist, stats.rv_discrete)
            else made.logpdf(values),
            dtype=float,
        )

    @property
    def discrete(self) -> bool:
        """Whether it has a probability mass, rather than a density."""
        from scipy import stats

        return isinstance(self._made().dist, stats.rv_discrete)

    def cut(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Ends (G - 1,) between at most so many cells of about equal probability, at halves of
        whole numbers, and the probability of each of these cells, (G,)."""
        made = self._made()
        ends = np.unique(made.ppf(np.arange(1, count) / count))
        below = made.cdf(ends)
        ends, below = ends[below < 1], below[below < 1]
        return ends + 0.5 if self.discrete else ends, np.diff(np.concatenate([[0.0], below, [1.0]]))


@dataclass(frozen=True)
class Guarantee:
    """A guarantee states the censored pseudo posterior (METHODS section 9.3), by what it must prove
    or by its clip.

    Every record contributes g_i = clip(alpha_i (l_i - r_i), a, b) to the log posterior, with l_i =
    log p(y_i | x_i, theta) and [a, b] = [-M, M]; or [-M, 0] where l_i is the logarithm of a
    probability and r = 0. With w = b - a one released draw of the posterior is w-differentially
    private where a contribution is left out, and 2w where a value is replaced.

    The clip is a weight that biases the model. Where it is centred (METHODS section 9.3) each
    record's contribution is less alpha E_i(theta), the integral of clip(p(y | x_i, theta) / r(y),
    exp(a / alpha), exp(b / alpha)) r(y) over y, in which its value does not stand: 2w holds as
    before, and where a contribution is left out w + 1 - exp(-w).

    Parameters
    ----------
    epsilon : float, optional
        What holds for all L datasets together, > 0. M follows.
    M : float, optional
        The clip, in units of log density, > 0. Give epsilon or M.
    neighbours : {"replace", "add-drop"}, default "replace"
        Which change of one record epsilon is stated for. The number of records and their predictors
        are public under either.
    reference : Reference or callable, optional
        A public log density r; default 0. A callable takes the values on the model's scale (n,) and
        the frame of the public columns, and gives r (n,); it must look at each record alone, and at
        nothing taken from the data.
    delta : float, default 1e-6
        At which epsilon(delta) is stated beside the pure epsilon.
    public : sequence of str
        What may be known to anyone, so that nothing is proved of it: every column that the model
        reads but the synthesized ones, and the name of every synthesized variable of levels, whose
        levels were known beforehand. What is not declared is refused, and so is a declared column
        that gives the sensitive values away (`riskweighted.derived`), for which no reason helps.
    centred : bool, default False
        Whether the clip is centred. Of numbers it needs a `Reference`; of levels none.

    Examples
    --------
    >>> round(rw.Guarantee(epsilon=8.0).statement(L=20).M, 4)
    0.1
    >>> round(rw.Guarantee(epsilon=8.0, neighbours="add-drop", centred=True).statement(L=20).M, 4)
    0.1052
    """

    epsilon: float | None = None
    M: float | None = None
    neighbours: str = REPLACE
    reference: Reference | LogDensity | None = None
    delta: float = 1e-6
    public: Sequence[str] = ()
    centred: bool = field(default=False, metadata=UNSAID)

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", check_names(self.public, "public"))
        if (self.epsilon is None) == (self.M is None):
            raise InputError(
                "epsilon or M must be given, one of the two: the total epsilon over all "
                "datasets, or the clip"
            )
        for name, value in (("epsilon", self.epsilon), ("M", self.M)):
            if value is not None and not (is_number(value) and _LEAST <= value <= _MOST):
                raise InputError(
                    f"{name} must be a finite number > 0, from {_LEAST:g} to {_MOST:g}, got "
                    f"{value!r}"
                )
        check_choice(self.neighbours, NEIGHBOURS, "neighbours")
        check_share(self.delta, "delta")
        if not isinstance(self.centred, bool):
            raise InputError(f"centred must be true or false, got {self.centred!r}")
        if self.reference is not None and not callable(self.reference):
            raise InputError(
                "reference must be a distribution with its parameters, or a function of values "
                "and frame"
            )

    def shared(self, blocks: int) -> "Guarantee":
        """What each of so many blocks of a sequence must prove, so that together they prove this:
        an equal share of epsilon, or of M.
        """
        epsilon, bound = (
            None if whole is None else whole / blocks for whole in (self.epsilon, self.M)
        )
        return replace(self, epsilon=epsilon, M=bound)

    def statement(self, L: int, probability_mass: bool = False) -> "Statement":  # noqa: N803
        """What holds for L datasets; `probability_mass`: whether the model's likelihood is a
        probability, not a density.
        """
        check_count(L)
        below = probability_mass and self.reference is None
        sides = 1 if below else 2
        bound = (
            float(self.M) if self.M is not None else self._bound(float(self.epsilon or 0), L, sides)
        )
        term = _widest_term(sides * bound) if self.centred else 0.0
        return Statement(-bound, 0.0 if below else bound, L, self.neighbours, self.delta, term)

    def _bound(self, epsilon: float, draws: int, sides: int) -> float:
        """The clip, of which so many draws have this epsilon: 2w a draw; or w; or w + 1 - exp(-w),
        whose inverse is by Lambert's W.
        """
        if self.centred and self.neighbours == ADD_DROP:
            from scipy.special import lambertw

            each = epsilon / draws
            return (each - 1 + float(lambertw(math.exp(1 - each)).real)) / sides
        return epsilon / (draws * _STEPS[self.neighbours] * sides)


def _widest_term(width: float) -> float:
    """1 - exp(-w): the range of the centring term of one record, of weights up to 1 (METHODS
    section 9.3).
    """
    return -math.expm1(-width)


def epsilon_at(rho: float, delta: float) -> float:
    """epsilon(delta) of rho-zCDP: rho + 2 sqrt(rho log(1 / delta))."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


@dataclass(frozen=True)
class Statement:
    """A statement says what is proved of L datasets, each drawn with parameters of its own from one
    censored posterior.

    Attributes
    ----------
    lower, upper : float
        [a, b], between which each record's contribution to the log posterior is clipped.
    L : int
    neighbours : {"replace", "add-drop"}
        The relation that the study states; `table` has both.
    delta : float
    term : float
        The range of a record's centring term where the clip is centred; 0 where it is not.

    Examples
    --------
    >>> statement = rw.Guarantee(epsilon=8.0).statement(L=20)
    >>> round(statement.epsilon(), 6), round(statement.width, 3)
    (8.0, 0.2)
    """

    lower: float
    upper: float
    L: int
    neighbours: str = REPLACE
    delta: float = 1e-6
    term: float = 0.0

    @classmethod
    def together(cls, statements: "Sequence[Statement]") -> "Statement":
        """What holds of datasets drawn with the parameters of all blocks: a record adds no more
        than the sum of their clips.
        """
        first = statements[0]
        lower = sum(statement.lower for statement in statements)
        upper = sum(statement.upper for statement in statements)
        return cls(
            lower,
            upper,
            first.L,
            first.neighbours,
            first.delta,
            sum(statement.term for statement in statements),
        )

    @property
    def centred(self) -> bool:
        """Whether the clip is centred."""
        return self.term > 0

    @property
    def M(self) -> float:  # noqa: N802
        """The clip; of a sequence the sum of its blocks' clips."""
        return -self.lower

    @property
    def width(self) -> float:
        """w = b - a: the range of one contribution."""
        return self.upper - self.lower

    def epsilon(self, neighbours: str | None = None, draws: int | None = None) -> float:
        """Pure epsilon of that many released draws (default: all L) under a relation (default: the
        stated one).
        """
        return self._draws(draws) * self._range(neighbours)

    def rho(self, neighbours: str | None = None, draws: int | None = None) -> float:
        """The same in zero-concentrated differential privacy: a bounded range of s gives s^2 / 8 a
        draw.
        """
        return self._draws(draws) * self._range(neighbours) ** 2 / 8

    def _range(self, neighbours: str | None) -> float:
        """By how much, end to end, one record can move the log posterior."""
        relation = neighbours or self.neighbours
        return _STEPS[relation] * self.width + _TERMS[relation] * self.term

    def _draws(self, draws: int | None) -> int:
        return self.L if draws is None else draws

    def table(self) -> pd.DataFrame:
        """Both relations, for one draw and for all L.

        Returns
        -------
        DataFrame
            ``neighbours``; ``stated``: whether the study states this relation; ``datasets``;
            ``epsilon`` (pure); ``rho`` (zCDP); ``delta``; ``epsilon_delta``: epsilon at that delta,
            from rho or pure, the smaller; ``lower``, ``upper``: the clip; where it is centred
            ``term``: the range of the centring term.
        """
        rows = []
        for neighbours in NEIGHBOURS:
            for draws in dict.fromkeys((1, self.L)):
                epsilon, rho = self.epsilon(neighbours, draws), self.rho(neighbours, draws)
                best = min(epsilon, epsilon_at(rho, self.delta))
                stated = neighbours == self.neighbours
                rows.append(
                    (
                        neighbours,
                        stated,
                        draws,
                        epsilon,
                        rho,
                        self.delta,
                        best,
                        self.lower,
                        self.upper,
                    )
                )
        columns = (
            "neighbours",
            "stated",
            "datasets",
            "epsilon",
            "rho",
            "delta",
            "epsilon_delta",
            "lower",
            "upper",
        )
        table = pd.DataFrame(rows, columns=list(columns))
        return table.assign(term=self.term) if self.centred else table

    def sentences(self, target: str = "the sensitive variable") -> tuple[str, ...]:
        """What holds, first, and on what conditions."""
        other = ADD_DROP if self.neighbours == REPLACE else REPLACE
        return (
            f"Proved: {_IN_WORDS[self.neighbours]} of {target} changes the probability of any "
            f"{self.L} synthetic datasets at most by the "
            f"factor exp(epsilon), epsilon = {self.epsilon():.4g} ({self.epsilon(draws=1):.4g} a "
            f"dataset); zCDP rho = {self.rho():.4g}, "
            f"epsilon({self.delta:g}) = "
            f"{min(self.epsilon(), epsilon_at(self.rho(), self.delta)):.4g}. "
            f"Under {_IN_WORDS[other]} epsilon = {self.epsilon(other):.4g}, rho = "
            f"{self.rho(other):.4g}.",
            f"How: each record adds to the log posterior a number clipped to [{self.lower:.4g}, "
            f"{self.upper:.4g}]; {self._centring()}.",
            "It holds for exact, independent posterior draws, whose randomness stays secret: the "
            "error of MCMC is outside the proof. "
            "A person or household with m records has m times this epsilon.",
            "It takes the number of records, what public declares, all unaltered columns and L "
            "as public, and formula, priors, weights, "
            "clip, reference, transform, location, scale, bounds and precision as chosen without "
            "looking at the data.",
            "Outside epsilon: tuning on the data, fits made again (after one that failed, too), "
            "and every table, figure or verdict made "
            "of the confidential data. Epsilons of several schemes, variables or years of the "
            "same persons add up (accountant).",
        )

    def _centring(self) -> str:
        """Whether the clip is centred, in words."""
        if not self.centred:
            return "the clip is not centred, and biases the model"
        return (
            "the clip is centred: less a term that does not depend on the record's value and "
            "that spans at most "
            f"{self.term:.4g}, counted where a contribution is left out"
        )
