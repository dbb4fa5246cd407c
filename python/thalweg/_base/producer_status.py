"""The state of a producer, as those that write a run and those that read it report it."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg._base.report import Report


@dataclass(frozen=True)
class ProducerStatus(Report):
    """The state of one producer that has not ended."""

    table: str
    number: int
    """The number of the producer. No other producer of the same node ever has the same number."""
    pid: int
    state: str
    """One of: attaching, active, finished (its last rows are being journaled)."""
    rows: int
    """The number of its rows that count; rows of work units count once these are committed."""
    waited: float
    """The time in seconds for which its `append` has waited for memory, for space or for the journal."""
    staging_fill: float
    """The used fraction of the memory of its fullest column, from 0 to 1."""
    counters: dict[str, int] = field(default_factory=dict)
    """What the source of its rows counts, as `Producer.set_counters` said it last, for example "lost_triggers"."""
