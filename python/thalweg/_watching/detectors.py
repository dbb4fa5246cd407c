"""What is known of one table of a run that is watched: its rows, its rate, its energies, its newest waveform."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from thalweg._hits.calibration import GainFollower
from thalweg._hits.histogram import EnergyHistogram
from thalweg._hits.side_by_side import PICOSECONDS, Hits, picoseconds
from thalweg._watching.slices import Slices, parts_of
from thalweg._watching.streams import Stream, streams_of

if TYPE_CHECKING:
    from thalweg.tdpac.hits import HitColumns

_ROWS = 1 << 17
_COMPUTED_ROWS = 1 << 12
"""So many timestamps are read at once where features are computed: the share of slices changes behind them."""
_POINTS = 600
_RATE_OVER_S = 10.0


class Signals(Protocol):
    """What is found in a table by the types and names of its columns."""

    waveform: str
    sample_unit: str
    energy: str
    energy_unit: str
    timestamp: str

    def pulse(self, row: int) -> Any: ...


@dataclass(frozen=True)
class Scope:
    """A waveform, with as many points as a screen shows: the least and the largest sample of each piece."""

    times: list[float]
    values: list[float | None]
    has_times: bool
    unit: str


@dataclass
class Rate:
    """Rows a second, over the last ten seconds of the clock that the rows have, or else of this machine's."""

    _points: deque[tuple[float, int]] = field(default_factory=deque)

    def note(self, at_s: float, rows: int) -> None:
        if self._points and at_s <= self._points[-1][0]:
            return
        self._points.append((at_s, rows))
        while len(self._points) > 2 and self._points[1][0] < at_s - _RATE_OVER_S:
            self._points.popleft()

    @property
    def per_second(self) -> float | None:
        if len(self._points) < 2:
            return None
        (first_s, first), (last_s, last) = self._points[0], self._points[-1]
        return (last - first) / (last_s - first_s)


@dataclass(frozen=True)
class Arrival:
    """New rows of a detector."""

    at_s: float
    """When they came, by `time.monotonic`."""
    behind_s: float
    """How far the detector was behind the newest hit of all, before and after them: the smaller one."""


