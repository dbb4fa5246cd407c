"""Slow streams: tables whose rows are numbers at a time of the day, such as temperatures and fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thalweg

_TIME = "utc"
_NOT_SHOWN = (_TIME, "monotonic", "severity")
_MOST_CELLS = 400
_FIRST_STEP_NS = 1_000_000_000
_DIGITS = 6

Numbers = npt.NDArray[np.float64]


def streams_of(table: Any) -> list[Stream]:
    """Returns a stream for each number of a table, or none if its rows have other things, or no time of the day."""
    schema = table.schema
    if _TIME not in schema or schema[_TIME].unit != "ns" or not all(_is_number(type_) for _, type_ in schema.items()):
        return []
    return [Stream(table.name, column, schema[column].unit) for column in schema if column not in _NOT_SHOWN]


def _is_number(type_: thalweg.Type) -> bool:
    return type_.is_scalar and type_.dtype.kind in "iuf" and not type_.shape


class Stream:
    """The least and the largest value in each piece of time, in as many pieces as a screen shows."""

    def __init__(self, table: str, column: str, unit: str) -> None:
        self.table, self.column, self.unit = table, column, unit
        self.gaps = 0
        """The number of rows that are no number: from there on there is no value."""
        self.newest: tuple[int, float] | None = None
        """The time in ns since 1970, and the value, of the newest row."""
        self._step_ns = _FIRST_STEP_NS
        self._cells: dict[int, tuple[float, float]] = {}
        self._has_news = False

    @property
    def name(self) -> str:
        return self.table if self.column == "value" else f"{self.table}/{self.column}"

    def add(self, times_ns: npt.NDArray[np.int64], values: Numbers) -> None:
        if len(times_ns) == 0:
            return
        self.gaps += int(np.isnan(values).sum())
        last = int(times_ns.argmax())
        if self.newest is None or times_ns[last] >= self.newest[0]:
            self.newest = int(times_ns[last]), float(values[last])
        self._has_news = True
        self._merge(times_ns // self._step_ns, values, values)
        while len(self._cells) > _MOST_CELLS:
            self._coarsen()

    def _merge(self, cells: npt.NDArray[np.int64], low: Numbers, high: Numbers) -> None:
        order = np.argsort(cells, kind="stable")
        cells = cells[order]
        begins = np.flatnonzero(np.diff(cells, prepend=cells[0] - 1))
        lows, highs = np.fmin.reduceat(low[order], begins), np.fmax.reduceat(high[order], begins)
        for cell, least, most in zip(cells[begins].tolist(), lows.tolist(), highs.tolist(), strict=True):
            before = self._cells.get(cell, (np.nan, np.nan))
            self._cells[cell] = float(np.fmin(before[0], least)), float(np.fmax(before[1], most))

    def _coarsen(self) -> None:
        cells = self._cells
        self._step_ns, self._cells = 2 * self._step_ns, {}
        low, high = np.array(list(cells.values())).T
        self._merge(np.array(list(cells)) // 2, low, high)

    def news(self) -> dict[str, Any] | None:
        """Returns what `as_json` does if there are new rows since the last call."""
        has_news, self._has_news = self._has_news, False
        return self.as_json() if has_news else None

    def as_json(self) -> dict[str, Any]:
        """Returns the middles of the pieces of time in seconds since 1970, and the values; null where there is none."""
        cells = sorted(self._cells)
        step_s = self._step_ns * 1e-9
        newest = None if self.newest is None else _shown(self.newest[1])
        return {
            "unit": self.unit,
            "times": [round((cell + 0.5) * step_s, 3) for cell in cells],
            "low": [_shown(self._cells[cell][0]) for cell in cells],
            "high": [_shown(self._cells[cell][1]) for cell in cells],
            "newest": newest,
            "gaps": self.gaps,
        }


def _shown(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None
