"""A re-identification study from a TOML file to tables: several metrics on three files, or on the
synthetic data of a run.

Of a run: the PUF is a synthetic dataset, the EIF the confidential known variables and the sensitive
one, and the truth is that row i of one is row i of the other.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import make_folder, write_file
from riskweighted.common.checks import (
    check_choice,
    check_given,
    check_names,
    check_number,
    check_path,
    check_seed,
)
from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import optional
from riskweighted.common.fingerprints import file_hash, versions
from riskweighted.common.folders import open_folder
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.common.settings import from_table, read_toml, to_table
from riskweighted.data.io import read_table, write_aggregates, write_table
from riskweighted.reidentification.attack import METRICS, AttackSettings, Reidentification, attack
from riskweighted.reidentification.files import KINDS, Kind, LinkedFiles, add_rates, link_files
from riskweighted.reidentification.scores import read_scores

__all__ = [
    "ReidentificationStudy",
    "StudyResult",
    "load_reidentification_study",
    "run_reidentification_study",
]

Names = str | Sequence[str]
_MOST_STRATA_DRAWN = 20


@dataclass(frozen=True)
class FileSettings:
    """The three files and their keys; paths are relative to the study file."""

    puf: Path
    eif: Path
    iuf: Path
    pufid: Names = "pufid"
    eifid: Names = "eifid"

    def __post_init__(self) -> None:
        for name in ("puf", "eif", "iuf"):
            object.__setattr__(self, name, check_path(getattr(self, name), name))
        for name in ("pufid", "eifid"):
            object.__setattr__(self, name, check_names(getattr(self, name), name))


@dataclass(frozen=True)
class RunSettings:
    """A finished run, and its confidential data where that is not embedded in the package."""

    folder: Path
    confidential: Path | None = None
    schemes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", check_path(self.folder, "folder"))
        if self.confidential is not None:
            object.__setattr__(self, "confidential", check_path(self.confidential, "confidential"))
        if self.schemes is not None:
            object.__setattr__(self, "schemes", check_names(self.schemes, "schemes"))


@dataclass(frozen=True, kw_only=True)
class ReidentificationStudy:
    """A re-identification study holds every setting: files, linking variables, metrics, strata.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> dict(rw.load_reidentification_study(folder / "attack.toml").linking)
    {'region': 'categorical', 'income': 'numeric'}
    """

    files: FileSettings | None = None
    run: RunSettings | None = None
    linking: Mapping[str, Kind] = field(default_factory=dict)
    metrics: Sequence[str] = ("unicity", "taxicab", "euclidean")
    strata: Names = ()
    empty_strata: Literal["error", "allow"] = "error"
    alpha: float = 0.5
    normalization: Literal["primer", "rms"] = "primer"
    scores: Mapping[str, Path] = field(default_factory=dict)
    threshold: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.files is None) == (self.run is None):
            raise InputError("give either the table [files] or the table [run]")
        object.__setattr__(self, "metrics", check_names(self.metrics, "metrics"))
        object.__setattr__(self, "strata", check_names(self.strata, "strata"))
        if not self.metrics or not set(self.metrics) <= set(METRICS):
            raise InputError(f"metrics must be different ones of {listing(METRICS)}")
        self._check_tables()
        check_choice(self.empty_strata, ("error", "allow"), "empty_strata")
        check_choice(self.normalization, ("primer", "rms"), "normalization")
        for name in ("alpha", "threshold"):
            value = check_number(getattr(self, name), name)
            if not 0 < value <= 1:
                raise InputError(f"{name} must lie above 0 and be at most 1, got {value!r}")
        check_seed(self.seed, "seed")

    def _check_tables(self) -> None:
        """The tables of linking variables and of score files."""
        for name in ("linking", "scores"):
            if not isinstance(getattr(self, name), Mapping):
                raise InputError(
                    f"{name} must be a table, got {type(getattr(self, name)).__name__}"
                )
        for variable, kind in self.linking.items():
            check_choice(kind, KINDS, f"linking.{variable}")
        object.__setattr__(
            self,
            "scores",
            {name: check_path(path, f"scores.{name}") for name, path in self.scores.items()},
        )
        if self.files is not None and not self.linking:
            raise InputError("the table [linking] must name the linking variables")
        if "adhoc" in self.metrics and not self.scores:
            raise InputError(
                "the metric 'adhoc' needs the table [scores]: a score file for every linking "
                "variable"
            )


@dataclass(frozen=True)
class StudyResult:
    """Tables of a study: `rates` (release, metric, stratum, counts, rates), `ranks`,
    `interactions`, and the folder with all.
    """

    folder: Path
    rates: pd.DataFrame
    ranks: pd.DataFrame = field(repr=False)
    interactions: pd.DataFrame = field(repr=False)

    def comparison(self) -> pd.DataFrame:
        """The metrics side by side: overall rates, mean over synthetic datasets where there are
        several.
        """
        overall = self.rates[self.rates["stratum"] == "all"]
        columns = [
            "puf_records",
            "suspected",
            "confirmed",
            "suspected_rate",
            "confirmed_rate",
            "conditional_rate",
        ]
        return overall.groupby(["release", "metric"], sort=False)[columns].mean()


class _Release(NamedTuple):
    label: str
    dataset: int
    files: LinkedFiles


def load_reidentification_study(path: str | Path) -> ReidentificationStudy:
    """Return the re-identification study of a file, read and checked; its paths are absolute.

    Raises
    ------
    InputError
        If the file is absent or not TOML, or a setting is unknown, missing or not valid.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.load_reidentification_study(folder / "attack.toml").metrics
    ('unicity', 'taxicab', 'euclidean')
    """
    study, base = from_table(ReidentificationStudy, read_toml(path, "study")), Path(path).parent
    changes: dict[str, Any] = {"scores": {name: base / file for name, file in study.scores.items()}}
    if study.files is not None:
        changes["files"] = replace(
            study.files,
            puf=base / study.files.puf,
            eif=base / study.files.eif,
            iuf=base / study.files.iuf,
        )
    if study.run is not None:
        confidential = None if study.run.confidential is None else base / study.run.confidential
        changes["run"] = replace(
            study.run, folder=base / study.run.folder, confidential=confidential
        )
    return replace(study, **changes)


def run_reidentification_study(
    study: ReidentificationStudy, out: str | Path, *, reporter: Reporter | None = None
) -> StudyResult:
    """Return the tables of an attack with every metric, which are written too.

    Parameters
    ----------
    study : ReidentificationStudy
    out : str or Path
        A folder that does not exist yet; it appears when everything is done. ``tables/`` and
        ``figures/`` hold aggregates, ``confidential/`` the suspected pairs.
    reporter : Reporter, optional
        Shows progress.

    Raises
    ------
    InputError
        If `out` exists, another study is at work there, or anything in the study or its files is
        not valid. Nothing is left then.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> attack = rw.run_reidentification_study(
    ...     rw.load_reidentification_study(folder / "attack.toml"), "attacked"
    ... )
    >>> attack.rates["metric"].unique().tolist()
    ['unicity', 'taxicab', 'euclidean']
    """
    check_given(
        study, "study", "metrics", "ReidentificationStudy", "load_reidentification_study(FILE)"
    )
    optional("matplotlib", "a re-identification study, which draws figures,")
    if "linkage" in study.metrics:
        optional("splink", "record linkage")
    with open_folder(Path(out), "a re-identification study") as working:
        attacks = _attack_all(
            study, working.result / "confidential", reporter or default_reporter()
        )
        tables = {name: _stacked(attacks, name) for name in ("rates", "ranks", "interactions")}
        summary = StudyResult(working.out, **tables)
        tables["comparison"] = summary.comparison().reset_index()
        tables["definitions"] = pd.DataFrame(
            {r.metric: r.definition for _, r in attacks}.items(), columns=["metric", "definition"]
        )
        for name, table in tables.items():
            write_aggregates(table, working.result / "tables" / f"{name}.csv")
        _write_figures(tables["rates"], working.result / "figures")
        _write_manifest(study, working.result)
    return summary


def _attack_all(
    study: ReidentificationStudy, secret: Path, reporter: Reporter
) -> list[tuple[_Release, Reidentification]]:
    """Every release attacked with every metric; the suspected pairs go to the folder `secret` as
    they are found.
    """
    scores = {name: read_scores(path) for name, path in study.scores.items()}
    settings = AttackSettings(
        study.alpha, study.normalization, scores or None, study.threshold, study.seed
    )
    attacks = []
    make_folder(secret, private=True)
    for release in _releases(study):
        for metric in study.metrics:
            with reporter.step(
                f"{release.label} {release.dataset or ''} {metric}".strip().replace("  ", " ")
            ) as advance:
                result = attack(release.files, metric, settings, progress=advance)
            attacks.append((release, result))
            name = (
                f"{metric}.csv"
                if study.run is None
                else f"{release.label}_{release.dataset:02d}_{metric}.csv"
            )
            write_table(result.links, secret / name, private=True)
    return attacks


def _stacked(attacks: list[tuple[_Release, Reidentification]], name: str) -> pd.DataFrame:
    """One table of all releases and metrics."""
    parts = []
    for release, result in attacks:
        table = getattr(result, name)
        if len(table):
            about = pd.DataFrame(
                {"release": release.label, "dataset": release.dataset, "metric": result.metric},
                index=table.index,
            )
            parts.append(pd.concat([about, table], axis=1))
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["release", "dataset", "metric"])
    )


def _releases(study: ReidentificationStudy) -> Iterator[_Release]:
    """The checked files: one release, or one for every synthetic dataset of a run."""

    checked = partial(link_files, strata=study.strata, empty_strata=study.empty_strata)
    if study.files is not None:
        puf, eif, iuf = (
            read_table(path) for path in (study.files.puf, study.files.eif, study.files.iuf)
        )
        yield _Release(
            "PUF",
            0,
            checked(puf, eif, iuf, study.linking, pufid=study.files.pufid, eifid=study.files.eifid),
        )
        return
    from riskweighted.runs.finished import find_confidential, load_run

    assert study.run is not None
    run = load_run(study.run.folder)
    confidential = find_confidential(run, study.run.confidential)
    scenario = run.study.scenario
    numeric = [name for name in scenario.synthetic if scenario.is_numeric(confidential[name])]
    default: dict[str, Kind] = {
        name: "numeric" if name in numeric else "categorical"
        for name in (*scenario.known, *scenario.synthetic)
    }
    linking = study.linking or default
    schemes = study.run.schemes or list(run.schemes)
    unknown = [scheme for scheme in schemes if scheme not in run.schemes]
    if unknown:
        raise InputError(
            f"the run has no scheme {listing(unknown)}; valid are {listing(run.schemes)}"
        )
    rows = np.arange(len(confidential))
    truth = pd.DataFrame({"pufid": rows, "eifid": rows})
    intruder = confidential.assign(eifid=rows)
    for scheme in schemes:
        for number, synthetic in enumerate(run.synthetic[scheme], start=1):
            yield _Release(
                scheme, number, checked(synthetic.assign(pufid=rows), intruder, truth, linking)
            )


def _write_figures(rates: pd.DataFrame, folder: Path) -> None:
    """Rates per stratum, one figure per release and metric, where there are few enough strata to
    read; datasets are averaged.
    """
    from riskweighted.plots.reidentification import plot_reidentification

    folder.mkdir()
    for (release, metric), rows in rates.groupby(["release", "metric"], sort=False):
        counts = rows.groupby("stratum", sort=False)[
            ["puf_records", "suspected", "confirmed"]
        ].mean()
        if len(counts) <= _MOST_STRATA_DRAWN:
            table = add_rates(counts, counts["puf_records"]).assign(metric=metric)
            figure = plot_reidentification(table.reset_index()).get_figure(root=True)
            assert figure is not None
            figure.savefig(
                folder / f"{release}_{metric}.png",
                dpi=120,
                bbox_inches="tight",
                metadata={"Software": None},
            )


def _write_manifest(study: ReidentificationStudy, folder: Path) -> None:
    """Settings without paths, versions, hashes of the input files and of every file written."""
    settings = to_table(study)
    inputs = {}
    if study.files is not None:
        for name in ("puf", "eif", "iuf"):
            path = getattr(study.files, name)
            settings["files"][name], inputs[path.name] = path.name, file_hash(path)
    if study.run is not None:
        settings["run"]["folder"] = study.run.folder.name
        settings["run"]["confidential"] = study.run.confidential and study.run.confidential.name
    settings["scores"] = {name: path.name for name, path in study.scores.items()}
    files = {
        path.relative_to(folder).as_posix(): file_hash(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    manifest = {"settings": settings, "versions": versions(), "inputs": inputs, "files": files}
    write_file(folder / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
