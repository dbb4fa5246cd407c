"""Runs that are open for writing in a process that did not create them."""

from __future__ import annotations

from typing import Self

from thalweg import _core
from thalweg._base.errors import text_of
from thalweg._base.given import MOST_THREADS, integer_of, text_of_user
from thalweg._schema.schema import Schema
from thalweg._writing.producer import Producer, Producers
from thalweg._writing.work_unit import Key, UnitTables, WorkGroup, WorkUnit, begin, begin_group, stored_key


class Attached:
    """A run, open for writing, that another process created.

    When its `with` block ends, the producers made here are finished. If it ends with an exception, they are abandoned,
    and the report of the run has the text of the exception.
    """

    def __init__(self, core: _core.OpenRun) -> None:
        self._core = core
        self.schema = Schema.from_json(core.schema)
        self.path = core.path
        self.threads = core.threads
        """The number of threads that encode pages for each producer of this process; 0: the thread that appends."""
        self._producers = Producers(self.schema)
        self._unit_tables = UnitTables(self.schema)
        self._units = _core.WorkUnits(core)

    def producer(self, table: str) -> Producer:
        """Returns a producer for a table; each thread needs its own.

        Raises UnknownNameError if there is no such table, UsageError if the run is being closed."""
        return self._producers.make(self._core, table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """Begins a work unit, as `Writer.work_unit` does."""
        return begin(self._units, self._unit_tables, key, summary)

    def work_group(self, number: int) -> WorkGroup:
        """Begins a work group, as `Writer.work_group` does."""
        return begin_group(self._units, self._unit_tables, number)

    def is_group_committed(self, number: int) -> bool:
        """Returns whether a group is committed, by any process."""
        return self._units.is_group_committed(number)

    def is_committed(self, key: Key) -> bool:
        """Returns whether a work unit is committed, by any process."""
        return self._units.is_committed(stored_key(key))

    def take_keys(self, key: Key) -> bool:
        """Takes keys for this node, as `Writer.take_keys` does."""
        return self._units.take(stored_key(key))

    @property
    def open_run(self) -> _core.OpenRun:
        """The run in the core; derivations use it to keep columns."""
        return self._core

    def finish(self) -> None:
        """Finishes all producers made here, and writes the rows of committed work units that are still in memory."""
        try:
            self._producers.finish()
        finally:
            self._units.finish()

    def __enter__(self) -> Self:
        return self

    def abandon(self, reason: str = "") -> None:
        """Abandons all producers made here, as `Producer.abandon` does. Open work units are dropped."""
        self._producers.abandon(reason)
        self._units.abandon(reason)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon(text_of(error))

    def __repr__(self) -> str:
        return f"<Attached to {self.path}>"


def attach(handle: str, *, threads: int | None = None) -> Attached:
    """Opens a run that another process of this machine created, so that this process can write to it.

    handle: the `Writer.handle` of the run.
    threads: the number of threads that encode pages for each producer of this process; 0: the thread that appends.
        The default is the knob `threads` of the run.

    Raises UsageError if the run is gone, closed, or on another machine; SystemError if its creator is dead.
    """
    count = None if threads is None else integer_of(threads, "threads", most=MOST_THREADS)
    return Attached(_core.attach(text_of_user(handle, "the handle"), count))
