"""The worker processes of a job, as its own process sees them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._derive import worker
from thalweg._derive.channel import MessageChannel
from thalweg._derive.report import WorkerReport
from thalweg._derive.session import Job, Task

STARTS = ("fork", "spawn")
_END_S = 2.0  # time in which a process ends once its connection has ended


@dataclass
class Worker:
    number: int
    process: Any
    channel: Any
    report: WorkerReport
    death: int = -1
    """A descriptor that is ready once the process has ended, even if other processes hold its connection."""
    task: Task | None = None
    range: int | None = None
    """The range that it does."""
    file: int | None = None
    """The file that it has open."""
    since: float = 0.0
    """The time at which it began its range, or began to wait."""
    announced: list[tuple[int, int, bytes]] = field(default_factory=list)
    """The commits that it is about to do: output, range and summary."""
    ended_by: str = ""
    """The reason why the job killed it."""

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    def tell(self, *message: Any) -> None:
        with suppress(OSError):  # the worker has died, and `LocalWorkers.events` reports it
            self.channel.send(message)

    def end(self) -> None:
        with suppress(OSError):
            self.channel.send(None)

    def kill(self, why: str) -> None:
        self.ended_by = self.ended_by or why
        self.process.kill()

    def how_it_died(self) -> str:
        if self.ended_by:
            return self.ended_by
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"worker {self.pid} ended with code {code}"
        name = signal.Signals(-code).name
        memory = " (the kernel does this if memory runs out)" if name == "SIGKILL" else ""
        return f"worker {self.pid} was killed by {name}{memory}"


class LocalWorkers:
    """The worker processes of a job. They are started one by one, if possible before the outputs exist."""

    def __init__(self, job: Job, start: str) -> None:
        self._job = job
        self._context = multiprocessing.get_context(start)
        self.alive: list[Worker] = []
        self.reports: list[WorkerReport] = []
        self.notes: list[str] = []
        """What the report of the job says about them."""

    def start(self) -> Worker:
        ours, theirs = MessageChannel.pair()
        process = self._context.Process(  # type: ignore[attr-defined]
            target=worker.main, args=(theirs, self._job, os.getpid()), daemon=False
        )
        process.start()
        theirs.close()
        report = WorkerReport(len(self.reports), process.pid)
        self.reports.append(report)
        now = time.monotonic()
        self.alive.append(Worker(report.number, process, ours, report, _death_of(process), since=now))
        return self.alive[-1]

    def events(self, timeout_s: float) -> Iterator[tuple[Worker, tuple[Any, ...] | None]]:
        """Yields messages of workers, and None for a worker that has died, after its last message."""
        ready = wait([end for each in self.alive for end in (each.channel, each.death)], timeout_s)
        for each in list(self.alive):
            if each.channel not in ready and each.death not in ready:
                continue
            for message in each.channel.arrived():
                yield each, message
            if each.death in ready or each.channel.has_ended:
                self._bury(each)
                yield each, None

    def _bury(self, each: Worker) -> None:
        """Waits until a process has ended. Its connection ends with it, or before it if a function has closed it."""
        if not wait([each.death], _END_S):  # `join` with a timeout waits for a pipe that may be closed, too
            each.kill(f"worker {each.pid} was killed: its connection to the job was closed")
        each.process.join()
        each.channel.close()
        if each.death != each.process.sentinel:
            os.close(each.death)
        self.alive.remove(each)

    def look(self) -> str:
        """Returns why the workers can do nothing more; only those of an executor can say that."""
        return ""

    def kill(self, why: str) -> None:
        for each in self.alive:
            each.kill(why)

    def abandon(self) -> None:
        """Kills all workers that are left, and waits until they have ended."""
        self.kill("the job ended")
        for each in list(self.alive):
            self._bury(each)

    def close(self) -> None:
        """Ends what outlives the workers. Nothing is left of processes."""


def _death_of(process: Any) -> int:
    """Returns a descriptor that is ready once a process has ended. The sentinel of multiprocessing is the end of a
    pipe, which processes that the worker has started hold open; it is used if the kernel has nothing better."""
    try:
        return os.pidfd_open(process.pid)
    except OSError:
        return int(process.sentinel)


def check_start(start: str, job: Job) -> None:
    """Raises UsageError if workers cannot be started in this way."""
    if start not in STARTS:
        raise UsageError(f"start cannot be {start!r}: give 'fork' or 'spawn'")
    if start == "spawn":
        try:
            pickle.dumps((job.train, job.loop))
        except Exception as error:
            raise UsageError(
                f"the functions of the job cannot be sent to spawned workers ({error}): define them with def at the "
                "top of a module, or give start='fork'"
            ) from error
    elif reason := why_not_fork():
        raise UsageError(
            f"workers cannot be forked ({reason}): stop this before, or give start='spawn'; if start= is left "
            "out, the workers are threads"
        )


def why_not_fork() -> str:
    """Returns why this process cannot be forked: a forked process has no other threads and would wait for them."""
    # The threads of fsspec, with which uproot reads, are started anew after a fork.
    harmless = ("fsspecIO", "asyncio_")
    ours = threading.current_thread()
    others = [each.name for each in threading.enumerate() if each is not ours and not each.name.startswith(harmless)]
    if others:
        return f"this process has threads that a forked process would lack: {', '.join(others[:4])}"
    root, torch = sys.modules.get("ROOT"), sys.modules.get("torch")
    if root is not None and root.ROOT.IsImplicitMTEnabled():
        return "ROOT's implicit multithreading is on, and its threads do not survive a fork"
    if torch is not None and torch.cuda.is_initialized():
        return "CUDA is initialized, which a forked process cannot use"
    if "tensorflow" in sys.modules:
        return "TensorFlow is loaded, and its threads do not survive a fork"
    return ""
