"""Gives ranges to workers until none is left, and gives the ranges of dead workers to others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._derive.books import Books, Fault
from thalweg._derive.nodes import Nodes
from thalweg._derive.outputs import Output
from thalweg._derive.report import DerivationReport, Failure
from thalweg._derive.session import Job, Task
from thalweg._derive.usage import Sample, cpu_seconds_of, own_cpu_seconds, pss_bytes
from thalweg._derive.workers import LocalWorkers, Worker

_WAIT_S = 0.1
_SAMPLE_EVERY_S = 1.0
_MOST_DEATHS = 5  # consecutive deaths of workers that did nothing


class JobLoop:
    def __init__(
        self,
        job: Job,
        books: Books,
        outputs: Sequence[Output],
        workers: LocalWorkers,
        report: DerivationReport,
        on_error: str,
        attempts: int,
        timeout: float | None,
        nodes: Nodes | None = None,
    ) -> None:
        self._job = job
        self._books = books
        self._outputs = outputs
        self._workers = workers
        self._report = report
        self._on_error = on_error
        self._attempts = 1 if on_error == "stop" else attempts
        self._timeout = timeout
        self._nodes = nodes
        self._begin = self._sampled = time.monotonic()
        self._deaths = 0
        self.stopped_by = ""
        """The reason why no more ranges are given out; empty while the job runs."""

    def run(self, count: int, tick: Callable[[], None]) -> None:
        """Runs the loop with `count` workers. `tick` is called some times a second."""
        for each in self._workers.alive:
            self._begin_work(each)
        while not self._is_over():
            while len(self._workers.alive) < count and self._wants_more():
                self._begin_work(self._workers.start())
            for each in self._workers.alive:
                if each.task is None and self._books.waiting:  # another worker has left a range
                    self._give(each)
            for each, message in self._workers.events(_WAIT_S):
                if message is None:
                    self._died(each)
                else:
                    self._said(each, message)
            self._end_those_that_hang()
            self._look_at_nodes()
            self._sample()
            tick()
        now = time.monotonic()
        for each in self._workers.alive:
            each.report.idle = now - each.since
        self._end_workers(tick)

    def stop(self, why: str) -> None:
        self.stopped_by = self.stopped_by or why

    def kill(self, why: str) -> None:
        self.stop(why)
        self._workers.kill(why)

    @property
    def workers(self) -> list[Worker]:
        return self._workers.alive

    @property
    def report(self) -> DerivationReport:
        return self._report

    def output_bytes(self) -> int:
        """Returns the size of all outputs so far."""
        return sum(each.writer.status().claimed_bytes for each in self._outputs if each.writer is not None)

    @property
    def books(self) -> Books:
        return self._books

    def _is_over(self) -> bool:
        if self.stopped_by:
            return not self._books.doing
        return self._books.is_done() and (self._nodes is None or self._nodes.all_is_durable)

    def _wants_more(self) -> bool:
        idle = sum(each.task is None for each in self._workers.alive)
        return not self.stopped_by and idle == 0 and self._books.waiting > 0

    def _begin_work(self, each: Worker) -> None:
        each.tell("open", [output.writer.handle if output.writer else None for output in self._outputs])
        self._give(each)

    def _give(self, each: Worker) -> None:
        others = {other.file for other in self._workers.alive if other is not each and other.file is not None}
        each.task = None if self.stopped_by else self._books.take(each.file, others)
        each.range, each.since = None, time.monotonic()
        if each.task is not None:
            each.file = each.task.ranges[-1].file
            each.tell("do", each.task)

    def _said(self, each: Worker, message: tuple[Any, ...]) -> None:
        what, *rest = message
        if what == "began":
            each.range, each.since = rest[0], time.monotonic()
        elif what == "committing":
            each.announced.append((rest[0], rest[1], rest[2]))
        elif what == "committed":
            self._committed(each, *rest)
        elif what == "away":
            self._give_back(each)
            self._give(each)
        elif what == "lost":
            assert each.task is not None
            self._failed(each, each.task.ranges[0].number, Fault(rest[0], ""))
            self._give(each)
        elif what == "done":
            self._done(each, *rest)
        elif what == "failed":
            number, reason, text, is_system = rest
            if number is None or (is_system and self._broken()):
                self.stop(f"{self._broken() or reason}")
            self._failed(each, number, Fault(reason, text))
            self._give(each)

    def _done(
        self, each: Worker, times: list[float], usage: tuple[float, int], used: list[str], copied: tuple[int, int]
    ) -> None:
        assert each.task is not None
        self._count_commits(each)
        self._deaths = 0
        events = sum(map(len, each.task.ranges))
        if self._books.done(each.task):
            self._report.events_done += events
        each.report.ranges += len(each.task.ranges)
        each.report.events += events
        each.report.busy += sum(times)
        each.report.copied_pages += copied[0]
        each.report.copied_bytes += copied[1]
        self._used(each, *usage)
        self._report.columns = sorted({*self._report.columns, *used})
        self._give(each)

    def _committed(self, each: Worker, commits: set[tuple[int, int]], node: int, when: float) -> None:
        """Notes commits that a worker of an executor reports. Those of a node that counts as failed may be lost."""
        for output, number, summary in each.announced:
            commit = output, number
            if commit in commits and (self._nodes is None or self._nodes.committed(commit, node, when)):
                self._books.committed(output, number, summary)
        each.announced = []

    def _give_back(self, each: Worker) -> None:
        """Gives back a task that has not failed."""
        task, each.task, each.announced = each.task, None, []
        if task is not None:
            self._books.give_back(task)

    def _look_at_nodes(self) -> None:
        if self._nodes is None or not self._nodes.is_due():
            return
        for node, lost in self._nodes.look(self._outputs).items():
            numbers = self._books.lost(lost)
            self._report.events_done -= self._books.events_in(numbers)
            self._report.notes.append(self._nodes.how_it_went(node, len(numbers)))
        if why := self._broken() or self._workers.look():
            self.stop(why)

    def _count_commits(self, each: Worker) -> None:
        for output, number, summary in each.announced:
            writer = self._outputs[output].writer
            if writer is not None and writer.is_committed(number):
                self._books.committed(output, number, summary)
        each.announced = []

    def _died(self, each: Worker) -> None:
        how = each.how_it_died()
        each.report.how_it_ended = how
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS and each.range is None:
            self.stop(f"{_MOST_DEATHS} workers in succession ended before they did anything: {how}")
        self._count_commits(each)
        self._failed(each, each.range, Fault(how, ""))

    def _failed(self, each: Worker, number: int | None, fault: Fault) -> None:
        """Notes a fault: the task waits again for the outputs that lack it, the range is skipped, or the job stops."""
        task, each.task, each.announced = each.task, None, []
        if task is None:
            return
        if number is not None and not self.stopped_by and self._is_lacking(task, number):
            attempts = self._books.failed(number, fault)
            if attempts >= self._attempts and self._on_error == "skip":
                self._books.skipped.add(number)
            elif attempts >= self._attempts:
                self.stop(self._sentence(number, fault))
        self._books.give_back(task)

    def _is_lacking(self, task: Task, number: int) -> bool:
        return any(number not in self._books.summaries[output] for output in task.outputs)

    def _sentence(self, number: int, fault: Fault) -> str:
        failure = self.failure(number, fault)
        times = f" {failure.attempts} times" if failure.attempts > 1 else ""
        return f"{failure.path}: events {failure.start} to {failure.stop} failed{times} ({fault.reason})"

    def failure(self, number: int, fault: Fault) -> Failure:
        each = self._books.ranges[number]
        path = self._job.inputs.files[each.file].path
        skipped = number in self._books.skipped
        return Failure(
            number, path, each.start, each.stop, fault.reason, fault.text, self._books.attempts[number], skipped
        )

    def _broken(self) -> str:
        """Returns why an output cannot be written any more, or an empty text if all can."""
        for each in self._outputs:
            if each.writer is not None and (failure := each.writer.status().failure):
                return f"{each.path}: {failure}"
        return ""

    def _end_those_that_hang(self) -> None:
        timeout = math.inf if self._timeout is None else self._timeout
        for each in self._workers.alive:
            if each.range is not None and time.monotonic() - each.since > timeout:
                each.kill(f"worker {each.pid} was killed: a range took longer than {timeout:g} s")

    def _used(self, each: Worker, cpu: float, pss: int) -> None:
        each.report.cpu = max(each.report.cpu, cpu)
        each.report.peak_pss = max(each.report.peak_pss, pss)

    def _sample(self) -> None:
        now = time.monotonic()
        if now - self._sampled < _SAMPLE_EVERY_S:
            return
        self._sampled = now
        for each in self._workers.alive:
            if each.pid and (pss := pss_bytes(each.pid)):
                self._used(each, cpu_seconds_of(each.pid), pss)
                self._report.samples.append(Sample(now - self._begin, each.pid, each.report.cpu, pss))
        self._report.samples.append(Sample(now - self._begin, 0, own_cpu_seconds(), pss_bytes()))

    def _end_workers(self, tick: Callable[[], None]) -> None:
        for each in self._workers.alive:
            each.end()
        while self._workers.alive:
            for each, message in self._workers.events(_WAIT_S):
                if message is not None and message[0] == "ended":
                    self._report.columns = sorted({*self._report.columns, *message[1]})
                    self._used(each, *message[2])
                elif message is None and each.process.exitcode != 0:
                    each.report.how_it_ended = each.how_it_died()
            tick()
