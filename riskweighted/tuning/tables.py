"""What a search found, as tables and in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.numbers import exactly, together
from riskweighted.measures.measure import Estimate
from riskweighted.sequence.fit import Fit
from riskweighted.tuning.scan import Point, Scan
from riskweighted.tuning.settings import Loss, TuningSettings
from riskweighted.weights.names import UNWEIGHTED, parse_scheme

__all__ = ["Sampled", "Tuning", "explained", "families_table", "frontier_table", "meets", "unreachable"]


class Sampled(NamedTuple):
    """A setting that was sampled, and what was measured on it."""

    scheme: str
    setting: float
    fit: Fit
    target: Estimate
    loss: Estimate


def meets(target: Estimate, at_most: float) -> bool:
    """Whether a fit meets a target, but for its Monte Carlo error."""
    return bool(target.value <= at_most + np.nan_to_num(target.error))


@dataclass(frozen=True, eq=False)
class Tuning:
    """A tuning holds a setting of the weights that was chosen, and how. Confidential: it carries data.

    Attributes
    ----------
    target, at_most : str, float
    family, settings, scheme : str, mapping, str
        The family and its settings, none where the unweighted synthesizer meets the target as it is; both as study files name them:
        "mix(t=0.62)".
    alpha : Series (n,), or DataFrame (n, V) of several variables
    fit, unweighted : Fit
        Sampled with these weights; the unweighted one, from which the search began.
    reached, error : float
        The target as measured on the fit, and its Monte Carlo standard error.
    loss, loss_error : float
        The loss of datasets drawn from the fit, and its Monte Carlo standard error.
    fits : int
        Weighted fits that were sampled: 0, 1 or 2.
    frontier : DataFrame
        One row a scored setting: ``scheme``, ``family``, ``setting``, ``target`` and ``loss`` with their errors ``target_error`` and
        ``loss_error``, ``kind`` ("plug-in" at the mode, or "sampled"), ``feasible``, ``reference`` (a scheme to compare with) and
        ``chosen``. Targets of kind "plug-in" are scaled to agree with the unweighted fit.
    families : DataFrame
        One row a family: the ``scheme`` that meets the target, its plug-in ``loss`` and ``loss_error``, the ``least`` and the ``largest``
        target along it, whether the target falls all along it (``monotone``), and the ``result``: chosen, or why not.
    why : str
        What was chosen and why, in words.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> tuning = rw.tune(synthesizer, data, scenario, target="lipschitz", at_most=3.0, family="uniform", random_seed=1)
    >>> tuning.frontier.columns.tolist()[:5]
    ['scheme', 'family', 'setting', 'target', 'target_error']
    """

    target: str
    at_most: float
    family: str
    settings: Mapping[str, float]
    scheme: str
    alpha: pd.Series | pd.DataFrame = field(repr=False)
    fit: Fit = field(repr=False)
    unweighted: Fit = field(repr=False)
    reached: float
    error: float
    loss: float
    loss_error: float
    fits: int
    frontier: pd.DataFrame = field(repr=False)
    families: pd.DataFrame = field(repr=False)
    why: str

    @property
    def met(self) -> bool:
        """Whether the fit meets the target, but for its Monte Carlo error."""
        return meets(Estimate(self.reached, self.error), self.at_most)


def unreachable(settings: TuningSettings, scans: list[Scan], scale: float) -> str:
    """What can be reached along each family."""
    ends = [together(*(scale * value for value in scan.reach())) for scan in scans]
    told = "; ".join(f"along {scan.path.family!r} from about {low} to {high}" for scan, (low, high) in zip(scans, ends, strict=True))
    return f"target {settings.target!r} cannot be brought to at most {exactly(settings.at_most)}: it goes {told}"


def families_table(
    scans: list[Scan], points: Mapping[str, Point], scale: float, settings: TuningSettings, best: Sampled | None
) -> pd.DataFrame:
    """See `Tuning.families`; `best` is what was chosen, None where nothing needs to be weighted."""
    chosen = None if best is None else parse_scheme(best.scheme).name
    rows = []
    for scan in scans:
        family, point = scan.path.family, points.get(scan.path.family)
        setting = best.setting if best is not None and family == chosen else np.nan if point is None else point.setting
        least, largest = (scale * value for value in scan.reach())
        rows.append(
            {
                "family": family,
                "scheme": "" if point is None else scan.path.text(setting),
                "setting": setting,
                "loss": np.nan if point is None else point.loss.value,
                "loss_error": np.nan if point is None else point.loss.error,
                "least": least,
                "largest": largest,
                "monotone": scan.monotone,
                "result": _result(scan, point, chosen, settings, points),
            }
        )
    return pd.DataFrame(rows)


def _result(scan: Scan, point: Point | None, chosen: str | None, settings: TuningSettings, points: Mapping[str, Point]) -> str:
    """A family's fate in words."""
    if chosen is None:
        return "not needed: the unweighted synthesizer meets the target"
    if point is None:
        return f"does not reach {exactly(settings.at_most)}"
    turn = "" if scan.rise is None else f"; rises again at {scan.path.setting} = {scan.rise:g}, so the cheapest setting that meets it"
    if scan.path.family == chosen:
        return f"chosen{turn}"
    best = points[chosen].loss
    unclear = point.loss.value - best.value <= 2 * np.hypot(best.error, point.loss.error)
    return f"{'costs as much within error' if unclear else 'costs more'}{turn}"


