"""Runs a recording from its beginning to its end: files, producer processes and progress."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from thalweg import _core
from thalweg._base import quantities
from thalweg._base.errors import Error, SystemError, UsageError  # noqa: A004
from thalweg._base.notify import Notifier
from thalweg._base.stamps import interval_s
from thalweg._recording.arrivals import Arrivals
from thalweg._recording.commands import check_command
from thalweg._recording.control import Control
from thalweg._recording.devices import Described, Devices
from thalweg._recording.files import FilePlan, Files
from thalweg._recording.metadata import check_metadata, run_metadata
from thalweg._recording.metrics import MetricsServer
from thalweg._recording.names import behind_earlier
from thalweg._recording.nodes import NodePlan, node_plan
from thalweg._recording.options import RecordOptions
from thalweg._recording.page import CheckedOptions, RunPage, watch_words
from thalweg._recording.progress import RecordingProgress
from thalweg._recording.pulses import notes_of_pulses
from thalweg._recording.report import RecordingReport
from thalweg._recording.snapshot import Rates, RecordingSnapshot
from thalweg._recording.specs import devices_of, only_tried
from thalweg._recording.tuning import tuning_of
from thalweg._recording.watch import Problems
from thalweg._writing.reports import RunReport, report_of

_TICK_S = 0.05
_LOOK_NS = 250_000_000
# The clock of a card begins a little later, since its producers first compute their pulses.
_HEAD_START_NS = 500_000_000
_READY_TIMEOUT_S = 60.0
_FULL_NS = 5_000_000_000  # so long a disk must have no room before the run ends
_LEAST_FILE_BYTES = 65_536  # about what a file without rows has


class RecordingSession:
    """One recording. The constructor raises UsageError for errors in the options, and `run` for those that only an
    opened device finds: before anything is written, too. only_tries: devices are tried, not a run taken. It says what
    they print, opens no device again, and waits for the last rows of none for long."""

    def __init__(self, options: RecordOptions, *, only_tries: bool = False) -> None:
        self._options, self._only_tries = options, only_tries
        self._duration_ns = quantities.limit("--duration", options.duration, quantities.duration_ns)
        self._max_bytes = _most_bytes(options.max_file_size)
        self._max_ns = quantities.limit("--max-file-time", options.max_file_time, quantities.duration_ns)
        self._problems = Problems(shows_output=only_tries)
        specs = devices_of(options)
        if only_tries:
            specs = [only_tried(spec, self._duration_ns * 1e-9) for spec in specs]
        self._devices = Devices(specs, self._problems, self._counted)
        self._nodes = node_plan(options)
        check_metadata(options)
        check_command("--on-start", options.on_start)
        check_command("--on-stop", options.on_stop)
        self._earlier = behind_earlier(options)
        self._create_options = _create_options(options, self._nodes)
        self._left_out: list[str] = []
        self._control = Control()
        self._notifier = Notifier()
        self._rates = Rates()
        self._progress = RecordingProgress(options.quiet, interval_s(options.interval))
        self._page = RunPage(watch_words(options), self._progress.tell, self._problems.note)
        self._snapshot = RecordingSnapshot(limit_s=self._duration_ns * 1e-9)
        self._rotation_problem = ""
        self._no_room_ns = 0
        self._metrics: MetricsServer | None = None
        self._abandoned = False
        self._begun: Files | None = None
        self._ended_by = "duration" if self._duration_ns else "source"
        self._arrivals = Arrivals()
        self._start_ns = self._stop_ns = self._end_ns = self._next_look_ns = 0
        self._interrupts = 1  # more than these abandon the run: the first one stops it

    def run(self) -> RecordingReport:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._control.listening())
            self._progress.say_starting()
            try:
                self._start(stack)
            except KeyboardInterrupt:
                self._control.is_starting = False
                self._devices.kill()
                if self._begun:
                    self._devices.events.finish()
                    self._begun.discard()
                raise SystemError(0, "nothing was recorded (the run was interrupted while it started)") from None
            self._control.is_starting = False
            self._record() and self._close()
            self._end_page()
        if not self._abandoned and (problem := self._command(self._options.on_stop)):
            self._problems.fail(problem)
        return self._report()

    def _start(self, stack: contextlib.ExitStack) -> None:
        stack.callback(self._devices.close)
        stack.callback(self._devices.kill)
        checked = CheckedOptions(watch_words(self._options), Path(self._options.out), self._problems.note)
        stack.callback(checked.kill)
        with self._control.waiting():  # no process begins without being known
            self._devices.begin()
        described = self._devices.open()
        checked.wait()
        plan = self._file_plan(described)
        if self._options.metrics:
            metrics = self._metrics = MetricsServer(self._options.metrics, lambda: self._snapshot)
            stack.callback(metrics.close)
            self._progress.say(f"Metrics: {metrics.url}")
        self._treat_earlier()
        # Waiting for other nodes can be interrupted.
        with self._control.waiting() if self._nodes.nodes == 1 else contextlib.nullcontext():
            self._files = self._begun = Files(plan, self._problems.note)
        self._begin()
        writer = self._files.current.writer
        if plan.events:
            self._devices.events.begin(writer, plan.events)
        self._devices.attach(writer.handle, self._nodes.prefix, self._options)
        stack.callback(self._progress.close)
        stack.callback(self._page.kill)
        self._page.start(self._files.current.path)
        if not self._devices.wait_until_ready(_READY_TIMEOUT_S):
            self._fail(f"the producer processes did not start within {_READY_TIMEOUT_S:g} s")

    def _file_plan(self, described: Described) -> FilePlan:
        schema = self._nodes.schema(described.schema)
        self._left_out = described.left_out
        return FilePlan(
            path=Path(self._options.out),
            schema=schema,
            names=[table["name"] for table in json.loads(schema)["tables"]],
            options=self._create_options,
            metadata=run_metadata(self._options, described.metadata, described.sources),
            max_bytes=self._max_bytes,
            max_ns=self._max_ns,
            nodes=self._nodes,
            first=self._earlier.last + 1,
            events=described.events and self._nodes.prefix + described.events,
        )

    def _counted(self) -> dict[str, Any]:
        """Returns what devices have counted by table: in all files, and in the one that is written."""
        return {"all": self._files.device_counts(), "file": self._files.device_counts(current=True)}

    def _treat_earlier(self) -> None:
        """Completes what earlier runs left unfinished, or says how that is done."""
        for path in self._earlier.unfinished:
            if not self._options.continue_:
                self._problems.note(f"{path} of an earlier run is not complete: `thalweg recover {path}` completes it")
                continue
            try:
                self._say_completed(path, report_of(_core.recover(str(path))))
            except Error as error:  # that run is over, and this one must not wait for its user
                self._problems.fail(f"{path} of an earlier run is not complete ({error}): the run begins all the same")

    def _say_completed(self, path: Path, report: RunReport) -> None:
        sentence = f"{path} of an earlier run is complete now: {quantities.counted(report.rows, 'record')}"
        if report.is_whole:
            self._progress.tell(sentence)
        else:
            self._problems.fail(f"{sentence}, and {', '.join(_losses(report))}")
        for note in report.notes:
            self._problems.note(note)

    def _begin(self) -> None:
        if problem := self._command(self._options.on_start):
            self._files.discard()
            raise SystemError(0, f"nothing was recorded ({problem})")

    def _record(self) -> bool:
        """Records until the run is over. Returns False if the run is abandoned."""
        clocked = self._devices.have_clocks
        self._start_ns = _core.monotonic_ns() + clocked * _HEAD_START_NS
        self._files.start(self._start_ns)
        self._devices.start(self._start_ns)
        self._notifier.ready(f"recording into {self._files.current.path}")
        paused = stopping = False
        while self._devices.running():
            time.sleep(_TICK_S)
            self._devices.look()
            if self._control.interrupts > self._interrupts:
                return self._abandon()
            status = self._files.current.writer.status()
            if not stopping and self._is_over(status, clocked):
                stopping = True
                self._notifier.stopping("stopping")
                self._devices.stop()
            if paused != self._control.paused and not stopping:
                paused = self._control.paused
                self._devices.pause() if paused else self._devices.resume()
            if not stopping and self._devices.may_rotate:
                self._rotate()
            elapsed_ns = max(0, _core.monotonic_ns() - self._start_ns)
            is_over = stopping or 0 < self._duration_ns <= elapsed_ns
            self._arrivals.look(status, self._files.plan.names, elapsed_ns * 1e-9, is_over=is_over)
            self._look("stopping" if stopping else "paused" if paused else "recording")
        self._stop_ns = _core.monotonic_ns()
        for problem in self._devices.problems():
            self._fail(problem)
        self._left_out += self._devices.missing()
        return True

    def _rotate(self) -> None:
        """Begins the next file if it is due, and not when the run is to end: that file would have no rows. If it
        fails, the run goes on in the file that it has."""
        if self._duration_ns and _core.monotonic_ns() - self._start_ns >= self._duration_ns:
            return
        try:
            if self._files.rotate_if_due():
                self._devices.rotated(self._files.current.writer.handle)
                self._rotation_problem = ""
        except Exception as error:
            self._rotation_problem = (
                f"the next file cannot be begun ({error}): the run goes on in {self._files.current.path}, and tries "
                "again every 5 s"
            )
            self._problems.note(self._rotation_problem)

    def _is_over(self, status: _core.CommitStatus, clocked: bool) -> bool:
        for problem in self._files.errors():  # of earlier files: the run goes on in this one
            self._problems.fail(problem)
        for problem in [status.failure if self._ends_for(status) else "", *self._devices.problems()]:
            if problem:
                self._fail(problem)
                self._interrupts = min(self._interrupts, self._control.interrupts)
        if self._ended_by == "failure":
            return True
        if self._control.stop:
            self._ended_by = "signal"
            return True
        over = self._duration_ns and _core.monotonic_ns() - self._start_ns >= self._duration_ns
        return bool(over and not clocked)

    def _ends_for(self, status: _core.CommitStatus) -> bool:
        """Returns whether the failure is final: a full disk has room again once an earlier file is closed."""
        if status.has_failed or not status.failure:
            self._no_room_ns = 0
            return status.has_failed
        self._problems.note(status.failure, f"; the run waits {_FULL_NS * 1e-9:g} s for room, and then it ends")
        now_ns = _core.monotonic_ns()
        if self._files.are_closing() or not self._no_room_ns:
            self._no_room_ns = now_ns
        return now_ns - self._no_room_ns >= _FULL_NS

    def _close(self) -> bool:
        if problem := self._devices.events.finish():
            self._problems.fail(problem)
        self._files.close()
        while not self._files.closed():
            time.sleep(_TICK_S)
            if self._control.interrupts > self._interrupts and not self._files.closed():
                return self._abandon()
            self._look("closing")
        for error in [*self._files.errors(), *self._files.abandoned(), *self._files.missing()]:
            self._fail(error)
        if self._rotation_problem:
            self._problems.fail(self._rotation_problem)
        self._end_ns = _core.monotonic_ns()
        return True

    def _fail(self, problem: str) -> None:
        self._ended_by = "failure"
        self._problems.fail(problem)

    def _abandon(self) -> bool:
        self._abandoned = True
        self._stop_ns = self._stop_ns or _core.monotonic_ns()
        self._devices.kill()
        self._fail(f"the run was abandoned on {'the second' if self._interrupts else 'an'} interrupt")
        self._files.abandon()
        return False

    def _look(self, state: str) -> None:
        """Takes a snapshot of the run and shows it, a few times a second."""
        self._notifier.alive(self._status)
        now_ns = _core.monotonic_ns()
        if now_ns < self._next_look_ns and state == self._snapshot.state:
            return
        self._next_look_ns = now_ns + _LOOK_NS
        self._problems.answer(lambda: self._take_snapshot(state, now_ns), "the figures of the run", None)
        self._problems.answer(lambda: self._page.look(state == "closing"), "the page of the run", None)
        self._progress.show(self._snapshot)

    def _end_page(self) -> None:
        interrupts = self._control.interrupts
        self._page.end(
            lambda: self._abandoned or self._control.interrupts > interrupts,
            lambda: self._notifier.alive(lambda: "waiting for the page, which shows the end of the run"),
        )

    def _status(self) -> str:
        shown = self._snapshot
        return f"{shown.state}: {shown.total.rows:,} records, durable lag {shown.durable_lag_s:.1f} s, {shown.file}"

    def _take_snapshot(self, state: str, now_ns: int) -> None:
        file, ask = self._files.current, self._problems.answer
        self._problems.heard(ask(file.writer.file_problem, f"the place of {file.path}", self._problems.of_file))
        served = self._metrics.problem if self._metrics else ""
        for problem in filter(None, (self._progress.problem, self._control.problem, self._notifier.problem, served)):
            self._problems.note(problem)
        snapshot = RecordingSnapshot(
            elapsed_s=max(0, now_ns - self._start_ns) * 1e-9,
            state=state,
            file=str(file.path),
            file_number=file.number,
            engine=file.writer.engine,
            channels=self._files.channels(),
            durable_lag_s=self._files.durable_lag_ns() * 1e-9,
            producers=self._devices.running(),
            free_bytes=ask(file.space.bytes, f"the free space of {file.path.parent}", None) if file.space else None,
            failed=bool(self._problems.failures or self._rotation_problem or self._problems.of_file),
            problems=self._problems.count,
            limit_s=self._duration_ns * 1e-9,
        )
        self._rates.put_into(snapshot)
        self._snapshot = snapshot

    def _command(self, command: str) -> str:
        """Runs a command and returns what went wrong, or an empty text."""
        if not command:
            return ""
        number = self._options.run_number
        environment = {
            "THALWEG_RUN": "" if number is None else str(number),
            "THALWEG_FILE": str(self._files.current.path.absolute()),
        }
        # The output of the command goes to stderr, since stdout is reserved for the report.
        try:
            with subprocess.Popen(command, shell=True, env=os.environ | environment, stdout=2) as process:
                code = self._wait_for(process, command)
        except OSError as error:
            return f"the command '{command}' cannot be run ({error.strerror})"
        return f"the command '{command}' ended with code {code}" if code else ""

    def _wait_for(self, process: subprocess.Popen[bytes], command: str) -> int:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(_TICK_S)
            self._notifier.alive(lambda: f"waiting for the command '{command}'")

    def _report(self) -> RecordingReport:
        channels = self._files.channels()
        return RecordingReport(
            ended_by=self._ended_by,
            channels=channels,
            files=self._files.all,
            seconds=max(0, self._stop_ns - self._start_ns) * 1e-9,
            arrivals=self._arrivals.tables,
            close_seconds=0 if self._abandoned else (self._end_ns - self._stop_ns) * 1e-9,
            engine=self._files.current.writer.engine,
            memory=self._files.current.writer.status().memory,
            failures=list(self._problems.failures),
            left_out=self._left_out,
            events=self._files.plan.events,
            notes=[*self._devices.notes(), *notes_of_pulses(channels, self._files.plan.metadata)],
            allow_missing=self._options.allow_missing,
            abandoned=self._abandoned,
            only_tries=self._only_tries,
        )


def _losses(report: RunReport) -> list[str]:
    """Returns what a report that is not whole says was lost."""
    counts = {"lost": report.lost_rows, "lost work units": report.units_lost, "damaged pages": report.damaged_pages}
    losses = [f"{count:,} {what}" for what, count in counts.items() if count]
    return [*losses, "more may be missing"] if report.rows_may_be_missing else losses


def _most_bytes(text: str) -> int:
    size = quantities.limit("--max-file-size", text, quantities.size_bytes)
    if 0 < size < _LEAST_FILE_BYTES:
        empty = quantities.as_bytes(_LEAST_FILE_BYTES)
        raise UsageError(
            f"--max-file-size {text} is too small (a file without rows has about {empty}): write a size with its unit, "
            "such as 1GB"
        )
    return size


def _create_options(options: RecordOptions, nodes: NodePlan) -> _core.CreateOptions:
    create = _core.CreateOptions()
    if nodes.nodes > 1:
        create.set_nodes(nodes.nodes, nodes.timeout_ns, nodes.goes_on, 0)
    create.force = options.force
    of_options = {
        "codec": options.codec,
        "flush_interval": options.flush_interval,
        "threads": "" if options.threads is None else str(options.threads),
        "engine": options.engine.value if options.engine else "",
    }
    tuning_of(options.set, of_options).apply(create)
    return create
