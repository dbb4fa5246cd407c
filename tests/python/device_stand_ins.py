"""Devices for the tests of `thalweg record --source module:Class`: they fail as they are told."""

import ctypes
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import thalweg as tw
from thalweg.sources import DeviceLost, Overflow

ROW = {"timestamp": tw.uint64(unit="ns"), "number": tw.uint32}


def hold_the_interpreter(seconds: float) -> None:
    ctypes.PyDLL(None).usleep(round(seconds * 1e6))


class Card:
    """Its clock begins at 0 with each start, and `faults` come one after the other, each behind `each` records.

    `notes` is a folder in which it keeps what the next process of it must know: how many records were handed out, and
    how many faults there have been. It has no more records behind the last fault and `each` records more.
    Opening it again takes `reopening` seconds.
    """

    def __init__(
        self,
        notes: str,
        faults: str = "",
        each: int = 50,
        period_ns: int = 1_000_000,
        table: str = "ch0",
        reopening: float = 0,
    ):
        self.notes, self.each, self.period_ns, self.table = Path(notes), each, period_ns, table
        self.faults = faults.split(",") if faults else []
        self.handed = self._noted("handed")
        self.done = self._noted("faults")
        print("a library speaks")
        if self.done and reopening:
            self._note("opening", self.done)
            time.sleep(reopening)
        if self._noted("absent"):
            self._note("absent", self._noted("absent") - 1)
            raise DeviceLost("there is no card")

    def _note(self, name: str, number: int) -> None:
        """Writes a note at once: the process may be killed at any time."""
        (self.notes / "new").write_text(str(number))
        os.replace(self.notes / "new", self.notes / name)

    def _noted(self, name: str) -> int:
        path = self.notes / name
        return int(path.read_text()) if path.exists() else 0

    def describe(self) -> dict[str, Any]:
        clock = {"column": "timestamp", "restarts": True, "domain": "ns since the start of the card"}
        return {"tables": {self.table: ROW}, "clock": clock, "settings": {"period_ns": self.period_ns}}

    def start(self) -> int:
        self.begin_ns, self.records = time.monotonic_ns(), 0
        return 0

    def next(self, timeout: float) -> dict[str, Any] | None:
        if self.handed >= (self.done + 1) * self.each:
            if self.done == len(self.faults):
                raise StopIteration
            self._fail()
        due = (time.monotonic_ns() - self.begin_ns) // self.period_ns - self.records
        count = min(due, (self.done + 1) * self.each - self.handed)
        if count <= 0:
            time.sleep(min(timeout, self.period_ns * 1e-9))
            return None
        stamps = np.arange(self.records, self.records + count, dtype=np.uint64) * np.uint64(self.period_ns)
        numbers = np.arange(self.handed, self.handed + count, dtype=np.uint32)
        self.records += count
        self.handed += count
        self._note("handed", self.handed)
        return {self.table: {"timestamp": stamps, "number": numbers}}

    def _fail(self) -> None:
        fault = self.faults[self.done]
        self.done += 1
        self._note("faults", self.done)
        if fault == "raise":
            raise KeyError("a fault of the plug-in")
        if fault == "lost":
            raise DeviceLost("the cable is out")
        if fault == "absent":
            self._note("absent", 2)
            raise DeviceLost("the power is off")
        if fault == "overflow":
            raise Overflow("4 GB are full", lost=7)
        if fault == "exit":
            os._exit(3)
        if fault == "segfault":
            os.kill(os.getpid(), 11)
        if fault == "hang":
            time.sleep(3600)
        if fault == "hold":
            hold_the_interpreter(3600)
        if fault == "fork":
            child = os.fork()
            if child == 0:
                time.sleep(3600)  # with the output of its parent open
            self._note("forked", child)
            os._exit(4)

    def counters(self) -> dict[str, int]:
        return {"triggers": self.records, "lost_triggers": 0, "resets": 1}

    def stop(self) -> None:
        print("it has stopped")


class Silent(Card):
    """It gives one record and then none, and hangs in `describe`, in `stop` or at its exit if it is told; or it gives
    that record again and again, also after `stop`."""

    def __init__(self, hangs_in: str = "", wrong: str = ""):
        self.hangs_in, self.wrong = hangs_in, wrong
        self.has_given = False

    def describe(self) -> dict[str, Any]:
        where, _, note = self.hangs_in.partition(",")
        if note:
            Path(note).with_suffix(".new").write_text(str(os.getpid()))
            os.replace(Path(note).with_suffix(".new"), note)
        if where == "describe":
            time.sleep(3600)
        return {"tables": {"ch0": ROW, "slow/er": {"x": tw.float32}}}

    def start(self) -> None:
        pass

    def next(self, timeout: float) -> dict[str, Any] | None:
        if self.has_given and self.wrong != "end":
            time.sleep(timeout)
            return None
        self.has_given = True
        number = np.zeros(1, np.float64 if self.wrong == "dtype" else np.uint32)
        return {"ch1" if self.wrong == "table" else "ch0": {"timestamp": np.array([5], np.uint64), "number": number}}

    counters = None  # type: ignore[assignment]

    def stop(self) -> None:
        if self.hangs_in == "stop":
            time.sleep(3600)
        if self.hangs_in == "exit":
            threading.Thread(target=time.sleep, args=(3600,)).start()


