"""Loads a trace file into arrays: calls with their times, processes, threads and files."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import DataError, UsageError
from thalweg._files.open import open as open_file
from thalweg._reading.run import Run
from thalweg._trace.calls import Calls, Columns, Integers, Mask, Tables, Texts, blocks, different, narrow
from thalweg._trace.records import IN_FLIGHT, LEVELS, REGION

_NO_DATA = re.compile(
    r"^/(proc|sys|dev|etc)/|^/(usr/)?lib(64)?/|\.so(\.[\d.]+)?$|\.py[co]?$|/__pycache__(/|$)|/(site|dist)-packages(/|$)"
    r"|\.(dist|egg)-info(/|$)|/lib/python3[\d.]*(/|$)|pyvenv\.cfg$"
)
"""Paths of code and of what belongs to it, and of what is no file on a disk."""

LAUNCHERS = (
    "mpiexec",
    "mpirun",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
    "orterun",
    "orted",
    "prterun",
    "prted",
    "srun",
)


@dataclass(frozen=True)
class Trace:
    """A loaded trace. Calls of launchers, which only start the ranks of a program, are left out."""

    path: str
    levels: dict[str, Calls]
    in_flight: Calls
    """Asynchronous writes of Thalweg, from their submission until their end was noticed. They belong to no level, since
    their thread makes other calls at the same time."""
    regions: Calls
    """The phases that the program has marked; the name of each is that of its file."""
    files: list[str]
    file_kinds: npt.NDArray[np.str_]
    processes: list[dict[str, Any]]
    threads: list[dict[str, Any]]
    settings: list[dict[str, Any]]
    unfinished: list[dict[str, Any]]
    operations: list[dict[str, Any]]
    report: dict[str, Any]
    launchers: frozenset[int]
    """The rows of the launchers in `processes`."""

    @property
    def hidden(self) -> int:
        return len(self.launchers)

    @property
    def recorded(self) -> tuple[str, ...]:
        """The levels that were traced. Other levels have no calls for this reason."""
        return tuple(self.report.get("levels", LEVELS[:4]))

    @property
    def is_complete(self) -> bool:
        """Whether no calls were dropped and all processes are in the trace."""
        lacks = self.report["failed_rings"] or self.report["untraced"] or self.report.get("limited")
        return not (sum(self.report["dropped"].values()) or lacks)

    @property
    def posix(self) -> Calls:
        return self.levels["posix"]

    def span(self, process: int) -> tuple[float, float]:
        """Returns when the first call of a process began and when its last one ended."""
        return self._spans[process]

    @functools.cached_property
    def _spans(self) -> list[tuple[float, float]]:
        first, last = np.full(len(self.processes), np.inf), np.full(len(self.processes), -np.inf)
        for level in self.levels.values():
            for calls in level.in_blocks():
                np.minimum.at(first, calls.process, calls.start)
                np.maximum.at(last, calls.process, calls.end)
        return list(zip(first.tolist(), last.tolist(), strict=True))

    def on_disk(self, calls: Calls) -> Calls:
        """Returns the calls of ordinary files: not of pipes and terminals, nor of files in /proc, /sys and /dev."""
        return calls.where(calls.of_files((self.file_kinds == "file") & ~self._is_no_data))

    def not_loading(self, calls: Calls) -> Calls:
        """Returns the calls that do not look for code, or load it: those of an interpreter, of libraries, of MPI."""
        return calls.where(calls.of_files(~self._is_no_data))

    @functools.cached_property
    def _is_no_data(self) -> Mask:
        return np.array([_NO_DATA.search(name) is not None for name in self.files], bool)


def load_trace(path: str) -> Trace:
    """Loads a trace. Raises UsageError if the file is not a trace, DataError if it is unfinished or damaged."""
    with open_file(path) as file:
        tables = set(file)
        if not {*LEVELS, "operations", "processes", "files"} - {"work"} <= tables:
            has = ", ".join(sorted(tables)) or "none"
            raise UsageError(
                f"{path} is not a trace (its tables are {has}): `thalweg trace --out FILE -- COMMAND` writes one"
            )
        if "trace" not in file.metadata:
            raise DataError(f"{path} is not a finished trace (its tracer was killed): trace the command again")
        operations = _rows(file, "operations")
        processes = _rows(file, "processes")
        is_launcher = np.array([_is_launcher(each) for each in processes] or [False])
        # Older traces have no table `work`.
        threads = _Threads()
        columns = {level: _columns(file, level, threads) for level in LEVELS if level in tables}
        texts = [Texts([str(each[which]) for each in operations]) for which in ("name", "kind")]
        shared = Tables(texts[0], texts[1], threads.process, threads.rank, _unit(file))
        of_launcher = is_launcher[threads.process]
        levels = {level: _without(of_launcher, Calls(found, shared)) for level, found in columns.items()}
        del columns
        own = levels.setdefault("work", levels["posix"].where(np.empty(0, np.int64)))
        levels["work"] = own.where(~own.kind.isin((IN_FLIGHT, REGION)))
        paths = _rows(file, "files")
        return Trace(
            path,
            levels,
            own.where(own.kind == IN_FLIGHT),
            own.where(own.kind == REGION),
            [each["path"] for each in paths],
            np.array([each["kind"] for each in paths]),
            processes,
            _rows(file, "threads"),
            _rows(file, "settings"),
            _rows(file, "unfinished"),
            operations,
            json.loads(file.metadata["trace"]),
            frozenset(map(int, np.flatnonzero(is_launcher))),
        )


def _rows(file: Run, table: str) -> list[dict[str, Any]]:
    rows = file[table].read()
    columns = {name: rows[name] for name in rows}
    count = len(next(iter(columns.values())))
    return [{name: _plain(values[i]) for name, values in columns.items()} for i in range(count)]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_launcher(process: dict[str, Any]) -> bool:
    program = str(process["executable"]).rpartition("/")[2]
    return any(program == name or program.startswith(f"{name}.") for name in LAUNCHERS)


def _without(is_left_out: Mask, calls: Calls) -> Calls:
    """Returns the calls of the other threads."""
    return calls.where(calls.of_threads(~is_left_out)).alone() if is_left_out.any() else calls


@dataclass
class _Threads:
    """The process and the rank of each thread, of all levels."""

    process: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    rank: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    def learn(self, thread: npt.NDArray[np.integer], process: Integers, rank: Integers) -> None:
        more = (int(thread.max()) + 1 if len(thread) else 0) - len(self.process)
        if more > 0:
            self.process = np.r_[self.process, np.zeros(more, np.int64)]
            self.rank = np.r_[self.rank, np.full(more, -1)]
        for part in blocks(len(thread)):
            self.process[thread[part]], self.rank[thread[part]] = process[part], rank[part]


def _columns(file: Run, level: str, threads: _Threads) -> Columns:
    """Reads the columns one after the other, since each is made smaller than it is in the file."""

    def read(name: str) -> npt.NDArray[Any]:
        return np.asarray(file[level].read(name)[name])

    thread = narrow(read("thread"))
    threads.learn(thread, read("process"), read("rank"))
    duration = narrow(read("duration"))
    start = read("gap").astype(np.int64)
    start += duration
    _add_up(thread, start)
    start -= duration
    rest = {name: narrow(read(name)) for name in _REST}
    return Columns(start=start, duration=duration, thread=thread, **rest)


_REST = ("depth", "operation", "file", "offset", "size", "result", "error", "extra")


def _unit(file: Run) -> float:
    """Returns the unit of times in seconds."""
    unit = str(file[LEVELS[0]]["gap"].attrs["units"])
    return 1e-9 * float(unit.partition(" ")[0] if " " in unit else 1)


def _add_up(thread: npt.NDArray[np.integer], steps: Integers) -> None:
    """Replaces each step by the sum of the steps of its thread up to it."""
    numbers = different(thread)
    if len(numbers) < 2:
        np.cumsum(steps, out=steps)
    elif len(numbers) <= _FEW:
        for number in numbers:
            mine = thread == number
            steps[mine] = np.cumsum(steps[mine])
    else:
        order = np.argsort(thread, kind="stable")
        sums, threads = np.cumsum(steps[order]), thread[order]
        first = np.flatnonzero(np.r_[True, threads[1:] != threads[:-1]])
        before = np.where(first > 0, sums[first - 1], 0)
        steps[order] = sums - np.repeat(before, np.diff(np.r_[first, len(threads)]))


_FEW = 16
