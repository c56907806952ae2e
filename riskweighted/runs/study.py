"""A study: which data, which scenario, which synthesizer, which weights. Read from TOML and checked before anything runs."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from riskweighted.common.errors import InputError, listing
from riskweighted.data.datasets import load_embedded
from riskweighted.data.io import read_table
from riskweighted.intruder.scenario import Scenario
from riskweighted.synthesis.contract import Synthesizer, load_synthesizer

__all__ = ["Study", "build_synthesizer", "demo_study", "first_error", "load_study", "make_study", "read_toml", "setting_names"]

_Share = Annotated[float, Field(gt=0, lt=1)]
_Count = Annotated[int, Field(ge=1, strict=True)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=True)]  # Scenario checks it
_Radius = _Number | dict[str, _Number]
_Column = str | list[str]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataSettings(_Settings):
    """Where the confidential data is: a file (relative to the study file) or an embedded data set."""

    path: Path | None = None
    embedded: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "DataSettings":
        if (self.path is None) == (self.embedded is None):
            raise ValueError("give either path or embedded")
        return self

    def read(self) -> pd.DataFrame:
        """The data."""
        if self.embedded is not None:
            return load_embedded(self.embedded)
        assert self.path is not None
        return read_table(self.path)


class ScenarioSettings(_Settings):
    """The settings of `Scenario`."""

    known: _Column = []
    synthetic: _Column
    radius: _Radius = 0.2
    radius_kind: str = "relative"
    boundary: str = "closed"
    singletons: str = "protect"
    min_radius: _Number = 0.0
    categorical: _Column = []


class SynthesizerSettings(BaseModel):
    """Name and formula of a synthesizer; every other setting goes to its class."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str
    formula: str


class WeightSettings(_Settings):
    """Weighting schemes, and the adjustment clip(scale * alpha + shift, 0, 1) of all but the unweighted one.

    The radius of the weights is the scenario's unless given here.
    """

    schemes: Annotated[list[str], Field(min_length=1)] = ["unweighted", "marginal", "pairwise"]
    scale: float = 1.0
    shift: float = 0.0
    radius: _Radius | None = None


class SamplingSettings(_Settings):
    """The settings of `Sampling`; the number of cores is the machine's affair and given at the command line."""

    draws: _Count = 500
    tune: _Count = 500
    chains: _Count = 4
    target_accept: _Share = 0.8


class ReleaseSettings(_Settings):
    """How many synthetic datasets, and their file format."""

    L: _Count = 20
    format: Literal["csv", "parquet"] = "csv"


class EvaluationSettings(_Settings):
    """The settings of `evaluate`; the radius of the risk measures is the scenario's unless given here."""

    radius: _Radius | None = None
    quantiles: list[_Share] = [0.5, 0.9]
    regression: str | None = None
    coefficient: str | None = None
    resamples: _Count = 1000
    level: _Share = 0.95
    threshold: _Share = 0.5
    increase: _Share = 0.25


class TopCodingSettings(_Settings):
    """The baseline: values above a quantile or a constant are set to it."""

    quantile: _Share = 0.97
    value: float | None = None


class Study(_Settings):
    """Every setting of a run."""

    data: DataSettings
    scenario: ScenarioSettings
    synthesizer: SynthesizerSettings
    weights: WeightSettings = WeightSettings()
    sampling: SamplingSettings = SamplingSettings()
    release: ReleaseSettings = ReleaseSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    top_coding: TopCodingSettings | None = None
    seed: Annotated[int, Field(ge=0, strict=True)] = 0

    @model_validator(mode="after")
    def _consistent(self) -> "Study":
        schemes = self.weights.schemes
        repeated = sorted({name for name in schemes if schemes.count(name) > 1})
        if repeated:
            raise ValueError(f"weights.schemes names {listing(repeated)} more than once")
        most = self.sampling.chains * self.sampling.draws
        if most < self.release.L:
            raise ValueError(
                f"release.L must be at most the {most} posterior draws of sampling.chains x sampling.draws, got {self.release.L}"
            )
        return self

    def make_scenario(self) -> Scenario:
        """The intruder's scenario."""
        return Scenario(**self.scenario.model_dump())

    def weighting_scenario(self) -> Scenario:
        """The scenario with the radius that the weights are made with."""
        return self._scenario_with(self.weights.radius)

    def evaluating_scenario(self) -> Scenario:
        """The scenario with the radius that risk is measured with."""
        return self._scenario_with(self.evaluation.radius)

    def _scenario_with(self, radius: float | dict[str, float] | None) -> Scenario:
        scenario = self.make_scenario()
        return scenario if radius is None else dataclasses.replace(scenario, radius=radius)

    def measures(self) -> dict[str, Any]:
        """The settings of `evaluate` by name; the radius stands in `evaluating_scenario`."""
        return self.evaluation.model_dump(exclude={"radius"})

    def make_synthesizer(self) -> Synthesizer:
        """The synthesizer, built from its formula and settings."""
        return build_synthesizer(self.synthesizer.name, self.synthesizer.formula, self.synthesizer.model_extra or {})

    def read_data(self) -> pd.DataFrame:
        """The confidential data."""
        return self.data.read()


