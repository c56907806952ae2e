"""What objects show in a notebook: the answer first, escaped, no value of a record; progress there
and nowhere else.
"""

import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.html_repr import html_repr, in_notebook
from riskweighted.common.progress import LogLines, Quiet, default_reporter
from riskweighted.runs import examples


class _Balanced(HTMLParser):
    """Refuses a page whose elements are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text += text + "\n"


def shown(page: str) -> str:
    parser = _Balanced()
    parser.feed(page)
    assert not parser.open
    return parser.text


@pytest.fixture(scope="module")
def cards():
    # made here, not while tests are collected
    data, scenario, synthetic = examples.data, examples.scenario, examples.synthetic
    evaluated = rw.evaluate(data, {"drawn": synthetic}, scenario, random_seed=1)
    tuning = rw.tune(
        examples.synthesizer,
        data,
        scenario,
        target="lipschitz",
        target_max=3.0,
        family="uniform",
        random_seed=1,
    )
    weights = rw.centred_weights("mix+(t=0.5)", data, scenario)
    made = [
        weights,
        scenario,
        examples.fit,
        evaluated,
        rw.assess(data, synthetic, scenario),
        tuning,
        rw.load_run(examples.folder / "run"),
    ]
    return {type(each).__name__: (each, shown(each._repr_html_())) for each in made}


def test_each_says_first_what_it_comes_to(cards):
    assert "The intruder knows 'region' and looks for 'income'." in cards["Scenario"][1]
    assert "passed" in cards["Fit"][1]
    assert "mean weight of income" in cards["CentredWeights"][1]
    assert "mean risk" in cards["Evaluation"][1]
    assert "mean risk" in cards["Assessment"][1]
    assert "meets lipschitz of at most 3" in cards["Tuning"][1]
    assert cards["FinishedRun"][1].splitlines()[1].startswith("unweighted: ")


def test_a_card_is_at_most_a_screen_and_a_line_is_short(cards):
    for each, text in cards.values():
        assert len(each._repr_html_()) < 20_000
        assert text.count("\n") < 200
        assert len(repr(each)) < 1_200
    for name in ("Fit", "Evaluation", "Assessment"):
        assert len(repr(cards[name][0])) < 200


def test_no_value_of_a_record_is_shown(cards):
    values = {f"{value:,.0f}" for value in examples.data["income"]} | {
        str(value) for value in examples.data["income"]
    }
    for each, text in cards.values():
        assert not values & set(text.split()), type(each).__name__


def test_a_finished_run_has_the_summary_that_a_run_has():
    finished = rw.load_run(examples.folder / "run")
    assert finished.summary.index.tolist() == ["confidential", "unweighted", "marginal"]
    assert "label" not in finished.summary.columns


@pytest.mark.quick
def test_what_is_shown_is_escaped():
    page = html_repr(
        "<b>",
        ["a < b"],
        {"<i>": ("x", "<y>")},
        pd.DataFrame({"<u>": [1.5, float("nan")]}, index=["<s>", "t"]),
        "&",
    )
    text = shown(page)
    assert all(
        part in text for part in ("<b>", "a < b", "<i>", "x, <y>", "<u>", "<s>", "1.5", "-", "&")
    )
    assert "2 more rows" in shown(html_repr("many", table=pd.DataFrame({"x": range(26)})))


@pytest.mark.quick
def test_progress_is_told_in_a_notebook_alone(monkeypatch, capsys):
    assert not in_notebook()
    assert isinstance(default_reporter(), Quiet)
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None))
    )
    assert in_notebook()
    reporter = default_reporter()
    assert isinstance(reporter, LogLines)
    with reporter.step("sampling"):
        pass
    assert "sampling: done in 0 s" in capsys.readouterr().out
    # IPython without a notebook
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not in_notebook()
