"""Finds, reads and releases the rings into which traced threads write."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thalweg._trace.records import (
    CONTROL,
    CONTROL_BYTES,
    FREE,
    HEADER_BYTES,
    LAYOUT_VERSION,
    LEVELS,
    READ,
    READY,
    RECORD,
    RING,
    SLOT_BYTES,
    SLOT_RECORDS,
)

Records = npt.NDArray[np.void]


class Ring:
    """The ring of one thread, which lies in memory that traced processes share."""

    def __init__(self, memory: mmap.mmap | memoryview, slot: int | None = None) -> None:
        """Takes a ring over. Raises ValueError if the memory is not a ring."""
        self.number = 0
        """The row of its thread."""
        self.slot = slot
        """The number of the slot in which it is; None if it has a file of its own."""
        self.bytes = len(memory)
        if self.bytes < HEADER_BYTES:
            raise ValueError("too short")
        self.header = np.frombuffer(memory, RING, 1)
        capacity = int(self.header["capacity"][0])
        fits = self.bytes == HEADER_BYTES + capacity * RECORD.itemsize and capacity & (capacity - 1) == 0
        if self.header["version"][0] != LAYOUT_VERSION or not fits:
            raise ValueError("of another version")
        self._records = np.frombuffer(memory, RECORD, capacity, HEADER_BYTES)
        self._tail = 0
        # These views of single numbers make looking at a ring cheaper.
        self._head_view, self._tail_view = self.header["head"], self.header["tail"]

    @classmethod
    def of_file(cls, path: Path) -> Ring:
        """Takes over a ring that has a file of its own. The file is unlinked at once, so that the memory goes away with
        its last user. Raises OSError or ValueError if it is not a ring."""
        with path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        path.unlink()
        return cls(memory)

    def release(self) -> None:
        """Lets the memory go, and keeps a copy of the header. The ring must be over, and all its records taken."""
        self.header = self.header.copy()
        self._head_view, self._tail_view = self.header["head"], self.header["tail"]
        self._records = np.empty(0, RECORD)

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
        """Returns whether the thread or its process has ended. Of a process in another PID namespace, the pid says
        nothing."""
        return bool(self["is_ended"]) or not (self["is_elsewhere"] or is_alive(self["pid"]))

    def dropped(self) -> tuple[int, ...]:
        """Returns the number of calls of each level for which the ring had no room."""
        return tuple(int(count) for count in self.header["dropped"][0])

    def cores(self) -> list[int]:
        """Returns the cores on which the process was allowed to run when it began."""
        bits = np.unpackbits(self.header["cores"][0], bitorder="little")
        return [int(core) for core in np.flatnonzero(bits)]

    def text(self, name: str) -> str:
        return bytes(self.header[name][0]).decode(errors="replace").strip()


class Rings:
    """All rings of a trace: in the slots of its folder, and in files of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live: list[Ring] = []
        self.ended: list[Ring] = []
        self.damaged = 0
        """The number of files in the folder that are not rings."""
        memory = memoryview(_memory_of(folder / "control"))
        self._slots = memory[CONTROL_BYTES:]
        self.control = np.frombuffer(memory, CONTROL, 1)
        """What this process and the traced ones tell each other."""
        self._states = self.control["slots"][0]

    def find(self) -> list[Ring]:
        """Takes over the new rings and returns them, those of one thread in the order in which it has used them."""
        # A thread begins in a slot, so slots are looked at after files.
        files = self._find_files()
        new = []
        for slot in map(int, np.flatnonzero(self._states == READY)):
            new.append(Ring(self._memory_of_slot(slot), slot))
            self._states[slot] = READ
        self.live += [*new, *files]
        return [*new, *files]

    def _memory_of_slot(self, slot: int) -> memoryview:
        begin = slot * SLOT_BYTES
        return self._slots[begin : begin + HEADER_BYTES + SLOT_RECORDS * RECORD.itemsize]

    def _find_files(self) -> list[Ring]:
        new: list[Ring] = []
        try:
            names = [entry.name for entry in os.scandir(self.folder) if entry.name.startswith("ring-")]
        except OSError:
            return new
        for name in sorted(names, key=lambda text: (len(text), text)):
            try:
                new.append(Ring.of_file(self.folder / name))
            except (OSError, ValueError):
                self.damaged += 1
                (self.folder / name).unlink(missing_ok=True)
        return new

    def end(self, ring: Ring) -> None:
        """Lets the memory of a ring go that is over and has been read."""
        self.live.remove(ring)
        self.ended.append(ring)
        ring.release()
        if ring.slot is None:
            self.control["released_bytes"] += np.uint64(ring.bytes)
        else:
            # The next process finds zeros, so that it has less to write.
            self._memory_of_slot(ring.slot)[:HEADER_BYTES] = bytes(HEADER_BYTES)
            self._states[ring.slot] = FREE

    def dropped(self) -> dict[str, int]:
        """Returns the number of dropped calls by level."""
        sums = [sum(counts) for counts in zip(*(ring.dropped() for ring in [*self.ended, *self.live]), strict=True)]
        return dict(zip(LEVELS, sums or [0] * len(LEVELS), strict=True))


def _memory_of(path: Path) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def is_alive(pid: int) -> bool:
    """Returns whether a process is alive. A zombie is not: it writes nothing any more."""
    try:
        os.kill(pid, 0)  # most are gone, and this is quicker than a file of /proc
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it belongs to another user
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
