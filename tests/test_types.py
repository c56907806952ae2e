"""What a type checker knows of the public names, that the whole project passes it, and that imports
go down only.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None,
    reason="mypy is not installed (pip install 'riskweighted[test]')",
)
needs_contracts = pytest.mark.skipif(
    importlib.util.find_spec("importlinter") is None,
    reason="import-linter is not installed (pip install 'riskweighted[test]')",
)

USE = """
import pandas as pd
import riskweighted as rw

def documented(synth: rw.Synthesizer, frame: pd.DataFrame, alpha: pd.Series) -> None:
    rw.Scenario(known=["region", "age_band"], synthetic="income", radius=0.2)
    rw.Scenario(
        known="a", synthetic=["y"], radius={"y": 0.1}, radius_kind={"y": "absolute"}, categorical=()
    )
    scenario = rw.Scenario(known=["region", "age_band"], synthetic="income")
    made = rw.load_synthesizer("normal-mixture")("income ~ C(region)", components=3)
    weights = {"unweighted": None, "pairwise": rw.pairwise_weights(frame, scenario)}
    fits = {name: rw.fit(made, frame, weight, random_seed=1) for name, weight in weights.items()}
    synthetic = {name: fit.synthesize(20, random_seed=1) for name, fit in fits.items()}
    result = rw.evaluate(frame, synthetic, scenario, baseline="unweighted", random_seed=1)
    print(result.summary())
    rw.plot_risk_violins(result.records)
    print(rw.assess(frame, [frame, frame], scenario).measures)
    run = rw.run_study(rw.load_study("study.toml"), "results")
    print(run.summary)
    rw.fit(synth, frame, alpha, random_seed=1)
    rw.identification_risk(frame, [frame], scenario)
    rw.identification_risk(frame, None, scenario)
    rw.identification_risk(frame, scenario=scenario)
    rw.identification_risk(frame, scenario=scenario, synthetic=frame)
    rw.matching_risk(frame, frame, scenario)
    rw.reidentify(frame, frame, frame, linking={"age": "numeric", "sex": "categorical"})

reveal_type(rw.fit)
"""

FRAMES = """\
import polars as pl

import riskweighted as rw
from riskweighted_models import TwoPart

frame = pl.DataFrame({"a": [1.0]})
scenario = rw.Scenario(known="a", synthetic="b")
model = TwoPart("b ~ a", support=(0, 1))
rw.identification_risk(frame, [frame, frame], scenario)
rw.evaluate(frame, {"x": [frame]}, scenario)
rw.fit(model, frame, rw.marginal_weights(frame, scenario))
TwoPart("b ~ a", suport=(0, 1))
"""

WRONG = {
    'rw.Scenario(synthetic="y", nonsense=3)': 'Unexpected keyword argument "nonsense"',
    "rw.Scenario(nonsense=3)": 'Unexpected keyword argument "nonsense"',
    'rw.Scenario(known="a")': 'Missing named argument "synthetic"',
    'rw.Scenario(synthetic="y", radius="wide")': 'incompatible type "str"',
    'rw.Scenario(synthetic="y", boundary="half-open")': "Literal['closed', 'open']",
    "rw.fit(1, 2)": 'expected "Synthesizer | Chain"',
    "rw.no_such_name": "has no attribute",
    "rw.identification_risk(frame, scenario)": "No overload variant",
    "rw.identification_risk(frame, frame)": "No overload variant",
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """What mypy --strict says of the package and of the snippets: lines on the project, on the use,
    by wrong call, and on frames.
    """
    folder = tmp_path_factory.mktemp("types")
    head = (
        "import pandas as pd\nimport riskweighted as rw\n\n\ndef wrong(frame: pd.DataFrame, "
        "scenario: rw.Scenario) -> None:\n"
    )
    (folder / "use.py").write_text(USE)
    (folder / "editor.py").write_text(FRAMES)
    (folder / "wrong.py").write_text(head + "".join(f"    {call}\n" for call in WRONG))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(folder / "cache"),
    ]
    command += [
        "--python-version",
        "{}.{}".format(*sys.version_info),
        "--hide-error-context",
        "--no-error-summary",
    ]
    targets = [ROOT / "riskweighted", ROOT / "models" / "riskweighted_models"]
    targets += [folder / f"{name}.py" for name in ("use", "editor", "wrong")]
    found = subprocess.run(
        [*command, *targets], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert not found.stderr, found.stderr
    lines = found.stdout.splitlines()
    use, frames = ([line for line in lines if f"{name}.py:" in line] for name in ("use", "editor"))
    wrong = {
        call: [line for line in lines if f"wrong.py:{place}:" in line]
        for place, call in enumerate(WRONG, start=head.count("\n") + 1)
    }
    return (
        [
            line
            for line in lines
            if not any(name in line for name in ("use.py:", "editor.py:", "wrong.py:"))
        ],
        use,
        wrong,
        frames,
    )


@needs_mypy
@pytest.mark.long
@pytest.mark.slow
def test_the_project_passes_mypy_strict(checked):
    assert not checked[0], "\n".join(checked[0])


@needs_mypy
@pytest.mark.long
@pytest.mark.slow
def test_documented_calls_are_typed_and_accepted(checked):
    revealed = [line for line in checked[1] if "Revealed type" in line]
    assert len(revealed) == 1
    assert re.search(
        r"def \(synthesizer: .*Synthesizer \| .*Chain, .*random_seed: .*\) -> .*Fit", revealed[0]
    ), revealed
    assert checked[1] == revealed, "\n".join(checked[1])


@needs_mypy
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_is_an_error(checked, call):
    errors = " ".join(checked[2][call])
    assert "error:" in errors
    assert WRONG[call] in errors


@needs_mypy
@pytest.mark.long
@pytest.mark.slow
def test_an_editor_takes_frames_of_every_library_and_checks_settings(checked):
    (error,) = (line for line in checked[3] if ": error:" in line)
    assert 'editor.py:12: error: Unexpected keyword argument "suport" for "TwoPart"' in error


@needs_contracts
def test_imports_go_down_only_and_the_framework_names_no_model():
    command = [
        sys.executable,
        "-c",
        "import sys; from importlinter.cli import lint_imports; "
        "sys.exit(lint_imports(no_cache=True))",
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "2 kept, 0 broken" in found.stdout
