from html import escape

import pytest


@pytest.fixture
def no_pictures(monkeypatch):
    """Pages with the words of their pictures alone, in half of the time, for tests that look at
    what is written.
    """
    monkeypatch.setattr(
        "riskweighted.reports.blocks.inline_svg",
        lambda figure, key, words: f'<svg aria-label="{escape(words)}"></svg>',
    )
