"""Datasets of any tool: which numbers are the confidential ones with a little noise, and what is
judged of each tool.
"""

import numpy as np
import pandas as pd
import pytest

from riskweighted.disclosure.any_tool import disclosure_of_tools, nearly_copied
from riskweighted.disclosure.policy import NOT_JUDGED, REFUSE
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world


@pytest.mark.quick
@pytest.mark.parametrize(("noise", "told"), [(0.02, True), (0.3, False)])
def test_nearly_copied_amounts_are_told_from_amounts_that_are_close_by_chance(noise, told):
    rng = np.random.default_rng(4)
    spread, same = np.exp(rng.normal(8, 1, 300)), rng.normal(40, 0.5, 300)
    data = pd.DataFrame({"g": "a", "y": spread, "hours": same})
    world = make_world(data, Scenario(known="g", synthetic=["y", "hours"]))
    drawn = data.assign(y=data["y"] * rng.normal(1, noise, 300), hours=rng.normal(40, 0.5, 300))
    assert list(nearly_copied(world, [drawn])) == (["y"] if told else [])


def test_a_near_copy_is_refused_without_folds_and_what_does_not_pair_is_not_judged():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"g": "a", "y": np.exp(rng.normal(8, 1, 300)).round(2)})
    noisy = [data.assign(y=data["y"] * rng.normal(1, 0.02, 300)) for _ in range(2)]
    drawn = [data.assign(y=np.exp(rng.normal(8, 1, 300))) for _ in range(2)]
    tools = {"noisy": noisy, "drawn": drawn, "fewer": [drawn[0].iloc[:200]], "apart": drawn}
    found = disclosure_of_tools(
        data, tools, Scenario(known="g", synthetic="y"), folds={}, unpaired=["apart"]
    )
    first = found.table.drop_duplicates("label").set_index("label")
    assert first["verdict"].to_dict() == {
        "noisy": REFUSE,
        "drawn": NOT_JUDGED,
        "fewer": NOT_JUDGED,
        "apart": NOT_JUDGED,
    }
    assert "of y lie within 5 %" in first.loc["noisy", "nearly_copied"]
    assert first.loc[["drawn", "fewer", "apart"], "nearly_copied"].isna().all()
    assert first.loc[["fewer", "apart"], "release"].eq("unpaired").all()
