"""The parts of a device's process: its clock, its counters, its lanes, and how the recorder sees that it hangs."""

import errno
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recording import wait_for

import thalweg as tw
from thalweg._devices.board import Board
from thalweg._devices.clock import DeviceClock
from thalweg._devices.description import check_settings, description_of
from thalweg._devices.lanes import Lanes
from thalweg._devices.rows import Counters, LaneRows
from thalweg._recording.silence import Silence
from thalweg.sources import Overflow

ROW = {"timestamp": tw.uint64(unit="us"), "x": tw.uint16}


def described(*, tables: tuple[str, ...] = ("a", "b"), **more: Any) -> Any:
    return description_of("Card", {"tables": dict.fromkeys(tables, ROW), **more}, {})


def started(clock: DeviceClock, at_ns: int, event: str = "started", card: int | None = None, **more: bool) -> None:
    clock.started(at_ns - 2_000, at_ns + 2_000, card, event, **more)


def test_counters_that_fall_are_added_up_and_those_of_earlier_processes_stay() -> None:
    counters = Counters(["a", "b"], {"all": {"a": {"lost": 100}}, "file": {"a": {"lost": 30}}})
    counters.take({"lost": 5})
    assert counters.shown() == {"a": {"lost": 75}}  # the other 30 are in this file already
    counters.take({"a": {"lost": 2}, "b": {"late": 1}})
    counters.leave_file()
    assert counters.shown() == {"a": {"lost": 107}, "b": {"late": 1}}
    for wrong, said in (
        ({"rows": 1}, "cannot be called 'rows'"),
        ({"c": {"x": 1}}, "is no table"),
        (5, "returned 5"),
        ({"x": "y"}, "'x'"),
    ):
        with pytest.raises(tw.UsageError, match=said):
            counters.take(wrong)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"table": {}}, "returned 'table', which means nothing .did you mean 'tables'"),
        ({}, "returned no 'tables'"),
        (None, "return a dictionary"),
        ({"tables": {"a": ROW}, "lanes": [["a"], ["a"]]}, "do not have each table once"),
        ({"tables": {"a": {"timestamp": tw.float64}}, "clock": {"restarts": True}}, "cannot be its clock"),
        ({"tables": {"a": ROW}, "clock": {"restart": True}}, "has no 'restart' .did you mean 'restarts'"),
        ({"tables": {"a": ROW}, "settings": {"x": object()}}, "cannot be kept in the file"),
        ({"tables": {"a": ROW}, "notes": "a sentence"}, "the notes of .* are 'a sentence': return a list"),
        ({"tables": {"a": ROW}, "notes": 5}, "the notes of .* are 5: return a list"),
        ({"tables": {"a": ROW}, "lanes": 3}, "the lanes of Card cannot be 3: return a list"),
        ({"tables": {"a": ROW}, "lanes": [3]}, r"the lanes of Card cannot be \[3\]: return a list"),
        ({"tables": {"a": ROW}, "clock": "timestamp"}, "the clock of Card cannot be 'timestamp': return a dictionary"),
        ({"tables": {"a": ROW}, "settings": [1]}, r"the settings of Card cannot be \[1\]: return a dictionary"),
    ],
)
def test_a_wrong_description_is_refused(given: Any, said: str) -> None:
    with pytest.raises(tw.UsageError, match=said):
        description_of("Card", given, {})


def test_settings_are_those_of_the_constructor() -> None:
    class Open:
        def __init__(self, **settings: Any) -> None: ...

    class Card:
        def __init__(self, address: str, gain: float = 1) -> None: ...

    check_settings("Any", Open, {"what": 1})
    check_settings("Card", Card, {"address": "x", "gain": 2})
    with pytest.raises(tw.UsageError, match=r"no setting 'adress' .did you mean 'address'"):
        check_settings("Card", Card, {"adress": "x"})
    with pytest.raises(tw.UsageError, match="needs the setting 'address'"):
        check_settings("Card", Card, {"gain": 2})


