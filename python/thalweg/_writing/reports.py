"""The reports of `close`, `recover`, `snapshot` and `status`."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg import _core
from thalweg._base.producer_status import ProducerStatus
from thalweg._base.quantities import counted
from thalweg._base.report import Report
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema


@dataclass(frozen=True)
class TableReport(Report):
    """The counts of one table of a complete file."""

    table: str
    rows: int
    lost_rows: int
    """The number of rows that were published, but are not whole in every column."""
    raw_bytes: int
    stored_bytes: int


@dataclass(frozen=True)
class AbandonedProducer(Report):
    """A producer whose process ended its use with an exception."""

    number: int
    table: str
    rows: int
    """The number of rows that it had appended before; they are kept."""
    reason: str


@dataclass(frozen=True)
class TableSnapshot(Report):
    """The counts of one table of a snapshot."""

    table: str
    rows: int
    rows_to_come: int
    """The number of rows of living producers that are not whole in every column yet."""
    lost_rows: int
    """The number of rows of ended producers that were published, but are not whole in every column."""


@dataclass(frozen=True)
class _Completed(Report):
    """The counts of a file that is complete."""

    path: str
    tables: tuple[TableReport, ...] | tuple[TableSnapshot, ...]
    file_bytes: int
    damaged_pages: int
    units: int
    """The number of work units in the file."""
    notes: tuple[str, ...]
    """Sentences about what was damaged or left out."""

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def lost_rows(self) -> int:
        """The number of lost rows of all tables."""
        return sum(table.lost_rows for table in self.tables)

    def _held(self) -> str:
        return f"{counted(self.rows, 'row')} in {counted(len(self.tables), 'table')}"


@dataclass(frozen=True)
class NodeReport(Report):
    """The share of one node in the file of a run of several nodes."""

    node: int
    """The number of the node, from 1."""
    host: str
    has_journal: bool
    settled: bool
    """Whether its journal holds all that its producers published."""
    producers: int
    first_producer: int
    """The number of its first producer in this report; the others follow."""
    rows: int


@dataclass(frozen=True)
class RunReport(_Completed):
    """The counts of a file that `close` or `recover` has completed. `print` shows them as sentences."""

    tables: tuple[TableReport, ...]
    pages: int
    producers: int
    producers_lost: int
    """The number of producers that died or never finished."""
    producers_abandoned: int
    """The number of producers that ended with an exception. The rows that they had appended before are kept."""
    abandoned: tuple[AbandonedProducer, ...]
    """The first ones of these producers."""
    units_lost: int
    """The number of committed work units that are not whole and must be done again."""
    rows_may_be_missing: bool
    """Whether more rows may be missing than are counted, since memory or a part of the journal is gone. `notes` says
    which."""
    dropped_bytes: int
    """The number of bytes in the file that belong to dropped work units and are not used."""
    joined_clusters: int
    """The number of small clusters of an RNTuple, made to show rows of the open run, that were joined at the end."""
    superseded_bytes: int
    """The number of bytes in the file that the earlier pages of these clusters take and that are not used."""
    adler32: int
    """The Adler-32 checksum of the whole file; 0 if it is not known: another node has completed the file, or it was not
    asked for."""
    problems: tuple[LeftOut, ...] = ()
    """After `convert`: the parts of the source that this file does not have, each with the reason."""
    nodes: tuple[NodeReport, ...] = ()
    """The nodes of a run of several nodes; `close` lists them on node 1."""
    sources: tuple[str, ...] = ()
    """After `convert`: the files that were copied."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is lost, nothing may be missing, and nothing is left out."""
        lost = self.lost_rows or self.units_lost or self.damaged_pages or self.rows_may_be_missing
        return not (lost or self.problems)

    def __str__(self) -> str:
        lines = [f"{self.path}: {self._held()}, {self.file_bytes:,} bytes"]
        for table in self.tables:
            if table.lost_rows:
                lines.append(f"{counted(table.lost_rows, 'row')} of table '{table.table}' lost")
        if self.units_lost:
            lines.append(f"{counted(self.units_lost, 'work unit')} lost; do them again")
        if self.producers_lost:
            lines.append(f"{self.producers_lost} of {counted(self.producers, 'producer')} lost")
        if self.producers_abandoned:
            lines.append(f"{self.producers_abandoned} of {counted(self.producers, 'producer')} abandoned")
        return "\n".join([*lines, *self.notes, *map(str, self.problems)])


