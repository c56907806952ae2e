"""A fit needs no C or C++ compiler."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import shutil
import numpy as np
import pandas as pd
import riskweighted

tools = ("cc", "gcc", "g++", "c++", "clang", "clang++", "ld")
assert [name for name in tools if shutil.which(name)] == []
# numba compiles it for the sampler; the other model comes with kernels
from small_graph import PoissonGraph

rng = np.random.default_rng(1)
data = pd.DataFrame({"y": rng.normal(50, 9, 60), "jobs": rng.poisson(9, 60)})
settings = {"random_seed": 1, "draws": 400, "tune": 300, "chains": 2}
models = PoissonGraph("jobs ~ 1"), riskweighted.load_synthesizer("linear-regression")("y ~ 1")
fits = [riskweighted.fit(model, data, np.full(60, 0.5), **settings) for model in models]

import pytensor

print(repr(pytensor.config.cxx), pytensor.config.base_compiledir, sep="\\n")
for fit in fits:
    print(fit.converged, len(fit.synthesize(3, random_seed=1)))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The program, run where no compiler can be found and nothing was compiled before."""
    folder = tmp_path_factory.mktemp("no compiler")
    programs, compiled = folder / "bin", folder / "compiled"
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)  # the only program within reach
    hidden = {"CC", "CXX", "CPP", "LD", "PYTHONWARNINGS"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # of small_graph
    environment |= {
        "PATH": str(programs),
        "PYTENSOR_FLAGS": f"base_compiledir={compiled}",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
    }
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )
    return result, compiled


@pytest.mark.long
@pytest.mark.slow
def test_a_fit_needs_no_compiler(run):
    result, compiled = run
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().splitlines() == ["''", str(compiled), "True 3", "True 3"]
    assert list(compiled.rglob("*.cpp")) == []


@pytest.mark.long
@pytest.mark.slow
def test_nobody_is_told_that_a_compiler_is_missing(run):
    result, _ = run
    assert "g++" not in result.stderr
    assert result.stderr == ""
