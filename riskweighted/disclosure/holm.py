"""What datasets give away to each of several intruders, judged together: a release passes if it
passes by every one of them, and the refusals are corrected for their number (Holm 1979).
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from scipy.stats import norm, t as student

from riskweighted.disclosure.comparison import LEVEL_OF_GROUPS
from riskweighted.disclosure.own_packs import LOOKS
from riskweighted.disclosure.policy import REFUSE, DisclosureSettings, DisclosureVerdict, judge

__all__ = ["judge_each"]

_TESTED = {"mean", "isolated", "group"}  # rules whose limits have an error; others are no tests


def judge_each(
    tables: Mapping[str, pd.DataFrame], settings: DisclosureSettings | None = None
) -> dict[str, DisclosureVerdict]:
    """Return the verdict by each intruder of what `riskweighted.attribution` gives under each.

    A refusal says that D of some intruder is above a limit. Of m intruders not refused yet its
    lower limits are held at the level divided by m, until none more is refused. Upper limits stay
    as they are: all must lie below.
    """
    settings = settings or DisclosureSettings()
    judged = dict[str, DisclosureVerdict]()
    waiting = list(tables)
    while waiting:
        together = {
            name: judge(_corrected(tables[name], len(waiting), settings.level), settings)
            for name in waiting
        }
        refused = [
            name
            for name, verdict in together.items()
            if verdict.verdict == REFUSE and _TESTED & set(verdict.rules)
        ]
        judged |= {name: together[name] for name in refused or waiting}
        waiting = [name for name in waiting if name not in refused] if refused else []
    return {name: judged[name] for name in tables}


def _corrected(table: pd.DataFrame, count: int, level: float) -> pd.DataFrame:
    """The table with the lower limits of so many intruders together."""
    if count == 1 or not len(table):
        return table
    own, degrees = bool(table.attrs.get("own")), max(int(table.attrs.get("packs", 0)) - 1, 1)

    def times(level: float) -> float:
        """By how much an error is multiplied more than at the level of one."""
        shares = (level / count, level)
        together, alone = (student.isf(each, degrees) if own else norm.isf(each) for each in shares)
        return float(together / alone)

    def lowered(row: Any, times: float) -> Any:
        return row["D"] - (row["D"] - row["lower"]) * times

    of_all, worst = times(level / LOOKS if own else level), table.attrs.get("worst_groups", ())
    made = table.assign(lower=lowered(table, of_all))
    made.attrs = table.attrs | {
        "narrow": tuple(
            {**row, "lower": lowered(row, of_all)} for row in table.attrs.get("narrow", ())
        ),
        "worst_groups": tuple(
            {**row, "lower": lowered(row, times(LEVEL_OF_GROUPS / max(row["groups"], 1)))}
            for row in worst
        ),
    }
    return made
