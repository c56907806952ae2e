# The public names, each with its home: read by type checkers, and by riskweighted/__init__.py, which loads them lazily.

from .common.errors import (
    ConvergenceWarning as ConvergenceWarning,
)
from .common.errors import (
    InputError as InputError,
)
from .common.errors import (
    SingletonWarning as SingletonWarning,
)
from .evaluation.assess import (
    Assessment as Assessment,
)
from .evaluation.assess import (
    assess as assess,
)
from .evaluation.ce_facts import ce_facts as ce_facts
from .evaluation.evaluate import (
    Evaluation as Evaluation,
)
from .evaluation.evaluate import (
    evaluate as evaluate,
)
from .intruder.scenario import Scenario as Scenario
from .plots.convergence import plot_convergence as plot_convergence
from .plots.reidentification import plot_reidentification as plot_reidentification
from .plots.risk import (
    plot_risk_violins as plot_risk_violins,
)
from .plots.risk import (
    plot_whack_a_mole as plot_whack_a_mole,
)
from .plots.risk_utility import plot_risk_utility as plot_risk_utility
from .plots.sweeps import plot_sweep as plot_sweep
from .plots.utility import (
    plot_density as plot_density,
)
from .plots.utility import (
    plot_ecdf as plot_ecdf,
)
from .plots.utility import (
    plot_intervals as plot_intervals,
)
from .plots.weights import plot_weights as plot_weights
from .reidentification.attack import (
    Reidentification as Reidentification,
)
from .reidentification.attack import (
    reidentify as reidentify,
)
from .reidentification.linkage import (
    LinkageResult as LinkageResult,
)
from .reidentification.linkage import (
    linkage_pairs as linkage_pairs,
)
from .reidentification.linkage import (
    threshold_sweep as threshold_sweep,
)
from .reidentification.scores import (
    BreakScores as BreakScores,
)
from .reidentification.scores import (
    PairScores as PairScores,
)
from .reidentification.scores import (
    read_scores as read_scores,
)
from .reidentification.study import (
    ReidentificationStudy as ReidentificationStudy,
)
from .reidentification.study import (
    load_reidentification_study as load_reidentification_study,
)
from .reidentification.study import (
    run_reidentification_study as run_reidentification_study,
)
from .release.pack import (
    ReleasePack as ReleasePack,
)
from .release.pack import (
    release_run as release_run,
)
from .reports.render import render_report as render_report
from .reports.summary import (
    summary_table as summary_table,
)
from .reports.summary import (
    to_latex as to_latex,
)
from .reports.summary import (
    to_markdown as to_markdown,
)
from .risk.attribute import (
    correct_attribution as correct_attribution,
)
from .risk.attribute import (
    replicated_uniques as replicated_uniques,
)
from .risk.canonical import (
    canonical_disclosure as canonical_disclosure,
)
from .risk.canonical import (
    canonical_disclosure_by as canonical_disclosure_by,
)
from .risk.identification import identification_risk as identification_risk
from .risk.matching import (
    MatchingRisk as MatchingRisk,
)
from .risk.matching import (
    matching_risk as matching_risk,
)
from .risk.rank import rank_measure as rank_measure
from .risk.recovery import recovery_probability as recovery_probability
from .runs.finished import (
    FinishedRun as FinishedRun,
)
from .runs.finished import (
    load_run as load_run,
)
from .runs.run import run_study as run_study
from .runs.study import (
    Study as Study,
)
from .runs.study import (
    load_study as load_study,
)
from .sweeps.grid import (
    Sweep as Sweep,
)
from .sweeps.grid import (
    load_sweep as load_sweep,
)
from .sweeps.sweep import (
    SweepResult as SweepResult,
)
from .sweeps.sweep import (
    sweep as sweep,
)
from .synthesis.contract import (
    Blueprint as Blueprint,
)
from .synthesis.contract import (
    Synthesizer as Synthesizer,
)
from .synthesis.contract import (
    load_synthesizer as load_synthesizer,
)
from .synthesis.contract import (
    synthesizer_names as synthesizer_names,
)
from .synthesis.design import (
    Design as Design,
)
from .synthesis.design import (
    build_design as build_design,
)
from .synthesis.design import (
    response_name as response_name,
)
from .synthesis.design import (
    response_values as response_values,
)
from .synthesis.fitting import (
    Fit as Fit,
)
from .synthesis.fitting import (
    Sampling as Sampling,
)
from .synthesis.fitting import (
    compile_model as compile_model,
)
from .synthesis.fitting import (
    fit as fit,
)
from .synthesis.fitting import (
    load_fit as load_fit,
)
from .synthesis.transforms import Transform as Transform
from .utility.bootstrap import pooled_bootstrap as pooled_bootstrap
from .utility.ecdf import ecdf_distance as ecdf_distance
from .utility.intervals import (
    combine_fully_synthetic as combine_fully_synthetic,
)
from .utility.intervals import (
    combine_partially_synthetic as combine_partially_synthetic,
)
from .utility.intervals import (
    interval_overlap as interval_overlap,
)
from .utility.intervals import (
    joint_test_partially_synthetic as joint_test_partially_synthetic,
)
from .utility.propensity import propensity_distance as propensity_distance
from .weights.adjust import (
    adjust_weights as adjust_weights,
)
from .weights.adjust import (
    equalize_weights as equalize_weights,
)
from .weights.adjust import (
    risk_weights as risk_weights,
)
from .weights.kway import (
    kway_weights as kway_weights,
)
from .weights.kway import (
    marginal_weights as marginal_weights,
)
from .weights.kway import (
    pairwise_weights as pairwise_weights,
)

__version__: str