@dataclass
class Detector:
    name: str
    energy: str = ""
    energy_unit: str = ""
    timestamp: str = ""
    unit: str = ""
    """The unit of the timestamps. It is empty if it is not known."""
    waveform: str = ""
    stored: HitColumns | None = None
    """The columns of a configuration, and what is left out by flags: rows that are counted, but are in no spectrum."""
    slices: Slices | None = None
    """Those whose hits count, if the features of a detector are computed. None: all hits count."""
    follower: GainFollower | None = None
    """What calibrates the energies."""
    energies: EnergyHistogram | None = None
    windows: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Those of starts and stops, in the unit of the energies."""
    streams: list[Stream] = field(default_factory=list)
    """The numbers of a slow instrument, of a table that has no hits."""
    rows: int = 0
    newest_ps: int | None = None
    first_ps: int | None = None
    rate: Rate = field(default_factory=Rate)
    arrival: Arrival | None = None
    """The newest rows. None: all rows were read in the first look, so it is not known when they came."""
    computing_s: float = 0.0
    """How long samples were read and features computed."""
    scope: Scope | None = None

    @property
    def has_times(self) -> bool:
        return bool(self.timestamp and self.unit)

    @property
    def has_hits(self) -> bool:
        return self.has_times and (bool(self.energy) or self.stored is not None)

    @property
    def mean_rate(self) -> float | None:
        """Rows a second since the first row."""
        if self.first_ps is None or self.newest_ps is None or self.newest_ps <= self.first_ps:
            return None
        return self.rows / ((self.newest_ps - self.first_ps) * 1e-12)

    def hits_of(self, piece: Any) -> Iterator[Hits]:
        """Yields the hits of new rows, with no times or no energies if the table has none, and counts them."""
        if self.streams:
            self._read_streams(piece)
            return
        if self.stored is not None and self.stored.made is not None:
            yield from self._computed_hits(self.stored, self.slices or Slices(), piece)
            return
        flags = self.stored.flags if self.stored else ""
        columns = [each for each in (self.timestamp if self.has_times else "", self.energy, flags) if each]
        if not columns:
            self.rows += len(piece)
            return
        for rows in piece.batches(columns, rows=_ROWS):
            times = picoseconds(rows[self.timestamp], self.unit) if self.has_times else np.zeros(0, np.int64)
            energies = rows[self.energy] if self.energy else np.zeros(0, np.float32)
            if len(times):
                self._note(times)
            else:
                self.rows += len(rows)
            hits = times, energies
            if self.stored is not None:
                hits = self.stored.without_rejected(times, energies, rows[flags] if flags else None)
            if self.slices is not None:
                kept = self.slices.have(hits[0])
                hits = hits[0][kept], hits[1][kept]
            yield from self._calibrated(hits)

    def _computed_hits(self, stored: HitColumns, slices: Slices, piece: Any) -> Iterator[Hits]:
        """Reads samples of those pulses only whose timestamps lie in the slices."""
        done = 0
        for rows in piece.batches([self.timestamp], rows=_COMPUTED_ROWS):
            times = picoseconds(rows[self.timestamp], self.unit)
            self._note(times)
            for part, kept in parts_of(piece[done : done + len(rows)], slices.have(times)):
                begin = time.monotonic()
                computed = list(stored.read(part, kept))
                self.computing_s += time.monotonic() - begin
                for hits in computed:
                    yield from self._calibrated(hits)
            done += len(rows)

    def _note(self, times: npt.NDArray[np.int64]) -> None:
        self.rows += len(times)
        if len(times):
            first, newest = int(times.min()), int(times.max())
            self.newest_ps = newest if self.newest_ps is None else max(self.newest_ps, newest)
            self.first_ps = first if self.first_ps is None else min(self.first_ps, first)

    def _calibrated(self, hits: Hits) -> Iterator[Hits]:
        yield from self._histogrammed(self.follower.add(hits) if self.follower else (hits,))

    def _read_streams(self, piece: Any) -> None:
        for rows in piece.batches(["utc", *(each.column for each in self.streams)], rows=_ROWS):
            times = np.asarray(rows["utc"], np.int64)
            self.rows += len(times)
            for each in self.streams:
                each.add(times, np.asarray(rows[each.column], np.float64))

    def last_hits(self) -> Iterator[Hits]:
        """Yields the hits that waited for a first calibration, at the end of a run."""
        if self.follower is not None:
            yield from self._histogrammed(self.follower.finish())

    def _histogrammed(self, hits: Iterable[Hits]) -> Iterator[Hits]:
        for times, energies in hits:
            if self.energies is not None:
                self.energies.add(energies)
            yield times, energies


def detector_of(table: Any, signals: Signals | None) -> Detector:
    found = Detector(table.name)
    if signals is not None:
        found.energy, found.energy_unit, found.waveform = signals.energy, signals.energy_unit, signals.waveform
        found.timestamp = signals.timestamp
        found.unit = _time_unit(table, signals.timestamp)
    else:
        found.streams = streams_of(table)
    return found


def _time_unit(table: Any, column: str) -> str:
    unit = table.schema[column].unit if column else ""
    return unit if unit in PICOSECONDS else ""


def scope_of(signals: Signals) -> Scope | None:
    """Returns the waveform of the only row of a table."""
    pulse = signals.pulse(0)
    if len(pulse.values) == 0:
        return None
    times, values = _few(np.asarray(pulse.times, np.float64), np.asarray(pulse.values, np.float64))
    shown = [round(each, 3) if np.isfinite(each) else None for each in values.tolist()]
    return Scope(np.round(times, 3).tolist(), shown, pulse.has_times, signals.sample_unit)


Numbers = npt.NDArray[np.float64]


def _few(times: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    step = -(-len(values) // (_POINTS // 2))
    if step <= 2:
        return times, values
    whole = len(values) // step * step
    pieces = values[:whole].reshape(-1, step)
    ends = np.sort(np.stack([pieces.argmin(axis=1), pieces.argmax(axis=1)], axis=1), axis=1)
    at = (np.arange(len(pieces))[:, np.newaxis] * step + ends).ravel()
    return times[at], values[at]
