"""Shared memory in which the process of a device shows what it does, so that the recorder sees that it hangs.

It is written by the process alone, also while a library holds the interpreter for seconds, and read by the recorder.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from collections.abc import Iterator

from thalweg import _core
from thalweg._base.errors import UsageError

MOST_LANES, MOST_TABLES = 64, 1000
# The process has a count that rises while it lives. Each lane has the number of calls that were begun or ended, the
# call that it is in (0: none), and the time that this may take. Each table has 1 if it has rows, and its last time.
# The last word is what is added to the clock of the device. A plug-in in C writes its part itself (`lane_pump.h`).
_BEATS, _LANES, _PER_LANE = 0, 1, 3
_TABLES = _LANES + _PER_LANE * MOST_LANES
_OFFSET = _TABLES + 2 * MOST_TABLES
_SIZE_BYTES = 8 * (_OFFSET + 1)
_BEAT_S = 0.1
CALLS = ("", "open", "describe", "start", "next", "pause", "stop", "counters", "close")


class Board:
    def __init__(self, file: int) -> None:
        self.file = file
        self._memory = mmap.mmap(file, _SIZE_BYTES)
        self._words = memoryview(self._memory).cast("q")

    @staticmethod
    def create() -> Board:
        """Makes a board on which the process is opening its device. Its `file` is given to the process."""
        file = os.memfd_create("thalweg-device")
        os.truncate(file, _SIZE_BYTES)
        return Board(file)

    def close(self) -> None:
        self._words.release()
        self._memory.close()
        os.close(self.file)

    @property
    def memory(self) -> mmap.mmap:
        return self._memory

    @staticmethod
    def places(lane: int) -> _core.BoardPlaces:
        """Returns where the words are that the lane of a plug-in in C writes."""
        places = _core.BoardPlaces()
        places.lane, places.tables, places.offset = _LANES + _PER_LANE * lane, _TABLES, _OFFSET
        places.next_call = CALLS.index("next")
        return places

    @property
    def offset(self) -> int:
        """What is added to the clock of the device."""
        return self._words[_OFFSET]

    @offset.setter
    def offset(self, offset: int) -> None:
        self._words[_OFFSET] = offset

    def beat(self) -> None:
        """Shows that the process lives."""
        self._words[_BEATS] += 1

    @property
    def beats(self) -> int:
        return self._words[_BEATS]

    def begin(self, lane: int, call: str, limit_s: float) -> None:
        place = _LANES + _PER_LANE * lane
        self._words[place + 2] = round(limit_s * 1000)
        self._words[place + 1] = CALLS.index(call)
        self._words[place] += 1

    def end(self, lane: int) -> None:
        place = _LANES + _PER_LANE * lane
        self._words[place + 1] = 0
        self._words[place] += 1

    @contextlib.contextmanager
    def calling(self, lane: int, call: str, limit_s: float) -> Iterator[None]:
        """Shows that the lane is in this call, which may take `limit_s` seconds."""
        self.begin(lane, call, limit_s)
        try:
            yield
        finally:
            self.end(lane)

    def call_of(self, lane: int) -> tuple[int, str, float]:
        """Returns a number that changes with each call, the call that the lane is in, and how long it may take."""
        place = _LANES + _PER_LANE * lane
        count, call, limit_ms = self._words[place : place + _PER_LANE]
        return count, CALLS[call], limit_ms * 1e-3

    def set_last(self, table: int, timestamp: int) -> None:
        self._words[_TABLES + 2 * table + 1] = timestamp
        self._words[_TABLES + 2 * table] = 1

    def last(self, table: int) -> int | None:
        """Returns the last timestamp of a table, or None if it has no rows yet."""
        has_rows, timestamp = self._words[_TABLES + 2 * table : _TABLES + 2 * table + 2]
        return timestamp if has_rows else None


def beat(board: Board) -> None:
    """Shows that the process lives, until it ends: the work of a thread."""
    while True:
        board.beat()
        time.sleep(_BEAT_S)


def check_size(lanes: int, tables: int) -> None:
    """Raises UsageError if a device has more lanes or tables than there is room for."""
    if lanes > MOST_LANES or tables > MOST_TABLES:
        raise UsageError(
            f"a device has {lanes} lanes and {tables} tables (there are at most {MOST_LANES} and {MOST_TABLES}): "
            "make several devices of it"
        )
