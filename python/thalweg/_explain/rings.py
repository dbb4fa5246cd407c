"""The rings that traced threads write: found in the folder of the trace, read, and given up."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thalweg._explain.records import HEADER_BYTES, LAYOUT_VERSION, LEVELS, RECORD, RING

Records = npt.NDArray[np.void]


class Ring:
    """Of one thread. The file has lost its name already: what a killed tracer leaves goes with the last mapping."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or ValueError where it is none."""
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
        # Views of one number each: to look at a ring costs less so.
        self._head_view, self._tail_view = self.header["head"], self.header["tail"]

    def __getitem__(self, name: str) -> int:
        return int(self.header[name][0])

    def take(self) -> Records | None:
        """What has come since the last time, as a copy; None where that is nothing."""
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
        """The thread has ended, or its process has."""
        return bool(self["is_ended"]) or not is_alive(self["pid"])

    def dropped(self) -> tuple[int, ...]:
        """Calls by level for which there was no room."""
        return tuple(int(count) for count in self.header["dropped"][0])

    def cores(self) -> list[int]:
        """On which the process might run when it began."""
        bits = np.unpackbits(self.header["cores"][0], bitorder="little")
        return [int(core) for core in np.flatnonzero(bits)]

    def text(self, name: str) -> str:
        return bytes(self.header[name][0]).decode(errors="replace").strip()


def is_alive(pid: int) -> bool:
    """Not for zombies: what they were writing is written."""
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
    """Files in the folder that are no rings."""

    def find(self) -> list[Ring]:
        """Takes over those that are new."""
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
        """Calls by the name of their level."""
        sums = [sum(counts) for counts in zip(*(ring.dropped() for ring in [*self.ended, *self.live]), strict=True)]
        return dict(zip(LEVELS, sums or [0] * len(LEVELS), strict=True))
