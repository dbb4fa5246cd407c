"""Times writes of many sizes in a folder, which tell how many bytes keep one writer busy (plateau.py).

Each write goes into a new file without a name, and ends when it is on the disk: as in a trial, the time until the data
are synced counts. A size takes its turn with the others, so that the load of a machine is spread over all of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._base.quantities import as_bytes
from thalweg._tune.plateau import LEAST_SIZES, Plateau, plateau

SMALLEST = 4 << 10
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BEYOND = 4
"""Sizes are measured up to so many times k, so that the plateau is among them."""


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


def measure(folder: Path, effort: Effort | None = None) -> tuple[Plateau, Writes]:
    """Returns k of writes of one process in the folder, and the writes.

    Raises SystemError if the folder cannot be written in, or if the disk is full before anything is known.
    """
    effort = effort or Effort()
    ends = time.monotonic() + effort.most_s
    writes = Writes()
    while True:
        _grow(writes, folder, effort, ends)
        if len(writes.seconds) < LEAST_SIZES:
            why = writes.why_no_larger
            raise SystemError(errno.ENOSPC, f"no writes can be timed in {folder} ({why}): free some space, or give --k")
        goes_on = _repeat(writes, folder, effort.repeats, ends)
        # The first time of a size may be wrong by any factor, so that it ended too early.
        if not goes_on or writes.why_no_larger or _is_reached(writes):
            return plateau(writes.seconds), writes


def _is_reached(writes: Writes) -> bool:
    if len(writes.seconds) < LEAST_SIZES:
        return False
    found = plateau(writes.seconds)
    return found.k is not None and found.k * _BEYOND <= found.largest


def _grow(writes: Writes, folder: Path, effort: Effort, ends: float) -> None:
    """Doubles the size until the plateau is reached."""
    while not _is_reached(writes):
        size = 2 * max(writes.seconds, default=SMALLEST // 2)
        if size > effort.largest:
            writes.why_no_larger = f"larger ones than {as_bytes(size // 2)} are not tried"
        elif size > _room(folder):
            writes.why_no_larger = f"{as_bytes(size)} are more than a quarter of the free space of {folder}"
        elif time.monotonic() > ends:
            writes.why_no_larger = f"the writes so far took {effort.most_s:.3g} s"
        elif _add(writes, folder, size):
            continue
        return


def _repeat(writes: Writes, folder: Path, repeats: int, ends: float) -> bool:
    """Writes each size as often as it is asked for. Returns false if time or space has come to an end."""
    order = random.Random(1)
    while some := [size for size, each in writes.seconds.items() if len(each) < repeats]:
        for size in order.sample(some, len(some)):
            if time.monotonic() > ends or not _add(writes, folder, size):
                return False
    return True


def _room(folder: Path) -> int:
    """Returns how many bytes may be written: the disk is never filled."""
    with _named(folder):
        found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize // 4


def _add(writes: Writes, folder: Path, size: int) -> bool:
    """Times one write more. Returns false, with the reason, if the disk has become full."""
    try:
        seconds = _write(folder, size)
    except OSError as error:
        if error.errno not in _FULL:
            raise SystemError(error.errno, _not_written(folder, error)) from None
        writes.why_no_larger = f"{folder} is full: {error.strerror}"
        return False
    writes.seconds.setdefault(size, []).append(seconds)
    writes.bytes += size
    return True


def _write(folder: Path, size: int) -> float:
    rest = _data(size)
    with _file_in(folder) as file:
        begin = time.perf_counter()
        at = 0
        while len(rest):
            done = os.pwrite(file, rest, at)
            at += done
            rest = rest[done:]
        os.fdatasync(file)
        return time.perf_counter() - begin


_block: bytes = b""


def _data(size: int) -> memoryview:
    """Returns bytes that no file system makes smaller."""
    global _block
    if len(_block) < size:
        piece = random.Random(1).randbytes(1 << 20)
        _block = piece * -(-size // len(piece))
    return memoryview(_block)[:size]


@contextlib.contextmanager
def _file_in(folder: Path) -> Iterator[int]:
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
        raise SystemError(error.errno, _not_written(folder, error)) from None


def _not_written(folder: Path, error: OSError) -> str:
    return f"writes in {folder} cannot be timed ({error.strerror}): mend that, or give k with --k"
