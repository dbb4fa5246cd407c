"""Which cores are near to each other, by what was measured alone, and whether the machine's description agrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg._topology.matrix import Values

Partition = list[list[int]]
"""Places in the matrix, each in one cluster; clusters and what is in them in the order of these places."""

GAP = 1.3
"""How much farther the next cluster has to be for clusters to be told apart."""


@dataclass(frozen=True)
class Level:
    """One way to cut the cores into clusters."""

    clusters: Partition
    inside_ns: float
    """Median between cores of one cluster; 0 where each is alone."""
    between_ns: float
    """Median between cores of different clusters."""


def levels(distance: Values) -> list[Level]:
    """From the finest to the coarsest, each told apart by a gap; none where all cores are as far from each other.

    Clusters are joined in the order of the average distance of their cores. Where the next join is farther than the
    last one by the factor of GAP, what was joined before is a level.
    """
    count = len(distance)
    clusters: Partition = [[i] for i in range(count)]
    between = distance.astype(np.float64).copy()
    np.fill_diagonal(between, np.inf)
    found: list[Level] = []
    last = None
    while len(clusters) > 1:
        a, b = sorted(np.unravel_index(np.argmin(between), between.shape))
        step = float(between[a, b])
        if last is not None and step > GAP * last:
            found.append(_level(distance, clusters))
        last = step if last is None else max(last, step)
        weights = len(clusters[a]), len(clusters[b])
        joined = (between[a] * weights[0] + between[b] * weights[1]) / sum(weights)
        between[a], between[:, a] = joined, joined
        between[a, a] = np.inf
        between = np.delete(np.delete(between, b, 0), b, 1)
        clusters[a] = sorted(clusters[a] + clusters.pop(b))
    return found


def _level(distance: Values, clusters: Partition) -> Level:
    which = np.empty(len(distance), np.int64)
    for number, members in enumerate(clusters):
        which[members] = number
    upper = np.triu(np.ones_like(distance, dtype=bool), 1)
    same = which[:, None] == which[None, :]
    inside, between = distance[upper & same], distance[upper & ~same]
    return Level(
        sorted(sorted(each) for each in clusters),
        float(np.median(inside)) if len(inside) else 0.0,
        float(np.median(between)),
    )


def agrees(found: list[Level], described: Partition) -> bool | None:
    """Whether one of the levels is what the machine's description says; None where nothing can be said, since either
    knows one cluster only."""
    wanted = sorted(sorted(each) for each in described if each)
    if len(wanted) == 1:
        return None if not found else any(len(level.clusters) == 1 for level in found)
    if not found:
        return False if sum(map(len, wanted)) > 2 else None
    return any(level.clusters == wanted for level in found)


def nearest(found: list[Level], described: Partition, count: int) -> Partition:
    """The clusters to plan by: what was measured where it shows any of more than one core, else what is described."""
    useful = [level for level in found if max(map(len, level.clusters)) > 1]
    if useful:
        return useful[-1].clusters
    return [each for each in described if each] or [list(range(count))]
