"""Measures how much of the I/O of a program is in the trace: compares its calls with /proc/PID/io."""

from __future__ import annotations

import errno
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


def schedule_of(pid: int) -> tuple[float, float] | None:
    """Returns how long the first thread of a process ran and waited for a core, in seconds; None if it is not known."""
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            ran, waited, _ = file.read().split()
    except (OSError, ValueError):
        return None
    return int(ran) * 1e-9, int(waited) * 1e-9


@dataclass
class Seen:
    """What recorded calls of one process moved, at the level that is nearest to the kernel."""

    read: int = 0
    written: int = 0
    read_by_streams: int = 0
    written_by_streams: int = 0
    spliced: int = 0
    """The bytes that splice and its kin moved, which the kernel does not count."""
    read_calls: int = 0
    written_calls: int = 0
    """System calls that read, and that write; those inside streams are not among them."""


@dataclass
class Coverage:
    total: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    """What the kernel counted of all processes: bytes read and written, calls that read and write."""
    is_known: bool = False
    loader: int = 0
    """The bytes that the loader read from libraries before programs began."""
    loader_calls: int = 0
    own: int = 0
    """The bytes that the tracing library itself read in traced processes."""
    own_calls: int = 0
    by_process: dict[int, Seen] = field(default_factory=dict)
    _last_io: dict[int, tuple[int, int]] = field(default_factory=dict)
    _kinds: npt.NDArray[np.uint8] = field(default_factory=lambda: _moving())

    def count(self, process: int, calls: Records) -> None:
        """Adds what calls of one process moved."""
        seen = self.by_process.setdefault(process, Seen())
        kinds = self._kinds[calls["operation"]]
        moved = np.where(kinds & _BY_SIZE, calls["size"], calls["result"])
        moved = np.where(calls["error"] == 0, np.maximum(moved, 0), 0)
        seen.spliced += int(moved[kinds & _UNCOUNTED != 0].sum())
        for bit, name in ((_READ, "read"), (_WRITE, "written")):
            moves = kinds & bit != 0
            counted = moves & (kinds & (_STREAM | _UNCOUNTED) == 0) & ~_is_refused(kinds, calls)
            setattr(seen, f"{name}_calls", getattr(seen, f"{name}_calls") + int(counted.sum()))
            for streams in (0, _STREAM):
                chosen = moves & (kinds & _STREAM == streams)
                if chosen.any():
                    member = f"{name}_by_streams" if streams else name
                    setattr(seen, member, getattr(seen, member) + int(moved[chosen].sum()))

    def add_program(self, ring: Ring) -> None:
        """Adds a program by the ring that describes it. Programs must be added in the order in which they began."""
        begin, end = ring.header["io_begin"][0], ring.header["io_end"][0]
        before, calls_before = self._last_io.get(ring["pid"], (0, 0))
        if not ring["is_forked"]:
            self.loader += max(0, int(begin[0]) - before)
            self.loader_calls += max(0, int(begin[2]) - calls_before)
        self.own += ring["own_read_bytes"]
        self.own_calls += ring["own_reads"]
        if ring["has_io_end"]:
            self._last_io[ring["pid"]] = int(end[0]), int(end[2])

    def add_total(self, io: Io) -> None:
        """Adds the total I/O of a process that has not been waited for yet; it includes that of its children."""
        self.total = [before + more for before, more in zip(self.total, io, strict=True)]
        self.is_known = True

    def _sum(self, *members: str) -> int:
        return sum(getattr(each, member) for each in self.by_process.values() for member in members)

    @property
    def spliced(self) -> int:
        """The bytes that were moved by splice and its kin. The kernel counts them nowhere; here they count as read and
        as written."""
        return self._sum("spliced")

    @property
    def read(self) -> tuple[int, int]:
        """The bytes read in recorded calls, and all bytes that the programs read themselves."""
        total = max(0, self.total[0] - self.loader - self.own) + self.spliced
        return self._sum("read", "read_by_streams"), total

    @property
    def written(self) -> tuple[int, int]:
        """The bytes written in recorded calls, and all bytes that the programs wrote."""
        return self._sum("written", "written_by_streams"), self.total[1] + self.spliced

    @property
    def read_calls(self) -> tuple[int, int]:
        """The system calls that read: those that are recorded as calls, and all that the kernel counted."""
        return self._sum("read_calls"), max(0, self.total[2] - self.loader_calls - self.own_calls)

    @property
    def written_calls(self) -> tuple[int, int]:
        return self._sum("written_calls"), self.total[3]

    @property
    def by_streams(self) -> tuple[int, int]:
        """The recorded bytes that were read and written through buffered streams of the C library."""
        return self._sum("read_by_streams"), self._sum("written_by_streams")


def share(seen: int, total: int) -> float:
    """Returns seen / total, at most 1: calls of streams may count more than is really read or written."""
    return 1.0 if total <= 0 else min(1.0, seen / total)


_READ, _WRITE, _STREAM, _BY_SIZE, _UNCOUNTED, _PIECES, _COPY = 1, 2, 4, 8, 16, 32, 64
_REFUSED = (errno.EBADF, errno.ESPIPE, errno.EINVAL, errno.EFAULT, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS)


def _is_refused(kinds: npt.NDArray[np.uint8], calls: Records) -> npt.NDArray[np.bool_]:
    """Returns which calls the kernel does not count, since they end before it uses a file: it finds errors in the
    arguments first, except of readv and its kin, and counts no copy of nothing."""
    is_wrong = np.isin(calls["error"], _REFUSED) & (kinds & _PIECES == 0)
    found: npt.NDArray[np.bool_] = is_wrong | ((kinds & _COPY != 0) & (calls["result"] <= 0))
    return found


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
        if operation.name in ("splice", "vmsplice", "tee"):
            bits[number] |= _UNCOUNTED
        if operation.name.startswith(("readv", "writev", "preadv", "pwritev")):
            bits[number] |= _PIECES
        if operation.name == "copy_file_range":
            bits[number] |= _COPY
    return bits
