"""Runs a job from its beginning to its report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from thalweg._base.errors import Error, UsageError
from thalweg._base.given import integer_of, nanoseconds_of
from thalweg._base.packages import needed
from thalweg._base.paths import Path, is_there
from thalweg._derive import checked
from thalweg._derive.books import Books, Fault
from thalweg._derive.carried import Beside
from thalweg._derive.derivation import Derivation
from thalweg._derive.executors import ExecutorWorkers, check_executor, executor_of, workers_of
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
    append_carried,
    can_be_resumed,
    create_output,
    opened_together,
    resume_output,
    stored_plan,
)
from thalweg._derive.ranges import RangeCut, RangePlan, as_text, range_plan
from thalweg._derive.report import DerivationError, DerivationReport, OutputReport
from thalweg._derive.seeds import state_of_generators
from thalweg._derive.session import Job
from thalweg._derive.state import JobProgress, job_state
from thalweg._derive.summaries import Summary, merged
from thalweg._derive.unit import EventLoop
from thalweg._derive.usage import own_cpu_seconds
from thalweg._derive.workers import LocalWorkers, check_start, why_not_fork
from thalweg._schema.types import Type

_WAIT_S = 0.1


class DerivationJob:
    """Derivations from one input, done by several workers. `tw.derive` makes a job, and `run` runs it."""

    def __init__(self, inputs: Path | Iterable[Path], train: Sequence[Derivation], *, loop: EventLoop | None,
                 workers: int | None, executor: Any, order: str, resume: Resume, force: bool, on_error: str,
                 attempts: int, timeout: float | None, start: str | None, ranges_per_group: int | None,
                 range_bytes: int | None, nodes: int | None, node_timeout: float,
                 missing: Mapping[str, Any] | None = None, carry: str | Iterable[str] = ()) -> None:  # fmt: skip
        self._beside = Beside(carry)
        self.inputs: Inputs = open_inputs(inputs, missing, self._beside)
        self._train = checked.train_of(train, self.inputs)
        if loop is None and any(function for each in self._train for function in each.functions(loop)):
            with needed("functions cannot get events", "derive"):
                import awkward  # noqa: F401
        self._timeout, self._start = checked.timeout_of(timeout), start
        executor = executor_of(executor)
        if executor is not None:
            check_executor(executor, timeout, start)
            workers = workers_of(executor) if workers is None else workers
        self._workers, self._executor = checked.count_of_workers(workers), executor
        self._order = checked.one_of("order", order, ("any", "input"))
        self._on_error = checked.one_of("on_error", on_error, ("retry", "skip", "stop"))
        self._resume, self._force = checked.one_of("resume", resume, (True, False, "trust")), force
        self._attempts = integer_of(attempts, "attempts", 1)
        ranges_per_group = checked.count_of("ranges_per_group", ranges_per_group)
        range_bytes = checked.count_of("range_bytes", range_bytes)
        checked.check_order(self._train, order, ranges_per_group)
        seconds = nanoseconds_of(node_timeout, "node_timeout") / 1e9
        self._machines = Machines(checked.nodes_of(nodes, executor, order, resume), seconds)
        checked.check_loop(self._train, loop)
        kept = tuple(tuple(self.inputs.kept(each.patterns, f"{each.path}")) for each in self._train)
        tables = tuple(each.table or self.inputs.table.rpartition("/")[2] for each in self._train)
        identities = tuple(identity_of(*each.functions(loop)) for each in self._train)
        carried = checked.carried_of(self._beside, tables)
        self._job = Job(self.inputs, self._train, kept, tables, carried, loop, identities, state_of_generators())
        self._plan = self._chosen_plan(ranges_per_group, range_bytes)
        left_out = {each.path: each for output in self._train for each in self.inputs.left_out(output.patterns)}
        left_out |= self._beside.left_out
        self.report = DerivationReport(events=self.inputs.rows, left_out=list(left_out.values()))
        """The report of the work so far. `run` returns the same report."""
        self.report.notes += [*self.inputs.notes(), *self._beside.notes(self.inputs.table)]
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
        interrupts: Interrupts | None = None
        try:
            count = self._begin_workers(workers)
            outputs = self._open_outputs(workers, nodes)
            books = self._books(outputs)
            report, rules = self.report, (self._on_error, self._attempts, self._timeout)
            loop = JobLoop(self._job, books, outputs, workers, report, *rules, nodes)
            interrupts = Interrupts(loop)
            with interrupts:
                loop.run(
                    count,
                    lambda: progress(job_state(loop, self.inputs.rows, time.monotonic() - begin)) if progress else None,
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
            workers.close()
            self.report.notes += workers.notes
            self.report.workers = workers.reports
            self.report.seconds, self.report.cpu = time.monotonic() - begin, own_cpu_seconds() - cpu
            if interrupts is not None:
                interrupts.end()
        return self.report

    @property
    def _how_to_go_on(self) -> str:
        if self._machines.count == 1:
            return "resume=True (--resume) continues it"
        return "tw.recover(..., all_nodes_are_down=True) completes the outputs with the ranges that are done"

    def _new_nodes(self) -> Nodes | None:
        if self._machines.count == 1:
            return None
        return Nodes([os.fspath(each.path) for each in self._train], self._machines.count, self._machines.timeout)

    def _new_workers(self, nodes: Nodes | None) -> LocalWorkers:
        if self._executor is not None:
            return ExecutorWorkers(self._job, self._executor, nodes)
        if self._start is None and (reason := why_not_fork()):
            return self._threads(reason)
        start = self._start or "fork"
        check_start(start, self._job)
        return LocalWorkers(self._job, start)

    def _threads(self, reason: str) -> ExecutorWorkers:
        """Returns threads of this process, if it cannot be forked, as in Jupyter, whose own threads always run."""
        if self._timeout is not None:
            raise UsageError(
                f"timeout= is given, and workers cannot be forked ({reason}; threads cannot be ended): give "
                "start='spawn', or leave timeout= out"
            )
        self.report.notes.append(
            f"the workers were threads, as with executor=ThreadPoolExecutor({self._workers}), because workers could "
            f"not be forked ({reason}); start='spawn' gives processes"
        )
        return ExecutorWorkers(self._job, ThreadPoolExecutor(self._workers), None, is_own=True)

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
        is_resumed = [bool(self._resume) and can_be_resumed(os.fspath(each.path)) for each in self._train]
        # Nodes join each output while it is created, so that it cannot be taken back.
        together = self._force and nodes is None
        new = [os.fspath(each.path) for each, resumed in zip(self._train, is_resumed, strict=True) if not resumed]
        with opened_together(new if together else ()) as outputs:
            for index, resumed in enumerate(is_resumed):
                if resumed:
                    output, notes = resume_output(self._job, index, self._plan, self._resume == "trust")
                    outputs.append(output)
                    self.report.notes += notes
                else:
                    force = self._force and not together
                    outputs.append(create_output(self._job, index, self._plan, fields[index], force, self._machines))
            if nodes is not None:
                nodes.wait_until_joined(outputs)
            append_carried(outputs, self._job, self._plan, self._beside)
        return outputs

    def _bring(self, nodes: Nodes, workers: ExecutorWorkers) -> None:
        """Waits for all machines of the job. Then the outputs are created, and each machine joins them."""
        for path in [os.fspath(each.path) for each in self._train]:
            if not self._force and is_there(path):
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
        first.since = time.monotonic()
        while True:
            if self._timeout is not None and time.monotonic() - first.since > self._timeout:
                first.kill(f"worker {first.pid} was killed: they took longer than {self._timeout:g} s")
            for each, message in workers.events(_WAIT_S):
                if message is None and each is not first:  # another worker replaces it later
                    each.report.how_it_ended = each.how_it_died()
                    continue
                if message is None:
                    raise Error(f"the functions failed on the first events: {each.how_it_died()}")
                if message[0] == "trying":
                    first.since = time.monotonic()
                    continue
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
                units = len(books.summaries[index]) + bool(self._job.carried)
                has_all_ranges = nodes is not None and file.units == units
                if file.units != units:
                    self.report.notes.append(f"{output.path} has {file.units} work units, but {units} were committed")
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
            if can_be_resumed(path) and (stored := stored_plan(path)):
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
