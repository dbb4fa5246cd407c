"""Runs the command, with settings and without, each time as if it were the first."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._base.errors import Error, SystemError, UsageError  # noqa: A004
from thalweg._trace.trace_file import Trace, load_trace
from thalweg._tune import keeper, same
from thalweg._tune.account import Accounts, accounts, as_facts, failed_write, of_facts, seconds_of_io
from thalweg._tune.advice import KnownK
from thalweg._tune.choice import libraries_of, mpi_of
from thalweg._tune.environment import variables, with_library
from thalweg._tune.old_reader import opened_by_old_hdf5
from thalweg._tune.outputs import Outputs, Workplace
from thalweg._tune.run import Run, Runner, inherit_orphans
from thalweg._tune.settings import Chosen
from thalweg._tune.timed_reads import read_once
from thalweg._tune.timed_writes import measure, write_once
from thalweg._tune.together import CollectiveCalls, collective_calls

Say = Callable[[str], None]


@dataclass(frozen=True)
class BenchOptions:
    command: Sequence[str]
    before: str | None = None
    limit_s: float | None = None
    """After so long a run with settings is ended. None: a minute, and ten times as long as a run without them."""


@dataclass(frozen=True)
class Traced:
    """What one traced run has done."""

    run: Run
    io: Accounts
    lacks: list[str] = field(default_factory=list)
    """Which calls the trace lacks, so that counts of them prove nothing."""
    files: list[str] = field(default_factory=list)
    """The outputs."""
    data: list[str] = field(default_factory=list)
    """What is other in the outputs than in those of the first run."""
    shapes: list[str] = field(default_factory=list)
    """What is other in their names, types and shapes."""
    opened: list[str] = field(default_factory=list)
    """Whether HDF5 1.10 opens the outputs, if a setting may change that."""
    libraries: list[str] = field(default_factory=list)
    """The libraries with settings that the command has called."""
    mpi: str = ""
    """The MPI as it names itself."""
    io_s: float = 0
    """The longest time that a process was in calls of files in the folder."""
    elapsed_s: float = 0
    """The time of that process in this run, from its first call to its last."""
    together: CollectiveCalls = field(default_factory=CollectiveCalls)
    """The collective calls of the first run."""

    def to_fact(self) -> dict[str, Any]:
        return vars(self) | {"run": vars(self.run), "io": as_facts(self.io), "together": self.together.to_fact()}

    @classmethod
    def of_fact(cls, fact: dict[str, Any]) -> Traced:
        together = CollectiveCalls.of_fact(fact["together"])
        return cls(**fact | {"run": Run(**fact["run"]), "io": of_facts(fact["io"]), "together": together})


class Bench:
    """The command in its folder. What its first run, without settings, has left is what remains in the end."""

    def __init__(self, options: BenchOptions, place: Workplace, *, goes_on: bool) -> None:
        self._options, self._place = options, place
        self._scratch = place.aside / "scratch"
        self._scratch.mkdir(exist_ok=True)
        self._runner = Runner(options.command, place.folder, self._scratch / "log", options.before)
        self._limit_s: float | None = None
        self._runs = 0
        self._kept: list[Outputs] = []
        self._must_tidy = goes_on
        self.first = self.traced([], remains=True)
        same.check_comparable(self._kept[-1])  # before any further run
        self._limit_s = options.limit_s or 60 + 10 * self.first.run.seconds

    @property
    def folder(self) -> Path:
        return self._place.folder

    def traced(self, chosen: Sequence[Chosen], *, remains: bool = False) -> Traced:
        """Runs the command once under `thalweg trace`, whose report is not shown. remains: what this run leaves is what
        remains in the end, if it succeeds."""
        names = [str(each) for each in chosen]
        self._runs += 1
        known = self._place.journal.known("traced", settings=names, run_number=self._runs)
        label = f"run-{self._runs}"
        if known is None:
            self._tidy()
            found = self._trace(chosen, label, remains=remains)
            self._place.journal.add("traced", settings=names, run_number=self._runs, found=found.to_fact())
        else:
            found = Traced.of_fact(known["found"])
        if not self._kept or (remains and not found.run.how_it_ended):
            self._kept.append(Outputs(self._place.aside / label, [Path(each) for each in found.files]))
        return found

    def timed(self, chosen: Sequence[Chosen], limit_s: float | None = None) -> Run:
        """Runs the command once, and ends it after the limit."""
        names = [str(each) for each in chosen]
        known = self._place.journal.known("timed", settings=names)
        if known is not None:
            return Run(**known["run"])
        self._tidy()
        environment = with_library(variables(chosen, self._scratch), self._options.command)
        limits = [each for each in (limit_s, self._limit_s) if each is not None]
        run = self._runner.run(self._marked(environment), min(limits))
        self._place.remove(self._place.take_aside("run-timed"))
        self._place.journal.add("timed", settings=names, run=vars(run))
        return run

    def measured_k(self, folder: Path, kind: str) -> KnownK:
        """Times writes, or reads, in the folder, and returns the bytes that keep one aggregator busy."""
        known = self._place.journal.known("k", folder=str(folder), kind=kind)
        if known is not None:
            return KnownK(**known["k"])
        self._tidy()
        try:
            plateau, timed = measure(folder, transfer=write_once if kind == "write" else read_once)
            count = sum(map(len, timed.seconds.values()))
            k = KnownK.measured(plateau, kind, str(folder), count, timed.why_no_larger)
        except SystemError as error:
            k = KnownK(None, f"k is not known: {error}")
        self._place.journal.add("k", folder=str(folder), kind=kind, k=vars(k))
        return k

    def end(self) -> None:
        self._tidy()
        if self._kept:
            self._place.put_back(self._kept[-1])

    def _tidy(self) -> None:
        """Once all is done again that an interrupted trial had done, brings the folder to where it was then."""
        if self._must_tidy:
            self._place.tidy(self._kept, self._kept[-1] if self._kept else None)
            self._must_tidy = False

    def _trace(self, chosen: Sequence[Chosen], label: str, *, remains: bool) -> Traced:
        out = self._scratch / "trace.root"
        words = [sys.executable, "-m", "thalweg", "trace", "--out", str(out), "--force", "--", *self._options.command]
        tracer = Runner(words, self._place.folder, self._scratch / "log", None)
        self._runner.restore()
        run = tracer.run(self._marked(os.environ | variables(chosen, self._scratch)), self._limit_s)
        trace = None if run.how_it_ended else load_trace(str(out))
        if trace is not None and (why := failed_write(trace, self._place.folder)):
            run, trace = Run(run.seconds, why), None
        io = {} if trace is None else accounts(trace, self._place.folder)
        outputs = self._place.take_aside(label)
        files = [str(each) for each in outputs.files]
        data: list[str] = []
        shapes: list[str] = []
        opened: list[str] = []
        if self._kept:
            if trace is not None and (data := same.differences(self._kept[0], outputs)):
                shapes = same.differences(self._kept[0], outputs, values=False)
            if trace is not None and any(each.setting.changes_file for each in chosen):
                opened = opened_by_old_hdf5(outputs)
            if trace is None or not remains:
                self._place.remove(outputs)
        if trace is None:
            return Traced(run, io, files=files)
        return Traced(
            run,
            io,
            _lacks(trace),
            files,
            data,
            shapes,
            opened,
            sorted(libraries_of(trace)),
            mpi_of(trace),
            *seconds_of_io(trace, self._place.folder),
            CollectiveCalls() if self._kept else collective_calls(trace, self._place.folder),
        )

    def _marked(self, environment: dict[str, str]) -> dict[str, str]:
        """Returns the environment of a run, whose processes are ended if this one is killed."""
        return environment | {keeper.VARIABLE: str(self._place.aside)}


def _lacks(trace: Trace) -> list[str]:
    if trace.is_complete:
        return []
    return [trace.report["first_line"], *trace.report.get("other_lines", [])]


@contextlib.contextmanager
def on_bench(options: BenchOptions, place: Workplace, *, goes_on: bool) -> Iterator[Bench]:
    """Runs the command for the first time. What it leaves is what this run has left.

    Raises UsageError if the command fails, or cannot be run again as it was.
    """
    keeping = keeper.start(str(place.aside))
    inherit_orphans()
    try:
        bench = None
        try:
            bench = Bench(options, place, goes_on=goes_on)
            if how := bench.first.run.how_it_ended:
                raise UsageError(f"the command fails without the setting ({how}): mend that first")
            yield bench
        finally:
            if bench is not None:
                bench.end()
            if bench is not None or not goes_on:
                place.end()  # not if the outputs could not be put back: they are there
    except Error:
        raise
    except OSError as error:
        raise SystemError(error.errno or 0, f"the trial cannot go on ({error}): mend that, and try again") from error
    finally:
        os.close(keeping)
