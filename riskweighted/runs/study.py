"""A study: which data, which scenario, which synthesizer, which weights. Read from TOML and checked before anything runs.

Each section of the file is the frozen class that declares its settings: `Scenario`, `Sampling`, `EvaluationSettings` and those here.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from riskweighted.common.checks import (
    check_choice,
    check_count,
    check_names,
    check_number,
    check_path,
    check_seed,
    check_sequence,
    check_text,
    real_path,
)
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.settings import (
    APART,
    as_table,
    as_tuples,
    fields_to_table,
    from_table,
    read_fields,
    read_toml,
    setting_names,
    to_table,
)
from riskweighted.contract.special_codes import stated_codes
from riskweighted.contract.synthesizer import Synthesizer, baseline_names, load_synthesizer, probability_mass
from riskweighted.design.formulas import response_name, split_formula
from riskweighted.design.precision import Precision, precision_of
from riskweighted.evaluation.settings import EvaluationSettings
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.guarantee.clip import refusal
from riskweighted.guarantee.statement import Guarantee, Reference, Statement
from riskweighted.intruder.scenario import Scenario
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.declared import Chain, is_chain
from riskweighted.weights.names import UNWEIGHTED, parse_scheme
from riskweighted.weights.subsets import match_subsets

if TYPE_CHECKING:
    from riskweighted.tuning.settings import TuningSettings

__all__ = [
    "AUTO",
    "Study",
    "SynthesizerSettings",
    "build_synthesizer",
    "demo_study",
    "load_study",
    "make_study",
    "names_of_settings",
    "read_study",
]

Radius = float | Mapping[str, float]
_MOST_DATASETS = 100_000
AUTO = "auto"  # in place of a synthesizer's name: a run compares those that take the data
_PUBLIC_SCHEMES = (UNWEIGHTED, "uniform")  # weights that are the same for all records, whatever the data
_UNNAMED = f"the study names no model (name = {AUTO!r}): `run` it, which chooses one and writes a study file that names it"


@dataclass(frozen=True)
class DataSettings:
    """Where the confidential data is: a file (relative to the study file) or an embedded data set."""

    path: Path | None = None
    embedded: str | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.embedded is None):
            raise InputError("data: give either path or embedded")
        if self.path is not None:
            object.__setattr__(self, "path", check_path(self.path, "path"))
        check_text(self.embedded, "embedded", optional=True)

    def within(self, folder: Path | None) -> "DataSettings":
        """A relative path from `folder` on."""
        return self if self.path is None or folder is None else DataSettings(path=real_path(folder / self.path))

    def read(self) -> pd.DataFrame:
        """The data."""
        if self.path is not None:
            from riskweighted.data.io import read_table

            return read_table(self.path)
        from riskweighted.data.datasets import load_embedded

        return load_embedded(str(self.embedded))


@dataclass(frozen=True)
class SynthesizerSettings:
    """Name and formula of a synthesizer; every other setting of its table goes to its class.

    A chain of several variables has no formula: its variables are those that the scenario synthesizes, in that order, and the table
    ``variables`` holds what each has of its own.
    """

    name: str
    formula: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_table(cls, table: object, place: str) -> "SynthesizerSettings":
        """The table, whose other settings the synthesizer's class will check."""
        given = dict(as_table(table, place))
        if "name" not in given:
            raise InputError(f"setting '{place}.name' is missing")
        for name in ("name", "formula"):
            check_text(given.get(name), f"setting '{place}.{name}':", optional=name not in given)
        return cls(given.pop("name"), given.pop("formula", None), given)

    def to_table(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {"name": self.name, **({} if self.formula is None else {"formula": self.formula}), **to_table(self.settings)}

    @property
    def of_several(self) -> bool:
        """Whether it is a chain of several variables, which has no formula of its own."""
        return self.formula is None

    @property
    def codes(self) -> dict[str, tuple[float, ...]]:
        """Special codes of the variables of a chain."""
        tables = as_table(self.settings.get("variables", {}), "synthesizer.variables") if self.of_several else {}
        found = {name: stated_codes(name, as_table(own, f"synthesizer.variables.{name}")) for name, own in tables.items()}
        return {name: codes for name, codes in found.items() if codes}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that its formula, or its list of predictors, names."""
        if self.formula is not None:
            return split_formula(self.formula).names
        tables = as_table(self.settings.get("variables", {}), "synthesizer.variables").values()
        own = [as_table(table, "synthesizer.variables").get("formula") for table in tables]
        named = [name for formula in own if formula is not None for name in split_formula(formula).names]
        return tuple(dict.fromkeys([*check_names(self.settings.get("predictors", ()), "synthesizer.predictors"), *named]))


@dataclass(frozen=True)
class WeightSettings:
    """Weighting schemes, and the adjustment clip(scale * alpha + shift, 0, 1) of all but the unweighted one.

    A scheme with settings has them in its text: "uniform(c=0.1)" (`riskweighted.weights.schemes.scheme_weights`).
    The radius of the weights is the scenario's unless given here. ``cluster``: a column such as a household's number; every record then
    has the smallest weight of its cluster.

    ``match``: of several synthesized variables, whose ball makes the weights of each: its "own", the "joint" one of all, or those of listed
    subsets (`riskweighted.match_weights`).

    ``survey``: a column of survey weights, which are normalised to sum n and multiply the weights of every scheme in the likelihood
    (METHODS section 12). As a predictor instead, it is named in the synthesizer's formula.

    ``target`` and ``at_most``: the run adds the scheme that meets it at the least ``loss``, along one ``family`` or all
    (`riskweighted.tuning.tune.tune`); that looks at the data.
    """

    schemes: Sequence[str] = ("unweighted", "marginal", "pairwise")
    scale: float = 1.0
    shift: float = 0.0
    radius: Radius | None = None
    cluster: str | None = None
    survey: str | None = None
    target: str | None = None
    at_most: float | None = None
    family: str | None = None
    loss: str = "U_m"
    match: str | Sequence[Sequence[str]] = "own"

    def __post_init__(self) -> None:
        check_text(self.cluster, "cluster", optional=True)
        check_text(self.survey, "survey", optional=True)
        named = tuple(parse_scheme(scheme).text for scheme in check_names(self.schemes, "schemes"))
        object.__setattr__(self, "schemes", check_names(named, "schemes"))
        if not self.schemes:
            raise InputError("schemes names none; name at least one weighting scheme")
        check_number(self.scale, "scale", least=0)
        check_number(self.shift, "shift")
        if not isinstance(self.match, str):
            object.__setattr__(
                self, "match", tuple(check_names(subset, "a subset of match") for subset in check_sequence(self.match, "match"))
            )
        self._check_target()

    def _check_target(self) -> None:
        for name in ("target", "family", "loss"):
            check_text(getattr(self, name), name, optional=name != "loss")
        if (self.target is None) != (self.at_most is None):
            raise InputError("target and at_most go together: give both, or neither")
        if self.target is None:
            if self.family is not None:
                raise InputError(f"family {self.family!r} is that of a target: give target and at_most too")
            return
        if UNWEIGHTED not in self.schemes:
            raise InputError(f"a target is sought from the unweighted fit: name {UNWEIGHTED!r} in schemes")

    @property
    def tuning(self) -> "TuningSettings | None":
        """What is asked of the search for a scheme, checked; None without a target."""
        if self.target is None or self.at_most is None:
            return None
        from riskweighted.tuning.settings import TuningSettings

        return TuningSettings(self.target, self.at_most, self.family, self.loss)


@dataclass(frozen=True)
class ReleaseSettings:
    """What leaves: how many synthetic datasets, in which format, which columns, how finely.

    The known and the synthesized variables are released, and the unaltered ``columns`` that are named here. ``precision``: released
    numbers are multiples of it; without it of the largest power of ten of which all confidential values are multiples, or they have 7
    significant digits; of several variables a table gives one for each. ``unique_share``: above this share of records that are alone on
    the unaltered released columns, `release` asks for an explicit acceptance.
    """

    L: int = 20
    format: Literal["csv", "parquet"] = "csv"
    columns: Sequence[str] = ()
    precision: Precision = None
    unique_share: float = 0.05

    def __post_init__(self) -> None:
        check_count(self.L)
        if self.L > _MOST_DATASETS:
            raise InputError(f"L must be at most {_MOST_DATASETS:,}, got {self.L}")
        check_choice(self.format, ("csv", "parquet"), "format")
        object.__setattr__(self, "columns", check_names(self.columns, "columns"))
        given = self.precision.values() if isinstance(self.precision, Mapping) else [self.precision]
        for precision in given:
            if precision is not None and check_number(precision, "precision", least=0) == 0:
                raise InputError("precision must be a number > 0, got 0")
        if check_number(self.unique_share, "unique_share", least=0) > 1:
            raise InputError(f"unique_share must lie between 0 and 1, got {self.unique_share!r}")

    def precision_of(self, variable: str) -> float | None:
        """The precision of one variable, where one is given."""
        return precision_of(self.precision, variable)


@dataclass(frozen=True)
class EvaluatingSettings(EvaluationSettings):
    """The settings of `evaluate`; the radius of the risk measures is the scenario's unless given here."""

    radius: Radius | None = None

    @property
    def measures(self) -> EvaluationSettings:
        """Without the radius, which stands in `Study.evaluating_scenario`."""
        return EvaluationSettings(**{f.name: getattr(self, f.name) for f in dataclasses.fields(EvaluationSettings)})


@dataclass(frozen=True, kw_only=True)
class Study:
    """Every setting of a run.

    Attributes
    ----------
    data, scenario, synthesizer, weights, sampling, release, evaluation
        The sections of a study file.
    guarantee : Guarantee, optional
        A section, too: what is to be proved of the L datasets of each scheme (METHODS section 9.3).
    thresholds : Thresholds
        A section, too: what the agency asks of a release, by measure; nothing that a run computes depends on it but its verdicts.
    baselines : mapping of name to settings
        Ways to protect the data without a model, for comparison: each a section of its own in the file.
    seed : int
    reproducible : bool
        Whether the seed alone decides the numbers, as experiments and tests need. Such a run is not for release: who knows the seed
        can make the noise of the draws again. Otherwise secret entropy is mixed in (METHODS section 13).
    """

    data: DataSettings
    scenario: Scenario
    synthesizer: SynthesizerSettings
    weights: WeightSettings = WeightSettings()
    sampling: Sampling = field(default_factory=Sampling)
    release: ReleaseSettings = ReleaseSettings()
    evaluation: EvaluatingSettings = EvaluatingSettings()
    thresholds: Thresholds = field(default_factory=Thresholds)
    guarantee: Guarantee | None = None
    baselines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, metadata=APART)
    seed: int = 0
    reproducible: bool = False

    def __post_init__(self) -> None:
        check_seed(self.seed, "seed")
        if self.seed is None:
            raise InputError("seed must be a whole number >= 0, got None")
        if not isinstance(self.reproducible, bool):
            raise InputError(f"reproducible must be true or false, got {self.reproducible!r}")
        self._check_guarantee()
        self._check_several()
        most = self.sampling.chains * self.sampling.draws
        if most < self.release.L:
            raise InputError(
                f"release.L must be at most the {most} posterior draws of sampling.chains x sampling.draws, got {self.release.L}"
            )
        asked = self.evaluation.risk_draws
        if asked is not None and asked > most:
            raise InputError(
                f"evaluation.risk_draws must be at most the {most} posterior draws of sampling.chains x sampling.draws, got {asked}"
            )
        self._scenario_with(None)  # its codes beside the synthesizer's; what fails below is the radius
        for section, radius in (("weights", self.weights.radius), ("evaluation", self.evaluation.radius)):
            try:
                self._scenario_with(radius)
            except InputError as error:
                raise InputError(f"setting '{section}.radius': {error}") from None

    def _check_several(self) -> None:
        """Refuse settings of one variable where there are several, and the other way round."""
        if self.synthesizer.of_several:
            if self.weights.target is not None:
                raise InputError("weights.target is sought for one variable's model; of several leave it out, or tune each by itself")
            match_subsets(self.weights.match, self.variables)
            given = self.release.precision if isinstance(self.release.precision, Mapping) else {}
            strange = [name for name in given if name not in self.variables]
            if strange:
                raise InputError(
                    f"release.precision names {listing(strange)}; valid are the synthesized variables {listing(self.variables)}"
                )
        elif self.weights.match != "own":
            raise InputError(f"weights.match {self.weights.match!r} is for several variables; a synthesizer with a formula has one")
        elif isinstance(self.release.precision, Mapping):
            raise InputError("release.precision is a table for several variables; a synthesizer with a formula has one: give a number")

    def _check_guarantee(self) -> None:
        """Refuse what a file cannot hold, and an automatic choice of the model, which looks at the data before any fit."""
        if self.guarantee is None:
            return
        if self.weights.survey is not None:
            raise InputError("a guarantee holds for no survey weights: leave out [guarantee] or weights.survey")
        if self.synthesizer.of_several:
            raise InputError("guarantee is that of one variable's model: a chain looks at the data to choose its models; leave it out")
        if not isinstance(self.guarantee.reference, Reference | None):
            raise InputError("guarantee.reference must be a distribution with its parameters in a study, which is written to a file")
        if self.synthesizer.name == AUTO:
            raise refusal(self.data_dependent())

    def data_dependent(self) -> list[str]:
        """What is taken from the data besides the synthesizer's own settings, in words."""
        weights: Any = self.weights
        weighted = [scheme for scheme in weights.schemes if parse_scheme(scheme).name not in _PUBLIC_SCHEMES]
        found = [f"the choice of a model (synthesizer.name = {AUTO!r})"] if self.synthesizer.name == AUTO else []
        if weighted:
            found.append(f"the weights of {listing(weighted)} (weights.schemes may hold {listing(_PUBLIC_SCHEMES)})")
        if getattr(weights, "target", None) is not None:
            found.append("a setting tuned on the data (weights.target)")
        return found

    def statement(self) -> Statement | None:
        """What is proved of the datasets of each scheme, where the study asks for a guarantee."""
        return None if self.guarantee is None else self.guarantee.statement(self.release.L, probability_mass(self.make_synthesizer()))

    @classmethod
    def from_table(cls, table: object, place: str) -> "Study":
        """The tables of a study file; a section that names a registered baseline is one."""
        given = dict(as_table(table, place))
        sections = {_section(name): name for name in baseline_names()}
        baselines = {sections[name]: dict(as_table(given.pop(name), name)) for name in list(given) if name in sections}
        return read_fields(cls, given, place, sections, baselines=baselines)

    def to_table(self) -> dict[str, Any]:
        """As it stands in a file."""
        return fields_to_table(self) | {_section(name): to_table(settings) for name, settings in self.baselines.items()}

    @property
    def variables(self) -> tuple[str, ...]:
        """The synthesized variables."""
        return tuple(self.scenario.synthetic)

    @property
    def target(self) -> str:
        """The variable that the synthesizer replaces, where it is one."""
        if len(self.variables) != 1:
            raise InputError(f"the study synthesizes {listing(self.variables)}; this is for studies of one variable")
        return self.variables[0]

    def unaltered(self, confidential: pd.DataFrame) -> list[str]:
        """The columns that are released as they are: the known ones and the declared ones, in the order of the data."""
        wanted = {*self.scenario.known, *self.release.columns} - set(self.variables)
        return [str(name) for name in confidential.columns if name in wanted]

    def released(self, confidential: pd.DataFrame) -> list[str]:
        """Every column that is released, in the order of the data."""
        leaving = {*self.unaltered(confidential), *self.variables}
        return [str(name) for name in confidential.columns if name in leaving]

    def weighting_scenario(self) -> Scenario:
        """The scenario with the radius that the weights are made with."""
        return self._scenario_with(self.weights.radius)

    def evaluating_scenario(self) -> Scenario:
        """The scenario with the radius that risk is measured with."""
        return self._scenario_with(self.evaluation.radius)

    def _scenario_with(self, radius: Radius | None) -> Scenario:
        """The scenario with a radius, and with the special codes that the synthesizer's settings state."""
        stated = {name: codes for name, codes in self.synthesizer.codes.items() if name in self.variables}
        codes = {**stated, **self.scenario.codes}
        if radius is None and codes == dict(self.scenario.codes):
            return self.scenario
        return dataclasses.replace(self.scenario, radius=self.scenario.radius if radius is None else radius, codes=codes)

    def make_synthesizer(self) -> Synthesizer:
        """The synthesizer, built from its formula and settings; refuses one of another variable than the scenario's."""
        if self.synthesizer.name == AUTO:
            raise InputError(_UNNAMED)
        if self.synthesizer.formula is None:
            raise InputError(f"the synthesizer {self.synthesizer.name!r} is of several variables: it has no single target")
        made = build_synthesizer(self.synthesizer.name, self.synthesizer.formula, self.synthesizer.settings)
        self._check_target(made.target)
        return made

    def make_chain(self) -> Chain:
        """The chain of a study of several variables, in the scenario's order."""
        return build_chain(self.synthesizer.name, self.variables, self.synthesizer.settings)

    def check_synthesizer(self) -> None:
        """Refuse a synthesizer that cannot be built, or is one of another variable than the scenario's."""
        if self.synthesizer.of_several:
            self.make_chain()
        elif self.synthesizer.name == AUTO:
            self._check_target(response_name(str(self.synthesizer.formula)))
        else:
            self.make_synthesizer()

    def _check_target(self, target: str) -> None:
        if self.variables != (target,):
            raise InputError(
                f"the synthesizer replaces {target!r}, but scenario.synthetic is {', '.join(self.variables)!r}; "
                "they must be the same variable"
            )

    def make_baseline(self, name: str) -> Synthesizer:
        """A baseline for the variable that the synthesizer replaces."""
        return build_synthesizer(name, f"`{self.target}` ~ 1", self.baselines[name])

    def read_data(self) -> pd.DataFrame:
        """The confidential data."""
        return self.data.read()


