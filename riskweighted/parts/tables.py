"""The tables of a run by parts and the folder that it leaves, from the sums over its buckets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.atomic import make_folder, write_file
from riskweighted.common.folders import WorkingFolder
from riskweighted.data.io import write_table
from riskweighted.evaluation import parts as by_parts
from riskweighted.evaluation.computing import released_table
from riskweighted.evaluation.evaluate import Evaluation, utility_table
from riskweighted.evaluation.tables import CONFIDENTIAL, as_table
from riskweighted.evaluation.verdicts import find_verdicts, verdict_table
from riskweighted.measures.context import Context, Ratios, Rival
from riskweighted.measures.parts import Tally
from riskweighted.measures.variance_ratio import ratios
from riskweighted.parts.counting import Values
from riskweighted.parts.fitting import Fitted
from riskweighted.parts.gather import ORDER
from riskweighted.parts.job import Job
from riskweighted.parts.looking import Looked, join_looked
from riskweighted.parts.measuring import TABLES, Measured
from riskweighted.parts.regressions import Regressions
from riskweighted.runs.beyond import Disclosed, disclosure_tables
from riskweighted.runs.finished import SAMPLE
from riskweighted.runs.folder import CONCERNED, posterior_name, write_manifest
from riskweighted.runs.measured import summary_table
from riskweighted.runs.randomness import question
from riskweighted.runs.run import Run
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["Told"]


@dataclass(frozen=True)
class Told:
    """What the stages of a run by parts told so far. Confidential.

    ``fits``, and ``sums`` of the weights, by scheme; ``tallies`` by label and table; ``files``:
    digests of what was written.
    """

    job: Job
    values: Values = field(repr=False)
    fits: Mapping[str, Fitted] = field(repr=False)
    sums: Mapping[str, float] = field(repr=False)
    regressions: Regressions = field(repr=False)
    tallies: Mapping[tuple[str, str], by_parts.Tallies] = field(default_factory=dict, repr=False)
    released: Tally = field(default_factory=Tally, repr=False)
    far: Tally = field(default_factory=Tally, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    disclosed: Mapping[str, Disclosed] = field(default_factory=dict, repr=False)
    checked: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    ratios: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    looked: Sequence[Looked] = field(default=(), repr=False)

    @property
    def labels(self) -> list[str]:
        """The confidential data, then the schemes."""
        return [CONFIDENTIAL, *self.job.study.weights.schemes]

    @cached_property
    def _first(self) -> pd.DataFrame:
        """The first records of the first bucket, which say what every part has alike."""
        return self.job.records(0).iloc[:2]

    def context(self, label: str) -> Context:
        """What all parts of a label have alike, with the label's own random numbers."""
        study = self.job.study
        subject = self.regressions.subject(self.job, self._first)
        seed = self.job.streams.seed_for("evaluate", "")
        seeds = dict(
            zip(self.labels, np.random.SeedSequence(seed).spawn(len(self.labels)), strict=True)
        )
        compared = UNWEIGHTED in study.weights.schemes and label not in (CONFIDENTIAL, UNWEIGHTED)
        ratios = Ratios(None, None, self.ratios[label]) if label in self.ratios else None
        rng, rival = np.random.default_rng(seeds[label]), Rival(UNWEIGHTED) if compared else None
        return Context(label, subject, (), rng, baseline=rival, ratios=ratios)

    def with_bucket(self, found: Measured) -> "Told":
        """With what one more bucket told."""
        tallies = {
            key: by_parts.add(self.tallies.get(key, {}), each)
            for key, each in found.tallies.items()
        }
        files = {**self.files, **found.files}
        released = self.released + found.released
        far = self.far + found.far
        return replace(self, tallies=tallies, files=files, released=released, far=far)

    def warn_of_far(self) -> None:
        """Warn of drawn values that lie far out, label by label."""
        for label, far in self.far.items():
            self.fits[label].fit.light().block.warn_of_far(
                int(far), self.job.gathered.records * self.job.study.release.L
            )

    def asked(self) -> dict[tuple[str, str], dict[Any, Any]]:
        """What the buckets must be told for another look, by label and table."""
        variables = self.job.study.variables
        every = {
            key: by_parts.asked(tallies, self.context(key[0]), variables, key[1])
            for key, tallies in self.tallies.items()
        }
        return {key: told for key, told in every.items() if told}

    def completed(self, again: Iterable[Mapping[tuple[str, str], by_parts.Tallies]]) -> "Told":
        """With what the buckets told when they were looked at again."""
        more: dict[tuple[str, str], by_parts.Tallies] = {}
        for tallies in again:
            more = {key: by_parts.add(more.get(key, {}), each) for key, each in tallies.items()}
        variables, made = self.job.study.variables, dict(self.tallies)
        for key, each in more.items():
            made[key] = by_parts.complete(made[key], each, self.context(key[0]), variables, key[1])
        return replace(self, tallies=made)

    def evaluation(self) -> Evaluation:
        """Risk and utility, without the risk of each record, which stands in files."""
        rows: dict[str, list[list[dict[str, Any]]]] = {table: [] for table in TABLES}
        for label in self.labels:
            context = self.context(label)
            for table in TABLES:
                rows[table].append(
                    by_parts.rows(
                        self.tallies[label, table], context, self.job.study.variables, table
                    )
                )
            rows["utility"][-1] += by_parts.as_rows(context, list(ratios(context)))
        risk = [row for of_label in rows["risk"] for row in of_label]
        risk += [row for label in self.labels[1:] for row in self.disclosed[label].rows]
        return Evaluation(as_table(risk), utility_table(rows["utility"]), pd.DataFrame())

    def tables(self, result: Evaluation) -> dict[str, pd.DataFrame]:
        """The tables by which the run is judged."""
        study, total = self.job.study, self.job.gathered.records
        fit_check = (
            pd.concat(self.checked, names=["label"]).reset_index("label").reset_index(drop=True)
        )
        means = {scheme: self.sums[scheme] / total for scheme in study.weights.schemes}
        diagnostics = {
            scheme: fitted.diagnostics
            for scheme, fitted in self.fits.items()
            if len(fitted.diagnostics)
        }
        summary = summary_table(result, diagnostics, means, fit_check)
        return {
            "summary": summary.rename_axis("label").reset_index(),
            "risk": pd.concat([result.risk, released_table(self.released)], ignore_index=True),
            "utility": result.utility,
            "convergence": pd.concat(diagnostics, names=["label"]).reset_index(),
            "fit_check": fit_check,
            **disclosure_tables(self.disclosed),
        }

    @cached_property
    def sample(self) -> pd.DataFrame:
        """The records that a finished run shows."""
        return join_looked(self.looked)[1].drop(columns=ORDER)

    def written(self, working: WorkingFolder) -> Run:
        """The run, whose folder is written."""
        study, result, total = self.job.study, self.evaluation(), self.job.gathered.records
        tables = self.tables(result)
        verdicts = find_verdicts(study.thresholds, tables, study.release.hidden)
        tables["verdicts"] = verdict_table(verdicts)
        for name, table in tables.items():
            write_table(table, self.job.result / "tables" / f"{name}.csv")
        write_table(self.sample, self.job.result / SAMPLE, private=True)
        concerned = pd.concat([of.concerned for of in self.disclosed.values()], ignore_index=True)
        write_table(concerned, self.job.result / CONCERNED, private=True)
        make_folder(self.job.result / "confidential" / "posterior", private=True)
        for scheme, fitted in self.fits.items():
            write_file(
                self.job.result / "confidential" / "posterior" / posterior_name(scheme),
                fitted.archive,
                private=True,
            )
        precision = {self.job.target: next(iter(self.fits.values())).precision}
        gathered = self.job.gathered
        read = {
            "records": total,
            "sha256": gathered.digest,
            "parts": len(gathered.buckets),
            "room": gathered.room,
        }
        read["question"] = question(study, gathered.digest)
        write_manifest(study, self.job.streams, self.job.result, precision, read, hashes=self.files)
        summary = tables["summary"].set_index("label")
        judged = (tables["convergence"], summary, tables["fit_check"])
        return Run(
            working.out,
            result,
            *judged,
            verdicts=verdicts,
            study=study,
            tables=tables,
            data=self.sample,
        )
