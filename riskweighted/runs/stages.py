"""The stages of a study, and what each is made of: whoever keeps a result to use it again asks this
graph for its key.

data -> patterns -> world -> weights, prepared -> fit -> drawn, expected -> disclosed, evaluated,
for each label: a scheme, a baseline or the confidential data. A key is a digest of every field of
the settings classes that the stage reads, of the keys of the stages before it, of the data and of
the versions: a new setting changes every key that it may change, without anyone naming it. A field
that not all stages read which read its class says so where it is declared, and why
(`riskweighted.common.settings.read_by`).
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.common.fingerprints import versions
from riskweighted.common.seeds import Streams
from riskweighted.common.units import Units
from riskweighted.contract.centring import Centring
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.guarantee.statement import Guarantee
from riskweighted.intruder.scenario import Scenario
from riskweighted.runs.sections import (
    EvaluatingSettings,
    ReleaseSettings,
    SynthesizerSettings,
    WeightSettings,
)
from riskweighted.runs.study import Study
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.weights.scheme_names import UNWEIGHTED
from riskweighted.weights.schemes import is_by_risk, scheme_source, uses_scenario

__all__ = ["STAGES", "Stage", "Stages", "fit_key", "is_read"]


class Stage(NamedTuple):
    """``reads``: the settings classes whose fields it reads, but those that name other stages;
    ``after``: the stages that it reads.
    """

    reads: tuple[type, ...]
    after: tuple[str, ...]


STAGES: Mapping[str, Stage] = {
    "checked": Stage(
        (WeightSettings, ReleaseSettings, EvaluatingSettings, Guarantee), ("patterns", "prepared")
    ),  # before anything is fitted
    "patterns": Stage((Scenario, Units), ()),  # who shares whose known pattern
    "weighing": Stage((Scenario, Units), ()),  # the world that weights are made in
    "world": Stage((Scenario, Units), ()),  # and the one that risk is measured in
    # the fit is that of the scheme they are made of, if any
    "weights": Stage((WeightSettings,), ("weighing", "fit")),
    "prepared": Stage((SynthesizerSettings, Units), ()),
    "fit": Stage((Sampling, Guarantee), ("prepared", "weights")),
    "drawn": Stage((ReleaseSettings,), ("fit",)),
    "expected": Stage((ReleaseSettings, EvaluatingSettings), ("fit", "world")),
    "paired": Stage((EvaluatingSettings,), ("drawn", "patterns")),
    "scores": Stage((), ("drawn", "world")),
    "utility": Stage((EvaluatingSettings,), ("paired",)),
    "disclosed": Stage((ReleaseSettings,), ("drawn", "world")),
    "evaluated": Stage(
        (ReleaseSettings, EvaluatingSettings), ("scores", "utility", "expected", "disclosed")
    ),
    # a model, where the study names none
    "chosen": Stage((SynthesizerSettings, Sampling), ("patterns",)),
    "tuned": Stage((WeightSettings,), ("weighing", "evaluated")),  # a scheme that meets a target
}
# the same for every scheme
_OF_ALL = ("checked", "patterns", "weighing", "world", "prepared", "chosen", "tuned")
_SEEDS = {"fit": "fit", "drawn": "synthesize", "disclosed": "disclosure", "chosen": "choose"}
_SEEDS |= dict.fromkeys(("expected", "utility", "evaluated"), "evaluate")
_OF_LABEL = ("fit", "synthesize")  # seeds that differ by label
_ALONE = {"weighing": "world"}  # equal scenarios make the same world


def is_read(stage: str, kind: type, setting: "dataclasses.Field[Any]") -> bool:
    """Whether a stage reads a field of a settings class: all of a class that it reads, or those
    that name it.
    """
    named = setting.metadata.get("read_by")
    return issubclass(kind, STAGES[stage].reads) if named is None else stage in named


@dataclass(frozen=True)
class Stages:
    """The stages of one study on one data set, for which its fingerprint `data` stands.

    ``compared``: whether every other label is measured against the unweighted one. ``streams``:
    where the seeds come from; by default the study's seed alone.
    """

    study: Study = field(repr=False)
    data: str
    versions: Mapping[str, str] = field(default_factory=versions, repr=False)
    compared: bool = False
    streams: Streams | None = field(default=None, repr=False)

    @cached_property
    def _made(self) -> dict[tuple[str, str], str]:
        return {}

    def key(self, stage: str, label: str = UNWEIGHTED) -> str:
        """What a stage of a label is made of, as a digest: equal keys mean equal results."""
        if stage in _OF_ALL and not (stage == "prepared" and label in self.study.baselines):
            label = UNWEIGHTED
        if (stage, label) not in self._made:
            before = [self.key(*earlier) for earlier in self._before(stage, label)]
            parts = [
                _ALONE.get(stage, stage),
                label,
                self.data,
                self.versions,
                self._seed(stage, label),
                before,
                self._settings(stage, label),
            ]
            self._made[stage, label] = hashlib.sha256(
                json.dumps(parts, sort_keys=True, default=repr).encode()
            ).hexdigest()[:32]
        return self._made[stage, label]

    def _reads_nothing(self, stage: str, label: str) -> bool:
        """Whether a stage of a label takes nothing of the study: the data themselves, weights of 1,
        a baseline, which has no parameters.
        """
        if label == CONFIDENTIAL:
            return stage in ("fit", "drawn", "expected", "disclosed")
        return (stage == "weights" and label == UNWEIGHTED) or (
            stage == "fit" and label in self.study.baselines
        )

    def _before(self, stage: str, label: str) -> Iterator[tuple[str, str]]:
        """The stages that one reads, each with its label."""
        if label == CONFIDENTIAL and self._reads_nothing(stage, label):
            return
        if stage == "weights":
            source = scheme_source(label)
            yield from [("weighing", label)] if uses_scenario(label) else []
            yield from [] if source is None else [("fit", source)]
            yield from [("fit", UNWEIGHTED)] if is_by_risk(label) else []
            return
        yield from [
            (name, label)
            for name in STAGES[stage].after
            if name != "weights" or label not in self.study.baselines
        ]
        if stage == "evaluated" and self.compared and label not in (UNWEIGHTED, CONFIDENTIAL):
            yield from [("scores", UNWEIGHTED), ("expected", UNWEIGHTED)]

    def _seed(self, stage: str, label: str) -> int | None:
        purpose, unseeded = _SEEDS.get(stage), self._reads_nothing(stage, label)
        # data of each seed are a family of cells
        if purpose is None or (unseeded and not (stage == "fit" and label == CONFIDENTIAL)):
            return None
        streams = self.streams or Streams(self.study.seed)
        return streams.seed_for(purpose, label if purpose in _OF_LABEL else "")

    def _settings(self, stage: str, label: str) -> Mapping[str, Any]:
        """What a stage of a label reads of the study, by section."""
        if stage == "prepared" and label in self.study.baselines:
            return {
                "variables": self.study.variables,
                "codes": _plain(self.study.evaluating_scenario().codes),
                "categorical": self.study.scenario.categorical,
                "baseline": _plain(self.study.baselines[label]),
            }
        if self._reads_nothing(stage, label):
            return {}
        # of whichever section names it
        linked = {"linking": self.study.linking_column} if stage == "disclosed" else {}
        return settings_of(self.study, stage) | linked


def settings_of(study: Study, stage: str) -> dict[str, Any]:
    """Every field of every section of a study that a stage reads."""
    settings = {}
    for name, section in _sections(study, stage).items():
        values = {
            part.name: _plain(part.metadata.get("in_key", _itself)(getattr(section, part.name)))
            for part in dataclasses.fields(section)
            if is_read(stage, type(section), part)
            and not (part.metadata.get("unsaid") and getattr(section, part.name) == part.default)
        }
        if values:
            settings[name] = values
    return settings


def _sections(study: Study, stage: str) -> dict[str, Any]:
    """The sections of a study as a stage sees them: its scenario, and what it leaves out; L decides
    a fit under a guarantee alone.
    """
    scenario, *others = (
        study.weighting_scenarios()
        if stage in ("weighing", "tuned")
        else (study.evaluating_scenario(),)
    )
    sections = {
        part.name: getattr(study, part.name)
        for part in dataclasses.fields(study)
        if part.metadata.get("read_by") is None
    }
    left_out = {name for name, section in sections.items() if section is None}
    if stage == "fit" and study.guarantee is None:
        left_out.add("release")
    sections |= {"scenario": scenario}
    sections |= {f"scenario {number}": each for number, each in enumerate(others, 2)}
    return {name: section for name, section in sections.items() if name not in left_out}


def _itself(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Settings as tables, lists and values, every field of every class among them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            setting.name: _plain(getattr(value, setting.name))
            for setting in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def fit_key(
    study: Study, model: PreparedModel, alpha: pd.Series, centring: Centring | None = None
) -> str:
    """The key of the fit of one block, whose model and weights are at hand and stand for the stages
    that they come from.

    It holds the model's settings, its data, the power of each record's likelihood, what centring
    takes off, everything that the stage "fit" reads and the versions; whoever keeps the fit adds
    the seed. So the blocks of a chain are fitted anew by themselves.
    """
    parts = [
        repr(model.synthesizer),
        *settings_of(study, "fit").values(),
        versions(),
        model.fingerprint,
    ]
    digest = hashlib.sha256(json.dumps(parts, default=str).encode())
    digest.update(model.weights(alpha).to_numpy().tobytes())
    if centring is not None:
        digest.update(centring.label.encode())
    return digest.hexdigest()[:24]
