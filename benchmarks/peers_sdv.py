"""SDV's synthesizers of a whole table, where SDV is installed (`pip install sdv`): fully synthetic,
so that no row stands for another.
"""

import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd

from benchmarks.peers_cases import Case
from riskweighted.common.seeds import seed_for

__all__ = ["SDV", "sdv_frames"]

SDV: dict[str, tuple[str, str]] = {
    "SDV Gaussian copula": ("GaussianCopulaSynthesizer", "plug-in"),
    "SDV CTGAN": ("CTGANSynthesizer", "plug-in"),
    "SDV TVAE": ("TVAESynthesizer", "plug-in"),
}
if find_spec("sdv") is None:
    SDV.clear()


def sdv_frames(case: Case, name: str, count: int, seed: int) -> list[pd.DataFrame]:
    """Datasets of as many records as the case has, by a synthesizer of SDV with its default
    settings, fitted once; a list of `count`.

    Whole numbers of six values or fewer are given to it as categories.
    """
    from sdv.metadata import Metadata

    frame = case.frame[case.columns]
    few = [column for column in frame.select_dtypes("integer") if frame[column].nunique() <= 6]
    given = {"records": frame.astype(dict.fromkeys(few, str))}
    # SDV draws from the global generators
    torch = import_module("torch")  # comes with SDV
    np.random.seed(seed_for(seed, f"{case.name}/{name}", "fit") % 2**32)  # noqa: NPY002
    torch.manual_seed(seed_for(seed, f"{case.name}/{name}", "fit"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synthesizer = getattr(import_module("sdv.single_table"), SDV[name][0])(
            Metadata.detect_from_dataframes(given)
        )
        synthesizer.fit(given)
        drawn = [synthesizer.sample(len(frame))["records"] for _ in range(count)]
    return [one[case.columns].astype(frame.dtypes[few].to_dict()) for one in drawn]
