"""`attribution`: what a whole release gives away of a person beyond what it would without that
person's value (METHODS section 13.1).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_given, check_names, check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, as_pandas
from riskweighted.common.progress import Advance, Steps, Stretches
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.disclosure.attack_results import attack_result_by_folds
from riskweighted.disclosure.attribution_inputs import (
    AttributionInputs,
    AttributionRequest,
    add_verdict,
)
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import PackResults
from riskweighted.disclosure.copy_checks import CopyTests
from riskweighted.disclosure.fold_tests import fold_tests, in_words
from riskweighted.disclosure.folds import Folds
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.members import known_by_others
from riskweighted.disclosure.own_fit import draw_copies, what_is_held
from riskweighted.disclosure.own_folds import draws_for, own_folds, why_folds
from riskweighted.disclosure.own_looks import judged_by_packs
from riskweighted.disclosure.policy import NOT_JUDGED_RULE, Broken, DisclosureSettings
from riskweighted.disclosure.refits import can_refit, refit_without
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.sequence.fit import Fit
from riskweighted.weights.scheme_names import FILE
from riskweighted.weights.schemes import is_by_risk
from riskweighted.weights.user_weights import depends_of

__all__ = ["attribution", "attribution_of_fit", "attribution_of_folds"]

_NO_SIDE = ("no fit and no folds say what the release would be without a record",)
# units whose records stand out from the folds of a fit that are left out by fits of their own
_ALONE = 5
_NOT_CONVERGED = ("a fit that did not converge does not show what it is without a record",)
_OTHERS_READ = (
    "weights that may depend on others' values cannot be computed again without a record: state "
    "weights.depends, or add a scheme that computes them"
)
Places = Sequence[Sequence[tuple[int, int]]]
Packs = Sequence[pd.DataFrame] | Sequence[Sequence[pd.DataFrame]]


def attribution(
    confidential: Frame,
    packs: Packs | None,
    scenario: Scenario,
    *,
    released: str | Sequence[str] = (),
    fit: Fit | None = None,
    folds: Folds | None = None,
    scheme: str | None = None,
    groups: str | Sequence[str] = (),
    unit: str | None = None,
    survey: str | None = None,
    settings: DisclosureSettings | None = None,
    shuffled: bool = True,
    places: Places | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return what a whole release tells of persons beyond what it would tell had a person's value
    not been used (METHODS section 13.1).

    An intruder holds all L datasets and guesses every record's value from its own copies and those
    of all rows with its released columns. T_with is the share of records that the best guess names:
    it lies within reach of the true value. T_out is the same of the release that the tool would
    have made without the record's value, and T_none of the best guess without a release, made by
    somebody with a perfect reference sample. D = T_with - T_out is disclosure, T_out - T_none
    inference (Hotz et al. 2022; Annamalai et al. 2024). D is a lower bound by these attacks, no
    certificate.

    Parameters
    ----------
    confidential : DataFrame, n rows
    packs : sequence of L DataFrames, several such, or None
        The release, its rows in the order of `confidential`; several packs of L if the tool made
        them, which tell how much D varies. With `fit` they say what L is, 20 if there are none, and
        D is that of packs drawn from the fit.
    scenario : Scenario
    released : str or sequence of str
        Columns that leave unaltered besides ``scenario.known``.
    fit : Fit, optional
        What the datasets were drawn from: an expectation over packs drawn from it, each attacked
        once, T_out by importance weights over whole packs, or by folds of its own where weights
        tell nothing. More are drawn until they decide. Copies of these datasets, and of the given
        ones if `places` says what they were drawn from, must not lie nearer to true values than the
        fit's own chances say.
    folds : Folds, optional
        What another tool made of `riskweighted folds`, read by `riskweighted.read_folds`.
    scheme : str, optional
        By which the weights of the fit were made, so that those of others can be made anew without
        a record; else they are held.
    groups : str or sequence of str
        Columns that do not leave altered, whose levels are judged as groups of their own.
    unit : str, optional
        A column such as a household's number: a record's values are those of its unit, which is
        left out as a whole, and errors are over units.
    survey : str, optional
        Survey weights, by which records are counted.
    settings : DisclosureSettings, optional
        Limits of the verdict.
    shuffled : bool
        Whether the datasets leave with their rows shuffled within released patterns; if not,
        aligned figures stand first and are judged.
    places : L sequences of (chain, draw), optional
        Of each dataset of the first pack the draws of `fit` that it was made from, as `Fit.places`
        gives them.
    random_seed : int, optional

    Returns
    -------
    DataFrame. A row for each of ``variables`` (the box of all, and each), ``release`` ("shuffled":
    rows exchanged within released patterns in both; "aligned": files whose rows pair; how the
    datasets leave stands first) and ``group`` ("all", "isolated", "top 1 %", "units of 2" and so on
    where records belong together, and those of `groups`; "inside" and "earlier" of each variable,
    where the scenario asks for them: the mean mass of the ball given others' values, over a sample
    of records, and behind each its "best guess"). Columns ``records``, ``with``, ``out``,
    ``none``, ``constant`` (one value for all),
    ``D`` with ``se`` and its limits ``lower`` and ``upper`` (of other tools one-sided 95 %, over
    units, folds and packs; of own fits of four looks together, over packs alone), ``bound``, what
    records whose weights fail may add to D, which ``upper`` holds; ``inference``; of one copy
    ``copy_with``, ``copy_out``; ``own_value_with``, ``own_value_out``, the share of records whose
    own value is among the L copies; ``named`` records (Benjamini-Hochberg at 5 % of Fisher's exact
    test), ``reversed`` and the estimated ``false_share``, of other tools alone; of own fits
    ``copy_D``, ``largest_D``, ``above_.01``, ``above_.05``, of one copy. Its ``attrs``:
    ``verdict``, ``reasons``, ``accepted``, ``outside`` (both without figures); ``persons``, the
    larger of n times the upper limit of D and the records named net; ``not_judged``, ``held``,
    ``packs``, ``worst_groups``, ``leaves``, how the datasets leave; ``alone``, the share of the
    records alone in their released pattern, whom nothing shuffles; ``narrow``, rows at a smaller
    radius where the own one names nearly everybody without the release; of folds that refuse or
    warn of single persons ``standing_out``, these records. Of own fits ``looks``, ``datasets``,
    ``failing`` (share of the records), ``records_per_parameter``, and ``gain``, mean and largest,
    about what a perfect intruder could gain on a person, which is no limit. Confidential.

    Raises
    ------
    InputError
        If the datasets do not pair with the data, folds do not belong to them or show the decoys of
        other folds, or the fit's weights are not those of `scheme`.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, fit, scenario
    >>> table = rw.attribution(data, None, scenario, fit=fit, scheme="marginal", random_seed=1)
    >>> table["group"].unique().tolist(), bool(table.loc[0, "D"] < 0.1)
    (['all', 'isolated', 'top 1 %'], True)
    >>> table.attrs["held"][-1]
    'the choice of the model, if it was made on these data'
    """
    confidential = as_pandas(confidential)
    check_seed(random_seed)
    world = make_world(confidential, scenario)
    asked = AttributionRequest(
        [*scenario.known, *check_names(released, "released")],
        check_names(groups, "groups"),
        unit,
        survey,
        settings,
        shuffled,
    )
    if fit is not None:
        check_given(fit, "fit", "blocks", "Fit", "fit(...)")
    if fit is not None and folds is not None:
        raise InputError(
            "fit and folds were both given: choose how to know what the release would be without "
            "a record"
        )
    given = None if packs is None else as_packs(packs)
    if fit is not None:
        return attribution_of_fit(
            fit,
            world,
            asked,
            given,
            weighting=None
            if scheme is None
            else Weighting(scheme, depends=depends_of(world, scheme)),
            places=places,
            random_seed=random_seed,
        )
    if scenario.inside or scenario.earlier:
        raise InputError(
            "scenario.inside and scenario.earlier are measured on a fit: give it, or leave them out"
        )
    if given is None:
        raise InputError("packs is None and there is no fit: give the released datasets")
    return attribution_of_folds(world, given, folds, asked, random_seed)


