"""What the datasets of a run give away beyond inference: of every scheme as it leaves, and of the predictors that are not released."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.hidden import hidden_predictors
from riskweighted.disclosure.setting import Asked
from riskweighted.evaluation.tables import as_row, as_table
from riskweighted.measures.beyond import values_of_attribution, values_of_hidden
from riskweighted.measures.measure import Value
from riskweighted.runs.work import Work

__all__ = ["Beyond", "measure_beyond"]


class Beyond(NamedTuple):
    """What was found: ``risk``, rows of the table of risk; ``disclosure``, all figures by label; ``verdicts``: of each label the verdict of
    the policy, its reasons, what was accepted and why, and what was held as it is.
    """

    risk: pd.DataFrame
    disclosure: pd.DataFrame
    verdicts: pd.DataFrame


def measure_beyond(work: Work) -> Beyond:
    """Attribution of the datasets of every label, and what those of each fit tell of hidden predictors."""
    rows, tables, verdicts = list[dict[str, object]](), dict[str, pd.DataFrame](), list[dict[str, object]]()
    with work.reporter.step("measuring disclosure beyond inference") as advance:
        for done, label in enumerate(work.labels, 1):
            table = _attributed(work, label)
            tables[label] = table
            rows += [as_row(label, value) for value in values_of_attribution(table)]
            verdicts.append({"label": label, **{name: _listed(table.attrs[name]) for name in ("verdict", "reasons", "accepted", "held")}})
            rows += [as_row(label, value) for value in _hidden(work, label)]
            advance(done, len(work.labels))
    disclosure = pd.concat(tables, names=["label"]).reset_index("label").reset_index(drop=True)
    return Beyond(as_table(rows), disclosure, pd.DataFrame(verdicts))


def _listed(told: object) -> str:
    return told if isinstance(told, str) else "; ".join(map(str, told))  # type: ignore[call-overload]


def _attributed(work: Work, label: str) -> pd.DataFrame:
    study = work.study
    weights, released = study.weights, study.unaltered(work.confidential)
    asked = Asked(released, (), study.linking_column, weights.survey, study.release.disclosure, study.release.shuffle)
    made = Weighting(label, world=work.world("weighing"), **weights.making) if label in weights.schemes else None
    seed = work.streams.seed_for("disclosure", "")  # the same halves, and the same yardstick, for every label
    return attribution_of_fit(work.fit(label), work.world(), asked, [work.drawn(label)], weighting=made, random_seed=seed)


def _hidden(work: Work, label: str) -> Iterator[Value]:
    study, fitted = work.study, work.fit(label)
    if fitted.keeps_true_values or not fitted.estimates:
        return iter(())
    unaltered = study.unaltered(work.confidential)
    hidden = [name for name in study.synthesizer.columns if name not in (*unaltered, *study.variables)]
    return values_of_hidden(hidden_predictors(fitted, work.drawn(label), hidden, unaltered, work.streams.seed_for("hidden", label)))
