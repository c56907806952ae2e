"""Synthesizers in one line, from the source where it says so and from the class where it does
not.
"""

import inspect
import sys
from importlib.metadata import EntryPoint

import pytest

from riskweighted.contract import descriptions
from riskweighted.contract.descriptions import GROUP, describe_synthesizers
from riskweighted.contract.synthesizer import load_synthesizer, synthesizer_names


def test_every_line_is_the_first_paragraph_of_the_class():
    found = describe_synthesizers()
    assert list(found) == synthesizer_names()
    for name, line in found.items():
        assert line
        paragraph, *_ = inspect.getdoc(load_synthesizer(name)).split("\n\n")
        assert line == paragraph.replace("\n", " ")
        assert line.endswith((".", ")"))


PLUG_IN = """
raise_when_imported = 1 / {divisor}

class Written:
    '''
    Stands in the source.

    And goes on.
    '''

class Bare:
    pass

Made = type("Made", (), {{"__doc__": "Made by a call."}})
"""


@pytest.fixture
def described(tmp_path, monkeypatch):
    """The line of one class of a plug-in; importing the plug-in fails where the divisor is 0."""

    def describe(attribute, divisor):
        module = f"plug_in_{tmp_path.name}_{divisor}".replace("-", "_")
        (tmp_path / f"{module}.py").write_text(PLUG_IN.format(divisor=divisor))
        monkeypatch.syspath_prepend(tmp_path)
        point = EntryPoint("mine", f"{module}:{attribute}", GROUP)
        monkeypatch.setattr(
            descriptions, "entry_points", lambda group: [point] if group == GROUP else []
        )
        line = describe_synthesizers()["mine"]
        loaded = sys.modules.pop(module, None) is not None
        return line, loaded

    return describe


def test_a_docstring_in_the_source_is_read_without_importing(described):
    assert described("Written", divisor=0) == ("Stands in the source.", False)


def test_a_class_that_does_not_stand_in_the_source_is_loaded(described):
    assert described("Made", divisor=1) == ("Made by a call.", True)


def test_a_class_without_a_docstring_has_an_empty_line(described):
    assert described("Bare", divisor=1) == ("", True)
