"""What every number of a report means: definition, boundary rule, interval rule, and which way is
worse.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from riskweighted.common.found import NOT_SHOWN, is_found
from riskweighted.common.numbers import exactly
from riskweighted.common.text import plain
from riskweighted.evaluation.main_table import (
    CONVERGED,
    FITS,
    LARGEST_R_HAT,
    MEAN_WEIGHT,
    SummaryColumn,
)
from riskweighted.evaluation.measure_rows import Statistic
from riskweighted.intruder.scenario import Scenario
from riskweighted.measures.registry import measures
from riskweighted.reports.page_blocks import Term
from riskweighted.reports.wording import (
    capital,
    define,
    define_confidential,
    half_width,
    in_words,
    rules,
    symbol_of,
)
from riskweighted.runs.finished import FinishedRun
from riskweighted.sampling.convergence import ESS_LIMIT, R_HAT_LIMIT
from riskweighted.sampling.loo import K_LIMIT

__all__ = [
    "FIXED",
    "RISKIER",
    "Glossary",
    "RunGlossary",
    "ball_rule",
    "codes_in_words",
    "direction_of",
]

RISKIER = "Higher is riskier."
_HU = (
    "Hu et al. 2022 is Hu, Savitsky and Williams, Risk-efficient Bayesian data synthesis for "
    "privacy protection, Journal of Survey "
    "Statistics and Methodology."
)
_ALL_RECORDS = "None: computed from all records, not from a sample."
_MONTE_CARLO = (
    "None: computed from all records; the number after the sign ± is the Monte Carlo standard "
    "error over posterior draws."
)
_NEITHER = "Neither high nor low is better by itself."
_CLOSER = f"Closer to the confidential estimate is more useful; {_NEITHER.lower()}"
DIRECTION = {
    "riskier": RISKIER,
    "safer": "Higher is safer.",
    "worse": "Lower is better.",
    "less useful": "Lower is more useful.",
    "more useful": "Higher is more useful.",
    "neither": _CLOSER,
}
FIXED = {  # by key: title, definition, boundary, direction
    "bin-records": (
        "Records in a bin",
        "Records whose value lies in the bin.",
        "The lower edge belongs to the bin, the upper one does not; 'open' is a bin without end.",
        "",
    ),
    "bin-share": (
        "Share of records",
        "Records of synthetic datasets in the bin over all their records, mean over the datasets.",
        "The lower edge belongs to the bin, the upper one does not.",
        "Closer to the confidential share is more useful.",
    ),
    "weight": (
        "Weight",
        "alpha, the power of a record's likelihood in the pseudo posterior, from 0 to 1; means "
        "are over records.",
        "",
        "Lower lets the model learn less of the record; 1 keeps all of the likelihood. Weights do "
        "not lower disclosure (D) over all records.",
    ),
    "rise": (
        "Rise",
        "Expected risk of a record under the scheme minus its risk under the unweighted one.",
        "",
        RISKIER,
    ),
    "risk": (
        "Expected identification risk",
        "E[IR] of a record, from 0 to 1. IR: if its own synthetic value lies in the ball about "
        "its confidential value, the share of "
        "its known pattern whose synthetic values lie outside that ball, else 0 (Hu et al. 2022, "
        "eq. 1). E: its mean over posterior draws "
        "and all datasets that each could give, so the mechanism's risk and not that of the "
        "datasets at hand. Of the "
        "confidential data: the share of its pattern whose confidential values lie outside (Hu "
        "et al. 2022, eq. 2).",
        "",
        RISKIER,
    ),
    "r-hat": (
        "R-hat",
        "Rank-normalised split R-hat: variance between against within chains.",
        f"At most {R_HAT_LIMIT:g} passes, or what chance alone gives so many quantities of "
        "chains that agree (METHODS section 5.13).",
        "Lower is better.",
    ),
    "ess": (
        "Effective sample size",
        "How many independent draws the correlated draws of all chains are worth, for the bulk "
        "or for the tails.",
        f"At least {ESS_LIMIT:g} in the bulk passes.",
        "Higher is better.",
    ),
    "pareto-k": (
        "Pareto k-hat",
        "Of draws made without chains: the shape of the tail of their importance weights.",
        f"At most {K_LIMIT:g} passes.",
        "Lower is better.",
    ),
    "divergences": (
        "Divergences",
        "Steps of the sampler that went astray.",
        "Above 0.5 % of the draws fail.",
        "Lower is better.",
    ),
    "overlap": (
        "Overlap",
        "Mean of the shares of the two intervals, confidential and synthetic, that both hold "
        "(Karr et al. 2006).",
        "1 is identical, 0 is disjoint.",
        "Higher is more useful.",
    ),
    "interval": (
        "Interval",
        "Where the estimate could lie, at the probability of the settings (evaluation.level).",
        "Both ends belong to it.",
        "",
    ),
    "estimate": (
        "Estimate",
        "The statistic that its row names, in the units of its variable.",
        "",
        _CLOSER,
    ),
}


def codes_in_words(codes: Mapping[str, tuple[float, ...]], internal: bool) -> str:
    """Special codes of variables; outside the agency those that were found in the data are not
    shown.
    """
    hidden = [name for name, of_name in codes.items() if is_found(of_name) and not internal]
    shown = (
        f"{exactly(code)} of {name}"
        for name, of_name in codes.items()
        if name not in hidden
        for code in of_name
    )
    return ", ".join([*shown, *(f"of {name}, {NOT_SHOWN}" for name in hidden)])


def ball_rule(scenario: Scenario, internal: bool = True) -> str:
    """How close is close, in a sentence; `internal`: as for `half_width`."""
    width = half_width(scenario, internal)
    edge = "inside" if scenario.boundary == "closed" else "outside"
    sides = f"a value exactly on its edge counts as {edge} ({scenario.boundary} ball)"
    codes = codes_in_words({name: scenario.codes_of(name) for name in scenario.codes}, internal)
    special = (
        f" A missing value is near a missing one only, and a special code ({codes}) near the "
        "same code only."
        if codes
        else ""
    )
    return f"The ball about a confidential value has half-width {width}; {sides}.{special}"


def direction_of(statistic: Statistic) -> str:
    """Which way is worse; of estimates for users, that closer to the confidential one is better."""
    direction = statistic.measure.direction
    if direction == "neither" and not statistic.of_utility:
        return _NEITHER
    return DIRECTION.get(direction, "")


def _named(words: str, statistic: Statistic) -> str:
    """A title with its symbol."""
    symbol = symbol_of(statistic)
    return f"{words} ({symbol})" if symbol else words


class Glossary:
    """Terms in the order in which they were first needed, of measures whose definitions are
    given.
    """

    def __init__(self, scenario: Scenario, level: float = 0.95, internal: bool = True) -> None:
        self.ball = ball_rule(scenario, internal)  # said once, and beside every term of a risk
        self.introduction = f"{_HU} {self.ball}"
        self._level = level
        self._terms: dict[str, Term] = {}

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(self._terms.values())

    def _add(self, title: str, *sentences: str, of_risk: bool = False) -> Term:
        if title not in self._terms:
            texts = [capital(text) for text in map(plain, (title, *sentences))]
            made = Term(f"term-{len(self._terms) + 1}", *texts)
            self._terms[title] = replace(made, ball=plain(self.ball)) if of_risk else made
        return self._terms[title]

    def fixed(self, key: str) -> Term:
        """A term that every report has."""
        title, definition, boundary, direction = FIXED[key]
        risk = key in ("risk", "rise")
        return self._add(
            title, definition, boundary, _ALL_RECORDS if risk else "", direction, of_risk=risk
        )

    def of(self, statistic: Statistic, definition: str, made: Iterable[str] = ()) -> Term:
        """A measure of either table, as `of_utility` and `of_risk` have it."""
        if statistic.of_utility:
            return self.of_utility(statistic, definition, made)
        return self.of_risk(statistic, definition)

    def of_risk(self, statistic: Statistic, definition: str, of_data: str | None = None) -> Term:
        """A measure of the risk table, by its definition, and that of the confidential data where
        it is another one.
        """
        data_text = (
            f"; in the confidential data: {of_data}" if of_data and of_data != definition else ""
        )
        of_risk = "{ri" in statistic.measure.definition  # of a risk, or a rise of it
        interval = _MONTE_CARLO if statistic.measure.mechanism else _ALL_RECORDS
        title = _named(in_words(statistic, alone=True), statistic)
        return self._add(
            title,
            f"{definition}{data_text}.",
            statistic.measure.boundary,
            interval,
            direction_of(statistic),
            of_risk=of_risk,
        )

    def of_utility(
        self,
        statistic: Statistic,
        definition: str,
        made: Iterable[str] = (),
        *,
        shared: bool = False,
    ) -> Term:
        """The same of utility, with the rules that `made` its intervals; `shared`: one entry for
        all variables.
        """
        rule = "; ".join(dict.fromkeys(made))
        interval = f"Probability {self._level:g}; {rule}." if rule else "None is given."
        title = _named(in_words(statistic, alone=shared), statistic)
        return self._add(
            title,
            f"{definition}.",
            statistic.measure.boundary,
            interval,
            direction_of(statistic),
        )

    def columns(self, table: pd.DataFrame, terms: dict[str, str]) -> dict[str, Term]:
        """Fixed terms, by their keys, for headings of a table, those that it has."""
        return {
            heading: self.fixed(term) for heading, term in terms.items() if heading in table.columns
        }


class RunGlossary(Glossary):
    """The same, by the definitions of a run."""

    def __init__(self, run: FinishedRun, internal: bool = True) -> None:
        super().__init__(run.study.evaluating_scenario(), run.study.evaluation.level, internal)
        self._run = run

    def risk(self, statistic: Statistic) -> Term:
        return self.of_risk(
            statistic, define(self._run, statistic), define_confidential(self._run, statistic)
        )

    def utility(self, statistic: Statistic, *, shared: bool = False) -> Term:
        return self.of_utility(
            statistic,
            define(self._run, statistic),
            rules(self._run, statistic).values(),
            shared=shared,
        )

    def summary(self, column: SummaryColumn) -> Term:
        """A column of the main table."""
        if column.overlap:
            return self.fixed("overlap")
        if column == MEAN_WEIGHT:
            return self.fixed("weight")
        if column == LARGEST_R_HAT:
            return self.fixed("r-hat")
        if column == FITS:
            return self._add(
                column.name,
                f"{column.statistic.define()}.",
                "",
                "",
                "'NO': synthetic values differ from the data in kind.",
            )
        if column == CONVERGED:
            told = "'NO' is not released; 'warn' is, with a few divergent draws to look at."
            return self._add(column.name, f"{column.statistic.define()}.", "", "", told)
        return (
            self.utility(column.statistic)
            if column.statistic.of_utility
            else self.risk(column.statistic)
        )

    def check(self, check: str) -> Term:
        """A check of the fits, one entry whatever its parameter."""
        measure = measures()[check]
        return self._add(
            capital(measure.label), f"{capital(measure.definition)}.", measure.boundary
        )
