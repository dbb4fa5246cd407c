"""Accounts for the phases that a program has marked: their time, their calls, and what they moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import data
from thalweg._trace.calls import Calls, Mask
from thalweg._trace.spans import elapsed
from thalweg._trace.trace_file import Trace


@dataclass(frozen=True)
class Phase:
    """All regions of one name."""

    name: str
    regions: int
    seconds: float
    """The time in which at least one process was in it."""
    calls: int
    """The calls of POSIX and of streams that were made in it."""
    in_calls_s: float
    """The time of these, of all processes."""
    read_bytes: int
    written_bytes: int

    def sentence(self) -> str:
        moved = f"read {as_bytes(self.read_bytes)} and write {as_bytes(self.written_bytes)}"
        return (
            f"phase {self.name}: {self.regions:,} times; a process is in it for {self.seconds:.3g} s; {self.calls:,} "
            f"calls of POSIX and stdio take {self.in_calls_s:.3g} s, {moved}"
        )


def phases(trace: Trace) -> list[Phase]:
    """Returns the phases in the order in which they began first."""
    regions = trace.regions
    found = []
    firsts = {int(file): float(regions.start[regions.file == file].min()) for file in np.unique(regions.file)}
    for file in sorted(firsts, key=lambda each: firsts[each]):
        mine = regions.where(regions.file == file)
        parts = [level.where(inside(level, mine)) for level in (trace.posix, trace.levels["stdio"])]
        moves = [data(part) for part in parts]
        found.append(
            Phase(
                trace.files[file],
                len(mine),
                elapsed(mine),
                sum(map(len, parts)),
                sum(part.seconds for part in parts),
                sum(part.where(part.kind == "read").moved_bytes for part in moves),
                sum(part.where(part.kind == "write").moved_bytes for part in moves),
            )
        )
    return found


def inside(calls: Calls, regions: Calls) -> Mask:
    """Returns which calls were begun while their process was in one of the regions."""
    chosen = np.zeros(len(calls), bool)
    for process in np.unique(regions.process):
        theirs = regions.where(regions.process == process)
        order = np.argsort(theirs.start)
        begin, end = theirs.start[order], np.maximum.accumulate(theirs.end[order])
        mine = np.flatnonzero(calls.process == process)
        before = np.searchsorted(begin, calls.start[mine], side="right") - 1
        chosen[mine] = (before >= 0) & (calls.start[mine] < end[np.maximum(before, 0)])
    return chosen


def main_phase(trace: Trace, about: Calls | None) -> str:
    """Returns the phase in which most of the time of these calls lies, or an empty text if it is outside of all."""
    if about is None or not len(about) or not len(trace.regions):
        return ""
    whole = float(about.duration.sum())
    for file in np.unique(trace.regions.file):
        some = about.where(inside(about, trace.regions.where(trace.regions.file == file)))
        if whole > 0 and float(some.duration.sum()) > 0.5 * whole:
            return trace.files[int(file)]
    return ""
