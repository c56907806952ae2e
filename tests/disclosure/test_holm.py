"""Disclosure to several intruders judged together: refusals are Holm's, and passing needs all."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from riskweighted.disclosure.holm import judge_each
from riskweighted.disclosure.own_packs import LOOKS, quantile_of_look
from riskweighted.disclosure.policy import NOT_SHOWN, PASS, REFUSE, DisclosureSettings, judge

PACKS = 10
LIMIT, LEVEL = DisclosureSettings().mean, DisclosureSettings().level


def table(mean, se, largest=0.0, groups=()):
    reach = quantile_of_look(PACKS, LEVEL) * se
    row = {"variables": "income", "release": "shuffled", "group": "all", "records": 500}
    row |= {"D": mean, "se": se, "lower": mean - reach, "upper": mean + reach, "bound": 0.0}
    made = pd.DataFrame([row | {"largest_D": largest}])
    made.attrs |= {"own": True, "packs": PACKS, "leaves": "shuffled", "worst_groups": groups}
    return made


def holm(p):
    """Which hypotheses are rejected, by the definition: p in order against level / (m - rank)."""
    rejected, order = set(), np.argsort(p)
    for rank, place in enumerate(order):
        if p[place] > LEVEL / (len(p) - rank):
            break
        rejected.add(int(place))
    return rejected


@pytest.mark.parametrize("seed", range(40))
def test_refusals_are_those_of_holm(seed):
    rng = np.random.default_rng(seed)
    means, se = rng.uniform(0.02, 0.05, 4), rng.uniform(0.002, 0.02, 4)
    p = LOOKS * student.sf((means - LIMIT) / se, PACKS - 1)
    told = judge_each({str(k): table(means[k], se[k]) for k in range(4)})
    assert {int(name) for name, each in told.items() if each.verdict == REFUSE} == holm(p)
    others = {each.verdict for each in told.values() if each.verdict != REFUSE}
    assert others <= {NOT_SHOWN}  # every D lies above the limit


def test_what_one_alone_refuses_is_not_passed_by_three():
    barely = table(LIMIT + 1.05 * quantile_of_look(PACKS, LEVEL) * 0.01, 0.01)
    assert judge(barely).verdict == REFUSE
    small = table(0.001, 0.0001)
    told = judge_each({"first": barely, "second": small, "third": small})
    assert [each.verdict for each in told.values()] == [NOT_SHOWN, PASS, PASS]
    again = judge_each({"first": barely, "second": table(0.5, 0.001)})
    assert [each.verdict for each in again.values()] == [REFUSE, REFUSE]
    assert judge_each({"first": barely})["first"] == judge(barely)


def test_limits_without_an_error_are_not_corrected():
    copied = table(0.001, 0.0001, largest=0.9)
    told = judge_each({"first": copied, "second": table(0.001, 0.0001)})
    assert told["first"].verdict == REFUSE
    assert told["second"].verdict == PASS


def test_groups_are_corrected_too():
    reach = student.isf(0.05 / 8, PACKS - 1)
    worst = {"of": "released pattern", "release": "shuffled", "variables": "income", "groups": 8}
    limit = DisclosureSettings().group

    def with_group(times):
        mean = limit + times * reach * 0.01
        return table(
            0.001,
            0.0001,
            groups=({**worst, "D": mean, "lower": mean - reach * 0.01, "unshown": 0},),
        )

    of_two = student.isf(0.05 / 16, PACKS - 1) / reach
    small = table(0.001, 0.0001)
    assert judge(with_group(1.01)).verdict == REFUSE
    assert judge_each({"a": with_group(of_two - 0.01), "b": small})["a"].verdict == PASS
    assert judge_each({"a": with_group(of_two + 0.01), "b": small})["a"].verdict == REFUSE