def attribution_of_fit(
    fit: Fit,
    world: World,
    asked: AttributionRequest,
    packs: Sequence[Sequence[pd.DataFrame]] | None = None,
    *,
    L: int = 20,  # noqa: N803
    weighting: Weighting | None = None,
    refits: int = 3,
    places: Places | None = None,
    random_seed: int | None = None,
    progress: Advance | None = None,
) -> pd.DataFrame:
    """`attribution` of a run's own fit, for what its datasets would be without each record.

    `packs`: those that leave, of which L alone is read; `refits`: how many records at most are left
    out by a fit of their own, and with 0 no fold either; `places`: of each dataset of the first
    pack the draw of every block.
    """
    patterns = released_patterns(world.confidential, list(asked.released or world.scenario.known))
    copied = CopyTests(fit, world, patterns=patterns, random_seed=random_seed)
    if packs is not None and places is not None:
        copied.leave(packs[0], places)
    table = _of_fit(fit, world, asked, packs, L, weighting, refits, random_seed, progress, copied)
    if world.scenario.inside or world.scenario.earlier:
        table = _with_members(table, fit, world, weighting, random_seed)
    copied.draw()
    found, folded = copied.found(), table.attrs.get("own") is None and not table.attrs["not_judged"]
    untold = [why for name, why in found.untold.items() if not (folded and name in copied.silent)]
    broken = (*found.broken, *(Broken(NOT_JUDGED_RULE, why) for why in untold))
    table.attrs["broken"] = (*table.attrs.get("broken", ()), *broken)
    return add_verdict(table, asked.settings)


