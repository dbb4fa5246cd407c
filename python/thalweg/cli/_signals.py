"""Reads what can be drawn from a table: its waveforms, energies and timestamps."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import thalweg
from thalweg.cli._pulses import Array, Samples, integrals, polarity

_BATCH_BYTES = 64 << 20
_JUDGED_ROWS = 1000  # rows from which the polarity of the pulses is taken


@dataclass
class Pulse:
    times: Array  # ns since the trigger, or sample numbers if the sampling period is not known
    values: Array
    has_times: bool


@dataclass
class Signals:
    table: thalweg.Table
    waveform: str = ""  # column of the samples
    start: str = ""  # column of the first sample's time
    period: str = ""  # column of the sampling period
    sample_unit: str = ""
    energy: str = ""  # column of the stored energy
    energy_unit: str = ""
    energy_is_whole: bool = False
    timestamp: str = ""
    timestamp_s: float | None = None  # the unit of the timestamps in seconds, if it is known

    @property
    def name(self) -> str:
        return self.table.name

    def can_show(self, panel: str) -> bool:
        columns = {"pulses": self.waveform, "spectrum": self.waveform or self.energy, "rates": self.timestamp}
        return bool(columns[panel])

    def pulses(self, count: int) -> list[Pulse]:
        rows = self.table.read(self._waveform_columns(), rows=slice(0, count))
        samples = at(rows, self.waveform)
        return [self._pulse(rows, samples, row) for row in range(len(samples))]

    def pulse(self, row: int) -> Pulse:
        rows = self.table.read(self._waveform_columns(), rows=slice(row, row + 1))
        return self._pulse(rows, at(rows, self.waveform), 0)

    def has_time_axis(self) -> bool:
        if not self.period:
            return False
        periods = at(self.table.read([self.period], rows=slice(0, 1)), self.period)
        return bool(np.isfinite(periods).all())

    def stored_energies(self, count: int) -> Array:
        """Returns the energies of the table as they are stored, also those that are no numbers. The array is empty if
        there are none, or only zeros."""
        if not self.energy:
            return np.array([])
        found = np.asarray(self.table.read([self.energy], rows=slice(0, count))[self.energy], np.float64)
        return found if found[np.isfinite(found)].any() else np.array([])

    def integrals(self, count: int) -> Array:
        """Returns the integrals of the pulses above their baselines."""
        return np.concatenate([integrals(part, self.polarity) for part in self._samples(min(count, len(self.table)))])

    @cached_property
    def polarity(self) -> int:
        """The direction of the pulses: 1 upwards, -1 downwards."""
        return polarity(next(self._samples(min(_JUDGED_ROWS, len(self.table)))))

    def times(self) -> Array:
        """Returns the times since the first timestamp, in seconds, or in timestamp units if their unit is not known."""
        stamps = np.asarray(at(self.table.read([self.timestamp]), self.timestamp))
        since_first = stamps - stamps.min()  # in integers, before the conversion to float loses digits
        return np.asarray(since_first * (self.timestamp_s or 1.0), np.float64)

    def _pulse(self, rows: thalweg.Rows, samples: Samples, row: int) -> Pulse:
        values = np.asarray(samples[row], np.float64)
        period = float(at(rows, self.period)[row]) if self.period else float("nan")
        if not np.isfinite(period):
            return Pulse(np.arange(len(values), dtype=np.float64), values, False)
        start = float(at(rows, self.start)[row]) if self.start else 0.0
        return Pulse(start + period * np.arange(len(values), dtype=np.float64), values, True)

    def _samples(self, count: int) -> Iterator[Samples]:
        for rows in self.table.batches([self.waveform], rows=count, memory_bytes=_BATCH_BYTES):
            yield at(rows, self.waveform)[:count]
            count -= len(at(rows, self.waveform))
            if count <= 0:
                return

    def _waveform_columns(self) -> list[str]:
        return [column for column in (self.waveform, self.start, self.period) if column]


def at(rows: thalweg.Rows, path: str) -> npt.NDArray[Any] | Any:
    found = rows
    for name in path.split("/"):
        found = found[name]
    return found
