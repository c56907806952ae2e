"""Reports made in a part of the time, for tests that do not look at all that is in them."""

from contextlib import contextmanager
from html import escape

import pytest

_OF_FIGURES = ("risk_section", "utility_section", "map_section", "convergence_section")


@pytest.fixture
def no_pictures(monkeypatch):
    """Pages with the words of their pictures alone, in half of the time, for tests that look at
    what is written.
    """
    monkeypatch.setattr(
        "riskweighted.reports.page_blocks.inline_svg",
        lambda figure, key, words: f'<svg aria-label="{escape(words)}"></svg>',
    )


@contextmanager
def without_figures():
    """Pages without the sections that are of figures."""
    from riskweighted.reports import render
    from riskweighted.reports.page_blocks import Section

    with pytest.MonkeyPatch.context() as patch:
        for name in _OF_FIGURES:
            key = name.removesuffix("_section")
            patch.setattr(render, name, lambda source, key=key: Section(key, key, (), ()))
        yield


@pytest.fixture
def no_figures():
    """Pages without them, in a fifth of the time, for tests of the answer, the main table, the
    checks of the fits, and of what becomes of the page.
    """
    with without_figures():
        yield
