"""How much of what a program has read and written is in the trace: its calls, compared with /proc/PID/io."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thalweg._explain.records import LEVELS, operations
from thalweg._explain.rings import Records, Ring

Io = tuple[int, int, int, int]
"""Bytes read and written, calls that read and write."""


def io_of(pid: int) -> Io | None:
    """Of a process, with those of its children for which it has waited; None where it cannot be read."""
    try:
        with open(f"/proc/{pid}/io") as file:
            facts = dict(line.split(": ") for line in file.read().splitlines())
    except (OSError, ValueError):
        return None
    return int(facts["rchar"]), int(facts["wchar"]), int(facts["syscr"]), int(facts["syscw"])


@dataclass
class Seen:
    """Bytes of the calls of one process, as they were moved at the level nearest to the kernel that is in the trace."""

    read: int = 0
    written: int = 0
    read_by_streams: int = 0
    written_by_streams: int = 0


@dataclass
class Coverage:
    total: list[int] = field(default_factory=lambda: [0, 0])
    """Bytes read and written by all processes, as the kernel counts them."""
    is_known: bool = False
    loader: int = 0
    """Bytes that were read before a program began: its libraries' heads, by the loader."""
    own: int = 0
    """Bytes that the tracing read itself, in the traced process."""
    by_process: dict[int, Seen] = field(default_factory=dict)
    _last_io: dict[int, int] = field(default_factory=dict)
    _kinds: npt.NDArray[np.uint8] = field(default_factory=lambda: _moving())

    def count(self, process: int, calls: Records) -> None:
        """Adds what calls of one process have moved."""
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
        """`ring`: its first one. Programs come in the order in which they began."""
        before = int(ring.header["io_begin"][0][0])
        if not ring["is_forked"]:
            self.loader += max(0, before - self._last_io.get(ring["pid"], 0))
        self.own += ring["own_read_bytes"]
        if ring["has_io_end"]:
            self._last_io[ring["pid"]] = int(ring.header["io_end"][0][0])

    def add_total(self, io: Io) -> None:
        """Of a process that nobody has waited for yet; what its children did is in it."""
        self.total[0] += io[0]
        self.total[1] += io[1]
        self.is_known = True

    @property
    def read(self) -> tuple[int, int]:
        """Bytes seen, and all that the programs read themselves."""
        seen = sum(each.read + each.read_by_streams for each in self.by_process.values())
        return seen, max(0, self.total[0] - self.loader - self.own)

    @property
    def written(self) -> tuple[int, int]:
        seen = sum(each.written + each.written_by_streams for each in self.by_process.values())
        return seen, self.total[1]

    @property
    def by_streams(self) -> tuple[int, int]:
        """Of what was seen: bytes read and written by streams of the C library, which buffer."""
        values = self.by_process.values()
        return sum(each.read_by_streams for each in values), sum(each.written_by_streams for each in values)


def share(seen: int, total: int) -> float:
    """Between 0 and 1. Streams may be asked for more than they read, and buffers hold what never was written."""
    return 1.0 if total <= 0 else min(1.0, seen / total)


_READ, _WRITE, _STREAM, _BY_SIZE = 1, 2, 4, 8


def _moving() -> npt.NDArray[np.uint8]:
    """For each operation: whether its bytes are counted by the kernel, as what, and by which of its numbers."""
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