def _with_members(
    table: pd.DataFrame,
    fit: Fit,
    world: World,
    weighting: Weighting | None,
    random_seed: int | None,
) -> pd.DataFrame:
    """With rows of intruders who know others' values, of a fit of units that can tell of them."""
    members = fit.prepared.members
    if members is None or (world.scenario.earlier and members.units.time is None):
        raise InputError(
            "scenario.inside asks for a model of units, and scenario.earlier for one of a panel: "
            "give it units, with a time, or leave it out"
        )
    if fit.keeps_true_values or not fit.estimates or not fit.converged or table.attrs["not_judged"]:
        return table
    rng = np.random.default_rng(None if random_seed is None else [random_seed, 1])
    rows = known_by_others(fit, world, weighting, table.attrs["leaves"], rng)
    made = pd.concat([table, pd.DataFrame(rows)], ignore_index=True)
    made.attrs = table.attrs
    return made


def _of_fit(
    fit: Fit,
    world: World,
    asked: AttributionRequest,
    packs: Sequence[Sequence[pd.DataFrame]] | None,
    L: int,  # noqa: N803
    weighting: Weighting | None,
    refits: int,
    random_seed: int | None,
    progress: Advance | None,
    copied: CopyTests,
) -> pd.DataFrame:
    """D of a fit: by packs, or by folds where these do not tell."""
    rng, copies = np.random.default_rng(random_seed), L if packs is None else len(packs[0])
    if fit.keeps_true_values or not fit.estimates or not fit.converged:
        drawn = packs or [fit.synthesize(copies, random_seed=int(rng.integers(2**31)))]
        return attribution_of_folds(
            world,
            drawn,
            None,
            asked,
            random_seed,
            untold=_NO_SIDE if fit.converged else _NOT_CONVERGED,
        )
    stretches = Stretches(progress)

    def by_folds(untold: Sequence[str] = ()) -> pd.DataFrame:
        return _by_own_folds(
            fit, world, asked, copies, weighting, rng, stretches.begin(last=True), untold
        )

    if weighting is not None and (weighting.depends == FILE or is_by_risk(weighting.scheme)):
        return by_folds(
            untold=(_OTHERS_READ,) if weighting.untold or fit.of_part or not refits else ()
        )
    if (draws := math.prod(fit.sizes.values())) < 2 * copies:
        return by_folds(
            untold=(
                f"the fit has {draws} draws, fewer than two packs of {copies} datasets: draw more",
            )
        )
    why = why_folds(fit)
    if why and refits:
        return by_folds(untold=() if can_refit(weighting) and not fit.of_part else why)
    judged = judged_by_packs(
        fit, world, asked, copies, weighting, rng, refits, stretches.begin(last=not refits), copied
    )
    return by_folds() if judged is None else judged


def _by_own_folds(
    fit: Fit,
    world: World,
    asked: AttributionRequest,
    copies: int,
    weighting: Weighting | None,
    rng: np.random.Generator,
    progress: Advance | None,
    untold: Sequence[str] = (),
) -> pd.DataFrame:
    """The table of a fit by fits of its own without a fifth of the units each."""
    held = what_is_held(fit, weighting, refitted=True)
    if untold:
        values = [draw_copies(fit, Coding(world), rng, copies=copies, values_alone=True).values]
        return _by_folds(AttributionInputs(world, asked, rng), values, untold=untold, held=held)
    stretches = Stretches(progress)
    of_row, (using, *without) = own_folds(
        fit, world, weighting, asked.unit, copies, rng, stretches.begin()
    )
    setting, out = AttributionInputs(world, asked, rng, of_row), list(zip(*without, strict=True))
    told = _stands_out(setting, using[0], out[0], of_row)
    apart, units = list(out[0]), np.arange(len(of_row)) if setting.units is None else setting.units
    alone = dict.fromkeys(units[[one.record for one in told["standing_out"]]][:_ALONE].tolist())
    done = Steps(stretches.begin(last=True), len(alone))
    for unit in alone:
        gone = units == unit
        one = refit_without(fit, world, np.flatnonzero(gone), weighting, rng, draws_for(copies))
        places = spread_draws(one.sizes["chain"], one.sizes["draw"], copies)
        apart.append(draw_copies(one, Coding(world), rng, places=places, values_alone=True).values)
        of_row = np.where(gone, len(apart) - 1, of_row)
        done()
    # a fit without a fold is one without a fifth of the file, and one without the person tells more
    if len(apart) > len(out[0]):
        told = _stands_out(setting, using[0], apart, of_row)
    return _by_folds(setting, using, out, held=held, **told)


