"""Runs open for writing: in the process that creates them, and in others that attach."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from thalweg import _core
from thalweg._base.errors import SystemError, UsageError, text_of  # noqa: A004
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import in_effect
from thalweg._writing.producer import Producer, Producers
from thalweg._writing.work_unit import Key, WorkGroup, WorkUnit, begin, begin_group, stored_key

if TYPE_CHECKING:  # and imported where they are needed, so that `import thalweg` takes less time
    from thalweg._writing.reports import RunReport, Status


class Writer:
    """A run open for writing, in the process that created it.

    Leaving its `with` block closes the run; leaving it on an exception abandons it, and `recover` completes it then.
    """

    def __init__(self, core: _core.Writer, metadata: Mapping[str, str]) -> None:
        self._core: _core.Writer | None = core
        self._units: _core.WorkUnits | None = core.work_units()
        self._metadata = dict(metadata)
        self.schema = Schema.from_json(core.schema)
        self._producers = Producers(self.schema)
        self._pid = os.getpid()
        self._end = ""
        self._failed_end: SystemError | None = None  # of a producer, before the file is complete
        self.path = core.path
        self.engine = core.engine
        """How bytes reach the file, and why so: "io_uring, O_DIRECT", "posix (...)"."""
        self.knobs = in_effect(core.knobs)
        """The knobs in effect, by name: sizes in bytes, times in seconds."""
        self.handle = core.handle
        """What `tw.attach` takes in another process of this machine: a plain string."""
        self.node = core.node + 1
        """Which of the `nodes` this is, from 1."""
        self.nodes = core.nodes

    @property
    def metadata(self) -> dict[str, str]:
        """What is kept with the run, as `create` and `set_metadata` gave it."""
        return dict(self._metadata)

    def set_metadata(self, key: str, value: str) -> None:
        """Adds to the metadata of the file, or changes it. `close` writes it: a run that was not closed is without it.

        Raises UsageError where the key is empty, key or value are no UTF-8 text or hold a NUL character, the key is one
        of those that files which continue each other have (next_file, previous_file), or the run is closed.
        """
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

    def work_group(self, number: int) -> WorkGroup:
        """Work units of consecutive keys that are committed together, in a run that is ordered by key.

        Group n has the keys from n * keys_per_group on: `for key in group.keys: with group.work_unit(key) as unit:` ...
        Raises UsageError where the run is not ordered, or closed.
        """
        return begin_group(self._open_units(), self.schema, number)

    def is_group_committed(self, number: int) -> bool:
        """Whether the number of a group is taken."""
        return self._open_units().is_group_committed(number)

    def is_committed(self, key: Key) -> bool:
        """Whether the key of a work unit is taken. (A power cut may still undo the unit; `status` tells.)"""
        return self._open_units().is_committed(stored_key(key))

    def take_keys(self, key: Key) -> bool:
        """Of several nodes that share keys: takes `key` for this node, with those that are taken together with it.

        False where another node has them; then none of them can be committed here. True always where keys are not
        shared.
        """
        return self._open_units().take(stored_key(key))

    def committed_keys(self) -> list[int | bytes]:
        """All keys of work units that are taken, in no order: in all files of the run, where it has several."""
        return self._open_units().committed_keys()

    def status(self) -> Status:
        from thalweg._writing.reports import status_of

        core = self._open_core()
        return status_of(core.status(), self.schema, core.file_problem())

    def dead_nodes(self) -> dict[int, str]:
        """Nodes, from 1, without which the others go on (`on_node_death="continue"`), and why they count as dead."""
        return {node + 1: why for node, why in self._open_core().dead_nodes().items()}

    def close(self, timeout: float = math.inf) -> RunReport:
        """Finishes the producers of this process, waits for those of others, and completes the file.

        `timeout` is in seconds. Raises SystemError (ETIMEDOUT) naming the producers that did not finish in time: the
        run stays open then. Raises UsageError if the run is closed already, or this thread has a work unit open.
        If a producer of this process could not write its last rows, the file is completed with these rows all the same,
        and SystemError says so afterwards.
        """
        core = self._open_core()
        try:
            self._producers.finish()
        except SystemError as error:
            self._failed_end = self._failed_end or error
        report = self._close(core, time.monotonic() + timeout)
        if self._failed_end is not None:
            raise SystemError(
                self._failed_end.errno, f"{self.path} is complete, and an error came before that ({self._failed_end})"
            ) from self._failed_end
        return report

    def _close(self, core: _core.Writer, end: float) -> RunReport:
        from thalweg._writing.reports import report_of

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
