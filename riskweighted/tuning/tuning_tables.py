"""What a search found, as tables and in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import listing
from riskweighted.common.html_repr import html_repr
from riskweighted.common.numbers import decimals_for_digits, exactly, format_column, together
from riskweighted.evaluation.verdicts import NOT_JUDGED, Verdict, overall
from riskweighted.measures.measure import Estimate
from riskweighted.sequence.fit import Fit
from riskweighted.tuning.constraints import load, meets
from riskweighted.tuning.information import InformationSummary
from riskweighted.tuning.scan import Scan, ScannedSetting
from riskweighted.tuning.tuning_settings import TuningLoss, TuningSettings
from riskweighted.weights.scheme_names import UNWEIGHTED, parse_scheme

__all__ = [
    "SampledSetting",
    "Tuning",
    "add_verdict_words",
    "explain_choice",
    "families_table",
    "frontier_table",
    "unreachable",
]


class SampledSetting(NamedTuple):
    """A setting that was sampled, and what was measured on it; ``kept``: the constraints, in order;
    ``taught``: by its records.
    """

    scheme: str
    setting: float
    fit: Fit
    target: Estimate
    loss: Estimate
    kept: tuple[Estimate, ...] = ()
    taught: InformationSummary = InformationSummary()

    def meets(self, settings: TuningSettings) -> bool:
        """Whether it meets the target and keeps every constraint, but for their Monte Carlo
        errors.
        """
        pairs = zip(
            (self.target, *self.kept),
            (settings.target_max, *settings.constraints.values()),
            strict=True,
        )
        return all(meets(figure, at_most) for figure, at_most in pairs)

    def load(self, settings: TuningSettings) -> float:
        """The largest of target and constraints, as shares of what they shall not exceed."""
        return load(
            (self.target, *self.kept), (settings.target_max, *settings.constraints.values())
        )


@dataclass(frozen=True, eq=False)
class Tuning:
    """A tuning holds a setting of the weights that was chosen, and how. Confidential: it carries
    data.

    Attributes
    ----------
    target, target_max : str, float
    family, settings, scheme : str, mapping, str
        The family and its settings, none where the unweighted synthesizer meets the target as it
        is; both as study files name them: "mix(t=0.62)".
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
        One row a scored setting: ``scheme``, ``family``, ``setting``, ``target`` and ``loss`` with
        their errors ``target_error`` and ``loss_error``, ``kind`` ("plug-in" at the mode, or
        "sampled"), ``feasible``, ``reference`` (a scheme to compare with), ``chosen``, ``verdict``,
        "not judged" of what nothing was drawn from, each constraint by its name, and beside them
        what records teach by their own values: ``isolated_information`` (mean over isolated
        records), ``largest_information``, and of sampled fits ``attributable``, the attributable
        ball probability of isolated records. Targets, constraints and information of kind "plug-in"
        are scaled to agree with the unweighted fit.
    families : DataFrame
        One row a family: the ``scheme`` that meets the target, its plug-in ``loss`` and
        ``loss_error``, the ``least`` and the ``largest`` target along it, whether the target falls
        all along it (``monotone``), and the ``result``: chosen, or why not.
    constraints : DataFrame
        One row a constraint: its name, its ``label``, what it shall be ``at_most``, its ``value``
        on the fit with its ``error``, the same ``unweighted``, and whether it is ``kept``; NaN,
        which is not kept, where it is not judged.
    why : str
        What was chosen and why, in words.
    verdicts : tuple of Verdict
        Those that a run gives the chosen scheme; none of `riskweighted.tune`, which knows of no
        release.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> tuning = rw.tune(
    ...     synthesizer,
    ...     data,
    ...     scenario,
    ...     target="lipschitz",
    ...     target_max=3.0,
    ...     family="uniform",
    ...     random_seed=1,
    ... )
    >>> tuning.frontier.columns.tolist()[:5]
    ['scheme', 'family', 'setting', 'target', 'target_error']
    """

    target: str
    target_max: float
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
    constraints: pd.DataFrame = field(repr=False)
    why: str
    verdicts: tuple[Verdict, ...] = ()

    def _repr_html_(self) -> str:
        met = "meets" if self.met else "misses"
        reached = (
            f"{self.scheme} {met} {self.target} of at most {self.target_max:g}: "
            f"{self.reached:.4g}, "
            f"error {self.error:.2g}"
        )
        facts = {"loss": f"{self.loss:.4g}, error {self.loss_error:.2g}", "fits sampled": self.fits}
        shown = self.families.set_index("scheme").drop(columns="result", errors="ignore")
        return html_repr(
            "Tuning", [reached, self.why], facts, shown, "Confidential: alpha and fit carry data."
        )

    @property
    def met(self) -> bool:
        """Whether the fit meets the target and keeps the constraints, but for their Monte Carlo
        errors.
        """
        return meets(Estimate(self.reached, self.error), self.target_max) and bool(
            self.constraints["kept"].all()
        )


def add_verdict_words(frontier: pd.DataFrame, verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """A frontier with the word of every sampled scheme that was judged."""
    labels = {each.label for each in verdicts}
    judged = (frontier["kind"] == "sampled") & frontier["scheme"].isin(labels)
    words = frontier["scheme"].map({label: overall(verdicts, label) for label in labels})
    told = frontier.assign(verdict=words.where(judged, frontier["verdict"]))
    told.attrs = frontier.attrs
    return told


def unreachable(settings: TuningSettings, scans: list[Scan], scales: Sequence[float]) -> str:
    """What can be reached along each family: of the target, or of the first constraint that no
    setting keeps.
    """
    if min(scan.reach()[0] for scan in scans) * scales[0] > settings.target_max:
        return (
            f"target {settings.target!r} cannot be brought to at most "
            f"{exactly(settings.target_max)}: it goes {_ranges(scans, scales[0])}"
        )
    for number, (name, at_most) in enumerate(settings.constraints.items(), 1):
        if min(scan.reach(number)[0] for scan in scans) * scales[number] > at_most:
            return (
                f"constraint {name!r} cannot be kept at most {exactly(at_most)}: it goes "
                f"{_ranges(scans, scales[number], number)}"
            )
    return (
        f"no setting both brings {settings.target!r} to at most {exactly(settings.target_max)} and "
        f"keeps {_limits(settings)}"
    )


def _ranges(scans: list[Scan], scale: float, which: int = 0) -> str:
    """From where to where the target goes, or the constraint number `which`."""
    reached = [[scale * value for value in scan.reach(which)] for scan in scans]
    ends = [_digits(*values) if which else together(*values) for values in reached]
    return "; ".join(
        f"along {scan.path.family!r} from about {low} to {high}"
        for scan, (low, high) in zip(scans, ends, strict=True)
    )


def _digits(*values: float) -> list[str]:
    """Figures of any size, small ones too, with three digits of the largest."""
    return format_column(values, decimals_for_digits(values, 3))


def _limits(settings: TuningSettings) -> str:
    return " and ".join(
        f"{name!r} at most {exactly(at_most)}" for name, at_most in settings.constraints.items()
    )


def families_table(
    scans: list[Scan],
    points: Mapping[str, ScannedSetting],
    scales: Sequence[float],
    settings: TuningSettings,
    best: SampledSetting | None,
) -> pd.DataFrame:
    """See `Tuning.families`; `best` is what was chosen, None where nothing needs to be weighted."""
    chosen = None if best is None else parse_scheme(best.scheme).name
    rows = []
    for scan in scans:
        family, point = scan.path.family, points.get(scan.path.family)
        setting = (
            best.setting
            if best is not None and family == chosen
            else np.nan
            if point is None
            else point.setting
        )
        least, largest = (scales[0] * value for value in scan.reach())
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


def _result(
    scan: Scan,
    point: ScannedSetting | None,
    chosen: str | None,
    settings: TuningSettings,
    points: Mapping[str, ScannedSetting],
) -> str:
    """A family's fate in words."""
    if chosen is None:
        return "not needed: the unweighted synthesizer meets the target"
    if point is None:
        return (
            "does not reach "
            f"{exactly(settings.target_max)}"
            f"{' and keep the constraints' if settings.constraints else ''}"
        )
    turn = (
        ""
        if scan.rise is None
        else f"; rises again at {scan.path.setting} = {scan.rise:g}, so the cheapest setting that "
        "meets it"
    )
    if scan.path.family == chosen:
        return f"chosen{turn}"
    best = points[chosen].loss
    unclear = point.loss.value - best.value <= 2 * np.hypot(best.error, point.loss.error)
    return f"{'costs as much within error' if unclear else 'costs more'}{turn}"