class Steps:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr("thalweg._recording.silence.time.monotonic", lambda: self.now_s)

    def until(self, seconds: float, look: Callable[[], str], step_s: float = 0.05) -> str:
        said, end_s = "", self.now_s + seconds
        while self.now_s < end_s and not said:
            self.now_s += step_s
            said = look()
        return said


def test_a_deadline_is_that_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, board = Steps(monkeypatch), Board.create()
    silence = Silence(board, deadline_s=2.0, lanes=2)
    board.begin(1, "next", 1.0)
    assert steps.until(0.9, silence.missed) == ""
    board.end(1)
    board.begin(1, "next", 1.0)
    assert steps.until(0.9, silence.missed) == ""
    assert steps.until(0.3, silence.missed) == "did not return from next within 1 s"


def test_a_process_that_stands_still_is_seen_and_a_recorder_that_did_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, board = Steps(monkeypatch), Board.create()
    silence = Silence(board, deadline_s=2.0)
    assert steps.until(10, silence.missed) == ""  # it has not begun
    board.beat()
    assert silence.missed() == ""
    steps.now_s += 3600  # Ctrl-Z
    assert silence.missed() == ""
    board.beat()
    assert silence.missed() == ""
    assert steps.until(2.2, silence.missed) == "has given no sign of life for 2 s"


