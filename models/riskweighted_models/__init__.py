"""The synthesizers that come with riskweighted, one file each; models/README.md is their catalogue."""

from riskweighted_models.hierarchical import Hierarchical
from riskweighted_models.linear_regression import LinearRegression
from riskweighted_models.negative_binomial import NegativeBinomial
from riskweighted_models.normal_mixture import NormalMixture
from riskweighted_models.top_coding import TopCoding

__all__ = ["Hierarchical", "LinearRegression", "NegativeBinomial", "NormalMixture", "TopCoding"]
