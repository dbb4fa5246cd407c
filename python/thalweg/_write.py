"""Runs open for writing: in the process that creates them, and in others that attach."""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

from thalweg import _core
from thalweg._append import Array, columns_of, stored_columns
from thalweg._errors import SystemError, UsageError  # noqa: A004
from thalweg._reports import RunReport, Snapshot, Status, report_of, snapshot_of, status_of
from thalweg._schema import Schema
from thalweg._schema import schema as schema_of
from thalweg._tuning import Value, in_effect, with_codec
from thalweg._work_unit import Key, WorkUnit, begin, stored_key

Path: TypeAlias = "str | os.PathLike[str]"


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

        Raises UsageError naming table, column and row where a value does not fit the schema (no row is taken then),
        or where the producer is finished or was inherited through fork; SystemError where the run cannot go on.
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

    def finish(self) -> None:
        """Writes what it has; it takes no more rows. Does nothing the second time."""
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


def text_of(error: BaseException | None) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class _Producers:
    """The producers that were handed out, to be finished together."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._all: list[Producer] = []

    def make(self, core: _core.Writer | _core.OpenRun, table: str) -> Producer:
        self._schema.index(table)
        self._all.append(Producer(core.producer(table), self._schema, table))
        return self._all[-1]

    def finish(self) -> None:
        while self._all:
            self._all[-1].finish()
            self._all.pop()

    def abandon(self, reason: str) -> None:
        while self._all:
            self._all.pop().abandon(reason)


class Writer:
    """A run open for writing, in the process that created it.

    Leaving its `with` block closes the run; leaving it on an exception abandons it, and `recover` completes it then.
    """

    def __init__(self, core: _core.Writer, metadata: Mapping[str, str]) -> None:
        self._core: _core.Writer | None = core
        self._units: _core.WorkUnits | None = core.work_units()
        self._metadata = dict(metadata)
        self.schema = Schema.from_json(core.schema)
        self._producers = _Producers(self.schema)
        self._pid = os.getpid()
        self._end = ""
        self.path = core.path
        self.engine = core.engine
        """How bytes reach the file, and why so: "io_uring, O_DIRECT", "posix (...)"."""
        self.knobs = in_effect(core.knobs)
        """The knobs in effect, by name: sizes in bytes, times in seconds."""
        self.handle = core.handle
        """What `tw.attach` takes in another process of this machine: a plain string."""

    @property
    def metadata(self) -> dict[str, str]:
        """What is kept with the run, as `create` and `set_metadata` gave it."""
        return dict(self._metadata)

    def set_metadata(self, key: str, value: str) -> None:
        """Adds to the metadata of the file, or changes it. It is written when the run is closed."""
        self._open_core().set_metadata(key, value)
        self._metadata[key] = value

    def producer(self, table: str) -> Producer:
        """One for each thread; `close` finishes those that are not. Raises UsageError where there is no such table."""
        return self._producers.make(self._open_core(), table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """Rows, of any tables, that count together or not at all.

        `with out.work_unit(17) as unit: unit["events"].append(...)` commits them at its end, or drops them.

        key: an integer, or text of at most 64 bytes (str is kept as UTF-8). Of units with the same key the first that
            is committed counts.
        summary: at most 64 KiB, kept with the run and read as `run.units`.

        One thread has one open unit; several threads and processes have as many. Raises UsageError where key or summary
        are too long or the run is closed.
        """
        return begin(self._open_units(), self.schema, key, summary)

    def is_committed(self, key: Key) -> bool:
        """Whether the key of a work unit is taken. (A power cut may still undo the unit; `status` tells.)"""
        return self._open_units().is_committed(stored_key(key))

    def committed_keys(self) -> list[int | bytes]:
        """All keys of work units that are taken, in no order: in all files of the run, where it has several."""
        return self._open_units().committed_keys()

    def status(self) -> Status:
        core = self._open_core()
        return status_of(core.status(), self.schema, core.file_problem())

    def close(self, timeout: float = math.inf) -> RunReport:
        """Finishes the producers of this process, waits for those of others, and completes the file.

        `timeout` is in seconds. Raises SystemError (ETIMEDOUT) naming the producers that did not finish in time: the
        run stays open then. Raises UsageError where the run is closed already.
        """
        core = self._open_core()
        self._producers.finish()
        end = time.monotonic() + timeout
        while True:  # in short waits, between which Python sees a Ctrl-C
            wait = min(0.2, max(0.0, end - time.monotonic()))
            try:
                report = report_of(core.close(int(wait * 1e9)))
            except SystemError as error:
                if error.errno != errno.ETIMEDOUT or time.monotonic() >= end:
                    raise
            else:
                self._core, self._units, self._end = None, None, "closed"
                return report

    def abandon(self, reason: str = "the run was abandoned") -> None:
        """Ends the run without completing the file: `tw.recover` does that. Does nothing in a forked child.

        `reason` is what its report will say of the producers of this process that were not finished.
        """
        if os.getpid() != self._pid or self._core is None:
            return
        self._producers.abandon(reason)
        self._core.abandon()
        self._core, self._units, self._end = None, None, "abandoned"  # which gives up the lock, for `recover`

    def _open_units(self) -> _core.WorkUnits:
        self._open_core()
        assert self._units is not None
        return self._units

    def _open_core(self) -> _core.Writer:
        if os.getpid() != self._pid:
            raise UsageError(
                f"{self.path} belongs to the parent process (it was inherited through fork): "
                "use tw.attach(handle) in the child"
            )
        if self._core is None:
            raise UsageError(f"{self.path} is {self._end}")
        return self._core

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is not None:
            self.abandon(text_of(error))
        elif self._core is not None:
            self.close()

    def __repr__(self) -> str:
        return f"<Writer of {self.path}{f' ({self._end})' if self._end else ''}>"


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
        self._producers = _Producers(self.schema)
        self._units = _core.WorkUnits(core)

    def producer(self, table: str) -> Producer:
        """One for each thread. Raises UsageError where there is no such table or the run is being closed."""
        return self._producers.make(self._core, table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """As `Writer.work_unit`."""
        return begin(self._units, self.schema, key, summary)

    def is_committed(self, key: Key) -> bool:
        """Whether the key of a work unit is taken, by whomever."""
        return self._units.is_committed(stored_key(key))

    def finish(self) -> None:
        """Finishes all producers made here, and writes what committed work units have in memory."""
        self._producers.finish()
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


def create(
    path: Path,
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    force: bool = False,
    resume: bool = False,
    codec: str | None = None,
    metadata: Mapping[str, str] | None = None,
    tuning: Mapping[str, Value] | None = None,
) -> Writer:
    """A new file (HDF5: .h5, .hdf5 or .lh5; ROOT RNTuple: .root), with its journal beside it until it is closed.

    schema: of `tw.schema`, or the dictionary that it takes.
    force: replace a file, or an unfinished run, that is there already.
    resume: go on with an unfinished run, in the same file, after everybody who wrote it has died: its rows stay, and
        `committed_keys` of the result tells which work units need not be done again. No schema is needed; codec, sizes
        of pages and metadata are those of the run.
    codec: in HDF5 "none", "lz4", "bitshuffle+lz4", "shuffle+deflate-1", "bitshuffle+zstd-3", ...; the default is
        bitshuffle+lz4. Stock h5py reads deflate and none, and everything once hdf5plugin is imported. In RNTuple
        "none", "zstd-5", "lz4", "deflate-1" of split and delta encoded values, or "plain+zstd-5" and the like of
        values as they are; the default is zstd-1.
    metadata: kept with the run.
    tuning: `tw.Tuning(...)`, or a dictionary of the same: memory, page sizes, intervals, threads, the way to the disk.

    Raises UsageError where something is there already or an option is wrong, where there is nothing to resume, where it
    is a copy, still being written, or has another schema; SystemError where the place cannot be
    written.
    """
    if schema is None and not resume:
        raise UsageError(f"{os.fspath(path)} cannot be created without a schema: give one, or resume=True")
    given = schema if schema is None or isinstance(schema, Schema) else schema_of(schema)
    options = _core.CreateOptions()
    options.force = force
    with_codec(tuning, codec).apply(options)
    texts = dict(metadata or {})
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"the metadata '{key}' is {value!r}; give a string")
    if resume:
        core = _core.resume(os.fspath(path), given.to_json() if given else None, options)
        return Writer(core, core.metadata)
    assert given is not None
    return Writer(_core.create(os.fspath(path), given.to_json(), options, texts), texts)


def attach(handle: str, *, threads: int | None = None) -> Attached:
    """Opens, for writing by this process, a run that another process created: `handle` is its `Writer.handle`.

    `threads` encode the pages of each producer of this process; 0: the thread that appends does; None: as its creator
    has set the knob.
    Raises UsageError where the run is gone, closed, or on another machine; SystemError where its creator is dead.
    """
    return Attached(_core.attach(handle, threads))


def recover(path: Path) -> RunReport:
    """Completes a run whose processes have died, or that was abandoned, and says what is lost.

    Raises UsageError where there is nothing to recover or the run is still being written, DataError where file and
    journal do not belong together.
    """
    return report_of(_core.recover(os.fspath(path)))


def snapshot(path: Path, out: Path, *, force: bool = False) -> Snapshot:
    """Writes what a running recording has so far into `out`, an ordinary, complete file, and says what it left out.

    The recording is not disturbed. `out` has its name only when it is complete. Rows are counted as `recover` counts
    them; what came in since the last flush may be missing. Raises UsageError where nobody writes a run at `path`, or
    where `out` exists (unless `force`).
    """
    return snapshot_of(os.fspath(path), _core.snapshot(os.fspath(path), os.fspath(out), force))
