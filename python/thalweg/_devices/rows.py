"""Appends the rows of one lane of a device, and shows what the device counts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from thalweg._base.errors import NO_ROOM, SystemError, UsageError  # noqa: A004
from thalweg._base.given import integer_of
from thalweg._base.suggestion import likely, suggestion
from thalweg._devices.clock import DeviceClock
from thalweg._devices.pulses import PulseFeatures
from thalweg._writing.attached import Attached
from thalweg._writing.producer import Producer

_FULL_DISK_PAUSE_S = 0.1
_COUNTER = re.compile(r"[a-z][a-z0-9_]{0,22}")
# Names that reports and files use for something else.
_RESERVED = ("rows", "raw_bytes", "paged_bytes", "stored_bytes", "dead_time_fraction")


class LaneRows:
    """Rows of some tables, from one thread. `happened` tells the recorder of a start."""

    def __init__(
        self,
        run: Attached,
        tables: Iterable[str],
        prefix: str,
        clock: DeviceClock,
        happened: Callable[[dict[str, Any]], None],
        features: PulseFeatures | None = None,
    ) -> None:
        self._producers: dict[str, Producer] = {name: run.producer(prefix + name) for name in tables}
        self._pulses = features.producers(self._producers) if features else {}
        self._clock = clock
        self._happened = happened
        self.waits_for_room = True  # on a full disk

    def append(self, batch: Any) -> None:
        """Appends {table: {column: array}}. Raises UsageError if it does not fit the schema."""
        if not isinstance(batch, Mapping):
            raise UsageError(f"next returned {type(batch).__name__}: return {{table: {{column: array}}}}, or None")
        for table, columns in batch.items():
            producer = self._producers.get(table)
            if producer is None:
                names = ", ".join(self._producers)
                meant = likely(str(table), self._producers)
                meant = meant or f" (there are {names}): return {{table: {{column: array}}}}"
                raise UsageError(f"next returned rows of table '{table}'{meant}")
            if not isinstance(columns, Mapping):
                raise UsageError(
                    f"next returned {type(columns).__name__} for table '{table}': return {{column: array}}"
                )
            clock = self._clock.column
            if clock in columns:
                stamps, started = self._clock.align(table, columns[clock])
                if stamps is not columns[clock]:
                    columns = {**columns, clock: stamps}
                if started:
                    self._happened(started)
            elif not clock and (started := self._clock.untold()):
                self._happened(started)
            if table in self._pulses:
                self._pulses[table].append(columns)
            else:
                self._append(producer, columns)

    def _append(self, producer: Producer, columns: Mapping[str, Any]) -> None:
        while True:
            before = producer.rows
            try:
                return producer.append(columns)
            except SystemError as error:
                if error.errno not in NO_ROOM or not self.waits_for_room:
                    raise
            if taken := producer.rows - before:
                columns = {name: values[taken:] for name, values in columns.items()}
                if not all(map(len, columns.values())):
                    return None
            time.sleep(_FULL_DISK_PAUSE_S)

    def stop_waiting(self) -> None:
        """A full disk is an error from now on."""
        self.waits_for_room = False
        for pulses in self._pulses.values():
            pulses.core.wait_for_no_room()

    def flag_counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yields how many pulses of a table have which flags. From any thread."""
        for table, pulses in self._pulses.items():
            yield table, pulses.counts()

    def restarted(self) -> None:
        """The device was started, and the next rows of each table are the first ones since then."""

    def interrupt(self) -> None:
        """Another thread wants to be alone with the device."""

    def idle(self) -> None:
        """Lets readers see the rows so far, and goes on in the next file if there is one."""
        for producer in self._producers.values():
            producer.follow_rotation()
            producer.idle()

    def count(self, table: str, counters: Mapping[str, int]) -> None:
        self._producers[table].set_counters(counters)

    def has(self, table: str) -> bool:
        return table in self._producers

    def finish(self) -> None:
        for producer in self._producers.values():
            producer.finish()

    @property
    def rows(self) -> int:
        return sum(producer.rows for producer in self._producers.values())


class Counters:
    """What the device has counted since its process began. A number that falls begins again: it is added up."""

    def __init__(self, tables: list[str], before: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
        """before: what earlier processes have counted by table, in "all" files, and in "file", which is the first."""
        self.tables = tables
        self._all, self._of_file = before.get("all", {}), before.get("file", {})
        self._is_in_first = True
        self._seen: dict[str, dict[str, tuple[int, int]]] = {}  # by table and name: of earlier starts, and now

    def leave_file(self) -> None:
        """The run goes on in a file that has no counters of earlier processes."""
        self._is_in_first = False

    def take(self, given: Any) -> None:
        """Takes what `counters` of the device returned. Raises UsageError if it cannot be shown."""
        if not isinstance(given, Mapping):
            raise UsageError(f"counters returned {given!r}: return a dictionary of numbers")
        by_table = given if any(isinstance(value, Mapping) for value in given.values()) else {self.tables[0]: given}
        for table, counters in by_table.items():
            if table not in self.tables:
                raise UsageError(f"counters returned '{table}', which is no table{suggestion(str(table), self.tables)}")
            self.add(table, counters)

    def add(self, table: str, counters: Mapping[Any, Any]) -> None:
        seen = self._seen.setdefault(table, {})
        for name, value in counters.items():
            if not isinstance(name, str) or not _COUNTER.fullmatch(name) or name in _RESERVED:
                raise UsageError(f"a counter of table '{table}' cannot be called {name!r}: use a to z, 0 to 9 and _")
            count = integer_of(value, f"counter '{name}' of table '{table}'")
            before, now = seen.get(name, (0, 0))
            seen[name] = (before + now, count) if count < now else (before, count)

    def shown(self) -> dict[str, dict[str, int]]:
        """Returns what to show, by table."""
        return {table: self._shown(table) for table in self._seen}

    def _shown(self, table: str) -> dict[str, int]:
        own = {name: before + now for name, (before, now) in self._seen[table].items()}
        base = dict(self._all.get(table, {}))
        if self._is_in_first:
            base = {name: value - self._of_file.get(table, {}).get(name, 0) for name, value in base.items()}
        return {name: max(0, base.get(name, 0)) + own.get(name, 0) for name in {**base, **own}}
