"""Every fenced block of README.md and of every page of the site, run on files prepared here.

Programs run, page by page in one namespace; studies, sweeps and fragments of them are loaded and
checked; commands run in this process, and their options are read even where they are not run. What
is not run stands in `NOT_RUN`, with the reason that the page gives.
"""

import contextlib
import io
import re
import shlex
import shutil
import sys
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from doc_blocks import Block, agree, blocks

import riskweighted as rw
from experiments.ce.population import simulate_ce
from riskweighted.commands.main import app, main
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.runs.study import make_study

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    *(
        "README.md",
        "models/README.md",
        "SECURITY.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "experiments/README.md",
        "experiments/ce/README.md",
    ),
    *(
        "benchmarks/README.md",
        "benchmarks/peers_results/peers.md",
        "benchmarks/together_results/together.md",
    ),
)
PAGES = [
    *sorted(
        path.relative_to(ROOT).as_posix()
        for place in ("docs/*.md", "docs/methods/*.md", "experiments/*/RESULTS.md")
        for path in ROOT.glob(place)
    ),
    *OUTSIDE,
]
# The named files of these pages are run by tests of their own.
ELSEWHERE = {
    "docs/several-variables.md": "tests/runs/test_several_page.py",
    "docs/own-synthesizer.md": "tests/conformance/test_own_synthesizer.py",
    "docs/own-measure.md": "tests/evaluation/test_added_measures.py",
}
COMMANDS = typer.main.get_command(app)
ADDED = {  # to these commands
    "demo": ["--dry-run"],
    "sweep": ["--workers", "1"],
    "release": ["--accept-fail", "a plain regression, for a test"],
}
# of studies of `path = ...`, whose few records need no more
SAMPLING = {"draws": 100, "tune": 100, "chains": 2}
LOOKED_AT = ("make", "pip", "python")  # commands that are not run: what they name must exist
STUDY = """  # of pages that speak of a study and show none
seed = 1
data = { path = "households.csv" }
scenario = { known = ["region", "age_band"], synthetic = "income" }
weights = { schemes = ["unweighted", "marginal", "pairwise", "mix+(t=0.5)"] }
thresholds = { policy = "example" }
[synthesizer]
name = "linear-regression"
formula = "income ~ C(region) + C(age_band) + C(earner)"
transform = "log"
[release]
L = 5
columns = ["earner"]
disclosure.accept = { isolated = "so few never show it", mean = "so few never show it" }
[evaluation]
regression = "income ~ C(earner)"
coefficient = "C(earner)[T.not earner]"
resamples = 50
"""


def households():
    """A file as the pages speak of it: 600 records of the CE-like population."""
    data = simulate_ce(700, random_seed=1).query("income > 0").head(600)
    # it predicts income, and does not give it away
    spent = np.random.default_rng(1).lognormal(0, 0.4, len(data))
    return data.assign(expenditure=(0.6 * data["income"] * spent + 5_000).round())


