"""Runs that are open for writing, in the process that created them."""

from __future__ import annotations

import errno
import math
import os
import sys
import time
import warnings
import weakref
from collections.abc import Mapping
from typing import Self

from thalweg import _core
from thalweg._base.errors import SystemError, UsageError, text_of  # noqa: A004
from thalweg._base.given import seconds_of, text_of_user
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import in_effect
from thalweg._writing.producer import Producer, Producers
from thalweg._writing.reports import RunReport, Status, report_of, status_of
from thalweg._writing.work_unit import (
    Key,
    UnitTables,
    WorkGroup,
    WorkUnit,
    begin,
    begin_group,
    group_number,
    stored_key,
)


class Writer:
    """A run that is open for writing, in the process that created it.

    When its `with` block ends, the run is closed, and what the file lacks is said on stderr. If the block ends with an
    exception, the run is abandoned, and `recover` can complete it.
    """

    def __init__(self, core: _core.Writer, metadata: Mapping[str, str]) -> None:
        self._core: _core.Writer | None = core
        self._units: _core.WorkUnits | None = core.work_units()
        self._metadata = dict(metadata)
        self.schema = Schema.from_json(core.schema)
        self._producers = Producers(self.schema)
        self._unit_tables = UnitTables(self.schema)
        self._pid = os.getpid()
        self._failures: list[SystemError] = []  # errors of `close`
        self._forgotten = weakref.finalize(self, _abandon_forgotten, core, self._producers, self._pid, self._failures)
        self._end = ""
        self._report: RunReport | None = None
        self._failed_end: SystemError | None = None  # the error of a producer, raised once the file is complete
        self.path = core.path
        self.engine = core.engine
        """The I/O engine, such as "io_uring, O_DIRECT", or "posix (...)" with the reason for it."""
        self.knobs = in_effect(core.knobs)
        """The knobs in effect by name; sizes are in bytes and times in seconds."""
        self.handle = core.handle
        """The text with which `tw.attach` opens the run in another process of this machine."""
        self.node = core.node + 1
        """The number of this node, from 1."""
        self.nodes = core.nodes
        """The number of nodes of the run."""

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the run, from `create` and `set_metadata`."""
        return dict(self._metadata)

    def set_metadata(self, key: str, value: str) -> None:
        """Sets an entry of the metadata. `close` writes it to the file; a run that is not closed does not have it.

        Raises UsageError if key or value is not a UTF-8 text or holds a NUL character, if the key is empty or reserved
        (next_file, previous_file and their ids), or if the run is closed.
        """
        what = f"the metadata {key!a}"
        self._open_core().set_metadata(text_of_user(key, "the key of metadata"), text_of_user(value, what))
        self._metadata[key] = value

    def producer(self, table: str) -> Producer:
        """Returns a producer for a table; each thread needs its own. `close` finishes those that are not finished.

        Raises UnknownNameError if there is no such table, UsageError if the run is closed."""
        return self._producers.make(self._open_core(), table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """Begins a work unit: all its rows, in any tables, count, or none.

        `with out.work_unit(17) as unit: unit["events"].append(...)` commits the rows at the end of the block. If the
        block ends with an exception, the rows are dropped.

        key: an integer of 64 bits, or a text of at most 64 bytes (str is kept as UTF-8). If several units have the same
            key, the first that is committed counts.
        summary: bytes or text of at most 64 KiB that are kept with the unit. `run.units` reads them.

        Each thread has at most one open unit. Raises UsageError if the key or the summary is wrong, or if the run is
        closed.
        """
        return begin(self._open_units(), self._unit_tables, key, summary)

    def work_group(self, number: int) -> WorkGroup:
        """Begins a group of work units with consecutive keys that are committed together, in a run ordered by key.

        Group n has the keys from n * keys_per_group on: `for key in group.keys: with group.work_unit(key) as unit:` ...
        Raises UsageError if the number is wrong, or if the run is not ordered or is closed.
        """
        return begin_group(self._open_units(), self._unit_tables, number)

    def is_group_committed(self, number: int) -> bool:
        """Returns whether a group is committed."""
        return self._open_units().is_group_committed(group_number(number))

    def is_committed(self, key: Key) -> bool:
        """Returns whether a work unit is committed. A power cut may still undo it; see `units_not_durable` of
        `status`."""
        return self._open_units().is_committed(stored_key(key))

    def take_keys(self, key: Key) -> bool:
        """Takes a key for this node, together with its neighbours, in a run whose nodes share keys.

        Returns False if another node has them; they cannot be committed here then. If keys are not shared, it returns
        True.
        """
        return self._open_units().take(stored_key(key))

    def committed_keys(self) -> list[int | bytes]:
        """Returns the keys of all committed work units of the run, in all its files, in no particular order."""
        return self._open_units().committed_keys()

    def status(self) -> Status:
        """Returns the state of the run: producers, sizes, durable lag and failures. Raises UsageError if it is
        closed."""

        core = self._open_core()
        return status_of(core.status(), self.schema, core.file_problem())

    @property
    def report(self) -> RunReport:
        """The report of `close`, also after a `with` block. Raises UsageError if the run is not closed."""
        if self._report is None:
            raise UsageError(f"{self.path} has no report (it is {self._end or 'not closed'})")
        return self._report

    def dead_nodes(self) -> dict[int, str]:
        """Returns the failed nodes without which the run goes on (`on_node_death="continue"`), with the reasons."""
        return {node + 1: why for node, why in self._open_core().dead_nodes().items()}

    def close(self, timeout: float = math.inf) -> RunReport:
        """Finishes the producers of this process, waits for those of other processes, and completes the file.

        timeout: the time in seconds to wait for other processes. The default is no limit.

        A run that is closed already returns its report again. Raises UsageError if the run is abandoned, or if this
        thread has an open work unit; SystemError (ETIMEDOUT) that names the producers that did not finish in time, and
        the run stays open. If a producer of this process could not write its last rows, the file is completed with
        these rows all the same, and a SystemError says so.
        """
        if self._report is not None and os.getpid() == self._pid:
            return self._report
        core = self._open_core()
        end = time.monotonic() + seconds_of(timeout, "timeout")
        try:
            self._producers.finish()
        except SystemError as error:
            self._failed_end = self._failed_end or error
        report = self._close(core, end)
        if self._failed_end is not None:
            raise SystemError(
                self._failed_end.errno, f"{self.path} is complete, but there was an error before ({self._failed_end})"
            ) from self._failed_end
        return report

    def _close(self, core: _core.Writer, end: float) -> RunReport:

        while True:  # it waits for short times, between which Python handles Ctrl-C
            wait = min(0.2, max(0.0, end - time.monotonic()))
            try:
                report = report_of(core.close(int(wait * 1e9)))
            except SystemError as error:
                if error.errno != errno.ETIMEDOUT or time.monotonic() >= end:
                    self._failures.append(error)
                    raise
            else:
                self._report = report
                self._release("closed")
                return report

    def abandon(self, reason: str = "the run was abandoned") -> None:
        """Ends the run without completing the file; `tw.recover` can complete it. It does nothing in a forked child.

        `reason` is kept for the producers of this process that were not finished; the report shows it.
        """
        if os.getpid() != self._pid or self._core is None:
            return
        self._producers.abandon(reason)
        self._core.abandon()
        self._release("abandoned")

    def _release(self, end: str) -> None:
        """Drops the core, which releases the lock, for `recover`."""
        self._forgotten.detach()
        self._core, self._units, self._end = None, None, end

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
            was_open = self._core is not None
            self.abandon(text_of(error))
            if was_open and error is not None:
                error.add_note(
                    f"thalweg: {self.path} is not complete (an exception has left the block of its writer): `thalweg "
                    f"recover {self.path}` completes it. Until the machine restarts, it finds all rows that were "
                    "appended, except those of open work units"
                )
        elif self._core is not None:
            self._say(self.close())

    def _say(self, report: RunReport) -> None:
        """Says what the file lacks: the program does not see the report of a block that ends."""
        if not report.is_whole:
            sys.stderr.write(f"thalweg: {report}\n")

    def __repr__(self) -> str:
        return f"<Writer of {self.path}{f' ({self._end})' if self._end else ''}>"


def _abandon_forgotten(core: _core.Writer, producers: Producers, pid: int, failures: list[SystemError]) -> None:
    """Ends a run whose writer is neither closed nor abandoned when the last reference to it goes, or at exit."""
    if os.getpid() != pid:
        return
    if failures:  # `close` has raised why the run is not complete
        core.abandon()
        return
    message = f"{core.path} is not complete (its writer was not closed): close it, or complete it with tw.recover"
    sys.stderr.write(f"thalweg: {message}\n")
    producers.abandon("finish() was not called")
    core.abandon()
    warnings.warn(message, ResourceWarning, stacklevel=2)
