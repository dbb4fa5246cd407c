"""Groups cores that are near to each other by the measured latencies, and compares with the machine's description."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg._topology.matrix import Values

Partition = list[list[int]]
"""Indices of the matrix, each in one cluster. Clusters and their members are sorted."""

GAP = 1.3
"""The factor by which latencies between clusters must exceed those inside for the clusters to count as separate."""


@dataclass(frozen=True)
class LatencyLevel:
    """One way to divide the cores into clusters."""

    clusters: Partition
    inside_ns: float
    """The median latency between cores of one cluster; 0 if each cluster has one core."""
    between_ns: float
    """The median latency between cores of different clusters."""


def levels(distance: Values) -> list[LatencyLevel]:
    """Returns the levels from the finest to the coarsest; none if all latencies are about the same.

    Clusters are joined in the order of the mean latency between their cores. If a join has a latency that exceeds all
    earlier ones by the factor GAP, the clusters before it form a level.
    """
    count = len(distance)
    clusters: Partition = [[i] for i in range(count)]
    between = distance.astype(np.float64).copy()
    np.fill_diagonal(between, np.inf)
    found: list[LatencyLevel] = []
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


def _level(distance: Values, clusters: Partition) -> LatencyLevel:
    which = np.empty(len(distance), np.int64)
    for number, members in enumerate(clusters):
        which[members] = number
    upper = np.triu(np.ones_like(distance, dtype=bool), 1)
    same = which[:, None] == which[None, :]
    inside, between = distance[upper & same], distance[upper & ~same]
    return LatencyLevel(
        sorted(sorted(each) for each in clusters),
        float(np.median(inside)) if len(inside) else 0.0,
        float(np.median(between)),
    )


def agrees(found: list[LatencyLevel], described: Partition) -> bool | None:
    """Returns whether one of the levels equals the machine's description, or None if it cannot be compared, since one
    of the two has a single cluster."""
    wanted = sorted(sorted(each) for each in described if each)
    if len(wanted) == 1:
        return None if not found else any(len(level.clusters) == 1 for level in found)
    if not found:
        return False if sum(map(len, wanted)) > 2 else None
    return any(level.clusters == wanted for level in found)


def nearest(found: list[LatencyLevel], described: Partition, count: int) -> Partition:
    """Returns the clusters for planning: the measured ones if any has more than one core, else those described."""
    useful = [level for level in found if max(map(len, level.clusters)) > 1]
    if useful:
        return useful[-1].clusters
    return [each for each in described if each] or [list(range(count))]
