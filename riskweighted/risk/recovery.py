"""Attribute disclosure by inverting the synthesizer: importance sampling over its posterior draws."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax

from riskweighted.common.errors import InputError, listing
from riskweighted.contract.distribution import fixed
from riskweighted.contract.drawing import spread_draws
from riskweighted.intruder.pairing import Frames
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world

if TYPE_CHECKING:
    from riskweighted.contract.synthesizer import Draw
    from riskweighted.sequence.fit import Fit

__all__ = ["recovery_probability"]

_STEPS = np.array([-0.5, -0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.4, 0.5])  # of abs(y), either side of the truth
_TRUSTED_ESS = 10.0


def recovery_probability(
    fit: "Fit",
    frames: Frames,
    scenario: Scenario,
    records: Sequence[Hashable],
    guesses: Sequence[float] | np.ndarray | None = None,
    *,
    prior: Callable[[np.ndarray], np.ndarray] | None = None,
    draws: int | None = None,
) -> pd.DataFrame:
    """Return whether an intruder who knows all but y_i can recover it (Reiter, Wang & Zhang 2014; Hu 2019).

    The intruder knows ``y_-i``, the predictors, the synthesizer and alpha, and weighs candidates y' by::

        p(y' | Z, y_-i) prop. to p(y') prod_l p(Z_l | y', y_-i)
        p(Z_l | y', y_-i) = sum_h w_h(y') p(Z_l | theta_h)
        w_h(y') prop. to [p(y' | x_i, theta_h) / p(y_i | x_i, theta_h)]^alpha_i,  sum_h w_h = 1

    over the draws theta_h of the pseudo posterior: importance sampling, without a refit per candidate. The L datasets
    come from L draws, hence the product. Alpha and the standard units stay those of the confidential data.

    Importance sampling can be useless. ``ess`` is the smallest effective number of draws, 1 / sum w_h^2, over the
    candidates; ``release_ess`` that of the terms w_h p(Z_l | theta_h), far smaller where there are many parameters. Do
    not believe a record that is not ``trusted`` (either is below 10): take more draws, or candidates nearer to the
    truth. The draws that made the release stand among the theta_h, so the terms that dominate then are theirs.

    Parameters
    ----------
    fit : Fit
        Of one numeric target, the only variable of ``scenario.synthetic``.
    frames : DataFrame or sequence of L DataFrames, paired with the confidential data by index
    scenario : Scenario
        Its ball says which candidates count as close.
    records : sequence of index labels
        The m records attacked, for example the riskiest. Costs H (L + C) likelihoods of n records and 8 H C m bytes.
    guesses : array (C - 1,), optional
        Candidates in the target's units, to which the truth is added. Default: y_i + s abs(y_i), s = -0.5, -0.4, ...,
        0.5, rounded for a whole-number column: an intruder who already knows y_i to within half.
    prior : callable, optional
        From candidates (C, m) to weights p(y') >= 0, normalised here. Default: uniform over the distinct candidates.
    draws : int, optional
        H, spread over the chains. Default: all.

    Returns
    -------
    DataFrame (m, 8). Confidential.
        ``probability`` and ``prior`` of the truth after and before the release; ``ball_probability`` and
        ``ball_prior`` of the candidates in its ball; ``rank`` of the truth (1: no candidate is more probable);
        ``ess``; ``release_ess``; ``trusted``.

    Raises
    ------
    InputError
        If frames do not pair, a record or setting is not valid, or the synthesizer has no likelihood.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit, scenario
    >>> frames = fit.synthesize(2, random_seed=2)
    >>> rw.recovery_probability(fit, frames, scenario, records=[0, 1]).columns.tolist()
    ['probability', 'prior', 'ball_probability', 'ball_prior', 'rank', 'ess', 'release_ess', 'trusted']
    """
    block = fit.block
    released = _released(fit, frames, scenario)
    places = _places(fit.confidential.index, records)
    truth = fit.confidential[fit.variables[0]].to_numpy(dtype=float)
    candidates = _candidates(fit.confidential[fit.variables[0]], truth[places], guesses)
    log_prior = _log_prior(candidates, prior)
    chains, length = fit.sizes["chain"], fit.sizes["draw"]
    thetas = [block.draw(*place) for place in spread_draws(chains, length, chains * length if draws is None else draws)]
    log_likelihood = _on_confidential_scale(fit, truth, thetas[0])

    release = np.array([[terms.sum() for terms in log_likelihood(values, thetas)] for values in released])  # (L, H)
    impossible = int(np.isneginf(release).all(axis=1).sum())
    if impossible:
        raise InputError(
            f"{impossible} of {len(release)} synthetic datasets have probability zero under every draw: they are not from this fit"
        )
    likelihood = np.empty((len(candidates), len(thetas), len(places)))
    for c, guess in enumerate(candidates):
        altered = truth.copy()
        altered[places] = guess
        likelihood[c] = [terms[places] for terms in log_likelihood(altered, thetas)]
    near = _near(candidates, scenario)
    alpha = fit.weights.to_numpy()[places]
    rows = [_recover(alpha[i], likelihood[:, :, i], release, log_prior[:, i], near[:, i]) for i in range(len(places))]
    return pd.DataFrame(rows, index=fit.confidential.index[places])


def _near(candidates: np.ndarray, scenario: Scenario) -> np.ndarray:
    """Which candidates (C, m), the truth first, lie in the ball of the truth: amounts near it, or the same special code; (C, m)."""
    (name,) = scenario.synthetic
    kinds = [scenario.statuses(pd.Series(row, name=name)) for row in candidates]
    lower, upper = scenario.balls(name, kinds[0].values)
    return np.array([(one.status == kinds[0].status) & (lower <= one.values) & (one.values <= upper) for one in kinds])


def _recover(alpha: float, likelihood: np.ndarray, release: np.ndarray, log_prior: np.ndarray, near: np.ndarray) -> dict[str, Any]:
    """One record: log p(y' | theta_h) (C, H), the truth first; log p(Z_l | theta_h) (L, H); log p(y') and ball (C,)."""
    log_weight = alpha * (likelihood - likelihood[0]) if alpha > 0 else np.zeros_like(likelihood)  # 0 * -inf is no number
    total = logsumexp(log_weight, axis=1, keepdims=True)
    log_weight = log_weight - np.where(np.isfinite(total), total, 0.0)  # -inf: a candidate that no draw allows
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


def _released(fit: "Fit", frames: Frames, scenario: Scenario) -> list[np.ndarray]:
    """The released target of each dataset, (n,), after the checks that rows pair and that the target can be in a ball."""
    target, confidential = fit.variables[0], fit.confidential
    if scenario.synthetic != (target,) or not scenario.is_numeric(confidential[target]):
        raise InputError(
            f"the fit synthesizes {target!r}, which must be numeric and the only synthetic variable; got {listing(scenario.synthetic)}"
        )
    return make_world(confidential, scenario).pair(frames).values(target)


def _places(index: pd.Index, records: Sequence[Hashable]) -> np.ndarray:
    """Positions of the records attacked, (m,)."""
    if isinstance(records, str) or not isinstance(records, Iterable):
        raise InputError(f"records must be a sequence of labels of the confidential index, got {type(records).__name__}")
    labels = pd.Index(list(records))
    unknown = int((~labels.isin(index)).sum())
    if len(labels) == 0 or unknown:
        raise InputError(f"records must be labels of the confidential index, at least one: {unknown} of {len(labels)} are not in it")
    return np.flatnonzero(index.isin(labels)) if not index.is_unique else index.get_indexer(labels)


def _candidates(column: pd.Series, truth: np.ndarray, guesses: Sequence[float] | np.ndarray | None) -> np.ndarray:
    """Candidate values, (C, m), the truth first."""
    if guesses is None:
        zero = int((truth == 0).sum())
        if zero:
            raise InputError(
                f"{column.name!r} is zero in {zero} of {len(truth)} records, where the default guesses all agree; give guesses"
            )
        others = truth + _STEPS[:, None] * np.abs(truth)
        others = np.rint(others) if pd.api.types.is_integer_dtype(column.dtype) else others
    else:
        given = np.asarray(guesses)
        if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise InputError(f"guesses must be finite numbers in one dimension, at least one; got shape {given.shape}, dtype {given.dtype}")
        others = np.repeat(given[:, None].astype(float), len(truth), axis=1)
    return np.vstack([truth, others])


def _log_prior(candidates: np.ndarray, prior: Callable[[np.ndarray], np.ndarray] | None) -> np.ndarray:
    """Log prior probability of each candidate (C, m); a candidate that repeats an earlier one gets none."""
    weight = np.ones(candidates.shape) if prior is None else np.array(prior(candidates), dtype=float)
    if weight.shape != candidates.shape or not (np.isfinite(weight) & (weight >= 0)).all():
        raise InputError(f"prior must return finite weights >= 0 of shape {candidates.shape}, got shape {weight.shape}")
    for c in range(1, len(candidates)):
        weight[c][(candidates[:c] == candidates[c]).any(axis=0)] = 0.0
    impossible = int((weight.sum(axis=0) == 0).sum())
    if impossible:
        raise InputError(f"prior gives no weight to any candidate of {impossible} of {weight.shape[1]} records")
    with np.errstate(divide="ignore"):
        log_weight: np.ndarray = np.log(weight / weight.sum(axis=0))
    return log_weight


def _on_confidential_scale(fit: "Fit", truth: np.ndarray, theta: "Draw") -> Callable[[np.ndarray, Sequence["Draw"]], Iterator[np.ndarray]]:
    """From other target values (n,) and draws to log p(value_i | theta) (n,) per draw, in units that those values do not move."""
    block, name = fit.block, type(fit.block.synthesizer).__name__
    if not fit.estimates:
        raise InputError(f"{name} has no likelihood, so there is nothing to invert")

    def log_likelihood(values: np.ndarray, thetas: Sequence["Draw"]) -> Iterator[np.ndarray]:
        y = fixed(values)
        return (np.asarray(block.distribution(theta).log_density(y)) for theta in thetas)

    altered = truth.copy()
    altered[0] = truth[np.argmax(np.abs(truth - truth[0]))]
    before, after = block.terms(theta), next(log_likelihood(altered, [theta]))
    if not np.allclose(before[1:], after[1:], rtol=1e-9, atol=1e-9):
        raise InputError(f"{name}: a record's log_density depends on the values of others")
    return log_likelihood
