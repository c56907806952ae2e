"""Every public name says in a sentence what it is or gives, and its examples are run."""

import doctest
import inspect
import io
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import riskweighted as rw

NAMES = [name for name in rw.__all__ if name != "__version__"]
TAKEN_FOR_GRANTED = {"np": np, "pd": pd, "rw": rw}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROOT = Path(__file__).parents[2]


def said(thing) -> str:
    return inspect.getdoc(thing) or ""


def with_examples(name):
    """The docstrings with examples: that of a public name, and of a class those of its own methods
    and properties.
    """
    thing = getattr(rw, name)
    members = (
        {f"{name}.{member}": value for member, value in vars(thing).items()}
        if inspect.isclass(thing)
        else {}
    )
    texts = {name: said(thing)} | {
        where: said(value)
        for where, value in members.items()
        if not where.split(".")[1].startswith("_")
    }
    return {where: text for where, text in texts.items() if ">>>" in text}


@pytest.mark.parametrize("name", NAMES)
def test_the_first_paragraph_begins_with_a_sentence(name):
    first = " ".join(said(getattr(rw, name)).split("\n\n")[0].split())
    assert re.fullmatch(r"[A-Z`].*[^.]\.", first), first
    assert len(first.split()) >= 4


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, tmp_path, monkeypatch):
    examples = with_examples(name)
    assert name in examples, "has no example"
    monkeypatch.chdir(tmp_path)
    for where, text in examples.items():
        test = doctest.DocTestParser().get_doctest(text, dict(TAKEN_FOR_GRANTED), where, None, 0)
        out = io.StringIO()
        with warnings.catch_warnings():
            result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=out.write)
        plt.close("all")
        assert result.attempted
        assert not result.failed, out.getvalue()


def test_no_source_is_named_by_the_number_of_a_file():
    kept = [
        path
        for place in ("riskweighted", "models", "docs", "experiments", "tests")
        for path in sorted((ROOT / place).rglob("*.[pm][yd]"))
    ]
    assert len(kept) > 300
    assert [
        path for path in kept if re.search(r"\bS00[0-9]\b", path.read_text(encoding="utf-8"))
    ] == []
