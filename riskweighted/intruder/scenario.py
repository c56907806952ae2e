"""The intruder's scenario: what is known, what is synthesized, and how close counts as close."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_choice, check_names, check_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.found import found_number, is_found
from riskweighted.common.frames import refuse_infinite, require_columns
from riskweighted.common.groups import most_categories
from riskweighted.common.html_repr import html_repr
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.settings import UNSAID, read_by
from riskweighted.intruder.disguise import refuse_disguised_numbers
from riskweighted.intruder.statuses import Statuses, check_codes, find_statuses

__all__ = ["Balls", "Scenario"]


class Balls(NamedTuple):
    """Closed intervals around the confidential values of one numeric variable; ``lower`` and
    ``upper``, each (n,).
    """

    lower: np.ndarray
    upper: np.ndarray


Kind = Literal["relative", "absolute"]
_OF_BALLS = read_by("world", "weighing", why="who shares whose known pattern does not depend on it")
_OF_SINGLETONS = read_by(
    "world", "weighing", "checked", why="known patterns are the same; it may refuse the data"
)
_OF_MEMBERS = UNSAID | read_by("world", why="disclosure, which asks the world, alone reads it")
_KINDS = ("relative", "absolute")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A scenario says what the intruder knows and how close counts as close (Hu et al. 2022,
    section 2.1).

    Parameters
    ----------
    known : str or sequence of str
        Variables whose true values the intruder holds. Their observed intersections are the *known
        patterns*; a missing value is a level of its own. Empty: all records form one pattern.
    synthetic : str or sequence of str
        Variables that are replaced. A numeric one is matched inside a ball around the confidential
        value, any other one (text, category, boolean, or named in `categorical`) by equality. A
        missing value is near a missing one only.
    radius : float or mapping of str to float, default 0.2
        Half-width of the ball: a share of abs(y) (``radius_kind="relative"``, Hu et al. 2022: 20 %
        of income) or a number in the variable's own units (``"absolute"``). A mapping gives one
        radius per numeric synthetic variable.
    radius_kind : {"relative", "absolute"} or mapping of str to one of them, default "relative"
        A mapping gives the kind of each numeric synthetic variable; one that it leaves out is
        relative.
    boundary : {"closed", "open"}
        Whether a value exactly on the boundary lies in the ball. ``"open"`` is the rule of the R
        package IdentificationRiskCalculation. Radius 0 asks for equality under both rules; a share
        of a value of zero makes an open ball that holds the record alone.
    singletons : {"protect", "paper", "error"}
        A record alone in its pattern: ``"protect"`` sets its confidential risk to 1 and its weight
        to 0, ``"paper"`` follows eq. 2 as printed (risk 0, weight 1), ``"error"`` refuses.
    min_radius : float or mapping of str to float, default 0
        Floor of the half-width in the variable's units, for values near zero. A mapping gives that
        of each numeric synthetic variable in its own units; one that it leaves out has none. Like a
        radius and codes, it may be marked as found in the data, ``[500, "found"]``: a release then
        says that, and not the number.
    categorical : str or sequence of str
        Synthetic variables to be matched by equality although they look like measurements: numbers
        that are codes, or text of more different values than a fifth of the records (and than 20).
    codes : mapping of str to float or sequence of float
        Special codes of numeric synthetic variables, such as -8 for "does not apply". They are no
        amounts: a code is near the same code only, whatever the radius, and no amount is near it.
    allow_wide : bool, default False
        Whether a relative radius may be 1 or more, which leaves hardly any value outside and so
        protects nobody.
    inside : bool, default False
        Of records in units: whether disclosure is also measured for an intruder who belongs to the
        unit and knows every value of it but the one that is guessed.
    earlier : bool, default False
        Of a panel: whether it is also measured for an intruder who knows all earlier waves.

    Raises
    ------
    InputError
        If a setting is not valid; the message lists what is.

    Examples
    --------
    >>> scenario = rw.Scenario(known=["region", "age_band"], synthetic="income", radius=0.2)
    >>> scenario.radius_of("income"), scenario.kind_of("income")
    (0.2, 'relative')
    """

    known: Sequence[str] = ()
    synthetic: Sequence[str] = field(
        metadata=read_by(
            *("patterns", "world", "weighing", "prepared", "checked"),
            why="the models are those of these variables",
        )
    )
    radius: float | Mapping[str, float] = field(default=0.2, metadata=_OF_BALLS)
    radius_kind: Kind | Mapping[str, Kind] = field(default="relative", metadata=_OF_BALLS)
    boundary: Literal["closed", "open"] = field(default="closed", metadata=_OF_BALLS)
    singletons: Literal["protect", "paper", "error"] = field(
        default="protect", metadata=_OF_SINGLETONS
    )
    min_radius: float | Mapping[str, float] = field(default=0.0, metadata=_OF_BALLS)
    categorical: Sequence[str] = ()
    codes: Mapping[str, float | Sequence[float]] = field(default_factory=dict, hash=False)
    allow_wide: bool = field(default=False, metadata=_OF_BALLS)
    inside: bool = field(default=False, metadata=_OF_MEMBERS)
    earlier: bool = field(default=False, metadata=_OF_MEMBERS)

    def __post_init__(self) -> None:
        for what in ("known", "synthetic", "categorical"):
            object.__setattr__(self, what, check_names(getattr(self, what), what))
        if not self.synthetic:
            raise InputError("synthetic names no variable: name at least one that is replaced")
        both = [name for name in self.synthetic if name in self.known]
        if both:
            raise InputError(f"{listing(both)} cannot be both known and synthetic")
        self._require_synthetic(self.categorical, "categorical")
        check_choice(self.boundary, ("closed", "open"), "boundary")
        check_choice(self.singletons, ("protect", "paper", "error"), "singletons")
        for what in ("radius", "min_radius"):
            given = getattr(self, what)
            several = isinstance(given, Mapping)
            read = (
                {name: found_number(each) for name, each in given.items()}
                if several
                else found_number(given)
            )
            object.__setattr__(self, what, read)
        for what in ("radius", "min_radius"):
            for radius in self._by_variable(what):
                check_number(radius, what, least=0)
        for kind in self._by_variable("radius_kind"):
            check_choice(kind, _KINDS, "radius_kind")
        object.__setattr__(self, "codes", check_codes(self.codes))
        self._require_synthetic(self.codes, "codes")
        both = [name for name in self.codes if name in self.categorical]
        if both:
            raise InputError(
                f"codes names {listing(both)}, which categorical matches by equality anyway; "
                "name it in one of them"
            )
        self._refuse_wide()
        for what in ("inside", "earlier"):
            if not isinstance(getattr(self, what), bool):
                raise InputError(f"{what} must be true or false, got {getattr(self, what)!r}")

    def _repr_html_(self) -> str:
        knows = (
            f"The intruder knows {listing(self.known)} and looks for {listing(self.synthetic)}."
            if self.known
            else "The intruder knows nothing."
        )
        shown = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("known", "synthetic")
        }
        plain = {name: value for name, value in shown.items() if value not in (None, (), {}, "")}
        return html_repr("Scenario", [knows], plain)

    def _refuse_wide(self) -> None:
        """A share of 1 and more is nearly always a percentage, and everything within it: no
        protection at all.
        """
        if not isinstance(self.allow_wide, bool):
            raise InputError(f"allow_wide must be true or false, got {self.allow_wide!r}")
        names = self.radius if isinstance(self.radius, Mapping) else self.synthetic
        wide = [
            name for name in names if self.kind_of(name) == "relative" and self.radius_of(name) >= 1
        ]
        if wide and not self.allow_wide:
            raise InputError(
                f"radius of {listing(wide)} is relative and {self.radius_of(wide[0]):g}, but a "
                "share of the value must be below 1 (0.2 is "
                "20 %): no value would be far; set allow_wide if it is meant, or radius_kind to "
                "'absolute'"
            )

    def _require_synthetic(self, names: Iterable[str], what: str) -> None:
        stray = [name for name in names if name not in self.synthetic]
        if stray:
            raise InputError(
                f"{what} names {listing(stray)}; valid are the synthetic variables "
                f"{listing(self.synthetic)}"
            )

    def _by_variable(self, what: str) -> list[object]:
        """The values of a setting that is one for all variables or a mapping, which becomes our own
        copy.
        """
        given = getattr(self, what)
        if not isinstance(given, Mapping):
            return [given]
        self._require_synthetic(given, what)
        object.__setattr__(self, what, dict(given))
        return list(given.values())

    def only(self, variables: str | Sequence[str]) -> "Scenario":
        """The same scenario for some of the synthetic variables; what any setting says of the
        others is left out.
        """
        kept = check_names(variables, "variables")
        self._require_synthetic(kept, "variables")
        if not kept:
            raise InputError(
                f"variables names none; valid are the synthetic variables {listing(self.synthetic)}"
            )
        dropped = set(self.synthetic) - set(kept)
        restricted: dict[str, Any] = {}
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, Mapping):
                restricted[setting.name] = {
                    name: of_variable for name, of_variable in value.items() if name not in dropped
                }
            elif isinstance(value, tuple):
                restricted[setting.name] = tuple(name for name in value if name not in dropped)
        return replace(self, **restricted)

    def radius_of(self, variable: str) -> float:
        """The radius for one numeric synthetic variable."""
        if not isinstance(self.radius, Mapping):
            return self.radius if is_found(self.radius) else float(self.radius)
        if variable not in self.radius:
            raise InputError(f"radius gives none for {variable!r}; it has {listing(self.radius)}")
        radius = self.radius[variable]
        return radius if is_found(radius) else float(radius)

    def min_radius_of(self, variable: str) -> float:
        """The least half-width for one numeric synthetic variable, in its units."""
        least = (
            self.min_radius.get(variable, 0.0)
            if isinstance(self.min_radius, Mapping)
            else self.min_radius
        )
        return least if is_found(least) else float(least)

    def kind_of(self, variable: str) -> Kind:
        """Whether the radius of a numeric synthetic variable is a share of its value or a number in
        its units.
        """
        return (
            self.radius_kind.get(variable, "relative")
            if isinstance(self.radius_kind, Mapping)
            else self.radius_kind
        )

    def is_numeric(self, column: pd.Series) -> bool:
        """Whether a synthetic variable is matched in a ball (numbers) rather than by equality
        (codes, text).
        """
        dtype = column.dtype
        numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        return numeric and column.name not in self.categorical

    def codes_of(self, variable: str) -> tuple[float, ...]:
        """The special codes of a numeric synthetic variable."""
        given: tuple[float, ...] = self.codes.get(variable, ())  # type: ignore[assignment]  # as `check_codes` leaves them
        return given

    def statuses(self, column: pd.Series) -> Statuses:
        """Which values of a numeric synthetic variable are amounts, missing or special codes, and
        the amounts; (n,) each.
        """
        return find_statuses(column, self.codes_of(str(column.name)))

    def balls(
        self, variable: str, values: np.ndarray, is_amount: np.ndarray | bool = True
    ) -> Balls:
        """Ball of every amount (METHODS section 1): [y - r abs(y), y + r abs(y)] on the original
        scale.

        An open ball is returned as the closed one between the next floating-point numbers, so that
        one search serves both rules; one of no width (a share of zero) holds nothing, and its lower
        end is the number after its upper end. What stands in the place of missing values and codes
        (where not `is_amount`) holds itself.
        """
        half = np.full(len(values), float(self.radius_of(variable)))
        if self.kind_of(variable) == "relative":
            half *= np.abs(values)
        half = np.maximum(half, float(self.min_radius_of(variable)))
        lower, upper = values - half, values + half
        if self.boundary == "open":
            empty = (half == 0) & (self.radius_of(variable) > 0) & is_amount
            lower = np.where(
                empty, np.nextafter(values, np.inf), np.minimum(np.nextafter(lower, np.inf), values)
            )
            upper = np.where(empty, values, np.maximum(np.nextafter(upper, -np.inf), values))
        return Balls(lower, upper)

    def check(self, data: Frame, what: str = "confidential data") -> None:
        """Refuse data that lacks a column of the scenario, repeats one, is empty, or has unusable
        sensitive values: nothing but missing values and special codes.
        """
        data = as_pandas(data)
        require_columns(data, (*self.known, *self.synthetic), what)
        for name in self.synthetic:
            if name not in self.categorical:
                _require_plain(data[name], what)
            self._require_values(data[name], what)

    def _require_values(self, column: pd.Series, what: str) -> None:
        n, missing = len(column), int(column.isna().sum())
        if missing == n:
            raise InputError(
                f"{what}: {column.name!r} is missing in {n} of {n} records; leave it out of "
                "synthetic"
            )
        if not self.is_numeric(column):
            if column.name in self.codes:
                raise InputError(
                    f"{what}: {column.name!r} has dtype {column.dtype}, but codes names it: "
                    "special codes are for numbers"
                )
            return
        refuse_infinite(column, what)
        if not self.statuses(column).is_amount.any():
            raise InputError(
                f"{what}: {column.name!r} holds missing values and special codes only; name it "
                "in categorical, without codes"
            )


def _require_plain(column: pd.Series, what: str) -> None:
    """Refuse what is neither numbers nor categories, and numbers stored as text: equality would be
    the wrong match.
    """
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return
    # a statement of its own, unless nearly every record has its own level
    if isinstance(dtype, pd.CategoricalDtype):
        if column.nunique() > most_categories(len(column)):
            refuse_disguised_numbers(column, what)
        return
    if (
        pd.api.types.is_complex_dtype(dtype)
        or pd.api.types.is_datetime64_any_dtype(dtype)
        or pd.api.types.is_timedelta64_dtype(dtype)
    ):
        raise InputError(
            f"{what}: {column.name!r} has dtype {dtype}; a synthetic variable must be numbers, "
            "text or categories"
        )
    if pd.api.types.is_numeric_dtype(dtype):
        return
    kinds = sorted({type(value).__name__ for value in column.dropna()} - {"str", "bool"})
    if kinds:
        raise InputError(
            f"{what}: {column.name!r} holds values of type {listing(kinds)}; convert them to "
            "float or to text"
        )
    refuse_disguised_numbers(column, what)
