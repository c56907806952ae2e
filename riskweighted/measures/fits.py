"""Whether the model suits the data, how much of the likelihood a fit kept, and whether its chains
agree.
"""

from riskweighted.measures.measure import Disclosure, Measure

__all__ = ["CONVERGED", "FITS", "MEAN_WEIGHT", "MEASURES", "R_HAT"]

FITS = Measure(
    "fits",
    "model fits",
    "every check of the unweighted fit passes (tables/fit_check.csv); a weighted fit is not "
    "judged by its distance from the data",
    source="METHODS section 5.10",
    direction="better",
    kind="diagnostic",
    disclosure=Disclosure.VERDICT,
    table="fit",
    limited=False,
)
MEAN_WEIGHT = Measure(
    "mean-weight",
    "mean weight",
    "mean over records of the weight alpha of the likelihood; 1 keeps all of it; a plus behind a "
    "scheme's name: centred (METHODS section "
    "15), what each record was expected to add is taken off; without it as in Hu et al. 2022",
    source="METHODS section 3",
    direction="neither",
    kind="mean",
    disclosure=Disclosure.THREE_DECIMALS,
    table="fit",
    words="mean weight of the likelihood",
    symbol="alpha",
)
R_HAT = Measure(
    "r-hat",
    "largest R-hat",
    "rank-normalised split R-hat, the largest of what is judged of the released distribution; "
    "converged is at most 1.02, or what chance "
    "gives so many quantities; none where no chains were run",
    source="Vehtari et al. 2021",
    direction="worse",
    kind="diagnostic",
    disclosure=Disclosure.THREE_DECIMALS,
    table="fit",
    words="largest disagreement of chains",
    symbol="R-hat",
)
CONVERGED = Measure(
    "converged",
    "converged",
    "of what is released: R-hat at most 1.02 or what chance gives so many quantities, bulk "
    "effective sample size at least 100, at most .5 % of "
    "the draws divergent (any is a warning); without chains Pareto k-hat at most 0.7 instead",
    source="Vehtari et al. 2021",
    direction="better",
    kind="diagnostic",
    disclosure=Disclosure.VERDICT,
    table="fit",
    limited=False,
)
MEASURES = (FITS, MEAN_WEIGHT, R_HAT, CONVERGED)
