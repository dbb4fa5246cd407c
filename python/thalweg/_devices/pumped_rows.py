"""Rows of one lane of a source in C, which the core takes and appends without Python in between (`lane_pump.h`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._devices.board import Board
from thalweg._devices.clock import DeviceClock
from thalweg._devices.pulses import PulseFeatures
from thalweg._devices.rows import LaneRows
from thalweg._writing.attached import Attached
from thalweg.sources import DeviceLost, Overflow

_TURN_S = 0.05  # how long the core goes on before Python looks again


class PumpedRows(LaneRows):
    """`order`: the tables of the device, as its batches number them."""

    def __init__(
        self,
        device: Any,
        lane: int,
        order: list[str],
        board: Board,
        run: Attached,
        tables: Iterable[str],
        prefix: str,
        clock: DeviceClock,
        happened: Callable[[dict[str, Any]], None],
        features: PulseFeatures | None = None,
    ) -> None:
        super().__init__(run, tables, prefix, clock, happened, features)
        self._order = order
        self._counts: dict[str, Mapping[str, int]] = {}
        pumped = [
            (order.index(name), core, clock.column if name in clock.tables else "", self._core_of_pulses(name))
            for name, producer in self._producers.items()
            if (core := producer.core) is not None
        ]
        self._pump = _core.make_lane_pump(device.thalweg_device, lane, board.memory, board.places(lane), pumped)

    def _core_of_pulses(self, table: str) -> _core.PulseProducer | None:
        return self._pulses[table].core if table in self._pulses else None

    def take(self, device: Any, timeout_s: float, limit_s: float) -> bool:
        """Takes rows for some time. Returns whether there were any."""
        self._show_counts()
        turn = device.turn(self._pump, timeout_s, limit_s, _TURN_S)
        self._clock.backward += turn.backward
        if turn.end == _core.PumpEnd.fresh:
            self._append_first()
        elif turn.end == _core.PumpEnd.ended:
            raise StopIteration
        elif turn.end == _core.PumpEnd.overflow:
            raise Overflow(turn.text, lost=turn.lost)
        elif turn.end == _core.PumpEnd.lost:
            raise DeviceLost(turn.text)
        elif turn.end == _core.PumpEnd.refused:
            raise UsageError(turn.text)
        return bool(turn.took_rows)

    def _append_first(self) -> None:
        """Appends the first rows of a table since the last start of the device."""
        held = self._pump.held
        if held.has_clock:
            started = self._clock.align_range(self._order[held.table], held.first, held.last)
            if started:
                self._happened(started)
        self._pump.append_held()

    def restarted(self) -> None:
        self._pump.restarted()

    def interrupt(self) -> None:
        self._pump.interrupt()

    def stop_waiting(self) -> None:
        super().stop_waiting()
        self._pump.wait_for_no_room()

    def count(self, table: str, counters: Mapping[str, int]) -> None:
        """Shows counters after the next turn: the producer belongs to the thread of the lane."""
        self._counts[table] = counters

    def _show_counts(self) -> None:
        while self._counts:
            table, counters = self._counts.popitem()
            self._producers[table].set_counters(counters)

    def finish(self) -> None:
        self._show_counts()
        super().finish()
