"""Tells whether an energy window has a peak in it, whether the peak has drifted from its middle, and how wide it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._hits.histogram import RECENT, EnergyHistogram

_SIGNIFICANT = 5.0
_FEWEST = 200
"""Hits in and beside a window, below which nothing is said, unless there are many elsewhere."""
DRIFT = 0.2
"""A share of half the width of a window: a peak that is further from the middle of its window has drifted."""
BROADENING = 1.3
"""A peak that is so many times as wide as among the first hits has a worse resolution."""
_FWHM = 2 * math.sqrt(2 * math.log(2))


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
    half: float
    """Half the width of the window."""
    spread: float
    """The variance that is seen in the window, in halves of its width squared."""
    spread_error: float

    @property
    def is_there(self) -> bool:
        return self.counts > _SIGNIFICANT * self.error

    @property
    def width(self) -> float:
        """Its full width at half maximum, if it is a Gauss curve."""
        return self.half * _width_of(self.spread)

    @property
    def has_drifted(self) -> bool:
        return self.is_there and abs(self.off) > DRIFT

    def is_broader_than(self, other: Peak) -> bool:
        """Whether its resolution is worse than another one's, by much and by more than chance."""
        if not (self.is_there and other.is_there):
            return False
        seen = other.spread, other.spread + other.spread_error
        limit, most = (_spread_of(BROADENING * _width_of(each)) for each in seen)
        return self.spread - limit > math.hypot(self.spread_error, most - limit)


def peak_in(energies: EnergyHistogram, window: tuple[float, float], of_first: bool = False) -> Peak | None:
    """Returns the peak of the last hits in a window, or None if there are too few to say, or no bins beside it.

    of_first: of the first 20,000 hits.
    """
    low, high = (round(each / energies.width) for each in window)
    side = max(1, (high - low) // 4)
    counts = energies.first if of_first else energies.recent
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
        return Peak(total, error, middle, math.inf, 0.0, half, 0.0, math.inf)
    centre = float((net * places).sum()) / total
    centre_error = math.sqrt(float((variance * (places - centre) ** 2).sum())) / total
    spread = float((net * (places - centre) ** 2).sum()) / total
    spread_error = math.sqrt(float((variance * ((places - centre) ** 2 - spread) ** 2).sum())) / total
    off = (centre - middle) / half
    return Peak(total, error, centre, centre_error, off, half, spread / half**2, spread_error / half**2)


def _spread_by_width() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns widths of Gauss curves, and the variance that is seen of them in a window from -1 to 1, above a line
    through what is beside it: less than theirs, and the more so the wider they are."""
    sigmas = np.linspace(0.02, 1.5, 149)
    inside, beside = (np.linspace(begin, end, 1001) for begin, end in ((-1.0, 1.0), (1.0, 1.5)))
    net = np.exp(-((inside / sigmas[:, np.newaxis]) ** 2) / 2)
    net -= np.exp(-((beside / sigmas[:, np.newaxis]) ** 2) / 2).mean(axis=1, keepdims=True)
    return sigmas * _FWHM, np.asarray((net * inside**2).sum(axis=1) / net.sum(axis=1), np.float64)


_WIDTHS, _SPREADS = _spread_by_width()


def _width_of(spread: float) -> float:
    """Returns the full width at half maximum of a peak that has this variance in its window."""
    return float(np.interp(spread, _SPREADS, _WIDTHS))


def _spread_of(width: float) -> float:
    return float(np.interp(width, _WIDTHS, _SPREADS))
