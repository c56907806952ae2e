"""What a process holds from which commands are forked: the packages, and what making a first model
finds; nothing of the command line.
"""

import numpy as np
import pandas as pd

import riskweighted as rw
import riskweighted.reports.render
import riskweighted.runs.run
from riskweighted.sequence.fitting import compile_model

_data = pd.DataFrame({"y": np.exp(np.random.default_rng(1).normal(size=50)), "x": ["a", "b"] * 25})
compile_model(rw.load_synthesizer("linear-regression")("y ~ x", transform="log"), _data)
