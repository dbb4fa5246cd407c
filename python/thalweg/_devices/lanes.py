"""Calls a device and appends its rows: a thread for each lane, and the first one starts, pauses and stops it."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._devices.board import Board
from thalweg._devices.clock import DeviceClock
from thalweg._devices.description import Description
from thalweg._devices.pulses import PulseFeatures
from thalweg._devices.pumped_rows import PumpedRows
from thalweg._devices.rows import Counters, LaneRows
from thalweg._devices.slow import SlowDevice
from thalweg._writing.attached import Attached
from thalweg.sources import DeviceLost, Overflow

_TIMEOUT_S = 0.1  # of next: so long a silent device keeps a request waiting
_IDLE_PAUSE_S = 0.001  # if a device returns before its timeout
_COUNT_S = 0.25
_DRAIN_IS_LONG_S = 2.0  # then a device that gives rows after stop is told of
_DRAIN_DEADLINES = 6  # so many deadlines a device has to hand out what it had when it was stopped


class NeverEmpty(DeviceLost):
    """Raised if a device gives rows on and on after it was stopped."""


class Gate:
    """Lets one thread be alone with the device, when the others are in no call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_closed = False

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._is_closed = False
                self._changed.notify_all()


class Lanes:
    """The device while it records. `before`: what an earlier process of it has left; empty if there was none."""

    def __init__(
        self,
        device: Any,
        description: Description,
        run: Attached,
        board: Board,
        happened: Callable[[dict[str, Any]], None],
        *,
        features: PulseFeatures | None = None,
        prefix: str = "",
        before: dict[str, Any] | None = None,
        deadline_s: float,
        drain_s: float | None = None,
    ) -> None:
        before = before or {}
        longest_s = _DRAIN_DEADLINES * deadline_s
        self._drain_s = longest_s if drain_s is None else min(drain_s, longest_s)
        self._device, self._board, self._tell, self._deadline_s = device, board, happened, deadline_s
        self._clock = DeviceClock(description, board, before)
        self._counters = Counters(list(description.schema), before.get("counters", {}))
        self._why = before.get("why", "")
        self._lanes: list[LaneRows] = []
        for lane, tables in enumerate(description.lanes):
            rest = run, tables, prefix, self._clock, self._happened, features
            if getattr(device, "thalweg_device", None) is None:
                self._lanes.append(LaneRows(*rest))
            else:
                self._lanes.append(PumpedRows(device, lane, list(description.schema), board, *rest))
        self._gate = Gate()
        self._pause: Callable[[], None] | None = getattr(device, "pause", None)
        self._stopping = self._has_stopped = self._pausing = self._is_paused = False
        self._ended: set[int] = set()  # lanes that have no more rows
        self._overflow: Overflow | None = None  # that another lane met
        self._error: BaseException | None = None  # of another lane
        self._next_count_s = 0.0
        self._counting = threading.Lock()
        self._overflows = 0
        self._empty_by_s = self._long_by_s = math.inf

    @property
    def rows(self) -> int:
        return sum(lane.rows for lane in self._lanes)

    def _happened(self, event: dict[str, Any]) -> None:
        self._tell(event)
        self._next_count_s = 0.0  # dead time is counted at once: the process may die

    def obey(self, request: str) -> None:
        """Does what the recorder asks for, from its own thread: the lanes see it after their next call."""
        if request == "stop":
            self._stopping = True
            for lane in self._lanes:
                lane.stop_waiting()
        elif request == "rotated":
            self._counters.leave_file()
        elif request in ("pause", "resume"):
            self._pausing = request == "pause"
        self._interrupt()

    def _interrupt(self) -> None:
        for lane in self._lanes:
            lane.interrupt()

    def work(self) -> None:
        """Records until the device has no more rows, or until it was stopped and has given what it had."""
        self._start("reopened" if self._why else "", self._why)
        others = [
            threading.Thread(target=self._other, args=(lane,), daemon=True) for lane in range(1, len(self._lanes))
        ]
        for thread in others:
            thread.start()
        self._record(0)
        for thread in others:
            thread.join()
        if self._error:
            raise self._error
        self._end()

    def _end(self) -> None:
        if not self._has_stopped:
            self._stop()
        self._count()
        if started := self._clock.untold():
            self._happened(started)
        for lane in self._lanes:
            lane.finish()
        close = getattr(self._device, "close", None)
        if close is not None:
            self._call("close", close)

    def _other(self, lane: int) -> None:
        try:
            self._record(lane)
        except BaseException as error:
            self._error = error

    def _record(self, lane: int) -> None:
        """Records until the lane has no more rows, or until the device was stopped and has given what it had."""
        next_idle_s = 0.0
        while self._error is None:
            if lane == 0:
                self._lead()
            stopped = self._has_stopped
            try:
                with self._gate.inside() if len(self._lanes) > 1 else contextlib.nullcontext():
                    took = self._take(lane, 0 if stopped else _TIMEOUT_S)
            except StopIteration:
                took = stopped = False
                self._ended.add(lane)
            except Overflow as overflow:
                self._overflow = overflow
                took = True
            if lane in self._ended and (lane > 0 or len(self._ended) == len(self._lanes)):
                break
            if not took or time.monotonic() >= next_idle_s:
                self._lanes[lane].idle()
                next_idle_s = time.monotonic() + _TIMEOUT_S
            if took and stopped:
                self._check_drain()
            if not took and (stopped or (lane in self._ended and self._has_stopped)):
                break
            if not took:
                time.sleep(_IDLE_PAUSE_S)
        if lane > 0 and self._error is None:
            self._count(lane)  # a producer that is finished shows no more
            self._lanes[lane].finish()  # the file of a rotation waits for it

    def _check_drain(self) -> None:
        """Tells of a device that gives rows long after stop. Raises NeverEmpty if it does so for too long."""
        now_s, most_s = time.monotonic(), self._drain_s
        if now_s >= self._empty_by_s:
            raise NeverEmpty(f"next still gives rows {most_s:g} s after stop")
        if now_s >= self._long_by_s:
            self._long_by_s = math.inf
            self._tell({"event": "draining", "after_s": _DRAIN_IS_LONG_S, "most_s": most_s})

    def _take(self, lane: int, timeout_s: float) -> bool:
        """Takes the next rows. Returns whether there were any."""
        if lane in self._ended or (self._is_paused and self._pause is None and not self._has_stopped):
            time.sleep(timeout_s)
            return False
        rows = self._lanes[lane]
        if isinstance(rows, PumpedRows):
            return rows.take(self._device, timeout_s, timeout_s + self._deadline_s)
        batch = self._next(lane, timeout_s)
        if not batch:
            return False
        rows.append(batch)
        if isinstance(self._device, SlowDevice):  # it has few rows, and each of them may be a gap
            self._next_count_s = 0.0
        return True

    def _next(self, lane: int, timeout_s: float) -> Any:
        self._board.begin(lane, "next", timeout_s + self._deadline_s)
        try:
            return self._device.next(timeout_s) if len(self._lanes) == 1 else self._device.next(timeout_s, lane)
        finally:
            self._board.end(lane)

    def _lead(self) -> None:
        """What the first lane does for all: it sees what was asked for, and counts."""
        if self._stopping and not self._has_stopped:
            self._stop()
        if self._overflow is not None:
            overflow, self._overflow = self._overflow, None
            self._restart(overflow)
        if self._pausing != self._is_paused and not self._has_stopped:
            self._is_paused = self._pausing
            if self._pause is not None:
                with self._alone():
                    if self._is_paused:
                        self._call("pause", self._pause)
                    else:
                        self._start("started", "after a pause", is_dead_before=False)
        if time.monotonic() >= self._next_count_s:
            self._next_count_s = time.monotonic() + _COUNT_S
            self._count()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._interrupt()
        with self._gate.alone():
            yield

    def _stop(self) -> None:
        with self._alone():
            self._call("stop", self._device.stop)
            self._empty_by_s = time.monotonic() + self._drain_s
            # One sentence is enough if the end is near.
            self._long_by_s = time.monotonic() + _DRAIN_IS_LONG_S if self._drain_s > 2 * _DRAIN_IS_LONG_S else math.inf
            self._has_stopped = True

    def _restart(self, overflow: Overflow) -> None:
        self._overflows += 1
        text = str(overflow) or "the memory of the device was full"
        lost = {} if overflow.lost is None else {"lost_triggers": overflow.lost}
        self._happened({"event": "overflow", "text": text, "from": self._clock.last(), **lost})
        if self._has_stopped:
            return
        with self._alone():
            self._call("stop", self._device.stop)
            self._start("started", "after an overflow", lost=overflow.lost)

    def _start(self, event: str, text: str, *, lost: int | None = None, is_dead_before: bool = True) -> None:
        before_ns = time.monotonic_ns()
        card = self._call("start", self._device.start)
        after_ns = time.monotonic_ns()
        self._clock.started(before_ns, after_ns, card, event, text, lost, is_dead_before=is_dead_before)
        for lane in self._lanes:
            lane.restarted()
        if not event:
            self._happened({"event": "started", "card": card, **self._clock.state()})

    def _count(self, lane: int = 0) -> None:
        with self._counting:
            self._count_alone(lane)

    def _count_alone(self, lane: int) -> None:
        counters = getattr(self._device, "counters", None)
        if counters is not None:
            self._counters.take(self._call("counters", counters, lane))
        for table in self._clock.tables:
            self._counters.add(table, self._clock.times_ns())
        for lane_rows in self._lanes:
            for table, flagged in lane_rows.flag_counts():
                self._counters.add(table, flagged)
        own = {"overflows": self._overflows, "backward_batches": self._clock.backward}
        self._counters.add(self._counters.tables[0], {name: value for name, value in own.items() if value})
        for table, counters in self._counters.shown().items():
            next(lane for lane in self._lanes if lane.has(table)).count(table, counters)

    def _call(self, name: str, function: Callable[[], Any], lane: int = 0) -> Any:
        with self._board.calling(lane, name, self._deadline_s):
            return function()