def _section(name: str) -> str:
    """A baseline's name as that of a section: ``[clipped_at]`` for "clipped-at"."""
    return name.replace("-", "_")


def names_of_settings(synthesizer: str) -> list[str]:
    """Every setting of a study by its dotted name, with those of one synthesizer and of the baselines."""
    if synthesizer == AUTO:
        raise InputError(_UNNAMED)
    names = [
        name
        for name in setting_names(Study)
        if name not in ("seed", "reproducible", "synthesizer.settings") and not name.startswith("thresholds")
    ]
    own = [f"synthesizer.{name}" for name in _own_settings(synthesizer)]
    if "synthesizer.variables" in own:  # of a chain, whose variables are the scenario's and have a table of settings each
        names = [name for name in names if name != "synthesizer.formula" and not name.startswith("guarantee")]
        own.remove("synthesizer.settings")
    others = [f"{_section(name)}.{setting}" for name in baseline_names() for setting in _own_settings(name)]
    return [*names, *own, *others, "seed"]


def _own_settings(synthesizer: str) -> list[str]:
    kind: Any = load_synthesizer(synthesizer)
    return [f.name for f in dataclasses.fields(kind) if f.name != "formula"]


def build_synthesizer(name: str, formula: str, settings: Mapping[str, Any]) -> Synthesizer:
    """A registered synthesizer from a formula and settings by name; lists the valid ones where one is unknown."""
    kind, valid = load_synthesizer(name), _own_settings(name)
    if "variables" in valid:
        raise InputError(f"synthesizer {name!r} is of several variables: leave out synthesizer.formula, and name its predictors")
    unknown = [setting for setting in settings if setting not in valid]
    if unknown:
        raise InputError(f"synthesizer {name!r} has no setting {listing(unknown)}; valid are {listing(valid)}")
    tables = [setting for setting, value in settings.items() if _holds_table(value)]
    if tables:
        raise InputError(
            f"setting {listing(tables)} of synthesizer {name!r} must be a value or a list, got a table; names with values are a list of "
            "pairs, such as [['components', 2]]"
        )
    made = kind(formula, **{key: as_tuples(value) for key, value in settings.items()})
    boundless = [setting for setting, value in settings.items() if isinstance(value, float) and not math.isfinite(value)]
    if boundless:
        raise InputError(f"setting {listing(boundless)} of synthesizer {name!r} must be finite; leave it out, or give a number")
    return made