class Marked(Card):
    """One of several cards on a common clock, in which all see the same pulses. Its own clock is `phase` ahead of it,
    and shows the marker, which is at 500, when it starts. It overflows once."""

    def __init__(self, phase: int):
        self.phase, self.batches = phase, [range(0, 1000, 100), None, range(50_000, 50_300, 100)]

    def describe(self) -> dict[str, Any]:
        row = {"timestamp": tw.int64(unit="ns"), "number": tw.uint32}
        return {"tables": {"ch0": row}, "clock": {"marker": True}}

    def start(self) -> int:
        return self.phase + 500

    def next(self, _: float) -> dict[str, Any] | None:
        if not self.batches:
            raise StopIteration
        times = self.batches.pop(0)
        if times is None:
            raise Overflow("4 GB are full")
        stamps = np.array(times, np.int64) + self.phase
        return {"ch0": {"timestamp": stamps, "number": np.arange(len(stamps), dtype=np.uint32)}}

    counters = None  # type: ignore[assignment]

    def stop(self) -> None:
        pass


class Replayed:
    """A digitizer that hands out the pulses of a held run, in batches of `each`. It is lost once, behind `lost_after`
    of them, if there is a folder for notes. `wrong` is what its last batch has. If its clock shows `marker_ps` at a
    start marker, times count from there, and those before it are negative."""

    def __init__(
        self,
        path: str,
        each: int = 100,
        notes: str = "",
        lost_after: int = 0,
        wrong: str = "",
        lanes: int = 1,
        marker_ps: int = 0,
    ):
        self.marker_ps = marker_ps
        self.each, self.notes, self.wrong = each, notes, wrong
        self.lost_after = lost_after
        with tw.open(path) as run:
            self.tables = {name: dict(run[name].schema) for name in run}
            self.rows = {name: run[name].read() for name in run}
        self.lanes = [tuple(self.tables)] if lanes == 1 else [(name,) for name in self.tables]
        self.handed = json.loads(Path(notes, "handed").read_text()) if self._was_lost() else dict.fromkeys(self.rows, 0)

    def _was_lost(self) -> bool:
        return bool(self.notes) and Path(self.notes, "handed").exists()

    def describe(self) -> dict[str, Any]:
        if not self.marker_ps:
            return {"tables": self.tables, "clock": {"column": "timestamp"}, "lanes": self.lanes}
        tables = {name: {**columns, "timestamp": tw.int64(unit="ps")} for name, columns in self.tables.items()}
        return {"tables": tables, "clock": {"column": "timestamp", "marker": True}, "lanes": self.lanes}

    def start(self) -> int | None:
        return self.marker_ps or None

    def next(self, timeout: float, lane: int = 0) -> dict[str, Any] | None:  # noqa: ARG002
        name = min(self.lanes[lane], key=self.handed.__getitem__)
        begin = self.handed[name]
        end = min(begin + self.each, len(self.rows[name]))
        if self.lost_after and begin >= self.lost_after and not self._was_lost():
            Path(self.notes, "handed").write_text(json.dumps(self.handed))
            raise DeviceLost("the cable is out")
        if begin == end:
            raise StopIteration
        self.handed[name] = end
        batch = self.rows[name][begin:end]
        waveform = {member: batch["waveform"][member] for member in ("t0", "dt", "values")}
        if self.wrong == "t0" and end == len(self.rows[name]):
            waveform["t0"] = waveform["t0"] + 1e13
        if self.wrong == "missing" and end == len(self.rows[name]):
            del waveform["dt"]
        return {name: {"timestamp": batch["timestamp"], "waveform": waveform}}

    def stop(self) -> None:
        pass


class Times(Replayed):
    """It has no samples."""

    def describe(self) -> dict[str, Any]:
        return {"tables": {name: {"timestamp": tw.uint64(unit="ps")} for name in self.tables}}

    def next(self, timeout: float, lane: int = 0) -> dict[str, Any] | None:
        found = super().next(timeout, lane)
        return found and {name: {"timestamp": rows["timestamp"]} for name, rows in found.items()}


class Slow(Card):
    """It takes long to begin and to stop."""

    def start(self) -> int:
        time.sleep(1)
        return super().start()

    def stop(self) -> None:
        time.sleep(1)
