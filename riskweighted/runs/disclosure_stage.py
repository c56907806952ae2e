"""What the datasets of a label give away beyond inference, as they leave, and what those of a fit
tell of predictors not released.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.progress import Advance
from riskweighted.common.seeds import Streams
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.hidden import hidden_predictors
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.policy import Concerned, DisclosureVerdict, judge
from riskweighted.evaluation.measure_rows import as_row
from riskweighted.intruder.world import World
from riskweighted.measures.disclosure_measures import values_of_attribution, values_of_hidden
from riskweighted.measures.measure import Value
from riskweighted.runs.study import Study
from riskweighted.sequence.fit import Fit
from riskweighted.weights.user_weights import depends_of

__all__ = [
    "Disclosed",
    "attribution_of_label",
    "disclosure_tables",
    "hidden_predictor_table",
    "weighting_of",
]


class Disclosed(NamedTuple):
    """Of one label: ``table``, as `riskweighted.attribution` gives it; ``rows``, its figures as
    they stand among risks; the ``verdict`` of the study's policy; ``concerned``, the records that
    what is broken concerns, and which rule that is. Confidential."""

    table: pd.DataFrame
    rows: list[dict[str, object]]
    verdict: DisclosureVerdict
    concerned: pd.DataFrame

    @classmethod
    def of(
        cls,
        label: str,
        study: Study,
        fit: Fit,
        drawn: Datasets,
        streams: Streams,
        table: pd.DataFrame,
    ) -> "Disclosed":
        """The table with its figures, and with what the datasets tell of predictors that are not
        released.
        """
        values = [
            *values_of_attribution(table),
            *hidden_predictor_table(label, study, fit, drawn, streams),
        ]
        concerned = pd.DataFrame(table.attrs.get("concerned", ()), columns=list(Concerned._fields))
        concerned.insert(0, "label", label)
        return cls(
            table,
            [as_row(label, value) for value in values],
            judge(table, study.release.disclosure),
            concerned,
        )


def attribution_of_label(
    label: str,
    study: Study,
    fit: Fit,
    worlds: tuple[World, World],
    drawn: Datasets,
    streams: Streams,
    progress: Advance | None = None,
    refits: int = 3,
    *,
    counted_by: str | None = None,
    of: int | None = None,
) -> pd.DataFrame:
    """What the datasets give away of synthesized values, beside what they would without each
    record.

    `drawn`: what `fit` draws with the seed that the study has for that; `worlds`: that in which
    risk is measured, and that in which the weights were made; `refits`: of how many records at
    most. Where the fit holds some records of a file, `counted_by`: the column by which these count,
    instead of the survey weights; `of`: how many records the file has.
    """
    asked = AttributionRequest(
        study.unaltered(fit.confidential),
        (),
        study.linking_column,
        counted_by or study.weights.survey,
        study.release.disclosure,
        study.release.shuffle,
        of,
    )
    # the same halves, and the same yardstick, for every label
    seed = streams.seed_for("disclosure", "")
    made = weighting_of(label, study, worlds[1])
    places = fit.places(len(drawn), random_seed=streams.seed_for("synthesize", label))
    return attribution_of_fit(
        fit,
        worlds[0],
        asked,
        [drawn],
        weighting=made,
        refits=refits,
        places=places,
        random_seed=seed,
        progress=progress,
    )


def weighting_of(label: str, study: Study, world: World) -> Weighting | None:
    """How the weights of a label are made, None of a baseline."""
    if label in study.baselines:
        return None
    depends = depends_of(world, label, study.weights.depends)
    return Weighting(label, world=world, depends=depends, **study.weights.making)


def hidden_predictor_table(
    label: str, study: Study, fit: Fit, drawn: Datasets, streams: Streams
) -> Iterator[Value]:
    """What the datasets tell of predictors, and of columns of rules, that are not released."""
    if fit.keeps_true_values or not fit.estimates:
        return iter(())
    released = study.unaltered(fit.confidential)
    read = dict.fromkeys(
        [
            *study.synthesizer.columns,
            *(name for rule in fit.prepared.rules.rules for name in rule.names),
        ]
    )
    hidden = [name for name in read if name not in (*released, *study.variables)]
    return values_of_hidden(
        hidden_predictors(fit, drawn, hidden, released, streams.seed_for("hidden", label))
    )


def disclosure_tables(found: Mapping[str, Disclosed]) -> dict[str, pd.DataFrame]:
    """All figures by label; and of each label the verdict of the policy, its reasons, what was
    accepted and why, both as they may be said outside, what mends it, how many datasets would pass,
    and what was held."""
    verdicts = [
        {"label": label, **{name: _listed(told) for name, told in of.verdict._asdict().items()}}
        | {"fewer": of.table.attrs.get("fewer"), "held": _listed(of.table.attrs["held"])}
        for label, of in found.items()
    ]
    figures = pd.concat({label: of.table for label, of in found.items()}, names=["label"])
    return {
        "disclosure": figures.reset_index("label").reset_index(drop=True),
        "disclosure_verdicts": pd.DataFrame(verdicts),
    }


def _listed(told: str | Sequence[object]) -> str:
    return told if isinstance(told, str) else "; ".join(map(str, told))
