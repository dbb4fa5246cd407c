"""The report of `thalweg trace`. Its first sentence says how much of the I/O of the program is in the trace."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from thalweg._base.quantities import as_bytes
from thalweg._trace.coverage import Coverage, share
from thalweg._trace.failures import Failure


@dataclass(frozen=True)
class Untraced:
    """A process in which the library was not loaded."""

    pid: int
    executable: str
    why: str


@dataclass(frozen=True)
class Limited:
    """A process of which only a part is recorded."""

    pid: int
    command: str
    why: str


@dataclass
class TraceReport:
    file: str
    command: list[str]
    calls: dict[str, int]
    dropped: dict[str, int]
    processes: int
    threads: int
    coverage: Coverage
    untraced: list[Untraced]
    still_running: list[int]
    failed_rings: int
    failures: list[Failure]
    """Those of the failed rings that are described."""
    limited: list[Limited]
    in_shared_memory: bool
    exit_status: int | None
    faults: dict[str, int]
    """Page faults of all processes, minor and major."""
    schedule: dict[int, tuple[float, float]]
    """By pid: how long processes ran, and how long they waited for a core, in seconds."""
    clock_s: float
    """How long it takes to look at the clock."""
    has_mappings: bool
    has_rings: bool
    ring_records: int | None
    """The size of the rings that was requested."""
    bytes_by_libaio: int
    bytes_told: int
    """The bytes that io_uring wrote, as reported by Thalweg in the traced program."""
    levels: list[str]
    """The levels that were recorded."""
    libraries: list[str]
    """The versions of the MPI libraries, as they name themselves."""
    caches: list[str]
    """The cores of each last-level cache, as texts."""
    bytes: int = 0
    problem: str = ""
    """The reason why there is no file; empty if there is one."""

    @property
    def is_complete(self) -> bool:
        """Whether the trace has all calls of all processes."""
        lacks = self.failed_rings or self.untraced or self.limited or self.problem
        return not (sum(self.dropped.values()) or lacks)

    def first_line(self) -> str:
        calls = f"{sum(self.calls.values()):,} calls of {self.processes} program{'s'[: self.processes != 1]}"
        dropped = {level: count for level, count in self.dropped.items() if count}
        if dropped:
            lost = ", ".join(f"{count:,} of {level}" for level, count in dropped.items())
            lead = (
                f"the trace is incomplete: {lost} calls were dropped, because rings were full{self._advice()}; "
                f"it has {calls}"
            )
        else:
            lead = f"the trace has {calls}"
        return f"{lead}; {self._shares()}"

    def _advice(self) -> str:
        return " (give a larger --ring, or none)" if self.ring_records else " and there was no more memory for them"

    def _shares(self) -> str:
        if not self.coverage.is_known:
            return "the share of the bytes that it covers is not known (/proc/PID/io could not be read)"
        texts = [
            f"{100 * share(seen, total):.4g} % of the {as_bytes(total)} that were {done}"
            for done, (seen, total) in (("written", self.coverage.written), ("read", self.coverage.read))
        ]
        return f"it covers {texts[0]} and {texts[1]}"

    def other_lines(self) -> list[str]:
        lines = []
        for each in self.untraced:
            lines.append(f"not traced: {each.executable} (process {each.pid}) {each.why}")
        lines += [f"not traced: {each.program} (process {each.pid}): {each.why}" for each in self.failures]
        if more := self.failed_rings - len(self.failures):
            lines.append(f"not traced: {more} more threads or processes, since there was no memory for them")
        lines += [f"traced in part: {each.command[:60]} (process {each.pid}) {each.why}" for each in self.limited]
        if self.has_mappings:
            lines.append("not recorded: reads and writes through shared memory mappings of files")
        if self.has_rings:
            told = f", except {as_bytes(self.bytes_told)} that Thalweg reports as written" if self.bytes_told else ""
            lines.append(
                f"not recorded: data moved by io_uring{told}; the shares above do not include them, since the kernel "
                "does not count them"
            )
        if self.bytes_by_libaio:
            lines.append(
                f"not recorded: how libaio (io_submit) moved the {as_bytes(self.bytes_by_libaio)} requested from it; "
                "the shares above do not include them, since the kernel does not count them"
            )
        if self.coverage.spliced:
            lines.append(
                f"moved by splice: {as_bytes(self.coverage.spliced)}, which count as read and written above; the "
                "kernel does not count them, so those of processes that are not traced are unknown"
            )
        lines += self._calls_seen()
        if any(self.coverage.by_streams):
            read, written = map(as_bytes, self.coverage.by_streams)
            lines.append(
                f"recorded as calls of streams (stdio): {read} read and {written} written; the system calls inside "
                "them are not recorded"
            )
        if not self._is_all_seen():
            lines.append(
                "never recorded: system calls that bypass the C library (syscall(), Go), and objects loaded with "
                "RTLD_DEEPBIND"
            )
        if self.still_running:
            pids = ", ".join(map(str, self.still_running[:10]))
            lines.append(f"still running, but no longer traced: process {pids}")
        return lines

    def _calls_seen(self) -> list[str]:
        """Says which part of the system calls is recorded, as far as the kernel counts them."""
        if not self.coverage.is_known:
            return []
        texts = []
        for done, (seen, total) in (("write", self.coverage.written_calls), ("read", self.coverage.read_calls)):
            texts.append(f"{100 * share(seen, total):.4g} % of {total:,} that {done}")
        lead = f"system calls that are recorded as calls: {texts[0]}, {texts[1]}"
        others = "the others are made inside streams, or are not seen; those that open, query, seek or sync"
        return [f"{lead} ({others} are not counted by the kernel)"]

    def _is_all_seen(self) -> bool:
        return self.coverage.is_known and all(
            share(seen, total) > 0.999 for seen, total in (self.coverage.read, self.coverage.written)
        )

    def to_dict(self) -> dict[str, Any]:
        read, written = self.coverage.read, self.coverage.written
        return {
            "file": self.file,
            "command": self.command,
            "calls": self.calls,
            "dropped": self.dropped,
            "levels": self.levels,
            "libraries": self.libraries,
            "caches": self.caches,
            "processes": self.processes,
            "threads": self.threads,
            "coverage": {
                "is_known": self.coverage.is_known,
                "read_seen": read[0],
                "read_total": read[1],
                "written_seen": written[0],
                "written_total": written[1],
                "read_calls_seen": self.coverage.read_calls[0],
                "read_calls_total": self.coverage.read_calls[1],
                "written_calls_seen": self.coverage.written_calls[0],
                "written_calls_total": self.coverage.written_calls[1],
                "by_streams": list(self.coverage.by_streams),
                "spliced": self.coverage.spliced,
                "loader": self.coverage.loader,
                "own": self.coverage.own,
            },
            "untraced": [{"pid": each.pid, "executable": each.executable, "why": each.why} for each in self.untraced],
            "failures": [asdict(each) for each in self.failures],
            "limited": [asdict(each) for each in self.limited],
            "still_running": self.still_running,
            "failed_rings": self.failed_rings,
            "in_shared_memory": self.in_shared_memory,
            "exit_status": self.exit_status,
            "faults": self.faults,
            "schedule": [
                {"pid": pid, "ran_s": ran, "waited_s": waited} for pid, (ran, waited) in self.schedule.items()
            ],
            "clock_s": self.clock_s,
            "first_line": self.first_line(),
            "other_lines": self.other_lines(),
            "problem": self.problem,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())
