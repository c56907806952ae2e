# The public names, each with its home: read by type checkers, and by riskweighted/__init__.py,
# which loads them lazily.

from .common.errors import (
    ConvergenceWarning as ConvergenceWarning,
    DerivedWarning as DerivedWarning,
    ExplosionWarning as ExplosionWarning,
    FewRecordsWarning as FewRecordsWarning,
    FlatWeightsWarning as FlatWeightsWarning,
    InputError as InputError,
    MarginShiftWarning as MarginShiftWarning,
    OverfillWarning as OverfillWarning,
    SingletonWarning as SingletonWarning,
    SparseLevelWarning as SparseLevelWarning,
    UnitsWarning as UnitsWarning,
    UnscoredWarning as UnscoredWarning,
)
from .common.survey_weights import survey_weights as survey_weights
from .common.units import Units as Units
from .conformance.checking import check_synthesizer as check_synthesizer
from .contract.centring import CentredWeights as CentredWeights
from .contract.equations import Mix as Mix, Regression as Regression
from .contract.synthesizer import (
    Blueprint as Blueprint,
    ContractError as ContractError,
    Prepared as Prepared,
    Synthesizer as Synthesizer,
    chain_names as chain_names,
    load_synthesizer as load_synthesizer,
    synthesizer_names as synthesizer_names,
)
from .data.variable import Variable as Variable
from .data.variables import Variables as Variables
from .derivation.derived import derived as derived
from .derivation.find import (
    FoundStructure as FoundStructure,
    find_structure as find_structure,
)
from .design.design import (
    Design as Design,
    build_design as build_design,
    response_values as response_values,
)
from .design.formulas import response_name as response_name
from .design.transforms import Transform as Transform
from .disclosure.attribution import attribution as attribution
from .disclosure.folds import (
    Folds as Folds,
    read_folds as read_folds,
    write_folds as write_folds,
)
from .disclosure.policy import DisclosureSettings as DisclosureSettings
from .evaluation.assess import (
    Assessment as Assessment,
    assess as assess,
)
from .evaluation.evaluate import (
    Evaluation as Evaluation,
    evaluate as evaluate,
)
from .evaluation.fit_check import (
    check_fit as check_fit,
    fit_verdict as fit_verdict,
)
from .guarantee.statement import (
    Guarantee as Guarantee,
    Reference as Reference,
    Statement as Statement,
)
from .intruder.intruders import Intruder as Intruder
from .intruder.scenario import Scenario as Scenario
from .measures.context import Context as Context
from .measures.evaluation_settings import EvaluationSettings as EvaluationSettings
from .measures.measure import (
    Disclosure as Disclosure,
    Measure as Measure,
    Value as Value,
)
from .plots.attack_success import plot_attack_success as plot_attack_success
from .plots.coefficients import plot_coefficients as plot_coefficients
from .plots.conditional import plot_conditional as plot_conditional
from .plots.convergence_plot import plot_convergence as plot_convergence
from .plots.frontier import plot_frontier as plot_frontier
from .plots.level_plot import plot_levels as plot_levels
from .plots.panel_plot import plot_waves as plot_waves
from .plots.quantiles import plot_quantiles as plot_quantiles
from .plots.reidentification import plot_reidentification as plot_reidentification
from .plots.risk_plots import (
    plot_risk_violins as plot_risk_violins,
    plot_whack_a_mole as plot_whack_a_mole,
)
from .plots.risk_utility import plot_risk_utility as plot_risk_utility
from .plots.sweep_plot import plot_sweep as plot_sweep
from .plots.two_way_plot import plot_two_way as plot_two_way
from .plots.utility_plots import (
    plot_density as plot_density,
    plot_ecdf as plot_ecdf,
    plot_intervals as plot_intervals,
)
from .plots.weight_plot import plot_weights as plot_weights
from .reidentification.attack import (
    Reidentification as Reidentification,
    reidentify as reidentify,
)
from .reidentification.attack_study import (
    ReidentificationStudy as ReidentificationStudy,
    load_reidentification_study as load_reidentification_study,
    run_reidentification_study as run_reidentification_study,
)
from .reidentification.linkage import (
    LinkageResult as LinkageResult,
    linkage_pairs as linkage_pairs,
    threshold_sweep as threshold_sweep,
)
from .reidentification.scores import (
    BreakScores as BreakScores,
    PairScores as PairScores,
    read_scores as read_scores,
)
from .release.pack import (
    ReleasePack as ReleasePack,
    check_release as check_release,
    release_run as release_run,
)
from .reports.render import render_report as render_report
from .reports.summary_table import (
    summary_table as summary_table,
    to_latex as to_latex,
    to_markdown as to_markdown,
)
from .risk.accountant import (
    Release as Release,
    accountant as accountant,
)
from .risk.attribute import (
    correct_attribution as correct_attribution,
    replicated_uniques as replicated_uniques,
)
from .risk.canonical import (
    canonical_disclosure as canonical_disclosure,
    canonical_disclosure_by as canonical_disclosure_by,
    midp_bound as midp_bound,
)
from .risk.expected_identification import (
    expected_identification_risk as expected_identification_risk,
)
from .risk.identification import identification_risk as identification_risk
from .risk.influence import influence as influence
from .risk.matching import (
    MatchingRisk as MatchingRisk,
    matching_risk as matching_risk,
)
from .risk.rank import rank_measure as rank_measure
from .risk.record_distances import (
    ClosestRecords as ClosestRecords,
    closest_records as closest_records,
)
from .runs.choice import (
    Choice as Choice,
    choose_synthesizer as choose_synthesizer,
)
from .runs.finished import (
    FinishedRun as FinishedRun,
    load_run as load_run,
)
from .runs.run import run_study as run_study
from .runs.study import (
    Study as Study,
    load_study as load_study,
)
from .sampling.block_fit import BlockFit as BlockFit
from .sampling.sampling_settings import Sampling as Sampling
from .sequence.fit import Fit as Fit
from .sequence.fitting import compile_model as compile_model, fit as fit
from .sequence.rounding import DrawingSettings as DrawingSettings
from .sequence.saved import load_fit as load_fit
from .sweeps.settings_grid import (
    Sweep as Sweep,
    load_sweep as load_sweep,
)
from .sweeps.sweep import (
    SweepResult as SweepResult,
    sweep as sweep,
)
from .tuning.tune import tune as tune
from .tuning.tuning_tables import Tuning as Tuning
from .utility.bootstrap import pooled_bootstrap as pooled_bootstrap
from .utility.combining_rules import (
    combine_fully_synthetic as combine_fully_synthetic,
    combine_partially_synthetic as combine_partially_synthetic,
    interval_overlap as interval_overlap,
    joint_test_partially_synthetic as joint_test_partially_synthetic,
)
from .utility.contingency_tables import table_utility as table_utility
from .utility.ecdf import ecdf_distance as ecdf_distance
from .utility.survey_design import SurveyDesign as SurveyDesign, survey_design as survey_design
from .utility.survey_estimates import (
    survey_mean as survey_mean,
    survey_quantile as survey_quantile,
    survey_ratio as survey_ratio,
    weighted_ecdf_distance as weighted_ecdf_distance,
)
from .utility.variance_ratios import variance_ratios as variance_ratios
from .weights.adjust import (
    adjust_weights as adjust_weights,
    cluster_weights as cluster_weights,
    equalize_weights as equalize_weights,
    risk_weights as risk_weights,
)
from .weights.kway import (
    kway_weights as kway_weights,
    marginal_weights as marginal_weights,
    pairwise_weights as pairwise_weights,
)
from .weights.margins import (
    margin_shift as margin_shift,
    warn_of_shift as warn_of_shift,
)
from .weights.match import (
    centred_weights as centred_weights,
    match_weights as match_weights,
)
from .weights.schemes import scheme_weights as scheme_weights

__version__: str
