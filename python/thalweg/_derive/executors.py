"""Lets the workers of an executor do the work: any executor with the interface of concurrent.futures."""

from __future__ import annotations

import itertools
import multiprocessing
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from thalweg._base.errors import Error, UsageError
from thalweg._derive.job_folder import DOING, JobFolder
from thalweg._derive.machines import host, machine
from thalweg._derive.node_process import come
from thalweg._derive.nodes import NodePlace, Nodes
from thalweg._derive.pools import remade
from thalweg._derive.report import WorkerReport
from thalweg._derive.session import Job, WorkerSession, check_handles
from thalweg._derive.worker import failure_of, usage
from thalweg._derive.workers import LocalWorkers, Worker

Messages = list[tuple[Any, ...]]
_sessions: dict[tuple[str, int], WorkerSession] = {}  # the open inputs of this process, by job and thread
_BEGIN_S = 2.0  # time in which a free worker begins with a call
_BROKEN_S = 10.0  # time in which a broken executor ends all its calls
_MOST_BREAKS = 50
_AWAY_S = 0.5  # time for which a worker that can do nothing is occupied, so that others take the work


@dataclass(frozen=True)
class Call:
    """One piece of work."""

    token: str
    """Identifies the job."""
    number: int
    """Differs between all calls of the job, since Dask treats equal calls as one."""
    places: Mapping[str, NodePlace]
    """The handles of the outputs, by machine."""
    folder: str | None
    """The folder of the job, if it uses several machines."""
    job: Job
    what: str
    argument: Any


def answer(call: Call) -> Messages:
    """Runs a call in a worker of the executor. No output stays open, since the worker is not told when the job ends."""
    for old in [key for key in _sessions if key[0] != call.token]:
        del _sessions[old]
    here = call.places.get(machine())
    if call.folder is None and here is None:
        return [("failed", None, _elsewhere(), "", True)]
    key = call.token, threading.get_ident()
    if key not in _sessions:
        is_alone = threading.current_thread() is threading.main_thread()  # a worker of Dask has several threads
        _sessions[key] = WorkerSession(call.job, is_alone and multiprocessing.parent_process() is not None)
    session = _sessions[key]
    if call.what == "describe":
        return _described(session, call.argument)
    if here is None:
        return _away(f"{host()} is not a machine of the job, or counts as failed")
    if call.folder is None:
        return _done(session, here, call)
    folder, name = JobFolder(call.folder), f"{DOING}{call.number}"
    if not folder.say(name, str(here.node)):
        return _away("the job has ended")
    try:
        return _done(session, here, call)
    finally:
        folder.drop(name)


def _elsewhere() -> str:
    return (
        f"a worker of the executor is on another machine, or in a container of its own ({host()}): give nodes=, the "
        "number of machines that have workers, this one included"
    )


def _away(why: str) -> Messages:
    time.sleep(_AWAY_S)
    return [("away", why)]


def _described(session: WorkerSession, argument: Any) -> Messages:
    try:
        return [("described", session.describe(argument, lambda _: None))]
    except BaseException as error:
        return [failure_of(error, None)]


def _done(session: WorkerSession, here: NodePlace, call: Call) -> Messages:
    messages: Messages = []
    end: tuple[Any, ...]
    try:
        session.open(here.handles)
        times = session.do(call.argument, messages.append)
        session.finish()
        end = ("done", times, usage(), sorted(session.used), session.copied())
    except BaseException as error:
        began = [message[1] for message in messages if message[0] == "began"]
        end = failure_of(error, began[-1] if began else None)
        if isinstance(error, Error) and here.node > 1 and (why := _why_not(here)):
            end = ("away", why)
            time.sleep(_AWAY_S)
    commits = [message[1:3] for message in messages if message[0] == "committing"]
    # This follows the commits, so that what is durable at that time includes them.
    messages.append(("committed", session.committed(commits), here.node, time.monotonic()))
    session.open([])  # a job that resumes the outputs must be their only user
    return [*messages, end]


def _why_not(place: NodePlace) -> str:
    """Returns why this node cannot write any more, or an empty text if it can."""
    try:
        check_handles(place.handles)
    except Error as error:
        return f"node {place.node} ({host()}) cannot write any more: {error}"
    return ""


class OpenCall(NamedTuple):
    """A call that the executor has not finished."""

    number: int
    """The number of the call."""
    slot: Slot
    since: float


