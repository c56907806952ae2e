"""Special codes of a variable as its settings state them: values with a share of their own (METHODS
section 12).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.common.found import FoundNumbers, found_numbers

__all__ = ["stated_codes"]


def stated_codes(variable: str, settings: Mapping[str, Any]) -> tuple[float, ...]:
    """Those of ``codes``, different finite numbers, and the number that a structural rule gives
    ``otherwise``; those found in the data keep their mark.
    """
    given, found = found_numbers(settings.get("codes", ()))
    codes = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if not all(is_number(code) for code in codes) or len(set(codes)) < len(codes):
        raise InputError(
            f"variable {variable!r}: codes must be different finite numbers, got {codes!r}"
        )
    otherwise = settings.get("otherwise")
    stated = dict.fromkeys(
        float(code) for code in ([*codes, otherwise] if is_number(otherwise) else codes)
    )
    return FoundNumbers(stated) if found else tuple(stated)
