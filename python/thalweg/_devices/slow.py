"""Makes a source of a slow instrument: a table for each of its channels, and a row for each value and each gap."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._devices.raised import text_at
from thalweg._schema.types import float64, int64, uint8, uint64
from thalweg.sources import GAP, DeviceLost, Given, Reading

_POLL_S = 1.0  # how often an instrument is asked whether a value has changed
_LONGEST_PAUSE_S = 10.0  # before an instrument that does not answer is opened again; the first one is a step

Batch = dict[str, dict[str, list[Any]]]


class SlowDevice:
    """What `Lanes` calls. It opens the instrument, and again after whatever an instrument raises: that is a gap.

    every_s: how often each value gets a row; None: when it changes. `tell` says to the recorder what has happened.
    source_file: that of the class, of which a line is named if it raises something.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        every_s: float | None,
        tell: Callable[[dict[str, Any]], None],
        source_file: str = "",
    ) -> None:
        self._make, self._every_s, self._tell, self._file = make, every_s, tell, source_file
        self._instrument: Any = None
        self._units: dict[str, str] = {}
        self._latest: dict[str, Reading] = {}
        self._written: dict[str, Reading] = {}
        self._due_s = self._next_try_s = 0.0
        self._pause_s = self._step_s
        self._gaps: dict[str, int] = {}
        self._gap_before: Reading | None = None
        self._has_stopped = False

    def open(self) -> None:
        """Opens the instrument for the first time: it must be there when a run begins."""
        self._instrument = self._make()
        self._units = _units_of(self._instrument)
        self._is_open()

    def go_on(self, units: Mapping[str, str], utc_ns: int, monotonic_ns: int) -> None:
        """Goes on where an earlier process was lost at this time: `next` opens the instrument."""
        self._units = dict(units)
        self._gap_before = Reading(math.nan, GAP, utc_ns, monotonic_ns)

    def describe(self) -> dict[str, Any]:
        return {"tables": {channel: _row(unit) for channel, unit in self._units.items()}}

    @property
    def units(self) -> dict[str, str]:
        return self._units

    def start(self) -> None:
        pass

    def pause(self) -> None:
        """Values are recorded in a pause, too."""

    def next(self, timeout: float) -> Batch | None:
        if self._has_stopped:
            return None
        if self._gap_before is not None:
            gap, self._gap_before = self._gap_before, None
            return self._gap(gap)
        if self._instrument is None and not self._open_again(timeout):
            return None
        try:
            rows = self._new_rows(timeout)
        except Exception as error:  # an instrument may raise anything
            return self._lose(error)
        self._pause_s = self._step_s
        return _batch(rows)

    def counters(self) -> dict[str, dict[str, int]]:
        return {channel: {"gaps": self._gaps.get(channel, 0)} for channel in self._units}

    def stop(self) -> None:
        self._has_stopped = True

    def close(self) -> None:
        instrument, self._instrument = self._instrument, None
        close = getattr(instrument, "close", None)
        if close is not None:
            close()

    def _new_rows(self, timeout: float) -> list[tuple[str, Reading]]:
        """Returns the rows that are due within this time."""
        left_s = max(0.0, self._due_s - time.monotonic())
        says_changes = hasattr(self._instrument, "changes")
        given: Iterable[tuple[str, Given]] = ()
        if says_changes:
            given = self._instrument.changes(timeout if self._every_s is None else min(timeout, left_s))
        else:
            time.sleep(min(timeout, left_s))
            if time.monotonic() < self._due_s:
                return []
            values = self._instrument.read()
            given = [*values.items(), *((channel, None) for channel in self._units if channel not in values)]
        readings = [(channel, self._reading(channel, value)) for channel, value in given]
        is_due = time.monotonic() >= self._due_s
        if is_due:
            self._due_s = time.monotonic() + self._step_s
            readings += [(channel, Reading(math.nan, GAP)) for channel in self._silent(dict(readings))]
        self._latest |= dict(readings)
        rows = [each for each in readings if self._is_new(*each)]
        if is_due and self._every_s is not None:
            rows += self._that_go_on(dict(rows), now=says_changes)
        return rows

    @property
    def _step_s(self) -> float:
        return _POLL_S if self._every_s is None else self._every_s

    def _is_open(self) -> None:
        """An instrument that says changes has some time to say its first values."""
        self._due_s = time.monotonic() + self._step_s if hasattr(self._instrument, "changes") else 0.0

    def _silent(self, but: Mapping[str, Reading]) -> list[str]:
        """Returns the channels that have given nothing yet."""
        return [channel for channel in self._units if channel not in self._latest and channel not in but]

    def _reading(self, channel: str, given: Given) -> Reading:
        if channel not in self._units:
            raise ValueError(f"it gave a value of '{channel}'{suggestion(channel, self._units)}")
        if given is None:
            return Reading(math.nan, GAP)
        reading = given if isinstance(given, Reading) else Reading(float(given))
        if not 0 <= reading.severity <= GAP:
            raise ValueError(f"severity {reading.severity} of '{channel}' is not 0 to {GAP}")
        return replace(reading, value=math.nan if reading.severity == GAP else float(reading.value))

    def _is_new(self, channel: str, reading: Reading) -> bool:
        """Returns whether it is a row at once: a gap begins or ends, or values are recorded when they change."""
        before = self._written.get(channel)
        is_gap, was_gap = reading.severity == GAP, before is not None and before.severity == GAP
        if before is None or is_gap or was_gap:
            is_new = before is None or is_gap != was_gap
        else:
            is_new = self._every_s is None and (reading.value, reading.severity) != (before.value, before.severity)
        if is_new:
            self._written[channel] = reading
            self._gaps[channel] = self._gaps.get(channel, 0) + is_gap
        return is_new

    def _that_go_on(self, but: Mapping[str, Reading], *, now: bool) -> list[tuple[str, Reading]]:
        """Returns the latest values; now: an instrument that says changes means that they are the same now."""
        lasting = [(channel, each) for channel, each in self._latest.items() if each.severity != GAP]
        return [
            (channel, Reading(each.value, each.severity) if now else each)
            for channel, each in lasting
            if channel not in but
        ]

    def _gap(self, gap: Reading) -> Batch | None:
        self._latest = dict.fromkeys(self._units, gap)
        return _batch([(channel, gap) for channel in self._units if self._is_new(channel, gap)])

    def _lose(self, error: Exception) -> Batch | None:
        self._tell({"event": "lost", "text": _text(error, self._file)})
        with contextlib.suppress(Exception):  # it has failed already
            self.close()
        self._instrument = None
        self._next_try_s = time.monotonic() + self._pause_s
        return self._gap(Reading(math.nan, GAP))

    def _open_again(self, timeout: float) -> bool:
        if (left_s := self._next_try_s - time.monotonic()) > 0:
            time.sleep(min(timeout, left_s))
            return False
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        self._next_try_s = time.monotonic() + self._pause_s
        instrument = None
        try:
            instrument = self._make()
            units = _units_of(instrument)
            if units != self._units:
                raise DeviceLost(f"it has other channels or units now: {units}")
        except Exception as error:
            with contextlib.suppress(Exception):
                instrument.close()  # type: ignore[union-attr]
            self._tell({"event": "absent", "text": _text(error, self._file)})
            return False
        self._instrument = instrument
        self._is_open()
        self._tell({"event": "reopened"})
        return True


def _units_of(instrument: Any) -> dict[str, str]:
    units = instrument.units()
    is_right = isinstance(units, Mapping) and all(isinstance(each, str) for pair in units.items() for each in pair)
    if not is_right or not units:
        raise UsageError(f'units returned {units!r}: return the unit of each channel, as {{"stage": "K"}}')
    return dict(units)


def _row(unit: str) -> dict[str, Any]:
    return {
        "utc": int64(unit="ns", description="clock of the host, since 1970"),
        "monotonic": uint64(unit="ns", description="monotonic clock of the host"),
        "value": float64(unit=unit),
        "severity": uint8(description="0: no alarm, 1: minor, 2: major, 3: no value from here on"),
    }


def _batch(rows: list[tuple[str, Reading]]) -> Batch | None:
    batch: Batch = {}
    for channel, reading in rows:
        columns = batch.setdefault(channel, {"utc": [], "monotonic": [], "value": [], "severity": []})
        values = (reading.utc_ns, reading.monotonic_ns, reading.value, reading.severity)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    return batch or None


def _text(error: Exception, source_file: str) -> str:
    return str(error) if isinstance(error, DeviceLost) and str(error) else text_at(error, source_file)
