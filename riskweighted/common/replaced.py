"""What earlier versions offered and this one does not, and what to write in its place: for old
study files, scripts, runs and sweeps.
"""

from collections.abc import Mapping

from riskweighted.common.errors import InputError

__all__ = ["REPLACED", "refuse_replaced"]

_CHOSEN = "'auto', or leave engine out: how a model is sampled is chosen for it"
REPLACED: Mapping[str, Mapping[str, str]] = {
    "argument": {
        "precision": "fit = fit.with_drawing(rw.DrawingSettings(precision=...)) before it, to "
        "which all that is drawn and measured of the fit keeps"
    },
    "engine": {"direct": _CHOSEN, "importance": _CHOSEN},
    "name": {
        "propensity_distance": "rw.evaluate(...) or rw.assess(...), whose pMSE is of all "
        "variables of the file at once",
        "recovery_probability": "rw.attribution(...), what all copies and columns of a release "
        "tell of each value beyond inference, or 'attributable' of rw.influence(fit, scenario), "
        "what a record's own value adds to its guess",
    },
    "scheme": {
        "lipschitz+": "'mix+(t=0.5)', 'bounded+(b=0.1)', or 'lipschitz' without the plus",
        "lipschitz-target+": "'bounded+(b=0.1)', or 'lipschitz-target' without the plus",
        "reweighted+": "'power+(g=0.25)', or 'reweighted' without the plus",
    },
}


def refuse_replaced(what: str, name: object) -> None:
    """Refuse a name that is offered no more by one line that says what to write in its place;
    `what` it names, as in `REPLACED`.
    """
    if isinstance(name, str) and name in REPLACED[what]:
        raise InputError(f"{what} {name!r} is offered no more: write {REPLACED[what][name]}")
