"""Runs `thalweg trace`: starts the command, takes what its processes record, and writes it into one file."""

from __future__ import annotations

import os
import queue
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from thalweg._base.errors import Error, UsageError
from thalweg._base.processors import processors_text
from thalweg._trace.command import Command, Watched, why_not_traced
from thalweg._trace.cores import caches
from thalweg._trace.coverage import Coverage, Seen
from thalweg._trace.failures import failures
from thalweg._trace.folder import Folder, level_mask
from thalweg._trace.names import Names
from thalweg._trace.records import LEVELS, clock_seconds, clocks, has_steady_counter, operations
from thalweg._trace.report import Limited, TraceReport, Untraced
from thalweg._trace.rings import Records, Ring, Rings
from thalweg._trace.tables import CallsTable, Clock, create_trace
from thalweg._writing.writer import Writer

_MOST_WAITING_BYTES = 1 << 30  # records that are taken from the rings and not written yet
_LOOK_NS = 100_000_000
_GRACE_S = 1.0
_RING_RECORDS = 1 << 16


@dataclass
class TraceOptions:
    out: str
    command: list[str]
    force: bool = False
    resolution_ns: int = 10
    ring_records: int | None = None
    """The calls that each thread can buffer; None: as many as there is memory for."""
    levels: list[str] = field(default_factory=list)


def check(options: TraceOptions) -> None:
    """Raises UsageError if an option is wrong. Nothing has run then."""
    if Path(options.out).suffix not in (".root", ".h5", ".hdf5"):
        raise UsageError(f"{options.out} has no known format: give a name that ends in .root or .h5")
    if options.resolution_ns not in (1, 10, 100, 1000):
        raise UsageError(f"the resolution cannot be {options.resolution_ns} ns: give 1, 10, 100 or 1000")
    records = options.ring_records or _RING_RECORDS
    if not 256 <= records <= 1 << 24 or records & (records - 1):
        raise UsageError(f"a ring cannot have {records} records: give a power of two from 256 to {1 << 24}")
    for name in options.levels:
        if name not in LEVELS:
            raise UsageError(f"there is no level '{name}': the levels are {', '.join(LEVELS)}")


def trace(options: TraceOptions) -> tuple[TraceReport, Command]:
    """Runs the command to its end and completes the file. `Command.status` says how the command ended."""
    check(options)
    records, may_grow = options.ring_records or _RING_RECORDS, options.ring_records is None
    with Folder(records, level_mask(options.levels), may_grow=may_grow) as folder:
        out = create_trace(options.out, options.resolution_ns, force=options.force)
        begin = clocks(has_steady_counter())  # before the first call of the command
        try:
            command = Command(options.command, folder.path)
        except BaseException:
            out.abandon("the command could not be run")
            _remove(options.out)
            raise
        tracer = _Tracer(options, folder, out, command, begin)
        return tracer.run(), command


def _remove(path: str) -> None:
    """Removes a file that was only begun, together with its journal."""
    for left in Path(path).parent.glob(f"{Path(path).name}*"):
        if left.name == Path(path).name or left.name.startswith(f"{Path(path).name}.journal"):
            left.unlink()