def write_attack(folder: Path) -> None:
    """A public-use file, an intruder's file about the same persons and the truth, with scores: what
    the page on re-identification names.
    """
    rng = np.random.default_rng(1)
    n = 60
    persons = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["m", "f"], n),
            "income": rng.integers(10, 90, n) * 1000,
        }
    )
    keys = pd.DataFrame({"household": np.arange(n) // 2, "person": np.arange(n) % 2 + 1})
    states = pd.DataFrame({"state": np.where(np.arange(n) % 3, "NY", "VT")})
    pd.concat([keys, states, persons], axis=1).to_csv(folder / "puf.csv", index=False)
    seen = persons.assign(age=persons["age"] + rng.integers(0, 3, n), eifid=np.arange(n))
    pd.concat([states, seen], axis=1).to_csv(folder / "eif.csv", index=False)
    keys.assign(eifid=np.arange(n)).to_csv(folder / "iuf.csv", index=False)
    (folder / "age_scores.csv").write_text("up_to,score\n1,5\n5,4\n,1\n")
    (folder / "income_scores.csv").write_text("up_to,score\n1000,5\n,0\n")
    (folder / "sex_scores.csv").write_text("puf,eif,score\nm,f,0\n")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The files that pages speak of: confidential data, what tools made of them, a study and its
    finished run.
    """
    folder = tmp_path_factory.mktemp("pages")
    data = households()
    data.iloc[:500].to_csv(folder / "households.csv", index=False)
    data.iloc[500:].to_csv(folder / "rest.csv", index=False)
    shutil.copy(
        ROOT / "riskweighted" / "evaluation" / "example_policy.toml", folder / "our-policy.toml"
    )
    (folder / "study.toml").write_text(STUDY)
    write_attack(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)
        rw.run_study(rw.load_study(folder / "study.toml"), folder / "results")
    for name, made in zip(
        "abcd", sorted((folder / "results" / "synthetic").rglob("*.csv")), strict=False
    ):
        shutil.copy(made, folder / f"{name}.csv")
    return folder


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_the_page_runs(page, prepared, tmp_path, monkeypatch):
    assert (ROOT / ELSEWHERE.get(page, page)).exists()
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__", "__study__": tomllib.loads(STUDY)}
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.reason or block.language.startswith("{"):  # {...}: for the build of the site
            continue
        if page in ELSEWHERE and block.name:
            remember(block, namespace)
            continue
        place = f"{page}:{block.line}"
        assert block.language in RUNNERS, (
            f"{place}: a block without a language that is run here, and without a reason"
        )
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as printed:
            warnings.simplefilter("ignore", RiskWeightedWarning)
            RUNNERS[block.language](block, place, namespace)
        assert block.output is None or agree(block.output, printed.getvalue(), block.near), (
            f"{place} prints\n{printed.getvalue()}"
        )


def test_what_is_not_run_is_listed_here():
    found = Counter()
    for page in PAGES:
        for block in blocks((ROOT / page).read_text(encoding="utf-8")):
            if block.reason:
                found[page, block.reason] += 1
                for words in commands(block) if block.language == "sh" else ():
                    options(words)
            elif block.language == "sh":
                found.update((page, words[0]) for words in commands(block) if words[0] in LOOKED_AT)
    assert found == NOT_RUN


# Blocks left out, by the reason that the page gives, and commands of which only what they name is
# looked up.
NOT_RUN = Counter(
    {
        ("ARCHITECTURE.md", "a drawing"): 2,
        ("README.md", "make"): 2,
        ("README.md", "pip"): 1,
        (
            "README.md",
            "takes a minute of all 9,275 households; the tutorial runs these commands",
        ): 1,
        ("docs/choosing.md", "of a package"): 1,
        ("docs/replication.md", "python"): 4,
        ("docs/reidentification.md", "needs Spark"): 1,
        (
            "docs/several-variables.md",
            "all 9,275 records take 20 s; tests/runs/test_several_page.py compares it on some",
        ): 1,
        ("docs/study.md", "a part of a study"): 1,
        ("docs/study.md", "of a run that fails"): 1,
        ("docs/worked-example.md", "the run takes minutes"): 4,
        ("docs/own-synthesizer.md", "a test runs it by itself"): 1,
        ("docs/units.md", "the file is yours"): 4,
        ("docs/parts.md", "needs data in parts"): 1,
        ("docs/parts.md", "what is installed stays as it is"): 1,
        ("docs/sweeps.md", "needs a Dask cluster"): 1,
        ("docs/tutorial.md", "installs the package"): 1,
        ("docs/tutorial.md", "make"): 2,
        ("experiments/ce/RESULTS.md", "python"): 5,
    }
)


def run_python(block: Block, place: str, namespace: dict) -> None:
    exec(compile(block.text, place, "exec"), namespace)


def run_toml(block: Block, place: str, namespace: dict) -> None:
    """Load a study, a sweep or a re-identification study; a fragment stands in the place of the
    sections of the page's last study.
    """
    table = tomllib.loads(block.text)
    if "grid" in table:
        sweep = Path(block.name or "sweep.toml")
        sweep.write_text(re.sub(r"^repetitions = \d+", "repetitions = 1", block.text, flags=re.M))
        rw.load_sweep(sweep)
    elif "metrics" in table:
        file = Path(block.name or "attack.toml")
        file.write_text(block.text)
        rw.load_reidentification_study(file)
    elif "scenario" in table and "synthesizer" in table:
        file = Path(block.name or "study.toml")
        file.write_text(shortened(block.text, table))
        remember(block, namespace)
        command(["run", str(file), "--out", "nowhere", "--dry-run"])
    else:
        make_study(merged(namespace["__study__"], table), Path.cwd())


def remember(block: Block, namespace: dict) -> None:
    """Keep a whole study, for the fragments that follow it."""
    if block.language == "toml" and "scenario" in (table := tomllib.loads(block.text)):
        namespace["__study__"] = table


def merged(study: dict, fragment: dict) -> dict:
    """A study with the settings of a fragment; a synthesizer that is named stands alone."""
    return study | {
        name: study.get(name, {}) | section
        if isinstance(section, dict) and "name" not in section
        else section
        for name, section in fragment.items()
    }


def shortened(text: str, table: dict) -> str:
    """A study of few records with few draws; one of embedded data stays as it is."""
    if "embedded" in table["data"]:
        return text
    assert "sampling" not in table
    return (
        text + "\n[sampling]\n" + "".join(f"{key} = {value}\n" for key, value in SAMPLING.items())
    )


def run_sh(block: Block, place: str, namespace: dict) -> None:
    for words in commands(block):
        if words[0] == "riskweighted":
            command(words[1:])
        else:
            assert words[0] in LOOKED_AT, f"{place}: {words[0]}"
            exists(words)


def commands(block: Block) -> list[list[str]]:
    """The words of each line of a shell block; comments are none, and a line that ends with a
    backslash goes on.
    """
    lines = block.text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def command(words: list[str]) -> None:
    """One command of ours: exit code 0 is asked for, or 3, since so few draws may not have
    converged.
    """
    if "--out" in words:
        shutil.rmtree(words[words.index("--out") + 1], ignore_errors=True)
        Path(words[words.index("--out") + 1]).unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as said:
        patch.setattr(sys, "argv", ["riskweighted", *words, *ADDED.get(words[0], [])])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code in (0, 3), f"{' '.join(words)}: {said.getvalue()}"


def options(words: list[str]) -> None:
    """Read the options of a command that is not run."""
    if words[0] == "riskweighted" and words[1] in COMMANDS.commands:
        COMMANDS.commands[words[1]].make_context(words[1], list(words[2:]))


def exists(words: list[str]) -> None:
    """What a command names that is not run: a target of the Makefile, an extra of the package, a
    program of the repository.
    """
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)
    elif words[0] == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ]
        assert {name for word in words for name in re.findall(r"\[(.*)\]", word)} <= set(extras)
    else:
        path = words[2].replace(".", "/") if words[1] == "-m" else words[1]
        assert any((ROOT / found).exists() for found in (path, f"{path}.py"))


RUNNERS = {"python": run_python, "toml": run_toml, "sh": run_sh}


@pytest.mark.parametrize(
    ("wanted", "got", "near", "same"),
    [
        ("a  1\n", " a 1", False, True),
        ("a 1", "a 2", False, False),
        ("a ... c", "a b b c", False, True),
        ("a ... c", "a b", False, False),
        ("risk 0.50 of 9,275", "risk 0.45 of 9,300", True, True),
        ("risk 0.50", "risk 0.30", True, False),
        ("risk 0.50", "cost 0.50", True, False),
        ("risk 0.50", "risk 0.50 0.60", True, False),
        ("\u2502 a \u2502 1 \u2502", "a 1", False, True),
    ],
)
def test_an_output_agrees_in_its_words_and_in_its_numbers(wanted, got, near, same):
    assert agree(wanted, got, near) is same


def test_a_comment_speaks_of_the_next_block_alone():
    page = (
        "<!-- not run: why -->\n```sh\nx\n```\n\n```python\ny\n```\n\n<!-- output: near "
        "-->\n```text\n1\n```\n"
    )
    first, second = blocks(page)
    assert (first.language, first.reason, first.output) == ("sh", "why", None)
    assert (second.reason, second.output, second.near) == ("", "1\n", True)
