"""Re-identification metrics by the letter of the Census Bureau primer (METHODS section 10): every
interaction, every pair of records.
"""

from itertools import combinations
from math import exp, sqrt

import numpy as np


def is_missing(value):
    return value is None or value != value


def quintile(value, present):
    """1 + number of cut points strictly below the value."""
    cuts = np.quantile(np.array(present, dtype=float), [0.2, 0.4, 0.6, 0.8])
    return 1 + sum(1 for cut in cuts if cut < value)


def recoded(puf, eif, linking):
    """Both files as lists of tuples, numbers in quintiles of the PUF, None for missing."""
    columns = []
    for name, kind in linking.items():
        both = [list(frame[name]) for frame in (puf, eif)]
        if kind == "numeric":
            present = [value for value in both[0] if not is_missing(value)]
            both = [
                [None if is_missing(x) else quintile(x, present) for x in column] for column in both
            ]
        else:
            both = [[None if is_missing(x) else x for x in column] for column in both]
        columns.append(both)
    return [list(zip(*(column[file] for column in columns), strict=True)) for file in (0, 1)]


def unicity(puf, eif, linking):
    """{(puf row, eif row): size of the smallest interaction}, and the interactions of that size."""
    first, second = recoded(puf, eif, linking)
    found = {}
    for size in range(1, len(linking) + 1):
        for interaction in combinations(range(len(linking)), size):
            uniques = []
            for file in (first, second):
                cell = {}
                for row, record in enumerate(file):
                    key = tuple(record[j] for j in interaction)
                    if None not in key:
                        cell.setdefault(key, []).append(row)
                uniques.append({key: rows[0] for key, rows in cell.items() if len(rows) == 1})
            for key in uniques[0].keys() & uniques[1].keys():
                # smallest and first in order
                found.setdefault((uniques[0][key], uniques[1][key]), interaction)
    return found


def taxicab_scores(puf, eif, linking, alpha=0.5):
    first, second = recoded(puf, eif, linking)
    scores = np.empty((len(first), len(second)))
    for i, one in enumerate(first):
        for j, two in enumerate(second):
            parts = [
                alpha if x is None or y is None else float(x != y)
                for x, y in zip(one, two, strict=True)
            ]
            scores[i, j] = sum(parts) / len(parts)
    return scores


def euclidean_scores(puf, eif, linking, alpha=0.5, normalization="primer"):
    scores = np.empty((len(puf), len(eif)))
    moments = {}
    for name, kind in linking.items():
        if kind == "numeric":
            present = np.array([x for x in puf[name] if not is_missing(x)], dtype=float)
            moments[name] = (present.mean(), present.std(ddof=1))
    v = len(linking)
    for i in range(len(puf)):
        for j in range(len(eif)):
            squares = 0.0
            for name in linking:
                one, two = puf[name].iloc[i], eif[name].iloc[j]
                if is_missing(one) or is_missing(two):
                    part = alpha
                elif name in moments:
                    mean, sd = moments[name]
                    x = min(abs((one - mean) / sd - (two - mean) / sd), 6)
                    part = 2 * (exp(x) / (1 + exp(x))) - 1
                else:
                    part = float(one != two)
                squares += part**2
            scores[i, j] = sqrt(squares) / v if normalization == "primer" else sqrt(squares / v)
    return scores


def adhoc_scores(puf, eif, scores):
    """`scores`: name -> function of two values."""
    total = np.zeros((len(puf), len(eif)))
    for name, score in scores.items():
        for i in range(len(puf)):
            for j in range(len(eif)):
                one, two = puf[name].iloc[i], eif[name].iloc[j]
                total[i, j] += 0.0 if is_missing(one) or is_missing(two) else score(one, two)
    return total


def whole_ranks(scores, passes, best_is_low=True, most=5):
    """{(puf row, eif row): rank}: whole ranks while the cumulative number of pairs is at most
    `most`.
    """
    kept = {}
    rounded = np.round(scores, 12)
    for i in range(len(scores)):
        passing = [j for j in range(scores.shape[1]) if passes(rounded[i, j])]
        cumulative = 0
        for rank, value in enumerate(
            sorted({rounded[i, j] for j in passing}, reverse=not best_is_low), start=1
        ):
            tied = [j for j in passing if rounded[i, j] == value]
            cumulative += len(tied)
            if cumulative > most:
                break
            kept.update({(i, j): rank for j in tied})
    return kept
