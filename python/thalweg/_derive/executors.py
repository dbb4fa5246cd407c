"""Workers of an executor in the place of our own: anything that is like those of concurrent.futures."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from thalweg._derive.report import WorkerReport
from thalweg._derive.session import Job, Session
from thalweg._derive.worker import failure_of, usage
from thalweg._derive.workers import Worker, Workers
from thalweg._errors import UsageError

Messages = list[tuple[Any, ...]]
_sessions: dict[tuple[str, int], Session] = {}  # of this process, by job and thread: inputs that are open
_ELSEWHERE = (
    "a worker of the executor is on another machine, which is not possible yet: give an executor whose workers are all "
    "on the machine of the job"
)


def machine() -> str:
    """What tells this machine, since it was started, from any other."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def answer(token: str, where: str, job: Job, handles: Sequence[str | None], what: str, argument: Any) -> Messages:
    """Runs in a worker of the executor. Nothing stays in its memory: nobody could tell it that the job ends."""
    if machine() != where:
        return [("failed", None, _ELSEWHERE, "", True)]
    for old in [key for key in _sessions if key[0] != token]:
        del _sessions[old]
    messages: Messages = []
    session: Session | None = None
    try:
        session = _sessions.setdefault((token, threading.get_ident()), Session(job))
        if what == "describe":
            messages.append(("described", session.describe(argument)))
        else:
            session.open(handles)
            times = session.do(argument, messages.append)
            session.finish()
            messages.append(("done", times, usage(), sorted(session.used), session.copied()))
    except BaseException as error:
        began = [message[1] for message in messages if message[0] == "began"]
        messages.append(failure_of(error, began[-1] if began else None))
    if session is not None:
        session.open([])  # who resumes the outputs needs them alone
    return messages


class Slot(Worker):
    """One piece of work of the executor at a time, whichever of its workers does it."""

    owner: ExecutorWorkers

    def tell(self, *message: Any) -> None:
        what, argument = message
        if what == "open":
            self.owner.handles = argument
        else:
            self.owner.submit(self, what, argument)

    def end(self) -> None:
        self.owner.said.append((self, None))

    def kill(self, why: str) -> None:
        self.ended_by = self.ended_by or why  # what runs in an executor cannot be ended from here

    def how_it_died(self) -> str:
        return self.ended_by or "a worker of the executor died"


class ExecutorWorkers(Workers):
    def __init__(self, job: Job, executor: Any) -> None:
        super().__init__(job, "spawn")
        self._executor = executor
        self._token = uuid.uuid4().hex
        self._doing: dict[Future[Messages], Slot] = {}
        self.handles: Sequence[str | None] = [None] * len(job.train)
        self.said: deque[tuple[Slot, tuple[Any, ...] | None]] = deque()

    def start(self) -> Worker:
        report = WorkerReport(len(self.reports), 0)
        self.reports.append(report)
        slot = Slot(report.number, SimpleNamespace(pid=0, exitcode=0), None, report)
        slot.owner = self
        self.alive.append(slot)
        return slot

    def submit(self, slot: Slot, what: str, argument: Any) -> None:
        arguments = self._token, machine(), self._job, list(self.handles), what, argument
        try:
            self._doing[self._executor.submit(answer, *arguments)] = slot
        except RuntimeError as error:  # it is broken, or shut down
            self.said.append((slot, ("failed", None, f"the executor takes no more work ({error})", "", True)))

    def events(self, timeout_s: float) -> Iterator[tuple[Worker, tuple[Any, ...] | None]]:
        if not self.said and self._doing:
            done, _ = wait(self._doing, timeout_s, FIRST_COMPLETED)
            for future in done:
                slot = self._doing.pop(future)
                self.said.extend((slot, message) for message in _messages_of(future))
        for _ in range(len(self.said)):
            slot, message = self.said.popleft()
            if message is None:
                self.alive.remove(slot)
            yield slot, message

    def abandon(self) -> None:
        """Waits for what runs: it could write into outputs that somebody else goes on with."""
        for future in self._doing:
            future.cancel()
        wait(self._doing)
        self.alive.clear()


def _messages_of(future: Future[Messages]) -> Messages:
    error = future.exception()
    if error is None:
        return future.result()
    return [("failed", None, f"the executor lost a piece of work ({type(error).__name__}: {error})", "", True)]


def check_executor(executor: Any, timeout: float | None, start: str) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise UsageError(f"{executor!r} is no executor: give one that has submit(), as in concurrent.futures")
    if timeout is not None:
        raise UsageError("timeout= and executor= are given (work of an executor cannot be ended): leave one out")
    if start != "fork":
        raise UsageError("start= and executor= are given (an executor starts its workers itself): leave one out")


def workers_of(executor: Any) -> int | None:
    """How many an executor has, where it says so."""
    count = getattr(executor, "_max_workers", None)
    return count if isinstance(count, int) else None
