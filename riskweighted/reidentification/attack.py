"""`reidentify`: suspected pairs of one metric, checked against the truth, as rates (Census Bureau
primer, section 1.2).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.native import as_pandas
from riskweighted.data.io import read_table
from riskweighted.reidentification.distances import adhoc, euclidean, ranked_pairs, taxicab
from riskweighted.reidentification.files import (
    Kind,
    LinkedFiles,
    Stratum,
    add_rates,
    link_files,
    quintile_codes,
)
from riskweighted.reidentification.linkage import linkage_pairs, suspected_links
from riskweighted.reidentification.scores import Score
from riskweighted.reidentification.unicity import unique_pairs

__all__ = ["METRICS", "AttackSettings", "Reidentification", "attack", "reidentify"]

METRICS = ("unicity", "taxicab", "euclidean", "adhoc", "linkage")
Progress: TypeAlias = Callable[[int, int], None] | None
_DEFINITIONS = {
    "unicity": "records unique in their own file that share a cell of some interaction of linking "
    "variables (Census Bureau primer, 2.1)",
    "taxicab": "mean mismatch of quintiled linking variables below alpha/2, ranks of at most five "
    "pairs (Census Bureau primer, 2.2.1)",
    "euclidean": "root of squared differences below its threshold, ranks of at most five pairs "
    "(Census Bureau primer, 2.2.2)",
    "adhoc": "sum of the sponsor's scores above 5v/2, ranks of at most five pairs (Census Bureau "
    "primer, 2.2.3)",
    "linkage": "best pair by Fellegi-Sunter match probability at or above the threshold (Splink)",
}


@dataclass(frozen=True)
class Reidentification:
    """A re-identification tells what one metric suspects and what of it is true.

    Attributes
    ----------
    metric : str
    definition : str
        What makes a pair suspected.
    links : DataFrame
        One row per suspected pair: both keys, ``confirmed``, and of unicity ``interaction`` (the
        smallest that shows the pair) and ``variables`` (how many it has), of the others ``score``
        and ``rank``. Confidential.
    rates : DataFrame
        One row per stratum after a first row for all: puf_records, eif_records, suspected,
        confirmed (PUF records), suspected_rate, confirmed_rate, conditional_rate; shares in [0, 1],
        higher is riskier; NaN is undefined.
    ranks : DataFrame
        Of the metrics with ranks: PUF records, pairs and confirmed pairs at each rank; the row
        ``crowded`` counts PUF records whose best score is shared by more than five pairs, so that
        none stays.
    interactions : DataFrame
        Of unicity: how many suspected and confirmed PUF records each interaction identifies as
        their smallest one.

    Examples
    --------
    >>> puf = pd.DataFrame({"pufid": [1, 2, 3], "age": [30, 41, 41], "sex": ["f", "m", "f"]})
    >>> eif = pd.DataFrame({"eifid": ["a", "b"], "age": [41, 30], "sex": ["m", "f"]})
    >>> iuf = pd.DataFrame({"pufid": [2, 1], "eifid": ["a", "b"]})
    >>> rw.reidentify(puf, eif, iuf, {"age": "categorical", "sex": "categorical"}).rates[
    ...     ["suspected", "confirmed"]
    ... ]
       suspected  confirmed
    0          2          2
    """

    metric: str
    definition: str
    links: pd.DataFrame = field(repr=False)
    rates: pd.DataFrame
    ranks: pd.DataFrame = field(repr=False)
    interactions: pd.DataFrame = field(repr=False)
    _keys: tuple[str, ...] = field(repr=False)

    @property
    def pairs(self) -> pd.DataFrame:
        """The suspected pairs: the columns of both keys. Confidential."""
        return self.links[list(self._keys)]

    @property
    def suspected_rate(self) -> float:
        """Suspected PUF records, each counted once, over PUF records."""
        return float(self.rates["suspected_rate"].iloc[0])

    @property
    def confirmed_rate(self) -> float:
        """PUF records with a suspected pair that the IUF confirms, over PUF records."""
        return float(self.rates["confirmed_rate"].iloc[0])

    @property
    def conditional_rate(self) -> float:
        """Confirmed over suspected PUF records, the primer's critical statistic; NaN where none is
        suspected.
        """
        return float(self.rates["conditional_rate"].iloc[0])


def reidentify(
    puf: pd.DataFrame | str | Path,
    eif: pd.DataFrame | str | Path,
    iuf: pd.DataFrame | str | Path,
    linking: Mapping[str, Kind],
    pufid: str | Sequence[str] = "pufid",
    eifid: str | Sequence[str] = "eifid",
    metric: Literal["unicity", "taxicab", "euclidean", "adhoc", "linkage"] = "unicity",
    *,
    strata: str | Sequence[str] = (),
    empty_strata: Literal["error", "allow"] = "error",
    alpha: float = 0.5,
    normalization: Literal["primer", "rms"] = "primer",
    scores: Mapping[str, Score] | None = None,
    threshold: float = 0.5,
    random_seed: int = 0,
    progress: Progress = None,
) -> Reidentification:
    """Return what an intruder's file finds in a public-use file, checked against the truth (Census
    Bureau primer, METHODS section 10).

    Parameters
    ----------
    puf, eif, iuf : DataFrame or path
        Public-use file, external intruder file, internal-use file (the truth: both keys).
    linking : mapping of variable to "numeric" or "categorical"
    pufid, eifid : str or sequence of str
        Key columns.
    metric : {"unicity", "taxicab", "euclidean", "adhoc", "linkage"}
        the primer's four, and record linkage (optional extra ``linkage``).
    strata : str or sequence of str
        Blocking variables. Quintiles, means and sds are those of the whole PUF.
    empty_strata : {"error", "allow"}
        Whether a stratum may have records in one file only.
    alpha : float
        Score of a missing value in taxicab and euclidean.
    normalization : {"primer", "rms"}
        Of euclidean: as printed, or with the threshold that follows from its definition.
    scores : mapping of every linking variable to a function of two values, PairScores or
    BreakScores
        Of ad hoc: 0 (no match) to 5 (match).
    threshold : float
        Of linkage: least match probability.
    random_seed : int
        Of linkage.
    progress : callable, optional
        Called with (done, in all).

    Raises
    ------
    InputError
        If the files do not fit together or a setting is not valid; never with a value of the data.

    Examples
    --------
    >>> puf = pd.DataFrame({"pufid": [1, 2, 3], "age": [30, 41, 41], "sex": ["f", "m", "f"]})
    >>> eif = pd.DataFrame({"eifid": ["a", "b"], "age": [41, 30], "sex": ["m", "f"]})
    >>> iuf = pd.DataFrame({"pufid": [2, 1], "eifid": ["a", "b"]})
    >>> attack = rw.reidentify(puf, eif, iuf, {"age": "categorical", "sex": "categorical"})
    >>> attack.pairs.values.tolist(), attack.conditional_rate
    ([[1, 'b'], [2, 'a']], 1.0)
    """
    puf, eif, iuf = as_pandas(puf), as_pandas(eif), as_pandas(iuf)
    puf, eif, iuf = (
        frame if isinstance(frame, pd.DataFrame) else read_table(frame) for frame in (puf, eif, iuf)
    )
    files = link_files(
        puf, eif, iuf, linking, pufid=pufid, eifid=eifid, strata=strata, empty_strata=empty_strata
    )
    return attack(
        files,
        metric,
        AttackSettings(alpha, normalization, scores, threshold, random_seed),
        progress=progress,
    )


class AttackSettings(NamedTuple):
    """What the metrics can be told; `reidentify` says what each means."""

    alpha: float = 0.5
    normalization: Literal["primer", "rms"] = "primer"
    scores: Mapping[str, Score] | None = None
    threshold: float = 0.5
    random_seed: int = 0


class _Suspected(NamedTuple):
    """Suspected pairs of a stratum, further columns of them, PUF records whose best rank is
    crowded.
    """

    puf: np.ndarray
    eif: np.ndarray
    columns: dict[str, np.ndarray]
    crowded: int = 0


def attack(
    files: LinkedFiles, metric: str, settings: AttackSettings, *, progress: Progress = None
) -> Reidentification:
    """`reidentify` on files that are checked already."""
    search = _searcher(files, metric, settings)
    total = sum(len(stratum.puf) for stratum in files.strata)
    parts, before = [], 0
    for stratum in files.strata:
        if len(stratum.eif):
            parts.append(search(stratum, _share(progress, before, len(stratum.puf), total)))
        before += len(stratum.puf)
        if progress is not None:
            progress(before, total)
    puf, eif = (
        np.concatenate([getattr(part, side) for part in parts]) if parts else np.empty(0, dtype=int)
        for side in ("puf", "eif")
    )
    confirmed = files.truth[puf] == eif
    keys = [
        files.puf_keys.iloc[puf].reset_index(drop=True),
        files.eif_keys.iloc[eif].reset_index(drop=True),
    ]
    columns = {
        name: np.concatenate([part.columns[name] for part in parts])
        for name in (parts[0].columns if parts else ())
    }
    links = pd.concat([*keys, pd.DataFrame({**columns, "confirmed": confirmed})], axis=1)
    order = np.lexsort(
        (eif, links["rank"].to_numpy() if "rank" in links else np.zeros(len(puf)), puf)
    )
    return Reidentification(
        metric=metric,
        definition=_DEFINITIONS[metric],
        links=links.iloc[order].reset_index(drop=True),
        rates=_rates(files, puf, confirmed),
        ranks=_rank_table(puf, links, sum(part.crowded for part in parts)),
        interactions=_interaction_table(puf, links),
        _keys=(*files.puf_keys.columns, *files.eif_keys.columns),
    )


def _share(progress: Progress, before: int, records: int, total: int) -> Progress:
    """Progress within a stratum as progress of the whole."""
    if progress is None:
        return None
    return lambda done, steps: progress(before + int(records * done / max(steps, 1)), total)


def _searcher(
    files: LinkedFiles, metric: str, settings: AttackSettings
) -> Callable[[Stratum, Progress], _Suspected]:
    """How a metric searches one stratum; recodes both files once."""
    if metric == "unicity":
        codes = quintile_codes(files)
        return lambda stratum, progress: _unicity(codes, list(files.kinds), stratum, progress)
    if metric == "linkage":
        return lambda stratum, progress: _linkage(files, settings, stratum, progress)
    if metric == "taxicab":
        comparison = taxicab(files, settings.alpha)
    elif metric == "euclidean":
        comparison = euclidean(files, settings.alpha, settings.normalization)
    elif metric != "adhoc":
        raise InputError(f"metric must be one of {listing(METRICS)}, got {metric!r}")
    elif settings.scores is None:
        raise InputError(
            "the metric 'adhoc' needs scores: for every linking variable a function, PairScores "
            "or BreakScores"
        )
    else:
        comparison = adhoc(files, settings.scores)

    def search(stratum: Stratum, progress: Progress) -> _Suspected:
        pairs = ranked_pairs(comparison, stratum.puf, stratum.eif, progress)
        return _Suspected(
            pairs.puf, pairs.eif, {"score": pairs.score, "rank": pairs.rank}, pairs.crowded
        )

    return search


def _unicity(
    codes: tuple[np.ndarray, np.ndarray], names: list[str], stratum: Stratum, progress: Progress
) -> _Suspected:
    pairs = unique_pairs(codes[0][stratum.puf], codes[1][stratum.eif], progress)
    sets, which = np.unique(pairs.interaction, axis=0, return_inverse=True)
    texts = np.array(
        [
            " + ".join(name for name, used in zip(names, chosen, strict=True) if used)
            for chosen in sets
        ],
        dtype=object,
    )
    columns = {"interaction": texts[which], "variables": pairs.interaction.sum(axis=1)}
    return _Suspected(stratum.puf[pairs.puf], stratum.eif[pairs.eif], columns)


def _linkage(
    files: LinkedFiles, settings: AttackSettings, stratum: Stratum, progress: Progress
) -> _Suspected:
    if not (is_number(settings.threshold) and 0 < settings.threshold <= 1):
        raise InputError(
            "threshold, the least match probability, must lie in (0, 1], got "
            f"{settings.threshold!r}"
        )
    puf, eif = (
        frame.iloc[rows].reset_index(drop=True)
        for frame, rows in ((files.puf, stratum.puf), (files.eif, stratum.eif))
    )
    least = min(0.01, settings.threshold)
    result = linkage_pairs(
        puf,
        eif,
        files.kinds,
        random_seed=settings.random_seed,
        minimum_probability=least,
        progress=progress,
    )
    links = suspected_links(result.pairs, settings.threshold)
    score = links["match_probability"].to_numpy()
    rows = (links["puf_row"].to_numpy(dtype=int), links["eif_row"].to_numpy(dtype=int))
    return _Suspected(
        stratum.puf[rows[0]],
        stratum.eif[rows[1]],
        {"score": score, "rank": np.ones(len(links), dtype=np.int64)},
    )


def _rates(files: LinkedFiles, puf: np.ndarray, confirmed: np.ndarray) -> pd.DataFrame:
    """Counts and rates overall and per stratum."""
    suspected, true = np.zeros(len(files.truth), dtype=bool), np.zeros(len(files.truth), dtype=bool)
    suspected[puf], true[puf[confirmed]] = True, True

    groups: list[tuple[str, np.ndarray, int]] = [
        ("all", np.arange(len(files.truth)), len(files.eif_keys))
    ]
    if files.strata[0].label:
        groups += [
            (", ".join(map(str, stratum.label)), stratum.puf, len(stratum.eif))
            for stratum in files.strata
        ]
    counts = [
        (name, len(rows), eif_records, suspected[rows].sum(), true[rows].sum())
        for name, rows, eif_records in groups
    ]
    table = pd.DataFrame(
        counts, columns=["stratum", "puf_records", "eif_records", "suspected", "confirmed"]
    )
    return add_rates(table, table["puf_records"])


def _rank_table(puf: np.ndarray, links: pd.DataFrame, crowded: int) -> pd.DataFrame:
    columns = ["rank", "puf_records", "pairs", "confirmed"]
    if "rank" not in links:
        return pd.DataFrame(columns=columns)
    groups = links.assign(row=puf).groupby("rank")
    table = pd.DataFrame(
        {
            "puf_records": groups["row"].nunique(),
            "pairs": groups.size(),
            "confirmed": groups["confirmed"].sum(),
        }
    )
    table = table.reset_index().astype({"rank": object})
    return pd.concat(
        [table, pd.DataFrame([["crowded", crowded, 0, 0]], columns=columns)], ignore_index=True
    )


def _interaction_table(puf: np.ndarray, links: pd.DataFrame) -> pd.DataFrame:
    """Per PUF record its smallest interaction (of several, the first), counted."""
    columns = ["interaction", "variables", "suspected", "confirmed"]
    if "interaction" not in links:
        return pd.DataFrame(columns=columns)
    ordered = links.assign(row=puf).sort_values(["row", "variables"], kind="stable")
    true = ordered.groupby("row")["confirmed"].any()
    smallest = ordered.drop_duplicates("row").set_index("row").assign(confirmed=true)
    groups = smallest.groupby(["interaction", "variables"])
    table = pd.DataFrame(
        {"suspected": groups.size(), "confirmed": groups["confirmed"].sum()}
    ).reset_index()
    return table.sort_values(
        ["suspected", "variables", "interaction"], ascending=[False, True, True], ignore_index=True
    )[columns]
