"""Fits read back: one form for one variable and for several, an archive of the blocks'
posteriors.
"""

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, as_pandas, native_of
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sampling.saving import check_checksum
from riskweighted.sequence.alphas import Alpha, alphas_of, functions_of
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.fit import Fit, block_file
from riskweighted.sequence.prepare import add_learned_scores, prepare_sequence
from riskweighted.sequence.tasks import block_tasks

__all__ = ["load_fit", "read_fit"]


def load_fit(
    path: str | Path,
    synthesizer: Synthesizer | Chain,
    confidential: Frame,
    alpha: Alpha,
    *,
    random_seed: int | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    survey: str | pd.Series | np.ndarray | None = None,
) -> Fit:
    """Return a fit that `Fit.save` wrote, of the same synthesizer, data, weights and guarantee.

    Parameters
    ----------
    path : str or Path
    synthesizer : Synthesizer or Chain
    confidential : DataFrame, n rows
    alpha : (n,), (n, V) or None
        Weights that differ by less than one millionth are the same.
    random_seed : int, optional
        Refuse a fit that was not sampled with it.
    guarantee : Guarantee, optional
        That of the fit.
    L : int
        The number of datasets that it is stated for.
    survey : str, Series or array (n,), optional
        The survey weights of the fit.

    Raises
    ------
    InputError
        If the file is absent, damaged (its checksum differs) or of the form that fits had before
        2026-11; or is the fit of another synthesizer, of other data, of other weights, of another
        seed or under another guarantee.

    Examples
    --------
    >>> from riskweighted.runs.examples import alpha, data, fit, synthesizer
    >>> fit.save("marginal.fit")
    >>> rw.load_fit("marginal.fit", synthesizer, data, alpha).converged
    True
    """
    check_seed(random_seed)
    native, confidential, alpha = native_of(confidential), as_pandas(confidential), as_pandas(alpha)
    fit = read_fit(
        path, prepare_sequence(synthesizer, confidential, survey), alpha, random_seed, guarantee, L
    )
    return fit if native is None else replace(fit, native=native)


def read_fit(
    path: str | Path | BinaryIO,
    prepared: PreparedSequence,
    alpha: Alpha,
    random_seed: int | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
) -> Fit:
    """`load_fit` of prepared data."""
    checked = alphas_of(prepared.variables, alpha, prepared.confidential.index)
    prepared = add_learned_scores(prepared, checked)
    tasks = block_tasks(prepared, checked, random_seed, guarantee, L, functions_of(alpha))
    wanted = [block_file(place) for place in range(len(tasks))]
    content = _content(path)
    if content[:3] == b"CDF":
        raise InputError(
            f"{str(path)!r} is a fit in the form that fits of one variable had before 2026-11: "
            "fit again"
        )
    check_checksum(content, path)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if archive.namelist() != wanted:
            raise InputError(
                f"{str(path)!r} is the fit of another model: it has {len(archive.namelist())} "
                f"blocks, not {len(wanted)}"
            )
        archive.filename = str(path)  # for messages
        parts = [zipfile.Path(archive, name) for name in wanted]
        fits = {
            task.name: task.block.model.load(part, *task[1:4], task.centring)
            for part, task in zip(parts, tasks, strict=True)
        }
    seed = next(iter(fits.values())).random_seed if prepared.of_one else random_seed
    return Fit(prepared, checked, fits, seed)


def _content(path: str | Path | BinaryIO) -> bytes:
    try:
        return Path(path).read_bytes() if isinstance(path, str | Path) else path.read()
    except OSError as error:
        raise InputError(f"{str(path)!r} is no saved fit ({type(error).__name__})") from None