@dataclass
class Slot(Worker):
    """Stands for one worker: it has one call at a time, which any worker of the executor may do."""

    owner: ExecutorWorkers = field(kw_only=True)

    def tell(self, *message: Any) -> None:
        what, argument = message
        if what == "open":
            self.owner.open(argument)
        else:
            self.owner.submit(self, what, argument)

    def end(self) -> None:
        self.owner.said.append((self, None))

    def kill(self, why: str) -> None:
        self.ended_by = self.ended_by or why  # a call that runs in an executor cannot be ended from here

    def how_it_died(self) -> str:
        return self.ended_by or "a worker of the executor died"


class ExecutorWorkers(LocalWorkers):
    """is_own: the executor was made for this job, and ends with it."""

    def __init__(self, job: Job, executor: Any, nodes: Nodes | None, is_own: bool = False) -> None:
        super().__init__(job, "spawn")
        self._executor = executor
        self._own = [executor] if is_own else []
        self._waiting: deque[tuple[Slot, str, Any]] = deque()
        self._alone = 0  # the number of calls that are done one by one, to find the one that breaks the executor
        self._breaks = 0
        self._nodes = nodes
        self._token = uuid.uuid4().hex
        self._numbers = itertools.count()
        self._doing: dict[Future[Messages], OpenCall] = {}
        self._places: Mapping[str, NodePlace] = {machine(): NodePlace(1, (None,) * len(job.train))}
        self._away_since: float | None = None
        self.said: deque[tuple[Slot, tuple[Any, ...] | None]] = deque()

    def start(self) -> Worker:
        report = WorkerReport(len(self.reports), 0)
        self.reports.append(report)
        slot = Slot(report.number, SimpleNamespace(pid=0, exitcode=0), None, report, owner=self)
        self.alive.append(slot)
        return slot

    def open(self, handles: list[str | None]) -> None:
        """Takes the handles of the outputs, if the job uses one machine."""
        if self._nodes is None:
            self._places = {machine(): NodePlace(1, tuple(handles))}

    def ask_machines(self, count: int) -> Iterator[tuple[str, str]]:
        """Submits `count` calls that make the machines of their workers join. Yields the machines with their hosts."""
        assert self._nodes is not None
        futures = [self._executor.submit(come, self._nodes.folder.path, next(self._numbers)) for _ in range(count)]
        done, late = wait(futures, self._nodes.timeout)
        for future in late:
            future.cancel()
        for future in done:
            if isinstance(error := future.exception(), Error | BrokenExecutor):
                raise error
            if error is None:  # otherwise the executor lost the call
                yield future.result()

    def submit(self, slot: Slot, what: str, argument: Any) -> None:
        self._waiting.append((slot, what, argument))
        self._submit_waiting()

    def _submit_waiting(self) -> None:
        while self._waiting and not (self._alone and self._doing):
            self._submit(*self._waiting.popleft())

    def _submit(self, slot: Slot, what: str, argument: Any) -> None:
        number = next(self._numbers)
        places = self._places if self._nodes is None else self._nodes.places
        folder = self._nodes.folder.path if self._nodes else None
        call = Call(self._token, number, places, folder, self._job, what, argument)
        try:
            try:
                future = self._executor.submit(answer, call)
            except BrokenExecutor as error:
                if not self._is_remade(error):
                    raise
                future = self._executor.submit(answer, call)
            self._doing[future] = OpenCall(number, slot, time.monotonic())
        except RuntimeError as error:  # the executor is broken, or shut down
            self.said.append((slot, ("failed", None, f"the executor takes no more work ({error})", "", True)))

    def events(self, timeout_s: float) -> Iterator[tuple[Worker, tuple[Any, ...] | None]]:
        if not self.said:
            done, _ = wait(self._doing, timeout_s, FIRST_COMPLETED)
            broken = [future for future in done if _breaks(future)]
            if broken:
                done, _ = wait(self._doing, _BROKEN_S)  # all calls that a broken executor has end
                broken = [future for future in done if _breaks(future)]
            messages = self._of_broken(broken)
            if len(broken) < 2:
                self._alone = max(0, self._alone - len(done))
            for future in done:
                given = self._doing.pop(future)
                self.said.extend((given.slot, each) for each in messages.get(future) or _messages_of(future))
            self._submit_waiting()
            if not self._doing and not done:
                time.sleep(timeout_s)
        for _ in range(len(self.said)):
            slot, message = self.said.popleft()
            if message is None:
                self.alive.remove(slot)
            elif message[0] == "away":
                self._away_since = self._away_since or time.monotonic()
            elif message[0] == "done":
                self._away_since = None
            yield slot, message

    def _of_broken(self, broken: list[Future[Messages]]) -> dict[Future[Messages], Messages]:
        """Returns what is known of calls after the executor broke, if there is a new one; nothing if there is none.

        Only a call that was alone has broken it. Several calls are given again, one by one."""
        if not broken or not self._is_remade(broken[0].exception()):
            return {}
        if len(broken) == 1:
            return {broken[0]: [("lost", _lost(broken[0].exception()))]}
        self._alone = len(broken)
        return {future: [("away", "the executor broke")] for future in broken}

    def _is_remade(self, error: BaseException | None) -> bool:
        """Takes a new executor instead of a broken one. Returns whether that was possible."""
        new = remade(self._executor) if self._nodes is None and self._breaks < _MOST_BREAKS else None
        if new is None:
            return False
        if not self._breaks:
            self.notes.append(
                f"the executor broke because one of its workers died ({error}); the job went on with a new one like it"
            )
        self._breaks += 1
        self._own.append(new)
        self._executor = new
        return True

    def close(self) -> None:
        for executor in self._own:
            executor.shutdown()
        for key in [key for key in _sessions if key[0] == self._token]:  # of threads of this process
            del _sessions[key]

    def look(self) -> str:
        """Takes up what machines have left that are dead. Returns why nothing can be done any more, or nothing."""
        assert self._nodes is not None
        doing = self._nodes.doing()
        for future, given in list(self._doing.items()):
            node = doing.get(given.number)
            if node is not None and node not in self._nodes.dead:
                self._away_since = None
            elif node is not None or self._is_in_doubt(given):
                self._nodes.folder.drop(f"{DOING}{given.number}")
                future.cancel()
                del self._doing[future]
                self.said.append((given.slot, ("away", "it was given, or may have been, to a machine that failed")))
        if self._away_since is None or time.monotonic() - self._away_since < self._nodes.timeout:
            return ""
        return (
            f"for {self._nodes.timeout:g} s all work went to workers on machines that are not, or no longer, part of "
            "the job"
        )

    def _is_in_doubt(self, given: OpenCall) -> bool:
        """Returns whether a call may be lost: no worker has begun it, and a machine has failed.

        The executor may notice the failure late or never, and still give calls to workers there. If the call is done
        after all, it counts once."""
        assert self._nodes is not None
        if not self._nodes.dead:
            return False
        died_at = self._nodes.died_at
        patience = _BEGIN_S if given.since < died_at else self._nodes.timeout
        return time.monotonic() - max(given.since, died_at) > patience

    def abandon(self) -> None:
        """Cancels all calls and waits for those that run: they could write into outputs that another job resumes."""
        for future in self._doing:
            future.cancel()
        wait(self._doing, self._nodes.timeout if self._nodes else None)  # a call on a failed machine may never end
        self.alive.clear()


