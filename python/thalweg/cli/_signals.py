"""What can be drawn of a table: its waveforms and its timestamps, wherever its schema has them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import thalweg
from thalweg._ragged import Ragged
from thalweg._types import Type

Array = npt.NDArray[np.float64]
Samples = npt.NDArray[Any] | Ragged

_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_FEWEST_SAMPLES = 8
_BATCH_BYTES = 64 << 20


@dataclass
class Pulse:
    times: Array  # ns from the trigger on, or samples where their distance is not known
    values: Array


@dataclass
class Signals:
    table: thalweg.Table
    waveform: str = ""  # column of the samples
    start: str = ""  # column of the first sample's time
    period: str = ""  # column of the time from sample to sample
    sample_unit: str = ""
    timestamp: str = ""
    timestamp_s: float | None = None  # a unit of it in seconds

    @property
    def name(self) -> str:
        return self.table.name

    def can_show(self, panel: str) -> bool:
        return bool(self.timestamp if panel == "rates" else self.waveform)

    def pulses(self, count: int) -> list[Pulse]:
        rows = self.table.read(self._waveform_columns(), rows=(0, count))
        samples = _at(rows, self.waveform)
        return [self._pulse(rows, samples, row) for row in range(len(samples))]

    def has_time_axis(self) -> bool:
        if not self.period:
            return False
        periods = _at(self.table.read([self.period], rows=(0, 1)), self.period)
        return bool(np.isfinite(periods).all())

    def energies(self, count: int) -> Array:
        """Integrals above the baseline, which is the mean of the first sixteenth of a record; pulses count upwards."""
        parts = [_integrals(_at(rows, self.waveform)) for rows in self._batches(min(count, len(self.table)))]
        integrals = np.concatenate(parts)
        return -integrals if np.median(integrals) < 0 else integrals

    def times(self) -> Array:
        """In seconds, or in units of the timestamps where these are not known; from the first one on."""
        stamps = np.asarray(_at(self.table.read([self.timestamp]), self.timestamp))
        since_first = stamps - stamps.min()  # before they lose digits
        return np.asarray(since_first * (self.timestamp_s or 1.0), np.float64)

    def _pulse(self, rows: thalweg.Rows, samples: Samples, row: int) -> Pulse:
        values = np.asarray(samples[row], np.float64)
        period = float(_at(rows, self.period)[row]) if self.period else float("nan")
        if not np.isfinite(period):
            return Pulse(np.arange(len(values), dtype=np.float64), values)
        start = float(_at(rows, self.start)[row]) if self.start else 0.0
        return Pulse(start + period * np.arange(len(values), dtype=np.float64), values)

    def _batches(self, count: int) -> Iterator[thalweg.Rows]:
        first = self.table.read([self.waveform], rows=(0, 1))
        row_bytes = np.asarray(_at(first, self.waveform)[0]).nbytes
        step = max(1, _BATCH_BYTES // max(1, row_bytes))
        for start in range(0, count, step):
            yield self.table.read([self.waveform], rows=(start, min(start + step, count)))

    def _waveform_columns(self) -> list[str]:
        return [column for column in (self.waveform, self.start, self.period) if column]


def signals_of(table: thalweg.Table) -> Signals | None:
    """None where there is nothing to draw."""
    signals = Signals(table)
    for name, type_ in table.schema.items():
        if not signals.period:  # one that tells its times is better than any other
            _find_waveform(signals, name, type_)
        if not signals.timestamp and "timestamp" in name and type_.is_scalar and not type_.shape:
            signals.timestamp, signals.timestamp_s = name, _SECONDS.get(type_.unit)
    return signals if signals.waveform or signals.timestamp else None


def _find_waveform(signals: Signals, name: str, type_: Type) -> None:
    if _is_samples(type_) and not signals.waveform:
        signals.waveform, signals.sample_unit = name, type_.unit
    members = dict(type_.members)
    if type_.name == "struct" and not type_.shape and _is_samples(members.get("values")):
        signals.waveform, signals.sample_unit = f"{name}/values", members["values"].unit
        for member in ("t0", "dt"):
            if member in members and members[member].unit in ("ns", ""):
                setattr(signals, "start" if member == "t0" else "period", f"{name}/{member}")


def _is_samples(type_: Type | None) -> bool:
    """Numbers in a row: an array of one rank that is long enough for a pulse, or a list."""
    if type_ is None:
        return False
    if type_.element is not None:
        return not type_.shape and type_.element.is_scalar and not type_.element.shape
    return type_.is_scalar and len(type_.shape) == 1 and type_.shape[0] >= _FEWEST_SAMPLES


def _at(rows: thalweg.Rows, path: str) -> Samples:
    found = rows
    for name in path.split("/"):
        found = found[name]
    return found  # type: ignore[return-value]


def _integrals(samples: Samples) -> Array:
    if isinstance(samples, np.ndarray):
        head = max(1, samples.shape[1] // 16)
        baseline = samples[:, :head].mean(axis=1, dtype=np.float64)
        return np.asarray(samples.sum(axis=1, dtype=np.float64) - baseline * samples.shape[1])
    records = (np.asarray(record, np.float64) for record in samples)
    return np.array([_integrals(record[np.newaxis])[0] if len(record) else 0.0 for record in records])
