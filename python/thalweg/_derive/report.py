"""What a job has done, and what it has not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg._derive.summaries import Summary
from thalweg._derive.usage import Sample
from thalweg._errors import Error
from thalweg._reports import LeftOut, RunReport


@dataclass
class WorkerReport:
    """Of one worker process."""

    number: int
    pid: int
    ranges: int = 0
    events: int = 0
    busy: float = 0.0
    """Seconds in which it did ranges."""
    idle: float = 0.0
    """Seconds at the end without a range: others did their last ones, or several machines made theirs durable."""
    cpu: float = 0.0
    """Seconds."""
    peak_pss: int = 0
    """Bytes: of memory that processes share, its share."""
    copied_pages: int = 0
    """Without being decoded."""
    copied_bytes: int = 0
    """Of these, as they are stored."""
    how_it_ended: str = ""
    """Empty: as it should."""


@dataclass(frozen=True)
class Failure:
    """A range of the input on which something failed."""

    range: int
    path: str
    start: int
    stop: int
    reason: str
    text: str
    """The traceback, where there is one."""
    attempts: int
    skipped: bool
    """Its events are not in the outputs. False: it was done again."""

    def __str__(self) -> str:
        left = "left out" if self.skipped else "failed at first, and was done again"
        times = f" {self.attempts} times" if self.skipped and self.attempts > 1 else ""
        return f"{self.path}: events {self.start} to {self.stop} {left}: {self.reason}{times}"


@dataclass(frozen=True)
class OutputReport:
    path: str
    rows: int
    summary: Summary
    """Events that were looked at, rows, the cut flow, and what was summed up."""
    file: RunReport | None
    """None: it was complete before this job began."""
    has_all_ranges: bool = False
    """Of several machines, some of which may have died: every range that was committed is in the file all the same."""

    @property
    def is_whole(self) -> bool:
        """Nothing that was committed is missing in the file."""
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
    """What `run` of a job returns. `print` shows it as plain sentences."""

    events: int = 0
    """Of the input."""
    events_done: int = 0
    """By this job; others were there when it was resumed, or are left out."""
    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds, of this process; those of the workers are theirs."""
    outputs: list[OutputReport] = field(default_factory=list)
    workers: list[WorkerReport] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    """Of the input, that were read."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Columns that patterns of `keep` mean, and that cannot be read, or that some input files lack."""
    notes: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    """CPU time and memory of all processes over time."""

    @property
    def skipped(self) -> list[Failure]:
        return [failure for failure in self.failures if failure.skipped]

    @property
    def copied_pages(self) -> int:
        """Of the input, that are in an output as they are; also those of ranges that were done again."""
        return sum(each.copied_pages for each in self.workers)

    @property
    def is_whole(self) -> bool:
        """Every event of the input was looked at, no column was left out, and what was derived is in the files."""
        return self.has_all_events and not self.left_out

    @property
    def has_all_events(self) -> bool:
        """Every event of the input was looked at, and what was derived is in the files."""
        return not self.skipped and all(output.is_whole for output in self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
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
    """A job stopped before its end. What is done is kept: `resume=True` goes on behind it. `report` has the rest."""

    def __init__(self, message: str, report: DerivationReport) -> None:
        super().__init__(message)
        self.report = report


DerivationError.__module__ = "thalweg"
