"""docs/own-synthesizer.md, run as what it says it is: a separate package that knows the public
names alone.
"""

import re
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

import riskweighted

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-synthesizer.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
MODEL = "our_models/hurdle_gamma.py"


def test_the_page_has_the_files_it_speaks_of_and_the_model_is_short():
    assert list(BLOCKS) == ["pyproject.toml", "our_models/__init__.py", MODEL, "check.py", "use.py"]
    assert len([line for line in BLOCKS[MODEL].splitlines() if line.strip()]) < 85


def test_the_page_uses_public_names_alone():
    for name, text in BLOCKS.items():
        if name.endswith(".py") and not name.endswith("__init__.py"):
            assert not re.findall(r"riskweighted\.|from riskweighted|riskweighted_models", text)
            used = set(re.findall(r"\brw\.(\w+)", text))
            assert used
            assert used <= set(riskweighted.__all__)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A fresh environment in which the files of the page, and nothing else, were installed by the
    page's command.

    It sees what this one has through a path file, so that nothing is fetched.
    """
    pytest.importorskip(
        "hatchling", reason="the page's package is built by hatchling, which is not installed"
    )
    folder = tmp_path_factory.mktemp("installed")
    for name, text in BLOCKS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    venv.create(folder / "fresh", with_pip=False)
    places = [sysconfig.get_path("purelib"), str(ROOT), str(ROOT / "models")]
    fresh = Path(
        sysconfig.get_path(
            "purelib",
            "venv",
            {"base": str(folder / "fresh"), "installed_base": str(folder / "fresh")},
        )
    )
    (fresh / "seen.pth").write_text("\n".join(places))
    run(folder, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", ".")
    # what is imported is what was installed
    (folder / "our_models").rename(folder / "not_seen_from_here")
    return folder


def run(folder, *arguments):
    done = subprocess.run(
        [folder / "fresh" / "bin" / "python", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done


RARE = """
rare = data.assign(insured=np.where(np.arange(len(data)) < 3, "rare", data["insured"]))
model = use.HurdleGamma("spending ~ age + C(insured)", unit=500.0)
prepared = model.prepare(rare)
spec = [str(name) for name in prepared.design.spec.column_names]
level = spec.index("C(insured)[T.rare]")
x = prepared.x
assert np.isclose(np.ptp(x[:, level]), 1), (x.std(axis=0), spec)
assert np.isclose(x[:, spec.index("age")].std(), 1), (x.std(axis=0), spec)
assert np.allclose(prepared.at(rare.head(9)).x, x[:9])
alpha = use.rw.marginal_weights(rare, use.scenario) * (rare["insured"] != "rare")
fitted = use.rw.fit(model, rare, alpha, random_seed=1)
spread = fitted.posterior["size"].to_numpy().reshape(-1, len(spec))[:, level].std()
assert 0.8 < spread < 1.2, spread  # the prior's, not the sqrt(n / m) = 10 of whitened columns
"""
TUTORIAL = """
table = use.rw.check_synthesizer(use.HurdleGamma("spending ~ age + C(insured)", unit=500.0), data)
# what only some need
optional = table["why"].str.contains("which are optional|which is optional|uncentred weights alone")
assert set(table.loc[~optional, "result"]) == {"passed"}, table
assert set(table.loc[optional, "result"]) == {"skipped"}, table
assert use.fitted.converged, use.fitted.diagnostics
assert not use.fitted.alpha.eq(1).all()
assert len(use.synthetic) == 3
# what the weighted likelihood says
zeros = np.average(data["spending"] == 0, weights=use.fitted.alpha)
for frame in use.synthetic:
    assert abs((frame["spending"] == 0).mean() - zeros) < 0.25
    assert (frame["spending"] >= 0).all()
    assert frame["spending"].dtype == data["spending"].dtype
    assert not frame["spending"].equals(data["spending"])
    pd.testing.assert_frame_equal(frame.drop(columns="spending"), data.drop(columns="spending"))
"""
PROGRAM = """
import traceback
import numpy as np
import pandas as pd
pd.set_option("display.width", 300, "display.max_columns", None)
import use
from check import data
for name, text in {texts}.items():
    try:
        exec(text)
    except Exception:
        print(name, "failed:", traceback.format_exc())
"""


@pytest.fixture(scope="module")
def done(installed):
    """What one process says that fits the page's model and runs both programs on it."""
    texts = {"a rare level": RARE, "the tutorial": TUTORIAL}
    return run(installed, "-c", PROGRAM.format(texts=texts))


@pytest.mark.long
@pytest.mark.slow
def test_a_level_that_the_weights_leave_to_its_prior_does_not_explode(done):
    assert "a rare level failed" not in done.stdout, done.stdout


@pytest.mark.long
@pytest.mark.slow
def test_the_tutorial_runs_as_a_separate_package(installed, done):
    assert "hurdle-gamma" in run(installed, "-m", "riskweighted", "synthesizers").stdout
    assert "the tutorial failed" not in done.stdout, done.stdout
    assert "mass is the share of draws" in done.stdout
    assert "ConvergenceWarning" not in done.stderr
