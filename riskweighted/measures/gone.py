"""Keys of measures that went, and what to write, or to read, in their place."""

from riskweighted.common.errors import InputError

__all__ = ["GONE", "refuse_gone"]

_TABLE = "tables/disclosure.csv holds it"
_CLUSTER = "write 'cluster-lipschitz', or take it of riskweighted.influence(cluster=)"
_CANONICAL = "write 'identification-probability', or take it of riskweighted.canonical_disclosure"
GONE = {
    "disclosure-top": f"{_TABLE}: D of the group 'top 1 %'; a limit of D is 'disclosure' or "
    "'disclosure-isolated'",
    "own-value": f"{_TABLE} in the column own_value_with; [release.disclosure] own_value limits it",
    "own-value-without": f"{_TABLE} in the column own_value_out",
    "named-in-reverse": f"{_TABLE} in the column reversed; 'named-records' is limited",
    "disclosure-aligned": f"{_TABLE} in the rows of the release 'aligned'; a limit of D is "
    "'disclosure'",
    "alone-in-released-pattern": "write 'released-uniques', the same share",
    "isolated-records": "it is the number of the largest 5 % with ties, no measure of a release",
    "expected-falls": "write 'expected-rises'",
    "p-eff": "write 'influence-information', which is half of it",
    "attributable-mean": "write 'attributable-isolated', or take it of riskweighted.influence",
    "attributable-top": "write 'attributable-isolated', or take it of riskweighted.influence",
    "attributable-largest": "write 'attributable-isolated', or take it of riskweighted.influence",
    "attributable-unreliable": "riskweighted.influence gives Pareto k of every record",
    "cluster-range": _CLUSTER,
    "cluster-information": _CLUSTER,
    "median-risk": "write 'mean-risk'",
    "identification-risk": "write 'mean-risk'",
    "share-over": "write 'records-over', which is their number",
    "unique-matches": "write 'true-match-rate' or 'false-match-rate', or take it of "
    "riskweighted.matching_risk",
    "hole-attack-isolated": "write 'hole-attack'",
    "dcap-drop": "write 'dcap-zero', or take it of riskweighted.correct_attribution",
    "nearest-ratio": "write 'closest-record', or take it of riskweighted.closest_records",
    "canonical-reidentified": _CANONICAL,
    "midp-bound": _CANONICAL,
    "released-patterns": "write 'released-uniques'",
    "released-match-risk": "write 'released-mean-risk'",
}


def refuse_gone(key: object, called: str = "") -> None:
    """Refuse the key of a measure that went by one line that says what to write in its place;
    `called`: what was asked for by it.
    """
    if isinstance(key, str) and key in GONE:
        raise InputError(f"{called} {key!r} is no measure any more: {GONE[key]}".lstrip())
