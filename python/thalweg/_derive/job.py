"""Runs a job from its beginning to its report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thalweg._base.errors import Error, UsageError
from thalweg._base.paths import Path
from thalweg._derive.books import Books, Fault
from thalweg._derive.derivation import Derivation
from thalweg._derive.executors import ExecutorWorkers, check_executor, executor_of, machines_of, workers_of
from thalweg._derive.function_identity import identity_of
from thalweg._derive.inputs import Inputs, open_inputs
from thalweg._derive.interrupts import Interrupts
from thalweg._derive.loop import JobLoop
from thalweg._derive.nodes import Nodes
from thalweg._derive.outputs import (
    NODES,
    RESULT,
    Machines,
    Output,
    Resume,
    create_output,
    is_there,
    resume_output,
    stored_plan,
)
from thalweg._derive.ranges import RangeCut, RangePlan, as_text, range_plan
from thalweg._derive.report import DerivationError, DerivationReport, OutputReport
from thalweg._derive.session import Job
from thalweg._derive.state import JobProgress, state_of
from thalweg._derive.summaries import Summary, merged
from thalweg._derive.unit import EventLoop
from thalweg._derive.usage import own_cpu_seconds
from thalweg._derive.workers import LocalWorkers, check_start
from thalweg._schema.types import Type

_ORDERS, _ON_ERROR = ("any", "input"), ("retry", "skip", "stop")


class DerivationJob:
    """Derivations from one input, done by several workers. `tw.derive` makes a job, and `run` runs it."""

    def __init__(self, inputs: Path | Iterable[Path], train: Sequence[Derivation], *, loop: EventLoop | None,
                 workers: int | None, executor: Any, order: str, resume: Resume, force: bool, on_error: str,
                 attempts: int, timeout: float | None, start: str, ranges_per_group: int | None,
                 range_bytes: int | None, nodes: int | None, node_timeout: float,
                 missing: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        self.inputs: Inputs = open_inputs(inputs, missing)
        self._train = _checked_train(train, self.inputs)
        executor = executor_of(executor)
        if executor is not None:
            check_executor(executor, timeout, start)
            workers = workers_of(executor) if workers is None else workers
        self._workers, self._executor = _checked_workers(workers), executor
        for name, value, known in (("order", order, _ORDERS), ("on_error", on_error, _ON_ERROR)):
            if value not in known:
                raise UsageError(f"{name} cannot be {value!r}: give one of {', '.join(map(repr, known))}")
        if resume not in (True, False, "trust"):
            raise UsageError(f"resume cannot be {resume!r}: give True, False or 'trust'")
        if attempts < 1:
            raise UsageError(f"attempts cannot be {attempts}: give at least 1")
        if ranges_per_group is not None and order != "input":
            raise UsageError(
                "ranges_per_group= is given, and the outputs have no order: give order='input', or leave it out"
            )
        self._order, self._resume, self._force = order, resume, force
        self._on_error, self._attempts, self._timeout, self._start = on_error, attempts, timeout, start
        _check_order(self._train, order)
        self._machines = Machines(_checked_nodes(nodes, executor, order, resume), node_timeout)
        _check_loop(self._train, loop)
        kept = tuple(tuple(self.inputs.kept(each.patterns, f"{each.path}")) for each in self._train)
        tables = tuple(each.table or self.inputs.table.rpartition("/")[2] for each in self._train)
        identities = tuple(identity_of(*each.functions(loop)) for each in self._train)
        self._job = Job(self.inputs, self._train, kept, tables, loop, identities)
        self._plan = self._chosen_plan(ranges_per_group, range_bytes)
        left_out = {each.path: each for output in self._train for each in self.inputs.left_out(output.patterns)}
        self.report = DerivationReport(events=self.inputs.rows, left_out=list(left_out.values()))
        self.report.notes += self.inputs.notes()
        """The report of the work so far. `run` returns the same report."""
        if self.inputs.different:
            names = ", ".join(self.inputs.different)
            self.report.notes.append(f"the outputs lack attributes that differ between the input files: {names}")

    @property
    def ranges(self) -> int:
        return len(self._plan.ranges)

    def run(self, progress: JobProgress | None = None) -> DerivationReport:
        """Runs the job and returns its report. `progress` is called some times a second with the state of the job.

        Ctrl-C finishes the current ranges and stops; a second Ctrl-C stops at once. Both jobs can be resumed. Raises
        UsageError if functions or options are wrong, DerivationError if the job stops, and KeyboardInterrupt.
        """
        begin, cpu = time.monotonic(), own_cpu_seconds()
        nodes = self._new_nodes()
        workers = self._new_workers(nodes)
        outputs: list[Output] = []
        try:
            count = self._begin_workers(workers)
            outputs = self._open_outputs(workers, nodes)
            books = self._books(outputs)
            report, rules = self.report, (self._on_error, self._attempts, self._timeout)
            loop = JobLoop(self._job, books, outputs, workers, report, *rules, nodes)
            with Interrupts(loop) as interrupts:
                loop.run(
                    count,
                    lambda: progress(state_of(loop, self.inputs.rows, time.monotonic() - begin)) if progress else None,
                )
            self._note(loop, books)
            if interrupts.count:
                raise KeyboardInterrupt(f"the job was interrupted; {self._how_to_go_on}")
            if loop.stopped_by:
                raise DerivationError(f"the job stopped: {loop.stopped_by}; {self._how_to_go_on}", self.report)
            self._close(outputs, books, nodes)
        except BaseException as error:
            if nodes is not None:
                nodes.end()  # the other nodes see it and stop, too
            workers.abandon()
            for output in outputs:
                if output.writer is not None:
                    output.writer.abandon(f"the job stopped: {error}")
            raise
        finally:
            self.report.workers = workers.reports
            self.report.seconds, self.report.cpu = time.monotonic() - begin, own_cpu_seconds() - cpu
        return self.report

    @property
    def _how_to_go_on(self) -> str:
        if self._machines.count == 1:
            return "resume=True continues it"
        return "tw.recover(..., all_nodes_are_down=True) completes the outputs with the ranges that are done"

    def _new_nodes(self) -> Nodes | None:
        if self._machines.count == 1:
            return None
        return Nodes([os.fspath(each.path) for each in self._train], self._machines.count, self._machines.timeout)

    def _new_workers(self, nodes: Nodes | None) -> LocalWorkers:
        if self._executor is not None:
            return ExecutorWorkers(self._job, self._executor, nodes)
        check_start(self._start, self._job)
        return LocalWorkers(self._job, self._start)

    def _begin_workers(self, workers: LocalWorkers) -> int:
        """Starts the workers before outputs are created, so that forked workers hold no files or threads of these."""
        count = max(1, min(self._workers, len(self._plan.tasks)))
        if count < self._workers:
            self.report.notes.append(f"{count} workers ran instead of {self._workers}, one for each range")
        for _ in range(count):
            workers.start()
        return count

    def _open_outputs(self, workers: LocalWorkers, nodes: Nodes | None) -> list[Output]:
        fields = self._described(workers)
        if nodes is not None:
            assert isinstance(workers, ExecutorWorkers)
            self._bring(nodes, workers)
        outputs: list[Output] = []
        try:
            for index, derivation in enumerate(self._train):
                if self._resume and is_there(os.fspath(derivation.path)):
                    output, notes = resume_output(self._job, index, self._resume == "trust")
                    outputs.append(output)
                    self.report.notes += notes
                else:
                    outputs.append(
                        create_output(self._job, index, self._plan, fields[index], self._force, self._machines)
                    )
            if nodes is not None:
                nodes.wait_until_joined(outputs)
        except BaseException:
            for output in outputs:
                if output.writer is not None:
                    output.writer.abandon("another output could not be opened")
            raise
        return outputs

    def _bring(self, nodes: Nodes, workers: ExecutorWorkers) -> None:
        """Waits for all machines of the job. Then the outputs are created, and each machine joins them."""
        for path in [os.fspath(each.path) for each in self._train]:
            if not self._force and os.path.lexists(path):
                raise UsageError(f"{path} exists already: give another name, or force=True")
        nodes.make_folder()
        if too_many := nodes.wait_for_machines(lambda: workers.ask_machines(max(self._workers, nodes.count))):
            self.report.notes.append(
                f"workers on {', '.join(too_many)} were not used: nodes={nodes.count} machines had joined before"
            )
        nodes.begin()

    def _described(self, workers: LocalWorkers) -> list[tuple[tuple[str, Type], ...]]:
        """Returns the fields of the outputs. The first worker finds them: functions may change or end its process."""
        first = workers.alive[0]
        first.tell("describe", self._plan.ranges)
        while True:
            for each, message in workers.events(1.0):
                if message is None and each is not first:  # another worker replaces it later
                    each.report.how_it_ended = each.how_it_died()
                    continue
                if message is None:
                    raise Error(f"the functions failed on the first events: {each.how_it_died()}")
                if message[0] == "described":
                    return list(message[1])
                if message[0] == "lost":
                    raise Error(f"the functions failed on the first events: {message[1]}")
                raise UsageError(f"the functions failed on the first events: {message[2]}\n{message[3]}".rstrip())

    def _books(self, outputs: Sequence[Output]) -> Books:
        books = Books(self._plan, len(outputs))
        for index, output in enumerate(outputs):
            for number, summary in output.committed.items():
                books.committed(index, number, summary)
            if output.writer is None:
                books.cannot_be_added(index, Fault("it was left out, and the file is complete", ""))
        books.skip_what_is_missing(Fault("it was left out before the job was resumed, and its group is complete", ""))
        return books

    def _note(self, loop: JobLoop, books: Books) -> None:
        self.report.failures = [loop.failure(number, fault) for number, fault in sorted(books.faults.items())]

    def _close(self, outputs: Sequence[Output], books: Books, nodes: Nodes | None) -> None:
        missing = [each for each in books.lacking() if each.number not in books.skipped]
        if missing:
            raise DerivationError(f"{len(missing)} ranges are missing in the outputs, though none failed", self.report)
        if nodes is not None:
            nodes.close()
        for index, output in enumerate(outputs):
            cuts = [name for name, _ in self._train[index].cuts]
            summary = merged(books.summaries[index], cuts, f"the derivation of {output.path}")
            file, has_all_ranges = None, False
            if output.writer is not None:
                output.writer.set_metadata(RESULT, as_text(self._result(summary)))
                if nodes is not None:
                    output.writer.set_metadata(NODES, as_text(nodes.to_json()))
                file, output.writer = output.writer.close(), None
                if nodes is not None:
                    self.report.notes += nodes.missed_at_close(file)
                has_all_ranges = nodes is not None and file.units == len(books.summaries[index])
                if file.units != len(books.summaries[index]):
                    self.report.notes.append(
                        f"{output.path} has {file.units} ranges, but {len(books.summaries[index])} were committed"
                    )
            self.report.outputs.append(OutputReport(output.path, summary.rows, summary, file, has_all_ranges))
        if nodes is not None:
            nodes.end()

    def _result(self, summary: Summary) -> dict[str, Any]:
        skipped = [[each.path, each.start, each.stop, each.reason] for each in self.report.skipped]
        return {**summary.to_json(), "skipped": skipped}

    def _chosen_plan(self, ranges_per_group: int | None, range_bytes: int | None) -> RangePlan:
        """Returns the plan of the job; if the job is resumed, the plan that its outputs hold."""
        in_order = self._order == "input"
        chosen = range_plan(self.inputs, self._workers, in_order, ranges_per_group, range_bytes, _cut_of(self._train))
        for each in self._train if self._resume else ():
            path = os.fspath(each.path)
            if is_there(path) and (stored := stored_plan(path)):
                if bool(stored.per_group) != in_order:
                    began = "input" if stored.per_group else "any"
                    raise UsageError(f"{path} cannot be resumed (it was begun with order='{began}'): give that order")
                if ranges_per_group not in (None, stored.per_group):
                    raise UsageError(
                        f"{path} cannot be resumed (it was begun with ranges_per_group={stored.per_group}): give that "
                        "number, or leave it out"
                    )
                return stored
        return chosen


def _cut_of(train: Sequence[Derivation]) -> RangeCut:
    is_asked_for = any(each.copies and each.copy_pages for each in train)
    if is_asked_for or all(each.only_keeps and each.copies for each in train):
        return RangeCut.whole
    return RangeCut.clusters if any(each.copies for each in train) else RangeCut.pages


def _checked_nodes(nodes: int | None, executor: Any, order: str, resume: Resume) -> int:
    if nodes is None:
        nodes = (machines_of(executor) if executor is not None else None) or 1
    if nodes < 1:
        raise UsageError(f"nodes cannot be {nodes}: give at least 1, or None")
    if nodes == 1:
        return 1
    if executor is None:
        raise UsageError(f"nodes={nodes} is given without executor= (its workers run on the machines): give both")
    if order == "input":
        raise UsageError(
            "order='input' and several machines are given (rows of several nodes cannot be ordered by key): give "
            "order='any'; run.units tells which rows each range has"
        )
    if resume:
        raise UsageError(
            "resume=True and several machines are given (each node would have to return to its machine, which no "
            "executor guarantees): complete the outputs with tw.recover(path, all_nodes_are_down=True), or begin anew "
            "with force=True"
        )
    return nodes


def _checked_workers(workers: int | None) -> int:
    if workers is None:
        return len(os.sched_getaffinity(0))
    if workers < 1:
        raise UsageError(f"workers cannot be {workers}: give at least 1, or None for one on each core")
    return workers


def _checked_train(train: Sequence[Derivation], inputs: Inputs) -> tuple[Derivation, ...]:
    if not train:
        raise UsageError("the train has no derivation: give at least one")
    paths = [os.path.realpath(each.path) for each in train]
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"{path} is the output of two derivations: give each of them its own file")
        if path in [os.path.realpath(file.path) for file in inputs.files]:
            raise UsageError(f"{path} is both input and output: give the output another name")
    return tuple(train)


def _check_order(train: Sequence[Derivation], order: str) -> None:
    for each in train:
        if order == "input" and not os.fspath(each.path).endswith(".root"):
            raise UsageError(
                f"{os.fspath(each.path)} cannot keep the order of the input (only RNTuple files can): write a .root "
                "file, or give order='any'; run.units tells which rows each range has"
            )


def _check_loop(train: Sequence[Derivation], loop: EventLoop | None) -> None:
    if loop is not None and not callable(loop):
        raise UsageError(f"loop is {loop!r}, which is not a function")
    for each in train:
        name = f"the derivation of {os.fspath(each.path)}"
        if loop is None and each.is_for_loop:
            raise UsageError(f"{name} has only a schema, and nothing appends rows: give a function, keep, or loop=")
        if loop is not None and not each.is_for_loop:
            raise UsageError(f"{name} has function or keep, and the job has a loop: give the derivation only a schema")