def frontier_table(
    scans: list[Scan],
    points: Mapping[str, ScannedSetting],
    scales: Sequence[float],
    references: Mapping[str, ScannedSetting],
    sampled: list[SampledSetting],
    best: SampledSetting,
    settings: TuningSettings,
    taught: InformationSummary,
) -> pd.DataFrame:
    """See `Tuning.frontier`; `scales` and `taught`: by what figures at a mode are multiplied."""
    rows: list[dict[str, Any]] = []

    def add(
        scheme: str,
        family: str,
        setting: float,
        scored: ScannedSetting | SampledSetting,
        met: bool,
        kind: str,
        **flags: bool,
    ) -> None:
        (target, *kept), loss = (scored.target, *scored.kept), scored.loss
        numbers = {
            "target": target.value,
            "target_error": target.error,
            "loss": loss.value,
            "loss_error": loss.error,
        }
        of, taught = {"scheme": scheme, "family": family, "setting": setting}, scored.taught
        numbers |= {
            "isolated_information": taught.isolated,
            "largest_information": taught.largest,
            "attributable": taught.attributable,
        }
        beside = {
            name: figure.value for name, figure in zip(settings.constraints, kept, strict=True)
        }
        rows.append(
            {
                **of,
                **numbers,
                "kind": kind,
                "feasible": met,
                "reference": False,
                "chosen": False,
                **flags,
                **beside,
            }
        )

    def add_point(
        scheme: str, family: str, setting: float, point: ScannedSetting, **flags: bool
    ) -> None:
        target, *kept = (
            Estimate(scale * figure.value, scale * figure.error)
            for scale, figure in zip(scales, (point.target, *point.kept), strict=True)
        )
        point = point._replace(target=target, kept=tuple(kept), taught=point.taught.scaled(taught))
        add(
            scheme,
            family,
            setting,
            point,
            point.load(settings.target_max, [*settings.constraints.values()]) <= 1,
            "plug-in",
            **flags,
        )

    for scan in scans:
        path, extra = scan.path, points.get(scan.path.family)
        by_setting = {point.setting: point for point in (*scan.points, *([extra] if extra else []))}
        order = sorted(
            by_setting.values(),
            key=lambda point: point.setting,
            reverse=path.points[0] > path.points[-1],
        )
        for point in order:
            add_point(path.text(point.setting), path.family, point.setting, point)
    for scheme, point in references.items():
        named = parse_scheme(scheme)
        add_point(
            scheme, named.name, next(iter(named.settings.values()), np.nan), point, reference=True
        )
    for each in sampled:
        family = parse_scheme(each.scheme).name
        add(
            each.scheme,
            family,
            each.setting,
            each,
            each.meets(settings),
            "sampled",
            chosen=each is best,
            reference=family == UNWEIGHTED,
        )
    return pd.DataFrame(rows).assign(verdict=NOT_JUDGED)


