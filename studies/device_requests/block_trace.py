"""The write requests that a disk has done, as the kernel traces them, and which of them are of one file. (A request is
issued again if the queue of the disk is full, so that what is issued is not counted.)"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512
_TRACE_FS = Path("/sys/kernel/tracing")
_BUFFER_KIB = 16 << 10
# block_rq_complete: 254,0 WS () 1234567 + 4096 none,0,0 [0]
_DONE = re.compile(r"block_rq_complete: \d+,\d+ (\w+) \(.*?\) (\d+) \+ (\d+) ")
# 0:        0..     511:    1234688..   1235199:    512:             last,eof
_EXTENT = re.compile(r"^ *\d+: +\d+\.\. *\d+: +(\d+)\.\. *(\d+):")


@dataclass(frozen=True)
class Request:
    sector: int
    sectors: int

    @property
    def bytes(self) -> int:
        return self.sectors * SECTOR


def writes_of(trace: str) -> Iterator[Request]:
    """Returns the writes among the lines of a trace."""
    for line in trace.splitlines():
        found = _DONE.search(line)
        if found is not None and "W" in found[1] and int(found[3]):
            yield Request(int(found[2]), int(found[3]))


def places_of(said: str) -> list[range]:
    """Returns the sectors of a file from what `filefrag -v -b512` says."""
    return [range(int(found[1]), int(found[2]) + 1) for line in said.splitlines() if (found := _EXTENT.match(line))]


def inside(requests: Sequence[Request], places: Sequence[range]) -> list[Request]:
    return [each for each in requests if any(each.sector in place for place in places)]


class BlockTrace:
    """Traces the writes of one disk while it is open. Needs root."""

    def __init__(self, disk: Path) -> None:
        self._device = os.stat(disk).st_rdev
        self._disk = disk

    @contextmanager
    def taken(self) -> Iterator[list[Request]]:
        """Gives a list that has the requests once this ends."""
        if not (_TRACE_FS / "instances").is_dir():
            subprocess.run(["mount", "-t", "tracefs", "tracefs", str(_TRACE_FS)], check=True)
        # An instance of our own: others may trace at the same time.
        mine = _TRACE_FS / "instances" / f"thalweg-{os.getpid()}"
        mine.mkdir()
        found: list[Request] = []
        try:
            (mine / "buffer_size_kb").write_text(str(_BUFFER_KIB))
            event = mine / "events/block/block_rq_complete"
            number = os.major(self._device) << 20 | os.minor(self._device)  # as the kernel writes it
            (event / "filter").write_text(f"dev == {number}")
            (event / "enable").write_text("1")
            yield found
            (event / "enable").write_text("0")
            lost = re.findall(r"(?:overrun|dropped events): (\d+)", self._statistics(mine))
            if any(int(each) for each in lost):
                raise RuntimeError("the kernel's buffer was too small for all requests")
            found += writes_of((mine / "trace").read_text())
        finally:
            (mine / "events/enable").write_text("0")
            mine.rmdir()

    @staticmethod
    def _statistics(mine: Path) -> str:
        return "".join(path.read_text() for path in mine.glob("per_cpu/cpu*/stats"))


def requests_of_file(requests: Sequence[Request], path: Path) -> list[Request]:
    """Returns the requests that have bytes of the file, which lies directly on the disk."""
    words = ["filefrag", "-v", f"-b{SECTOR}", str(path)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return inside(requests, places_of(said))
