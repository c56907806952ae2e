"""The import survey finds what is planted, and finds nothing of the kind in this repository."""

import ast
import json
import tomllib
from pathlib import Path

import pytest
from imports import budgets, circles, floors, main, module_files, survey

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
LAYERS = """
[[tool.importlinter.contracts]]
name = "down only"
type = "layers"
layers = ["riskweighted.top", "riskweighted.left | riskweighted.right", "riskweighted.bottom"]
"""
HOUSE = {
    "riskweighted/__init__.py": "",
    "riskweighted/__main__.py": "from riskweighted.top.main import run\n",
    "riskweighted/top/__init__.py": "",
    "riskweighted/top/main.py": """import riskweighted.left.one
from riskweighted.bottom import base
""",
    "riskweighted/left/__init__.py": "",
    "riskweighted/left/one.py": """from ..bottom.base import thing


def run():
    from .two import other
""",
    "riskweighted/left/two.py": "import numpy\n",
    "riskweighted/right/__init__.py": "",
    "riskweighted/bottom/__init__.py": "",
    "riskweighted/bottom/base.py": "thing = 1\n",
    "models/riskweighted_models/__init__.py": "",
    "models/riskweighted_models/one.py": "import riskweighted.bottom\n",
    "pyproject.toml": LAYERS,
}


@pytest.fixture
def house(tmp_path):
    """A function that lays a small sound house under tmp_path, changed or extended by the files
    given, and surveys it.
    """

    def lay(**changed: str):
        for name, text in (HOUSE | changed).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return survey(tmp_path)

    return lay


def test_a_sound_house(house):
    found = house()
    assert [(room.name, room.floor, room.modules) for room in found.rooms] == [
        ("top", 3, 2),
        ("left", 2, 3),
        ("riskweighted_models", 2, 2),
        ("bottom", 1, 2),
        ("right", 1, 1),
    ]
    assert found.floors == 3
    assert found.arrows == (
        ("left", "bottom"),
        ("riskweighted_models", "bottom"),
        ("top", "bottom"),
        ("top", "left"),
    )
    assert found.without_layer == ("riskweighted_models",)
    assert (
        found.circles
        == found.module_circles
        == found.upward
        == found.sideways
        == found.flat
        == found.through_door
        == ()
    )


def test_a_planted_circle_and_upward_arrow(house):
    found = house(
        **{"riskweighted/bottom/base.py": "def late():\n    from riskweighted.left import two\n"}
    )
    assert found.circles == (("bottom", "left"),)
    assert found.module_circles == ()  # two imports nothing: the rooms turn, the modules do not
    assert found.upward == (("bottom", "left"),)
    assert found.floors == 2  # a circle is one floor


def test_a_circle_of_modules_inside_one_room(house):
    found = house(**{"riskweighted/left/two.py": "from . import one\n"})
    assert found.circles == ()
    assert found.module_circles == (("riskweighted.left.one", "riskweighted.left.two"),)


def test_an_arrow_between_siblings(house):
    assert house(
        **{"riskweighted/right/__init__.py": "import riskweighted.left.two\n"}
    ).sideways == (("right", "left"),)


def test_imports_for_type_checkers_count_and_are_said(house):
    text = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from riskweighted.top import "
        "main\n"
    )
    found = house(**{"riskweighted/bottom/base.py": text})
    assert found.upward == found.arrows_for_types == (("bottom", "top"),)


def test_flat_modules_and_the_door(house):
    found = house(**{"riskweighted/stray.py": "from riskweighted import anything\n"})
    assert found.flat == found.through_door == ("riskweighted.stray",)
    assert "stray" in [room.name for room in found.rooms]


def test_long_functions_are_counted_without_their_docstring(house):
    body = '    """' + "Text.\n" * 60 + '    """\n' + "    x = 1\n" * 40
    found = house(
        **{
            "riskweighted/left/two.py": f"def short():\n{body}\n\nclass A:\n    def long(self):\n"
            + "        x = 1\n" * 41
        }
    )
    assert found.long_functions == {"riskweighted.left.two:A.long": 41}


def test_floors_of_a_graph_with_a_circle_in_the_middle():
    graph = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []}
    assert circles(graph) == [("b", "c")]
    assert floors(graph) == {"a": 3, "b": 2, "c": 2, "d": 1}


def test_this_repository():
    found = survey(ROOT)
    assert len(found.rooms) > 10  # it looked at the right place
    assert found.circles == found.module_circles == ()
    assert found.upward == found.sideways == ()
    assert found.without_layer == ()
    assert found.flat == ()
    assert found.through_door == ("riskweighted.commands.main",)  # for the version


def test_every_public_name_is_where_the_stub_says():
    modules = module_files(ROOT)
    stub = ast.parse((ROOT / "riskweighted" / "__init__.pyi").read_text(encoding="utf-8"))
    named = [
        (f"riskweighted.{node.module}", alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert len(named) > 50
    missing = [
        f"{module}.{name}"
        for module, name in named
        if module not in modules or name not in _defined(modules[module])
    ]
    assert missing == []


def _defined(path: Path) -> set[str]:
    """Names of the functions and classes at the top of a module."""
    return {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


def test_the_command(house, tmp_path, capsys):
    house()
    main([str(tmp_path), "--json"])
    assert json.loads(capsys.readouterr().out)["floors"] == 3
    main([str(tmp_path)])
    assert "rooms 5, floors 3, arrows 4" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="root of the repository"):
        main([str(tmp_path / "riskweighted")])


def test_no_room_has_more_lines_than_its_budget():
    rooms = {room.name: room.lines for room in survey(ROOT).rooms}
    table = budgets((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert sorted(name for names in table for name in names) == sorted(rooms)
    lines = {names: sum(rooms[name] for name in names) for names in table}
    over = {
        names: f"{lines[names]:,} of {most:,}"
        for names, most in table.items()
        if lines[names] > most
    }
    assert not over, "shrink it, or raise the budget in ARCHITECTURE.md and say why in the commit"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["ruff"]["line-length"] == 100, "lines are counted at this width"


def test_budgets_are_read_from_their_table_alone():
    table = (
        "| `top/` | 9 |\n## Budgets\n| `left/`, `right/` | 1,200 | 900 |\n## More\n| `top/` | 9 |\n"
    )
    assert budgets(table) == {("left", "right"): 1200}
