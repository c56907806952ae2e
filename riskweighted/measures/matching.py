"""Whether an intruder who looks for all synthesized variables finds the record (Reiter & Mitra
2009), and finds the isolated ones.
"""

from collections.abc import Iterator
from functools import partial

from riskweighted.common.exact import ExactSum
from riskweighted.measures.context import Context
from riskweighted.measures.expected import ISOLATED_RECORDS
from riskweighted.measures.measure import Disclosure, Measure, Value, share_of_records
from riskweighted.measures.parts import ByParts, Tally

__all__ = ["MEASURES"]


def _tally(context: Context) -> Tally | None:
    """On all synthesized variables together; of several, as of one they say no more."""
    if context.risk is None or context.matched is None or len(context.scenario.synthetic) == 1:
        return None
    return Tally(
        matched=ExactSum.of(context.matched),
        isolated=ExactSum.of(context.risk[context.subject.isolated]),
    )


def _values(total: Tally | None, context: Context) -> Iterator[Value]:
    """Match risk, and risk of the isolated records."""
    if total is not None:
        yield Value(_EXPECTED, total["matched"].sum)
        yield Value(_ISOLATED, total["isolated"].mean)


joint = ByParts(_tally, _values)


def assessed(context: Context) -> Iterator[Value]:
    """Match risks of any tool's data whose rows pair, with intervals."""
    if context.paired is None:
        return
    from riskweighted.risk.matching import match
    from riskweighted.utility.intervals import mean_interval

    matches, n, level = match(context.paired), len(context.confidential), context.settings.level
    lower, upper = mean_interval(matches.expected_by_target, level=level)
    yield Value(
        _EXPECTED,
        matches.expected_match_risk,
        interval=(n * lower, n * upper),
        rule="t interval over records",
    )
    yield share_of_records(_TRUE, matches.true_match_rate, n, level)
    yield share_of_records(
        _FALSE, matches.false_match_rate, matches.unique_matches, level, "unique matches"
    )


_of_pairs = partial(
    Measure, source="Hu's lecture on matching-based risk", direction="riskier", order=60, pairs=True
)
_EXPECTED = _of_pairs(
    "expected-match",
    "expected match risk",
    "sum over records of T/c, mean over datasets (Hu's lecture)",
    kind="sum",
    disclosure=Disclosure.THREE_DIGITS,
    compute=joint,
    assess=assessed,
    main=100,
)
_ISOLATED = _of_pairs(
    "isolated-risk",
    "risk of isolated records",
    f"mean over the {ISOLATED_RECORDS}, of {{risk}}",
    source="METHODS section 2.6",
    kind="mean",
    disclosure=Disclosure.THREE_DECIMALS,
    share=0.05,
    compute=joint,
    main=110,
)
_rate = partial(_of_pairs, kind="share", assess=assessed)
_TRUE = _rate(
    "true-match-rate",
    "true match rate",
    "share of records whose unique match is the true one, mean over datasets (Hu's lecture)",
)
_FALSE = _rate(
    "false-match-rate",
    "false match rate",
    "share of false ones among the unique matches, mean over datasets (Hu's lecture); undefined "
    "without a unique match",
    direction="safer",
)
MEASURES = (_EXPECTED, _ISOLATED, _TRUE, _FALSE)
