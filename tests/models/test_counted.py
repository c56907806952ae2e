"""Rows that stand for several records: what a synthesizer finds, and its posterior, are those of
the file.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from counted import COUNTED, counted_file
from posteriors import log_posterior_of
from riskweighted_models.hierarchical import Hierarchical
from riskweighted_models.thinning import thinned
from riskweighted_models.two_part import TwoPart
from riskweighted_models.two_part_records import Split, filled

from riskweighted.common.errors import FewRecordsWarning, InputError
from riskweighted.contract.layout import layout_of
from riskweighted.contract.synthesizer import takes_counts

FILE = counted_file()
ALPHA = np.random.default_rng(8).random(len(FILE.rows))
OF_RECORDS = (
    "counts",
    "distinct",
    "spec",
    "z",
    "code",
    "bins",
    "heap",
    "which",
    "cell",
    "whitened",
    "status",
    "member",
    "synthesizer",
)


def parts_of(value):
    """What a value is made of, by name: the fields of a named tuple or a dataclass, the items of a
    mapping.
    """
    if isinstance(value, dict):
        return value
    if hasattr(value, "_fields"):
        return value._asdict()
    return (
        {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if dataclasses.is_dataclass(value)
        else None
    )


def recipe(value, path=""):
    """All that was found in the file, by where it stands."""
    parts = parts_of(value)
    if parts is None:
        return {path: value}
    return {
        place: held
        for name, part in parts.items()
        if name not in OF_RECORDS
        for place, held in recipe(part, f"{path}.{name}").items()
    }


def prepared_both(synthesizer):
    return synthesizer.prepare(FILE.rows, counts=FILE.counts), synthesizer.prepare(FILE.records)


def test_which_synthesizers_take_counts():
    assert all(takes_counts(synthesizer) for synthesizer in COUNTED.values())
    assert not takes_counts(Hierarchical("rent ~ size", groups=("group",)))


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.FewRecordsWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_what_is_found_is_that_of_the_file(name):
    counted, repeated = map(recipe, prepared_both(COUNTED[name]))
    assert counted.keys() == repeated.keys()
    assert len(counted) >= 3
    for place, value in counted.items():
        if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f":
            near = 1e-10 * np.abs(repeated[place]).max(initial=0.0)
            np.testing.assert_allclose(value, repeated[place], rtol=1e-10, atol=near, err_msg=place)
        else:
            assert np.array_equal(value, repeated[place]), place


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.FewRecordsWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_the_posterior_is_that_of_the_file(name):
    synthesizer = COUNTED[name]
    counted, repeated = map(synthesizer.build, prepared_both(synthesizer))
    weights, alpha = ALPHA * FILE.counts, ALPHA[FILE.row]
    one, other = counted.of_vector(weights), repeated.of_vector(alpha)
    layout, rng = layout_of(counted), np.random.default_rng(4)
    vectors = rng.normal(0, 0.3, (4, layout.size))
    for vector in vectors:
        (height, slope), (stated, stated_slope) = one(vector), other(vector)
        np.testing.assert_allclose(height, stated, rtol=1e-9)
        np.testing.assert_allclose(
            slope, stated_slope, rtol=1e-8, atol=1e-9 * np.abs(stated_slope).max()
        )
    theta = {name: values[0] for name, values in layout.parameters(vectors[:1]).items()}
    stated = {
        name: values[0] for name, values in layout_of(repeated).parameters(vectors[:1]).items()
    }
    for parameter, value in theta.items():
        np.testing.assert_allclose(value, stated[parameter], rtol=1e-9, err_msg=parameter)
    np.testing.assert_allclose(
        log_posterior_of(counted)(theta, weights),
        log_posterior_of(repeated)(theta, alpha),
        rtol=1e-9,
    )
    assert counted.monitored == repeated.monitored


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.FewRecordsWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_counts_of_one_change_nothing(name):
    synthesizer, ones = COUNTED[name], np.ones(len(FILE.rows), dtype=int)
    of_rows, of_ones = synthesizer.prepare(FILE.rows), synthesizer.prepare(FILE.rows, counts=ones)
    one, other = (synthesizer.build(prepared).of_vector(ALPHA) for prepared in (of_rows, of_ones))
    vector = np.full(layout_of(synthesizer.build(of_rows)).size, 0.1)
    np.testing.assert_allclose(one(vector)[0], other(vector)[0], rtol=1e-11)


def test_rows_that_are_no_members_are_split_as_the_file_would_fill_them():
    rng = np.random.default_rng(1)
    for trial in range(50):
        m = int(rng.integers(2, 30))
        values, counts = rng.integers(1, 6, m).astype(float), rng.integers(1, 9, m)
        member = np.append(True, rng.random(m - 1) < rng.random())
        row = np.repeat(np.arange(m), counts)
        split = Split.of(values, member, counts)
        np.testing.assert_array_equal(
            np.repeat(split.values, split.counts),
            filled(values[row], member[row]),
            err_msg=str(trial),
        )
        np.testing.assert_array_equal(np.repeat(split.row, split.counts), row)
        assert len(split.row) <= 2 * m


def test_few_records_are_told_by_their_number():
    rows, counts = FILE.rows.assign(gain=FILE.rows["rent"]), np.ones(len(FILE.rows), dtype=int)
    rows.loc[[0, 1], "gain"] = [0.0, -50.0]
    with pytest.warns(FewRecordsWarning, match="zero, negative"):
        TwoPart("gain ~ size").prepare(rows, counts=counts)
    counts[:2] = 40
    prepared = TwoPart("gain ~ size").prepare(rows, counts=counts)
    assert prepared.statuses == ("zero", "negative", "positive")
    assert prepared.sloped == (0, 1)


def test_a_value_model_without_counts_is_refused():
    grouped = TwoPart(
        "gain ~ size",
        value="hierarchical",
        value_settings={"groups": ("group",), "transform": "log"},
    )
    with pytest.raises(InputError, match="takes no counted rows"):
        grouped.prepare(FILE.rows, counts=FILE.counts)


@pytest.mark.parametrize("call", ["bs(age, df=4)", "cs(age, df=4)", "poly(age, 2)"])
def test_splines_that_look_at_all_records_are_refused(call):
    synthesizer = dataclasses.replace(COUNTED["linear-regression"], formula=f"rent ~ {call}")
    with pytest.raises(
        InputError, match=rf"{call[:2]}\w*\(\) depends on how many records have a value"
    ):
        synthesizer.prepare(FILE.rows, counts=FILE.counts)
    if call[0] != "c":  # whose columns add up to the constant
        assert synthesizer.prepare(
            FILE.rows, counts=np.ones(len(FILE.rows), dtype=int)
        ).design.size == len(FILE.rows)


def test_bounds_that_were_found_are_held_to_the_file_and_not_to_a_part_of_it():
    synthesizer = COUNTED["transformation found"]
    rows = pd.concat([FILE.rows] * 3, ignore_index=True)
    rows.loc[:60, "rent"] = 20.0
    with pytest.raises(InputError, match=r"excludes 6100 of 120000"):
        synthesizer.prepare(rows, counts=np.full(len(rows), 100))
    counts = np.where(rows["rent"] == 20, 1, 100)
    prepared = synthesizer.prepare(rows, counts=counts)
    assert np.array_equal(prepared.at(rows[:61]).bins, prepared.bins[:61])


def test_what_has_most_weight_stands_in_a_thinned_file():
    rng = np.random.default_rng(2)
    weight = rng.random(60_000)
    weight[[5, 40_000]] = 10_000.0, 3_000.0
    kept = thinned(weight, counted=True)
    assert (kept > 0).sum() <= 20_000
    assert kept.sum() == pytest.approx(weight.sum())
    np.testing.assert_allclose(kept[[5, 40_000]], weight[[5, 40_000]], rtol=0.001)
