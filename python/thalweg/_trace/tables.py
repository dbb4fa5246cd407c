"""The tables of a trace file: calls by level, and the names that numbers stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._schema.schema import Schema, schema
from thalweg._schema.types import int8, int32, int64, string, uint8, uint16, uint32, uint64
from thalweg._trace.records import LEVELS, operations
from thalweg._trace.rings import Records
from thalweg._writing.create import create
from thalweg._writing.writer import Writer

Integers = npt.NDArray[np.int64]

CALL = {
    "gap": int64(description="Time from the end of the thread's previous call in this table to the start of this one"),
    "duration": int64,
    "process": uint32,
    "thread": uint32,
    "rank": int32(description="MPI rank; -1 if no launcher started the process"),
    "depth": uint8(description="Number of recorded calls inside which it was made"),
    "operation": uint16,
    "file": uint32(description="Row of `files`; 0 stands for no file"),
    "offset": int64(description="Offset in bytes; -1 if none was given"),
    "size": int64(description="Requested size in bytes; -1 if none was given"),
    "result": int64,
    "error": uint16(description="errno; 0 if the call succeeded"),
    "extra": uint16(
        description="POSIX: flags of an open. HDF5: 1 independent, 2 collective. Thalweg: column of a page, or "
        "engine of a write (1 io_uring, 2 threads)"
    ),
}
NAMES = {
    "operations": {"name": string, "level": string, "kind": string},
    "processes": {
        "pid": int32,
        "parent_pid": int32,
        "rank": int32,
        "is_forked": uint8(description="1 if it was forked and runs the program of its parent"),
        "command": string,
        "executable": string,
        "cores": string(description="Cores on which it was allowed to run when it began, such as 0-3,8"),
        "read_seen": int64(description="Bytes moved by calls that are in this trace"),
        "written_seen": int64,
    },
    "threads": {
        "process": uint32,
        "tid": int32,
        "dropped": uint64(description="Calls that were dropped, since the ring was full"),
    },
    "files": {"path": string, "kind": string},
    "settings": {
        "process": uint32,
        "file": uint32,
        "origin": string(
            description="asked, hints file, reported, modules, topology, environment, property, or dataset"
        ),
        "name": string,
        "value": string,
    },
    "unfinished": {
        "process": uint32,
        "thread": uint32,
        "operation": uint16,
        "file": uint32,
        "offset": int64,
        "size": int64,
        "depth": int8,
    },
}

_KEPT = ("operation", "offset", "size", "result", "error", "depth", "extra")


def trace_schema(resolution_ns: int) -> Schema:
    """Returns the schema of a trace whose times are multiples of `resolution_ns` nanoseconds."""
    unit = "ns" if resolution_ns == 1 else f"{resolution_ns} ns"
    call = {name: type_(unit=unit) if name in ("gap", "duration") else type_ for name, type_ in CALL.items()}
    return schema({**dict.fromkeys(LEVELS, call), **NAMES})


class Clock:
    """Converts ticks to the time units of the file, counted from the beginning of the trace."""

    def __init__(self, begin: tuple[int, int], resolution_ns: int) -> None:
        self._begin = begin
        self._resolution = resolution_ns
        self.ns_per_tick = 1.0

    def calibrate(self, now: tuple[int, int]) -> None:
        """Measures the rate of the ticks from the beginning of the trace to `now`, in ticks and nanoseconds."""
        ticks = now[0] - self._begin[0]
        self.ns_per_tick = (now[1] - self._begin[1]) / ticks if ticks > 0 else 1.0

    def exact(self, ticks: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
        since = (ticks - np.uint64(self._begin[0])).view(np.int64)
        return np.multiply(since, self.ns_per_tick / self._resolution, dtype=np.float64)


class CallsTable:
    """Writes the records of threads into the tables of their levels."""

    def __init__(self, out: Writer, clock: Clock) -> None:
        self._producers = {level: out.producer(name) for level, name in enumerate(LEVELS)}
        self._clock = clock
        self._ends: dict[tuple[int, int], tuple[int, float]] = {}  # the end of the last call, by thread and table
        self._levels = np.array([operation.level for operation in operations()], np.uint8)
        self._maps = _numbers("mmap", "mmap64")
        self._submissions = _numbers("io_uring_submit", "io_uring_submit_and_wait")
        self._batches = _numbers("io_submit")
        self._in_flight = _numbers("write_in_flight")
        self.counts = [0] * len(LEVELS)
        self.has_shared_mappings = False
        self.has_io_uring = False
        self.bytes_by_libaio = 0
        """The bytes that were requested by io_submit."""
        self.bytes_told = 0
        """The bytes written by io_uring, as reported by Thalweg."""

    def append(self, calls: Records, files: npt.NDArray[np.uint32], of: Mapping[str, Any]) -> None:
        """Appends calls of one thread; `files` are the rows of their files, `of` has process, thread and rank."""
        levels = self._levels[calls["operation"]]
        first = int(levels[0])
        if (levels == first).all():
            self._append(first, calls, files, of)
            return
        for level in np.unique(levels):
            chosen = levels == level
            self._append(int(level), calls[chosen], files[chosen], of)

    def _append(self, level: int, calls: Records, files: npt.NDArray[np.uint32], of: Mapping[str, Any]) -> None:
        exact_starts, exact_ends = self._clock.exact(calls["start"]), self._clock.exact(calls["end"])
        ends = np.floor(exact_ends).astype(np.int64)
        key = (of["thread"], level)
        last, exact_last = self._ends.get(key, (0, -np.inf))
        before, exact_before = np.r_[last, ends[:-1]], np.r_[exact_last, exact_ends[:-1]]
        # A gap shorter than one unit counts as none. Rounding start and end separately would turn it into noise, which
        # takes a quarter of the file.
        gap = exact_starts - exact_before
        starts = np.where((gap >= 0) & (gap < 1), before, np.floor(exact_starts).astype(np.int64))
        self._ends[key] = int(ends[-1]), float(exact_ends[-1])
        count = len(calls)
        if level == 0:
            self._look_for_unseen(calls)
        if level == LEVELS.index("work"):
            told = calls[np.isin(calls["operation"], self._in_flight) & (calls["extra"] == _BY_IO_URING)]
            self.bytes_told += int(told["result"].clip(0).sum())
        self.counts[level] += count
        self._producers[level].append(
            gap=starts - before,
            duration=ends - starts,
            file=files,
            **{name: np.ascontiguousarray(calls[name]) for name in _KEPT},
            **{name: np.full(count, value, CALL[name].dtype) for name, value in of.items()},
        )

    def _look_for_unseen(self, calls: Records) -> None:
        """Looks for calls after which data move without further calls."""
        is_map = np.isin(calls["operation"], self._maps)
        if is_map.any():
            self.has_shared_mappings |= bool((calls["extra"][is_map] & 3 == _MAP_SHARED).any())
        self.has_io_uring |= bool(np.isin(calls["operation"], self._submissions).any())
        batches = calls[np.isin(calls["operation"], self._batches)]
        self.bytes_by_libaio += int(batches["size"][batches["error"] == 0].clip(0).sum())


_MAP_SHARED = 1
_BY_IO_URING = 1


def _numbers(*names: str) -> list[int]:
    return [number for number, operation in enumerate(operations()) if operation.name in names]


def create_trace(path: str, resolution_ns: int, *, force: bool) -> Writer:
    # Flushes are rare, since a trace is read only after its end and each flush writes data twice. Pages are small, so
    # that equal ones, as of sizes and results, occur and are stored once. zstd compresses regular offsets from level 6
    # on.
    tuning = {"flush_interval": 30.0, "narrow_page_bytes": 48 << 10}
    codec = "zstd-6" if path.endswith(".root") else None
    return create(path, trace_schema(resolution_ns), force=force, codec=codec, tuning=tuning)
