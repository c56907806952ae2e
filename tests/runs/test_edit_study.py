"""Changes of a study's tables."""

import pytest

from riskweighted.runs.edit_study import terms_of, without_columns


@pytest.mark.quick
@pytest.mark.parametrize(
    ("formula", "names", "left"),
    [
        ("y ~ a + C(b) + log(c)", ["b"], "y ~ a + log(c)"),
        ("y ~ (a + C(b))*C(d)", ["a"], "y ~ C(b) + C(d)"),
        ("y ~ a*b + a", ["b"], "y ~ a"),
        ("y ~ `my col` + C(`my col`) + spline(c)", ["my col"], "y ~ spline(c)"),
        ("y ~ a", ["a"], "y ~ 1"),
    ],
)
def test_a_column_goes_and_what_stands_beside_it_stays(formula, names, left):
    table = {
        "synthesizer": {"name": "x", "formula": formula},
        "release": {"columns": ["b", "e"], "derived": {"b": "why", "e": "why"}},
    }
    changed = without_columns(table, ["b", *names])
    assert without_columns(table, names)["synthesizer"]["formula"] == left
    assert changed["release"] == {"columns": ["e"], "derived": {"e": "why"}, "hidden": {}}
    assert without_columns(table, names, released=False)["release"]["columns"] == ["b", "e"]
    assert table["synthesizer"]["formula"] == formula


@pytest.mark.quick
def test_terms_are_parted_outside_brackets_and_quotes():
    assert terms_of("a + (b + c)*d + `e + f`") == ["a", "(b + c)*d", "`e + f`"]
