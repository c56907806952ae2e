"""A study under a guarantee: what of it is taken from the data is refused, and what is proved becomes a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.runs.study import Study
from riskweighted.synthesis.categories import categories_of
from riskweighted.synthesis.censoring import obstacles, refusal

if TYPE_CHECKING:
    from riskweighted.synthesis.guarantee import Statement
    from riskweighted.synthesis.posterior import PreparedModel

__all__ = ["SECRET_ONLY", "guarantee_table", "refuse_data_dependent"]

SECRET_ONLY = "The run is reproducible: who knows its seed knows the noise of the draws, so nothing is proved of these very datasets."


def refuse_data_dependent(study: Study, model: "PreparedModel") -> None:
    """Refuse a study whose guarantee would not hold, naming everything in it that is taken from the data.

    Raises
    ------
    InputError
    """
    if study.guarantee is None:
        return
    found = [*study.data_dependent(), *obstacles(model.synthesizer, model.prepared)]
    levels = categories_of(model.synthesizer, model.prepared)
    whole = levels is not None or pd.api.types.is_integer_dtype(model.confidential[study.target].dtype)
    if study.release.precision is None and not whole:
        found.append("release.precision, which is found in the data where it is not given and the column's dtype is not whole numbers")
    if found:
        raise refusal(found)


def guarantee_table(statements: "Mapping[str, Statement]") -> pd.DataFrame:
    """What is proved of each scheme, under its ``label``; see `Statement.table`."""
    tables = {label: statement.table() for label, statement in statements.items()}
    return pd.concat(tables, names=["label"]).reset_index("label").reset_index(drop=True)
