"""How each number may be shown: as it is inside the agency; outside only as the rule of its measure
allows, or not at all.

The releasable report is made from tables that hold nothing else (`releasable`): a row whose measure
is not in the registry, or has no rule there, is counted and left out, and so are extremes (the
largest risk, the largest rise). Of the rest

- counts of records below the minimum count m, or that leave fewer than m others, say only that;
  others are rounded to multiples of m, so that no small count is the difference of two;
- quantiles have 3 significant digits, or fewer until m confidential records round to the same
  number;
- overlaps and quantiles of risk have 2 decimals, since intervals could be computed back from finer
  ones.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import with_columns
from riskweighted.common.numbers import SHARE, decimals_for_digits, format_column, shared_digits
from riskweighted.evaluation.main_table import FIT_COLUMNS, summary_columns
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, distinct, statistics_of
from riskweighted.intruder.statuses import find_statuses
from riskweighted.measures.estimates import QUANTILE
from riskweighted.measures.measure import Disclosure, Kind
from riskweighted.measures.registry import measures
from riskweighted.measures.regression_measures import OVERLAP

__all__ = [
    "INTERNAL",
    "MISSING",
    "WITHHELD",
    "View",
    "check_single",
    "key_of",
    "number",
    "outside",
    "quantile_digits",
    "releasable",
    "withheld_note",
]

MISSING = "n/a"
WITHHELD = "not shown"
_DIGITS, _HALF = 5, 0.5
_PLAIN = re.compile(r"-?\d+(\.\d*)?(e[-+]\d+)?")
# measures between 0 and 1
_UNIT: tuple[Kind, ...] = ("mean", "quantile", "extreme", "share", "distance")
_INFLUENCE: tuple[Kind, ...] = ("sum", "extreme", "estimate")  # without a bound: of any size
_SIGNIFICANT = {Disclosure.THREE_DIGITS: 3, Disclosure.FIVE_DIGITS: _DIGITS}
_MANY = 500  # times the minimum count: of so many records a share has three decimals
_DECIMALS = {Disclosure.SHARE: 2, Disclosure.TWO_DECIMALS: 2, Disclosure.THREE_DECIMALS: 3}


def check_single(tables: Mapping[str, pd.DataFrame]) -> None:
    """Refuse tables that give two values of one statistic for one label."""
    for name in ("risk", "utility"):
        rows = list(zip(tables[name]["label"], statistics_of(tables[name]), strict=True))
        if len(set(rows)) < len(rows):
            raise InputError(
                f"the table {name!r} of the run gives a measure of a label more than once"
            )


# of the checks of the fits a part, `View.check`
_SHOWN = ("summary", "risk", "utility", "convergence")


def releasable(
    tables: Mapping[str, pd.DataFrame], labels: Collection[str], variables: Collection[str]
) -> tuple[dict[str, pd.DataFrame], dict[str, list[str]]]:
    """The tables of a run as far as they may be shown outside, and the measures of each that are
    withheld for want of a rule (`key_of`).

    `tables`: "summary", "risk", "utility", "convergence"; no other one is shown. `labels` and
    `variables` are those of the study; rows of others are left out.
    """
    kept = {
        name: tables[name][tables[name]["label"].isin(list(labels))].reset_index(drop=True)
        for name in _SHOWN
    }
    withheld = dict[str, list[str]]()
    for name in ("risk", "utility"):
        statistics = distinct(kept[name])
        ruled = [
            each
            for each in statistics
            if each.measure.disclosure is not None and set(_columns_of(each)) <= set(variables)
        ]
        withheld[name] = [key_of(each) for each in statistics if each not in ruled]
        shown = {each for each in ruled if each.measure.disclosure is not Disclosure.LEFT_OUT}
        rows = kept[name][[each in shown for each in statistics_of(kept[name])]].reset_index(
            drop=True
        )
        numbers = ["value", "lower", "upper", "overlap"]
        kept[name] = with_columns(rows, rows[numbers].apply(pd.to_numeric, errors="coerce"))
    columns = summary_columns(tables["risk"], tables["utility"])
    fits = [column.name for column in FIT_COLUMNS]
    known = {column.name for column in columns if column.measure.disclosure is not None}
    keys = {column.name: key_of(column.statistic) for column in columns}
    withheld["summary"] = [
        keys.get(name, "") for name in tables["summary"] if name not in {"label", *fits, *known}
    ]
    kept["summary"] = kept["summary"][["label", *fits]]
    return kept, withheld


def _columns_of(statistic: Statistic) -> Iterator[str]:
    """The columns that a statistic names."""
    if statistic.variable is not None:
        yield statistic.variable
    if statistic.measure.parameter == "variable":
        yield str(statistic.term)


def key_of(statistic: Statistic) -> str:
    """By what name its measure is registered; "" of one that is not, whose text nobody has
    checked.
    """
    return "" if statistic.unregistered is not None else statistic.measure.key


def withheld_note(keys: Sequence[str]) -> str:
    """What a table says of the measures that it does not show, those by name that are
    registered.
    """
    if not keys:
        return ""
    are, them = (" is", "it") if len(keys) == 1 else ("s are", "them")
    named = f" ({', '.join(dict.fromkeys(filter(None, keys)))})" if any(keys) else ""
    return f"{len(keys)} measure{are} withheld{named}: no rule says how to show {them} outside."


def number(value: object, digits: int = 4) -> str:
    """A number to some significant digits, without powers of ten where it can be read so."""
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return MISSING
    rounded = float(f"{float(value):.{max(digits, 1) - 1}e}")  # type: ignore[arg-type]
    return (
        f"{rounded:.0f}"
        if rounded.is_integer() and abs(rounded) < 1e9
        else _positional(rounded, digits)
    )


def _positional(value: float, digits: int) -> str:
    """Without a power of ten, but where nobody could count the zeros."""
    if not 1e-7 <= abs(value) < 1e12:
        return f"{value:.{digits}g}"
    return np.format_float_positional(value, trim="-")


def unit(value: float, digits: int = 4) -> str:
    """A number between 0 and 1 to 4 decimals, or to so many significant digits where these would be
    zeros.
    """
    if pd.isna(value):
        return MISSING
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.001 else number(value, min(digits, 2))


def _to_digits(value: float, digits: int) -> str:
    """To so many significant digits; of a number below 1 the zeros at its end too."""
    return f"{value:#.{digits}g}" if 0.001 <= abs(value) < 1 else number(value, digits)


def of_variable(value: float, decimals: int) -> str:
    """A number in the digits of its variable, or 4 significant ones where these are more."""
    if pd.isna(value):
        return MISSING
    if not value or not 1e-7 <= abs(value) < 1e12:
        return number(value)
    needed = _DIGITS - 2 - int(np.floor(np.log10(abs(value))))
    return f"{value:.{max(decimals, needed, 0)}f}"


@dataclass(frozen=True)
class View:
    """Who reads the report.

    ``minimum_count``: m, of records in anything that the releasable report shows; ``records``: n;
    ``digits``: significant digits of quantiles in the releasable report, 0 where they are not
    shown; ``decimals``: by variable, how many its values have.
    """

    internal: bool
    minimum_count: int
    records: int
    digits: dict[Statistic, int]
    decimals: dict[str, int] = field(default_factory=dict)

    @property
    def binned(self) -> int | None:
        """What the figures take as `minimum_count`."""
        return None if self.internal else self.minimum_count

    def counted(self, value: float) -> str:
        """A number of records, for people."""
        return _grouped(self.count(value))

    def count(self, value: float) -> str:
        """The same, for a machine."""
        m, n = self.minimum_count, self.records
        if self.internal:
            return number(value, 9)
        if pd.isna(value):
            return MISSING
        if value < m:
            return f"fewer than {m}"
        return f"more than {n - m}" if value > n - m else f"about {m * round(value / m)}"

    def show(self, statistic: Statistic, value: object) -> str:
        """A value of a statistic, or an end of its interval, for a machine: `row` is for people."""
        if self.internal:
            whole = (
                statistic.measure.kind == "count"
                and isinstance(value, float)
                and value.is_integer()
            )
            if (
                statistic.measure.kind == "estimate"
                and statistic.variable in self.decimals
                and not isinstance(value, str)
            ):
                amount = np.nan if value is None else float(value)  # type: ignore[arg-type]
                return of_variable(amount, self.decimals[statistic.variable])
            if statistic.measure.kind in _UNIT and isinstance(value, float):
                return unit(value)
            return number(value, 9 if whole else 4 if statistic.variable is None else _DIGITS)
        rule = statistic.measure.disclosure
        if rule is Disclosure.VERDICT:
            return str(value) if value in ("yes", "warn", "NO") else MISSING
        if (
            rule in (None, Disclosure.LEFT_OUT, Disclosure.COMPARED)
            or self.few(statistic)
            or isinstance(value, str)
        ):
            return WITHHELD
        if value is None or pd.isna(value):
            return MISSING
        figure = float(value)  # type: ignore[arg-type]
        if rule is Disclosure.COUNT:
            return self.count(figure)
        if rule in _DECIMALS:
            return _fixed(figure, self._decimals(rule))
        digits = self._digits(statistic)
        return _to_digits(figure, digits) if digits else WITHHELD

    def row(
        self,
        statistic: Statistic,
        values: Iterable[object],
        errors: Iterable[float] = (),
        *,
        least: int = 0,
        missing: str = MISSING,
    ) -> list[str]:
        """The same of values side by side, for people: with the decimals of the row, and behind
        each its Monte Carlo error.

        `least`: how many decimals there are at least inside the agency.
        """
        given = list(values)
        shown, places = self._evened(
            statistic,
            given,
            [self.show(statistic, value) for value in given],
            self._digits(statistic),
            least,
        )
        behind = [
            format_column([error], places)[0]
            if self.internal and error > 0
            else self.error(statistic, error)
            for error in errors
        ]
        behind = [f" ± {text}" if text and self.internal else text for text in behind]
        texts = [missing if text == MISSING else text for text in shown]
        return [
            text + error for text, error in zip(texts, behind or [""] * len(texts), strict=True)
        ]

    def checks(
        self,
        statistic: Statistic,
        values: Sequence[float],
        records: Sequence[int],
        digits: int | None = None,
    ) -> list[str]:
        """What `check` says of values side by side, for people; each tells of so many records."""
        pairs = zip(values, records, strict=True)
        texts = [
            MISSING if pd.isna(value) else self.check(statistic.key, value, count, digits)
            for value, count in pairs
        ]
        return self._evened(statistic, values, texts, digits or 0)[0]

    def _evened(
        self,
        statistic: Statistic,
        values: Sequence[object],
        texts: Sequence[str],
        digits: int,
        least: int = 0,
    ) -> tuple[list[str], int]:
        """Texts of `show` or `check`, those that are numbers with the same decimals, and how many
        these are; outside no more is told.
        """
        seen = [_PLAIN.fullmatch(text) is not None for text in texts]
        numbers = [
            float(value if self.internal else text)  # type: ignore[arg-type]
            for value, text, ok in zip(values, texts, seen, strict=True)
            if ok
        ]
        places = max(self._places(statistic, numbers, digits), least if self.internal else 0)
        evened = format_column(numbers, places)
        if not self.internal and places:  # whether it is zero is not told
            evened = [
                f"<{10.0**-places:.{places}f}" if number == 0 else text
                for text, number in zip(evened, numbers, strict=True)
            ]
        left = iter(evened)
        return [
            next(left) if ok else _grouped(text) for text, ok in zip(texts, seen, strict=True)
        ], places

    def _places(self, statistic: Statistic, numbers: Sequence[float], digits: int) -> int:
        """The decimals of a row; outside none that the rule of the measure does not allow."""
        measure = statistic.measure
        if not self.internal and measure.disclosure in _DECIMALS:
            return self._decimals(measure.disclosure)
        if measure.kind == "overlap":
            return 2
        if measure.kind == "count":
            return min(1, decimals_for_digits(numbers, 3))
        places = (
            decimals_for_digits(numbers)
            if self.internal or not digits
            else decimals_for_digits(numbers, digits)
        )
        # information is small where weights do their work
        if measure.unbounded and measure.kind in _INFLUENCE:
            return places
        if measure.kind not in ("estimate", "coefficient") or statistic.variable is None:
            return min(SHARE, places)
        return (
            max(places, self.decimals.get(statistic.variable, 0))
            if self.internal and measure.kind == "estimate"
            else places
        )

    def _decimals(self, rule: Disclosure) -> int:
        """How many are shown outside: of a share two, and three where a thousandth of the records
        is half the minimum count.
        """
        many = self.records >= _MANY * self.minimum_count
        return 3 if rule is Disclosure.SHARE and many else _DECIMALS[rule]

    def check(self, check: str, value: float, records: int, digits: int | None = None) -> str:
        """A confidential statistic of a check of a fit, which tells of so many records; `digits`:
        how many of a quantile may be seen.

        A synthetic one is shown alike, as of all records: it tells of none.
        """
        rule = measures()[check].disclosure
        if self.internal:
            return number(value)
        if rule in (None, Disclosure.LEFT_OUT, Disclosure.COMPARED):
            return WITHHELD
        if records < self.minimum_count:
            beyond = f"{'all but ' if value > _HALF else ''}fewer than {self.minimum_count}"
            return beyond if rule is Disclosure.SHARE else WITHHELD
        if rule is Disclosure.SHARED_DIGITS:
            return number(value, digits) if digits else WITHHELD
        return (
            _fixed(value, _DECIMALS[rule])
            if rule in _DECIMALS
            else number(value, _SIGNIFICANT[rule])
        )

    def few(self, statistic: Statistic) -> bool:
        """Whether it may be computed from fewer records than the minimum count."""
        return statistic.measure.share * self.records < self.minimum_count

    def error(self, statistic: Statistic, error: float) -> str:
        """A Monte Carlo error behind its value, outside where that has 3 decimals, rounded up;
        nothing where there is none.
        """
        if pd.isna(error) or error == 0:
            return ""
        if not self.internal:
            coarse = statistic.measure.disclosure is Disclosure.THREE_DECIMALS and not self.few(
                statistic
            )
            return f" ± {np.ceil(1000 * error) / 1000:.3f}" if coarse else ""
        return (
            f" ± {unit(max(error, 1e-4), 1)}"
            if statistic.measure.kind in _UNIT
            else f" ± {number(error, 2)}"
        )

    def overlaps(self, values: Iterable[float], *, missing: str = MISSING) -> list[str]:
        """Overlaps side by side, for people."""
        return self.row(Statistic(OVERLAP.key), values, missing=missing)

    def utility(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table of utility with the digits that may be seen, for figures; what is not shown is
        left out.
        """
        if self.internal:
            return table
        digits = [self._digits(statistic) for statistic in statistics_of(table)]
        kept = table[np.array(digits) > 0].copy()
        for name in ("value", "lower", "upper"):
            kept[name] = [
                float(f"{value:.{d - 1}e}")
                for value, d in zip(kept[name], (d for d in digits if d), strict=True)
            ]
        return kept

    def _digits(self, statistic: Statistic) -> int:
        """Significant digits outside; 0: not shown."""
        rule = statistic.measure.disclosure
        if rule is Disclosure.SHARED_DIGITS:
            return self.digits.get(statistic, 0)
        return _SIGNIFICANT.get(rule, 0)  # type: ignore[arg-type]