def setting_names(synthesizer: str) -> list[str]:
    """Every setting of a study by its dotted name, with those of one synthesizer."""
    sections = [section for section in Study.model_fields if section != "seed"]
    names = [f"{section}.{name}" for section in sections for name in _names_at(Study, (section,))]
    return [*names, *(f"synthesizer.{name}" for name in _own_settings(synthesizer)), "seed"]


def _own_settings(synthesizer: str) -> list[str]:
    kind = load_synthesizer(synthesizer)
    return [field.name for field in dataclasses.fields(kind) if field.name != "formula"]  # type: ignore[arg-type]


def build_synthesizer(name: str, formula: str, settings: dict[str, Any]) -> Synthesizer:
    """A registered synthesizer from a formula and settings by name; lists the valid ones where one is unknown."""
    kind, valid = load_synthesizer(name), _own_settings(name)
    unknown = [setting for setting in settings if setting not in valid]
    if unknown:
        raise InputError(f"synthesizer {name!r} has no setting {listing(unknown)}; valid are {listing(valid)}")
    tables = [setting for setting, value in settings.items() if isinstance(value, dict)]
    if tables:
        raise InputError(f"setting {listing(tables)} of synthesizer {name!r} must be a value or a list, got a table")
    hashable = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    return kind(formula, **hashable)


def first_error(error: ValidationError, model: type[BaseModel]) -> str:
    """One line out of the pydantic error of a settings file: where, what is wrong, what was got, and which names are valid."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "study"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return f"unknown setting {place!r}; valid here are {listing(_names_at(model, first['loc'][:-1]))}"
    if first["type"] == "missing":
        return f"setting {place!r} is missing"
    got = first.get("input")
    return f"setting {place!r}: {message}" + (f", got {got!r}" if isinstance(got, (int, float, str, bool)) else "")


def _names_at(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """The settings that stand at a place of the settings file."""
    for part in place:
        candidates = [model.model_fields[str(part)].annotation]
        candidates += list(getattr(candidates[0], "__args__", ()))
        model = next(kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel))
    return list(model.model_fields)


def make_study(settings: dict[str, Any], folder: Path | None = None) -> Study:
    """A checked study from settings as they stand in a study file; paths are relative to `folder`."""
    try:
        study = Study.model_validate(settings)
    except ValidationError as error:
        raise InputError(first_error(error, Study)) from None
    if study.data.path is not None and folder is not None:
        path = (folder / study.data.path).resolve()
        study = study.model_copy(update={"data": study.data.model_copy(update={"path": path})})
    study.weighting_scenario()
    study.evaluating_scenario()
    study.make_synthesizer()
    return study


def load_study(path: str | Path) -> Study:
    """Read and check a study file.

    Parameters
    ----------
    path : str or Path
        A TOML file with the tables [data], [scenario], [synthesizer], and optionally [weights], [sampling],
        [release], [evaluation], [top_coding].

    Raises
    ------
    InputError
        If the file is absent or not TOML, or a setting is unknown, missing or not valid.
    """
    return make_study(read_toml(path, "study"), Path(path).parent)


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """The tables of a TOML file; `what` names its kind in an error."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no {what} file {str(path)!r}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name!r} is not valid TOML: {str(error).splitlines()[0]}") from None


def demo_study() -> Study:
    """The embedded default: synthesize the income of 9,275 real households (METHODS sections 2-6)."""
    predictors = " + ".join(f"C({name})" for name in ("married", "male", "age_band", "family_size", "eligible_401k", "has_ira"))
    settings = {
        "data": {"embedded": "401ksubs"},
        "scenario": {"known": ["married", "male", "age_band"], "synthetic": "inc", "radius": 0.2},
        "synthesizer": {"name": "normal-mixture", "formula": f"inc ~ {predictors}", "components": 3, "transform": "log"},
        "sampling": {"draws": 500, "tune": 400, "chains": 4},
        "release": {"L": 20},
        "evaluation": {"regression": "inc ~ C(married) + C(eligible_401k)", "coefficient": "C(eligible_401k)[T.1]"},
        "top_coding": {"quantile": 0.97},
        "seed": 2022,
    }
    return make_study(settings)
