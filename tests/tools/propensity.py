"""The propensity distance of whole files, from their columns."""

from riskweighted.utility.propensity import coded_propensity
from riskweighted.utility.tables import codes_of


def file_propensity(confidential, synthetic, variables, synthesized):
    """That of each synthetic dataset."""
    return coded_propensity(
        codes_of(confidential, synthetic, variables, None), confidential, set(synthesized)
    )
