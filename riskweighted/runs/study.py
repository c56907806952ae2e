"""A study: which data, which scenario, which synthesizer, which weights. Read from TOML and checked
before anything runs.

Each section of the file is the frozen class that declares its settings: `Scenario`, `Sampling`,
`Guarantee`, `Thresholds` and those of `riskweighted.runs.sections`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.checks import check_names, check_seed
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.settings import (
    APART,
    as_table,
    fields_to_table,
    from_table,
    read_by,
    read_fields,
    read_toml,
    to_table,
)
from riskweighted.contract.synthesizer import Synthesizer, baseline_names
from riskweighted.design.formulas import response_name, split_formula
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.guarantee.clip import refusal
from riskweighted.guarantee.statement import Guarantee, Reference, Statement
from riskweighted.intruder.scenario import Scenario
from riskweighted.runs.models import build_synthesizer, declare
from riskweighted.runs.sections import (
    DataSettings,
    EvaluatingSettings,
    Radius,
    ReleaseSettings,
    SynthesizerSettings,
    WeightSettings,
)
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.declared import Chain
from riskweighted.weights.names import UNWEIGHTED, parse_scheme
from riskweighted.weights.subsets import match_subsets, scheme_subsets

__all__ = [
    "AUTO",
    "UNNAMED",
    "Study",
    "check_models",
    "demo_study",
    "load_study",
    "make_study",
    "read_study",
    "section_of",
]

AUTO = "auto"  # in place of a synthesizer's name: a run compares those that take the data
# weights that are the same for all records, whatever the data
_PUBLIC_SCHEMES = (UNWEIGHTED, "uniform")
_BY_CHANCE = ("fit", "drawn", "expected", "utility", "evaluated", "chosen")
UNNAMED = (
    f"the study names no model (name = {AUTO!r}): `run` it, which chooses one and writes a study "
    "file that names it"
)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study holds every setting of a run.

    Attributes
    ----------
    data, scenario, synthesizer, weights, sampling, release, evaluation
        The sections of a study file.
    guarantee : Guarantee, optional
        A section, too: what is to be proved of the L datasets of each scheme (METHODS section 9.3).
    thresholds : Thresholds
        A section, too: what the agency asks of a release, by measure; nothing that a run computes
        depends on it but its verdicts.
    baselines : mapping of name to settings
        Ways to protect the data without a model, for comparison: each a section of its own in the
        file.
    seed : int
    reproducible : bool
        Whether the seed alone decides the numbers, as experiments and tests need. Such a run is not
        for release: who knows the seed can make the noise of the draws again. Otherwise secret
        entropy is mixed in (METHODS section 13).

    Examples
    --------
    >>> import dataclasses
    >>> from riskweighted.runs.examples import folder
    >>> study = dataclasses.replace(rw.load_study(folder / "study.toml"), seed=7)
    >>> study.target, study.seed
    ('income', 7)
    """

    data: DataSettings
    scenario: Scenario
    synthesizer: SynthesizerSettings
    weights: WeightSettings = field(default_factory=WeightSettings)
    sampling: Sampling = field(default_factory=Sampling)
    release: ReleaseSettings = field(default_factory=ReleaseSettings)
    evaluation: EvaluatingSettings = field(default_factory=EvaluatingSettings)
    thresholds: Thresholds = field(
        default_factory=Thresholds, metadata=read_by(why="verdicts are read off finished tables")
    )
    guarantee: Guarantee | None = None
    baselines: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict, metadata={**APART, **read_by("prepared", why="its own alone")}
    )
    seed: int = field(default=0, metadata=read_by(*_BY_CHANCE, why="only these draw at random"))
    reproducible: bool = field(
        default=False,
        metadata=read_by(why="the seeds that are made with or without entropy are in the keys"),
    )

    def __post_init__(self) -> None:
        check_seed(self.seed, "seed")
        if self.seed is None:
            raise InputError("seed must be a whole number >= 0, got None")
        if not isinstance(self.reproducible, bool):
            raise InputError(f"reproducible must be true or false, got {self.reproducible!r}")
        self._check_guarantee()
        self._check_variables()
        most = self.sampling.chains * self.sampling.draws
        for name, asked in (
            ("release.L", self.release.L),
            ("evaluation.risk_draws", self.evaluation.risk_draws),
        ):
            if asked is not None and asked > most:
                raise InputError(
                    f"{name} must be at most the {most} posterior draws of sampling.chains x "
                    f"sampling.draws, got {asked}"
                )
        # its codes beside the synthesizer's; what fails below is the radius
        self._scenario_with(None)
        for section, radius in (
            ("weights", self.weights.radius),
            ("evaluation", self.evaluation.radius),
        ):
            try:
                self._scenario_with(radius)
            except InputError as error:
                raise InputError(f"setting '{section}.radius': {error}") from None

    def _check_variables(self) -> None:
        """Refuse settings of variables that are not synthesized."""
        match_subsets(self.weights.match, self.variables)
        for scheme in self.weights.schemes:
            scheme_subsets(scheme, self.weights.match, self.variables)
        given = self.release.precision if isinstance(self.release.precision, Mapping) else {}
        strange = [name for name in given if name not in self.variables]
        if strange:
            raise InputError(
                f"release.precision names {listing(strange)}; valid are the synthesized "
                f"variables {listing(self.variables)}"
            )

    def _check_guarantee(self) -> None:
        """Refuse what a file cannot hold, and an automatic choice of the model, which looks at the
        data before any fit.
        """
        if self.guarantee is None:
            return
        if self.weights.survey is not None:
            raise InputError(
                "a guarantee holds for no survey weights: leave out [guarantee] or weights.survey"
            )
        if not isinstance(self.guarantee.reference, Reference | None):
            raise InputError(
                "guarantee.reference must be a distribution with its parameters in a study, "
                "which is written to a file"
            )
        if self.synthesizer.name == AUTO:
            raise refusal(self.data_dependent())

    def data_dependent(self) -> list[str]:
        """What is taken from the data besides the synthesizer's own settings, in words."""
        weighted = [
            scheme
            for scheme in self.weights.schemes
            if parse_scheme(scheme).name not in _PUBLIC_SCHEMES
        ]
        taken = (
            [f"the choice of a model (synthesizer.name = {AUTO!r})"]
            if self.synthesizer.name == AUTO
            else []
        )
        if weighted:
            taken.append(
                f"the weights of {listing(weighted)} (weights.schemes may hold "
                f"{listing(_PUBLIC_SCHEMES)})"
            )
        if self.weights.target is not None:
            taken.append("a setting tuned on the data (weights.target)")
        return taken

    def statement(self) -> Statement | None:
        """What is proved of the datasets of each scheme, where the study asks for a guarantee."""
        if self.guarantee is None:
            return None
        # loads what samples, which reading a study does not need
        from riskweighted.sequence.clipping import statement_of

        return statement_of(self.make_synthesizer(), self.guarantee, self.release.L)

    @classmethod
    def from_table(cls, table: object, place: str) -> "Study":
        """The tables of a study file; a section that names a registered baseline is one."""
        given = dict(as_table(table, place))
        sections = {section_of(name): name for name in baseline_names()}
        baselines = {
            sections[name]: dict(as_table(given.pop(name), name))
            for name in list(given)
            if name in sections
        }
        return read_fields(cls, given, place, sections, baselines=baselines)

    def to_table(self) -> dict[str, Any]:
        """As it stands in a file."""
        return fields_to_table(self) | {
            section_of(name): to_table(settings) for name, settings in self.baselines.items()
        }

    @property
    def variables(self) -> tuple[str, ...]:
        """The synthesized variables."""
        return tuple(self.scenario.synthetic)

    @property
    def tables(self) -> dict[str, Mapping[str, Any]]:
        """The settings of the model of each variable; of a single model all."""
        settings = self.synthesizer.settings
        if self.synthesizer.formula is not None:
            return {self.target: settings}
        return {name: settings.get("variables", {}).get(name, {}) for name in self.variables}

    @property
    def linking_column(self) -> str | None:
        """The column that tells which records belong together, such as a household's number, where
        one is declared.
        """
        return self.release.unit or self.evaluation.cluster or self.weights.cluster

    @property
    def target(self) -> str:
        """The variable that the synthesizer replaces, where it is one."""
        if len(self.variables) != 1:
            raise InputError(
                f"the study synthesizes {listing(self.variables)}; this is for studies of one "
                "variable"
            )
        return self.variables[0]

    def unaltered(self, confidential: pd.DataFrame) -> list[str]:
        """The columns that are released as they are: the known ones and the declared ones, in the
        order of the data.
        """
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
        """The scenario with a radius, and with the special codes that the synthesizer's settings
        state.
        """
        stated = {
            name: codes for name, codes in self.synthesizer.codes.items() if name in self.variables
        }
        codes = {**stated, **self.scenario.codes}
        if radius is None and codes == dict(self.scenario.codes):
            return self.scenario
        return dataclasses.replace(
            self.scenario, radius=self.scenario.radius if radius is None else radius, codes=codes
        )

    def make_synthesizer(self) -> Synthesizer | Chain:
        """What the study declares: a synthesizer by its formula, or a chain; refuses one of another
        variable than the scenario's.
        """
        if self.synthesizer.name == AUTO:
            raise InputError(UNNAMED)
        made = declare(
            self.synthesizer.name,
            self.synthesizer.formula,
            self.variables,
            self.synthesizer.settings,
        )
        target = getattr(made, "target", None)
        if target is not None:
            self._check_target(target)
        return made

    def check_synthesizer(self) -> None:
        """Refuse what cannot be built, or is of another variable than the scenario's."""
        if self.synthesizer.name == AUTO and self.synthesizer.formula is not None:
            self._check_target(response_name(self.synthesizer.formula))
        else:
            self.make_synthesizer()

    def _check_target(self, target: str) -> None:
        if self.variables != (target,):
            raise InputError(
                f"the synthesizer replaces {target!r}, but scenario.synthetic is "
                f"{', '.join(self.variables)!r}; "
                "they must be the same variable"
            )

    def make_baselines(self, name: str) -> dict[str, Synthesizer]:
        """A baseline of each variable, by its own table of ``variables`` where it has one,
        otherwise by the settings for all.
        """
        settings, section = dict(self.baselines[name]), section_of(name)
        tables = as_table(settings.pop("variables", {}), f"{section}.variables")
        strange = [variable for variable in tables if variable not in self.variables]
        if strange:
            raise InputError(
                f"{section}.variables names {listing(strange)}; valid are the synthesized "
                f"variables {listing(self.variables)}"
            )
        given = {
            variable: as_table(tables.get(variable, {}), f"{section}.variables.{variable}")
            for variable in self.variables
        }
        return {
            variable: build_synthesizer(name, f"`{variable}` ~ 1", {**settings, **given[variable]})
            for variable in self.variables
        }

    def read_data(self) -> pd.DataFrame:
        """The confidential data."""
        return self.data.read()