INTERNAL = View(True, 1, 0, {})  # where no report is made: numbers as they are


def _grouped(text: str) -> str:
    """Words with a count, its thousands apart."""
    return re.sub(r"\d{4,}", lambda match: f"{int(match[0]):,}", text)


def _fixed(value: float, decimals: int) -> str:
    """With so many decimals; a small negative number is 0, not -0."""
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"


def outside(records: int, minimum_count: int = 10) -> View:
    """Who reads numbers of so many records that leave the agency beside the report."""
    return View(False, minimum_count, records, {})


def quantile_digits(
    utility: pd.DataFrame,
    confidential: pd.DataFrame,
    minimum_count: int,
    codes: Mapping[str, Sequence[float]] | None = None,
) -> dict[Statistic, int]:
    """How many digits of a quantile, and of its interval, at least `minimum_count` confidential
    amounts share; special `codes` are none.
    """
    digits = {}
    of_data = utility[(utility["key"] == QUANTILE.key) & (utility["label"] == CONFIDENTIAL)]
    for statistic, (_, row) in zip(statistics_of(of_data), of_data.iterrows(), strict=True):
        values = find_statuses(
            confidential[row["variable"]], (codes or {}).get(row["variable"], ())
        ).amounts
        ends = row[["value", "lower", "upper"]].to_numpy(dtype=float)
        digits[statistic] = min(shared_digits(end, values, minimum_count) for end in ends)
    return digits
