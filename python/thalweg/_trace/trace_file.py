"""Loads a trace file into arrays: calls with their times, processes, threads and files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import DataError, UsageError
from thalweg._files.open import open as open_file
from thalweg._reading.run import Run
from thalweg._trace.records import IN_FLIGHT, LEVELS

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

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
class Calls:
    """The calls of one level. Every array has one value for each call. Times are in seconds since the trace began."""

    start: npt.NDArray[np.float64]
    duration: npt.NDArray[np.float64]
    process: Integers
    thread: Integers
    rank: Integers
    depth: Integers
    operation: Integers
    file: Integers
    offset: Integers
    size: Integers
    result: Integers
    error: Integers
    extra: Integers
    name: npt.NDArray[np.str_]
    kind: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.start)

    def where(self, chosen: Mask | Integers) -> Calls:
        return Calls(**{name: values[chosen] for name, values in vars(self).items()})

    @property
    def end(self) -> npt.NDArray[np.float64]:
        return self.start + self.duration

    @property
    def moved(self) -> Integers:
        """The number of bytes that each call moved; 0 if it failed or moves no data."""
        found: Integers = np.where((self.error == 0) & (self.result > 0), self.result, 0)
        return found


@dataclass(frozen=True)
class Trace:
    """A loaded trace. Calls of launchers, which only start the ranks of a program, are left out."""

    path: str
    levels: dict[str, Calls]
    in_flight: Calls
    """Asynchronous writes of Thalweg, from their submission until their end was noticed. They belong to no level, since
    their thread makes other calls at the same time."""
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
    def posix(self) -> Calls:
        return self.levels["posix"]

    def on_disk(self, calls: Calls) -> Calls:
        """Returns the calls of ordinary files: not of pipes and terminals, nor of files in /proc, /sys and /dev."""
        names = np.array([not name.startswith(("/proc/", "/sys/", "/dev/")) for name in self.files])
        ordinary = (self.file_kinds == "file") & names
        return calls.where(ordinary[calls.file])


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
        levels = {level: _calls(file, level, operations, is_launcher) for level in LEVELS if level in tables}
        own = levels.setdefault("work", levels["posix"].where(np.empty(0, np.int64)))
        levels["work"] = own.where(own.kind != IN_FLIGHT)
        names = _rows(file, "files")
        return Trace(
            path,
            levels,
            own.where(own.kind == IN_FLIGHT),
            [each["path"] for each in names],
            np.array([each["kind"] for each in names]),
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


def _calls(file: Run, level: str, operations: list[dict[str, Any]], is_launcher: Mask) -> Calls:
    rows = file[level].read()
    columns = {name: np.asarray(rows[name]).astype(np.int64) for name in rows}
    unit = str(file[level]["gap"].attrs["units"])
    scale = 1e-9 * float(unit.partition(" ")[0] if " " in unit else 1)
    gap, duration = columns.pop("gap"), columns.pop("duration")
    end = np.zeros_like(gap)
    by_thread = np.argsort(columns["thread"], kind="stable")
    advanced = np.cumsum((gap + duration)[by_thread])
    threads = columns["thread"][by_thread]
    first = np.flatnonzero(np.r_[True, threads[1:] != threads[:-1]]) if len(threads) else np.empty(0, np.int64)
    before = np.where(first > 0, advanced[first - 1], 0) if len(first) else first
    end[by_thread] = advanced - np.repeat(before, np.diff(np.r_[first, len(threads)]))
    names = np.array([each["name"] for each in operations])
    kinds = np.array([each["kind"] for each in operations])
    calls = Calls(
        start=np.multiply(end - duration, scale, dtype=np.float64),
        duration=np.multiply(duration, scale, dtype=np.float64),
        name=names[columns["operation"]],
        kind=kinds[columns["operation"]],
        **columns,
    )
    return calls.where(~is_launcher[calls.process])
