"""What close, recover, snapshot, verify and status have to say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thalweg import _core
from thalweg._base.quantities import counted
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema


@dataclass(frozen=True)
class TableReport:
    table: str
    rows: int
    lost_rows: int
    """Known to have been published, but not whole in every column."""
    raw_bytes: int
    stored_bytes: int


@dataclass(frozen=True)
class AbandonedProducer:
    """A producer whose worker ended on an exception."""

    number: int
    table: str
    rows: int
    """That it had appended before."""
    reason: str


@dataclass(frozen=True)
class TableSnapshot:
    table: str
    rows: int
    rows_to_come: int
    """Known of producers that go on writing, and not yet whole in every column."""
    lost_rows: int
    """Known to have been published by producers that have ended, but not whole in every column."""


@dataclass(frozen=True)
class _Completed:
    """A file that has just been completed, and what it holds."""

    path: str
    tables: tuple[TableReport, ...] | tuple[TableSnapshot, ...]
    file_bytes: int
    damaged_pages: int
    units: int
    """Work units that are in it."""
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

    def _held(self) -> str:
        return f"{counted(self.rows, 'row')} in {counted(len(self.tables), 'table')}"


@dataclass(frozen=True)
class NodeReport:
    """What one node has in the file of a run of several."""

    node: int
    """Counted from 1."""
    host: str
    has_journal: bool
    settled: bool
    """Its journal holds all that its producers had published."""
    producers: int
    first_producer: int
    """The number of its first one in this report; the others follow."""
    rows: int


@dataclass(frozen=True)
class RunReport(_Completed):
    """What a file holds that `close` or `recover` has completed. `print` shows it as plain sentences."""

    tables: tuple[TableReport, ...]
    pages: int
    producers: int
    producers_lost: int
    """That died, or never finished."""
    producers_abandoned: int
    """Whose workers ended on an exception; what they had appended before is kept. Not among those lost."""
    abandoned: tuple[AbandonedProducer, ...]
    """The first ones of these."""
    units_lost: int
    """Work units that were committed and are not whole: they have to be done again."""
    rows_may_be_missing: bool
    """Beyond those that are counted: memory of producers, or a part of the journal, is gone. The notes say which."""
    dropped_bytes: int
    """Of the file, which rows of dropped work units take for nothing."""
    joined_clusters: int
    """Of an RNTuple: so many small clusters, which had ended so that the open run showed their rows, were encoded
    again, together."""
    superseded_bytes: int
    """Of the file, which the pages that these had before take for nothing."""
    adler32: int
    """Of the whole file."""
    problems: tuple[LeftOut, ...] = ()
    """Of `convert`: what the source has and this file has not."""
    nodes: tuple[NodeReport, ...] = ()
    """Of a run of several nodes; `close` tells them on node 1."""

    @property
    def is_whole(self) -> bool:
        """Nothing that was published is known, or has to be feared, to be missing; nor was anything left out."""
        lost = self.lost_rows or self.units_lost or self.damaged_pages or self.rows_may_be_missing
        return not (lost or self.problems)

    def __str__(self) -> str:
        lines = [f"{self.path}: {self._held()}, {self.file_bytes} bytes"]
        for table in self.tables:
            if table.lost_rows:
                lines.append(f"{counted(table.lost_rows, 'row')} of table '{table.table}' lost")
        if self.units_lost:
            lines.append(f"{counted(self.units_lost, 'work unit')} lost, which have to be done again")
        if self.producers_lost:
            lines.append(f"{self.producers_lost} of {counted(self.producers, 'producer')} lost")
        if self.producers_abandoned:
            lines.append(f"{self.producers_abandoned} of {counted(self.producers, 'producer')} abandoned")
        return "\n".join([*lines, *self.notes, *map(str, self.problems)])


@dataclass(frozen=True)
class Snapshot(_Completed):
    """What a snapshot of a running recording holds. `print` shows it as plain sentences."""

    tables: tuple[TableSnapshot, ...]
    source: str
    copied: str
    """How the data came into the file: "blocks shared", "copied by the kernel" or "read and written"."""
    units_to_come: int
    """Work units that are committed, and whose rows are not yet all in the journal."""
    is_written: bool
    """False: the process that wrote the run is gone, and `recover` can complete the run itself."""

    @property
    def is_whole(self) -> bool:
        """Nothing but what is still to come is missing."""
        return not (self.lost_rows or self.damaged_pages)

    def __str__(self) -> str:
        lines = [f"{self.path} has {self._held()} of {self.source}: {self.file_bytes} bytes, {self.copied}."]
        for table in self.tables:
            if table.rows_to_come:
                lines.append(f"{counted(table.rows_to_come, 'row')} of table '{table.table}' not yet whole: left out.")
            if table.lost_rows:
                lines.append(f"{counted(table.lost_rows, 'row')} of table '{table.table}' lost.")
        if self.units_to_come:
            lines.append(f"{counted(self.units_to_come, 'committed work unit')} not yet whole: left out.")
        if self.damaged_pages:
            lines.append(f"{counted(self.damaged_pages, 'damaged page')} left out, with the rows around them.")
        if not self.is_written:
            lines.append(
                f"Nobody writes {self.source} any more: `thalweg recover` completes it, with all that is in memory."
            )
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class ProducerStatus:
    table: str
    pid: int
    state: str
    """attaching, active, or finished (the rest is being journaled)."""
    rows: int
    """That count: of work units, those that are committed."""
    staging_fill: float
    """How full the memory of its fullest column is, from 0 to 1."""
    number: int
    """Which no other producer of the run ever has."""


@dataclass(frozen=True)
class EndedProducers:
    """All producers of one table that have ended, together."""

    table: str
    producers: int
    died: int
    """Among them; what they had published is kept."""
    abandoned: int
    """Among them: their workers ended on an exception; what they had appended before is kept."""
    rows: int


@dataclass(frozen=True)
class Status:
    """How a run that is being written is doing."""

    producers: tuple[ProducerStatus, ...]
    """Those that have not ended."""
    ended: tuple[EndedProducers, ...]
    """One for each table."""
    abandoned: tuple[AbandonedProducer, ...]
    """The first ones whose workers ended on an exception."""
    pages: int
    claimed_bytes: int
    journal_bytes: int
    durable_lag: float
    """Seconds: what a power cut would cost. Every row whose append returned before that is safe from it; rows of work
    units are counted by the three numbers below."""
    units_committed: int
    units_not_durable: int
    """Of those: a power cut would undo them, and they would be done again."""
    oldest_unit_age: float
    """Seconds since the oldest of these was committed; 0 where there is none."""
    memory: str
    """Where what producers have published lies until it is written: /dev/shm, or another folder and why."""
    memory_need: str
    """Empty, or how much more of it than their budget (`memory_bytes`) producers of a process took."""
    failure: str
    """Empty: well."""
    file_problem: str
    """Empty, or what has become of the file: it was removed or moved, and how its data can still be had."""

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.producers) + sum(each.rows for each in self.ended)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def report_of(result: _core.CompleteResult) -> RunReport:
    facts = result.report
    tables = tuple(
        TableReport(table.table, table.rows, table.lost_rows, table.raw_bytes, table.stored_bytes)
        for table in facts.tables
    )
    return RunReport(
        path=result.path,
        tables=tables,
        file_bytes=result.file_bytes,
        pages=facts.pages,
        damaged_pages=facts.damaged_pages,
        producers=facts.producers,
        producers_lost=facts.producers_lost,
        producers_abandoned=facts.producers_abandoned,
        abandoned=tuple(AbandonedProducer(it.number, it.table, it.rows, it.reason) for it in facts.abandoned),
        units=facts.units,
        units_lost=facts.units_lost,
        rows_may_be_missing=facts.rows_may_be_missing,
        dropped_bytes=facts.dropped_bytes,
        joined_clusters=facts.joined_clusters,
        superseded_bytes=facts.superseded_bytes,
        adler32=result.adler32,
        notes=tuple(facts.notes),
        nodes=nodes_of(facts),
    )


def nodes_of(report: _core.RunReport) -> tuple[NodeReport, ...]:
    return tuple(
        NodeReport(it.node + 1, it.host, it.has_journal, it.settled, it.producers, it.first_producer, it.rows)
        for it in report.nodes
    )


def snapshot_of(source: str, taken: _core.SnapshotResult) -> Snapshot:
    facts = taken.report
    tables = tuple(TableSnapshot(each.table, each.rows, each.rows_to_come, each.lost_rows) for each in facts.tables)
    return Snapshot(
        source=source,
        path=taken.path,
        tables=tables,
        file_bytes=taken.file_bytes,
        copied=taken.copied,
        damaged_pages=facts.damaged_pages,
        units=facts.units,
        units_to_come=taken.units_left_out,
        is_written=taken.is_written,
        notes=tuple(facts.notes),
    )


def status_of(status: _core.CommitStatus, schema: Schema, file_problem: str) -> Status:
    producers = (
        ProducerStatus(
            table=schema.tables[each.table].name,
            pid=each.pid,
            state=each.state,
            rows=each.rows,
            staging_fill=each.staging_fill,
            number=each.number,
        )
        for each in status.producers
    )
    ended = (
        EndedProducers(
            table=table.name, producers=each.producers, died=each.died, abandoned=each.abandoned, rows=each.rows
        )
        for table, each in zip(schema.tables, status.ended, strict=True)
    )
    return Status(
        producers=tuple(producers),
        ended=tuple(ended),
        abandoned=tuple(
            AbandonedProducer(it.number, schema.tables[it.table].name, it.rows, it.reason) for it in status.abandoned
        ),
        pages=status.pages,
        claimed_bytes=status.claimed_bytes,
        journal_bytes=status.journal_bytes,
        durable_lag=status.durable_lag_ns / 1e9,
        units_committed=status.units_committed,
        units_not_durable=status.units_not_durable,
        oldest_unit_age=status.units_oldest_age_ns / 1e9,
        memory=status.memory,
        memory_need=status.memory_need,
        failure=status.failure,
        file_problem=file_problem,
    )
