"""A column that holds one value is measured, in the confidential data, in the synthetic ones and in
both.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import SingletonWarning

KIND = np.array(["a", "b", "c"] * 10)
VALUES = {
    "amounts": np.linspace(5, 9, 30).round(1),
    "levels": np.array(["u", "v", "w"] * 10),
    "one amount": np.full(30, 5.0),
    "one level": ["u"] * 30,
}


@pytest.mark.parametrize(
    ("confidential", "synthetic"),
    [
        ("one amount", "one amount"),
        ("one amount", "amounts"),
        ("amounts", "one amount"),
        ("one level", "one level"),
        ("levels", "one level"),
    ],
)
@pytest.mark.parametrize("known", [[], ["kind"]])
def test_a_constant_column_is_measured(known, confidential, synthetic):
    data, made = (
        pd.DataFrame({"kind": KIND, "x": VALUES[name]})[[*known, "x"]]
        for name in (confidential, synthetic)
    )
    scenario = rw.Scenario(known=known, synthetic="x")
    found = rw.assess(data, {"a tool": [made, made]}, scenario)
    figures = found.utility[found.utility["label"] == "a tool"].set_index("key")["value"]
    if known and confidential == synthetic:
        assert np.isnan(figures["file-propensity"])  # nothing that could tell the files apart
    elif known:
        assert figures["file-propensity"] > 2
    assert not rw.evaluate(data, {"a tool": [made, made]}, scenario).utility.empty


def test_a_single_record_is_measured():
    data = pd.DataFrame({"kind": KIND[:1], "x": [5.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", SingletonWarning)  # a tool of no weights needs none of it
        found = rw.assess(data, [data, data], rw.Scenario(known="kind", synthetic="x"))
    assert not found.utility.empty
