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
from thalweg._derive.report import WorkerReport
from thalweg._derive.session import Job, Task

STARTS = ("fork", "spawn")


@dataclass
class Worker:
    number: int
    process: Any
    pipe: Any
    report: WorkerReport
    task: Task | None = None
    range: int | None = None
    """The range that it does."""
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
        with suppress(OSError):  # the worker has died, and `Workers.events` reports it
            self.pipe.send(message)

    def end(self) -> None:
        with suppress(OSError):
            self.pipe.send(None)

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

    def start(self) -> Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(  # type: ignore[attr-defined]
            target=worker.main, args=(theirs, self._job, os.getpid()), daemon=False
        )
        process.start()
        theirs.close()
        report = WorkerReport(len(self.reports), process.pid)
        self.reports.append(report)
        self.alive.append(Worker(report.number, process, ours, report, since=time.monotonic()))
        return self.alive[-1]

    def events(self, timeout_s: float) -> Iterator[tuple[Worker, tuple[Any, ...] | None]]:
        """Yields messages of workers, and None for a worker that has died, after its last message."""
        by_pipe = {each.pipe: each for each in self.alive}
        for ready in wait(list(by_pipe), timeout_s):
            each = by_pipe[ready]
            try:
                yield each, each.pipe.recv()
            except (EOFError, OSError, pickle.UnpicklingError):  # it may die in the middle of a message
                self._bury(each)
                yield each, None

    def _bury(self, each: Worker) -> None:
        each.process.join()
        each.pipe.close()
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
    elif reason := _why_not_fork():
        raise UsageError(f"workers cannot be forked ({reason}): stop this before, or give start='spawn'")


def _why_not_fork() -> str:
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
