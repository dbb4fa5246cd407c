"""Accounts for the time of processes and ranks: each moment belongs to the innermost recorded call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thalweg._trace.calls import Calls, Integers, Mask, Seconds, blocks, different
from thalweg._trace.own_work import Device, Work, device_of, work_of
from thalweg._trace.records import LEVELS
from thalweg._trace.spans import elapsed_together
from thalweg._trace.trace_file import Trace

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
    """The time from its first call to its last, in seconds. Phases that begin before or end later belong to it."""
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


@dataclass(frozen=True)
class Own:
    """The calls of some levels without the calls inside them."""

    seconds: list[Seconds]
    """For each level the time of each call without its inner calls, in seconds."""
    is_outermost: list[Mask]
    """For each level which calls are inside no recorded call."""


def own_of(levels: Sequence[Calls]) -> Own:
    """Returns the own time of each call of these levels. A call is inside the last one, of the depth above its own,
    that its thread has begun before."""
    own = np.concatenate([level.duration for level in levels])
    is_outermost = np.ones(len(own), bool)
    depth = np.concatenate([level.depth for level in levels])
    if (deepest := int(depth.max(initial=0))) > 0:
        start, thread = (np.concatenate([each(level) for level in levels]) for each in (_start, _thread))
        for number in different(thread):
            places = [np.flatnonzero((thread == number) & (depth == each)) for each in range(deepest + 1)]
            for outer, inner in pairwise(places):
                _subtract(own, is_outermost, start, (outer, inner))
    ends = np.cumsum([len(level) for level in levels])[:-1]
    return Own(np.split(np.maximum(own, 0.0, out=own), ends), np.split(is_outermost, ends))


def _start(calls: Calls) -> Seconds:
    return calls.start


def _thread(calls: Calls) -> npt.NDArray[np.integer]:
    return calls.thread


def _subtract(own: Seconds, is_outermost: Mask, start: Seconds, places: tuple[Integers, Integers]) -> None:
    """Subtracts inner calls from the outer ones. Neither time has been changed before: depths come in order."""
    outer, inner = places
    if not (len(outer) and len(inner)):
        return
    begin = start[outer]
    if (begin[1:] < begin[:-1]).any():
        outer = outer[np.argsort(begin, kind="stable")]
        begin = start[outer]
    end = begin + own[outer]
    for block in blocks(len(inner)):
        mine = inner[block]
        parent = np.searchsorted(begin, start[mine], side="right") - 1
        # A parent that never ended is not in the trace; the call before is then not the parent of this one.
        is_inside = (parent >= 0) & (end[parent] + 1e-6 >= start[mine] + own[mine])
        np.subtract.at(own, outer[parent[is_inside]], own[mine[is_inside]])
        is_outermost[mine[is_inside]] = False


def own_seconds(calls: Calls) -> Seconds:
    """Returns the duration of each call without its inner calls."""
    return own_of([calls]).seconds[0]


def accounts(trace: Trace) -> list[Account]:
    """Returns one account for each process that made calls."""
    levels = [trace.levels[name] for name in LEVELS]
    own = own_of(levels)
    processes = sorted({process for level in levels for process in level.processes})
    if len(processes) == 1:
        return [_account(trace, processes[0], levels, own)]
    found = []
    for process in processes:
        chosen = [level.is_of_process(process) for level in levels]
        mine = [level.where(some) for level, some in zip(levels, chosen, strict=True)]
        seconds = [each[some] for each, some in zip(own.seconds, chosen, strict=True)]
        is_outermost = [each[some] for each, some in zip(own.is_outermost, chosen, strict=True)]
        found.append(_account(trace, process, mine, Own(seconds, is_outermost)))
    return found


def _account(trace: Trace, process: int, levels: list[Calls], own: Own) -> Account:
    facts = trace.processes[process]
    first, last = _span(trace, process)
    outermost = [level.where(some) for level, some in zip(levels, own.is_outermost, strict=True)]
    by_kind = _by_kind(trace, levels, own)
    moves = levels[: LEVELS.index("stdio") + 1]
    work = levels[LEVELS.index("work")]
    return Account(
        process,
        int(facts["pid"]),
        int(facts["rank"]),
        str(facts["command"]),
        last - first,
        max(0.0, last - first - elapsed_together(outermost)),
        {kind: by_kind[kind] for kind in KINDS if by_kind.get(kind, 0.0) > 0},
        {name: float(seconds.sum()) for name, seconds in zip(LEVELS, own.seconds, strict=True)},
        sum(map(len, levels)),
        sum(level.where(level.kind.isin(("read", "transfer"))).moved_bytes for level in moves),
        sum(level.where(level.kind.isin(("write", "transfer"))).moved_bytes for level in moves),
        work_of(work, own.seconds[LEVELS.index("work")]),
        device_of(trace.in_flight.where(trace.in_flight.process == process)),
    )


def _span(trace: Trace, process: int) -> tuple[float, float]:
    """Returns when a process made its first call or began its first phase, and when the last one ended."""
    first, last = trace.span(process)
    regions = trace.regions.where(trace.regions.process == process)
    return float(min([first, *regions.start])), float(max([last, *regions.end]))


def _by_kind(trace: Trace, levels: list[Calls], own: Own) -> dict[str, float]:
    """Returns the time in calls of each kind."""
    sums = np.zeros(len(trace.operations))
    for level, seconds in zip(levels, own.seconds, strict=True):
        for block in blocks(len(level)):
            sums += np.bincount(level.part(block).operation, seconds[block], len(sums))
    found: dict[str, float] = {}
    for operation, total in zip(trace.operations, sums.tolist(), strict=True):
        kind = str(operation["kind"])
        found[kind] = found.get(kind, 0.0) + total
    return found
