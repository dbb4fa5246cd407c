"""Follows the gain of a detector by peaks whose energies are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._hits.histogram import EnergyHistogram
from thalweg._hits.peaks import Peak, peak_in
from thalweg._hits.side_by_side import Hits
from thalweg._hyperfine.isotopes import peak_window_kev

EVERY = 20_000
TOLERANCE = 0.02
_STEPS = 4
"""Windows are moved so often to the peaks that are in them."""
_LOG_BINS = 4000
_SIGNIFICANT = 5.0
_REACH = 0.25
"""A gain that is known by about is looked for so far around it."""
_FEWEST = 1000

Energies = npt.NDArray[np.float64]


class GainFollower:
    """Turns energies of any unit into keV. The gain is fitted to so many hits in a row, again and again, and each fit
    holds for the hits behind those that it was made of. The first of these wait for the first fit."""

    def __init__(
        self, peaks: Mapping[str, float], about: float | None = None, every: int = EVERY, tolerance: float = TOLERANCE
    ) -> None:
        """
        peaks: the energies of peaks in keV, by name.
        about: the gain, in keV for each unit, as far as it is known.
        """
        self._peaks = dict(peaks)
        self._about = about
        self._every = every
        self._tolerance = tolerance
        self._waiting: list[Hits] = []
        self._newest: list[npt.NDArray[Any]] = []
        self._count = 0
        self.gain: float | None = None
        self.gains: list[float] = []
        """All that were fitted."""
        self.missed = 0
        """How many fits did not find all peaks."""
        self.doubts: dict[str, float] = {}
        """The peaks that did not fit the gain of all, and how far each was away at most, as a share of its energy."""

    @property
    def waits_for(self) -> tuple[int, int] | None:
        """How many hits there are of those that the first fit needs, or None if it was made."""
        return None if self.gains or self.missed else (self._count, self._every)

    def add(self, hits: Hits) -> Iterator[Hits]:
        """Yields the hits that are calibrated by now, with energies in keV."""
        times, energies = hits
        while len(times):
            part = min(len(times), self._every - self._count)
            yield from self._take((times[:part], energies[:part]))
            times, energies = times[part:], energies[part:]

    def _take(self, hits: Hits) -> Iterator[Hits]:
        self._newest.append(hits[1])
        self._count += len(hits[1])
        if not self.gains and not self.missed:
            self._waiting.append(hits)
        else:
            yield self._calibrated(hits)
        if self._count == self._every:
            yield from self._fit()

    def finish(self) -> Iterator[Hits]:
        """Yields the hits that still wait for a first fit, which is made of less then."""
        if self._waiting:
            yield from self._fit()

    def _fit(self) -> Iterator[Hits]:
        raw = np.concatenate(self._newest).astype(np.float64)
        self._newest, self._count = [], 0
        found = self._fitted(raw[np.isfinite(raw) & (raw > 0)])
        if found is None:
            self.missed += 1
        else:
            self.gain = found
            self.gains.append(found)
        waiting, self._waiting = self._waiting, []
        for hits in waiting:
            yield self._calibrated(hits)

    def _calibrated(self, hits: Hits) -> Hits:
        gain = self.gain if self.gain is not None else self._about if self._about is not None else 1.0
        return hits[0], (hits[1] * gain).astype(np.float32)

    def _fitted(self, raw: Energies) -> float | None:
        if len(raw) < _FEWEST:
            return None
        known = self.gain or self._about
        if known is not None and (gain := self._refined(raw, known)) is not None:
            return gain
        begin = self._searched(raw, known)
        return None if begin is None else self._refined(raw, begin)

    def _refined(self, raw: Energies, gain: float) -> float | None:
        """Returns the gain that puts the peaks to their energies, or None if one is not there."""
        windows = {name: peak_window_kev(kev) for name, kev in self._peaks.items()}
        ratios: dict[str, tuple[float, float]] = {}
        for _ in range(_STEPS):
            energies = EnergyHistogram.around(windows)
            energies.add(raw * gain)
            found = {name: peak_in(energies, window) for name, window in windows.items()}
            there = {name: peak for name, peak in found.items() if peak is not None and peak.is_there}
            if len(there) < len(windows):
                return None
            ratios = {name: _ratio(peak, self._peaks[name]) for name, peak in there.items()}
            weights = {name: 1 / error**2 for name, (_, error) in ratios.items()}
            gain *= sum(ratios[name][0] * weights[name] for name in ratios) / sum(weights.values())
        for name, (ratio, error) in ratios.items():
            if abs(ratio - 1) > self._tolerance + 3 * error:
                self.doubts[name] = max(self.doubts.get(name, 0.0), abs(ratio - 1))
        return gain

    def _searched(self, raw: Energies, known: float | None) -> float | None:
        """Returns the gain at which the least of the peaks is most significant, or None if there is none.

        In a histogram of the logarithm of energies, a gain is a shift: the peaks keep their distances.
        """
        low, high = np.quantile(raw, [0.005, 0.9999])
        begin, end = math.log(low) - 1.0, math.log(high) + 1.0
        width = (end - begin) / _LOG_BINS
        counts, _ = np.histogram(np.log(raw), _LOG_BINS, (begin, end))
        below = np.concatenate([[0], np.cumsum(counts)])
        largest = math.log(max(self._peaks.values()))
        if known is None:
            shifts = np.arange(begin + 1.0, end - 1.0, width) - largest
        else:
            shifts = np.arange(-_REACH, _REACH, width) - math.log(known)
        least = np.full(len(shifts), np.inf)
        for kev in self._peaks.values():
            least = np.minimum(least, _significance(below, (shifts + math.log(kev) - begin) / width, kev, width))
        best = int(least.argmax())
        return math.exp(-shifts[best]) if least[best] > _SIGNIFICANT else None

    def sentences(self, table: str) -> list[str]:
        """Returns what is to be said of the calibration, in whole sentences."""
        names = ", ".join(f"{name} ({kev:g} keV)" for name, kev in self._peaks.items())
        if not self.gains:
            return [f"The energies of {table} are not calibrated: the peaks {names} are not found in them."]
        first, least, most = self.gains[0], min(self.gains), max(self.gains)
        found = [f"The energies of {table} are calibrated by {names}: {first:.5g} keV each unit at first"]
        found[0] += f", {least:.5g} to {most:.5g} in all." if least < most else "."
        if self.missed:
            found.append(
                f"In {self.missed} of {self.missed + len(self.gains)} parts of {table} not all peaks are found: the "
                "last gain holds there."
            )
        for name, share in self.doubts.items():
            found.append(f"The peak {name} of {table} is {share:.1%} away from where the gain of all peaks puts it.")
        return found


def _ratio(peak: Peak, kev: float) -> tuple[float, float]:
    """By how much the gain is too small, and its error. No peak counts for more than its shape can tell."""
    return kev / peak.centre, max(peak.centre_error, 1e-4 * kev) / kev


def _significance(below: npt.NDArray[Any], middle: Energies, kev: float, width: float) -> Energies:
    """Returns how many errors the counts about each place are above those on both sides of it."""
    low, high = peak_window_kev(kev)
    half = math.log(high / low) / 2 / width

    def between(begin: Energies, end: Energies) -> Energies:
        edges = np.arange(len(below))
        return np.asarray(np.interp(end, edges, below) - np.interp(begin, edges, below), np.float64)

    inside = between(middle - half, middle + half)
    beside = between(middle - 2 * half, middle - half) + between(middle + half, middle + 2 * half)
    return np.asarray((inside - beside) / np.sqrt(np.maximum(1.0, inside + beside)), np.float64)