class FullDisk:
    """A run, and its only producer: it takes three rows, and more after two errors."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.errors = 0

    def producer(self, _name: str) -> "FullDisk":
        return self

    @property
    def rows(self) -> int:
        return len(self.taken)

    def append(self, columns: dict[str, Any]) -> None:
        values = columns["timestamp"].tolist()
        if self.errors < 2:
            self.errors += 1
            self.taken += values[: 3 * (self.errors == 1)]
            raise tw.SystemError(errno.ENOSPC, "the disk is full")
        self.taken += values


def test_rows_wait_for_room_on_a_full_disk_and_none_is_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg._devices.rows._FULL_DISK_PAUSE_S", 0.0)
    batch = {"a": {"timestamp": np.arange(10, dtype=np.uint64), "x": np.zeros(10, np.uint16)}}
    for waits in (True, False):
        disk, clock = FullDisk(), DeviceClock(described(tables=("a",)), Board.create(), {})
        lane = LaneRows(disk, ["a"], "", clock, lambda _: None)  # type: ignore[arg-type]
        lane.waits_for_room = waits  # not if the run is being stopped
        if waits:
            lane.append(batch)
            assert disk.taken == list(range(10))
        else:
            with pytest.raises(tw.SystemError, match="full"):
                lane.append(batch)
            assert disk.taken == [0, 1, 2]


class Taking:
    """A run that takes all rows."""

    rows = 0

    def producer(self, _name: str) -> "Taking":
        return self

    def append(self, _columns: dict[str, Any]) -> None:
        self.rows += 1


def test_a_start_of_a_device_without_a_clock_is_told_with_its_first_rows() -> None:
    description = description_of("Card", {"tables": {"a": {"x": tw.uint16}}}, {})
    clock, told = DeviceClock(description, Board.create(), {}), list[dict[str, Any]]()
    lane = LaneRows(Taking(), ["a"], "", clock, told.append)  # type: ignore[arg-type]
    started(clock, 1_000_000, event="reopened")
    assert told == []
    for _ in range(2):
        lane.append({"a": {"x": np.zeros(1, np.uint16)}})
        assert [each["event"] for each in told] == ["reopened"]


class TwoLanes:
    """It fills its memory once, in its second lane, and notes which calls came at the same time."""

    def __init__(self, rows: int) -> None:
        self.rows, self.given = rows, {0: 0, 1: 0}
        self.inside = 0
        self.together = self.starts = self.stops = 0
        self.has_overflowed = False
        self._lock = threading.Lock()

    def start(self) -> None:
        assert self.inside == 0
        self.starts += 1

    def stop(self) -> None:
        assert self.inside == 0
        self.stops += 1

    def next(self, _timeout: float, lane: int) -> dict[str, Any] | None:
        with self._lock:
            self.inside += 1
            self.together = max(self.together, self.inside)
        time.sleep(0.001)
        try:
            if lane == 1 and self.given[1] == 50 and not self.has_overflowed:
                self.has_overflowed = True
                raise Overflow
            if self.given[lane] == self.rows:
                raise StopIteration
            self.given[lane] += 1
            row = {"timestamp": np.array([self.given[lane]], np.uint64), "x": np.zeros(1, np.uint16)}
            return {"ab"[lane]: row}
        finally:
            with self._lock:
                self.inside -= 1


class Pausing(TwoLanes):
    """It is paused and continued after some rows, as the recorder would ask for it."""

    lanes: Lanes
    pauses = 0

    def next(self, timeout: float, lane: int = 0) -> dict[str, Any] | None:
        if self.given[0] == 20 and self.pauses == 0:
            self.lanes.obey("pause")
        elif self.pauses:
            self.lanes.obey("resume")
        return super().next(timeout, lane)

    def pause(self) -> None:
        assert self.inside == 0
        self.pauses += 1


def test_a_device_is_paused_and_started_again(tmp_path: Path) -> None:
    device, told = Pausing(100), []
    with tw.create(tmp_path / "run.h5", {"a": ROW}) as out, tw.attach(out.handle) as run:
        device.lanes = Lanes(device, described(tables=("a",)), run, Board.create(), told.append, deadline_s=10)
        device.lanes.work()
    assert (device.pauses, device.starts, device.stops) == (1, 2, 1)
    assert [(event["event"], event.get("text", "")) for event in told] == [
        ("started", ""),
        ("started", "after a pause"),
    ]
    assert len(tw.open(tmp_path / "run.h5")["a"]) == 100


@pytest.mark.parametrize("suffix", [".h5", ".root"])
def test_lanes_are_read_at_once_and_the_device_is_started_alone(tmp_path: Path, suffix: str) -> None:
    device, told = TwoLanes(200), []
    with tw.create(tmp_path / f"run{suffix}", {"a": ROW, "b": ROW}) as out:
        with tw.attach(out.handle) as run:
            lanes = Lanes(
                device, described(lanes=[["a"], ["b"]]), run, Board.create(), told.append, deadline_s=10, prefix=""
            )
            lanes.work()
        (status,) = [out.status()]
        assert status.rows == 400
    assert device.together == 2
    assert (device.starts, device.stops) == (2, 2)
    assert [event["event"] for event in told] == ["started", "overflow", "started"]
    read = tw.open(tmp_path / f"run{suffix}")
    assert read["a"].read(["timestamp"])["timestamp"].tolist() == list(range(1, 201))
    assert (np.diff(read["b"].read(["timestamp"])["timestamp"].astype(np.int64)) > 0).all()


class Counting(TwoLanes):
    def counters(self) -> dict[str, dict[str, int]]:
        return {"a": {"handed": self.given[0]}, "b": {"handed": self.given[1]}}


def test_the_last_counters_of_each_lane_are_shown(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"a": ROW, "b": ROW}) as out:
        with tw.attach(out.handle) as run:
            described_ = described(lanes=[["a"], ["b"]])
            Lanes(Counting(70), described_, run, Board.create(), lambda _: None, deadline_s=10).work()
        wait_for(lambda: not out.status().producers)
        assert {each.table: each.counters["handed"] for each in out.status().ended} == {"a": 70, "b": 70}


def test_a_producer_shows_what_its_source_counts(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"a": ROW}) as out:
        producer = out.producer("a")
        producer.set_counters({"lost": 2})
        producer.set_counters({"lost": 3, "late": 1})
        producer.follow_rotation()
        wait_for(lambda: [each.counters for each in out.status().producers] == [{"lost": 3, "late": 1}])
        for wrong in ({"x" * 24: 1}, {"lost": -1}, {f"c{number}": 1 for number in range(40)}):
            with pytest.raises(tw.UsageError, match="count"):
                producer.set_counters(wrong)
        producer.finish()
        wait_for(lambda: out.status().ended[0].counters.get("lost") == 3)
