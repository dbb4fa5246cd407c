"""The state of a running job, for progress displays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from thalweg._derive.loop import JobLoop


@dataclass(frozen=True)
class WorkerState:
    pid: int
    events: int
    """The number of events that it has done."""
    doing: int
    """The number of events of its current task; 0 while it waits."""
    since: float
    """The time since it began its range, in seconds."""
    cpu: float
    pss: int


@dataclass(frozen=True)
class JobState:
    """The state of a running job."""

    events: int
    """The number of events of the input."""
    events_done: int
    """The number of events that all outputs have, including those from before the job was resumed."""
    events_per_s: float
    waiting: int
    """The number of tasks that no worker has yet."""
    seconds: float
    seconds_left: float | None
    """The estimated time left in seconds, or None while it is not known."""
    output_bytes: int
    """The size of all outputs so far."""
    stopping: str
    """The reason why the job is stopping; empty if it is not."""
    failed: int
    """The number of ranges that have failed at least once."""
    workers: tuple[WorkerState, ...]


JobProgress: TypeAlias = "Callable[[JobState], None]"


def job_state(loop: JobLoop, events: int, seconds: float) -> JobState:
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
