"""What every source of `thalweg record --source module:Class` promises, as tests for yours:

    from thalweg.testing.sources import SourceSuite

    class TestCard(SourceSuite):
        def make(self):
            return Card(address="simulated")

A source in C is opened with `open_library("./libmine.so", address="simulated")`.

pytest collects the tests. They need no file and no process; `thalweg devices` tries the device with both.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._base.errors import text_of
from thalweg._devices.board import Board
from thalweg._devices.description import Description, check_settings, description_of, load_class
from thalweg._devices.lanes import Lanes
from thalweg._writing.attached import attach
from thalweg._writing.create import create
from thalweg.sources import Overflow


def open_library(path: str, **settings: Any) -> Any:
    """Opens the device of a source in C, as the recorder does. Raises UsageError if the settings are wrong."""
    library = load_class(path)
    check_settings(path, library, settings)
    return library(**settings)


class SourceSuite:
    """The tests. `make` opens the device; the other members may be changed where yours is slower."""

    seconds = 1.0
    """How long it is read."""
    timeout = 0.1
    """What `next` gets."""
    slack = 1.0
    """How much longer than its timeout a call of `next` may take, in seconds."""
    least_rows = 1
    """So many rows must come in this time."""

    def make(self) -> Any:
        """Opens the device."""
        raise NotImplementedError("write make(self), which opens your device")

    def test_it_describes_what_it_records(self) -> None:
        device = self._open()
        try:
            first, second = self._described(device), self._described(device)
            assert first.schema.to_json() == second.schema.to_json(), "describe returns other tables the second time"
        finally:
            self._close(device)

    def test_next_returns_within_its_timeout(self) -> None:
        device = self._open()
        try:
            lanes = self._described(device).lanes
            device.start()
            for timeout in (0.0, self.timeout):
                begin_s = time.monotonic()
                self._next(device, timeout, 0, len(lanes))
                took_s = time.monotonic() - begin_s
                assert took_s <= timeout + self.slack, f"next({timeout:g}) took {took_s:.2f} s"
            device.stop()
        finally:
            self._close(device)

    def test_rows_fit_the_tables(self) -> None:
        device = self._open()
        try:
            rows, _ = self._recorded(device)
            assert rows >= self.least_rows, f"{rows} rows came within {self.seconds:g} s, and not {self.least_rows}"
        finally:
            self._close(device)

    def test_after_stop_the_rows_come_to_an_end(self) -> None:
        device = self._open()
        try:
            lanes = len(self._described(device).lanes)
            device.start()
            for lane in range(lanes):
                self._next(device, self.timeout, lane, lanes)
            device.stop()
            for lane in range(lanes):
                end_s = time.monotonic() + self.slack + self.seconds
                while self._next(device, 0.0, lane, lanes):
                    assert time.monotonic() < end_s, "next still returns rows long after stop"
        finally:
            self._close(device)

    def test_it_starts_again_and_time_does_not_go_back(self) -> None:
        device = self._open()
        try:
            _, told = self._recorded(device, overflows=1)
            again = [event for event in told if event["event"] == "started" and event.get("text")]
            assert again, "it was not started a second time: no rows came before"
            until, last = again[0].get("until"), again[0].get("from")
            assert until is None or last is None or until >= last, f"timestamps go back from {last} to {until}"
        finally:
            self._close(device)

    def test_counters_are_numbers_that_only_grow(self) -> None:
        device = self._open()
        try:
            if getattr(device, "counters", None) is None:
                return
            lanes = len(self._described(device).lanes)
            device.start()
            before: dict[str, int] = {}
            end_s = time.monotonic() + self.seconds
            while time.monotonic() < end_s and self._next(device, self.timeout, 0, lanes) is not _ENDED:
                now = dict(_flat(device.counters()))
                for name, value in before.items():
                    assert now.get(name, -1) >= value, f"counter '{name}' falls from {value} to {now.get(name)}"
                before = now
            device.stop()
        finally:
            self._close(device)

    def test_it_can_be_opened_again_after_it_was_closed(self) -> None:
        for _ in range(2):
            device = self._open()
            self._described(device)
            self._close(device)

    def _open(self) -> Any:
        device = self.make()
        for call in ("describe", "start", "next", "stop"):
            assert callable(getattr(device, call, None)), f"it has no {call}"
        return device

    @staticmethod
    def _close(device: Any) -> None:
        if getattr(device, "close", None) is not None:
            device.close()

    @staticmethod
    def _described(device: Any) -> Description:
        return description_of(type(device).__name__, device.describe(), {})

    @staticmethod
    def _next(device: Any, timeout: float, lane: int, lanes: int) -> Any:
        try:
            return device.next(timeout) if lanes == 1 else device.next(timeout, lane)
        except StopIteration:
            return _ENDED
        except Overflow:
            return None

    def _recorded(self, device: Any, overflows: int = 0) -> tuple[int, list[dict[str, Any]]]:
        """Records for some time, as the process of a device does. Returns the number of rows, and what happened."""
        described, told = self._described(device), list[dict[str, Any]]()
        watched = _Watched(device, self.seconds, overflows)
        with tempfile.TemporaryDirectory() as folder, create(Path(folder) / "run.h5", described.schema) as out:
            run = attach(out.handle)
            lanes = Lanes(watched, described, run, Board.create(), told.append, prefix="", deadline_s=60)
            watched.lanes = lanes
            try:
                lanes.work()
            except Exception as error:
                raise AssertionError(f"it cannot be recorded ({text_of(error)})") from error
            finally:
                run.finish()
            return lanes.rows, told


_ENDED: Mapping[str, Any] = {}


class _Watched:
    """The device, which is stopped after some time, or overflows after its first rows."""

    def __init__(self, device: Any, seconds: float, overflows: int) -> None:
        self._device, self._overflows = device, overflows
        self._end_s = time.monotonic() + seconds
        self._gave = False
        self.lanes: Lanes | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def next(self, *arguments: Any) -> Any:
        self._act()
        rows = self._device.next(*arguments)
        self._gave = self._gave or bool(rows)
        return rows

    def turn(self, *arguments: Any) -> Any:
        """What a source in C has instead of `next`."""
        self._act()
        turn = self._device.turn(*arguments)
        self._gave = self._gave or turn.took_rows
        return turn

    def _act(self) -> None:
        assert self.lanes is not None
        if time.monotonic() > self._end_s:
            self.lanes.obey("stop")
        if self._gave and self._overflows:
            self._overflows -= 1
            raise Overflow("as the conformance suite asks")


def _flat(counters: Any) -> dict[str, int]:
    """Returns the counters by name, with the table in front if they are by table."""
    assert isinstance(counters, Mapping), f"counters returned {counters!r}"
    flat: dict[str, int] = {}
    for name, value in counters.items():
        for inner, number in value.items() if isinstance(value, Mapping) else [("", value)]:
            full = f"{name}/{inner}" if inner else str(name)
            is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
            assert is_number, f"counter '{full}' is {number!r}"
            flat[full] = int(number)
    return flat
