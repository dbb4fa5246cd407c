"""Measures how long calls run, alone or beside each other, a block of calls at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from thalweg._trace.calls import Calls, Seconds, blocks

Ranges = Iterable[tuple[Seconds, Seconds]]


def elapsed(calls: Calls) -> float:
    """Returns the time in which at least one of the calls was running, in seconds."""
    return _covered((part.start, part.end) for part in calls.by_start().in_blocks())


def elapsed_together(parts: Sequence[Calls]) -> float:
    """Returns the time in which at least one call of several levels was running, in seconds."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return sum(map(elapsed, some))
    start, end = (np.concatenate(times) for times in zip(*((part.start, part.end) for part in some), strict=True))
    order = np.argsort(start, kind="stable").astype(np.uint32)
    return _covered((start[order[block]], end[order[block]]) for block in blocks(len(order)))


def _covered(ranges: Ranges) -> float:
    """Returns the length of the union of ranges, given as begins and ends, those that begin first before others."""
    covered, until = 0.0, -np.inf
    for start, end in ranges:
        latest = np.maximum.accumulate(np.r_[until, end])
        covered += float((latest[1:] - np.maximum(start, latest[:-1])).sum())
        until = float(latest[-1])
    return covered


def pauses(calls: Calls) -> Iterator[Seconds]:
    """Yields the times between calls in which none of them was running, a block at a time, in seconds."""
    until: float | None = None
    for part in calls.by_start().in_blocks():
        latest = np.maximum.accumulate(np.r_[part.end[0] if until is None else until, part.end])
        yield np.maximum(0.0, part.start - latest[:-1])[1 if until is None else 0 :]
        until = float(latest[-1])
