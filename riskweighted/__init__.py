"""Risk-weighted Bayesian data synthesis (Hu, Savitsky & Williams, arXiv 1908.07639).

Names are loaded when first used, so that weights and risk measures do not wait for PyMC.
"""

import logging
from importlib import import_module
from importlib.metadata import version
from typing import Any

# PyTensor warns at import that it found no C++ compiler. We compile with numba and need none.
logging.getLogger("pytensor.configdefaults").setLevel(logging.ERROR)

_HOME = {
    "ConvergenceWarning": "errors",
    "InputError": "errors",
    "SingletonWarning": "errors",
    "Scenario": "scenario",
    "adjust_weights": "weights",
    "equalize_weights": "weights",
    "kway_weights": "weights",
    "marginal_weights": "weights",
    "pairwise_weights": "weights",
    "risk_weights": "weights",
    "identification_risk": "risk.identification",
    "MatchingRisk": "risk.matching",
    "matching_risk": "risk.matching",
    "rank_measure": "risk.rank",
    "canonical_disclosure": "risk.canonical",
    "canonical_disclosure_by": "risk.canonical",
    "correct_attribution": "risk.attribute",
    "recovery_probability": "risk.recovery",
    "replicated_uniques": "risk.attribute",
    "Assessment": "assessment",
    "assess": "assessment",
    "load_synthesizer": "synthesizer",
    "synthesizer_names": "synthesizer",
    "Fit": "pseudo_posterior",
    "Sampling": "pseudo_posterior",
    "compile_model": "pseudo_posterior",
    "fit": "pseudo_posterior",
    "load_fit": "pseudo_posterior",
    "Evaluation": "evaluation",
    "evaluate": "evaluation",
    "ecdf_distance": "utility.ecdf",
    "combine_fully_synthetic": "utility.intervals",
    "combine_partially_synthetic": "utility.intervals",
    "interval_overlap": "utility.intervals",
    "joint_test_partially_synthetic": "utility.intervals",
    "pooled_bootstrap": "utility.bootstrap",
    "propensity_distance": "utility.propensity",
    "Study": "study",
    "load_study": "study",
    "run_study": "run",
    "Sweep": "sweep_grid",
    "SweepResult": "sweeping",
    "load_sweep": "sweep_grid",
    "sweep": "sweeping",
    "ce_facts": "ce_facts",
    "BreakScores": "reidentification.scores",
    "PairScores": "reidentification.scores",
    "Reidentification": "reidentification.attack",
    "read_scores": "reidentification.scores",
    "reidentify": "reidentification.attack",
    "ReidentificationStudy": "reidentification.study",
    "load_reidentification_study": "reidentification.study",
    "run_reidentification_study": "reidentification.study",
    "LinkageResult": "reidentification.linkage",
    "linkage_pairs": "reidentification.linkage",
    "threshold_sweep": "reidentification.linkage",
    "FinishedRun": "run_folder",
    "load_run": "run_folder",
    "ReleasePack": "release_pack",
    "release_run": "release_pack",
    "render_report": "reports",
    "summary_table": "summary_tables",
    "to_latex": "summary_tables",
    "to_markdown": "summary_tables",
    "plot_convergence": "plots",
    "plot_density": "plots",
    "plot_ecdf": "plots",
    "plot_intervals": "plots",
    "plot_reidentification": "plots",
    "plot_risk_utility": "plots",
    "plot_risk_violins": "plots",
    "plot_sweep": "plots",
    "plot_weights": "plots",
    "plot_whack_a_mole": "plots",
}

__all__ = ["__version__", *sorted(_HOME)]
__version__ = version("riskweighted")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'riskweighted' has no attribute {name!r}")
    return getattr(import_module(f"riskweighted.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