def build_chain(name: str, variables: Sequence[str], settings: Mapping[str, Any]) -> Chain:
    """A registered chain from settings by name; `settings` of single variables stand in the table "variables"."""
    kind: Any = load_synthesizer(name)
    fields = [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    if "variables" not in fields:
        raise InputError(f"setting 'synthesizer.formula' is missing: synthesizer {name!r} is of one variable")
    valid = [field for field in fields if field not in ("variables", "settings")]
    unknown = [setting for setting in settings if setting not in (*valid, "variables")]
    if unknown:
        raise InputError(f"synthesizer {name!r} has no setting {listing(unknown)}; valid are {listing([*valid, 'variables'])}")
    own = as_table(settings.get("variables", {}), "synthesizer.variables")
    tables = {variable: dict(as_table(table, f"synthesizer.variables.{variable}")) for variable, table in own.items()}
    made = kind(tuple(variables), settings=tables, **{name: as_tuples(settings[name]) for name in valid if name in settings})
    if not is_chain(made):
        raise InputError(f"synthesizer {name!r} takes variables, but is no chain of synthesizers")
    chain: Chain = made
    return chain


def _holds_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, (list, tuple)) and any(map(_holds_table, value)))


def make_study(settings: Mapping[str, Any], folder: Path | None = None) -> Study:
    """A checked study from settings as they stand in a study file, its synthesizer's settings too; paths are relative to `folder`."""
    try:
        study = read_study(settings, folder)
        check_models(study)
    except InputError:
        _refuse_absent(settings, folder)
        raise
    return study


