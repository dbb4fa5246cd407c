"""How long a cache line takes between each two cores, measured until it is steady."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thalweg._core import latency_ns
from thalweg._errors import DataError, UsageError

Values = npt.NDArray[np.float64]
Measure = Callable[[int, int, int], list[float]]
"""Two cores and a number of rounds, to nanoseconds one way, one value a round."""

STEADY = 1.1


@dataclass(frozen=True)
class Matrix:
    """Of all pairs of some cores, in nanoseconds one way; symmetric, with 0 for a core and itself."""

    cores: list[int]
    median: Values
    minimum: Values
    spread: Values
    """75th percentile over 25th, of the steadiest of all attempts."""
    attempts: npt.NDArray[np.int64]

    @property
    def unsteady(self) -> list[tuple[int, int]]:
        """Pairs that were never steady: something else ran there."""
        first, second = np.nonzero(np.triu(self.spread > STEADY, 1))
        return [(self.cores[a], self.cores[b]) for a, b in zip(first, second, strict=True)]

    def to_json(self) -> str:
        return json.dumps(
            {
                "cores": self.cores,
                "median_ns": self.median.tolist(),
                "minimum_ns": self.minimum.tolist(),
                "spread": self.spread.tolist(),
                "attempts": self.attempts.tolist(),
            }
        )


def of_json(path: str) -> Matrix:
    """What `to_json` wrote. Raises DataError where it is none."""
    try:
        facts = json.loads(Path(path).read_text())
        cores = [int(core) for core in facts["cores"]]
        named = ("median_ns", "minimum_ns", "spread")
        median, minimum, spread = (np.array(facts[name], np.float64) for name in named)
        attempts = np.array(facts["attempts"], np.int64)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no matrix of `thalweg topology --json` ({error})") from None
    if any(each.shape != (len(cores), len(cores)) for each in (median, minimum, spread, attempts)):
        raise DataError(f"{path} is no matrix of `thalweg topology --json` (it is not of {len(cores)} cores)")
    return Matrix(cores, median, minimum, spread, attempts)


def usable_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(a + 1, count))


def measure(
    cores: list[int],
    rounds: int = 50,
    most_attempts: int = 10,
    one: Measure = latency_ns,
) -> Matrix:
    """Each pair again until it is steady, at most so often; then the steadiest attempt counts. Raises SystemError where
    a core may not be used."""
    if len(cores) < 2:
        raise UsageError("there is nothing to measure with one core: give two or more")
    count = len(cores)
    median, minimum, spread = (np.zeros((count, count)) for _ in range(3))
    attempts = np.zeros((count, count), np.int64)
    for a, b in pairs(count):
        least, steadiest, middle = np.inf, np.inf, np.inf
        tried = 0
        while tried < most_attempts and steadiest > STEADY:
            tried += 1
            values = np.array(one(cores[a], cores[b], rounds))
            low, half, high = np.percentile(values, (25, 50, 75))
            least = min(least, float(values.min()))
            if high / low < steadiest:
                steadiest, middle = float(high / low), float(half)
        for matrix, value in ((median, middle), (minimum, least), (spread, steadiest), (attempts, tried)):
            matrix[a, b] = matrix[b, a] = value
    return Matrix(list(cores), median, minimum, spread, attempts)
