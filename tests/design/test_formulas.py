"""A formula runs no code: only columns, numbers, a few functions and operators get through."""

import re

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.design.design import build_design
from riskweighted.design.formulas import ALLOWED, split_formula

pytestmark = pytest.mark.versions

FRAME = pd.DataFrame(
    {"inc": [1.0, 2.0, 5.0, 4.0, 7.0], "age": [30.0, 41.0, 25.0, 60.0, 33.0], "sex": list("abbab")}
)
ESCAPES = [
    "{age + age.__class__.__init__.__globals__['sys'].modules['os'].system('touch escaped')}",
    "{inc.to_csv('escaped') or age}",
    "{open('escaped', 'w')}",
    "{__import__('os').system('touch escaped')}",
    "{age}",
    "`age` + {age}",
    "age.to_csv('escaped')",
    "age.values",
    "log(age.to_csv('escaped'))",
    "log(age).__class__",
    "C(age.__class__)",
    "C(sex, contr.treatment(base='b'))",
    "C(sex, Treatment('b'))",
    "C(sex, spans_intercept=False)",
    "I(age)",
    "I(open('escaped', 'w'))",
    "Q('age')",
    "eval('age')",
    "exec('import os')",
    "__import__('os')",
    "open('escaped', 'w')",
    "getattr(age, 'to_csv')('escaped')",
    "log(open('escaped', 'w'))",
    "log(__builtins__)(age)",
    "log(age)(age)",
    "(log)(exp)(age)",
    "log(*[age])",
    "log(**{'x': age})",
    "log(age, out=age)",
    "log(age, age)",
    "exp(age, where=inc)",
    "log(lambda: age)",
    "log((lambda: age)())",
    "log([age for age in [1]])",
    "log([age][0])",
    "age[0]",
    "log(age[inc.idxmax()])",
    "log({'a': age})",
    "log(f'{age}')",
    "log('age')",
    '"age"',
    "'age'",
    "log(b'age')",
    "log(age if age else 1)",
    "log(age > 1)",
    "log(age == inc)",
    "log(age and 1)",
    "log(not age)",
    "log(age := 1)",
    "log(await age)",
    "log(age @ age)",
    "age @ age",
    "log(age // 2)",
    "log(age % 2)",
    "log(age << 2)",
    "log(age | 1)",
    "age | sex",
    "age ^ sex",
    "age %in% sex",
    "age; import os",
    "age # comment",
    "age\\\n",
    "age\n) + open('escaped', 'w') + (age",
    "log(age) if 1 else {age}",
    "bs(age, df=open('escaped', 'w'))",
    "bs(age, knots=age.values)",
    "bs(age, knots=[inc])",
    "bs(age, extrapolation='na')",
    "bs(age, df='center')",
    "cs(age, constraints='center; import os')",
    "cs(age, constraints=[age])",
    "log(age:sex)",
    "bs(age, df=10**10)",
    "bs(age, df=1000000000)",
    "bs(age, 1000000000)",
    "bs(age, **{'df': 4})",
    "bs(age, *[4])",
    "bs(knots=[1])",
    "poly(age, degree=1e9)",
    "poly(age, 3, inc)",
    "poly(age, state=age)",
    "cs(age, formula=age)",
    "scale(age)",
    "center(age)",
    "hashed(age)",
    "lag(age)",
    "np.log(age)",
    "pd.eval('age')",
    "sys.exit()",
    "breakpoint()",
    "log(1j)",
    "log(age ** inc)",
    "age ** -1",
    "age ** 11",
    "log(9 ** 9 ** 9)",
    "log((9 ** 9) ** 9)",
    "(age + sex) ** 99999999",
    "age ** ...",
    "1e999",
    "True",
    "None",
    ".",
    "age + .",
    "age::sex",
    "age:",
    "()",
    "age,",
    "age, sex",
    "[age]",
    "(" * 3000 + "age" + ")" * 3000,
    "age" + " + age" * 2000,
    " * ".join(f"x{place}" for place in range(40)),
    "age\x00",
    "age = 1",
    "log(x=age)",
    "log()",
]


