"""Tells whether a file is still the file that was opened, without reading it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from weakref import finalize

from thalweg._base.errors import DataError, SystemError  # noqa: A004


@dataclass(frozen=True)
class FileState:
    """What differs if a file is replaced, or if anything is written into it."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def is_same_file(self, other: FileState) -> bool:
        """Returns whether both are states of one file, which may have been written to between them."""
        return (self.device, self.inode) == (other.device, other.inode)

    def has_same_content(self, other: FileState) -> bool:
        """Returns whether nothing tells the contents apart. Another machine may number the same file otherwise."""
        return (self.size_bytes, self.mtime_ns) == (other.size_bytes, other.mtime_ns)

    def check(self, now: FileState, path: str, *, may_grow: bool = False) -> None:
        """Raises DataError that names the file if it is another one, or has changed. `may_grow`: a program that keeps
        the file readable may be writing it."""
        if not self.is_same_file(now):
            raise DataError(f"{path} is not the file that was opened (another file has its name now): open it again")
        if may_grow or self == now:
            return
        why = "another program has written to it since it was opened"
        if self.size_bytes != now.size_bytes:
            why = f"it had {self.size_bytes} bytes when it was opened, and has {now.size_bytes} now"
        raise DataError(f"{path} is not the file that was opened ({why}): open it again")


class HeldFile:
    """A file that stays open, so that its state can be asked for whatever its name is by now."""

    def __init__(self, path: str) -> None:
        """Raises SystemError if the file cannot be opened."""
        self.path = path
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SystemError(error.errno or 0, f"cannot open {path} ({error.strerror})") from error
        self._descriptor = descriptor
        self.close: Callable[[], object] = finalize(self, os.close, descriptor)
        self.state = FileState.of(os.fstat(descriptor))

    def state_now(self) -> FileState:
        return FileState.of(os.fstat(self._descriptor))

    def check(self) -> None:
        """Raises DataError if something was written into the file."""
        self.state.check(self.state_now(), self.path)

    def read_at(self, offset: int, size: int) -> bytes:
        """Returns bytes of the file, fewer at its end. Processes that share the descriptor do not disturb each other.

        Raises OSError if the file cannot be read."""
        found = os.pread(self._descriptor, size, offset)
        while len(found) < size and (more := os.pread(self._descriptor, size - len(found), offset + len(found))):
            found += more
        return found


@cache
def boot_id() -> str:
    """Returns what differs between machines, and changes if one restarts: device and inode mean nothing elsewhere.

    Raises SystemError if it cannot be read."""
    path = "/proc/sys/kernel/random/boot_id"
    try:
        with open(path) as file:
            text = file.read().strip()
    except OSError as error:
        raise SystemError(error.errno or 0, f"cannot read {path} ({error.strerror})") from error
    if not text:
        raise SystemError(0, f"cannot read {path} (it is empty)")
    return text
