"""What follows from the seconds: how far a number of aggregators is from the best one, with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DRAWS = 1000
NEAR = 1.1
"""A number is near the best one if it takes at most so many times as long."""


@dataclass(frozen=True)
class Ratio:
    """How many times as long one way takes as another one, with the interval of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"

    @classmethod
    def of(cls, value: float, drawn: Any) -> Ratio:
        return cls(value, *(float(each) for each in np.quantile(drawn, (0.025, 0.975))))


@dataclass(frozen=True)
class ToBest:
    """The seconds of each number, divided by those of the best one."""

    best: int
    ratios: dict[int, Ratio]


def to_best(seconds: Mapping[int, Sequence[float]]) -> ToBest:
    """Compares medians. The interval is of medians of files that are drawn again, in which the best is found anew."""
    numbers = sorted(seconds)
    typical = np.array([np.median(seconds[number]) for number in numbers])
    drawn = np.stack([_drawn(seconds[number], number) for number in numbers])
    shares = drawn / drawn.min(axis=0)
    ratios = {number: Ratio.of(float(typical[i] / typical.min()), shares[i]) for i, number in enumerate(numbers)}
    return ToBest(numbers[int(typical.argmin())], ratios)


def ratio_of(seconds: Sequence[float], others: Sequence[float]) -> Ratio:
    """Returns how many times as long one way takes as another one."""
    value = float(np.median(seconds) / np.median(others))
    return Ratio.of(value, _drawn(seconds, 1) / _drawn(others, 2))


def _drawn(seconds: Sequence[float], seed: int) -> Any:
    random = np.random.default_rng(seed)
    values = np.asarray(seconds, np.float64)
    return np.median(values[random.integers(len(values), size=(DRAWS, len(values)))], axis=1)
