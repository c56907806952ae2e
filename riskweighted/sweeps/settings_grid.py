"""What a sweep goes over: a study, a grid of settings by dotted name, repetitions by seed. Read
from TOML and checked.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from riskweighted.common.checks import check_count, check_path, real_path
from riskweighted.common.errors import InputError, listing
from riskweighted.common.settings import flat, read_toml, setting_names, to_table
from riskweighted.contract.synthesizer import baseline_names
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.runs.models import own_settings
from riskweighted.runs.study import (
    AUTO,
    UNNAMED,
    Study,
    check_models,
    load_study,
    make_study,
    read_study,
    refuse_several,
    section_of,
)
from riskweighted.weights.scheme_names import parse_scheme

__all__ = [
    "SCHEMES",
    "GridPoint",
    "Sweep",
    "expand_grid",
    "load_sweep",
    "names_of_settings",
    "place_text",
    "value_text",
]

SCHEMES = "weights.schemes"
_TUNING = tuple(
    f"weights.{name}" for name in ("target", "target_max", "family", "loss", "constraints")
)
_MOST_REPETITIONS, _MOST_CELLS = 10_000, 1_000_000


@dataclass(frozen=True)
class Sweep:
    """A sweep is a study, varied.

    Parameters
    ----------
    study : Study
        The settings that stay as they are.
    grid : mapping of setting to list of values
        Settings by dotted name: ``{"scenario.radius": [0.3, 0.2], "release.L": [20, 5]}``. Every
        combination is run. ``synthesizer.variables.NAME.setting`` is that of one variable of a
        chain, and its blocks alone are fitted anew; ``top_coding.variables.NAME.setting`` is that
        of one variable of a baseline. ``scenario.radius`` is the radius of both the weights and the
        evaluation, ``weights.radius`` and ``evaluation.radius`` are that of one. A value of
        ``weights.schemes`` is the name of one scheme; without it the study's schemes are run.
    repetitions : int
        Repetition k has the seed ``study.seed + k - 1``; at most 10,000.

    Raises
    ------
    InputError
        If the grid is empty or has over a million cells, a setting is unknown (the valid ones are
        listed), or values are not a non-empty list without repeats.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.Sweep(
    ...     rw.load_study(folder / "study.toml"), {"evaluation.radius": [0.1, 0.2]}, repetitions=2
    ... ).schemes
    ['unweighted', 'marginal']
    """

    study: Study
    grid: Mapping[str, Sequence[Any]]
    repetitions: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.study, Study):
            raise InputError(
                f"study must be a Study (see load_study), got {type(self.study).__name__}"
            )
        check_count(self.repetitions, "repetitions", most=_MOST_REPETITIONS)
        if self.study.weights.target is not None or any(name in _TUNING for name in self.grid):
            raise InputError(
                "a sweep goes over schemes that are named: `tune` for weights.target first, and "
                "name the scheme that it finds"
            )
        refuse_several(self.study, "a sweep")
        if not isinstance(self.grid, Mapping) or not self.grid:
            raise InputError(
                "the grid is empty: name at least one setting and its values, for example "
                "'release.L' = [20, 5]"
            )
        _check_names(self.study, self.grid)
        for name, values in self.grid.items():
            _check_values(name, values)
        repeated = [
            scheme for scheme in dict.fromkeys(self.schemes) if self.schemes.count(scheme) > 1
        ]
        if repeated:
            raise InputError(f"grid setting {SCHEMES!r} lists {listing(repeated)} more than once")
        cells = self.repetitions * math.prod(len(values) for values in self.grid.values())
        if cells > _MOST_CELLS:
            raise InputError(
                f"the grid has {cells:,} cells with its repetitions; at most {_MOST_CELLS:,} are "
                "possible"
            )
        if "seed" in self.grid and self.repetitions > 1:
            raise InputError(
                f"the grid names 'seed' and repetitions is {self.repetitions}: both set the "
                "seed; give one of them"
            )

    @property
    def schemes(self) -> list[str]:
        """The weighting schemes that are run."""
        return [
            parse_scheme(scheme).text
            for scheme in self.grid.get(SCHEMES, self.study.weights.schemes)
        ]


def names_of_settings(synthesizer: str) -> list[str]:
    """Every setting of a study by its dotted name, with those of one synthesizer and of the
    baselines.
    """
    if synthesizer == AUTO:
        raise InputError(UNNAMED)
    names = [
        name
        for name in setting_names(Study)
        if name not in ("seed", "reproducible", "synthesizer.settings")
        and not name.startswith("thresholds")
    ]
    of_model = [f"synthesizer.{name}" for name in own_settings(synthesizer)]
    # of a chain, whose variables are the scenario's and have a table of settings each
    if "synthesizer.variables" in of_model:
        names = [
            name
            for name in names
            if name != "synthesizer.formula" and not name.startswith("guarantee")
        ]
        of_model.remove("synthesizer.settings")
    others = [
        f"{section_of(name)}.{setting}"
        for name in baseline_names()
        for setting in (*own_settings(name), "variables")
    ]
    return [*names, *of_model, *others, "seed"]


def _check_names(study: Study, grid: Mapping[str, Sequence[Any]]) -> None:
    kinds = grid.get("synthesizer.name", [study.synthesizer.name])
    kinds = kinds if isinstance(kinds, (list, tuple)) else [kinds]
    valid = list(dict.fromkeys(name for kind in kinds for name in names_of_settings(kind)))
    tables = {
        name: f"{named[0]}.variables"
        for name in grid
        if (named := _of_variable(study, name)) is not None
    }
    unknown = [name for name in grid if name not in valid and tables.get(name) not in valid]
    if unknown:
        raise InputError(
            f"unknown setting {listing(unknown)} in the grid; valid are "
            f"{listing(valid, limit=len(valid))}"
        )


def _of_variable(study: Study, name: str) -> tuple[str, str, str] | None:
    """The section, the variable and its setting that a name of the grid is:
    "synthesizer.variables.income.support".
    """
    section, _, rest = name.partition(".variables.")
    named = (variable for variable in study.variables if rest.startswith(f"{variable}."))
    return next(
        ((section, variable, rest.removeprefix(f"{variable}.")) for variable in named), None
    )


def _check_values(name: str, values: Any) -> None:
    if not isinstance(values, (list, tuple)):
        raise InputError(
            f"grid setting {name!r} must be a list of values, got {type(values).__name__}"
        )
    if not values:
        raise InputError(f"grid setting {name!r} lists no value")
    if name == SCHEMES and not all(isinstance(value, str) for value in values):
        raise InputError(f"each value of grid setting {name!r} must be the name of one scheme")
    texts = [value_text(value) for value in values]
    repeated = list(dict.fromkeys(text for text in texts if texts.count(text) > 1))
    if repeated:
        raise InputError(f"grid setting {name!r} lists {listing(repeated)} more than once")


def value_text(value: Any) -> Any:
    """A setting's value as it stands in a table: a list or table as JSON, anything else as it
    is.
    """
    return (
        value if isinstance(value, (str, int, float)) else json.dumps(to_table(value), default=str)
    )


def load_sweep(path: str | Path) -> Sweep:
    """Return the sweep of a file, read and checked.

    Parameters
    ----------
    path : str or Path
        A TOML file with ``study`` (the path of a study file, relative to this one, or its tables as
        ``[study.data]``, ``[study.scenario]``, ...), ``[grid]`` and ``repetitions`` (default 1).

    Raises
    ------
    InputError
        If the file or its study is absent or not valid, or as for `Sweep`.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> dict(rw.load_sweep(folder / "sweep.toml").grid)
    {'release.L': [2, 3], 'weights.schemes': ['marginal']}
    """
    path = check_path(path, "sweep")
    settings = read_toml(path, "sweep")
    valid = ["study", "repetitions", "grid"]
    unknown = [name for name in settings if name not in valid]
    if unknown:
        raise InputError(
            f"unknown setting {listing(unknown)} in {path.name!r}; valid are {listing(valid)}"
        )
    given = settings.get("study")
    if isinstance(given, str):
        study = load_study(path.parent / check_path(given, "study"))
    elif isinstance(given, dict):
        study = make_study(given, path.parent)
    else:
        raise InputError(
            f"{path.name!r} must name its study: the path of a study file, or its tables as "
            "[study.data], [study.scenario], ..."
        )
    grid = settings.get("grid", {})
    # TOML reads an unquoted ``release.L = [20]`` as a table
    grid = dict(flat(grid)) if isinstance(grid, dict) else grid
    if isinstance(grid, dict) and isinstance(grid.get("data.path"), list):
        grid["data.path"] = [
            str(real_path(path.parent / check_path(value, "data.path")))
            for value in grid["data.path"]
        ]
    return Sweep(study, grid, settings.get("repetitions", 1))


class GridPoint(NamedTuple):
    """One repetition at one point of the grid, for one label: a scheme, the confidential data or a
    baseline.
    """

    settings: dict[str, Any]
    repetition: int
    label: str
    study: Study


def expand_grid(sweep: Sweep) -> list[GridPoint]:
    """Every point of a sweep, in the order of its results; refuses a combination of settings that
    is no valid study.
    """
    axes = {name: values for name, values in sweep.grid.items() if name != SCHEMES}
    base, built = to_table(sweep.study), set[str]()
    points = []
    for values in itertools.product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        study = _study_at(sweep.study, base, settings, built)
        labels = [CONFIDENTIAL, *sweep.schemes, *study.baselines]
        for repetition in range(1, sweep.repetitions + 1):
            seeded = replace(study, seed=study.seed + repetition - 1)
            for label in labels:
                weights = replace(study.weights, schemes=(label,))
                points.append(
                    GridPoint(settings, repetition, label, replace(seeded, weights=weights))
                )
    return points


def _study_at(
    study: Study, base: dict[str, Any], settings: Mapping[str, Any], built: set[str]
) -> Study:
    """The study at one point; `built`: the synthesizers that were built already, to see that they
    can be.
    """
    changed = dict(base)
    for name, value in settings.items():
        named = _of_variable(study, name)
        if named is None:
            section, _, key = name.partition(".")
        else:
            (section, variable, setting), key = named, "variables"
            tables = (changed.get(section) or {}).get(key) or {}
            value = {**tables, variable: {**tables.get(variable, {}), setting: value}}
        changed[section] = {**(changed.get(section) or {}), key: value} if key else value
    try:
        made = read_study(changed)
        models = repr((made.synthesizer, made.variables, made.baselines))
        if models not in built:
            check_models(made)
            built.add(models)
        return made
    except InputError as error:
        raise InputError(f"at the grid point {place_text(settings)}: {error}") from None


def place_text(settings: Mapping[str, Any]) -> str:
    """A grid point in words."""
    return (
        ", ".join(f"{name} = {value_text(value)}" for name, value in settings.items())
        or "(only schemes)"
    )
