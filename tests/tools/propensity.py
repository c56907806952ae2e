"""The propensity distance of whole files, from their columns; and the pMSE of a model that is
written as a formula, by statsmodels.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from formulaic import model_matrix

from riskweighted.utility import propensity
from riskweighted.utility.contingency_tables import groupings_of


def file_propensity(confidential, synthetic, variables, synthesized):
    """That of each synthetic dataset."""
    groupings = groupings_of(confidential, synthetic, variables, None)
    files = [confidential, *synthetic]
    ordered = propensity.ordered_variables(confidential, groupings, files)
    true, *drawn = (
        {name: of.codes(frame[name]) for name, of in groupings.items()} for frame in files
    )
    return [propensity.file_propensity(true, each, ordered, set(synthesized)) for each in drawn]


def formula_pmse(confidential, synthetic, formula):
    """That of the fitted probabilities of a record being synthetic."""
    label = np.repeat([0.0, 1.0], [len(confidential), len(synthetic)])
    columns = model_matrix(formula, pd.concat([confidential, synthetic], ignore_index=True)).astype(
        float
    )
    fitted = sm.GLM(label, columns, family=sm.families.Binomial()).fit(tol=1e-14).fittedvalues
    return ((fitted - label.mean()) ** 2).mean()