def _refuse_absent(settings: Mapping[str, Any], folder: Path | None) -> None:
    """Of settings that are refused: where a synthetic variable is no column of the data, say that instead."""
    try:
        data = from_table(DataSettings, settings["data"], "data").within(folder).read()
        synthetic = check_names(settings["scenario"]["synthetic"], "synthetic")
    except (InputError, LookupError, TypeError):
        return  # which is another fault
    require_columns(data, synthetic, "confidential data")


def check_models(study: Study) -> None:
    """Refuse a study whose synthesizer or baselines cannot be built."""
    study.check_synthesizer()
    for name in study.baselines:
        study.make_baseline(name)


def read_study(settings: Mapping[str, Any], folder: Path | None = None) -> Study:
    """The same without building a synthesizer: enough to read a finished run, and quick."""
    study = from_table(Study, settings)
    return dataclasses.replace(study, thresholds=study.thresholds.with_policy(folder), data=study.data.within(folder))


def load_study(path: str | Path) -> Study:
    """Read and check a study file.

    Parameters
    ----------
    path : str or Path
        A TOML file with the tables [data], [scenario], [synthesizer], and optionally [weights], [sampling],
        [release], [evaluation], [thresholds], [guarantee], and a table for each baseline.

    Raises
    ------
    InputError
        If the file is absent or not TOML, or a setting is unknown, missing or not valid.
    """
    return make_study(read_toml(path, "study"), Path(path).parent)


def demo_study() -> Study:
    """The embedded default: synthesize the income of 9,275 real households (METHODS sections 2-6)."""
    return load_study(Path(str(files("riskweighted.runs") / "demo.toml")))