@dataclass(frozen=True)
class Snapshot(_Completed):
    """The counts of a snapshot of a running recording. `print` shows them as sentences."""

    tables: tuple[TableSnapshot, ...]
    source: str
    copied: str
    """How the data were copied: "blocks shared", "copied by the kernel" or "read and written"."""
    units_to_come: int
    """The number of committed work units whose rows are not all in the journal yet."""
    is_written: bool
    """Whether the run is still being written. If not, `recover` can complete it."""

    @property
    def is_whole(self) -> bool:
        """Whether only rows are missing that are still being written."""
        return not (self.lost_rows or self.damaged_pages)

    def __str__(self) -> str:
        lines = [f"{self.path} has {self._held()} of {self.source}: {self.file_bytes:,} bytes, {self.copied}."]
        for table in self.tables:
            if table.rows_to_come:
                lines.append(f"{counted(table.rows_to_come, 'row')} of table '{table.table}' not yet whole: left out.")
            if table.lost_rows:
                lines.append(f"{counted(table.lost_rows, 'row')} of table '{table.table}' lost.")
        if self.units_to_come:
            lines.append(f"{counted(self.units_to_come, 'committed work unit')} not yet whole: left out.")
        if self.damaged_pages:
            lines.append(f"{counted(self.damaged_pages, 'damaged page')} left out, with all rows of their clusters.")
        if not self.is_written:
            lines.append(f"No process writes {self.source} any more: `thalweg recover` completes it with all its rows.")
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class EndedProducers(Report):
    """The sums over all producers of one table that have ended."""

    table: str
    producers: int
    died: int
    """The number of those that died. The rows that they had published are kept."""
    abandoned: int
    """The number of those that ended with an exception. The rows that they had appended before are kept."""
    rows: int
    waited: float
    """The time in seconds for which their `append` has waited."""
    counters: dict[str, int] = field(default_factory=dict)
    """The sums of their counters."""


@dataclass(frozen=True)
class Status(Report):
    """The state of a run that is being written."""

    producers: tuple[ProducerStatus, ...]
    """The producers that have not ended."""
    ended: tuple[EndedProducers, ...]
    """The ended producers, one entry for each table."""
    abandoned: tuple[AbandonedProducer, ...]
    """The first producers that ended with an exception."""
    pages: int
    claimed_bytes: int
    journal_bytes: int
    durable_lag: float
    """The age in seconds of the oldest data that a power cut would lose. Rows whose `append` returned before are safe.
    The next three members do the same for rows of work units."""
    units_committed: int
    units_not_durable: int
    """The number of committed work units that a power cut would undo, so that they would have to be done again."""
    oldest_unit_age: float
    """The time in seconds since the oldest of these was committed; 0 if there are none."""
    memory: str
    """The place of rows that are published and not written yet: /dev/shm, or another folder and the reason for it."""
    memory_need: str
    """A sentence if producers of a process needed more memory than their budget (`memory_bytes`), otherwise empty."""
    failure: str
    """Why the run cannot go on; empty if it can."""
    file_problem: str
    """A sentence if the file was removed or moved, and how its data can still be saved; otherwise empty."""

    @property
    def rows(self) -> int:
        """The number of rows of all producers."""
        return sum(each.rows for each in self.producers) + sum(each.rows for each in self.ended)


def report_of(result: _core.CompleteResult) -> RunReport:
    """Returns the report of a run that `close` or `recover` has completed."""
    return RunReport.of(result, result.report)


def snapshot_of(source: str, taken: _core.SnapshotResult) -> Snapshot:
    """Returns the report of a snapshot."""
    return Snapshot.of(taken, taken.report, source=source)


def status_of(status: _core.CommitStatus, schema: Schema, file_problem: str) -> Status:
    """Returns the status of a run. The core has numbers of tables, and the status has their names."""
    names = list(schema)
    return Status.of(
        status,
        producers=tuple(
            ProducerStatus.of(each, table=names[each.table], counters=each.named) for each in status.producers
        ),
        ended=tuple(
            EndedProducers.of(each, table=name, counters=each.named)
            for name, each in zip(names, status.ended, strict=True)
        ),
        abandoned=tuple(AbandonedProducer.of(each, table=names[each.table]) for each in status.abandoned),
        file_problem=file_problem,
    )
