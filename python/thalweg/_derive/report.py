"""The report of a job: what it has done, and what it has not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg._base.errors import Error
from thalweg._derive.summaries import Summary
from thalweg._derive.usage import Sample
from thalweg._schema.left_out import LeftOut
from thalweg._writing.reports import RunReport


@dataclass
class WorkerReport:
    """The work of one worker process."""

    number: int
    pid: int
    ranges: int = 0
    events: int = 0
    busy: float = 0.0
    """The time in which it did ranges, in seconds."""
    idle: float = 0.0
    """The time at the end in which it had no range, in seconds."""
    cpu: float = 0.0
    """Its CPU time in seconds."""
    peak_pss: int = 0
    """Its largest memory in bytes; of memory that processes share, only its part counts."""
    copied_pages: int = 0
    """The number of pages that it copied without decoding them."""
    copied_bytes: int = 0
    """The stored size of these pages in bytes."""
    how_it_ended: str = ""
    """How it ended, if not normally; otherwise empty."""


@dataclass(frozen=True)
class Failure:
    """A range of the input that has failed at least once."""

    range: int
    path: str
    start: int
    stop: int
    reason: str
    text: str
    """The traceback, if there is one."""
    attempts: int
    skipped: bool
    """True if its events are left out of the outputs, False if it was done again."""

    def __str__(self) -> str:
        left = "are left out" if self.skipped else "failed at first and were done again"
        times = f" (failed {self.attempts} times)" if self.skipped and self.attempts > 1 else ""
        return f"{self.path}: events {self.start} to {self.stop} {left}: {self.reason}{times}"


@dataclass(frozen=True)
class OutputReport:
    path: str
    rows: int
    summary: Summary
    """The events that were processed, the rows, the cut flow, and the sums."""
    file: RunReport | None
    """The report of the file; None if it was complete before this job began."""
    has_all_ranges: bool = False
    """For jobs of several machines: whether every committed range is in the file, even if machines failed."""

    @property
    def is_whole(self) -> bool:
        """Whether everything that was committed is in the file."""
        return self.has_all_ranges or self.file is None or self.file.is_whole

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "rows": self.rows,
            "summary": self.summary.to_json(),
            "file": self.file.to_dict() if self.file else None,
        }


@dataclass
class DerivationReport:
    """The result of `run` of a job. `print` shows it as sentences."""

    events: int = 0
    """The number of events of the input."""
    events_done: int = 0
    """The number of events that this job did. The others were done before it was resumed, or are left out."""
    seconds: float = 0.0
    cpu: float = 0.0
    """The CPU time of this process in seconds, without the workers."""
    outputs: list[OutputReport] = field(default_factory=list)
    workers: list[WorkerReport] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    """The columns of the input that were read."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Columns that match `keep` and are left out, since they cannot be read or some input files lack them."""
    notes: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    """CPU time and memory of all processes over time."""

    @property
    def skipped(self) -> list[Failure]:
        return [failure for failure in self.failures if failure.skipped]

    @property
    def copied_pages(self) -> int:
        """The number of pages of the input that were copied, including those of ranges that were done again."""
        return sum(each.copied_pages for each in self.workers)

    @property
    def is_whole(self) -> bool:
        """Whether all events were processed, no column was left out, and all that was derived is in the files."""
        return self.has_all_events and not self.left_out

    @property
    def has_all_events(self) -> bool:
        """Whether all events were processed, and all that was derived is in the files."""
        return not self.skipped and all(output.is_whole for output in self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain values, for JSON."""
        mine = {name: getattr(self, name) for name in ("events", "events_done", "seconds", "cpu", "columns", "notes")}
        lists = {
            name: [asdict(each) for each in getattr(self, name)]
            for name in ("workers", "failures", "left_out", "samples")
        }
        mine["copied_pages"] = self.copied_pages
        return {**mine, **lists, "outputs": [each.to_dict() for each in self.outputs], "is_whole": self.is_whole}

    def __str__(self) -> str:
        rate = self.events_done / self.seconds if self.seconds else 0
        lines = [f"{self.events_done:,} of {self.events:,} events in {self.seconds:.1f} s ({rate:,.0f}/s)"]
        for output in self.outputs:
            flow = "".join(f", {count:,} {cut}" for cut, count in output.summary.cuts.items())
            lines.append(f"{output.path}: {output.rows:,} rows of {output.summary.events:,} events{flow}")
        lines += [f"worker {each.pid}: {each.how_it_ended}" for each in self.workers if each.how_it_ended]
        return "\n".join([*lines, *map(str, self.failures), *map(str, self.left_out), *self.notes])


class DerivationError(Error):
    """Raised if a job stops before its end. `resume=True` continues it; `report` says what was done."""

    def __init__(self, message: str, report: DerivationReport) -> None:
        super().__init__(message)
        self.report = report


DerivationError.__module__ = "thalweg"
