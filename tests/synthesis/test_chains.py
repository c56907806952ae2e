"""How a compiled density is sampled: its steps, and what happens where chains diverge."""

import pytest

from riskweighted.synthesis import chains
from riskweighted.synthesis.sampling import Sampling


@pytest.mark.parametrize(
    ("diverging", "given", "targets"),
    [
        ([0], None, [0.9]),
        ([4, 0], None, [0.9, 0.97]),
        ([4, 2, 1], None, [0.9, 0.97, 0.991]),
        ([4], 0.8, [0.9]),  # which a target of one's own replaces
    ],
)
def test_chains_that_diverged_are_run_again_with_shorter_steps(monkeypatch, diverging, given, targets):
    calls = []

    def run(model, sampling, seed, progress, target):
        calls.append((seed, target))
        return f"run {len(calls)}", diverging[len(calls) - 1]

    monkeypatch.setattr(chains, "run_chains", run)
    found, divergences = chains._run_part("model", 1.0, Sampling(target_accept=given), 7, None)
    assert [target for _, target in calls] == pytest.approx(targets)
    assert len({seed for seed, _ in calls}) == len(calls)
    assert (found, divergences) == (f"run {len(diverging)}", diverging[-1])
