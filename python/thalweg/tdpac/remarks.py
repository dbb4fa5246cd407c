"""What is odd about the detectors of a run: peaks that have drifted or are not there, silence, floods."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from thalweg._hits.histogram import RECENT, EnergyHistogram
from thalweg._hits.limits import FLOOD, SILENCE_S
from thalweg._hits.peaks import Peak, peak_in
from thalweg._hits.side_by_side import Hits

_SILENCE_PS = SILENCE_S * 1e12
_OFTEN = 0.5
"""A peak that is missed in more of the looks than that is not there."""


@dataclass
class _Looks:
    """Looks at one window, each at some hits in a row."""

    there: list[Peak] = field(default_factory=list)
    missed: int = 0

    def note(self, peak: Peak | None) -> None:
        if peak is not None and peak.is_there:
            self.there.append(peak)
        elif peak is not None:
            self.missed += 1

    @property
    def are_missed(self) -> bool:
        return self.missed > _OFTEN * (self.missed + len(self.there))


class DetectorRemarks:
    """Looks at the last 20,000 hits of each batch, so that it costs little."""

    def __init__(self, table: str, windows: Mapping[str, tuple[float, float]]) -> None:
        self.table = table
        self.hits = 0
        self.newest_ps: int | None = None
        self.oldest_ps = 0
        self._windows = dict(windows)
        self._looks = {kind: _Looks() for kind in windows}

    def note(self, hits: Hits) -> None:
        times, energies = hits
        if len(times) == 0:
            return
        self.hits += len(times)
        oldest, newest = int(times.min()), int(times.max())
        self.oldest_ps = oldest if self.newest_ps is None else min(self.oldest_ps, oldest)
        self.newest_ps = newest if self.newest_ps is None else max(self.newest_ps, newest)
        self._look(energies[-RECENT:])

    def _look(self, energies: npt.NDArray[Any]) -> None:
        seen = EnergyHistogram.around(self._windows)
        seen.add(energies)
        for kind, window in self._windows.items():
            self._looks[kind].note(peak_in(seen, window))

    @property
    def rate(self) -> float:
        """Hits a second, or 0 if there is no time between them."""
        passed = 0 if self.newest_ps is None else self.newest_ps - self.oldest_ps
        return self.hits / (passed * 1e-12) if self.hits > 1 and passed > 0 else 0.0

    @property
    def has_no_peak(self) -> bool:
        """Whether no window has a peak."""
        return all(looks.are_missed for looks in self._looks.values())

    def of_peaks(self) -> list[str]:
        found = []
        for kind, looks in self._looks.items():
            low, high = self._windows[kind]
            where = f"the {kind} window of {self.table} ({low:.4g} to {high:.4g})"
            if looks.are_missed:
                found.append(f"There is no peak in {where}: set the window, or scale.")
                continue
            drifted = [peak for peak in looks.there if peak.has_drifted]
            if drifted:
                worst = max(drifted, key=lambda peak: abs(peak.off))
                far = f"{abs(worst.off):.0%} of half the window's width from its middle"
                found.append(f"The peak in {where} is at {worst.centre:.4g} for a time, {far}.")
        return found


def tables_apart(detectors: Sequence[DetectorRemarks], delays_ps: Sequence[float], range_ps: float) -> list[str]:
    """Returns the tables whose hits all come too early or too late for coincidences with each other table.

    delays_ps: what is subtracted from the times of each detector.
    range_ps: the longest time between the hits of a coincidence.
    """
    spans = {
        each.table: (each.oldest_ps - delay, each.newest_ps - delay)
        for each, delay in zip(detectors, delays_ps, strict=True)
        if each.newest_ps is not None
    }

    def is_apart(table: str, other: str) -> bool:
        (begin, end), (other_begin, other_end) = spans[table], spans[other]
        return begin > other_end + range_ps or other_begin > end + range_ps

    return [each for each in spans if len(spans) > 1 and all(is_apart(each, other) for other in spans if other != each)]


def remarks_of(detectors: Sequence[DetectorRemarks]) -> list[str]:
    """Returns what is odd, in whole sentences."""
    found = []
    newest = max((each.newest_ps for each in detectors if each.newest_ps is not None), default=0)
    for each in detectors:
        others = [other.rate for other in detectors if other is not each and other.rate > 0]
        usual = statistics.median(others) if others else 0.0
        if each.newest_ps is None:
            found.append(f"{each.table} has no hits.")
        elif newest - each.newest_ps > _SILENCE_PS:
            silent_s = (newest - each.newest_ps) * 1e-12
            found.append(f"{each.table} has no hits in the last {silent_s:,.0f} s of the run.")
        if usual > 0 and each.rate > FLOOD * usual:
            found.append(f"{each.table} has {each.rate / usual:.1f} times the rate of the other detectors.")
        found += each.of_peaks()
    return found