def frontier_table(
    scans: list[Scan],
    points: Mapping[str, Point],
    scale: float,
    references: Mapping[str, Point],
    sampled: list[Sampled],
    best: Sampled,
    at_most: float,
) -> pd.DataFrame:
    """See `Tuning.frontier`."""
    rows: list[dict[str, Any]] = []

    def add(scheme: str, family: str, setting: float, target: Estimate, loss: Estimate, kind: str, **flags: bool) -> None:
        met = target.value <= at_most if kind == "plug-in" else meets(target, at_most)
        numbers = {"target": target.value, "target_error": target.error, "loss": loss.value, "loss_error": loss.error}
        of = {"scheme": scheme, "family": family, "setting": setting}
        rows.append({**of, **numbers, "kind": kind, "feasible": met, "reference": False, "chosen": False, **flags})

    def scaled(target: Estimate) -> Estimate:
        return Estimate(scale * target.value, scale * target.error)

    for scan in scans:
        path, extra = scan.path, points.get(scan.path.family)
        by_setting = {point.setting: point for point in (*scan.points, *([extra] if extra else []))}
        order = sorted(by_setting.values(), key=lambda point: point.setting, reverse=path.points[0] > path.points[-1])
        for point in order:
            add(path.text(point.setting), path.family, point.setting, scaled(point.target), point.loss, "plug-in")
    for scheme, point in references.items():
        named = parse_scheme(scheme)
        setting = next(iter(named.settings.values()), np.nan)
        add(scheme, named.name, setting, scaled(point.target), point.loss, "plug-in", reference=True)
    for each in sampled:
        family = parse_scheme(each.scheme).name
        add(each.scheme, family, each.setting, each.target, each.loss, "sampled", chosen=each is best, reference=family == UNWEIGHTED)
    return pd.DataFrame(rows)


def explained(settings: TuningSettings, best: Sampled, families: pd.DataFrame, loss: Loss) -> str:
    """What was chosen and why."""
    label = settings.asked.label
    value, error = together(best.target.value, best.target.error)
    measured = f"{label} {value} (Monte Carlo error {error}), {loss.label} {together(best.loss.value)[0]}"
    if best.scheme == UNWEIGHTED:
        return f"The unweighted synthesizer meets the target as it is: {measured}."
    chosen = families["result"].str.startswith("chosen")
    (row,) = families[chosen].itertuples()
    others = families[~chosen]
    least, *losses = together(row.loss, *others["loss"])
    named = [f"{other.family} {other.result}" for other in others.itertuples()]
    told = [f"{name} ({cost})" if np.isfinite(loss) else name for name, cost, loss in zip(named, losses, others["loss"], strict=True)]
    sentences = [
        f"{best.scheme}: of the settings that bring the {label} to at most {exactly(settings.at_most)} the one of least {loss.label} at "
        f"the mode ({least}){', where ' if told else ''}{', '.join(told)}.",
        "" if row.monotone else f"Along {row.family} the target {row.result.partition('; ')[2]} was taken.",
        f"Measured on its fit: {measured}.",
        "" if meets(best.target, settings.at_most) else f"That exceeds {exactly(settings.at_most)} by more than its error.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)
