"""Measures how much of the I/O of a program is in the trace: compares its calls with /proc/PID/io."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thalweg._trace.records import LEVELS, operations
from thalweg._trace.rings import Records, Ring

Io = tuple[int, int, int, int]
"""The number of bytes read and written, and of calls that read and write."""


def io_of(pid: int) -> Io | None:
    """Returns the I/O of a process and of children that it has waited for, or None if it cannot be read."""
    try:
        with open(f"/proc/{pid}/io") as file:
            facts = dict(line.split(": ") for line in file.read().splitlines())
    except (OSError, ValueError):
        return None
    return int(facts["rchar"]), int(facts["wchar"]), int(facts["syscr"]), int(facts["syscw"])


@dataclass
class Seen:
    """The bytes that calls of one process moved, at the recorded level that is nearest to the kernel."""

    read: int = 0
    written: int = 0
    read_by_streams: int = 0
    written_by_streams: int = 0


@dataclass
class Coverage:
    total: list[int] = field(default_factory=lambda: [0, 0])
    """The bytes that all processes read and wrote, as counted by the kernel."""
    is_known: bool = False
    loader: int = 0
    """The bytes that the loader read from libraries before programs began."""
    own: int = 0
    """The bytes that the tracing library itself read in traced processes."""
    by_process: dict[int, Seen] = field(default_factory=dict)
    _last_io: dict[int, int] = field(default_factory=dict)
    _kinds: npt.NDArray[np.uint8] = field(default_factory=lambda: _moving())

    def count(self, process: int, calls: Records) -> None:
        """Adds the bytes that calls of one process moved."""
        seen = self.by_process.setdefault(process, Seen())
        kinds = self._kinds[calls["operation"]]
        moved = np.where(kinds & _BY_SIZE, calls["size"], calls["result"])
        moved = np.where(calls["error"] == 0, np.maximum(moved, 0), 0)
        for bit, name in ((_READ, "read"), (_WRITE, "written")):
            for streams in (0, _STREAM):
                chosen = (kinds & bit != 0) & (kinds & _STREAM == streams)
                if chosen.any():
                    member = f"{name}_by_streams" if streams else name
                    setattr(seen, member, getattr(seen, member) + int(moved[chosen].sum()))

    def add_program(self, ring: Ring) -> None:
        """Adds a program by its first ring. Programs must be added in the order in which they began."""
        before = int(ring.header["io_begin"][0][0])
        if not ring["is_forked"]:
            self.loader += max(0, before - self._last_io.get(ring["pid"], 0))
        self.own += ring["own_read_bytes"]
        if ring["has_io_end"]:
            self._last_io[ring["pid"]] = int(ring.header["io_end"][0][0])

    def add_total(self, io: Io) -> None:
        """Adds the total I/O of a process that has not been waited for yet; it includes that of its children."""
        self.total[0] += io[0]
        self.total[1] += io[1]
        self.is_known = True

    @property
    def read(self) -> tuple[int, int]:
        """The bytes read in recorded calls, and all bytes that the programs read themselves."""
        seen = sum(each.read + each.read_by_streams for each in self.by_process.values())
        return seen, max(0, self.total[0] - self.loader - self.own)

    @property
    def written(self) -> tuple[int, int]:
        """The bytes written in recorded calls, and all bytes that the programs wrote."""
        seen = sum(each.written + each.written_by_streams for each in self.by_process.values())
        return seen, self.total[1]

    @property
    def by_streams(self) -> tuple[int, int]:
        """The recorded bytes that were read and written through buffered streams of the C library."""
        values = self.by_process.values()
        return sum(each.read_by_streams for each in values), sum(each.written_by_streams for each in values)


def share(seen: int, total: int) -> float:
    """Returns seen / total, at most 1: calls of streams may count more than is really read or written."""
    return 1.0 if total <= 0 else min(1.0, seen / total)


_READ, _WRITE, _STREAM, _BY_SIZE = 1, 2, 4, 8


def _moving() -> npt.NDArray[np.uint8]:
    """Returns, for each operation, whether the kernel counts its bytes, as read or written, and which number to use."""
    bits = np.zeros(len(operations()), np.uint8)
    for number, operation in enumerate(operations()):
        if operation.level > LEVELS.index("stdio"):
            continue
        bits[number] = {"read": _READ, "write": _WRITE, "transfer": _READ | _WRITE}.get(operation.kind, 0)
        if operation.level == LEVELS.index("stdio"):
            bits[number] |= _STREAM
        if operation.name.startswith(("aio_", "lio_")):
            bits[number] |= _BY_SIZE
    return bits
