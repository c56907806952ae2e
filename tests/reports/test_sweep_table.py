"""The settings of a sweep on a terminal: the best first, what misses a limit named, whatever their
number and the length of their names.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from riskweighted.evaluation.judgement import FITS, MISFITS, MODEL
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.evaluation.verdicts import FAIL, NOT_JUDGED, NOT_SHOWN, PASS, REFUSE, WARN
from riskweighted.reports.brief import MOST_LABELS
from riskweighted.reports.sweep_table import settings_table, swept_lines

pytestmark = pytest.mark.quick
SCHEMES = ["unweighted", "marginal"]
FIGURES = {
    "disclosure": ("disclosure beyond inference", None),
    "expected-mean-risk": ("expected mean risk", None),
    "ecdf-maximum": ("U_m", "y"),
}


def results(cells, setting="scenario.radius"):
    """Rows of a sweep of cells (setting, scheme, repetition, D, U_m, converged), with the
    confidential data among them.
    """
    rows = []
    for value, label, repetition, risk, loss, converged in cells:
        where = {setting: value, "repetition": repetition, "seed": repetition, "label": label}
        fit = {
            "mean_weight": 1.0,
            "largest_r_hat": 1.0,
            "smallest_ess_bulk": 500.0,
            "divergences": 0,
            "converged": converged,
        }
        for (key, (name, variable)), figure in zip(FIGURES.items(), (risk, 0.2, loss), strict=True):
            one = {
                "variable": variable,
                "key": key,
                "measure": name,
                "parameter": np.nan,
                "term": None,
                "value": figure,
            }
            rows.append(
                where
                | one
                | {"error": 0.001, "lower": np.nan, "upper": np.nan, "overlap": np.nan}
                | fit
            )
    whole = pd.DataFrame(rows)
    truth = whole.drop_duplicates([setting, "repetition", "key"]).assign(
        label="confidential", value=0.0, converged=pd.NA
    )
    return pd.concat([truth, whole], ignore_index=True)


def swept(rows, words=None, fits=FITS):
    """What a sweep leaves: its rows, and for each scheme the verdict on its disclosure, by D where
    none is given, and on its model.
    """
    at = (
        rows.drop_duplicates([rows.columns[0], "repetition", "label"])
        .query("label != 'confidential'")
        .iloc[:, :4]
    )
    risk = rows[rows["key"] == "disclosure"].set_index(list(at))["value"]
    of_cell = [
        (words or {}).get(cell, by_figure(risk[cell]))
        for cell in at.itertuples(index=False, name=None)
    ]
    told = {
        "verdict": [word for word, _ in of_cell],
        "reasons": [why for _, why in of_cell],
        "accepted": "",
        "outside": "",
        "cures": "",
    }
    checks = {
        "check": MODEL,
        "variable": None,
        "parameter": None,
        "effect": np.nan,
        "threshold": np.nan,
        "verdict": fits,
    }
    return SimpleNamespace(
        results=rows,
        disclosure_verdicts=at.assign(**told),
        fit_check=at[at["label"] == "unweighted"].assign(**checks),
    )


def by_figure(risk):
    if np.isnan(risk):
        return NOT_JUDGED, "what the release would be without a record is not known"
    return (REFUSE, f"mean D is {risk:.3f}, above 0.02") if risk > 0.02 else (PASS, "")


def table_of(cells, limits=None, words=None, fits=FITS, **settings):
    rows = results(cells, **settings)
    return settings_table(
        swept(rows, words, fits), SCHEMES, Thresholds.from_table(limits or {}, "thresholds")
    )


def test_a_setting_whose_fits_have_some_divergences_is_warned_of():
    rows = results(
        [(0.2, "unweighted", 1, 0.001, 0.01, True), (0.3, "unweighted", 1, 0.001, 0.02, True)]
    )
    rows["divergences"] = np.where(rows["scenario.radius"] == 0.2, 2, 0)
    table = settings_table(swept(rows), SCHEMES, Thresholds()).set_index("setting")
    assert [(row.verdict, "divergences" in row.why) for row in table.sort_index().itertuples()] == [
        (WARN, True),
        (PASS, False),
    ]


@pytest.mark.parametrize("word", [REFUSE, NOT_JUDGED, NOT_SHOWN, WARN])
def test_a_row_says_the_word_of_the_disclosure_and_its_whole_reason(word):
    why = (
        "mean D of shuffled, income: upper limit 0.031 at the limit 0.02, shown small only from "
        "0.031, and a reason is never cut short"
    )
    cells = [(0.2, "unweighted", 1, 0.001, 0.01, True), (0.2, "marginal", 1, 0.001, 0.05, True)]
    table = table_of(cells, words={(0.2, 1, 1, "marginal"): (word, why)}).set_index("setting")
    assert table["verdict"].to_dict() == {
        "radius=0.2 unweighted": PASS,
        "radius=0.2 marginal": word,
    }
    assert table.loc["radius=0.2 marginal", "why"].startswith(why)
    assert any(
        line == f"Why: radius=0.2 marginal: {word}: {table.loc['radius=0.2 marginal', 'why']}"
        for line in swept_lines(table.reset_index())
    )


def test_a_model_that_misfits_fails_every_scheme_and_one_that_nobody_checked_is_not_judged():
    cells = [(0.2, scheme, 1, 0.001, 0.01, True) for scheme in SCHEMES]
    assert table_of(cells, fits=MISFITS)["verdict"].tolist() == [FAIL, FAIL]
    assert table_of(cells[1:])["verdict"].tolist() == [NOT_JUDGED]


def test_of_several_repetitions_the_worst_counts_and_says_how_many_they_are():
    cells = [(0.2, "unweighted", repetition, 0.001, 0.01, True) for repetition in (1, 2, 3)]
    table = table_of(cells, words={(0.2, 2, 2, "unweighted"): (NOT_SHOWN, "not shown to be small")})
    assert (
        table["verdict"].tolist(),
        table["why"].str.endswith("(1 of 3 repetitions)").tolist(),
    ) == ([NOT_SHOWN], [True])


def test_what_misses_nothing_stands_first_and_of_it_what_nothing_beats():
    table = table_of(
        [
            (0.2, "unweighted", 1, 0.50, 0.01, True),  # gives away too much
            (0.2, "marginal", 1, 0.004, 0.05, True),
            (0.3, "unweighted", 1, 0.005, 0.06, True),  # worse than the one before in both
            (0.3, "marginal", 1, 0.001, 0.09, True),
            (0.4, "unweighted", 1, 0.001, 0.01, False),
        ]
    )
    assert table["setting"].tolist()[:3] == [
        "radius=0.2 marginal",
        "radius=0.3 marginal",
        "radius=0.3 unweighted",
    ]
    assert table["verdict"].tolist() == [PASS] * 3 + [REFUSE, FAIL]
    assert any("no convergence" in why for why in table["why"])
    assert any("mean D is 0.500" in why for why in table["why"])
    lines = list(swept_lines(table))
    assert lines[0].startswith("radius=0.2 marginal")
    assert "D 0.004" in lines[0]
    assert "U_m 0.050" in lines[0]
    assert lines[MOST_LABELS] == "1 more: 1 fail"
    assert lines[-1].startswith("Why: radius=0.")


def test_repetitions_are_one_line_of_their_mean_and_fail_together():
    table = table_of(
        [(0.2, "unweighted", 1, 0.002, 0.02, True), (0.2, "unweighted", 2, 0.004, 0.04, True)]
    )
    assert table[["D", "U_m"]].to_numpy().ravel() == pytest.approx([0.003, 0.03])
    assert table["verdict"].tolist() == [PASS]
    table = table_of(
        [(0.2, "unweighted", 1, 0.002, 0.02, True), (0.2, "unweighted", 2, 0.004, 0.04, False)]
    )
    assert table["verdict"].tolist() == [FAIL]


def test_thresholds_and_what_was_not_measured_count():
    cells = [(0.2, "unweighted", 1, 0.002, 0.02, True), (0.3, "unweighted", 1, np.nan, 0.01, True)]
    assert table_of(cells)["verdict"].tolist() == [PASS, NOT_JUDGED]
    table = table_of(cells, {"ecdf-maximum": 0.015})
    assert dict(zip(table["setting"], table["verdict"], strict=True)) == {
        "radius=0.2 unweighted": FAIL,
        "radius=0.3 unweighted": NOT_JUDGED,
    }
    assert any("without a record is not known" in why for why in table["why"])


@pytest.mark.parametrize(
    "setting",
    [
        "scenario.radius",
        "synthesizer.variables.a_variable_with_a_very_long_name.a_setting_with_another",
    ],
)
def test_of_two_hundred_settings_four_are_named_whole_and_the_others_counted(setting):
    cells = [
        (place / 100, scheme, 1, 0.001 * place, 0.5, True)
        for place in range(1, 101)
        for scheme in SCHEMES
    ]
    lines = list(swept_lines(table_of(cells, setting=setting)))
    assert len(lines) <= MOST_LABELS + 2
    assert all(setting.rpartition(".")[2] in line for line in lines[:MOST_LABELS])
    assert lines[MOST_LABELS].startswith("196 more: ")
