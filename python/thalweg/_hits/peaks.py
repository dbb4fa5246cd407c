"""Tells whether an energy window has a peak in it, and whether the peak has drifted from its middle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thalweg._hits.histogram import RECENT, EnergyHistogram

_SIGNIFICANT = 5.0
_FEWEST = 200
"""Hits in and beside a window, below which nothing is said, unless there are many elsewhere."""
DRIFT = 0.2
"""A share of half the width of a window: a peak that is further from the middle of its window has drifted."""


@dataclass(frozen=True)
class Peak:
    """What is in a window, above a straight line from side to side."""

    counts: float
    error: float
    centre: float
    """Its mean energy. It means something only if `is_there`."""
    centre_error: float
    off: float
    """How far its centre is from the middle of the window, in halves of the window's width."""

    @property
    def is_there(self) -> bool:
        return self.counts > _SIGNIFICANT * self.error

    @property
    def has_drifted(self) -> bool:
        return self.is_there and abs(self.off) > DRIFT


def peak_in(energies: EnergyHistogram, window: tuple[float, float]) -> Peak | None:
    """Returns the peak of the last hits in a window, or None if there are too few to say, or no bins beside it."""
    low, high = (round(each / energies.width) for each in window)
    side = max(1, (high - low) // 4)
    counts = energies.recent
    if low - side < 0 or high + side > len(counts) or high - low < 4:
        return None
    inside = counts[low:high].astype(np.float64)
    left, right = float(counts[low - side : low].mean()), float(counts[high : high + side].mean())
    if inside.sum() + side * (left + right) < _FEWEST and counts.sum() < RECENT:
        return None
    places = (np.arange(low, high) + 0.5) * energies.width
    line = np.linspace(left, right, len(inside))
    net = inside - line
    variance = inside + line**2 / np.maximum(1.0, line * side)
    total, error = float(net.sum()), math.sqrt(float(variance.sum() + (left + right) / side * len(inside) ** 2 / 4))
    middle, half = (window[0] + window[1]) / 2, (window[1] - window[0]) / 2
    if total <= _SIGNIFICANT * error:
        return Peak(total, error, middle, math.inf, 0.0)
    centre = float((net * places).sum()) / total
    centre_error = math.sqrt(float((variance * (places - centre) ** 2).sum())) / total
    return Peak(total, error, centre, centre_error, (centre - middle) / half)
