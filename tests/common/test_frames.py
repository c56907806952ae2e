"""A column may have any name: nothing passes a frame's names on as keywords."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.frames import with_columns

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
CODE = [
    path
    for folder in ("riskweighted", "models", "benchmarks", "experiments")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_columns_of_any_name_are_put_in_place_and_the_frame_stays():
    frame = pd.DataFrame({"self": [1.0, 2.0], 0: [3, 4], "kept": [5, 6]})
    made = with_columns(
        frame, {"self": [7.0, 8.0], 0: np.array([9, 10]), "class": ["a", "b"], "": 0}
    )
    pd.testing.assert_frame_equal(
        made,
        pd.DataFrame({"self": [7.0, 8.0], 0: [9, 10], "kept": [5, 6], "class": ["a", "b"], "": 0}),
    )
    pd.testing.assert_frame_equal(
        frame, pd.DataFrame({"self": [1.0, 2.0], 0: [3, 4], "kept": [5, 6]})
    )


def test_no_call_gives_names_of_columns_as_keywords():
    spread = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in CODE
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("assign", "agg", "aggregate")
        if any(keyword.arg is None for keyword in call.keywords)
    ]
    assert CODE
    assert not spread
