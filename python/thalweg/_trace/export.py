"""Exports a trace to timeline viewers: as Chrome's JSON or as Perfetto's protobuf. ui.perfetto.dev shows both."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._base.quantities import as_bytes
from thalweg._trace.account import together
from thalweg._trace.calls import Calls, Integers
from thalweg._trace.own_work import places_of
from thalweg._trace.perfetto import Packets
from thalweg._trace.records import LEVELS
from thalweg._trace.trace_file import Trace, load_trace

SUFFIXES = (".json", ".pftrace", ".perfetto-trace")
_MOST_TIDS = 1 << 22
"""The limit of Linux: thread numbers are smaller."""
_CALLS_TO_FORETELL = 10_000
"""After so many calls the size of the whole file is known well enough."""


@dataclass(frozen=True)
class Slice:
    """One call in a timeline."""

    name: str
    level: str
    thread: int
    """The row of its thread."""
    begin_ns: int
    end_ns: int
    depth: int
    details: dict[str, int | str]


def export(source: str, out: str, *, force: bool = False, tell: Callable[[str], None] = lambda _: None) -> int:
    """Writes all calls of a trace and returns their number. A trace of many calls becomes a large file: `tell` gets a
    sentence with its size, in bytes, when the first calls are written.

    Raises UsageError if `out` exists or has a wrong ending, and SystemError, without leaving `out`, if it cannot be
    written or the disk has no room for all calls."""
    path = Path(out)
    if not out.endswith(SUFFIXES):
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise UsageError(f"{out} has no format of a timeline viewer: give a name that ends in {endings}")
    trace = load_trace(source)
    try:
        with path.open("wb" if force else "xb") as file:
            try:
                foretell = Foretelling(file, len(trace.in_flight) + sum(map(len, trace.levels.values())), tell)
                write = _write_chrome if out.endswith(".json") else _write_perfetto
                return write(trace, file, foretell)
            except BaseException:
                if path.is_file():  # a pipe stays
                    path.unlink()
                raise
    except FileExistsError:
        raise UsageError(f"{out} exists already: give another name, or --force to replace it") from None
    except SystemError:
        raise
    except OSError as error:
        raise SystemError(error.errno or 0, f"{out} cannot be written ({error.strerror})") from None


class Foretelling:
    """Hands slices on, and says how large the file will be, from the bytes of the first slices.

    Raises SystemError then if the disk has no room for it."""

    def __init__(self, file: IO[bytes], calls: int, tell: Callable[[str], None]) -> None:
        self._file = file
        self._calls = calls
        self._tell = tell

    def __call__(self, slices: Iterable[Slice]) -> Iterator[Slice]:
        for written, each in enumerate(slices):
            if written == _CALLS_TO_FORETELL and self._file.seekable():  # into a pipe goes any size
                self._say(self._file.tell() * self._calls // written)
            yield each

    def _say(self, expected: int) -> None:
        room = shutil.disk_usage(Path(self._file.name).parent).free + self._file.tell()
        size = f"{self._calls:,} calls are about {as_bytes(expected)}"
        if expected > room:
            raise SystemError(
                errno.ENOSPC,
                f"{self._file.name} cannot be written ({size}, and its disk has room for {as_bytes(room)}): give a "
                "name on another disk",
            )
        self._tell(size)


def slices(trace: Trace) -> Iterator[Slice]:
    """Yields the calls sorted by thread and start; an inner call follows its outer call."""
    sorted_calls, level = together(trace)
    calls = sorted_calls.alone()
    begin, end = _nanoseconds(calls)
    columns, names = calls.columns(), calls.name
    for i in range(len(calls)):
        yield Slice(
            str(names[i]),
            LEVELS[level[i]],
            int(columns["thread"][i]),
            int(begin[i]),
            int(end[i]),
            int(columns["depth"][i]),
            _details(trace, columns, i),
        )


def _nanoseconds(calls: Calls) -> tuple[Integers, Integers]:
    """Returns when the calls began and ended."""
    return np.rint(calls.start * 1e9).astype(np.int64), np.rint(calls.end * 1e9).astype(np.int64)


def _details(trace: Trace, columns: dict[str, npt.NDArray[Any]], i: int) -> dict[str, int | str]:
    details: dict[str, int | str] = {"result": int(columns["result"][i])}
    if path := trace.files[int(columns["file"][i])]:
        details["file"] = path
    for name in ("offset", "size"):
        if columns[name][i] >= 0:
            details[name] = int(columns[name][i])
    if columns["error"][i]:
        details["errno"] = int(columns["error"][i])
    return details


@dataclass(frozen=True)
class TrackPlace:
    """One lane of the asynchronous writes of a process. Its slices do not overlap, so it is shown like a thread."""

    process: int
    number: int
    row: int
    """Its row, as if it were one more thread."""
    slices: list[Slice]

    @property
    def name(self) -> str:
        return f"writes under way {self.number + 1}"


def track_places(trace: Trace) -> Iterator[TrackPlace]:
    """Yields the lanes of all asynchronous writes."""
    row = len(trace.threads)
    for process in np.unique(trace.in_flight.process):
        writes = trace.in_flight.where(trace.in_flight.process == process)
        place = places_of(writes)
        for number in range(int(place.max()) + 1):
            mine = writes.where(place == number)
            mine = mine.where(np.argsort(mine.start, kind="stable")).alone()
            begin, end = _nanoseconds(mine)
            columns = mine.columns()
            shown = [
                Slice(str(mine.name[i]), "work", row, int(begin[i]), int(end[i]), 0, _details(trace, columns, i))
                for i in range(len(mine))
            ]
            yield TrackPlace(int(process), number, row, shown)
            row += 1


def _process_name(process: dict[str, Any]) -> str:
    command = str(process["command"])
    return f"rank {process['rank']}: {command}" if process["rank"] >= 0 else command


def _write_chrome(trace: Trace, file: IO[bytes], foretell: Foretelling) -> int:
    count = 0
    file.write(b'{"displayTimeUnit": "ns", "traceEvents": [\n')
    for thread in trace.threads:
        process = trace.processes[thread["process"]]
        for name, value in (("process_name", _process_name(process)), ("thread_name", f"thread {thread['tid']}")):
            event = {"ph": "M", "name": name, "pid": process["pid"], "tid": thread["tid"], "args": {"name": value}}
            file.write(json.dumps(event).encode() + b",\n")
    lines = {row: (trace.processes[each["process"]]["pid"], each["tid"]) for row, each in enumerate(trace.threads)}
    queues = list(track_places(trace))
    for place in queues:
        pid = trace.processes[place.process]["pid"]
        lines[place.row] = (pid, _MOST_TIDS + place.row)
        label = {"ph": "M", "name": "thread_name", "pid": pid, "tid": _MOST_TIDS + place.row}
        file.write(json.dumps({**label, "args": {"name": place.name}}).encode() + b",\n")
    for each in foretell(chain(slices(trace), *(place.slices for place in queues))):
        pid, tid = lines[each.thread]
        event = {
            "ph": "X",
            "name": each.name,
            "cat": each.level,
            "pid": pid,
            "tid": tid,
            "ts": each.begin_ns / 1000,
            "dur": (each.end_ns - each.begin_ns) / 1000,
            "args": each.details,
        }
        file.write((b",\n" if count else b"") + json.dumps(event).encode())
        count += 1
    file.write(b"\n]}\n")
    return count


def _write_perfetto(trace: Trace, file: IO[bytes], foretell: Foretelling) -> int:
    packets = Packets(file)
    for row, process in enumerate(trace.processes):
        if row and row not in trace.launchers:
            packets.describe_process(row, process["pid"], _process_name(process))
    for row, thread in enumerate(trace.threads):
        if thread["process"] not in trace.launchers:
            packets.describe_thread(row, thread["process"], trace.processes[thread["process"]]["pid"], thread["tid"])
    count = 0
    open_slices: list[Slice] = []
    queues = list(track_places(trace))
    for place in queues:
        packets.describe_queue(place.row, place.process, place.name)
    for each in foretell(chain(slices(trace), *(place.slices for place in queues))):
        while open_slices and (open_slices[-1].thread != each.thread or open_slices[-1].depth >= each.depth):
            ended = open_slices.pop()
            packets.end(ended.thread, ended.end_ns)
        packets.begin(each.thread, each.begin_ns, each.name, each.level, each.details)
        open_slices.append(each)
        count += 1
    for ended in reversed(open_slices):
        packets.end(ended.thread, ended.end_ns)
    return count
