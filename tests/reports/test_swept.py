"""The settings of a sweep on a terminal: the best first, what misses a limit named, whatever their number and the length of their names."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.disclosure.policy import DisclosureSettings
from riskweighted.evaluation.thresholds import Thresholds
from riskweighted.evaluation.verdicts import FAIL, NOT_JUDGED, REFUSE
from riskweighted.reports.brief import MOST_LABELS
from riskweighted.reports.swept import settings_table, swept_lines

pytestmark = pytest.mark.quick
SCHEMES = ["unweighted", "marginal"]
FIGURES = {
    "disclosure": ("disclosure beyond inference", None),
    "expected-mean-risk": ("expected mean risk", None),
    "ecdf-maximum": ("U_m", "y"),
}


def results(cells, setting="scenario.radius"):
    """Rows of a sweep of cells (setting, scheme, repetition, D, U_m, converged), with the confidential data among them."""
    rows = []
    for value, label, repetition, risk, loss, converged in cells:
        where = {setting: value, "repetition": repetition, "seed": repetition, "label": label}
        fit = {"mean_weight": 1.0, "largest_r_hat": 1.0, "smallest_ess_bulk": 500.0, "divergences": 0, "converged": converged}
        for (key, (name, variable)), figure in zip(FIGURES.items(), (risk, 0.2, loss), strict=True):
            one = {"variable": variable, "key": key, "measure": name, "parameter": np.nan, "term": None, "value": figure}
            rows.append(where | one | {"error": 0.001, "lower": np.nan, "upper": np.nan, "overlap": np.nan} | fit)
    whole = pd.DataFrame(rows)
    truth = whole.drop_duplicates([setting, "repetition", "key"]).assign(label="confidential", value=0.0, converged=pd.NA)
    return pd.concat([truth, whole], ignore_index=True)


def table_of(cells, limits=None, **settings):
    return settings_table(results(cells, **settings), SCHEMES, Thresholds.from_table(limits or {}, "thresholds"), DisclosureSettings())


def test_a_setting_whose_fits_have_some_divergences_is_warned_of():
    rows = results([(0.2, "unweighted", 1, 0.001, 0.01, True), (0.3, "unweighted", 1, 0.001, 0.02, True)])
    rows["divergences"] = np.where(rows["scenario.radius"] == 0.2, 2, 0)
    table = settings_table(rows, SCHEMES, Thresholds(), DisclosureSettings()).set_index("setting")
    assert ["divergences" in why for why in table.loc[["radius=0.2 unweighted", "radius=0.3 unweighted"], "why"]] == [True, False]


def test_what_misses_nothing_stands_first_and_of_it_what_nothing_beats():
    table = table_of(
        [
            (0.2, "unweighted", 1, 0.50, 0.01, True),  # gives away too much
            (0.2, "marginal", 1, 0.004, 0.05, True),
            (0.3, "unweighted", 1, 0.005, 0.06, True),  # worse than the one before in both
            (0.3, "marginal", 1, 0.001, 0.09, True),
            (0.4, "marginal", 1, 0.001, 0.01, False),
        ]
    )
    assert table["setting"].tolist()[:3] == ["radius=0.2 marginal", "radius=0.3 marginal", "radius=0.3 unweighted"]
    assert table["verdict"].tolist() == [NOT_JUDGED] * 3 + [REFUSE, FAIL]
    assert any("no convergence" in why for why in table["why"])
    assert any("give away more" in why for why in table["why"])
    lines = list(swept_lines(table))
    assert lines[0].startswith("radius=0.2 marginal")
    assert "D 0.004" in lines[0]
    assert "U_m 0.050" in lines[0]
    assert lines[MOST_LABELS] == "1 more: 1 fail"
    assert lines[-1].startswith("Why: radius=0.")


def test_repetitions_are_one_line_of_their_mean_and_fail_together():
    table = table_of([(0.2, "marginal", 1, 0.002, 0.02, True), (0.2, "marginal", 2, 0.004, 0.04, True)])
    assert table[["D", "U_m"]].to_numpy().ravel() == pytest.approx([0.003, 0.03])
    assert len(table) == 1
    table = table_of([(0.2, "marginal", 1, 0.002, 0.02, True), (0.2, "marginal", 2, 0.004, 0.04, False)])
    assert table["verdict"].tolist() == [FAIL]


def test_thresholds_and_what_was_not_measured_count():
    cells = [(0.2, "marginal", 1, 0.002, 0.02, True), (0.3, "marginal", 1, np.nan, 0.01, True)]
    assert table_of(cells)["verdict"].tolist() == [NOT_JUDGED, NOT_JUDGED]
    table = table_of(cells, {"ecdf-maximum": 0.015})
    assert dict(zip(table["setting"], table["verdict"], strict=True)) == {"radius=0.2 marginal": FAIL, "radius=0.3 marginal": NOT_JUDGED}
    assert any("give away is not judged" in why for why in table["why"])


@pytest.mark.parametrize("setting", ["scenario.radius", "synthesizer.variables.a_variable_with_a_very_long_name.a_setting_with_another"])
def test_two_hundred_settings_take_seven_lines_of_eighty_columns(setting):
    cells = [(place / 100, scheme, 1, 0.001 * place, 0.5, True) for place in range(1, 101) for scheme in SCHEMES]
    lines = list(swept_lines(table_of(cells, setting=setting)))
    assert len(lines) <= MOST_LABELS + 2
    assert max(map(len, lines)) <= 80
    assert lines[MOST_LABELS].startswith("196 more: ")
