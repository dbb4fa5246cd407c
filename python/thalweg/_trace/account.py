"""Accounts for the time of processes and ranks: each moment belongs to the innermost recorded call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._trace.calls import Calls
from thalweg._trace.own_work import Device, Work, device_of, work_of
from thalweg._trace.records import LEVELS
from thalweg._trace.trace_file import Trace

Seconds = npt.NDArray[np.float64]

KINDS = (
    *("open", "close", "metadata", "read", "write", "transfer", "map", "seek", "sync", "lock", "wait"),
    *("encode", "decode", "claim", "commit", "start", "other"),
)


@dataclass(frozen=True)
class Account:
    """The time of one process. Times of its threads are added, so that the sum may exceed the elapsed time."""

    process: int
    pid: int
    rank: int
    command: str
    elapsed_s: float
    """The time from its first call to its last, in seconds."""
    outside_s: float
    """The part of that time in which none of its threads was in a recorded call."""
    by_kind: dict[str, float]
    by_level: dict[str, float]
    """The time in each level, without the levels below it."""
    calls: int
    read_bytes: int
    written_bytes: int
    own_work: list[Work]
    """The times that Thalweg reports about its own work; empty for other programs."""
    device: Device | None
    """Its asynchronous writes, which are not calls; None if it has none."""


def together(trace: Trace) -> tuple[Calls, npt.NDArray[np.uint8]]:
    """Returns all calls with the level of each, sorted by thread and start, outer calls before inner ones."""
    parts = [trace.levels[name] for name in LEVELS]
    calls = parts[0].joined(parts[1:])
    level = np.repeat(np.arange(len(LEVELS), dtype=np.uint8), [len(part) for part in parts])
    order = np.lexsort((calls.depth, calls.start, calls.thread))
    return calls.where(order), level[order]


def own_seconds(calls: Calls) -> Seconds:
    """Returns the duration of each call without its inner calls. `calls` must be sorted as by `together`."""
    own: Seconds = calls.duration.copy()
    places = np.arange(len(calls))
    for depth in range(1, int(calls.depth.max(initial=0)) + 1):
        inner, outer = places[calls.depth == depth], places[calls.depth == depth - 1]
        before = np.searchsorted(outer, inner) - 1
        parent = outer[np.maximum(before, 0)] if len(outer) else inner
        is_inside = (before >= 0) & (calls.thread[parent] == calls.thread[inner])
        # A parent that never ended is not in the trace; the call before is then not the parent of this one.
        is_inside &= calls.end[parent] + 1e-6 >= calls.end[inner]
        np.subtract.at(own, parent[is_inside], calls.duration[inner[is_inside]])
    return np.maximum(own, 0.0)


def accounts(trace: Trace) -> list[Account]:
    """Returns one account for each process that made calls."""
    calls, level = together(trace)
    own = own_seconds(calls)
    found = []
    for process in np.unique(calls.process):
        chosen = calls.process == process
        mine, seconds, levels = calls.where(chosen), own[chosen], level[chosen]
        facts = trace.processes[int(process)]
        elapsed = float(mine.end.max() - mine.start.min())
        moved = mine.where(levels <= LEVELS.index("stdio"))
        is_own = levels == LEVELS.index("work")
        found.append(
            Account(
                int(process),
                int(facts["pid"]),
                int(facts["rank"]),
                str(facts["command"]),
                elapsed,
                max(0.0, elapsed - _covered(mine)),
                {kind: total for kind in KINDS if (total := float(seconds[mine.kind == kind].sum())) > 0},
                {name: float(seconds[levels == number].sum()) for number, name in enumerate(LEVELS)},
                len(mine),
                int(moved.moved[moved.kind.isin(("read", "transfer"))].sum()),
                int(moved.moved[moved.kind.isin(("write", "transfer"))].sum()),
                work_of(mine.where(is_own), seconds[is_own]),
                device_of(trace.in_flight.where(trace.in_flight.process == process)),
            )
        )
    return found


def _covered(calls: Calls) -> float:
    """Returns the time in which at least one of the calls was running, in seconds."""
    order = np.argsort(calls.start)
    start, end = calls.start[order], calls.end[order]
    latest = np.maximum.accumulate(end)
    free = np.maximum(0.0, start[1:] - latest[:-1]).sum()
    return float(latest[-1] - start[0] - free)
