"""The methods of a release in plain English, for its user: what `methods.md` of a pack says, made
from the run's study and what was decided of it.

It holds settings that the pack's manifest states too, and figures as the releasable report shows
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from riskweighted.common.found import hide_found
from riskweighted.common.numbers import exactly
from riskweighted.contract.descriptions import describe_synthesizers
from riskweighted.contract.synthesizer import load_synthesizer
from riskweighted.design.transforms import Transform
from riskweighted.evaluation.main_table import CONVERGED, FITS
from riskweighted.reports.glossary import ball_rule
from riskweighted.reports.intruder_section import figures_of
from riskweighted.reports.output_rules import outside
from riskweighted.runs.finished import FinishedRun
from riskweighted.runs.guarantee_checks import guarantee_statement
from riskweighted.runs.study import Study
from riskweighted.weights.scheme_names import UNWEIGHTED, parse_scheme
from riskweighted.weights.user_weights import source_of

__all__ = ["WEIGHTS", "methods_facts"]

# of a record, by scheme; alpha is the marginal weight
WEIGHTS: Mapping[str, str] = {
    UNWEIGHTED: "every record counts in full, with weight 1",
    "marginal": "1 less the share of the known pattern whose values lie outside the ball "
    "(Hu et al. 2022, eq. 3)",
    "pairwise": "1 less the mean, over the others of the known pattern, of the share whose values "
    "lie outside both balls (Hu et al. 2022, eq. 6 to 9)",
    "uniform": "every record has weight c",
    "drop-riskiest": "0 where the risk exceeds its quantile at 1 - q, else 1",
    "power": "the marginal weight to the power g",
    "mix": "1 - t (1 - alpha), alpha the marginal weight",
    "others-in-ball": "the share of the other records of the known pattern whose values lie in "
    "the ball",
    "lipschitz": "falls with the largest log likelihood of the record under the unweighted fit",
    "lipschitz-target": "at most D over the largest log likelihood of the record under the "
    "unweighted fit",
    "reweighted": "that of a former scheme times the largest influence of all records over the "
    "record's own, c times, at most 1 (Savitsky et al. 2020)",
    "reweighted(by=risk)": "that of a former scheme, lowered by the ratio of expected risks where "
    "the record's rises against the unweighted fit",
    "bounded": "at most b over the length of the record's score",
    "budget": "at most b times 1 less the record's risk, over the length of its score",
}
_WAYS = "1 less the mean share of the known pattern outside the balls of the record and others"
_ENGINES = {
    "nuts": "by chains of NUTS (Hoffman and Gelman 2014)",
    "direct": "by Pareto smoothed importance sampling (Vehtari et al. 2024)",
}
_REFERENCES = {
    "hoffman": "Hoffman, M. D. and Gelman, A. (2014). The No-U-Turn sampler: adaptively setting "
    "path lengths in Hamiltonian Monte Carlo. Journal of Machine Learning Research 15.",
    "holm": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
    "Scandinavian Journal of Statistics 6.",
    "hu": "Hu, J., Savitsky, T. D. and Williams, M. R. (2022). Risk-efficient Bayesian data "
    "synthesis for privacy protection. Journal of Survey Statistics and Methodology. "
    "arXiv 1908.07639.",
    "mechanisms": "Hu, J., Williams, M. R. and Savitsky, T. D. (2022). Mechanisms for global "
    "differential privacy under Bayesian data synthesis. arXiv 2205.05003.",
    "reiter": "Reiter, J. P. (2003). Inference for partially synthetic, public use microdata sets. "
    "Survey Methodology 29.",
    "reweighting": "Savitsky, T. D., Hu, J. and Williams, M. R. (2020). Re-weighting of "
    "vector-weighted mechanisms for utility maximization under differential privacy. "
    "arXiv 2006.01230.",
    "toth": "Savitsky, T. D. and Toth, D. (2016). Bayesian estimation under informative sampling. "
    "Electronic Journal of Statistics 10.",
    "vehtari": "Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto "
    "smoothed importance sampling. Journal of Machine Learning Research 25.",
}


def methods_facts(run: FinishedRun, schemes: Sequence[str]) -> dict[str, Any]:
    """What the page says beside what other pages say: the model of each variable, weights and fit
    by scheme, the scenario, figures, what is proved, and the references to all that.
    """
    study, scenario = run.study, run.study.evaluating_scenario()
    view = outside(run.manifest["input"]["records"])
    figures = figures_of(run.tables["risk"], view, schemes)
    engines = {scheme: _engines(run, scheme) for scheme in schemes}
    return {
        "models": _models(study),
        "predictors": _predictors(study),
        "chosen": "tables/choice.csv" in run.manifest["files"],
        "tuned": (run.manifest.get("tuning") or {}).get("scheme"),
        "fitted": run.manifest["input"].get("fitted"),
        "known": scenario.known,
        "ball": ball_rule(scenario, internal=False),
        "judged_by": study.intruder,
        "weights": {scheme: weight_words(scheme) for scheme in schemes},
        "adjusted": _adjusted(study),
        "survey": study.weights.survey,
        "match": _match(study),
        "fits": {scheme: _fit(run, scheme, engines[scheme]) for scheme in schemes},
        "posterior_draws": study.sampling.chains * study.sampling.draws,
        "figures": {
            scheme: {title: texts[place] for title, texts in figures.items()}
            for place, scheme in enumerate(schemes)
        },
        "accepted_rules": dict(study.release.disclosure.accept),
        "proved": guarantee_statement(study),
        "references": _references(study, schemes, {name for of in engines.values() for name in of}),
    }


def weight_words(scheme: str) -> str:
    """How a scheme makes the weight of a record, in words; of weights of one's own what is told of
    these elsewhere.
    """
    if source_of(scheme) is not None:
        return "weights of the agency's own"
    named = parse_scheme(scheme)
    words = WEIGHTS.get(named.plain.name, _WAYS)
    centred = "; centred by a term that removes the bias of the weights" if named.centred else ""
    return f"{words}{centred}"


def _models(study: Study) -> list[dict[str, str]]:
    """Each variable with its model, what that is, its formula, and the number that is modelled
    where it is not the variable itself, as far as they are stated.
    """
    told, synthesizer = describe_synthesizers(), study.synthesizer
    models = []
    for name, table in study.tables.items():
        single = synthesizer.formula is not None
        model = synthesizer.name if single else str(table.get("model") or "")
        formula = synthesizer.formula if single else table.get("formula")
        models.append(
            {
                "variable": name,
                "model": model,
                "what": told.get(model, "").rstrip("."),
                "formula": str(formula or ""),
                "of": _modelled(name, model, table),
            }
        )
    return models


def _modelled(variable: str, model: str, table: Mapping[str, Any]) -> str:
    """In words, what number of a variable is modelled, by the settings of its model or what they
    are where they are not given; "" where it is the variable itself, or the model has no transform.
    """
    made = load_synthesizer(model) if model else None
    usual: dict[str, Any] = {}
    if is_dataclass(made):
        usual = {field.name: field.default for field in fields(made)}
    settings = usual | dict(table)
    if "transform" not in usual:
        return ""
    return Transform(settings["transform"], settings.get("transform_constant")).words(variable)


def _predictors(study: Study) -> dict[str, Any]:
    """Of a chain its name and the unaltered columns that predict every variable; nothing of a
    single model.
    """
    synthesizer = study.synthesizer
    if synthesizer.formula is not None:
        return {}
    given = hide_found(synthesizer.settings.get("predictors", ()))
    return {
        "chain": synthesizer.name,
        "columns": list(given),
    }


def _adjusted(study: Study) -> str:
    """How the weights of every scheme but the unweighted one were changed."""
    scale, shift, cluster = (getattr(study.weights, name) for name in ("scale", "shift", "cluster"))
    changed = [f"were changed to clip({exactly(scale)} alpha + {exactly(shift)}, 0, 1)"]
    changed = changed if (scale, shift) != (1, 0) else []
    if study.units is not None:
        changed.append("are at most those of the members before the record in its unit")
    elif cluster is not None:
        changed.append(f"are the smallest of all records with the same {cluster}")
    return ", and ".join(changed)


def _match(study: Study) -> str:
    """Of several variables whose ball makes the weights of each."""
    if len(study.variables) == 1:
        return ""
    match = study.weights.risk_of
    if match == "each-variable":
        return "each variable's weights are made of its own ball"
    if match == "joint":
        return "the weights of all variables are made of the one box of all of them"
    return "the weights are made of the boxes of " + "; ".join(map(", ".join, match))


def _engines(run: FinishedRun, scheme: str) -> list[str]:
    """What drew the posterior of a scheme."""
    table = run.tables["convergence"]
    return [str(name) for name in dict.fromkeys(table.loc[table["label"] == scheme, "engine"])]


def _fit(run: FinishedRun, scheme: str, engines: Sequence[str]) -> dict[str, str]:
    """How the posterior of a scheme was drawn, whether the draws converged, and whether the model
    suits the data: yes, warn or NO; nothing where that was not judged of it.
    """
    row = run.summary.loc[scheme]
    return {
        "how": " and ".join(_ENGINES.get(name, name) for name in engines),
        "converged": str(row[CONVERGED.name]),
        "suits": str(row[FITS.name]) if str(row[FITS.name]) in ("yes", "warn", "NO") else "",
    }


def _references(study: Study, schemes: Sequence[str], engines: set[str]) -> list[str]:
    """Full references of what the page cites, in the order of the authors."""
    names = {parse_scheme(scheme).plain.name for scheme in schemes}
    cited = {
        "hu": True,
        "reiter": study.release.L > 1,
        "holm": bool(study.intruders),
        "toth": study.weights.survey is not None,
        "mechanisms": study.guarantee is not None,
        "reweighting": "reweighted" in names,
        "hoffman": "nuts" in engines,
        "vehtari": "direct" in engines,
    }
    return [text for name, text in _REFERENCES.items() if cited[name]]
