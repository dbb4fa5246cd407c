"""Producers: rows of one table, from one thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, Self

from thalweg import _core
from thalweg._append.columns import Array, columns_of, stored_columns
from thalweg._base.errors import SystemError, UsageError, text_of  # noqa: A004
from thalweg._schema.schema import Schema


class Producer:
    """Takes rows of one table. One for each thread.

    Leaving its `with` block finishes it; leaving that on an exception abandons it, with the exception's text.
    """

    def __init__(self, core: _core.Producer, schema: Schema, table: str) -> None:
        self._core: _core.Producer | None = core
        self._schema = schema[table]
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._rows = 0

    @property
    def table(self) -> str:
        return self._schema.name

    @property
    def rows(self) -> int:
        """How many rows it has taken."""
        return self._rows

    def append(self, rows: Any = None, /, **fields: Any) -> None:
        """Appends one row, or many: then every value has a leading axis of that length.

        (Where all values are empty lists, they are one row. Arrays, `Ragged` and Awkward leave no doubt.)

        Values are numbers, strings, NumPy arrays, lists, dictionaries (structs), Awkward or Arrow arrays; lists of
        different lengths also `Ragged`. `rows` gives all fields at once: a dictionary (whose names may be
        paths such as "waveform/values"), a structured NumPy array, an Awkward array of records, an Arrow table.
        Contiguous arrays of the declared type are copied once. The rows are safe from the death of this process when
        `append` returns. It waits while storage is slower than its producers; Ctrl-C interrupts that.

        Raises UsageError naming table, column and row if a value does not fit the schema (no row is taken then),
        or if the producer is finished or was inherited through fork; SystemError if the run cannot go on.
        On a full disk it raises SystemError with errno ENOSPC (EDQUOT, EFBIG): `rows` tells how many rows the producer
        has taken, none of which is lost, and it takes more once there is room again.
        """
        self._append(*columns_of(self._schema, rows, fields))

    def append_columns(self, rows: int, columns: Sequence[Array]) -> None:
        """Appends rows as flat columns, of which nothing is checked but their sizes.

        There is one contiguous array for each scalar or list, in the order of the fields, depth first: a list's lengths
        (uint64) come before what all its elements hold; the characters of strings are uint8.
        """
        self._append(rows, stored_columns(self._schema, columns))

    def _append(self, count: int, columns: Sequence[Array]) -> None:
        self._check_process()
        with self._lock:
            if self._core is None:
                raise UsageError(f"table '{self.table}' takes no more rows from this producer (it is finished)")
            try:
                self._core.append(count, columns)
            finally:
                self._rows = self._core.rows

    def idle(self) -> None:
        """Nothing comes at present: whoever looks at the open RNTuple shall see what was appended, as if more had come.

        To be called now and then by who has nothing to append for long; it costs nothing where there is nothing to do.
        """
        self._check_process()
        with self._lock:
            if self._core is not None:
                self._core.idle()

    def finish(self) -> None:
        """Writes what it has; it takes no more rows. Does nothing the second time.

        Raises SystemError if a write has failed. The rows are not lost: `close` of the run completes the file with
        them. What a full disk has no room for now is kept in the same way, without an error.
        """
        self._check_process()
        with self._lock:
            core, self._core = self._core, None
            if core is not None:
                core.finish()

    def abandon(self, reason: str = "") -> None:
        """Takes no more rows; those it has taken are kept, and the run's report says that it was abandoned, and why.

        Does nothing where it is finished.
        """
        with self._lock:
            core, self._core = self._core, None
            if core is not None:
                core.abandon(reason)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:  # a worker that ended on an exception may have had no `with` block
            core.abandon("nobody finished it")

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise UsageError(
                f"this producer of table '{self.table}' belongs to the parent process (it was inherited through fork): "
                "use tw.attach(handle) in the child"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon(text_of(error))

    def __repr__(self) -> str:
        return f"<Producer of table '{self.table}': {self.rows} rows>"


class Producers:
    """The producers that were handed out, to be finished together."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._all: list[Producer] = []

    def make(self, core: _core.Writer | _core.OpenRun, table: str) -> Producer:
        self._schema.index(table)
        self._all.append(Producer(core.producer(table), self._schema, table))
        return self._all[-1]

    def finish(self) -> None:
        """Raises the first SystemError of any of them once all have ended."""
        failed: SystemError | None = None
        while self._all:
            try:
                self._all[-1].finish()
            except SystemError as error:
                failed = failed or error
            self._all.pop()
        if failed is not None:
            raise failed

    def abandon(self, reason: str) -> None:
        while self._all:
            self._all.pop().abandon(reason)