def attribution_of_folds(
    world: World,
    packs: Sequence[Sequence[pd.DataFrame]],
    folds: Folds | None,
    asked: AttributionRequest,
    random_seed: int | None = None,
    *,
    untold: Sequence[str] = _NO_SIDE,
) -> pd.DataFrame:
    """`attribution` of any tool's datasets by the folds that it made; without folds, or where they
    show no decoys, it is not judged, and D is NaN; `untold` says why there are none."""
    untold = untold if folds is None else folds.check(world, packs[0])
    if folds is not None and folds.whole:
        packs = folds.whole
    coding = Coding(world)
    setting = AttributionInputs(
        world,
        asked,
        np.random.default_rng(random_seed),
        None if folds is None else folds.of_row,
    )
    given = [_numbers(coding, world, pack) for pack in packs]
    if folds is None or untold:
        return _by_folds(setting, given, untold=untold)
    out = [[coding_numbers(coding, pack) for pack in made] for made in folds.made]
    return in_words(
        _by_folds(setting, given, out, **_stands_out(setting, given[0], out[0], folds.of_row)),
        len(out),
        asked.settings,
    )


def _stands_out(
    setting: AttributionInputs, released: np.ndarray, out: Sequence[np.ndarray], of_row: np.ndarray
) -> dict[str, Any]:
    """What one release (V, n, L) breaks of the tests of persons and groups against those of its
    folds, and the records concerned.
    """
    coding = Coding(setting.world)
    broken, standing_out = fold_tests(
        coding,
        released,
        out,
        of_row,
        setting.patterns,
        setting.everyone(coding),
        setting.asked.settings,
    )
    return {"broken": broken, "standing_out": standing_out}


def _by_folds(
    setting: AttributionInputs,
    given: Sequence[np.ndarray],
    out: Sequence[Sequence[np.ndarray]] = (),
    *,
    untold: Sequence[str] = (),
    held: Sequence[str] = (),
    **further: object,
) -> pd.DataFrame:
    """The table of given packs (V, n, L) against what folds tell, R packs of each; nothing where
    nobody knows it.
    """
    setting.repeated = len(out) > 1

    def sides(part: Coding, which: Sequence[int]) -> Iterator[tuple[str, PackResults]]:
        for release in setting.releases:
            using = tuple(setting.side(part, pack[list(which)], release) for pack in given)
            made = [
                [
                    setting.side(part, pack[list(which)], release, fold)
                    for fold, pack in enumerate(of_folds)
                ]
                for of_folds in out
            ]
            without = (
                tuple(attack_result_by_folds(setting.folds, each) for each in made)
                if setting.folds is not None
                else ()
            )
            yield (
                release,
                PackResults(
                    using,
                    without if setting.repeated else without * len(using),
                    np.full(len(setting.patterns), np.nan),
                ),
            )

    return setting.finished(
        setting.table(
            Coding(setting.world), sides, np.ones(len(setting.patterns), dtype=bool), given[0]
        ),
        untold,
        held,
        len(given),
        **further,
    )


def as_packs(packs: Packs) -> list[Sequence[pd.DataFrame]]:
    """One pack or several, each of as many datasets."""
    given = [packs] if isinstance(packs, pd.DataFrame) else list(packs)
    if not given:
        raise InputError("no synthetic dataset was given; valid is at least one")
    several = [given] if not isinstance(given[0], (list, tuple, Sequence)) else given
    sizes = {len(pack) for pack in several}
    if len(sizes) > 1:
        raise InputError("packs hold different numbers of datasets: all must hold L")
    return [[as_pandas(frame) for frame in pack] for pack in several]


def _numbers(coding: Coding, world: World, pack: Sequence[pd.DataFrame]) -> np.ndarray:
    """The copies of a pack whose rows pair with the confidential ones, (V, n, L)."""
    return coding_numbers(coding, world.pair(pack).frames)


def coding_numbers(coding: Coding, frames: Sequence[pd.DataFrame]) -> np.ndarray:
    """The copies of datasets, (V, n, L)."""
    return np.stack([coding.numbers(frame) for frame in frames], axis=2)
