"""How many bytes one writer needs to be busy, k: the least size of a write with 90 % of the plateau of the bandwidth.

This is the parameter of Chaarawi and Gabriel (see aggregators.py). If the times follow latency + bytes / bandwidth, it
is 9 * latency * bandwidth. Other storages, such as those with stripes, are read off the measured bandwidths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError

Values = npt.NDArray[np.float64]

SHARE = 0.9
LEAST_SIZES = 4
_FITS = 0.05
"""Times follow the law if at most one size deviates from it by more than this share, or than chance explains."""
_BY_CHANCE = 4.0
"""The standard errors that the largest of some fifteen deviations may have by chance."""
_FLAT = 1.1
"""The plateau is reached if two doublings gain less than this factor."""
_DRAWS = 200


@dataclass(frozen=True)
class Plateau:
    """What follows from the times of writes."""

    k: int | None
    """Bytes; None: the bandwidth still rises at the largest write, so that k is larger."""
    low: int
    high: int
    """The interval of 90 % of k, in which the largest write stands for what is beyond it."""
    bandwidth: float
    """The plateau, in bytes a second; the largest bandwidth, if it is not reached."""
    latency_s: float | None
    """None: the times do not follow latency + bytes / bandwidth."""
    largest: int
    """The bytes of the largest write."""


def plateau(seconds: Mapping[int, Sequence[float]]) -> Plateau:
    """Returns k of the seconds that writes took, by their bytes.

    Raises UsageError if there are fewer than LEAST_SIZES sizes, or a size or a time is not positive.
    """
    sizes = sorted(seconds)
    if len(sizes) < LEAST_SIZES:
        raise UsageError(f"{len(sizes)} sizes of writes show no plateau: measure {LEAST_SIZES} or more")
    for size in sizes:
        if size <= 0 or not seconds[size] or not all(0 < each < float("inf") for each in seconds[size]):
            raise UsageError(f"writes of {size} bytes cannot take {list(seconds[size])} s: give times above 0")
    measured = [np.asarray(seconds[size], np.float64) for size in sizes]
    typical = np.array([np.median(each) for each in measured])
    # Whether the law holds is asked once: an interval does not mix two ways of reading the times.
    has_law = _has_law(np.array(sizes, np.float64), measured)
    k, bandwidth, latency = _read(sizes, typical, has_law=has_law)
    drawn = [_read(sizes, each, has_law=has_law)[0] for each in _drawn(measured)]
    low, high = np.quantile([min(each, sizes[-1]) for each in drawn], (0.05, 0.95))
    is_reached = k <= sizes[-1]
    return Plateau(round(k) if is_reached else None, round(low), round(high), bandwidth, latency, sizes[-1])


def _drawn(measured: Sequence[Values]) -> Values:
    """Returns typical times of each size, as they might have been: times are drawn again from those measured."""
    random = np.random.default_rng(1)
    of_sizes = [np.median(each[random.integers(len(each), size=(_DRAWS, len(each)))], axis=1) for each in measured]
    return np.stack(of_sizes, axis=1)


def _has_law(sizes: Values, measured: Sequence[Values]) -> bool:
    typical = np.array([np.median(each) for each in measured])
    latency, bandwidth = _law(sizes, typical)
    if latency <= 0 or bandwidth == np.inf:
        return False
    deviation = np.abs((latency + sizes / bandwidth) / typical - 1)
    # 1.48 median deviations are a standard deviation, and the error of a median is 1.25 times that of a mean.
    spread = float(np.median([np.median(np.abs(each / np.median(each) - 1)) for each in measured]))
    by_chance = 1.25 * 1.48 * spread / np.sqrt(min(map(len, measured)))
    return bool(np.sort(deviation)[-2] < max(_FITS, _BY_CHANCE * by_chance))


def _law(sizes: Values, typical: Values) -> tuple[float, float]:
    """Returns latency and bandwidth of the least squares of relative deviations: noise grows with the time."""
    one, size = 1 / typical, sizes / typical
    ones, both, squares = one @ one, one @ size, size @ size
    scale = ones * squares - both * both
    per_byte = (ones * size.sum() - both * one.sum()) / scale
    return float((squares * one.sum() - both * size.sum()) / scale), float(1 / per_byte) if per_byte > 0 else np.inf


def _read(sizes: Sequence[int], typical: Values, *, has_law: bool) -> tuple[float, float, float | None]:
    """Returns k, which is infinite if the plateau is not reached, the bandwidth and the latency."""
    if has_law:
        latency, bandwidth = _law(np.array(sizes, np.float64), typical)
        if latency > 0 and bandwidth < np.inf:
            return latency * bandwidth * SHARE / (1 - SHARE), bandwidth, latency
    found = _rising([size / each for size, each in zip(sizes, typical, strict=True)])
    if found[-1] > _FLAT * _at(sizes, found, sizes[-1] / 4):
        return float("inf"), found[-1], None
    return _crossing(sizes, found, SHARE * found[-1]), found[-1], None


def _rising(values: Sequence[float]) -> list[float]:
    """Returns the nearest values that never fall: what falls is one level, with the mean of its values."""
    levels: list[tuple[float, int]] = []
    for value in values:
        level, count = value, 1
        while levels and levels[-1][0] > level:
            before, of_before = levels.pop()
            level = (before * of_before + level * count) / (of_before + count)
            count += of_before
        levels.append((level, count))
    return [level for level, count in levels for _ in range(count)]


def _at(sizes: Sequence[int], bandwidths: Sequence[float], size: float) -> float:
    return float(np.interp(np.log(size), np.log(sizes), bandwidths))


def _crossing(sizes: Sequence[int], bandwidths: Sequence[float], wanted: float) -> float:
    """Returns the least size with this bandwidth. Between two sizes the time of a write grows evenly."""
    above = next(i for i, each in enumerate(bandwidths) if each >= wanted)
    if above == 0:
        return sizes[0]
    left, right = sizes[above - 1], sizes[above]
    begin, end = left / bandwidths[above - 1], right / bandwidths[above]
    per_byte = (end - begin) / (right - left)
    # size / (begin + (size - left) * per_byte) = wanted
    return min(right, max(left, wanted * (begin - left * per_byte) / (1 - wanted * per_byte)))
