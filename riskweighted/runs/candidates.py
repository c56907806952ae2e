"""The registered synthesizers that a choice is among: each prepared for the data, or refused with
its reason.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.distribution import has_mass
from riskweighted.contract.synthesizer import (
    baseline_names,
    chain_names,
    load_synthesizer,
    synthesizer_names,
)
from riskweighted.design.design import response_values
from riskweighted.design.formulas import drop_splines, split_formula
from riskweighted.runs.models import build_chain, build_synthesizer
from riskweighted.sampling.block_fit import PreparedModel, prepare_model
from riskweighted.sampling.graphs import start_of
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.prepare import prepare_sequence

__all__ = ["LEARNED", "Candidate", "find_candidates", "with_learned"]

STRAIGHT, LEARNED = "straight lines", "learned"


class Candidate(NamedTuple):
    """A synthesizer with settings; ``model`` None and ``refusal`` a reason where it does not take
    the data.

    ``formula``: where it is not the one that was asked for, but that with numbers as straight
    lines. ``chain``: of a model with a learned part, which is a chain of the one variable.
    """

    name: str
    settings: Mapping[str, Any]
    model: PreparedModel | None
    refusal: str = ""
    formula: str = ""
    chain: PreparedSequence | None = None

    @property
    def described(self) -> str:
        if self.chain is not None or "learned" in self.settings:
            ((_, own),) = self.settings["variables"].items()
            return f"{own['model']} with learned = {list(self.settings['learned'])!r}"
        told = [f"{name} = {value!r}" for name, value in self.settings.items()]
        return ", ".join([*([STRAIGHT] if self.formula else []), *told])


def find_candidates(
    formula: str, confidential: pd.DataFrame, settings: Mapping[str, Any]
) -> Iterator[Candidate]:
    """Every registered synthesizer that is no baseline, prepared for the data or refused with its
    reason; nothing is sampled.

    Where the formula has splines, each that takes the data is one with straight lines, too. A
    setting ``learned`` is that of the chain that the best of them is compared with
    (`with_learned`).
    """
    settings = {setting: value for setting, value in settings.items() if setting != LEARNED}
    for name in synthesizer_names():
        if name in baseline_names():
            continue
        try:
            variants = _variants(name, formula, confidential, settings)
        except ImportError as error:
            yield Candidate(
                name, dict(settings), None, f"its package cannot be loaded ({type(error).__name__})"
            )
            continue
        except InputError as error:
            yield Candidate(name, dict(settings), None, str(error))
            continue
        for variant in variants:
            for text in dict.fromkeys((formula, drop_splines(formula))):
                straight = "" if text == formula else text
                try:
                    model = prepare_model(build_synthesizer(name, text, variant), confidential)
                    if not has_mass(model.synthesizer, start_of(model.build()), model.prepared):
                        raise InputError(
                            "its distribution has no mass, so its likelihood cannot be compared "
                            "with that of others"
                        )
                    yield Candidate(name, variant, model, formula=straight)
                except InputError as error:
                    yield Candidate(name, variant, None, str(error), straight)


def with_learned(
    best: Candidate, formula: str, confidential: pd.DataFrame, learned: Sequence[str]
) -> Candidate:
    """The model of a candidate in a chain of its one variable, to whose predictors the scores of
    tree ensembles are added.
    """
    parts, name = split_formula(best.formula or formula), chain_names()[0]
    own = {"model": best.name, **best.settings}
    settings = {
        "predictors": list(parts.names),
        "recoding": "statuses",
        LEARNED: list(learned),
        "variables": {parts.response: own},
    }
    try:
        chain = prepare_sequence(build_chain(name, [parts.response], settings), confidential)
        (block,) = chain.blocks
    except InputError as error:
        return Candidate(name, settings, None, str(error))
    except ValueError:
        return Candidate(
            name,
            settings,
            None,
            "some values have a share of their own, which a model of all of them cannot be "
            "compared with",
        )
    return Candidate(name, settings, block.model, chain=chain)


def _variants(
    name: str, formula: str, confidential: pd.DataFrame, settings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The settings given; and for a class with a setting ``transform`` also log, or asinh where
    values are zero or negative.
    """
    kind: Any = load_synthesizer(name)
    fields = {setting.name: setting.default for setting in dataclasses.fields(kind)}
    given = dict(settings)
    if "transform" not in fields or "transform" in settings:
        return [given]
    values = response_values(formula, confidential)
    if values.min() > 0:
        other: dict[str, Any] = {"transform": "log"}
    else:
        constant = (
            10.0 ** math.floor(math.log10(np.median(np.abs(values[values != 0]))))
            if values.any()
            else 1.0
        )
        other = {"transform": "asinh", "transform_constant": constant}
    return [given] if other["transform"] == fields["transform"] else [given, given | other]