def _messages_of(future: Future[Messages]) -> Messages:
    if future.cancelled():
        return [("failed", None, "the executor has cancelled a call", "", True)]
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, BrokenExecutor):
        return [("lost", _lost(error))]
    return [("failed", None, f"{_lost(error)}; the executor takes no more work, so give a new one", "", True)]


def _breaks(future: Future[Messages]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def _lost(error: BaseException | None) -> str:
    return f"the executor lost a call ({type(error).__name__}: {error})"


def executor_of(executor: Any) -> Any:
    """Returns the executor of a client of Dask, or the executor itself."""
    make = getattr(executor, "get_executor", None)
    return make() if callable(make) else executor


def check_executor(executor: Any, timeout: float | None, start: str | None) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise UsageError(f"{executor!r} is not an executor: give one that has submit(), as in concurrent.futures")
    if timeout is not None:
        raise UsageError(
            "timeout= and executor= are given (a call that runs in an executor cannot be ended): leave one out"
        )
    if start is not None:
        raise UsageError("start= and executor= are given (an executor starts its own workers): leave one out")


def workers_of(executor: Any) -> int | None:
    """Returns the number of workers of an executor, or None if it does not tell."""
    count = getattr(executor, "_max_workers", None)
    if count is None and (client := _client_of(executor)):
        count = sum(client.nthreads().values())
    return count if isinstance(count, int) and count > 0 else None


def machines_of(executor: Any) -> int | None:
    """Returns the number of machines with workers, this one included, or None if the executor does not tell."""
    client = _client_of(executor)
    return len({machine(), *client.run(machine).values()}) if client else None


def _client_of(executor: Any) -> Any:
    """Returns the client of an executor of Dask, which knows its workers, or None for any other executor."""
    client = getattr(executor, "_client", None)
    return client if hasattr(client, "nthreads") and hasattr(client, "run") else None
