"""Histograms of energies that are filled while a run is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

BINS = 1024
RECENT = 20_000
_MOST_DOUBLINGS = 60
_ABOVE_WINDOWS = 1.3

Counts = npt.NDArray[np.int64]


class EnergyHistogram:
    """1024 bins from 0 on. The width of a bin is given, or it is the least power of two with which all energies fit: so
    it depends on the energies, and not on the order in which they come."""

    def __init__(self, end: float | None = None) -> None:
        self.width = 1.0 if end is None else end / BINS
        self._grows = end is None
        self.counts: Counts = np.zeros(BINS, np.int64)
        self.outside = 0
        """Energies that are negative, no numbers, or behind the last bin."""
        self.first: Counts = np.zeros(BINS, np.int64)
        """The first 20,000 hits."""
        self._older: Counts = np.zeros(BINS, np.int64)
        self._newer: Counts = np.zeros(BINS, np.int64)

    @classmethod
    def around(cls, windows: Mapping[str, tuple[float, float]]) -> Self:
        """Returns one that ends a little above the highest window."""
        return cls(_ABOVE_WINDOWS * max(high for _, high in windows.values()))

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.width * np.arange(BINS + 1), np.float64)

    @property
    def recent(self) -> Counts:
        """The last hits: between 20,000 and 60,000 of them, or all if there were less."""
        return self._older + self._newer

    def add(self, energies: npt.NDArray[Any]) -> None:
        values = np.asarray(energies, np.float64)
        with np.errstate(invalid="ignore"):
            inside = values[(values >= 0) & (values < np.inf)]
        if self._grows and len(inside):
            self._grow(float(inside.max()))
        inside = inside[inside < self.width * BINS]
        self.outside += len(values) - len(inside)
        bins = np.minimum((inside * (1 / self.width)).astype(np.intp), BINS - 1)
        new = np.bincount(bins, minlength=BINS)
        if (missing := RECENT - int(self.first.sum())) > 0:
            self.first += np.bincount(bins[:missing], minlength=BINS)
        self.counts += new
        if len(bins) >= RECENT:
            self._newer = np.bincount(bins[-RECENT:], minlength=BINS)
        else:
            self._newer += new
        if self._newer.sum() >= RECENT:
            self._older, self._newer = self._newer, np.zeros(BINS, np.int64)

    def _grow(self, largest: float) -> None:
        needed = math.floor(math.log2(max(1.0, largest) / (self.width * BINS))) + 1
        for _ in range(min(needed, _MOST_DOUBLINGS)):
            self.width *= 2
            self.counts, self.first = map(_halved, (self.counts, self.first))
            self._older, self._newer = map(_halved, (self._older, self._newer))


def _halved(counts: Counts) -> Counts:
    pairs = counts.reshape(-1, 2).sum(axis=1)
    return np.concatenate([pairs, np.zeros(BINS - len(pairs), np.int64)])
