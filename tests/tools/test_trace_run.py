"""The tracer counts what is called, and every name that it counts still exists."""

import ast
import importlib
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from imports import module_files
from trace_run import BUILT, FUNCTIONS, PREPARE, counted_instances, traced

ROOT = Path(__file__).parents[2]
FRAMEWORK = """
class Scenario:
    def check(self):
        return [fingerprint() for _ in range(2)]

def fingerprint():
    return None
"""
MODELS = """
class Base:
    def prepare(self):
        return 1

class Model(Base):
    def prepare(self):
        return super().prepare()

def fingerprint():
    return None
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A made-up framework and a made-up package of models."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (("traced_framework", FRAMEWORK), ("traced_models", MODELS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "part.py").write_text(text)
    yield tuple(
        importlib.import_module(f"{name}.part") for name in ("traced_framework", "traced_models")
    )
    for name in ("traced_framework", "traced_models"):
        del sys.modules[name], sys.modules[f"{name}.part"]


def test_calls_by_name_wherever_they_are_made(modules, tmp_path):
    framework, models = modules
    before = sys.getprofile()
    with traced(tmp_path / "traced_framework", tmp_path / "traced_models") as trace:
        framework.Scenario().check()
        thread = threading.Thread(target=framework.fingerprint)
        thread.start()
        thread.join()
        models.fingerprint()
        models.Model().prepare()  # calls Base.prepare: one
        models.Base().prepare()
    assert sys.getprofile() is before
    framework.fingerprint()  # after the fact: not counted
    assert trace.calls == {"Scenario.check": 1, "fingerprint": 4, PREPARE: 2}
    assert trace.files == {"part.py"}


def test_instances_of_a_class_are_counted_and_the_class_is_left_as_it_was(modules):
    model, calls = modules[1].Model, Counter()
    original = model.__init__
    with counted_instances(model, calls):
        assert isinstance(model(), model)
        model()
    model()
    assert calls == {BUILT: 2}
    assert model.__init__ is original


def test_every_counted_name_exists():
    """A function that was renamed would be counted as never called."""
    defined = set()
    for path in module_files(ROOT).values():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                defined.add(node.name)
            elif isinstance(node, ast.ClassDef):
                defined |= {
                    f"{node.name}.{member.name}"
                    for member in node.body
                    if isinstance(member, ast.FunctionDef)
                }
    assert set(FUNCTIONS) <= defined
