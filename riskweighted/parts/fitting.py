"""The fit of a scheme to counted records, once, anywhere; and what draws from it for the records of
a bucket.
"""

import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.common import errors
from riskweighted.common.atomic import keep, recall, write_file
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.frames import as_floats
from riskweighted.contract.centring import CentredSums, CentredWeights
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.design.precision import find_precision
from riskweighted.intruder.world import World
from riskweighted.parts.centred import Centred
from riskweighted.parts.counting import Counted, Values
from riskweighted.parts.job import Job
from riskweighted.runs.folder import precisions
from riskweighted.sampling.block_fit import FAR
from riskweighted.sampling.judging import refuse_other_diagnostics
from riskweighted.sampling.saving import read_sealed, sealed
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.saved import read_fit
from riskweighted.weights.match import world_functions
from riskweighted.weights.names import is_centred

__all__ = ["Fitted", "LightFit", "fit_counted", "load_counted", "with_standing"]

_EXACT_UP_TO = 100_000  # records, of which every value is counted as it is


def with_standing(synthesizer: Synthesizer, values: Values) -> tuple[Synthesizer, Values]:
    """A synthesizer with what it finds in the values of the file stated, and the values with those
    that stand for them.

    Of a small file, and for a synthesizer that tells all values apart, each stands for itself.
    """
    settled: Any = getattr(synthesizer, "settled", None)
    if settled is None or values.records <= _EXACT_UP_TO:
        return synthesizer, values
    stated, standing = settled(values.values, values.counts)
    return stated, replace(values, standing=standing)


@dataclass(frozen=True)
class LightFit:
    """The fit of a scheme without the data that it was fitted to. Confidential: it carries what was
    learned of them.

    ``path``: a file of the posterior draws; ``without``: the fit without draws.
    """

    path: Path
    rows: int
    scheme: str
    without: Fit = field(repr=False)

    def light(self) -> Fit:
        """The fit of one record."""
        return self.without.changed(posterior=read_sealed(self.path))

    def on(
        self,
        records: pd.DataFrame,
        alpha: np.ndarray,
        weighting: World | None = None,
        making: Mapping[str, Any] | None = None,
    ) -> Fit:
        """The fit of these records with their weights (n,).

        `weighting`: the world in which these were made, and `making` how, which a fit of centred
        weights needs.
        """
        light = self.light()
        (target,) = light.variables
        alphas = pd.DataFrame({target: alpha}, records.index)
        if weighting is None or not is_centred(self.scheme):
            return light.on(records, alphas)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RiskWeightedWarning)
            return light.on(
                records,
                CentredWeights(alphas, world_functions(weighting, self.scheme, **(making or {}))),
            )


class Fitted(NamedTuple):
    """A fit, its diagnostics, what a saved fit holds, how finely values are drawn, in words, and
    what was warned of.
    """

    fit: LightFit
    diagnostics: pd.DataFrame
    archive: bytes
    precision: str
    said: tuple[tuple[type[Warning], str], ...]


def fit_counted(
    job: Job,
    synthesizer: Synthesizer,
    scheme: str,
    counted: Counted,
    values: Values,
    centred: Centred | None,
) -> Fitted:
    """Sample the pseudo posterior of a scheme, or read what a command that was killed had sampled;
    draws are kept in files.
    """
    frame, counts, alpha = counted.read(scheme)
    prepared = prepare_sequence(synthesizer, frame, counts=counts)
    weights = _weights(job, scheme, frame, counts, alpha, centred)
    seed = job.streams.seed_for("fit", scheme)
    paths = [_file(job, scheme, ending) for ending in ("fit", "said")]
    archive, told = (recall(path, f"{job.key}/{path.name}") for path in paths)
    if archive is None or told is None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = fit_sequence(prepared, weights, replace(job.study.sampling, cores=1), seed)
        ours = [each for each in caught if issubclass(each.category, RiskWeightedWarning)]
        archive = fit.to_bytes()
        told = json.dumps([(each.category.__name__, str(each.message)) for each in ours]).encode()
        for path, content in zip(paths, (archive, told), strict=True):
            keep(path, content, f"{job.key}/{path.name}")
    else:
        fit = read_fit(io.BytesIO(archive), prepared, weights, seed)
    said = tuple(
        (getattr(errors, name, RiskWeightedWarning), text) for name, text in json.loads(told)
    )
    return _fitted(job, scheme, fit, values, counted.rows, archive, said)


def _fitted(
    job: Job,
    scheme: str,
    fit: Fit,
    values: Values,
    rows: int,
    archive: bytes,
    said: tuple[tuple[type[Warning], str], ...] = (),
) -> Fitted:
    light = _light(fit, values).with_drawing(job.study.release.drawing)
    precision = precisions(light)[job.target]
    return Fitted(_kept(job, scheme, light, rows), fit.diagnostics, archive, precision, said)


def _weights(
    job: Job,
    scheme: str,
    frame: pd.DataFrame,
    counts: np.ndarray,
    alpha: np.ndarray,
    centred: Centred | None,
) -> np.ndarray | CentredSums:
    """The weights of counted rows as a fit takes them."""
    if centred is None or not is_centred(scheme):
        return alpha
    return centred.weights(frame, counts, alpha, scheme, job.target)


def load_counted(
    job: Job,
    synthesizer: Synthesizer,
    scheme: str,
    counted: Counted,
    values: Values,
    centred: Centred | None,
    saved: Path,
) -> Fitted:
    """A saved fit of a scheme, once it is seen to be of this synthesizer, counted records and
    weights, converged as it says.
    """
    frame, counts, alpha = counted.read(scheme)
    fit = read_fit(
        saved,
        prepare_sequence(synthesizer, frame, counts=counts),
        _weights(job, scheme, frame, counts, alpha, centred),
    )
    refuse_other_diagnostics(fit.block, job.study.sampling)
    return _fitted(job, scheme, fit, values, counted.rows, saved.read_bytes())


class _Nobody:
    """The weight of the one record that stands for none, whatever its value."""

    pattern, label, later = np.zeros(1, dtype=np.int64), "", ()

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """1 everywhere."""
        return np.ones((len(records), len(values)))


def _nothing(records: np.ndarray) -> np.ndarray:
    """What no record is asked for."""
    return np.empty((len(records), 0))


def _light(fit: Fit, values: Values) -> Fit:
    """A fit without the data but one record, with how finely the column of the file is recorded,
    and its largest value.
    """
    weights: Any = fit.alphas.iloc[:1]
    if fit.block.centring is not None:
        weights = CentredWeights(weights, {fit.block.synthesizer.target: _Nobody()})
    light = fit.on(fit.confidential.iloc[:1], weights)
    if light.block.centring is not None:
        light = light.changed(centring=replace(light.block.centring, inside=_nothing))
    if light.categories is not None:
        return light
    largest = float(np.nanmax(np.abs(as_floats(values.values))))
    file = light.block.file
    assert file is not None
    return light.changed(
        file=file._replace(
            precision=find_precision(values.values, values.counts), limit=FAR * largest
        )
    )


def _kept(job: Job, scheme: str, light: Fit, rows: int) -> LightFit:
    """A light fit, whose draws are written to their file."""
    path = _file(job, scheme, "draws")
    write_file(path, sealed(light.posterior), private=True)
    return LightFit(path, rows, scheme, light.changed(posterior=xr.Dataset(), stats=None))


def _file(job: Job, scheme: str, ending: str) -> Path:
    return job.folder / "fits" / f"{job.study.weights.schemes.index(scheme)}.{ending}"
