"""What `run` prints of a study in which everything is wrong: eight lines, each a whole sentence,
the rest counted.
"""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted

STUDY = """seed = 3
[data]
path = "data.csv"
[scenario]
known = ["sex", "age_band"]
synthetic = "income"
radius = 0.95
min_radius = 1.0
[synthesizer]
name = "linear-regression"
formula = "income ~ age + age_band + sex"
transform = "asinh"
[weights]
schemes = [{schemes}]
[sampling]
draws = 20
tune = 20
chains = 2
[release]
L = 2
columns = ["id", "sex", "age_band"]
[thresholds]
expected-mean-risk = 0.01
"""
NAMES = [f"mix(t={place / 100})" for place in range(1, 29)]


@pytest.fixture
def folder(tmp_path):
    """A file with an identifier, weights, a recode and a code; none of which the study knows, and
    too few draws.
    """
    rng, n = np.random.default_rng(1), 200
    age = rng.integers(20, 80, n)
    income = np.where(rng.random(n) < 0.25, -8, np.exp(rng.normal(9, 0.6, n)).round(-1))
    columns = {
        "id": np.arange(n) + 1000,
        "wgt": rng.uniform(0.5, 2, n).round(3),
        "age": age,
        "age_band": age // 20,
    }
    pd.DataFrame(columns | {"sex": rng.choice(["m", "f"], n), "income": income}).to_csv(
        tmp_path / "data.csv", index=False
    )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schemes", "others"), [(["unweighted"], 0), (["unweighted", "marginal", *NAMES], 26)]
)
def test_a_study_with_every_fault_at_once_takes_eight_lines(folder, schemes, others):
    (folder / "study.toml").write_text(
        STUDY.format(schemes=", ".join(f'"{scheme}"' for scheme in schemes))
    )
    checked = riskweighted("check", "study.toml", cwd=folder)
    for fault in ("likely code", "'id'", "'wgt'", "age_band from age"):
        assert fault in checked.stderr
    done = riskweighted("run", "study.toml", "--out", "out", cwd=folder)
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert len(lines) <= 8
    # the mean risk fails all of them; a fit that converges by chance may be refused besides
    assert sum(bool(re.search("  (fail|refuse)  ", line)) for line in lines) == min(len(schemes), 4)
    counted = [line for line in lines if re.match(r"\d+ more: ", line)]
    assert len(counted) == bool(others)
    assert sum(int(n) for line in counted for n in re.findall(r"(\d+) (?:fail|refuse)", line)) == (
        others
    )
    assert lines[0].startswith("A release is refused: ")  # the identifier leaves everybody alone
    assert any(line.startswith("Next: riskweighted advise") for line in lines)
    assert lines[-1].startswith("Results: out/")
