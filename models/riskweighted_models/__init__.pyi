from .hierarchical import Hierarchical as Hierarchical
from .linear_regression import LinearRegression as LinearRegression
from .negative_binomial import NegativeBinomial as NegativeBinomial
from .normal_mixture import NormalMixture as NormalMixture
from .top_coding import TopCoding as TopCoding
from .transformation import Transformation as Transformation
from .two_part import TwoPart as TwoPart
