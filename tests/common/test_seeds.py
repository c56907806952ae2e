"""Seeds of a run: by purpose, and secret unless the study is reproducible."""

import pytest

from riskweighted.common.seeds import Streams, seed_for

pytestmark = pytest.mark.quick


def test_every_purpose_and_label_has_a_seed_of_its_own():
    seeds = {
        seed_for(seed, purpose, label)
        for seed in (1, 2)
        for purpose in ("fit", "synthesize")
        for label in ("a", "b")
    }
    assert len(seeds) == 8
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_reproducible_streams_are_those_of_the_seed():
    assert Streams(3).seed_for("fit", "marginal") == seed_for(3, "fit", "marginal")


def test_secret_streams_differ_by_entropy_seed_and_what_the_run_is_about():
    streams = [
        Streams.of(3, b"e" * 16, b"study"),
        Streams.of(3, b"f" * 16, b"study"),
        Streams.of(4, b"e" * 16, b"study"),
    ]
    streams.append(Streams.of(3, b"e" * 16, b"another study"))
    seeds = {one.seed_for("synthesize", label) for one in streams for label in ("a", "b")}
    assert len(seeds) == 8
    assert max(seed.bit_length() for seed in seeds) > 100
    assert Streams.of(3, b"e" * 16, b"study").seed_for("synthesize", "a") in seeds


def test_a_repr_shows_nothing():
    assert repr(Streams.of(3, b"e" * 16, b"study")) == "Streams()"
