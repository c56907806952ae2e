"""A study: which data, which scenario, which synthesizer, which weights. Read from TOML and checked
before anything runs.

Each section of the file is the frozen class that declares its settings: `Scenario`, `Sampling`,
`Guarantee`, `Thresholds` and those of `riskweighted.runs.sections`.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from riskweighted.common.units import Units
from riskweighted.contract.synthesizer import Synthesizer, baseline_names
from riskweighted.design.formulas import response_name, split_formula
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.guarantee.clip import refusal
from riskweighted.guarantee.statement import OF_UNITS, Guarantee, Reference, Statement
from riskweighted.intruder.intruders import WORST, Intruder, check_intruders, union_of
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
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.declared import Chain
from riskweighted.weights.scheme_names import UNWEIGHTED, parse_scheme
from riskweighted.weights.subsets import match_subsets, scheme_subsets

if TYPE_CHECKING:
    from riskweighted.data.variables import Variables

__all__ = [
    "AUTO",
    "UNNAMED",
    "Study",
    "check_models",
    "demo_study",
    "load_study",
    "make_study",
    "read_study",
    "refuse_several",
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
    intruders : sequence of Intruder
        Of several intruders what each knows and how close is close (``[[intruders]]``); what is
        common to all stands in `scenario`, whose ``known`` is then all that any of them knows.
    judged : str, optional
        Of several intruders the one by whom risk is measured, by default the first; a run measures
        it by each, so it stands in no file.
    units : Units, optional
        A section, too: which records belong together, such as the persons of a household. It is
        also the cluster of the weights and of the evaluation, and the unit of the release.
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
    intruders: Sequence[Intruder] = field(
        default=(), metadata={**APART, **read_by(why="each is a scenario, which stages read")}
    )
    judged: str | None = field(
        default=None, metadata={**APART, **read_by(why="it is the scenario that stages read")}
    )
    units: Units | None = None
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
        self._link_intruders()
        self._link_units()
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

    def _link_intruders(self) -> None:
        """All that any intruder knows as what the common scenario has known; refuses what does not
        go with several.
        """
        object.__setattr__(self, "intruders", tuple(self.intruders))
        names, known = [each.name for each in self.intruders], self.scenario.known
        valid = {"weights.intruder": [*names, WORST], "judged": names}
        for setting, name in zip(valid, (self.weights.intruder, self.judged), strict=True):
            if name is not None and not (names and name in valid[setting]):
                told = listing(valid[setting]) if names else "none: the study has no [[intruders]]"
                raise InputError(f"{setting} names {name!r}; valid are {told}")
        if not self.intruders:
            return
        check_intruders(self.intruders, self.scenario)
        if known not in ((), union := union_of(self.intruders)):
            raise InputError(
                f"scenario.known names {listing(known)}, and [[intruders]] say what each knows: "
                "leave it out of [scenario], or leave out [[intruders]]"
            )
        object.__setattr__(self, "scenario", dataclasses.replace(self.scenario, known=union))
        sample = self.data.in_parts or self.data.fitted is not None
        of_one = {  # settings that go with one intruder alone, and why
            "[guarantee]": (self.guarantee, "a guarantee holds for every intruder"),
            "data.fitted and data in parts": (
                sample or None,
                "a file of which a sample is fitted is drawn by the known patterns of one intruder",
            ),
            "weights.target": (self.weights.target, "a target is sought under one intruder's risk"),
            "weights.radius": (self.weights.radius, "each intruder has a radius of its own"),
            "evaluation.radius": (self.evaluation.radius, "each intruder has a radius of its own"),
        }
        for setting, (given, why) in of_one.items():
            if given is not None:
                raise InputError(f"{why}: leave out [[intruders]] or {setting}")

    def _link_units(self) -> None:
        """The id of the units as the cluster of weights and evaluation and the unit of the
        release; another column there is refused, and what is not yet of units.
        """
        panel = self.units is not None and self.units.time is not None
        levels = self.units is not None and (self.units.unit_level or self.units.totals)
        if self.release.layout == "two-files" and not levels:
            raise InputError(
                'release.layout = "two-files" asks for [units] with unit_level columns or totals, '
                "which make the file of units"
            )
        if (self.scenario.inside and self.units is None) or (self.scenario.earlier and not panel):
            raise InputError(
                "scenario.inside asks for [units], whose members know each other, and "
                "scenario.earlier for those of a panel, which have a time: add or leave it out"
            )
        if self.units is None:
            return
        if self.guarantee is not None:
            raise refusal([OF_UNITS])
        if self.synthesizer.name == AUTO:
            raise InputError(
                f"units are drawn by a chain, and synthesizer.name is {AUTO!r}: name 'sequential'"
            )
        if self.data.in_parts:
            raise InputError(
                "units are of data that are read whole, and these are in parts: leave out [units]"
            )
        if self.units.id in self.scenario.known:
            raise InputError(
                f"scenario.known names {self.units.id!r}, the id of the units, which is released "
                "with new numbers: leave it out"
            )
        totals, scenario = self.units.totals, self.scenario
        used = [*scenario.synthetic, *scenario.known, *self.release.columns]
        used += self.synthesizer.columns_among(totals)
        if both := [name for name in totals if name in used]:
            raise InputError(
                f"units.totals has {listing(both)}, which is computed and released in every "
                "dataset: leave it out of [scenario], [release] columns and [synthesizer]"
            )
        for section, name in (
            ("weights", "cluster"),
            ("evaluation", "cluster"),
            ("release", "unit"),
        ):
            settings, stated = getattr(self, section), getattr(getattr(self, section), name)
            if stated not in (None, self.units.id):
                raise InputError(
                    f"{section}.{name} names {stated!r}, and the units are those of "
                    f"{self.units.id!r}: leave it out"
                )
            object.__setattr__(
                self, section, dataclasses.replace(settings, **{name: self.units.id})
            )

    def _check_variables(self) -> None:
        """Refuse settings of variables that are not synthesized."""
        match_subsets(self.weights.risk_of, self.variables)
        for scheme in self.weights.schemes:
            scheme_subsets(scheme, self.weights.risk_of, self.variables)
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
        listed = given.pop("intruders", [])
        if not isinstance(listed, list):
            raise InputError("[[intruders]] are a list of tables, each with name and known")
        intruders = tuple(from_table(Intruder, one, "intruders") for one in listed)
        others = [*sections, "intruders"]
        return read_fields(cls, given, place, others, baselines=baselines, intruders=intruders)

    def to_table(self) -> dict[str, Any]:
        """As it stands in a file."""
        table = fields_to_table(self) | {
            section_of(name): to_table(settings) for name, settings in self.baselines.items()
        }
        if self.intruders:
            del table["scenario"]["known"]
            table["intruders"] = [
                {name: value for name, value in to_table(each).items() if value is not None}
                for each in self.intruders
            ]
        return table

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

    @property
    def altered(self) -> tuple[str, ...]:
        """The columns that differ between datasets: the synthesized variables and totals of units,
        which follow from them.
        """
        return (*self.variables, *(() if self.units is None else self.units.totals))

    def unaltered(self, confidential: pd.DataFrame) -> list[str]:
        """The columns that are released as they are: the known ones and the declared ones, role and
        time of units, in the order of the data.
        """
        wanted = {*self.scenario.known, *self.release.columns} - set(self.variables)
        if self.units is not None:
            wanted.update(filter(None, (self.units.role, self.units.time)))
            wanted.discard(self.units.id)
        return [str(name) for name in confidential.columns if name in wanted]

    def released(self, confidential: pd.DataFrame) -> list[str]:
        """Every column that is released, in the order of the data: beside the unaltered and the
        synthesized ones the id of units, which leaves with new numbers, and their totals.
        """
        leaving = {*self.unaltered(confidential), *self.altered}
        if self.units is not None:
            leaving.add(self.units.id)
        return [str(name) for name in confidential.columns if name in leaving]

    @property
    def intruder(self) -> str | None:
        """By whom risk is measured, of several."""
        return self.judged or (self.intruders[0].name if self.intruders else None)

    def judged_by(self, name: str) -> "Study":
        """The study whose risk is measured by one of several intruders."""
        return dataclasses.replace(self, judged=name)

    def weighting_scenario(self) -> Scenario:
        """The scenario with the radius that the weights are made with; of several intruders the
        first that they protect against.
        """
        return self.weighting_scenarios()[0]

    def weighting_scenarios(self) -> tuple[Scenario, ...]:
        """Those of all intruders that the weights protect against."""
        if self.weights.intruder == WORST:
            return tuple(self._scenario_with(None, each.name) for each in self.intruders)
        first = self.intruders[0].name if self.intruders else None
        return (self._scenario_with(self.weights.radius, self.weights.intruder or first),)

    def evaluating_scenario(self) -> Scenario:
        """The scenario with the radius that risk is measured with."""
        return self._scenario_with(self.evaluation.radius, self.intruder)

    def _scenario_with(self, radius: Radius | None, intruder: str | None = None) -> Scenario:
        """The scenario with a radius, or that of an intruder, and with the special codes that the
        synthesizer's settings state.
        """
        scenario = self.scenario
        for each in self.intruders:
            if each.name == intruder:
                scenario = each.within(self.scenario, self.scenario.known)
        stated = {
            name: codes for name, codes in self.synthesizer.codes.items() if name in self.variables
        }
        codes = {**stated, **scenario.codes}
        if radius is None and codes == dict(scenario.codes):
            return scenario
        return dataclasses.replace(
            scenario, radius=scenario.radius if radius is None else radius, codes=codes
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
            self.units,
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

    def read_data(
        self,
        path: str | Path | None = None,
        described: "Variables | None" = None,
        weights: Path | None = None,
    ) -> pd.DataFrame:
        """The confidential data, of data in parts the columns that the study names, with the
        weights of ``weights.file``.

        `path`, `described`: of another file read alike; `weights`: a copy of the file of weights.
        """
        return self.with_weights(
            self.data.read(path, described, columns=self.columns_named), weights
        )

    def with_weights(self, data: pd.DataFrame, file: Path | None = None) -> pd.DataFrame:
        """The data with the weights of ``weights.file``, or of a copy of it, coarsened as the study
        says.
        """
        file = file or self.weights.file
        if file is None:
            return self.coarsened(data)
        from riskweighted.weights.user_weights import joined_weights  # loads kernels

        return self.coarsened(joined_weights(data, file))

    def coarsened(self, data: pd.DataFrame) -> pd.DataFrame:
        """The data with levels merged and units cut as ``units.coarsen`` says."""
        return data if self.units is None else self.units.coarsened(data)

    def columns_named(self, names: Iterable[str]) -> list[str]:
        """Those of some columns whose names stand anywhere in the study but as ``data.id``; all
        where it has analyses, which may read any.
        """
        used = (*self.variables, *self.scenario.known, *self.release.columns)
        if self.data.id in (*used, *self.synthesizer.columns):
            raise InputError(
                f"data.id names {self.data.id!r}, which the study synthesizes, releases, or reads "
                "as known or predictor: an identifier is none of these, so leave it out there, or "
                "name another column"
            )
        if self.evaluation.analyses:
            return list(names)
        sections = {name: table for name, table in to_table(self).items() if name != "data"}
        told = f"{sections} {self.data.where} {list(self.data.kinds)}"
        if self.weights.file is not None:
            from riskweighted.weights.user_weights import id_of_weights

            told += f" {id_of_weights(self.weights.file)}"
        return [name for name in names if name in told]


def refuse_several(study: Study, what: str) -> None:
    """Refuse what is of one intruder alone."""
    if study.intruders:
        raise InputError(
            f"{what} is of one intruder, whose risk it varies or seeks: leave out [[intruders]]"
        )


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
    from riskweighted.weights.schemes import order_schemes

    order_schemes(study.weights.schemes)
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
        study,
        thresholds=study.thresholds.with_policy(folder),
        data=study.data.within(folder),
        weights=study.weights.within(folder),
    )


def load_study(path: str | Path) -> Study:
    """Return the study of a file, read and checked.

    Parameters
    ----------
    path : str or Path
        A TOML file with the tables [data], [scenario], [synthesizer], and optionally [units],
        [weights], [sampling], [release], [evaluation], [thresholds], [guarantee], and a table for
        each baseline.

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
