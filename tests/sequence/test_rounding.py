"""Which draws a released number stands for, and how stored numbers are read."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from riskweighted.design.precision import round_within
from riskweighted.sequence.rounding import Rounding


@pytest.mark.parametrize("precision", [1.0, 5.0, 0.1, None])
def test_cells_are_what_rounding_takes_to_a_number(precision):
    rounding = Rounding(
        SimpleNamespace(categories=None, synthesizer=SimpleNamespace(support=(-3.0, 12.4))),
        precision,
    )
    values = np.random.default_rng(1).uniform(-3.0, 12.4, 4_000)
    released = round_within(values, precision, (-3.0, 12.4))
    ends = rounding.ends(released, released)
    assert not ends.empty.any()
    for other in (values, np.roll(values, 1)):
        apart = np.abs(other[:, None] - np.column_stack([ends.lower, ends.upper])).min(
            axis=1
        ) > 1e-3 * (precision or 1e-5)
        inside = (ends.lower <= other) & (other <= ends.upper)
        np.testing.assert_array_equal(
            (round_within(other, precision, (-3.0, 12.4)) == released)[apart], inside[apart]
        )
    assert rounding.ends(np.array([13.0, -3.5]), np.array([13.0, -3.4])).empty.all()


def test_a_number_is_read_as_it_was_before_it_was_stored():
    rounding = Rounding(SimpleNamespace(categories=None, synthesizer=None), 0.01)
    held = pd.Series([27.28, 1234.56, 0.0, np.nan], dtype=np.float32)
    for column in (held, held.astype(float)):
        np.testing.assert_array_equal(rounding.read(column), [27.28, 1234.56, 0.0, np.nan])
    np.testing.assert_array_equal(rounding.read(pd.Series([27.285])), [27.285])  # on no grid
