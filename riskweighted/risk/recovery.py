"""Attribute disclosure by inverting the synthesizer: importance sampling over its posterior
draws.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax

from riskweighted.common.checks import check_given
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import with_columns
from riskweighted.contract.drawing import spread_draws
from riskweighted.intruder.pairing import Frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world

if TYPE_CHECKING:
    from riskweighted.sequence.drawing import Thetas
    from riskweighted.sequence.fit import Fit

__all__ = ["recovery_probability"]

ByVariable = dict[str, np.ndarray]  # (n,) each

# of abs(y), either side of the truth
_STEPS = np.array([-0.5, -0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.4, 0.5])
_TRUSTED_ESS = 10.0


def recovery_probability(
    fit: "Fit",
    frames: Frames,
    scenario: Scenario,
    records: Sequence[Hashable],
    guesses: Sequence[float] | np.ndarray | None = None,
    *,
    variable: str | None = None,
    prior: Callable[[np.ndarray], np.ndarray] | None = None,
    draws: int | None = None,
) -> pd.DataFrame:
    """Return whether an intruder who knows all but y_i can recover it (Reiter, Wang & Zhang 2014;
    Hu 2019).

    The intruder knows ``y_-i``, the predictors, the synthesizer and alpha, and weighs candidates y'
    by::

        p(y' | Z, y_-i) prop. to p(y') prod_l p(Z_l | y', y_-i)
        p(Z_l | y', y_-i) = sum_h w_h(y') p(Z_l | theta_h)
        w_h(y') prop. to [p(y' | x_i, theta_h) / p(y_i | x_i, theta_h)]^alpha_i,  sum_h w_h = 1

    over the draws theta_h of the pseudo posterior: importance sampling, without a refit per
    candidate. The L datasets come from L draws, hence the product. Alpha and the standard units
    stay those of the confidential data.

    Of several variables the intruder knows all but one of record i, those synthesized beside it
    included; p(Z_l | theta_h) is of all variables, and a candidate changes the likelihood of its
    variable and of the later ones, each to the power of its own alpha_i. Under a guarantee the
    intruder, like the fit, knows the clipped likelihood (METHODS section 9.3): log w_h(y') is
    g_i(y', theta_h) - g_i(y_i, theta_h), up to a constant. Datasets are drawn from the model
    itself, so p(Z_l | theta_h) is not clipped.

    Of a fit with centred weights (METHODS section 15) log w_h(y') is what record i adds with y'
    less what it adds with y_i, the term that centring takes off within: of later variables it
    follows their predictors, of models that tell kinds of value first the kind, else it is the same
    for all candidates. Alpha is held there too.

    Importance sampling can be useless. ``ess`` is the smallest effective number of draws, 1 / sum
    w_h^2, over the candidates; ``release_ess`` that of the terms w_h p(Z_l | theta_h), far smaller
    where there are many parameters. Do not believe a record that is not ``trusted`` (either is
    below 10): take more draws, or candidates nearer to the truth. The draws that made the release
    stand among the theta_h, so the terms that dominate then are theirs.

    Parameters
    ----------
    fit : Fit
        Of the variables of ``scenario.synthetic``.
    frames : DataFrame or sequence of L DataFrames, paired with the confidential data by index
    scenario : Scenario
        Its ball says which candidates count as close.
    records : sequence of index labels
        The m records attacked, for example the riskiest. Costs H (L + C) likelihoods of n records
        and 8 H C m bytes.
    guesses : array (C - 1,), optional
        Candidates in the target's units, to which the truth is added. Default: y_i + s abs(y_i), s
        = -0.5, -0.4, ..., 0.5, rounded for a whole-number column: an intruder who already knows y_i
        to within half.
    variable : str, optional
        The numeric variable attacked; default: the only one.
    prior : callable, optional
        From candidates (C, m) to weights p(y') >= 0, normalised here. Default: uniform over the
        distinct candidates.
    draws : int, optional
        H, spread over the chains. Default: all.

    Returns
    -------
    DataFrame (m, 8). Confidential.
        ``probability`` and ``prior`` of the truth after and before the release;
        ``ball_probability`` and ``ball_prior`` of the candidates in its ball; ``rank`` of the truth
        (1: no candidate is more probable); ``ess``; ``release_ess``; ``trusted``.

    Raises
    ------
    InputError
        If frames do not pair, a record or setting is not valid, or the synthesizer has no
        likelihood; if draws are cut to rules between variables, since the share of the model that
        these leave is not known.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit, scenario
    >>> frames = fit.synthesize(2, random_seed=2)
    >>> table = rw.recovery_probability(fit, frames, scenario, records=[0, 1])
    >>> print(*table.columns, sep=", ")
    probability, prior, ball_probability, ball_prior, rank, ess, release_ess, trusted
    """
    check_given(fit, "fit", "blocks", "Fit", "fit(...)")
    check_given(scenario, "scenario", "is_numeric", "Scenario", "Scenario(...)")
    name = _attacked(fit, scenario, variable)
    released = make_world(fit.confidential, scenario).pair(frames).frames
    places = _places(fit.confidential.index, records)
    column = fit.confidential[name]
    candidates = _candidates(column, column.to_numpy(dtype=float)[places], guesses)
    log_prior = _log_prior(candidates, prior)
    chains, length = fit.sizes["chain"], fit.sizes["draw"]
    thetas = [
        fit.thetas(*place)
        for place in spread_draws(chains, length, chains * length if draws is None else draws)
    ]
    _refuse_shared_scale(fit, name, thetas[0])

    release = np.array(
        [
            [sum(terms.sum() for terms in each.values()) for each in _terms(fit, frame, thetas)]
            for frame in released
        ]
    )
    impossible = int(np.isneginf(release).all(axis=1).sum())
    if impossible:
        raise InputError(
            f"{impossible} of {len(release)} synthetic datasets have probability zero under "
            "every draw: they are not from this fit"
        )
    terms = np.empty((len(fit.variables), len(candidates), len(thetas), len(places)))
    centred = any(block.centring is not None for block in fit.blocks.values())
    for c, guess in enumerate(candidates):
        altered = _altered(fit.confidential, name, places, guess)
        clip = _clip(fit, altered)
        for h, each in enumerate(
            map(fit.drawing.contributions(altered), thetas)
            if centred
            else _terms(fit, altered, thetas)
        ):
            terms[:, c, h] = [
                values[places] for values in (each if clip is None else clip(each)).values()
            ]
    weighed = centred or fit.statement is not None  # terms that hold their weights
    alpha = (
        np.ones((len(places), len(terms)))
        if weighed
        else np.asarray(fit.weights).reshape(len(column), -1)[places]
    )
    near = _near(candidates, scenario.only(name))
    rows = [
        _recover(_moved(alpha[i], terms[..., i]), release, log_prior[:, i], near[:, i])
        for i in range(len(places))
    ]
    return pd.DataFrame(rows, index=fit.confidential.index[places])


def _near(candidates: np.ndarray, scenario: Scenario) -> np.ndarray:
    """Which candidates (C, m), the truth first, lie in the ball of the truth: amounts near it, or
    the same special code; (C, m).
    """
    (name,) = scenario.synthetic
    kinds = [scenario.statuses(pd.Series(row, name=name)) for row in candidates]
    lower, upper = scenario.balls(name, kinds[0].values, kinds[0].is_amount)
    near = np.array(
        [
            (one.status == kinds[0].status) & (lower <= one.values) & (one.values <= upper)
            for one in kinds
        ]
    )
    near[0] = True  # the truth, in an open ball of no width too
    return near


def _clip(fit: "Fit", frame: pd.DataFrame) -> Callable[[ByVariable], ByVariable] | None:
    """Under a guarantee: from log p(value_i | theta) of every variable of a frame to what is
    clipped of it; None without one.

    Whatever voids a guarantee is refused when it is fitted, so that each variable is one block,
    which all records reach.
    """
    if fit.statement is None:
        return None
    clips = {}
    for name, block in fit.value_fits().items():
        if block is not None and block.censoring is not None:
            clipped = block.censoring.at(block.synthesizer, block.prepared, frame)
            clips[name] = partial(clipped.contributions, block.weights.to_numpy())
    return lambda terms: {name: clips[name](values) for name, values in terms.items()}


def _moved(alpha: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """What candidates add to the log posterior of a record beside the truth, (C, H), of weights
    (V,) and log p(y' | theta_h) (V, C, H).

    Of terms that are clipped, and so hold their weight, the weights are 1.
    """
    # 0 * -inf is no number
    moved = [
        weight * (each - each[0]) for weight, each in zip(alpha, terms, strict=True) if weight > 0
    ]
    return np.asarray(sum(moved, np.zeros(terms.shape[1:])))


def _recover(
    log_weight: np.ndarray, release: np.ndarray, log_prior: np.ndarray, near: np.ndarray
) -> dict[str, Any]:
    """One record: log weights of the draws by candidate (C, H), the truth first; log p(Z_l |
    theta_h) (L, H); log p(y') and ball (C,).
    """
    total = logsumexp(log_weight, axis=1, keepdims=True)
    # -inf: a candidate that no draw allows
    log_weight = log_weight - np.where(np.isfinite(total), total, 0.0)
    terms = log_weight[:, None, :] + release  # (C, L, H)
    posterior = softmax(log_prior + logsumexp(terms, axis=2).sum(axis=1))
    possible = (log_prior > -np.inf) & np.isfinite(total[:, 0])
    ess, release_ess = _effective(log_weight[possible]).min(), _effective(terms[possible]).min()
    return {
        "probability": posterior[0],
        "prior": np.exp(log_prior[0]),
        "ball_probability": posterior[near].sum(),
        "ball_prior": np.exp(log_prior[near]).sum(),
        "rank": 1 + int((posterior > posterior[0]).sum()),
        "ess": ess,
        "release_ess": release_ess,
        "trusted": bool(min(ess, release_ess) >= _TRUSTED_ESS),
    }


def _effective(log_terms: np.ndarray) -> np.ndarray:
    """Effective number of terms, (sum t)^2 / sum t^2, over the last axis."""
    size: np.ndarray = np.exp(2 * logsumexp(log_terms, axis=-1) - logsumexp(2 * log_terms, axis=-1))
    return size


def _attacked(fit: "Fit", scenario: Scenario, variable: str | None) -> str:
    """The variable attacked, once it is seen that the fit and the scenario are of the same ones,
    and that their density is known.
    """
    names, confidential = fit.variables, fit.confidential
    chosen = names[0] if variable is None and len(names) == 1 else variable
    if chosen not in names:
        raise InputError(
            f"variable must name the variable that is attacked, one of {listing(names)}; got "
            f"{variable!r}"
        )
    if sorted(scenario.synthetic) != sorted(names) or not scenario.is_numeric(confidential[chosen]):
        raise InputError(
            f"the fit synthesizes {listing(names)}, which must be the synthetic variables of the "
            f"scenario, and {chosen!r} numeric; "
            f"got {listing(scenario.synthetic)}"
        )
    if not fit.estimates:
        raise InputError(
            f"{type(fit.synthesizer).__name__} has no likelihood, so there is nothing to invert"
        )
    if len(fit.prepared.rules.rules) > len(fit.prepared.rules.structures) or any(
        aside.any() for aside in fit.prepared.aside.values()
    ):
        raise InputError(
            "draws are cut to rules between variables, or records that break one are left out: "
            "the density of a dataset is then not known; "
            "valid are structural rules ('when' and 'otherwise') that the data obey"
        )
    return chosen


def _terms(
    fit: "Fit", frame: pd.DataFrame, thetas: Sequence["Thetas"]
) -> Iterator[dict[str, np.ndarray]]:
    """log p(value_i | theta) of every variable of a frame, (n,) by variable, draw by draw."""
    return map(
        fit.drawing.log_densities(
            with_columns(fit.confidential, {name: frame[name] for name in fit.variables})
        ),
        thetas,
    )


def _altered(
    confidential: pd.DataFrame, name: str, places: np.ndarray, values: np.ndarray
) -> pd.DataFrame:
    """The confidential data with other values (m,) of a variable in some records."""
    column = confidential[name].to_numpy(dtype=float, na_value=np.nan).copy()
    column[places] = values
    return with_columns(confidential, {name: column})


def _places(index: pd.Index, records: Sequence[Hashable]) -> np.ndarray:
    """Positions of the records attacked, (m,)."""
    if isinstance(records, str) or not isinstance(records, Iterable):
        raise InputError(
            "records must be a sequence of labels of the confidential index, got "
            f"{type(records).__name__}"
        )
    labels = pd.Index(list(records))
    unknown = int((~labels.isin(index)).sum())
    if len(labels) == 0 or unknown:
        raise InputError(
            f"records must be labels of the confidential index, at least one: {unknown} of "
            f"{len(labels)} are not in it"
        )
    return np.flatnonzero(index.isin(labels)) if not index.is_unique else index.get_indexer(labels)


def _candidates(
    column: pd.Series, truth: np.ndarray, guesses: Sequence[float] | np.ndarray | None
) -> np.ndarray:
    """Candidate values, (C, m), the truth first."""
    if guesses is None:
        zero = int((truth == 0).sum())
        if zero:
            raise InputError(
                f"{column.name!r} is zero in {zero} of {len(truth)} records, where the default "
                "guesses all agree; give guesses"
            )
        others = truth + _STEPS[:, None] * np.abs(truth)
        others = np.rint(others) if pd.api.types.is_integer_dtype(column.dtype) else others
    else:
        given = np.asarray(guesses)
        if (
            given.ndim != 1
            or len(given) == 0
            or given.dtype.kind not in "iuf"
            or not np.isfinite(given).all()
        ):
            raise InputError(
                "guesses must be finite numbers in one dimension, at least one; got shape "
                f"{given.shape}, dtype {given.dtype}"
            )
        others = np.repeat(given[:, None].astype(float), len(truth), axis=1)
    return np.vstack([truth, others])


def _log_prior(
    candidates: np.ndarray, prior: Callable[[np.ndarray], np.ndarray] | None
) -> np.ndarray:
    """Log prior probability of each candidate (C, m); a candidate that repeats an earlier one gets
    none.
    """
    weight = (
        np.ones(candidates.shape) if prior is None else np.array(prior(candidates), dtype=float)
    )
    if weight.shape != candidates.shape or not (np.isfinite(weight) & (weight >= 0)).all():
        raise InputError(
            f"prior must return finite weights >= 0 of shape {candidates.shape}, got shape "
            f"{weight.shape}"
        )
    for c in range(1, len(candidates)):
        weight[c][(candidates[:c] == candidates[c]).any(axis=0)] = 0.0
    impossible = int((weight.sum(axis=0) == 0).sum())
    if impossible:
        raise InputError(
            f"prior gives no weight to any candidate of {impossible} of {weight.shape[1]} records"
        )
    with np.errstate(divide="ignore"):
        log_weight: np.ndarray = np.log(weight / weight.sum(axis=0))
    return log_weight


def _refuse_shared_scale(fit: "Fit", name: str, theta: "Thetas") -> None:
    """Refuse a synthesizer whose density of a record moves with the values of others, as where it
    finds its units anew.
    """
    truth = fit.confidential[name].to_numpy(dtype=float, na_value=np.nan)
    other = truth[np.nanargmax(np.abs(truth - truth[np.isfinite(truth)][0]))]
    frames = (fit.confidential, _altered(fit.confidential, name, np.array([0]), np.array([other])))
    before, after = (next(_terms(fit, frame, [theta])) for frame in frames)
    if not all(
        np.allclose(before[each][1:], after[each][1:], rtol=1e-9, atol=1e-9)
        for each in fit.variables
    ):
        model = next(
            type(block.model.synthesizer).__name__
            for block in fit.prepared.blocks
            if block.variable == name
        )
        raise InputError(f"{model}: a record's log_density depends on the values of others")
