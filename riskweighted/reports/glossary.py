"""What every number of a report means: definition, boundary rule, interval rule, and which way is worse."""

import re
from collections.abc import Mapping

import pandas as pd

from riskweighted.common.text import plain
from riskweighted.evaluation.evaluate import CONFIDENTIAL
from riskweighted.intruder.scenario import Scenario
from riskweighted.reports.blocks import Term
from riskweighted.runs.finished import FinishedRun
from riskweighted.synthesis.convergence import ESS_LIMIT, R_HAT_LIMIT

__all__ = ["RISKIER", "Glossary", "ball_rule"]

RISKIER = "Higher is riskier."
_ALL_RECORDS = "None: computed from all records, not from a sample."
_CLOSER = "Closer to the confidential estimate is more useful; neither high nor low is better by itself."
_FIXED = {
    "records in a bin": (
        "Records whose value lies in the bin.",
        "The lower edge belongs to the bin, the upper one does not; 'open' is a bin without end.",
        "",
    ),
    "share of records": (
        "Records of synthetic datasets in the bin over all their records, mean over the datasets.",
        "The lower edge belongs to the bin, the upper one does not.",
        "Closer to the confidential share is more useful.",
    ),
    "weight": (
        "alpha, the power of a record's likelihood in the pseudo posterior, from 0 to 1; means are over records.",
        "",
        "Lower protects more; 1 keeps all of the likelihood.",
    ),
    "rise": ("Risk of a record under the scheme minus its risk under the unweighted one.", "", RISKIER),
    "identification risk": (
        "IR of a record, from 0 to 1: if its own synthetic value lies in the ball about its confidential value, the share of "
        "its known pattern whose synthetic values lie outside that ball, else 0 (S003 eq. 1); mean over datasets. Of the "
        "confidential data: the share of its pattern whose confidential values lie outside (S003 eq. 2).",
        "",
        RISKIER,
    ),
    "R-hat": (
        "Rank-normalised split R-hat: variance between against within chains.",
        f"At most {R_HAT_LIMIT:g} passes.",
        "Lower is better.",
    ),
    "effective sample size": (
        "How many independent draws the correlated draws of all chains are worth, for the bulk or for the tails.",
        f"At least {ESS_LIMIT:g} in the bulk passes.",
        "Higher is better.",
    ),
    "divergences": ("Steps of the sampler that went astray.", "Only 0 passes.", "Lower is better."),
    "overlap": (
        "Mean of the shares of the two intervals, confidential and synthetic, that both hold (Karr et al. 2006).",
        "1 is identical, 0 is disjoint.",
        "Higher is more useful.",
    ),
    "interval": ("Where the estimate could lie, at the probability of the settings (evaluation.level).", "Both ends belong to it.", ""),
    "estimate": ("The statistic that its row names, in the units of its variable.", "", _CLOSER),
}


_WIDTH = {"relative": "times the absolute confidential value", "absolute": "in the variable's units"}


def ball_rule(scenario: Scenario) -> str:
    """How close is close, in a sentence."""
    numeric = scenario.radius if isinstance(scenario.radius, Mapping) else scenario.synthetic
    widths = {name: f"{scenario.radius_of(name):g} {_WIDTH[scenario.kind_of(name)]}" for name in numeric}
    width = (
        ", ".join(f"{text} for {name}" for name, text in widths.items()) if len(set(widths.values())) > 1 else next(iter(widths.values()))
    )
    edge = "inside" if scenario.boundary == "closed" else "outside"
    sides = f"a value exactly on its edge counts as {edge} ({scenario.boundary} ball)"
    return f"The ball about a confidential value has half-width {width}; {sides}."


class Glossary:
    """Terms in the order in which they were first needed."""

    def __init__(self, run: FinishedRun) -> None:
        self._run = run
        self._ball = ball_rule(run.study.evaluating_scenario())
        self._terms: dict[str, Term] = {}

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(self._terms.values())

    def _add(self, title: str, *sentences: str) -> Term:
        if title not in self._terms:
            texts = [text[:1].upper() + text[1:] for text in map(plain, (title, *sentences))]
            self._terms[title] = Term(f"term-{len(self._terms) + 1}", *texts)
        return self._terms[title]

    def fixed(self, name: str) -> Term:
        """A term that every report has."""
        definition, boundary, direction = _FIXED[name]
        risk = name in ("identification risk", "rise")
        title = name if name.startswith("R-hat") else name.capitalize()
        return self._add(title, definition, self._ball if risk else boundary, _ALL_RECORDS if risk else "", direction)

    def risk(self, measure: str) -> Term:
        """A measure of the risk table."""
        table = self._run.tables["risk"]
        rows = table[table["measure"] == measure]
        own = rows.loc[rows["label"] == CONFIDENTIAL, "definition"]
        others = rows.loc[rows["label"] != CONFIDENTIAL, "definition"]
        definition = re.sub(r"IR\([^)]*\) - ", "IR(scheme) - ", str((others if len(others) else own).iloc[0]))
        own_text = f"; in the confidential data: {own.iloc[0]}" if len(own) and own.iloc[0] != definition else ""
        strict = {"records over": "A record at the threshold itself is not counted. ", "whack": "A rise of exactly the limit is counted. "}
        edge = next((text for start, text in strict.items() if measure.startswith(start)), "")
        ball = "" if measure == "singleton patterns" else self._ball
        return self._add(measure[:1].upper() + measure[1:], f"{definition}{own_text}.", edge + ball, _ALL_RECORDS, RISKIER)

    def utility(self, variable: str, measure: str) -> Term:
        """A measure of the utility table."""
        table = self._run.tables["utility"]
        rows = table[(table["variable"] == variable) & (table["measure"] == measure)]
        rules = "; ".join(dict.fromkeys(str(rule) for rule in rows["rule"].dropna()))
        distance = measure.startswith("U_")
        quantile = measure == "median" or measure.endswith(" quantile")
        boundary = "Values up to and including x count in a distribution function." if distance else ""
        boundary = "Linear interpolation between neighbouring values." if quantile else boundary
        level = self._run.study.evaluation.level
        interval = f"Probability {level:g}; {rules}." if rules else "None is given."
        direction = "Lower is more useful." if distance else _CLOSER
        return self._add(f"{measure} of {variable}", f"{rows['definition'].iloc[0]}.", boundary, interval, direction)

    def summary(self, name: str, definition: str) -> Term:
        """A column of the main table, which `summary_table` defines so."""
        utility = self._run.tables["utility"].drop_duplicates(["variable", "measure"])
        known = {f"{row['measure']} of {row['variable']}": row for _, row in utility.iterrows()}
        if name in known:
            return self.utility(known[name]["variable"], known[name]["measure"])
        if name.removesuffix(": overlap") in known:
            return self.fixed("overlap")
        if name in set(self._run.tables["risk"]["measure"]):
            return self.risk(name)
        if name == "mean weight":
            return self.fixed("weight")
        if name == "largest R-hat":
            return self.fixed("R-hat")
        return self._add(name[:1].upper() + name[1:], f"{definition}.", "", "", "'yes' is needed before release.")

    def columns(self, table: pd.DataFrame, names: dict[str, str]) -> dict[str, Term]:
        """Fixed terms for columns of a table, those that it has."""
        return {column: self.fixed(term) for column, term in names.items() if column in table.columns}
