"""Times reads of one size after the other in a folder, as timed_writes.py does writes.

Each file is written and synced before, and the kernel is asked to forget its pages, so that the disk is read. Some file
systems keep them, such as those in memory; and what a disk, or a server, has in its own memory is read from there.
"""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._tune.timed_writes import file_in, not_timed, write_all

_place = bytearray()


def read_once(folder: Path, size: int) -> float:
    """Returns the seconds of a read of so many bytes.

    Raises OSError if the file cannot be written, and SystemError if it cannot be read, or is shorter than what was
    written.
    """
    memory = _memory(size)
    with file_in(folder) as file:
        write_all(file, size)
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.perf_counter()
        try:
            _read_all(file, memory)
        except OSError as error:
            raise SystemError(error.errno or 0, not_timed("reads", folder, error)) from None
        return time.perf_counter() - begin


def _read_all(file: int, rest: memoryview) -> None:
    with io.FileIO(file, closefd=False) as reader:
        while len(rest):
            done = reader.readinto(rest)
            if not done:
                raise OSError(0, "a file is shorter than what was written")
            rest = rest[done:]


def _memory(size: int) -> memoryview:
    """Returns memory that was touched before."""
    global _place
    if len(_place) < size:
        _place = bytearray(size)
        for at in range(0, size, 4096):
            _place[at] = 1
    return memoryview(_place)[:size]