class _Tracer:
    def __init__(
        self, options: TraceOptions, folder: Folder, out: Writer, command: Command, begin: tuple[int, int]
    ) -> None:
        self._options, self._folder, self._out, self._command = options, folder, out, command
        self._rings = Rings(folder.path)
        self._clock = Clock(begin, options.resolution_ns)
        self._calls = CallsTable(out, self._clock)
        self._names = Names()
        self._coverage = Coverage()
        self._watched = Watched()
        self._batches: queue.SimpleQueue[list[tuple[Ring, Records]] | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._has_written = 0
        self._problem: Error | None = None
        self._programs: dict[int, Ring] = {}  # the ring that describes each program
        self._threads: dict[tuple[int, int], int] = {}  # the rows of threads, by process and tid
        self._writer = threading.Thread(target=self._write, name="trace-writer")

    def run(self) -> TraceReport:
        self._writer.start()
        looked = 0
        ended_at = 0.0
        while True:
            took = self._drain()
            for _, io in self._command.reap():
                if io is not None:
                    self._coverage.add_total(io)
            now = time.monotonic_ns()
            if now - looked > _LOOK_NS:
                self._watched.look(self._command.pid)
                looked = now
            if self._command.status is not None:
                ended_at = ended_at or time.monotonic()
                if self._is_over() or time.monotonic() - ended_at > _GRACE_S:
                    break
            time.sleep(0.001 if took else 0.004)
        still_running = sorted(
            {ring["pid"] for ring in self._rings.live if not ring["is_elsewhere"] and not ring.is_over()}
        )
        self._drain()
        self._batches.put([])  # the last calls are written when the texts of the next batch are known
        self._batches.put(None)
        self._writer.join()
        return self._finish(still_running)

    def _is_over(self) -> bool:
        return all(ring.is_over() for ring in self._rings.live)

    def _drain(self) -> bool:
        """Takes the records of all rings. If writing is too far behind, rings fill up and count dropped calls."""
        for ring in self._rings.find():
            if ring["describes_process"]:
                self._programs[ring["process"]] = ring
            ring.number = self._threads.setdefault((ring["process"], ring["tid"]), len(self._threads))
        if self._waiting_bytes - self._has_written > _MOST_WAITING_BYTES:
            return False
        batch = []
        for ring in list(self._rings.live):
            # A slot is needed by the next process, so it is freed as soon as its process is gone.
            is_asked = ring.slot is not None or ring["is_ended"] or not self._is_fast(ring)
            is_over = is_asked and ring.is_over()
            taken = ring.take()
            if taken is not None:
                batch.append((ring, taken))
                self._waiting_bytes += taken.nbytes
            if is_over:
                self._rings.end(ring)
        if batch:
            self._batches.put(batch)
        return bool(batch)

    def _is_fast(self, ring: Ring) -> bool:
        """Returns whether a ring is being filled. Only for other rings it is checked whether their process lives."""
        return ring["head"] != ring["tail"]

    def _write(self) -> None:
        """Writes each batch once the texts of the next one are known: another thread may name a file a little later."""
        before: list[tuple[Ring, Records]] = []
        while (batch := self._batches.get()) is not None:
            try:
                if self._problem is None:
                    self._clock.calibrate(clocks(has_steady_counter()))
                    learnt = [(ring, self._learn(ring, records)) for ring, records in batch]
                    for ring, calls in before:
                        self._append(ring, calls)
                    before = learnt
            except Error as error:
                self._problem = error
            self._has_written += sum(records.nbytes for _, records in batch)
        for ring, calls in before if self._problem is None else []:
            self._append(ring, calls)

    def _learn(self, ring: Ring, records: Records) -> Records:
        return self._names.learn(records, ring["process"], ring.number)

    def _append(self, ring: Ring, calls: Records) -> None:
        if len(calls):
            self._coverage.count(ring["process"], calls)
            of = {"process": ring["process"], "thread": ring.number, "rank": ring["rank"]}
            self._calls.append(calls, self._names.rows(calls["file"]), of)

    def _finish(self, still_running: list[int]) -> TraceReport:
        self._watched.look(self._command.pid)
        for _, ring in sorted(self._programs.items()):
            self._coverage.add_program(ring)
        dropped = self._rings.dropped()
        report = TraceReport(
            file=self._options.out,
            command=self._options.command,
            calls=dict(zip(LEVELS, self._calls.counts, strict=True)),
            dropped=dropped,
            processes=len(self._programs),
            threads=len(self._threads),
            coverage=self._coverage,
            untraced=self._untraced(),
            still_running=still_running,
            failed_rings=int(self._rings.control["failed_rings"][0]) + self._rings.damaged,
            failures=failures(self._rings.control),
            limited=[
                Limited(self._programs[number]["pid"], self._programs[number].text("command").rstrip("\0 "), why)
                for number, why in self._names.limited
                if number in self._programs
            ],
            in_shared_memory=self._folder.in_shared_memory,
            exit_status=self._command.status,
            faults={"minor": self._command.minor_faults, "major": self._command.major_faults},
            has_mappings=self._calls.has_shared_mappings,
            schedule=self._command.schedule,
            clock_s=clock_seconds(has_steady_counter()),
            # Every program that uses io_uring maps its rings, with liburing or without.
            has_rings=self._calls.has_io_uring or any("[io_uring]" in path for path in self._names.paths),
            ring_records=self._options.ring_records,
            bytes_by_libaio=self._calls.bytes_by_libaio,
            bytes_told=self._calls.bytes_told,
            levels=self._options.levels or list(LEVELS),
            libraries=sorted(self._names.libraries),
            caches=caches(),
        )
        if self._problem is not None:
            self._out.abandon(str(self._problem))
            report.problem = str(self._problem)
            return report
        try:
            self._write_names()
            self._out.set_metadata("trace", report.to_json())
            self._out.close()
            report.bytes = os.stat(self._options.out).st_size
        except Error as error:
            report.problem = str(error)
        return report

    def _untraced(self) -> list[Untraced]:
        """Returns the processes that have no ring, and programs without a ring that a process has become."""
        last = {ring["pid"]: number for number, ring in sorted(self._programs.items())}
        failed = {each.pid for each in failures(self._rings.control)}
        watched = self._watched.executables
        found = {pid: path for pid, path in watched.items() if pid not in last and pid not in failed}
        why_not = self._names.why_not
        for pid, (teller, path) in self._names.became.items():
            if path and last.get(pid, 0) <= teller:  # a traced program would have begun its ring after that
                found[pid] = shutil.which(path) or path
        return [Untraced(pid, path, why_not.get(pid) or why_not_traced(path)) for pid, path in sorted(found.items())]

    def _write_names(self) -> None:
        def rows(table: str, **columns: list[object]) -> None:
            if len(next(iter(columns.values()))):
                self._out.producer(table).append(**columns)

        known = operations()
        rows(
            "operations",
            name=[each.name for each in known],
            level=[LEVELS[each.level] for each in known],
            kind=[each.kind for each in known],
        )
        # The number of a process is its row; 0 stands for none.
        programs = [self._programs.get(number) for number in range(max(self._programs, default=0) + 1)]
        seen = [self._coverage.by_process.get(number, Seen()) for number in range(len(programs))]
        rows(
            "processes",
            pid=[ring["pid"] if ring else 0 for ring in programs],
            parent_pid=[ring["parent_pid"] if ring else 0 for ring in programs],
            rank=[ring["rank"] if ring else -1 for ring in programs],
            is_forked=[ring["is_forked"] if ring else 0 for ring in programs],
            command=[ring.text("command").rstrip("\0 ") if ring else "" for ring in programs],
            executable=[ring.text("executable").rstrip("\0") if ring else "" for ring in programs],
            cores=[processors_text(ring.cores()) if ring else "" for ring in programs],
            read_seen=[each.read + each.read_by_streams for each in seen],
            written_seen=[each.written + each.written_by_streams for each in seen],
        )
        # A thread begins with a small ring and continues in a larger one: unfinished calls are in its last ring.
        last = {ring.number: ring for ring in [*self._rings.ended, *self._rings.live]}
        dropped = dict.fromkeys(last, 0)
        for ring in [*self._rings.ended, *self._rings.live]:
            dropped[ring.number] += sum(ring.dropped())
        rings = [last[number] for number in sorted(last)]
        rows(
            "threads",
            process=[ring["process"] for ring in rings],
            tid=[ring["tid"] for ring in rings],
            dropped=[dropped[ring.number] for ring in rings],
        )
        rows("files", path=list(self._names.paths), kind=list(self._names.kinds))
        settings = self._names.settings
        rows(
            "settings",
            process=[each.process for each in settings],
            file=[each.file for each in settings],
            origin=[each.origin for each in settings],
            name=[each.name for each in settings],
            value=[each.value for each in settings],
        )
        begun = [(ring, depth, call) for ring in rings for depth, call in enumerate(ring.header["stack"][0])]
        begun = [each for each in begun if each[2]["operation"]]
        rows(
            "unfinished",
            process=[ring["process"] for ring, _, _ in begun],
            thread=[ring.number for ring, _, _ in begun],
            operation=[int(call["operation"]) for _, _, call in begun],
            file=[int(self._names.rows(np.array([call["file"]]))[0]) for _, _, call in begun],
            offset=[int(call["offset"]) for _, _, call in begun],
            size=[int(call["size"]) for _, _, call in begun],
            depth=[depth for _, depth, _ in begun],
        )
