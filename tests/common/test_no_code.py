"""Nothing that is read from a folder runs as code: neither pickles nor text, nor modules that lie
where somebody stands.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import riskweighted as rw
from riskweighted.sampling import isolation
from riskweighted.utility.own_analyses import load_analysis

ROOT = Path(rw.__file__).parents[1]
LOADERS = {
    "pickle",
    "_pickle",
    "cloudpickle",
    "marshal",
    "shelve",
    "dill",
    "joblib",
    "jsonpickle",
    "torch",
    "runpy",
    "imp",
    "code",
}
CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "read_pickle",
    "spec_from_file_location",
    "exec_module",
    "run_path",
}
BETWEEN_OUR_PROCESSES = {
    ("riskweighted/sampling/isolation.py", "pickle"),
    ("riskweighted/sampling/isolation.py", "cloudpickle"),
}


def code_in(text):
    """What of a module's text may run what it reads."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names):
                yield from {name.name.partition(".")[0] for name in names} & LOADERS
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in LOADERS:
                yield module
            case ast.Call(ast.Name(name)) if name in CALLS:
                yield name
            case ast.Call(ast.Attribute(ast.Name("re"), "compile")):
                pass
            case ast.Call(ast.Attribute(ast.Attribute(_, "lowered"), "compile")):
                pass  # of JAX, what it lowered itself
            case ast.Call(ast.Attribute(_, name)) if name in CALLS:
                yield name
            case ast.keyword("allow_pickle", value) if not (
                isinstance(value, ast.Constant) and value.value is False
            ):
                yield "allow_pickle"
            case ast.Call(ast.Attribute(ast.Name("yaml"), "load")):
                yield "yaml.load"


def test_the_library_loads_nothing_that_runs_but_between_its_own_processes():
    files = [
        path for folder in ("riskweighted", "models") for path in (ROOT / folder).rglob("*.py")
    ]
    assert len(files) > 300
    found = {
        (path.relative_to(ROOT).as_posix(), what)
        for path in files
        for what in code_in(path.read_text(encoding="utf-8"))
    }
    assert found == BETWEEN_OUR_PROCESSES


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from joblib import load",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "pd.read_pickle(path)",
        "eval(text)",
        "builtins.exec(text)",
        "yaml.load(text)",
        "compile(text, '', 'eval')",
    ],
)
def test_what_loads_code_is_seen(text):
    assert list(code_in(text))


MARKS = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"


def test_modules_that_lie_beside_the_data_are_not_imported(tmp_path, monkeypatch):
    """Neither by what draws of a blinded fit, nor by processes that a command starts; and numba
    looks for no functions there.
    """
    for name in ("pickle", "multiprocessing", "numpy", "asyncio", "riskweighted"):
        (tmp_path / f"{name}.py").write_text(MARKS)
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: ran\n")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-P", "-c", isolation._PROGRAM]
    monkeypatch.setattr(
        isolation.subprocess,
        "run",
        lambda given, **how: seen.append(given) or subprocess.CompletedProcess(given, 1),
    )
    seen = []
    with pytest.raises(rw.ContractError):
        isolation.shown_elsewhere(isolation.Task(None, {}, ()))
    assert seen == [command]
    monkeypatch.undo()
    code = (
        "import os, sys, multiprocessing; from riskweighted.commands import main as command_line\n"
        "def synthesizers():\n"
        "    import numba, subprocess\n"
        "    subprocess.run([sys.executable, '-c', 'import pickle, multiprocessing'], check=True)\n"
        "    print(repr(numba.config.CACHE_DIR))\n"
        "command_line.app.registered_commands[-1].callback = synthesizers\n"
        "sys.argv = ['riskweighted', 'synthesizers']\n"
        "before = dict(os.environ)\n"
        "try: command_line.main()\n"
        "except SystemExit: print(dict(os.environ) == before)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    # a program that calls `main` has its environment back
    assert done.stdout == "''\nTrue\n", done.stderr
    assert not (tmp_path / "ran").exists()


def environment():
    """That of this process, whatever whoever started it has said of these."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "PYTHONSAFEPATH")
    }


@pytest.mark.parametrize("name", ["subprocess:run", "os:system", "builtins:eval", "os.path:exists"])
def test_an_analysis_is_no_function_of_python_itself(name):
    """`subprocess.run` of a table runs what its columns are called."""
    with pytest.raises(rw.InputError, match="is of Python itself"):
        load_analysis(name)
