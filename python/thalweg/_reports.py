"""What close, recover, verify and status have to say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thalweg import _core
from thalweg._schema import Schema


@dataclass(frozen=True)
class TableReport:
    table: str
    rows: int
    lost_rows: int
    """Known to have been published, but not whole in every column."""
    raw_bytes: int
    stored_bytes: int


@dataclass(frozen=True)
class Report:
    """What a file holds that `close` or `recover` has completed. `print` shows it as plain sentences."""

    path: str
    tables: tuple[TableReport, ...]
    file_bytes: int
    pages: int
    damaged_pages: int
    producers: int
    producers_lost: int
    """That died, or never finished."""
    adler32: int
    """Of the whole file."""
    notes: tuple[str, ...]
    """What was damaged or left out, and where."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def lost_rows(self) -> int:
        return sum(table.lost_rows for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        held = f"{_counted(self.rows, 'row')} in {_counted(len(self.tables), 'table')}"
        lines = [f"{self.path}: {held}, {self.file_bytes} bytes"]
        for table in self.tables:
            if table.lost_rows:
                lines.append(f"{_counted(table.lost_rows, 'row')} of table '{table.table}' lost")
        if self.producers_lost:
            lines.append(f"{self.producers_lost} of {_counted(self.producers, 'producer')} lost")
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class Verification:
    """What `verify` found. `print` shows it as plain sentences."""

    path: str
    is_open: bool
    """The run is not closed."""
    pages: int
    bytes: int
    pages_without_checksum: int
    faults: int
    messages: tuple[str, ...]
    """Of the first faults: table, column, items, offset and reason."""
    adler32: int
    """Of the whole closed file."""
    file_bytes: int

    @property
    def is_sound(self) -> bool:
        return self.faults == 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        state = "sound" if self.is_sound else _counted(self.faults, "fault")
        summary = f"{self.path}: {state}, {_counted(self.pages, 'page')} of {self.bytes} bytes"
        return "\n".join([summary, *self.messages])


@dataclass(frozen=True)
class ProducerStatus:
    table: str
    pid: int
    state: str
    """attaching, active, finished (the rest is being journaled) or settled."""
    rows: int
    staging_fill: float
    """How full the memory of its fullest column is, from 0 to 1."""
    died: bool


@dataclass(frozen=True)
class Status:
    """How a run that is being written is doing."""

    producers: tuple[ProducerStatus, ...]
    pages: int
    claimed_bytes: int
    journal_bytes: int
    durable_lag: float
    """Seconds since the newest durable state: what a power cut would cost."""
    memory: str
    """Where what producers have published lies until it is written: /dev/shm, or another folder and why."""
    failure: str
    """Empty: well."""

    @property
    def rows(self) -> int:
        return sum(producer.rows for producer in self.producers)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def report_of(result: _core.CompleteResult) -> Report:
    facts = result.report
    tables = tuple(
        TableReport(table.table, table.rows, table.lost_rows, table.raw_bytes, table.stored_bytes)
        for table in facts.tables
    )
    return Report(
        path=result.path,
        tables=tables,
        file_bytes=result.file_bytes,
        pages=facts.pages,
        damaged_pages=facts.damaged_pages,
        producers=facts.producers,
        producers_lost=facts.producers_lost,
        adler32=result.adler32,
        notes=tuple(facts.notes),
    )


def verification_of(path: str, found: _core.Verification) -> Verification:
    return Verification(
        path=path,
        is_open=found.open_run,
        pages=found.pages,
        bytes=found.bytes,
        pages_without_checksum=found.pages_without_checksum,
        faults=found.faults,
        messages=tuple(found.messages),
        adler32=found.adler32,
        file_bytes=found.file_bytes,
    )


def status_of(status: _core.CommitStatus, schema: Schema) -> Status:
    producers = (
        ProducerStatus(
            table=schema.tables[each.table].name,
            pid=each.pid,
            state=each.state,
            rows=each.rows,
            staging_fill=each.staging_fill,
            died=each.died,
        )
        for each in status.producers
    )
    return Status(
        producers=tuple(producers),
        pages=status.pages,
        claimed_bytes=status.claimed_bytes,
        journal_bytes=status.journal_bytes,
        durable_lag=status.durable_lag_ns / 1e9,
        memory=status.memory,
        failure=status.failure,
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