def section_of(name: str) -> str:
    """A baseline's name as that of a section: ``[clipped_at]`` for "clipped-at"."""
    return name.replace("-", "_")


def make_study(settings: Mapping[str, Any], folder: Path | None = None) -> Study:
    """A checked study from settings as they stand in a study file, its synthesizer's settings too;
    paths are relative to `folder`.
    """
    try:
        study = read_study(settings, folder)
        check_models(study)
    except InputError:
        _refuse_absent(settings, folder)
        raise
    _check_names(study)
    return study


def _check_names(study: Study) -> None:
    """Refuse schemes, a target and regressions that no data could suit, before any are read."""
    from riskweighted.utility.regressions import split_regression
    from riskweighted.weights.schemes import in_order

    in_order(study.weights.schemes)
    _ = study.weights.tuning
    for formula in [*study.evaluation.regressions, *filter(None, [study.evaluation.regression])]:
        split_formula(split_regression(formula).plain)


def _refuse_absent(settings: Mapping[str, Any], folder: Path | None) -> None:
    """Of settings that are refused: where a synthetic variable is no column of the data, say that
    instead.
    """
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
        study.make_baselines(name)


def read_study(settings: Mapping[str, Any], folder: Path | None = None) -> Study:
    """The same without building a synthesizer: enough to read a finished run, and quick."""
    study = from_table(Study, settings)
    return dataclasses.replace(
        study, thresholds=study.thresholds.with_policy(folder), data=study.data.within(folder)
    )


def load_study(path: str | Path) -> Study:
    """Return the study of a file, read and checked.

    Parameters
    ----------
    path : str or Path
        A TOML file with the tables [data], [scenario], [synthesizer], and optionally [weights],
        [sampling], [release], [evaluation], [thresholds], [guarantee], and a table for each
        baseline.

    Raises
    ------
    InputError
        If the file is absent or not TOML, or a setting is unknown, missing or not valid.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> study = rw.load_study(folder / "study.toml")
    >>> study.weights.schemes
    ('unweighted', 'marginal')
    """
    return make_study(read_toml(path, "study"), Path(path).parent)


def demo_study() -> Study:
    """The embedded default: synthesize the income of 9,275 real households (METHODS sections
    2-6).
    """
    return load_study(Path(str(files("riskweighted.runs") / "demo.toml")))
