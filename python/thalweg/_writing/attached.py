"""Runs that are open for writing in other processes than the one that created them."""

from __future__ import annotations

from typing import Self

from thalweg import _core
from thalweg._base.errors import text_of
from thalweg._schema.schema import Schema
from thalweg._writing.producer import Producer, Producers
from thalweg._writing.work_unit import Key, WorkGroup, WorkUnit, begin, begin_group, stored_key


class Attached:
    """A run that another process created.

    Leaving its `with` block finishes the producers made here; leaving that on an exception abandons them, with the
    exception's text, which the report of the run has then.
    """

    def __init__(self, core: _core.OpenRun) -> None:
        self._core = core
        self.schema = Schema.from_json(core.schema)
        self.path = core.path
        self.threads = core.threads
        """That encode the pages of each producer of this process; 0: the thread that appends does."""
        self._producers = Producers(self.schema)
        self._units = _core.WorkUnits(core)

    def producer(self, table: str) -> Producer:
        """One for each thread. Raises UsageError where there is no such table or the run is being closed."""
        return self._producers.make(self._core, table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """As `Writer.work_unit`."""
        return begin(self._units, self.schema, key, summary)

    def work_group(self, number: int) -> WorkGroup:
        """As `Writer.work_group`."""
        return begin_group(self._units, self.schema, number)

    def is_group_committed(self, number: int) -> bool:
        """Whether the number of a group is taken, by whomever."""
        return self._units.is_group_committed(number)

    def is_committed(self, key: Key) -> bool:
        """Whether the key of a work unit is taken, by whomever."""
        return self._units.is_committed(stored_key(key))

    def take_keys(self, key: Key) -> bool:
        """As `Writer.take_keys`."""
        return self._units.take(stored_key(key))

    @property
    def open_run(self) -> _core.OpenRun:
        """The core's part of it, of which derivations ask which columns they may keep."""
        return self._core

    def finish(self) -> None:
        """Finishes all producers made here, and writes what committed work units have in memory."""
        try:
            self._producers.finish()
        finally:
            self._units.finish()

    def __enter__(self) -> Self:
        return self

    def abandon(self, reason: str = "") -> None:
        """Abandons all producers made here, as `Producer.abandon` does; an open work unit does not count."""
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
    """Opens, for writing by this process, a run that another process created: `handle` is its `Writer.handle`.

    `threads` encode the pages of each producer of this process; 0: the thread that appends does; None: as its creator
    has set the knob.
    Raises UsageError where the run is gone, closed, or on another machine; SystemError where its creator is dead.
    """
    return Attached(_core.attach(handle, threads))
