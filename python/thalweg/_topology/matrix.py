"""Measures the time that a cache line takes between each pair of cores, until it is steady."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import DataError, UsageError
from thalweg._core import latency_ns

Values = npt.NDArray[np.float64]
Measure = Callable[[int, int, int], list[float]]
"""A function of two cores and a number of rounds; it returns the one-way latency in ns for each round."""

STEADY = 1.1


@dataclass(frozen=True)
class Matrix:
    """The one-way latencies between all pairs of cores in ns. The arrays are symmetric with zeros on the diagonal."""

    cores: list[int]
    median: Values
    minimum: Values
    spread: Values
    """The ratio of the 75th to the 25th percentile, in the steadiest attempt."""
    attempts: npt.NDArray[np.int64]

    @property
    def unsteady(self) -> list[tuple[int, int]]:
        """The pairs that were never steady, since other programs ran there."""
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
    """Reads a matrix that `to_json` wrote. Raises UsageError if there is no such file, DataError for other content."""
    try:
        facts = json.loads(Path(path).read_text())
        cores = [int(core) for core in facts["cores"]]
        named = ("median_ns", "minimum_ns", "spread")
        median, minimum, spread = (np.array(facts[name], np.float64) for name in named)
        attempts = np.array(facts["attempts"], np.int64)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not a matrix of `thalweg topology --save` ({type(error).__name__}: {error})"
        ) from None
    if any(each.shape != (len(cores), len(cores)) for each in (median, minimum, spread, attempts)):
        raise DataError(
            f"{path} is not a matrix of `thalweg topology --save` (its arrays are not of {len(cores)} cores)"
        )
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
    """Measures each pair until it is steady, at most `most_attempts` times. The steadiest attempt counts.

    Raises UsageError for fewer than two cores, SystemError if a core may not be used."""
    if len(cores) < 2:
        raise UsageError(f"latencies need two cores ({len(cores)} is given or usable): give two or more")
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
