"""The count of branches, lines and walks finds what is planted."""

import json

import pytest

from tests.tools.house import main, survey

pytestmark = pytest.mark.quick

FILES = {
    "riskweighted/__init__.py": "",
    "riskweighted/sequence/__init__.py": """def is_chain(declared):
    return isinstance(declared, Chain)
""",
    "riskweighted/sequence/blocks.py": "one = is_chain(3)\n",
    "riskweighted/sequences.py": "many = is_chain(3) and study.of_several\n",
    "riskweighted/runs/run.py": '''"""Of radius nothing."""
fits = isinstance(fit, (Fit, sequence.ChainFit)) or isinstance(fit, Fit)
''',
    "riskweighted/runs/study.py": """
def of_several():
    '''radius'''
    return len(run.variables) > 1 or len(rows) > 1 or settings["weights.radius"]
""",
    "riskweighted/risk/one.py": """KEY = 'dcap-zero'
radius_of = 3

def balls(radius):
    return radius
""",
    "models/riskweighted_models/one.py": "import radius.small\nx = 1\n",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_branches_outside_the_room_that_may_ask(root):
    found = survey(root)
    assert [branch.partition(" ")[0] for branch in found.branches] == [
        "riskweighted/runs/run.py:2",
        *2 * ["riskweighted/sequences.py:1"],
    ]
    assert "ChainFit" in found.branches[0]
    assert [branch.partition(" ")[2] for branch in found.branches[1:]] == ["is_chain", "of_several"]
    assert found.counted == ("riskweighted/runs/study.py:4 len(run.variables) > 1",)
    assert found.lines == {"riskweighted": 15, "riskweighted_models": 2}


def test_walks_follow_names_and_words_but_no_docstring(root):
    walks = survey(root, ("radius", "dcap-zero", "floor")).walks
    assert walks["radius"] == (
        "riskweighted/risk/one.py",
        "riskweighted/runs/study.py",
        "models/riskweighted_models/one.py",
    )
    assert walks["dcap-zero"] == ("riskweighted/risk/one.py",)
    assert walks["floor"] == ()


def test_the_command(root, capsys):
    main([str(root), "--json"])
    assert json.loads(capsys.readouterr().out)["lines"]["riskweighted_models"] == 2
    main([str(root), "--walk", "radius"])
    said = capsys.readouterr().out
    assert "outside riskweighted.sequence: 3 in 2 files, and 1 that count variables" in said
    assert "'radius' stands in 3 files" in said
    with pytest.raises(SystemExit, match="root of the repository"):
        main([str(root / "models")])
