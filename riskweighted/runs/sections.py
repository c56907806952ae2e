"""The sections of a study file: each is a frozen class that declares and checks its settings.

Every stage of a run (`riskweighted.runs.stages`) reads all fields of the classes that it reads; a
field that only some of them read says so where it is declared, with the reason (`read_by`).
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from riskweighted.common.checks import (
    check_choice,
    check_count,
    check_names,
    check_number,
    check_path,
    check_reasons,
    check_sequence,
    check_text,
    function_name,
    real_path,
)
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import UNSAID, as_table, read_by, to_table
from riskweighted.common.units import join_units
from riskweighted.design.formulas import split_formula
from riskweighted.design.precision import Precision, precision_of
from riskweighted.disclosure.policy import DisclosureSettings
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.declared import stated_codes
from riskweighted.sequence.rounding import DrawingSettings
from riskweighted.suggest.evidence import FEW, KINDS, LEVELS, TIME
from riskweighted.weights.scheme_names import DEPENDS, UNWEIGHTED, is_given, parse_scheme

if TYPE_CHECKING:
    from riskweighted.data.csv_layout import CsvLayout
    from riskweighted.data.variables import Variables
    from riskweighted.tuning.tuning_settings import TuningSettings

__all__ = [
    "DataSettings",
    "EvaluatingSettings",
    "Radius",
    "ReleaseSettings",
    "SynthesizerSettings",
    "WeightSettings",
]

Radius = float | Mapping[str, float]
_MOST_DATASETS = 100_000
_WHERE = read_by(why="the fingerprint of what is read identifies it, wherever it is read from")
_IN_SCENARIO = read_by(why="it is in the scenario that the stage reads")
_SOUGHT = read_by(
    "tuned",
    why="what the search for a scheme must meet; the scheme that it finds is named in schemes",
)

_WRITTEN = read_by(why="how the datasets are written and released, not what they are")
_JUDGED = read_by(
    "disclosed",
    why="how the datasets are released, and what a board accepts of them; they are drawn before",
)


@dataclass(frozen=True)
class DataSettings:
    """Where the confidential data is: a file (relative to the study file) or an embedded data set;
    and how it is to be read.

    Of a csv that is not a plain one: ``delimiter``, ``decimal``, ``thousands``, ``encoding`` and
    ``missing`` (`riskweighted.data.csv_layout.CsvLayout`). ``variables``: a file that says what the
    columns are (`riskweighted.Variables`), which may be the data file itself; codes that it
    declares to mean missing stay codes, and its labels leave with a release.

    ``path`` may be a pattern that names parquet files, such as ``parts/*.parquet``; or one parquet
    file with ``row_groups = true``. A run of such a study goes part by part (docs/parts.md).
    ``id``: the column that identifies its records, by whose order they are drawn; without it their
    place in the files, in the order of the names. ``fitted``: to how many records the model is
    fitted, a part of every known pattern at random; without it to all.

    ``units``: a file of units, such as households, one row each, whose columns the records of
    ``path``, their members, take by the column ``key`` that both have.

    ``where``: a condition over the columns, such as ``"age >= 16"``; records that do not meet it
    are no part of the study and never leave.

    ``kinds``: what columns are, by name one of the nine kinds of `riskweighted.suggest.evidence`,
    where `init` or the numbers themselves would say otherwise. Whole numbers that are "levels", or
    a "time" of twenty values at most, are read as categories.
    """

    path: Path | None = field(default=None, metadata=_WHERE)
    embedded: str | None = field(default=None, metadata=_WHERE)
    delimiter: str | None = field(default=None, metadata=_WHERE)
    decimal: str | None = field(default=None, metadata=_WHERE)
    thousands: str | None = field(default=None, metadata=_WHERE)
    encoding: str | None = field(default=None, metadata=_WHERE)
    missing: Sequence[str] = field(default=(), metadata=_WHERE)
    variables: Path | None = field(default=None, metadata=_WHERE)
    row_groups: bool = field(default=False, metadata=_WHERE)
    id: str | None = field(default=None, metadata=_WHERE)
    fitted: int | None = field(default=None, metadata=_WHERE)
    units: Path | None = field(default=None, metadata=_WHERE)
    key: str | None = field(default=None, metadata=_WHERE)
    where: str | None = field(default=None, metadata=_WHERE)
    kinds: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=_WHERE)

    def __post_init__(self) -> None:
        if (self.path is None) == (self.embedded is None):
            raise InputError("data: give either path or embedded")
        for name in ("path", "variables", "units"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_path(getattr(self, name), name))
        check_text(self.embedded, "embedded", optional=True)
        texts = (
            (self.missing,)
            if isinstance(self.missing, str)
            else check_sequence(self.missing, "missing")
        )
        object.__setattr__(self, "missing", texts)
        stated = self.layout.stated
        if stated and (self.path is None or self.path.suffix.lower() != ".csv"):
            raise InputError(
                f"data: {listing(stated)} {'is' if len(stated) == 1 else 'are'} of a csv file, "
                "and the data is none"
            )
        for name in ("id", "key"):
            check_text(getattr(self, name), name, optional=True)
        if (self.units is None) != (self.key is None):
            raise InputError(
                "data: units and key go together: the file of units, and the column that both "
                "files have"
            )
        if self.units is not None and (self.path is None or self.in_parts):
            raise InputError(
                "data: units is joined to one file of members: give path, no pattern and no "
                "row_groups"
            )
        if not isinstance(self.row_groups, bool):
            raise InputError(f"row_groups must be true or false, got {self.row_groups!r}")
        if self.row_groups and (self.path is None or self.path.suffix.lower() != ".parquet"):
            raise InputError("data: row_groups = true is of a parquet file, and the data is none")
        if self.fitted is not None:
            check_count(self.fitted, "fitted")
        object.__setattr__(self, "kinds", dict(as_table(self.kinds, "data.kinds")))
        for name, kind in self.kinds.items():
            check_choice(kind, KINDS, f"data.kinds.{name}")
        if self.id is not None and not self.in_parts:
            raise InputError(
                "data: id is of data in parts; valid are path = 'parts/*.parquet', or "
                "row_groups = true"
            )
        if self.where is not None:
            Condition.parse(self.where, "data.where")

    @property
    def in_parts(self) -> bool:
        """Whether the data are read and worked on part by part."""
        from riskweighted.data.parts import is_pattern

        return self.row_groups or (self.path is not None and is_pattern(self.path))

    @property
    def layout(self) -> "CsvLayout":
        """How a csv is laid out."""
        from riskweighted.data.csv_layout import CsvLayout

        given = {
            name: getattr(self, name) for name in ("delimiter", "decimal", "thousands", "encoding")
        }
        return CsvLayout(
            **{name: value for name, value in given.items() if value is not None},
            missing=self.missing,
        )

    @property
    def described(self) -> "Variables | None":
        """What is said of the columns; None where the study names no file that does."""
        if self.variables is None:
            return None
        from riskweighted.data.variables import Variables

        return Variables.read(self.variables)

    def to_table(self) -> dict[str, Any]:
        """As it stands in a file: without the settings of files that are not plain, where they are
        not stated.
        """
        texts = (
            "path",
            "embedded",
            "delimiter",
            "decimal",
            "thousands",
            "encoding",
            "variables",
            "units",
            "key",
            "where",
        )
        given = {
            name: None if (value := getattr(self, name)) is None else str(value) for name in texts
        }
        stated = {
            name: value
            for name, value in given.items()
            if value is not None or name in ("path", "embedded")
        }
        of_parts = {"row_groups": self.row_groups or None, "id": self.id, "fitted": self.fitted}
        in_parts = {name: value for name, value in of_parts.items() if value is not None}
        kinds = {"kinds": dict(self.kinds)} if self.kinds else {}
        return {
            **stated,
            **kinds,
            **({"missing": list(self.missing)} if self.missing else {}),
            **in_parts,
        }

    def within(self, folder: Path | None) -> "DataSettings":
        """Relative paths from `folder` on."""
        if folder is None:
            return self
        paths = {"path": self.path, "variables": self.variables, "units": self.units}
        absolute: dict[str, Any] = {
            name: real_path(folder / path) for name, path in paths.items() if path is not None
        }
        return dataclasses.replace(self, **absolute)

    def read(
        self,
        path: str | Path | None = None,
        described: "Variables | None" = None,
        columns: Callable[[Iterable[str]], list[str]] | None = None,
    ) -> pd.DataFrame:
        """The records that ``where`` takes, of the data, or of another file read alike.

        `described`: what is said of the columns, where that was read already; `columns`: which of
        those that data in parts have are read.
        """
        table = self._read(path, described, columns)
        return self.of_kinds(
            table
            if self.where is None
            else select_records(table, Condition.parse(self.where, "data.where"))
        )

    def _read(
        self,
        path: str | Path | None,
        described: "Variables | None",
        columns: Callable[[Iterable[str]], list[str]] | None,
    ) -> pd.DataFrame:
        """All records of a file, or of all parts."""
        if self.in_parts:
            from riskweighted.data.parts import find_parts

            parts = find_parts(Path(str(path or self.path)))
            read = list(parts.types) if columns is None else columns(parts.types)
            parts.require([*read, *([] if self.id is None else [self.id])])
            table = parts.whole([name for name in read if name != self.id], self.id)
            said = described if described is not None else self.described
            return table if said is None else said.typed(table)
        if path is not None or self.path is not None:
            from riskweighted.data.io import read_table

            said = described if described is not None else self.described
            table = read_table(Path(str(path or self.path)), self.layout, said)
            if self.units is None or self.key is None:
                return table
            beside = Path(str(path)).with_name(self.units.name) if path is not None else self.units
            units = read_table(beside if beside.is_file() else self.units, self.layout, said)
            return join_units(table, units, self.key)
        from riskweighted.data.embedded import load_embedded

        return load_embedded(str(self.embedded))

    def of_kinds(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table whose whole numbers are categories where the kinds say that they are levels, or
        times of few values.
        """
        from riskweighted.data.typed import as_categories

        stated = {
            name: kind
            for name, kind in self.kinds.items()
            if name in table and kind in (LEVELS, TIME)
        }
        return as_categories(
            table,
            [
                name
                for name, kind in stated.items()
                if kind == LEVELS or table[name].nunique() <= FEW
            ],
        )


def select_records(data: pd.DataFrame, where: Condition) -> pd.DataFrame:
    """The records that meet a condition, with its misspelt texts refused."""
    misspelt = where.unknown_texts(data)
    if misspelt:
        raise InputError(
            f"data.where: no record has {misspelt[0][1]!r} in column {misspelt[0][0]!r}"
        )
    met = where.holds(data)
    if not met.any():
        raise InputError(f"data.where: none of the {len(data):,} records meets {where.text!r}")
    chosen = data[met]
    return chosen.reset_index(drop=True) if isinstance(data.index, pd.RangeIndex) else chosen


@dataclass(frozen=True)
class SynthesizerSettings:
    """Name and formula of a synthesizer; every other setting of its table goes to its class.

    A chain of several variables has no formula: its variables are those that the scenario
    synthesizes, in that order, and the table ``variables`` holds what each has of its own.
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
        return {
            "name": self.name,
            **({} if self.formula is None else {"formula": self.formula}),
            **to_table(self.settings),
        }

    @property
    def codes(self) -> dict[str, tuple[float, ...]]:
        """Special codes of the variables of a chain."""
        tables = as_table(self.settings.get("variables", {}), "synthesizer.variables")
        stated = {
            name: stated_codes(name, as_table(settings, f"synthesizer.variables.{name}"))
            for name, settings in tables.items()
        }
        return {name: codes for name, codes in stated.items() if codes}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that its formula, or its list of predictors, names."""
        if self.formula is not None:
            return split_formula(self.formula).names
        tables = as_table(self.settings.get("variables", {}), "synthesizer.variables").values()
        formulas = [as_table(table, "synthesizer.variables").get("formula") for table in tables]
        named = [
            name
            for formula in formulas
            if formula is not None
            for name in split_formula(formula).names
        ]
        return tuple(
            dict.fromkeys(
                [
                    *check_names(self.settings.get("predictors", ()), "synthesizer.predictors"),
                    *named,
                ]
            )
        )

    def columns_among(self, names: Iterable[object]) -> list[str]:
        """Those of some columns that its formulas, its predictors, or any other setting such as
        ``groups`` names.
        """
        named = {*self.columns, *_texts_in(self.settings)}
        return [str(name) for name in names if str(name) in named]


def _texts_in(value: object) -> Iterator[str]:
    """All texts that stand in settings as values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for part in value.values() for text in _texts_in(part))
    elif isinstance(value, (list, tuple)):
        yield from (text for part in value for text in _texts_in(part))


@dataclass(frozen=True)
class WeightSettings:
    """Weighting schemes, and the adjustment clip(scale * alpha + shift, 0, 1) of all but the
    unweighted one.

    A scheme with settings has them in its text: "uniform(c=0.1)"
    (`riskweighted.weights.schemes.scheme_weights`). The radius of the weights is the scenario's
    unless given here. ``cluster``: a column such as a household's number; every record then has the
    smallest weight of its cluster.

    ``risk_of``: of several synthesized variables, whose ball makes the weights of each: its own
    ("each-variable"),
    the "joint" one of all, or those of listed subsets (`riskweighted.match_weights`).

    ``survey``: a column of survey weights, which are normalised to sum n and multiply the weights
    of every scheme in the likelihood (METHODS section 12). As a predictor instead, it is named in
    the synthesizer's formula.

    ``target`` and ``target_max``: the run adds the scheme that meets it at the least ``loss``,
    along one ``family`` or all (`riskweighted.tuning.tune.tune`); that looks at the data.
    ``constraints``: what other figures shall not exceed beside it.

    ``intruder``: of several (``[[intruders]]``) against whom the weights protect, by default the
    first; "worst": against all, by the largest risk over them.

    Of weights of your own ("column:NAME"): ``file``, a csv that holds the column, by the id of a
    record in its first one; ``depends``: whether they are "public", depend on the record's "own"
    value, or on others' ("file", the default), which decides what can be judged; ``made_by``: who
    made them, as a release says.
    """

    schemes: Sequence[str] = field(
        default=("unweighted", "marginal", "pairwise"),
        metadata=read_by(why="a stage is one of one scheme, which is in its key"),
    )
    scale: float = 1.0
    shift: float = 0.0
    radius: Radius | None = field(default=None, metadata=_IN_SCENARIO)
    cluster: str | None = None
    survey: str | None = field(
        default=None,
        metadata=read_by("prepared", why="survey weights multiply what the weights come to"),
    )
    target: str | None = field(default=None, metadata=_SOUGHT)
    target_max: float | None = field(default=None, metadata=_SOUGHT)
    family: str | None = field(default=None, metadata=_SOUGHT)
    loss: str = field(default="U_m", metadata=_SOUGHT)
    constraints: Mapping[str, float] = field(default_factory=dict, hash=False, metadata=_SOUGHT)
    risk_of: str | Sequence[Sequence[str]] = "each-variable"
    intruder: str | None = field(default=None, metadata=_IN_SCENARIO)
    file: Path | None = field(default=None, metadata=_WHERE)
    depends: str | None = field(
        default=None, metadata={**read_by("disclosed", why="weights are what they are"), **UNSAID}
    )
    made_by: str | None = field(default=None, metadata=read_by(why="a release states it"))

    def __post_init__(self) -> None:
        check_text(self.cluster, "cluster", optional=True)
        check_text(self.made_by, "made_by", optional=True)
        check_text(self.intruder, "intruder", optional=True)
        check_text(self.survey, "survey", optional=True)
        named = tuple(parse_scheme(scheme).text for scheme in check_names(self.schemes, "schemes"))
        object.__setattr__(self, "schemes", check_names(named, "schemes"))
        if not self.schemes:
            raise InputError("schemes names none; name at least one weighting scheme")
        check_number(self.scale, "scale", least=0)
        check_number(self.shift, "shift")
        if not isinstance(self.risk_of, str):
            object.__setattr__(
                self,
                "risk_of",
                tuple(
                    check_names(subset, "a subset of risk_of")
                    for subset in check_sequence(self.risk_of, "risk_of")
                ),
            )
        if self.file is not None:
            object.__setattr__(self, "file", check_path(self.file, "weights.file"))
        if self.depends is not None:
            check_choice(self.depends, DEPENDS, "weights.depends")
        self._check_target()

    @property
    def own(self) -> tuple[str, ...]:
        """The schemes whose weights are the user's: columns, and what packages add."""
        return tuple(scheme for scheme in self.schemes if is_given(parse_scheme(scheme)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold weights of one's own."""
        named = (parse_scheme(scheme).column for scheme in self.schemes)
        return tuple(column for column in named if column is not None)

    def within(self, folder: Path | None) -> "WeightSettings":
        """A relative path from `folder` on."""
        if folder is None or self.file is None:
            return self
        return dataclasses.replace(self, file=real_path(folder / self.file))

    def _check_target(self) -> None:
        for name in ("target", "family", "loss"):
            check_text(getattr(self, name), name, optional=name != "loss")
        if (self.target is None) != (self.target_max is None):
            raise InputError("target and target_max go together: give both, or neither")
        if self.target is None:
            if self.family is not None:
                raise InputError(
                    f"family {self.family!r} is that of a target: give target and target_max too"
                )
            if self.constraints:
                raise InputError("constraints need a target: give target and target_max too")
            return
        if UNWEIGHTED not in self.schemes:
            raise InputError(
                f"a target is sought from the unweighted fit: name {UNWEIGHTED!r} in schemes"
            )

    @property
    def making(self) -> dict[str, Any]:
        """What the stage "weights" reads, as `riskweighted.weights.match.world_weights` takes
        it.
        """
        return {
            setting.name: getattr(self, setting.name)
            for setting in dataclasses.fields(self)
            if "read_by" not in setting.metadata
        }

    @property
    def tuning(self) -> "TuningSettings | None":
        """What is asked of the search for a scheme, checked; None without a target."""
        if self.target is None or self.target_max is None:
            return None
        from riskweighted.tuning.tuning_settings import TuningSettings

        return TuningSettings(
            self.target, self.target_max, self.family, self.loss, constraints=self.constraints
        )


@dataclass(frozen=True)
class ReleaseSettings:
    """What leaves: how many synthetic datasets, in which format, which columns, how finely.

    The known and the synthesized variables are released, and the unaltered ``columns`` that are
    named here. ``precision``: released numbers are multiples of it; without it of the largest power
    of ten of which all confidential values are multiples, or they have 7 significant digits; of
    several variables a table gives one for each. ``unique_share``: above this share of records that
    are alone on the unaltered released columns, `release` asks for an explicit acceptance.

    ``shuffle``: values leave shuffled within the patterns of all unaltered released columns, anew
    for every dataset (METHODS section 13.4); ``shuffle = false`` needs the reason
    ``unshuffled_reason``, which stands on the sign-off sheet. Whole rows leave in a random order
    always. ``unit``: a column such as a household's number, whose rows move together, and stay
    together where it is released; without it the ``cluster`` of the evaluation or of the weights.
    ``hidden``: predictors, and columns of rules, that are not released and may be told by the
    datasets all the same, each with the reason why, which stands on the sign-off sheet.
    ``derived``: columns that may leave, or be read by the model, although they give a synthesized
    variable away (`riskweighted.derived`), or the order of the file, with reasons in the same way.
    ``disclosure``: what a release may give away beyond inference (`DisclosureSettings`).
    ``layout``: "long", or "two-files" of units, one of units and one of their members.
    """

    L: int = field(
        default=20, metadata=read_by("drawn", "fit", why="expected risk is that of one dataset")
    )
    format: Literal["csv", "parquet"] = field(default="csv", metadata=_WRITTEN)
    columns: Sequence[str] = field(
        default=(),
        metadata=read_by(
            "paired", "utility", "disclosed", "evaluated", "checked", why="released as they are"
        ),
    )
    precision: Precision = field(
        default=None,
        metadata=read_by("drawn", "expected", "checked", why="how finely drawn values are rounded"),
    )
    unique_share: float = field(default=0.05, metadata=_WRITTEN)
    shuffle: bool = field(default=True, metadata=_JUDGED)
    unshuffled_reason: str | None = field(default=None, metadata=_WRITTEN)
    unit: str | None = field(default=None, metadata=_JUDGED)
    hidden: Mapping[str, str] = field(
        default_factory=dict, metadata=read_by("checked", why="a declared column is not refused")
    )
    derived: Mapping[str, str] = field(
        default_factory=dict, metadata=read_by("checked", why="a declared column is not refused")
    )
    disclosure: DisclosureSettings = field(default_factory=DisclosureSettings, metadata=_JUDGED)
    layout: Literal["long", "two-files"] = field(default="long", metadata=_WRITTEN)

    def __post_init__(self) -> None:
        check_count(self.L)
        check_choice(self.layout, ("long", "two-files"), "layout")
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
        if not isinstance(self.shuffle, bool):
            raise InputError(f"shuffle must be true or false, got {self.shuffle!r}")
        for name in ("unshuffled_reason", "unit"):
            check_text(getattr(self, name), name, optional=True)
        if self.shuffle == bool((self.unshuffled_reason or "").strip()):
            raise InputError(
                'shuffle = false and unshuffled_reason = "the reason" go together: give both, or '
                "neither"
            )
        object.__setattr__(self, "hidden", check_reasons(self.hidden, "hidden"))
        object.__setattr__(self, "derived", check_reasons(self.derived, "derived"))

    @property
    def drawing(self) -> DrawingSettings:
        """What of these settings decides how draws become released values: fields of one name."""
        names = [setting.name for setting in fields(DrawingSettings)]
        return DrawingSettings(**{name: getattr(self, name) for name in names})

    def precision_of(self, variable: str) -> float | None:
        """The precision of one variable, where one is given."""
        return precision_of(self.precision, variable)


def _is_named(function: Callable[..., Any]) -> bool:
    """Whether a function is what its name leads to."""
    module, _, name = function_name(function).partition(":")
    return bool(name) and getattr(sys.modules.get(module), name, None) is function


@dataclass(frozen=True)
class EvaluatingSettings(EvaluationSettings):
    """The settings of `evaluate`; the radius of the risk measures is the scenario's unless given
    here.
    """

    radius: Radius | None = field(default=None, metadata=_IN_SCENARIO)

    def __post_init__(self) -> None:
        super().__post_init__()
        for function in self.analyses:
            if not isinstance(function, str) and not _is_named(function):
                raise InputError(
                    f"evaluation.analyses: {function_name(function)!r} cannot be imported by "
                    "that name, as a study must name it; valid is "
                    "a function at the top of a module; evaluate() takes any"
                )
        object.__setattr__(self, "analyses", tuple(map(function_name, self.analyses)))

    @property
    def measures(self) -> EvaluationSettings:
        """Without the radius, which stands in `Study.evaluating_scenario`."""
        return EvaluationSettings(
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(EvaluationSettings)}
        )
