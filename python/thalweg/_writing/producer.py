"""Producers, which append rows to one table from one thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Self

from thalweg import _core
from thalweg._append.columns import Array, columns_of, stored_columns
from thalweg._base.errors import SystemError, UsageError, text_of  # noqa: A004
from thalweg._base.given import integer_of, text_of_user
from thalweg._schema.schema import Schema


class Producer:
    """Appends rows to one table. Each thread needs its own producer.

    When its `with` block ends, it is finished. If the block ends with an exception, it is abandoned with that text.
    """

    def __init__(self, core: _core.Producer, schema: Schema, table: str) -> None:
        self._core: _core.Producer | None = core
        self._exact = _core.ExactRows(core)
        self._schema = schema[table]
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._rows = 0

    @property
    def table(self) -> str:
        """The name of its table."""
        return self._schema.name

    @property
    def rows(self) -> int:
        """The number of rows that it has taken."""
        core = self._core
        return self._rows if core is None else core.rows

    @property
    def core(self) -> _core.Producer | None:
        """The producer in the core, for code that appends in C++; None once it is finished."""
        return self._core

    def append(self, rows: Any = None, /, **fields: Any) -> None:
        """Appends one row or, if every value has one more leading axis of the same length, that number of rows.

        Values are numbers, strings, lists, dictionaries (structs), or arrays of NumPy, Awkward, Arrow, pandas or
        polars; lists of different lengths may be a `Ragged`. `rows` gives all fields at once, as a dictionary (names
        may be paths such as "waveform/values"), a structured NumPy array, an Awkward array of records, or a table of
        Arrow, pandas or polars. If all values are empty Python lists, they count as one row. A missing value (None,
        null, masked) fits into an optional column only; NaN and NaT are values.

        Contiguous arrays of the declared type are copied once, or, if they are large enough, encoded where they lie
        (the knob `unbuffered_bytes`). When `append` returns, the rows survive the death of this process. It waits
        while storage is slower than the producers; Ctrl-C interrupts this, and `rows` says how many rows were taken.

        Raises UsageError if a value does not fit the schema, and names table, column and row (no row is taken then), or
        if the producer is finished or was inherited through fork; SystemError if the run cannot go on: then, too,
        `rows` says how many rows were taken. On a full disk, the errno of the SystemError is ENOSPC (or EDQUOT, EFBIG),
        none of these rows is lost, and the producer takes more once the disk has room again.
        """
        given_twice = rows is not None and bool(fields)
        if given_twice or not self._took_exact(fields if rows is None else rows):
            self._append(*columns_of(self._schema, rows, fields))

    def append_columns(self, rows: int, columns: Sequence[Array]) -> None:
        """Appends rows as flat columns. Only the sizes of the columns are checked.

        There is one contiguous array for each scalar, list or string, in the order of the fields, depth first. The
        lengths of a list or string (uint64) come before its elements or its UTF-8 bytes (uint8).
        """
        self._append(rows, stored_columns(self._schema, columns))

    def _took_exact(self, values: Any) -> bool:
        """Returns whether the core took the rows, which it does if no value needs a conversion."""
        self._check_process()
        with self._lock:
            if self._core is None:
                return False
            return self._core.append_exact(self._exact, values)

    def _append(self, count: int, columns: Sequence[Array]) -> None:
        self._check_process()
        with self._lock:
            if self._core is None:
                raise UsageError(f"this producer of table '{self.table}' takes no more rows (it is finished)")
            self._core.append(count, columns)

    def idle(self) -> None:
        """Makes appended rows visible to readers of the open RNTuple.

        Call it now and then while you have nothing to append. It costs almost nothing if there is nothing to do.
        """
        self._check_process()
        with self._lock:
            if self._core is not None:
                self._core.idle()

    def follow_rotation(self) -> None:
        """Goes on in the next file if the run is continued in one, as `append` does.

        Call it now and then while you have nothing to append: the earlier file cannot be closed before each producer
        has left it. Raises SystemError if a write fails, or if the run cannot go on.
        """
        self._check_process()
        with self._lock:
            if self._core is not None:
                self._core.follow_rotation()

    def set_counters(self, counters: Mapping[str, int]) -> None:
        """Shows what the source of the rows has counted since the producer began, for example {"lost_triggers": 5}.

        `status()` of the run and `thalweg record` show them, and `record` keeps them in the file. A name has at most 23
        bytes, and a producer at most 24 counters. Raises UsageError otherwise, or if a number is not 0 to 2^63 - 1.
        """
        self._check_process()
        with self._lock:
            for name, value in counters.items():
                checked = text_of_user(name, "the name of a counter"), integer_of(value, f"counter '{name}'")
                if self._core is not None:
                    self._core.set_counter(*checked)

    def finish(self) -> None:
        """Writes the rows that are still in memory. The producer takes no more rows. A second call does nothing.

        Raises SystemError if a write fails. The rows are not lost: `close` of the run completes the file with them.
        Rows for which a full disk has no room are kept in the same way, without an error.
        """
        self._check_process()
        with self._lock:
            self._rows = self.rows
            core, self._core = self._core, None
            if core is not None:
                core.finish()

    def abandon(self, reason: str = "") -> None:
        """Ends the producer because of an error. Its rows are kept, and the report of the run has the reason.

        It does nothing if the producer is finished.
        """
        with self._lock:
            self._rows = self.rows
            core, self._core = self._core, None
            if core is not None:
                core.abandon(reason)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:  # code that ended with an exception may have used no `with` block
            core.abandon("finish() was not called")

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
        return f"<Producer of table '{self.table}': {self.rows:,} rows>"


class Producers:
    """All producers of a run in this process, to be finished together."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._all: list[Producer] = []

    def make(self, core: _core.Writer | _core.OpenRun | _core.SharedRun, table: str) -> Producer:
        self._schema.index(table)  # raises for an unknown name
        self._all.append(Producer(core.producer(table), self._schema, table))
        return self._all[-1]

    def finish(self) -> None:
        """Finishes all producers. Then it raises the first SystemError of any of them."""
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