def explain_choice(
    settings: TuningSettings, best: SampledSetting, families: pd.DataFrame, loss: TuningLoss
) -> str:
    """What was chosen and why."""
    label = settings.asked.label
    value, error = together(best.target.value, best.target.error)
    measured = (
        f"{label} {value} (Monte Carlo error {error}), {loss.label} {together(best.loss.value)[0]}"
    )
    if best.scheme == UNWEIGHTED:
        return " ".join(
            [
                f"The unweighted synthesizer meets the target as it is: {measured}.",
                *_kept(settings, best),
            ]
        )
    chosen = families["result"].str.startswith("chosen")
    (row,) = families[chosen].itertuples()
    others = families[~chosen]
    least, *losses = together(row.loss, *others["loss"])
    named = [f"{other.family} {other.result}" for other in others.itertuples()]
    told = [
        f"{name} ({cost})" if np.isfinite(loss) else name
        for name, cost, loss in zip(named, losses, others["loss"], strict=True)
    ]
    sentences = [
        f"{best.scheme}: of the settings that bring the {label} to at most "
        f"{exactly(settings.target_max)}"
        f"{f' and keep {_limits(settings)}' if settings.constraints else ''} the one of least "
        f"{loss.label} at "
        f"the mode ({least}){', where ' if told else ''}{', '.join(told)}.",
        ""
        if row.monotone
        else f"Along {row.family} the target {row.result.partition('; ')[2]} was taken.",
        f"Measured on its fit: {measured}.",
        ""
        if meets(best.target, settings.target_max)
        else f"That exceeds {exactly(settings.target_max)} by more than its error.",
        *_kept(settings, best),
        _left_out(settings, families),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _left_out(settings: TuningSettings, families: pd.DataFrame) -> str:
    """Which families were not walked as they are by default, since the model or the weights do not
    allow it.
    """
    walked = set(families["family"])
    changed = [name for name in settings.tried if name not in walked]
    plain = [name for name in changed if name.removesuffix("+") in walked]
    lost = [name for name in changed if name not in plain]
    told = [f"{listing(plain)} cannot be centred here and went uncentred"] if plain else []
    told += [f"{listing(lost)} cannot be made of this fit"] if lost else []
    return f"Of the families, {', and '.join(told)}." if told else ""


def _kept(settings: TuningSettings, best: SampledSetting) -> list[str]:
    """A sentence for each constraint: whether the fit keeps it."""
    sentences = []
    for asked, (name, at_most), figure in zip(
        settings.constraint_targets, settings.constraints.items(), best.kept, strict=True
    ):
        if np.isfinite(figure.value):
            held = "is kept" if meets(figure, at_most) else "is NOT kept"
            sentences.append(
                f"Constraint {name!r} {held}: the {asked.label} is "
                f"{_digits(figure.value, at_most)[0]}, at most {exactly(at_most)}."
            )
        else:
            sentences.append(
                f"Constraint {name!r} is NOT kept: the {asked.label} is not judged on this fit."
            )
    return sentences