@pytest.mark.parametrize(
    "right", ESCAPES, ids=lambda right: right[:50].encode("unicode_escape").decode()
)
def test_what_is_not_on_the_list_is_refused(right, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        build_design(f"inc ~ {right}", FRAME)
    message = str(caught.value)
    assert ALLOWED in message
    assert "\n" not in message
    assert len(message) < 600
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "left", ["inc.values", "{inc}", "log(inc)", "inc[0]", "`inc` + age", "", "inc, age"]
)
def test_the_left_side_is_one_column(left):
    with pytest.raises(InputError, match="formula"):
        split_formula(f"{left} ~ age")


@pytest.mark.parametrize(
    ("right", "names"),
    [
        ("1", ()),
        ("age", ("age",)),
        ("age + C(sex)", ("age", "sex")),
        ("age*sex + log(age)", ("age", "sex")),
        ("age:sex / (a + b)**2 - c", ("age", "sex", "a", "b", "c")),
        ("log1p(age / 1000 + 2.5) + sqrt(age**2) + exp(-age)", ("age",)),
        ("bs(age, df=4) + cs(x, knots=[1, -2.5]) + poly(z, 2, raw=True)", ("age", "x", "z")),
        ("bs(age, 4) + bs(x, knots=[1], degree=2, include_intercept=False)", ("age", "x")),
        ("`my col` + C(`{age}`):`age.__class__`", ("my col", "{age}", "age.__class__")),
        ("class + C(`from`) + log + log(in) + sqrt(`log`)", ("class", "from", "log", "in")),
        ("größe + 年齢", ("größe", "年齢")),
        ("age\n  + sex", ("age", "sex")),
    ],
)
def test_what_is_on_the_list_is_read(right, names):
    assert split_formula(f"inc ~ {right}") == ("inc", right, names)


def test_columns_of_any_name_become_predictors():
    frame = FRAME.set_axis(["inc", "age.__class__", "class"], axis=1)
    assert build_design("inc ~ `age.__class__` + class", frame).centred.shape == (5, 2)


WORKING = [
    "log(age) * C(sex)",
    "sqrt(age) + exp(age / 100) + log1p(age)",
    "bs(age, 4)",
    "bs(age, df=4)",
    "bs(age, df=4, extrapolation='extend')",
    "bs(age, df=4, extrapolation='clip')",
    "bs(age, df=4, extrapolation='zero')",
    "bs(age, df=5, degree=2, include_intercept=True)",
    "bs(age, knots=[30, 40])",
    "bs(age, df=4, lower_bound=0, upper_bound=100)",
    "cs(age, df=4)",
    "cs(age, df=4, cyclic=True)",
    "cs(age, df=4, extrapolation='clip')",
    "cs(age, df=3, constraints='center')",
    "poly(age, 2)",
    "poly(age, degree=2, raw=True)",
    "spline(age)",
    "(age + sex) ** 2",
    "log(age ** 2) + sqrt(age * age)",
]


@pytest.mark.parametrize("right", WORKING)
def test_every_function_of_the_list_works_beyond_the_confidential_values_too(right):
    frame = pd.concat(
        [FRAME.assign(age=FRAME["age"] + shift) for shift in (0, 2, 5)], ignore_index=True
    )
    design = build_design(f"inc ~ {right}", frame)
    assert design.centred.shape[1] >= 2
    beyond = frame.assign(age=[10.0, 80.0, *frame["age"][2:]])
    assert np.isfinite(design.at(beyond).whitened).all()
    np.testing.assert_allclose(design.at(beyond).whitened[2:], design.whitened[2:], atol=1e-9)


def test_every_function_that_is_listed_is_tried():
    assert set(re.findall(r"(\w+)\(\)", ALLOWED)) <= set(re.findall(r"(\w+)\(", " ".join(WORKING)))


@pytest.mark.parametrize(
    "right",
    ["age + age**2", "`age` ** 3", "log(age) ** 2", "age * age", "sex + age:age", "age / age"],
)
def test_a_term_crossed_with_itself_is_refused_with_what_to_write(right):
    with pytest.raises(InputError, match=r"write poly\(x, 2, raw=True\)"):
        build_design(f"inc ~ {right}", FRAME)
