"""Seeds: one of its own for every study seed, purpose and scheme."""

import itertools

from riskweighted.common.seeds import seed_for


def test_seed_purpose_and_label_each_give_another_seed():
    seeds, purposes, labels = (0, 1, 2**40), ("fit", "synthesize", "evaluate"), ("", "unweighted", "marginal", "3-way")
    found = {seed_for(*place) for place in itertools.product(seeds, purposes, labels)}
    assert len(found) == len(seeds) * len(purposes) * len(labels)
    assert all(0 <= seed < 2**64 for seed in found)
    assert seed_for(7, "fit", "marginal") == seed_for(7, "fit", "marginal")
