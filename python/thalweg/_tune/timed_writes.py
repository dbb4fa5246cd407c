"""Times writes of many sizes in a folder, which tell how many bytes keep one writer busy (plateau.py); or reads
(timed_reads.py).

Each write goes into a new file without a name, and ends when it is on the disk: as in a trial, the time until the data
are synced counts. A size takes its turn with the others, so that the load of a machine is spread over all of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._base.quantities import as_bytes
from thalweg._tune.plateau import LEAST_SIZES, Plateau, plateau

SMALLEST = 4 << 10
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BEYOND = 4
"""Sizes are measured up to so many times k, so that the plateau is among them."""


Transfer = Callable[[Path, int], float]
"""Moves so many bytes of a file in a folder, and returns the seconds."""


@dataclass(frozen=True)
class Effort:
    largest: int = 256 << 20
    """Bytes."""
    repeats: int = 9
    """Writes of each size."""
    most_s: float = 60
    """After so long no further writes begin."""


@dataclass
class Writes:
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """The times of writes by their bytes."""
    why_no_larger: str = ""
    """Why no larger writes were tried; empty: they had reached the plateau."""
    bytes: int = 0
    """What was written in all."""


def measure(folder: Path, effort: Effort | None = None, transfer: Transfer | None = None) -> tuple[Plateau, Writes]:
    """Returns k of writes of one process in the folder, or of another `transfer`, and the writes.

    Raises SystemError if the folder cannot be written in, or if the disk is full before anything is known.
    """
    effort = effort or Effort()
    found = _Measurement(folder, effort, transfer or write_once, time.monotonic() + effort.most_s)
    while True:
        found.grow()
        if len(found.writes.seconds) < LEAST_SIZES:
            why = found.writes.why_no_larger
            raise SystemError(errno.ENOSPC, f"no writes can be timed in {folder} ({why}): free some space, or give --k")
        goes_on = found.repeat()
        # The first time of a size may be wrong by any factor, so that it ended too early.
        if not goes_on or found.writes.why_no_larger or _is_reached(found.writes):
            return plateau(found.writes.seconds), found.writes


@dataclass
class _Measurement:
    folder: Path
    effort: Effort
    transfer: Transfer
    ends: float
    writes: Writes = field(default_factory=Writes)

    def grow(self) -> None:
        """Doubles the size until the plateau is reached."""
        while not _is_reached(self.writes):
            size = 2 * max(self.writes.seconds, default=SMALLEST // 2)
            if size > self.effort.largest:
                self.writes.why_no_larger = f"larger ones than {as_bytes(size // 2)} are not tried"
            elif size > _room(self.folder):
                self.writes.why_no_larger = (
                    f"{as_bytes(size)} are more than a quarter of the free space of {self.folder}"
                )
            elif time.monotonic() > self.ends:
                self.writes.why_no_larger = f"those so far took {self.effort.most_s:.3g} s"
            elif self._add(size):
                continue
            return

    def repeat(self) -> bool:
        """Moves each size as often as it is asked for. Returns false if time or space has come to an end."""
        order = random.Random(1)
        seconds = self.writes.seconds
        while some := [size for size, each in seconds.items() if len(each) < self.effort.repeats]:
            for size in order.sample(some, len(some)):
                if time.monotonic() > self.ends or not self._add(size):
                    return False
        return True

    def _add(self, size: int) -> bool:
        """Times one more. Returns false, with the reason, if the disk has become full."""
        try:
            seconds = self.transfer(self.folder, size)
        except SystemError:
            raise
        except OSError as error:
            if error.errno not in _FULL:
                raise SystemError(error.errno, not_timed("writes", self.folder, error)) from None
            self.writes.why_no_larger = f"{self.folder} is full: {error.strerror}"
            return False
        self.writes.seconds.setdefault(size, []).append(seconds)
        self.writes.bytes += size
        return True


def _is_reached(writes: Writes) -> bool:
    if len(writes.seconds) < LEAST_SIZES:
        return False
    found = plateau(writes.seconds)
    return found.k is not None and found.k * _BEYOND <= found.largest


def _room(folder: Path) -> int:
    """Returns how many bytes may be written: the disk is never filled."""
    with _named(folder):
        found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize // 4


def write_once(folder: Path, size: int) -> float:
    """Returns the seconds of a write of so many bytes, until they are on the disk."""
    with file_in(folder) as file:
        begin = time.perf_counter()
        write_all(file, size)
        os.fdatasync(file)
        return time.perf_counter() - begin


def write_all(file: int, size: int) -> None:
    rest = _data(size)
    at = 0
    while len(rest):
        done = os.pwrite(file, rest, at)
        at += done
        rest = rest[done:]


_block: bytes = b""


def _data(size: int) -> memoryview:
    """Returns bytes that no file system makes smaller."""
    global _block
    if len(_block) < size:
        piece = random.Random(1).randbytes(1 << 20)
        _block = piece * -(-size // len(piece))
    return memoryview(_block)[:size]


@contextlib.contextmanager
def file_in(folder: Path) -> Iterator[int]:
    """A file that is gone once it is closed, also if the process is killed."""
    file = _unnamed(folder)
    try:
        yield file
    finally:
        os.close(file)


def _unnamed(folder: Path) -> int:
    with contextlib.suppress(OSError):  # NFS and Lustre have no files without a name
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    path = folder / f".thalweg-tune-{os.getpid()}-k"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return file


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SystemError(error.errno, not_timed("writes", folder, error)) from None


def not_timed(what: str, folder: Path, error: OSError) -> str:
    return f"{what} in {folder} cannot be timed ({error.strerror}): mend that, or give k with --k"
