"""How a job is doing, for who shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from thalweg._derive.loop import Loop


@dataclass(frozen=True)
class WorkerState:
    pid: int
    events: int
    """That it has done."""
    doing: int
    """Events of what it does; 0: it waits."""
    since: float
    """Seconds since it began with its range."""
    cpu: float
    pss: int


@dataclass(frozen=True)
class JobState:
    """Of a job that goes on."""

    events: int
    """Of the input."""
    events_done: int
    """In all outputs, with those of the time before the job was resumed."""
    events_per_s: float
    waiting: int
    """Pieces of work that no worker has yet."""
    seconds: float
    seconds_left: float | None
    """None: nothing is known yet."""
    output_bytes: int
    """That the outputs take so far."""
    stopping: str
    """Why it stops; empty: it does not."""
    failed: int
    """Ranges that have failed, whether they were done again or not."""
    workers: tuple[WorkerState, ...]


Progress: TypeAlias = "Callable[[JobState], None]"


def state_of(loop: Loop, events: int, seconds: float) -> JobState:
    report, done = loop.report, loop.books.events_done()
    rate = report.events_done / seconds if seconds else 0.0
    now = time.monotonic()
    workers = (
        WorkerState(
            each.pid,
            each.report.events,
            sum(map(len, each.task.ranges)) if each.task else 0,
            now - each.since if each.task else 0.0,
            each.report.cpu,
            each.report.peak_pss,
        )
        for each in loop.workers
    )
    return JobState(
        events=events,
        events_done=done,
        events_per_s=rate,
        waiting=loop.books.waiting,
        seconds=seconds,
        seconds_left=(events - done) / rate if rate else None,
        output_bytes=loop.output_bytes(),
        stopping=loop.stopped_by,
        failed=len(loop.books.faults),
        workers=tuple(workers),
    )
