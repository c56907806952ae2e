"""The tool that keeps numbers: it notices one that changed, in either kind, one that went, and one
that came.
"""

import numpy as np
import pytest
from frozen import ASSESSED, DRAWN, GIVEN, computed, differences, main


@pytest.fixture(scope="module")
def assessed():
    """The numbers of the one study that needs no fit, of each kind some."""
    given = computed(ASSESSED)[GIVEN]
    return {GIVEN: given, DRAWN: {"mean": 2.0, "undefined": np.nan}, "spread": {"mean": 0.1}}


def test_the_same_numbers_do_not_differ(assessed):
    assert len(assessed[GIVEN]) > 300
    assert differences({GIVEN: computed(ASSESSED)[GIVEN], DRAWN: assessed[DRAWN]}, assessed) == []


@pytest.mark.parametrize("factor", [1 + 1e-10, 1 - 1e-10, np.nan])
def test_every_number_given_data_that_changes_is_named(assessed, factor):
    for key in [key for key, value in assessed[GIVEN].items() if value == value and value != 0][
        ::40
    ]:
        changed = {**assessed, GIVEN: {**assessed[GIVEN], key: assessed[GIVEN][key] * factor}}
        for loose in (False, True):
            (line,) = differences(changed, assessed, loose=loose)
            assert key in line


def test_what_is_of_a_posterior_may_differ_as_seeds_do_and_no_more(assessed):
    near, far = ({**assessed, DRAWN: {**assessed[DRAWN], "mean": value}} for value in (2.4, 2.7))
    assert differences(near, assessed, loose=True) == []
    assert len(differences(near, assessed)) == len(differences(far, assessed, loose=True)) == 1


def test_names_that_go_come_or_change(assessed):
    key = next(
        name
        for name in assessed[GIVEN]
        if "|label=noise|key=dcap-zero|" in name and name.endswith("/value")
    )
    fewer = {name: value for name, value in assessed[GIVEN].items() if name != key}
    new = {**assessed, GIVEN: {**fewer, key.replace("dcap-zero", "dcap"): assessed[GIVEN][key]}}
    assert [line.rsplit(" ", 1)[1] for line in differences(new, assessed)] == ["gone", "new"]
    assert differences(new, assessed, names=True) == []
    others = {name for name in assessed[GIVEN] if "|key=dcap-zero|" in name} - {key}
    assert len(differences(new, assessed, renamed={"dcap-zero": "dcap"})) == 2 * len(others)


def test_the_command_ends_with_1_where_something_differs(assessed, tmp_path, capsys):
    numbers = {**assessed, GIVEN: {"a": 1.0}}
    options = ["--only", "mixture"]
    assert main(["--out", str(tmp_path), *options], lambda name, seeds: numbers) == 0
    assert main(["--against", str(tmp_path), *options], lambda name, seeds: numbers) == 0
    assert (
        main(
            ["--against", str(tmp_path), *options],
            lambda name, seeds: {**numbers, GIVEN: {"a": 1.1}},
        )
        == 1
    )
    assert "1.0 was, 1.1 is" in capsys.readouterr().out
