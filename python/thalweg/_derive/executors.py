"""Workers of an executor in the place of our own: anything that is like those of concurrent.futures."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from thalweg._derive.job_folder import DOING, JobFolder
from thalweg._derive.machines import host, machine
from thalweg._derive.node_process import come
from thalweg._derive.nodes import Nodes, Place
from thalweg._derive.report import WorkerReport
from thalweg._derive.session import Job, Session, check_handles
from thalweg._derive.worker import failure_of, usage
from thalweg._derive.workers import Worker, Workers
from thalweg._errors import Error, UsageError

Messages = list[tuple[Any, ...]]
_sessions: dict[tuple[str, int], Session] = {}  # of this process, by job and thread: inputs that are open
_BEGIN_S = 2.0  # in which a worker that is free begins with what it is given
_AWAY_S = 0.5  # so long a worker is kept that can do nothing, so that others take the work


@dataclass(frozen=True)
class Call:
    """One piece of work."""

    token: str
    """Of the job."""
    number: int
    """No other call of the job has it, since Dask takes what is equal for the same."""
    places: Mapping[str, Place]
    """Where outputs are written, by machine."""
    folder: str | None
    """Of a job of several machines."""
    job: Job
    what: str
    argument: Any


def answer(call: Call) -> Messages:
    """Runs in a worker of the executor. Nothing stays in its memory: nobody could tell it that the job ends."""
    for old in [key for key in _sessions if key[0] != call.token]:
        del _sessions[old]
    here = call.places.get(machine())
    if call.folder is None and here is None:
        return [("failed", None, _elsewhere(), "", True)]
    session = _sessions.setdefault((call.token, threading.get_ident()), Session(call.job))
    if call.what == "describe":
        return _described(session, call.argument)
    if here is None:
        return _away(f"{host()} is no machine of the job, or not any more")
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
        f"a worker of the executor is on another machine ({host()}), or in a container of its own: say on how many "
        "machines it has workers, with this one, by nodes="
    )


def _away(why: str) -> Messages:
    time.sleep(_AWAY_S)
    return [("away", why)]


def _described(session: Session, argument: Any) -> Messages:
    try:
        return [("described", session.describe(argument))]
    except BaseException as error:
        return [failure_of(error, None)]


def _done(session: Session, here: Place, call: Call) -> Messages:
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
    # Behind the commits, so that what was durable at that time has them.
    messages.append(("committed", session.committed(commits), here.node, time.monotonic()))
    session.open([])  # who resumes the outputs needs them alone
    return [*messages, end]


def _why_not(place: Place) -> str:
    """Why this node writes no more; empty: it does."""
    try:
        check_handles(place.handles)
    except Error as error:
        return f"node {place.node} ({host()}) writes no more: {error}"
    return ""


class Given(NamedTuple):
    """What the executor has."""

    number: int
    """Of the call."""
    slot: Slot
    since: float


@dataclass
class Slot(Worker):
    """One piece of work of the executor at a time, whichever of its workers does it."""

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
        self.ended_by = self.ended_by or why  # what runs in an executor cannot be ended from here

    def how_it_died(self) -> str:
        return self.ended_by or "a worker of the executor died"


class ExecutorWorkers(Workers):
    def __init__(self, job: Job, executor: Any, nodes: Nodes | None) -> None:
        super().__init__(job, "spawn")
        self._executor = executor
        self._nodes = nodes
        self._token = uuid.uuid4().hex
        self._numbers = itertools.count()
        self._doing: dict[Future[Messages], Given] = {}
        self._places: Mapping[str, Place] = {machine(): Place(1, (None,) * len(job.train))}
        self._away_since: float | None = None
        self.said: deque[tuple[Slot, tuple[Any, ...] | None]] = deque()

    def start(self) -> Worker:
        report = WorkerReport(len(self.reports), 0)
        self.reports.append(report)
        slot = Slot(report.number, SimpleNamespace(pid=0, exitcode=0), None, report, owner=self)
        self.alive.append(slot)
        return slot

    def open(self, handles: list[str | None]) -> None:
        """Of the outputs, as this process has them."""
        if self._nodes is None:
            self._places = {machine(): Place(1, tuple(handles))}

    def ask_machines(self, count: int) -> Iterator[tuple[str, str]]:
        """Lets so many workers see to it that their machines come. Returns which these are."""
        assert self._nodes is not None
        futures = [self._executor.submit(come, self._nodes.folder.path, next(self._numbers)) for _ in range(count)]
        done, late = wait(futures, self._nodes.timeout)
        for future in late:
            future.cancel()
        for future in done:
            if isinstance(error := future.exception(), Error | BrokenExecutor):
                raise error
            if error is None:  # else the engine lost it
                yield future.result()

    def submit(self, slot: Slot, what: str, argument: Any) -> None:
        number = next(self._numbers)
        places = self._places if self._nodes is None else self._nodes.places
        folder = self._nodes.folder.path if self._nodes else None
        call = Call(self._token, number, places, folder, self._job, what, argument)
        try:
            self._doing[self._executor.submit(answer, call)] = Given(number, slot, time.monotonic())
        except RuntimeError as error:  # it is broken, or shut down
            self.said.append((slot, ("failed", None, f"the executor takes no more work ({error})", "", True)))

    def events(self, timeout_s: float) -> Iterator[tuple[Worker, tuple[Any, ...] | None]]:
        if not self.said:
            done, _ = wait(self._doing, timeout_s, FIRST_COMPLETED)
            for future in done:
                given = self._doing.pop(future)
                self.said.extend((given.slot, message) for message in _messages_of(future))
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
                self.said.append((given.slot, ("away", "it was given to a machine that has died, or may have been")))
        if self._away_since is None or time.monotonic() - self._away_since < self._nodes.timeout:
            return ""
        return (
            f"for {self._nodes.timeout:g} s only workers took work that are on no machine of the job, or not any more"
        )

    def _is_in_doubt(self, given: Given) -> bool:
        """Nobody has begun with it, and a machine has died. The engine may take long to see that, or never does, and
        still give work to workers there. Where it does it all the same, that counts once."""
        assert self._nodes is not None
        if not self._nodes.dead:
            return False
        died_at = self._nodes.died_at
        patience = _BEGIN_S if given.since < died_at else self._nodes.timeout
        return time.monotonic() - max(given.since, died_at) > patience

    def abandon(self) -> None:
        """Waits for what runs: it could write into outputs that somebody else goes on with."""
        for future in self._doing:
            future.cancel()
        wait(self._doing, self._nodes.timeout if self._nodes else None)  # of a dead machine it may never end
        self.alive.clear()


def _messages_of(future: Future[Messages]) -> Messages:
    if future.cancelled():
        return [("failed", None, "the executor has cancelled a piece of work", "", True)]
    error = future.exception()
    if error is None:
        return future.result()
    what = f"the executor lost a piece of work ({type(error).__name__}: {error})"
    return [("failed", None, what, "", True) if isinstance(error, BrokenExecutor) else ("lost", what)]


def executor_of(executor: Any) -> Any:
    """Of a client of Dask, what is like concurrent.futures."""
    make = getattr(executor, "get_executor", None)
    return make() if callable(make) else executor


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
    if count is None and (client := _client_of(executor)):
        count = sum(client.nthreads().values())
    return count if isinstance(count, int) and count > 0 else None


def machines_of(executor: Any) -> int | None:
    """On how many it has workers, with this one, where it can be asked."""
    client = _client_of(executor)
    return len({machine(), *client.run(machine).values()}) if client else None


def _client_of(executor: Any) -> Any:
    """Of an executor of Dask, which knows its workers. None: it is another one."""
    client = getattr(executor, "_client", None)
    return client if hasattr(client, "nthreads") and hasattr(client, "run") else None
