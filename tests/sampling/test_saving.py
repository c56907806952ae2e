"""The bytes of a saved posterior depend on its numbers alone."""

import numpy as np
import pytest
import xarray as xr

from riskweighted.sampling.saving import seal

pytestmark = pytest.mark.quick


def test_what_is_no_number_has_the_same_bits_however_it_arose():
    values = np.array([1.0, np.nan, -np.nan])
    other = np.array([1.0, -np.nan, np.frombuffer(np.uint64(0x7FF8000000000123).tobytes())[0]])
    assert values.tobytes() != other.tobytes()
    one, two = (
        seal(xr.Dataset({"r_hat": ("quantity", array), "converged": ("quantity", [1, 0, 1])}))
        for array in (values, other)
    )
    assert one == two
