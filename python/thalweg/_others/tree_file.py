"""A file as uproot reads it: through one descriptor, without a position in the kernel and without threads.

So a process that is forked reads on with what its parent has opened, and no other file that gets the name is read.
"""

from __future__ import annotations

import io
from typing import Any

import uproot

from thalweg._base.file_state import HeldFile


class _Bytes:
    """The two functions that uproot needs of a file object."""

    def __init__(self, held: HeldFile) -> None:
        self._held = held
        self._position = 0
        self.closed = False

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._held.state.size_bytes}[whence]
        self._position = begin + position
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._held.state.size_bytes - self._position)
        found = self._held.read_at(self._position, left if size < 0 else min(size, left))
        self._position += len(found)
        return found

    def close(self) -> None:
        self.closed = True

    def __repr__(self) -> str:
        return self._held.path


def opened_by_uproot(held: HeldFile) -> Any:
    """Returns the file as uproot opens it. It keeps no arrays, since each is read once. Raises what uproot raises."""
    return uproot.open({_Bytes(held): None}, use_threads=False, array_cache=None)
