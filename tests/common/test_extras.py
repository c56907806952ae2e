"""A minimal installation does its work, and says in one line which extra brings what it lacks."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from finished_run import finished_run

from riskweighted.common.extras import EXTRAS, missing_extra

pytestmark = pytest.mark.versions

ROOT = Path(__file__).parents[2]
BLOCKED = {package for packages in EXTRAS.values() for package in packages}
# ArviZ below 1, so PyMC 5, needs it itself
OF_ARVIZ = {"matplotlib"} if int(version("arviz").partition(".")[0]) < 1 else set()

BLOCK = """
import sys
class NotThere:
    def find_spec(self, name, *_):
        if name in ("jax", "jaxlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
def block(packages):
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]
    for name in packages - {"jax", "jaxlib"}:
        sys.modules[name] = None  # an import of it raises ModuleNotFoundError
    sys.meta_path.insert(0, NotThere())  # SciPy asks whether what it is given is of a loaded JAX
"""

WORK = (
    f"""
block({BLOCKED - OF_ARVIZ})
"""
    + """
import json
import numpy as np, pandas as pd, riskweighted as rw
from pathlib import Path
rng = np.random.default_rng(1)
data = pd.DataFrame({"g": rng.choice(["a", "b"], 200), "y": np.exp(rng.normal(3, 1, 200))})
data.to_csv("data.csv", index=False)
Path("study.toml").write_text('''
seed = 1
[data]
path = "data.csv"
[scenario]
known = "g"
synthetic = "y"
radius = 0.2
[synthesizer]
name = "linear-regression"
formula = "y ~ g"
transform = "log"
[weights]
schemes = ["unweighted", "marginal"]
[release]
L = 5
[evaluation]
resamples = 100
''')
run = rw.run_study(rw.load_study("study.toml"), "out")
block({"matplotlib"})

from riskweighted.data.embedded import load_embedded
from riskweighted.data.io import read_table

def read(name):
    Path(name).write_bytes(b"x")
    return read_table(name)

frame = read_table("data.csv")
refused = {}
for what, action in {
    "figure": lambda: rw.plot_weights,
    "report": lambda: rw.render_report,
    "release": lambda: rw.release_run,
    "demo": lambda: load_embedded("401ksubs"),
    "sav": lambda: read("x.sav"),
    "rds": lambda: read("x.rds"),
    "scheduler": lambda: rw.sweep(
        rw.Sweep(rw.load_study("study.toml"), {"release.L": [2, 3]}), "swept",
        scheduler="tcp://localhost:1",
    ),
    "learned": lambda: rw.fit(
        rw.load_synthesizer("sequential")(["y"], ["g"], learned=["g"]), frame
    ),
    "linkage": lambda: rw.linkage_pairs(frame, frame, {"y": "numeric", "g": "categorical"}),
}.items():
    try:
        action()
    except rw.InputError as error:
        refused[what] = str(error)
print(json.dumps({"records": len(frame), "schemes": list(run.summary.index), "refused": refused}))
"""
)


def test_the_table_of_extras_is_that_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra, packages in EXTRAS.items():
        names = {
            re.match(r"[\w-]+", requirement)[0]
            for requirement in declared["optional-dependencies"][extra]
        }
        assert names <= {*packages, "scikit-learn"}
        assert not names & {
            re.match(r"[\w-]+", requirement)[0] for requirement in declared["dependencies"]
        }
        # which is large, and without which everything works
        assert (extra in declared["optional-dependencies"]["all"][0]) == (extra != "jax")


def test_no_extra_brings_what_is_named_otherwise():
    assert (
        missing_extra(ModuleNotFoundError("no", name="matplotlib.axes"), "x")
        .args[0]
        .endswith('pip install "riskweighted[report]"')
    )
    assert missing_extra(ModuleNotFoundError("no", name="numpy"), "x") is None
    assert missing_extra(ModuleNotFoundError("no"), "x") is None


def test_a_minimal_installation_runs_a_study_and_refuses_the_rest_in_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + WORK],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["records"] == 200
    assert {"unweighted", "marginal"} <= set(told["schemes"])
    extras = {
        "figure": "report",
        "report": "report",
        "release": "report",
        "demo": "demo",
        "sav": "formats",
        "rds": "formats",
        "scheduler": "cluster",
        "linkage": "linkage",
        "learned": "learned",
    }
    assert told["refused"].keys() == extras.keys()
    for what, message in told["refused"].items():
        assert "\n" not in message
        assert message.endswith(
            f', which is not installed: pip install "riskweighted[{extras[what]}]"'
        ), message


LONG = [pytest.mark.long, pytest.mark.slow]
COMMAND = BLOCK + "block({packages}); from riskweighted.commands.main import main; main()"


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("report", "{run}", "--out", "report.html"), "report"),
        pytest.param(("release", "{run}", "--out", "pack"), "report", marks=LONG),
        pytest.param(("demo", "--out", "demo"), "demo", marks=LONG),
        pytest.param(
            (
                "tune",
                "study.toml",
                "--target",
                "isolated-risk",
                "--target-max",
                ".1",
                "--out",
                "tuned",
            ),
            "report",
            marks=LONG,
        ),
        pytest.param(
            ("assess", "a.csv", "b.csv", "--known", "g", "--synthetic", "y", "--out", "assessed"),
            "report",
            marks=LONG,
        ),
        (("sweep", "sweep.toml", "--out", "swept", "--scheduler", "tcp://localhost:1"), "cluster"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_command_refuses_before_it_begins(arguments, extra, tmp_path):
    study = '[data]\npath = "a.csv"\n[scenario]\nknown = "g"\nsynthetic = "y"\n'
    study += '[synthesizer]\nname = "linear-regression"\nformula = "y ~ g"\n'
    (tmp_path / "study.toml").write_text(study)
    (tmp_path / "sweep.toml").write_text('study = "study.toml"\n[grid]\n"release.L" = [2, 3]\n')
    (tmp_path / "a.csv").write_text(
        "g,y\n" + "".join(f"{'ab'[i % 2]},{i + 1}\n" for i in range(40))
    )
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text())
    before = set(tmp_path.iterdir())
    given = [argument.format(run=finished_run()) for argument in arguments]
    command = COMMAND.replace(
        "{packages}", str(BLOCKED if extra == "report" else BLOCKED - OF_ARVIZ)
    )
    done = subprocess.run(
        [sys.executable, "-c", command, *given],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].endswith(
        f', which is not installed: pip install "riskweighted[{extra}]"'
    )
    assert "Traceback" not in done.stderr
    assert set(tmp_path.iterdir()) == before
