"""Keeps the timestamps of a device from jumping back when it starts again, and tells its dead time.

After a restart, the clock of a card often begins at 0. It is then aligned by the host: from the first start of the
device to this one, the host's clock has gone on by so much, with the duration of both calls as uncertainty. Whatever
the host says, the first timestamp after a restart is later than the last one before it.

Cards that see the same marker on a common clock count from it, and so their times agree to one sample.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._devices.board import Board
from thalweg._devices.description import ClockColumn, Description

_MOST = 2**63 - 1


@dataclass
class _Start:
    """A start of the device whose first row is still to come."""

    event: str  # "started" or "reopened"; empty: the first start, which is told already
    text: str
    lost: int | None
    is_dead_before: bool  # the device was to take triggers


class DeviceClock:
    """`before`: what an earlier process of the device has left, as `state` of the recorder's side says it."""

    def __init__(self, description: Description, board: Board, before: dict[str, Any]) -> None:
        self._column: ClockColumn | None = description.clock
        self._board = board
        self._tables = list(description.schema)
        self._origin_ns: float | None = before.get("origin_ns")
        self._uncertainty_ns: float = before.get("uncertainty_ns", 0.0)
        self._lock = threading.Lock()
        board.offset = before.get("offset", 0)
        self._by_host = self._host_uncertainty = 0
        self._uncertainty: int = before.get("uncertainty", 0)
        self._zero: int = before.get("zero", 0)  # what the clock of the card showed where the file has 0
        self._pending: _Start | None = None
        self._fresh: set[str] = set()  # tables without rows since the last start
        self._epoch_begin: int | None = None
        self._live = self._dead = 0
        self.backward = 0  # batches that begin before the end of the one before, without a restart
        for name, last in before.get("last", {}).items():
            board.set_last(self._tables.index(name), last)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that have the clock."""
        return self._column.tables if self._column else ()

    @property
    def _offset(self) -> int:
        return self._board.offset

    @_offset.setter
    def _offset(self, offset: int) -> None:
        self._board.offset = offset

    @property
    def column(self) -> str:
        return self._column.column if self._column else ""

    def last(self) -> int | None:
        """Returns the last timestamp of all tables, as the file has it."""
        return max(
            (it for table in range(len(self._tables)) if (it := self._board.last(table)) is not None), default=None
        )

    def started(
        self,
        before_ns: int,
        after_ns: int,
        card: int | None,
        event: str = "",
        text: str = "",
        lost: int | None = None,
        *,
        is_dead_before: bool = True,
    ) -> None:
        """Notes a start of the device, between these two times of the host. `card`: what its clock showed. Before it
        there was dead time, unless the run was paused."""
        middle_ns, half_ns, at = (before_ns + after_ns) / 2, (after_ns - before_ns) / 2, card or 0
        with self._lock:
            self._end_epoch()
            self._pending = _Start(event, text, lost, is_dead_before)
            self._fresh = set(self._tables)
            if self._column is None:
                return
            per_ns = self._column.per_ns
            is_first = self._origin_ns is None
            if self._origin_ns is None:
                self._origin_ns, self._uncertainty_ns = middle_ns - at / per_ns, half_ns
            if is_first and self._column.marker:
                self._begin_at_marker(card)
                return
            self._by_host = round((middle_ns - self._origin_ns) * per_ns) - at - self._zero
            self._host_uncertainty = round((half_ns + self._uncertainty_ns) * per_ns)
            if self._column.restarts or not self._column.marker:
                self._uncertainty = self._host_uncertainty
            if self._column.restarts:
                last = self.last()
                self._offset = self._by_host if last is None else max(self._by_host, last + 1 - at)

    def _begin_at_marker(self, card: int | None) -> None:
        if card is None:
            raise UsageError("start returned None: return what the clock showed at the marker, as describe says")
        self._zero, self._offset, self._uncertainty = card, -card, 0

    def _end_epoch(self) -> None:
        last = self.last()
        if self._epoch_begin is not None and last is not None:
            self._live += last - self._epoch_begin
        self._epoch_begin = None

    def align(self, table: str, values: Any) -> tuple[Any, dict[str, Any] | None]:
        """Returns the timestamps as the file has them, and what to tell of the start that these rows are the first of.

        The last timestamp is noted before the rows are appended, so that none that is in the file is forgotten.
        """
        stamps = np.asarray(values)
        if self._column is None or not stamps.size or stamps.dtype.kind not in "iu":
            return values, None  # append says what is wrong with them
        told = self.align_range(table, int(stamps.min()), int(stamps.max()))
        if not self._offset:
            return values, told
        aligned = stamps.astype(np.int64) + self._offset  # modulo 2^64
        is_signed = stamps.dtype.kind == "i" or int(stamps.min()) + self._offset < 0
        return aligned if is_signed else aligned.view(np.uint64), told

    def align_range(self, table: str, first: int, most: int) -> dict[str, Any] | None:
        """Aligns rows whose timestamps are in this range. `_board.offset` is then what is to be added to them. Returns
        what to tell of the start that they are the first of. The last timestamp is noted."""
        index = self._tables.index(table)
        with self._lock:
            last = self._board.last(index)
            if table in self._fresh:
                self._fresh.discard(table)
                if last is not None and first + self._offset < last:  # its clock was set back
                    whole = self.last()
                    assert whole is not None
                    self._offset = max(self._by_host, whole + 1 - first)
                    self._uncertainty = self._host_uncertainty
            elif last is not None and first + self._offset < last:
                self.backward += 1
            told = self._first_rows(first + self._offset)
            self._board.set_last(index, min(max(most + self._offset, -_MOST if last is None else last), _MOST))
            return told

    def _first_rows(self, first: int) -> dict[str, Any] | None:
        if self._epoch_begin is None:
            self._epoch_begin = first
        start, self._pending = self._pending, None
        if start is None or not start.event:
            return None
        last = self.last()
        if last is not None and start.is_dead_before:
            self._dead += max(0, first - last)
        return self._told(start) | {"from": last, "until": first}

    def untold(self) -> dict[str, Any] | None:
        """Returns what to tell of a start after which no rows came."""
        with self._lock:
            start, self._pending = self._pending, None
            return None if start is None or not start.event else self._told(start) | {"from": self.last()}

    def _told(self, start: _Start) -> dict[str, Any]:
        lost = {} if start.lost is None else {"lost_triggers": start.lost}
        return {"event": start.event, "text": start.text, **self.state(), **lost}

    def state(self) -> dict[str, Any]:
        """Returns how the clock of the card is aligned, and what a later process needs to go on."""
        if self._column is None:
            return {}
        return {
            "offset": self._offset,
            "uncertainty": self._uncertainty,
            "origin_ns": self._origin_ns,
            "uncertainty_ns": self._uncertainty_ns,
            "zero": self._zero,
        }

    def times_ns(self) -> dict[str, int]:
        """Returns the dead and the live time so far, by the clock of the card."""
        if self._column is None:
            return {}
        with self._lock:
            last = self.last()
            begun = self._epoch_begin
            live = self._live + (last - begun if begun is not None and last is not None else 0)
            per_ns = self._column.per_ns
            return {"dead_time_ns": round(self._dead / per_ns), "live_time_ns": round(max(0, live) / per_ns)}
