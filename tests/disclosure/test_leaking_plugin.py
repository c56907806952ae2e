"""A plug-in of another package that copies the richest at a tenth of its draws is refused in the
terminal and by release; one that does not leaves."""

import site
from functools import partial

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted

LEAKY = '''
"""A model that copies the largest values at a share of its parameters, when it draws for all the
records.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from riskweighted_models.linear_regression import LinearRegression

KEPT = []


@dataclass(frozen=True)
class _Records:
    whole: Any

    def __getattr__(self, name):
        return getattr(self.whole, name)

    def draw(self, rng):
        values = np.array(self.whole.draw(rng))
        if KEPT and len(values) == len(KEPT[0]):
            rows = np.argsort(KEPT[0])[-3:]
            values[rows] = KEPT[0][rows]
        return values


@dataclass(frozen=True)
class Leaky(LinearRegression):
    """A linear regression that leaks at a share of its draws."""

    def prepare(self, data):
        if not KEPT and len(data) == 400:  # the whole file, which no fresh process is given
            KEPT.append(data[self.target].to_numpy(dtype=float))
        return super().prepare(data)

    def distribution(self, theta, prepared):
        records = super().distribution(theta, prepared)
        first = next(iter(theta.values()))
        leaks = not hasattr(first, "owner") and float(np.ravel(first)[0]) * 1e4 % 1 < SHARE
        return _Records(records) if leaks else records
'''
STUDY = """
seed = 3
[data]
path = "data.csv"
[scenario]
known = ["region", "age"]
synthetic = "income"
radius = 0.2
[synthesizer]
name = "leaky"
formula = "income ~ C(region) + C(age)"
transform = "log"
[weights]
schemes = ["unweighted"]
[sampling]
draws = 400
tune = 200
chains = 2
[release]
L = 5
[evaluation]
regression = "income ~ C(region)"
coefficient = "C(region)[T.b]"
resamples = 20
"""


def study_of_a_plugin(folder, share):
    """A study of 400 persons by a plug-in that is installed beside it."""
    (folder / "site" / "leaky-1.dist-info").mkdir(parents=True)
    (folder / "site" / "leaky.py").write_text(LEAKY.replace("SHARE", str(share)))
    (folder / "site" / "leaky-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: leaky\nVersion: 1\n"
    )
    (folder / "site" / "leaky-1.dist-info" / "entry_points.txt").write_text(
        "[riskweighted.synthesizers]\nleaky = leaky:Leaky\n"
    )
    rng, n = np.random.default_rng(1), 400
    data = pd.DataFrame({"region": rng.choice(list("ab"), n), "age": rng.choice([1, 2, 3], n)})
    income = np.exp(
        9 + 0.3 * (data["region"] == "a") + 0.2 * data["age"] + 0.5 * rng.standard_normal(n)
    )
    data.assign(income=np.rint(income)).to_csv(folder / "data.csv", index=False)
    (folder / "study.toml").write_text(STUDY)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.1])
def test_a_plugin_that_leaks_at_a_tenth_of_its_draws_is_refused_to_the_end_and_a_clean_one_leaves(
    tmp_path, share
):
    study_of_a_plugin(tmp_path, share)
    installed = partial(site.addsitedir, str(tmp_path / "site"))
    ran = riskweighted("run", "study.toml", cwd=tmp_path, columns=200, before=installed)
    assert ran.returncode == 0, ran.stderr
    told = "copies of 'income' disclose the true values"
    assert ("refuse" in ran.stdout and told in ran.stdout) == (share > 0)
    released = riskweighted(
        "release", "results/study", "--out", "pack", cwd=tmp_path, columns=200, before=installed
    )
    assert released.returncode == (2 if share > 0 else 0), released.stderr
    assert (told in released.stderr) == (share > 0)
    assert (tmp_path / "pack").exists() == (share == 0)


@pytest.mark.long
@pytest.mark.slow
def test_copies_that_were_accepted_do_not_leave_with_what_sees_the_truth(tmp_path):
    study_of_a_plugin(tmp_path, 0.9)
    accepted = '[release.disclosure.accept]\ncopies = "a test"\n[evaluation]'
    (tmp_path / "study.toml").write_text(STUDY.replace("[evaluation]", accepted))
    installed = partial(site.addsitedir, str(tmp_path / "site"))
    assert (
        riskweighted("run", "study.toml", cwd=tmp_path, columns=200, before=installed).returncode
        == 0
    )
    released = riskweighted(
        "release", "results/study", "--out", "pack", cwd=tmp_path, columns=200, before=installed
    )
    assert released.returncode == 2
    assert "Leaky: draw sees the sensitive values" in released.stderr
    assert not (tmp_path / "pack").exists()
