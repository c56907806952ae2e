"""``riskweighted check``: what a run would do and take."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import (
    Seed,
    loading_step,
    print_info,
    print_info_pairs,
    print_info_table,
    print_json,
    print_result,
    print_stderr,
    reporter,
)
from riskweighted.common.errors import InputError, listing
from riskweighted.common.numbers import exactly, together
from riskweighted.common.progress import duration
from riskweighted.common.text import as_argument, plain
from riskweighted.weights.scheme_names import UNWEIGHTED

_MOST_RULES = 5  # that are named by their columns

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.runs.estimate import RunEstimate
    from riskweighted.runs.plan import Plan
    from riskweighted.runs.study import Study


def check(
    study_file: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Data, scenario, synthesizer and settings.")
    ],
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Try the steps, and say what time, memory and disk a run takes."
        ),
    ] = False,
    seed: Seed = None,
) -> None:
    """Check a study against its data and say what a run would do; nothing is fitted or written."""
    with loading_step():
        from riskweighted.runs.study import load_study
    study = load_study(study_file)
    with loading_step("PyMC"):
        from riskweighted.runs.plan import plan_study  # noqa: F401
    print_plan(
        study if seed is None else dataclasses.replace(study, seed=seed), None, estimated=estimate
    )
    print_info(f"Next: riskweighted run {as_argument(str(study_file))}")


def print_plan(study: "Study", out: Path | None, *, estimated: bool = True) -> None:
    """What a study would do, its results in a folder `out` where one was named."""
    from riskweighted.common.resources import disk_free, memory_free, shortages
    from riskweighted.runs.plan import plan_study

    named, candidates = _named(study)
    with reporter().step("checking the study" + " and trying its steps" * estimated):
        plan = plan_study(named, began=0, estimated=estimated)
    folder, needs = out or Path(), plan.estimate
    short = [] if needs is None else shortages(needs.memory, needs.disk, folder)
    refused = any(shortage.certain for shortage in short)
    if not refused:  # else the error is the one object
        print_json(
            "check",
            **{name: value for name, value in vars(plan).items() if name != "estimate"},
            candidates=candidates or None,
            estimate=needs
            and {
                **vars(needs),
                "total": needs.total,
                "memory_free": memory_free(),
                "disk_free": disk_free(folder),
            },
            results=out,
        )
    print_info_pairs(_lines(study, named, candidates, plan, out))
    for scheme, shift in plan.shift.items():
        if plan.models and scheme != UNWEIGHTED:
            _print_shift(scheme, shift)
    for remark in plan.remarks:
        print_stderr(f"note: {plain(remark)}")
    print_result("Nothing was written: this was a dry run.")
    if refused:
        raise InputError(f"the run will not fit; {'; '.join(map(str, short))}")
    if short:
        print_stderr(f"warning: the run may not fit; {'; '.join(map(str, short))}")


def _lines(
    study: "Study", named: "Study", candidates: str, plan: "Plan", out: Path | None
) -> dict[str, str]:
    """What is said of a study, by name."""
    from riskweighted.runs.guarantee_checks import guarantee_statement

    return {
        **_left(study, plan),
        **({"models": candidates} if candidates else {}),
        "records": f"{plan.records:,}"
        + (
            ""
            if plan.fitted is None
            else f"; models are fitted to {plan.fitted:,} of them, the same share of every known "
            "pattern at random, and draw for all"
        )
        + (
            ""
            if study.data.where is None
            else f", those with {study.data.where}; no other record is released"
        ),
        "known patterns": f"{plan.patterns:,}, with a single record: {plan.singletons:,}",
        **({"units": plan.units} if plan.units else {}),
        "predictor columns": f"{plan.predictors:,}",
        "schemes": ", ".join(
            _scheme_line(scheme, plan.mean_weight.get(scheme)) for scheme in plan.schemes
        ),
        **(_models(plan) if plan.models else _margins(plan)),
        **({"survey weights": _survey_line(study, plan.survey)} if study.weights.survey else {}),
        **({"target": _target_line(study)} if study.weights.target else {}),
        "synthetic datasets": f"{plan.datasets} per scheme",
        **({} if plan.estimate is None else _needs(plan.estimate, out or Path())),
        "randomness": "the seed alone (for study, not for release)"
        if study.reproducible
        else "seed and secret entropy",
        **(
            {"guarantee": " ".join(guarantee_statement(named)[: 3 if named.reproducible else 2])}
            if named.guarantee is not None
            else {}
        ),
        **({} if out is None else {"results": f"{out}" + (" (exists)" if out.exists() else "")}),
    }


def _left(study: "Study", plan: "Plan") -> dict[str, str]:
    """What is released and what is not, first of all."""
    from riskweighted.reports.intruder_section import about_intruders

    totals = study.altered[len(study.variables) :]
    known = [f"{name} (known)" if name in study.scenario.known else name for name in plan.unaltered]
    return {
        "released unaltered": ", ".join(known) or "no column",
        "synthesized": ", ".join(study.variables),
        **({"computed": listing(totals)} if totals else {}),
        **({"intruders": about_intruders(study)} if study.intruders else {}),
        "stays": f"{len(plan.staying):,} column{'s'[: len(plan.staying) != 1]}: "
        f"{listing(plan.staying)}"
        if plan.staying
        else "no column",
    }


def _margins(plan: "Plan") -> dict[str, str]:
    """Of one variable: what weights leave of its margin and of the predictors' levels."""
    weighted = [(scheme, shift) for scheme, shift in plan.shift.items() if scheme != UNWEIGHTED]
    return {
        "weighted margin": "; ".join(_shift_line(*shift) for shift in weighted) or "-",
        "levels with weight < 5": _sparse_line(plan.sparse_levels),
    }


