"""``riskweighted advise`` as a user meets it."""

import json
import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted, without_log
from study_text import study_text

from riskweighted.commands.advise import _typed
from riskweighted.runs import advice
from riskweighted.runs.study import load_study


@pytest.fixture
def folder(tmp_path):
    """A study that lets an identifier leave."""
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 300)
    income = np.round(np.exp(3 + (group == "b") + 0.6 * rng.normal(size=300)), 3)
    pd.DataFrame({"person": np.arange(300) + 7000, "group": group, "income": income}).to_csv(
        tmp_path / "data.csv", index=False
    )
    (tmp_path / "study.toml").write_text(
        study_text().replace("L = 3", 'L = 3\ncolumns = ["person"]')
    )
    return tmp_path


def test_a_study_is_advised_and_written_beside_the_old_one(folder):
    said = riskweighted("advise", "study.toml", cwd=folder)
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert sum(1 + (len(line) - 1) // 80 for line in lines) <= 8
    assert lines[0].startswith("Why: person")
    assert lines[-1] == "Next: riskweighted advise study.toml --apply"
    before = (folder / "study.toml").read_text()
    for name in ("study-advised.toml", "study-advised-2.toml"):
        done = riskweighted("advise", "study.toml", "--apply", "--json", cwd=folder)
        assert json.loads(done.stdout)["results"] == name
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        assert load_study(folder / name).release.columns == ()
        assert load_study(folder / name).scenario == load_study(folder / "study.toml").scenario
    assert (folder / "study.toml").read_text() == before
    assert "Nothing to correct" in riskweighted("advise", "study-advised.toml", cwd=folder).stdout
    nothing = riskweighted("advise", "study-advised.toml", "--apply", cwd=folder)
    assert nothing.returncode == 2
    assert len(without_log(nothing.stderr).strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("absent",), "absent"),
        (("study.toml", "--out", "new.toml"), "--apply"),
        (("study.toml", "--apply", "--out", "new.csv"), ".toml"),
        (("study.toml", "--apply", "--out", "study.toml"), "exists"),
    ],
)
def test_wrong_calls_are_refused_in_one_line(folder, arguments, told):
    done = riskweighted("advise", *arguments, cwd=folder)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "study.toml"]


def test_the_commands_of_advice_name_the_run_and_its_study():
    """Each command of the texts of advice, whichever a run comes to."""
    texts = "\n".join(
        re.findall(
            r"riskweighted \w+ (?:RUN|STUDY)[^\"]*",
            Path(advice.__file__).read_text(encoding="utf-8"),
        )
    )
    assert texts.count("RUN") > 2
    assert "STUDY.toml" in texts
    typed = _typed(texts, Path("a run") / "marked", Path("my.toml"))
    assert "RUN" not in typed
    assert "STUDY" not in typed
    assert 'riskweighted report "a run/marked" --internal' in typed
    assert "riskweighted tune my.toml --target" in typed
