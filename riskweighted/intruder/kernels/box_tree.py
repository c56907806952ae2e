"""Sums over the candidates in every box of three and more variables: a k-d tree over their places.

Every node halves its candidates by their places in one variable, the variables taken in turn. A
plane at right angles to an axis then crosses O(n^(1 - 1/d)) nodes, and a box is found by the nodes
that its 2 d faces cross: inside them a node counts as a whole, outside not at all (Lee & Wong
1977). Places are ranks, so halves are halves whatever the ties and the distribution of the values.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["BoxTree", "grow_tree", "walk_boxes"]

_LEAF = 8  # candidates at the most in a leaf


class BoxTree(NamedTuple):
    """``items`` (n,): the candidates, those of a node side by side; ``places`` (n, d): theirs, in
    that order; ``begin``, ``end`` (nodes,): the items of each node, [begin, end); ``lowest``,
    ``highest`` (nodes, d): its smallest and largest place of each variable. The children of node k
    are 2 k + 1 and 2 k + 2; the last half of the nodes are leaves.
    """

    items: np.ndarray
    places: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


@kernel
def grow_tree(orders: np.ndarray, rank: np.ndarray) -> BoxTree:
    """The tree of candidates whose orders in d variables and places there are given, (d, n) each;
    O(d n log n) time and O(d n) memory.
    """
    variables, n = orders.shape
    depth = 0
    while _LEAF << depth < n:
        depth += 1
    nodes = (2 << depth) - 1
    orders, rest, is_left = orders.copy(), np.empty(n, orders.dtype), np.zeros(n, np.bool_)
    begin, end = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    lowest, highest = np.empty((nodes, variables), np.int64), np.empty((nodes, variables), np.int64)
    end[0] = n
    for node in range(nodes):
        low, high = begin[node], end[node]
        for variable in range(variables):
            lowest[node, variable] = rank[variable, orders[variable, low]]
            highest[node, variable] = rank[variable, orders[variable, high - 1]]
        if 2 * node + 2 >= nodes:
            continue
        middle, level = (low + high) // 2, 0
        while (2 << level) - 1 <= node:
            level += 1
        split = level % variables
        for at in range(low, high):
            is_left[orders[split, at]] = at < middle
        for variable in range(variables):  # each order stays sorted within both halves
            left, right = low, 0
            for at in range(low, high):
                candidate = orders[variable, at]
                if is_left[candidate]:
                    orders[variable, left] = candidate
                    left += 1
                else:
                    rest[right] = candidate
                    right += 1
            orders[variable, left:high] = rest[:right]
        begin[2 * node + 1], end[2 * node + 1] = low, middle
        begin[2 * node + 2], end[2 * node + 2] = middle, high
    places = np.empty((n, variables), np.int64)
    for at in range(n):
        for variable in range(variables):
            places[at, variable] = rank[variable, orders[0, at]]
    return BoxTree(orders[0].copy(), places, begin, end, lowest, highest)


@kernel
def _relation(tree: BoxTree, node: int, first: np.ndarray, last: np.ndarray) -> int:
    """Of a node and a box: 0 apart, 1 crossing, 2 the node lies in it."""
    relation = 2
    for variable in range(len(first)):
        low, high = tree.lowest[node, variable], tree.highest[node, variable]
        if high < first[variable] or low >= last[variable]:
            return 0
        if low < first[variable] or high >= last[variable]:
            relation = 1
    return relation


@kernel
def _holds(tree: BoxTree, at: int, first: np.ndarray, last: np.ndarray) -> bool:
    """Whether a box holds the candidate at a place among the items."""
    for variable in range(len(first)):
        if not first[variable] <= tree.places[at, variable] < last[variable]:
            return False
    return True


@kernel
def walk_boxes(
    tree: BoxTree, asked: np.ndarray, first: np.ndarray, last: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the boxes asked for (n,): sum of the weights (n,) of the candidates in each, (n,), 0 for
    the others; and how many hold each candidate, (n,), noted at the nodes that lie in a box, from
    where it goes down at the end.

    A box holds places first .. last - 1, (n, d) each.
    """
    nodes, n, weighed = len(tree.begin), len(tree.items), weights[tree.items]
    of_node, total = np.zeros(nodes, weights.dtype), np.zeros(n, weights.dtype)
    noted, held, covering = np.zeros(nodes, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for node in range(nodes - 1, -1, -1):
        if 2 * node + 2 < nodes:
            of_node[node] = of_node[2 * node + 1] + of_node[2 * node + 2]
        else:
            of_node[node] = weighed[tree.begin[node] : tree.end[node]].sum()
    waiting = np.empty(128, np.int64)
    for box in tree.items:  # neighbours one after the other: their nodes are at hand
        if not asked[box]:
            continue
        waiting[0], left = 0, 1
        while left:
            left -= 1
            node = waiting[left]
            relation = _relation(tree, node, first[box], last[box])
            if relation == 2:
                total[box] += of_node[node]
                noted[node] += 1
            elif relation == 1 and 2 * node + 2 < nodes:
                waiting[left], waiting[left + 1] = 2 * node + 2, 2 * node + 1
                left += 2
            elif relation == 1:
                for at in range(tree.begin[node], tree.end[node]):
                    if _holds(tree, at, first[box], last[box]):
                        total[box] += weighed[at]
                        held[at] += 1
    for node in range(nodes):
        if 2 * node + 2 < nodes:
            noted[2 * node + 1] += noted[node]
            noted[2 * node + 2] += noted[node]
        else:
            for at in range(tree.begin[node], tree.end[node]):
                covering[tree.items[at]] = held[at] + noted[node]
    return total, covering