def _models(plan: "Plan") -> dict[str, str]:
    """Of several variables: the model of each part, and which values are drawn though hardly
    anybody has them.
    """
    lines = {"models": ", ".join(f"{block} ({model})" for block, model in plan.models.items())}
    if plan.rare:
        counts = ", ".join(f"{name} {count}" for name, count in plan.rare.items())
        lines["values of 1 or 2"] = (
            f"{counts}: levels or counts that only one or two records hold are drawn as they "
            "are; merge them, or state the list of "
            "levels or values, which is then public"
        )
    if plan.unstated:
        shown = "; ".join(map(plain, plan.unstated[:_MOST_RULES])) + "; ..." * (
            len(plan.unstated) > _MOST_RULES
        )
        lines["rules not stated"] = (
            f"{len(plan.unstated)} that no record breaks ({shown}); `init` writes them, "
            "rw.find_structure lists them"
        )
    return lines


def _needs(needs: "RunEstimate", folder: Path) -> dict[str, str]:
    """Time, memory and disk."""
    from riskweighted.common.resources import disk_free, memory_free, size

    return {
        "expected time": _time_line(needs),
        "memory": f"about {size(needs.memory)} at the peak, {size(memory_free())} free",
        "disk": f"about {size(needs.disk)}, {size(disk_free(folder))} free",
    }


def _time_line(needs: "RunEstimate") -> str:
    """All of it, and the steps that take most."""
    longest = sorted(needs.seconds.items(), key=lambda step: -step[1])[:3]
    return (
        f"about {duration(needs.total)} of processor time "
        f"({', '.join(f'{name} {duration(seconds)}' for name, seconds in longest)})"
    )


def _target_line(study: "Study") -> str:
    asked = study.weights.tuning
    if asked is None:
        return ""
    limits = " and ".join(
        f"{name} at most {exactly(most)}"
        for name, most in {asked.target: asked.target_max, **asked.constraints}.items()
    )
    return f"{limits}, sought along {', '.join(asked.tried)}: adds one scheme"


def _survey_line(study: "Study", ranges: dict[str, tuple[float, float]]) -> str:
    """Which column, where it acts, and the least and the largest power of a record's likelihood."""
    shown = "; ".join(f"{scheme} {' to '.join(together(*ends))}" for scheme, ends in ranges.items())
    return f"{study.weights.survey}, sum n, times alpha in the likelihood: {shown}"


def _sparse_line(levels: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{scheme} {len(names)}" for scheme, names in levels.items()) or "not known"


def _shift_line(scheme: str, shift: "pd.DataFrame") -> str:
    row = shift.iloc[0]
    return (
        f"{scheme} {row['total_variation']:.2f} from the raw one, its least level keeps "
        f"{row['least_ratio']:.0%}"
    )


def _print_shift(scheme: str, shift: "pd.DataFrame") -> None:
    """What a scheme's weights leave of each variable's margin, and how many parameters they must
    hold.
    """
    shown = shift.rename(
        columns={
            "alpha": "sum of alpha",
            "total_variation": "total variation",
            "least_ratio": "least ratio",
        }
    )
    print_info_table(
        shown.set_index("variable")[
            ["levels", "sum of alpha", "parameters", "total variation", "least ratio", "erased"]
        ],
        f"Weighted margins, {scheme} (total variation from the raw margin; least ratio of a "
        "level's weighted and raw share)",
    )


def _scheme_line(scheme: str, mean: float | None) -> str:
    return f"{scheme} (made of a fit)" if mean is None else f"{scheme} (mean weight {mean:.3f})"


def _named(study: "Study") -> tuple["Study", str]:
    """A study that names a model, the first of the candidates where it leaves the choice to the
    run; and the candidates in words.
    """
    from riskweighted.runs.candidates import find_candidates
    from riskweighted.runs.sections import SynthesizerSettings
    from riskweighted.runs.study import AUTO

    asked = study.synthesizer
    if asked.name != AUTO:
        return study, ""
    candidates = list(find_candidates(str(asked.formula), study.read_data(), asked.settings))
    accepted = [candidate for candidate in candidates if candidate.model is not None]
    told = [
        f"{candidate.name}{f' ({candidate.described})' if candidate.described else ''}"
        for candidate in accepted
    ]
    refused = [candidate for candidate in candidates if candidate.model is None]
    told += [
        f"not {candidate.name}{f' ({candidate.described})' if candidate.described else ''}: "
        f"{candidate.refusal}"
        for candidate in refused
    ]
    if not accepted:
        raise InputError(f"no registered synthesizer takes the data: {'; '.join(told)}")
    first = SynthesizerSettings(accepted[0].name, asked.formula, dict(accepted[0].settings))
    return dataclasses.replace(
        study, synthesizer=first
    ), "compared, each by an unweighted fit: " + "; ".join(told)
