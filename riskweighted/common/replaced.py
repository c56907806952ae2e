"""What earlier versions offered and this one does not, and what to write in its place: for old
study files, scripts, runs and sweeps.
"""

from collections.abc import Mapping

from riskweighted.common.errors import InputError

__all__ = ["REPLACED", "refuse_replaced"]

_CHOSEN = "write 'auto', or leave engine out: how a model is sampled is chosen for it"
_TABLE = "tables/disclosure.csv holds it"
_BY_RECORD = "'attributable-isolated', or take it of riskweighted.influence"
_CLUSTER = "write 'influence-lipschitz', which is of a cluster too, or take it of "
_CLUSTER += "riskweighted.influence(cluster=)"
_CANONICAL = "riskweighted.canonical_disclosure gives it"
_MATCHES = "write 'expected-match', or take it of riskweighted.matching_risk"
_ALONE = "write {!r}, which is of each of several variables alone, too"
_WEIGHTED = (
    *("ecdf-maximum", "ecdf-mean-square", "total-variation", "level-share", "mean", "quantile"),
    *("analysis-estimate", "analysis-overlap"),
)  # of which a study with survey weights had a second measure
_SECOND = {
    "level-share": ("survey-level-share", "survey-missing-share"),
    "analysis-estimate": ("survey-regression-coefficient",),
    "analysis-overlap": ("survey-regression-overlap",),
}
_MEASURES = {
    old: f"write {key!r}, which is under the survey weights where a study has some"
    for key in _WEIGHTED
    for old in _SECOND.get(key, (f"survey-{key}",))
} | {
    "disclosure-top": f"{_TABLE}: D of the group 'top 1 %'; a limit of D is 'disclosure' or "
    "'disclosure-isolated'",
    "own-value": f"{_TABLE} in the column own_value_with; [release.disclosure] "
    "max_true_value_copies limits it",
    "own-value-without": f"{_TABLE} in the column own_value_out",
    "named-in-reverse": f"{_TABLE} in the column reversed; 'identified-records' is limited",
    "disclosure-aligned": f"{_TABLE} in the rows of the release 'aligned'; a limit of D is "
    "'disclosure'",
    "guessed-by-constant": f"{_TABLE} in the column constant",
    "hidden-aligned": "write 'hidden-named'",
    "alone-in-released-pattern": "write 'released-uniques', the same share",
    "isolated-records": "it is the number of the largest 5 % with ties, no measure of a release",
    "expected-falls": "write 'records-riskier'",
    "expected-rises": "write 'records-riskier'",
    "guessed": "write 'attack-success'",
    "guessed-without-value": "write 'attack-success-leave-one-out'",
    "guessed-without-release": "write 'attack-success-no-release'",
    "disclosure-number": "write 'persons-disclosed'",
    "named-records": "write 'identified-records'",
    "hole-attack": "write 'gap-attack'",
    "p-eff": "write 'influence-information', which is half of it",
    "influence-information-isolated": "write 'influence-information-isolated-mean', which is it "
    "over the number of isolated records",
    "attributable-mean": f"write {_BY_RECORD}",
    "attributable-top": f"write {_BY_RECORD}",
    "attributable-largest": f"write {_BY_RECORD}",
    "attributable-unreliable": "riskweighted.influence gives Pareto k of every record",
    "cluster-lipschitz": _CLUSTER,
    "cluster-range": _CLUSTER,
    "cluster-information": _CLUSTER,
    "median-risk": "write 'mean-risk'",
    "identification-risk": "write 'mean-risk'",
    "risk-quantile-95": "write 'maximum-risk' or 'records-over'",
    "share-over": "write 'records-over', which is their number",
    "largest-rise": "write 'whack-a-mole', the number of records that rise",
    "own-mean-risk": _ALONE.format("mean-risk"),
    "own-isolated-risk": _ALONE.format("isolated-risk"),
    "singleton-patterns": "riskweighted check counts them; 'released-uniques' is their share on "
    "all released columns",
    "unique-matches": _MATCHES,
    "true-match-rate": _MATCHES,
    "false-match-rate": _MATCHES,
    "hole-attack-isolated": "write 'gap-attack'",
    "rank": "riskweighted.rank_measure gives it",
    "dcap-drop": "write 'dcap-zero', or take it of riskweighted.correct_attribution",
    "tcap": "write 'dcap-zero', or take it of riskweighted.correct_attribution",
    "cap-baseline": "the yardstick of 'dcap-zero' is the label 'independent of known' of "
    "riskweighted.assess",
    "replicated-uniques": "riskweighted.replicated_uniques gives it",
    "nearest-ratio": "write 'closest-record', or take it of riskweighted.closest_records",
    "canonical-r2": _CANONICAL,
    "identification-probability": _CANONICAL,
    "canonical-reidentified": _CANONICAL,
    "midp-bound": _CANONICAL,
    "released-patterns": "write 'released-uniques'",
    "released-mean-risk": "write 'released-uniques'; riskweighted.identification_risk gives it, "
    "these columns being known",
    "released-match-risk": "write 'released-uniques'",
    "missing-share": "write 'level-share', which is of missing values and special codes too",
    "regression-coefficient": "write 'analysis-estimate'",
    "regression-overlap": "write 'analysis-overlap'",
    "one-way-mean": "write 'one-way-table', whose limit holds for every table",
    "two-way-worst": "write 'two-way-table', whose limit holds for every table",
    "check-model": "write 'fits'",
    "check-status": "write 'check-share'",
    "check-spike": "write 'check-share', as in 'check-share(exactly 100)'",
    "check-level": "write 'check-share', as in 'check-share(level yes)'",
    "check-level-of-group": "write 'check-share-of-some'",
    "check-multiple": "write 'check-share-of-some', as in 'check-share-of-some(multiples of 10)'",
    "check-two-way": "write 'check-pairs'",
    "check-crossed": "write 'check-pairs'",
}
REPLACED: Mapping[str, Mapping[str, str]] = {
    "argument": {
        "precision": "write fit = fit.with_drawing(rw.DrawingSettings(precision=...)) before it, "
        "to which all that is drawn and measured of the fit keeps"
    },
    "engine": {"direct": _CHOSEN, "importance": _CHOSEN},
    "measure": _MEASURES,
    "name": {
        "propensity_distance": "write rw.evaluate(...) or rw.assess(...), whose pMSE is of all "
        "variables of the file at once",
        "recovery_probability": "write rw.attribution(...), what all copies and columns of a "
        "release disclose of each value beyond inference, or 'attributable' of rw.influence(fit, "
        "scenario), what a record's own value adds to its guess",
    },
    "scheme": {
        "delete": "write 'drop-riskiest'",
        "delete+": "write 'drop-riskiest+'",
        "others": "write 'others-in-ball'",
        "others+": "write 'others-in-ball+'",
        "lipschitz+": "write 'mix+(t=0.5)', 'bounded+(b=0.1)', or 'lipschitz' without the plus",
        "lipschitz-target+": "write 'bounded+(b=0.1)', or 'lipschitz-target' without the plus",
        "reweighted+": "write 'power+(g=0.25)', or 'reweighted' without the plus",
    },
    "setting": {  # by its whole name
        "release.disclosure.named": "write 'max_identified'",
        "release.disclosure.named_share": "write 'max_identified_share'",
        "release.disclosure.own_value": "write 'max_true_value_copies'",
        "release.unshuffled": "write 'unshuffled_reason'",
        "synthesizer.on_broken": 'write \'violations\', which is "error" or "exclude"',
        "synthesizer.variables.otherwise": "write 'else_value'",
        "synthesizer.variables.when": "write 'applies_if'",
        "weights.at_most": "write 'target_max'",
        "weights.keep": "write 'constraints'",
        "weights.match": 'write \'risk_of\', whose "own" is "each-variable"',
    },
}


def refuse_replaced(what: str, name: object) -> None:
    """Refuse a name that is offered no more by one line that says what to write in its place;
    `what` it names, as in `REPLACED`.
    """
    if isinstance(name, str) and name in REPLACED[what]:
        raise InputError(f"{what} {name!r} is offered no more: {REPLACED[what][name]}")
