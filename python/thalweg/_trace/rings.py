"""Finds, reads and releases the rings into which traced threads write."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thalweg._trace.records import HEADER_BYTES, LAYOUT_VERSION, LEVELS, RECORD, RING

Records = npt.NDArray[np.void]


class Ring:
    """The ring of one thread. Its file is unlinked at once, so that the memory goes away with its last user."""

    def __init__(self, path: Path) -> None:
        """Maps a ring. Raises OSError or ValueError if the file is not a ring."""
        self.number = 0
        """The row of its thread."""
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        path.unlink()
        if len(self._map) < HEADER_BYTES:
            raise ValueError("too short")
        self.header = np.frombuffer(self._map, RING, 1)
        capacity = int(self.header["capacity"][0])
        fits = len(self._map) == HEADER_BYTES + capacity * RECORD.itemsize and capacity & (capacity - 1) == 0
        if self.header["version"][0] != LAYOUT_VERSION or not fits:
            raise ValueError("of another version")
        self._records = np.frombuffer(self._map, RECORD, capacity, HEADER_BYTES)
        self._tail = 0
        # These views of single numbers make looking at a ring cheaper.
        self._head_view, self._tail_view = self.header["head"], self.header["tail"]

    def __getitem__(self, name: str) -> int:
        return int(self.header[name][0])

    def take(self) -> Records | None:
        """Returns a copy of the records since the last call, or None if there are none."""
        head = int(self._head_view[0])
        count = head - self._tail
        if count == 0:
            return None
        capacity = len(self._records)
        first = self._tail % capacity
        if first + count <= capacity:
            taken = self._records[first : first + count].copy()
        else:
            taken = np.concatenate([self._records[first:], self._records[: first + count - capacity]])
        self._tail = head
        self._tail_view[0] = head
        return taken

    def is_over(self) -> bool:
        """Returns whether the thread or its process has ended."""
        return bool(self["is_ended"]) or not is_alive(self["pid"])

    def dropped(self) -> tuple[int, ...]:
        """Returns the number of calls of each level for which the ring had no room."""
        return tuple(int(count) for count in self.header["dropped"][0])

    def cores(self) -> list[int]:
        """Returns the cores on which the process was allowed to run when it began."""
        bits = np.unpackbits(self.header["cores"][0], bitorder="little")
        return [int(core) for core in np.flatnonzero(bits)]

    def text(self, name: str) -> str:
        return bytes(self.header[name][0]).decode(errors="replace").strip()


def is_alive(pid: int) -> bool:
    """Returns whether a process is alive. A zombie is not: it writes nothing any more."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


@dataclass
class Rings:
    """All rings of a trace."""

    folder: Path
    live: list[Ring] = field(default_factory=list)
    ended: list[Ring] = field(default_factory=list)
    damaged: int = 0
    """The number of files in the folder that are not rings."""

    def find(self) -> list[Ring]:
        """Takes over the new rings and returns them."""
        new: list[Ring] = []
        try:
            names = [entry.name for entry in os.scandir(self.folder) if entry.name.startswith("ring-")]
        except OSError:
            return new
        for name in sorted(names, key=lambda text: (len(text), text)):
            try:
                new.append(Ring(self.folder / name))
            except (OSError, ValueError):
                self.damaged += 1
                (self.folder / name).unlink(missing_ok=True)
        self.live += new
        return new

    def dropped(self) -> dict[str, int]:
        """Returns the number of dropped calls by level."""
        sums = [sum(counts) for counts in zip(*(ring.dropped() for ring in [*self.ended, *self.live]), strict=True)]
        return dict(zip(LEVELS, sums or [0] * len(LEVELS), strict=True))
