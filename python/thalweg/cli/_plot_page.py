"""The page of `thalweg serve` that draws one waveform of a run, over its time axis."""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from html import escape
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

import thalweg
from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg.cli._find_signals import signals_of
from thalweg.cli._pulses import Array
from thalweg.cli._signals import Pulse, Signals

_MOST_OPEN = 8
_WIDTH, _HEIGHT = 960, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 15, 50  # of the room around the curve
_TICKS = 6  # about
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }}
svg {{ font: 13px system-ui, sans-serif; fill: #444 }} polyline {{ fill: none; stroke: #1f6f9f; stroke-width: 1.2 }}
line {{ stroke: #e0e0e0 }} rect {{ fill: none; stroke: #888 }} a, b {{ margin-right: 1em }}
</style></head><body>
<h1>{title}</h1>
<p>{tables}</p>
{picture}
<p>{rows}</p>
<p><a href="/">all runs</a></p>
</body></html>
"""


class Plots:
    """Draws waveforms of images. Reads the rows that it draws, and no others. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, tuple[_core.FileImage, thalweg.Run]] = OrderedDict()

    def page(self, image: _core.FileImage, address: str, name: str, table: str, row: str) -> str:
        """Raises UsageError if there is no such table or row, and Error if the image cannot be read.

        `address`: the page's own, without a query. `table` and `row` may be empty: the first table that has waveforms,
        and its last row."""
        run = self._run(image, address)
        found = {each: signals for each in run if (signals := signals_of(run[each])) and signals.waveform}
        if not found:
            return _PAGE.format(title=escape(name), tables="", picture="<p>It has no waveforms.</p>", rows="")
        if table and table not in found:
            raise UsageError(f"{name} has no table '{table}' with waveforms (it has {', '.join(found)})")
        signals = found[table or next(iter(found))]
        links = [f"<b>{escape(each)}</b>" if each == signals.name else _link(address, each, "", each) for each in found]
        count = len(signals.table)
        if not count and not row:
            picture, rows = "<p>There are no rows yet.</p>", ""
        else:
            number = _row_of(row, count, f"{name}, table '{signals.name}'")
            picture = _picture(signals, signals.pulse(number))
            rows = _rows(address, signals.name, number, count)
        return _PAGE.format(title=escape(name), tables=" ".join(links), picture=picture, rows=rows)

    def _run(self, image: _core.FileImage, address: str) -> thalweg.Run:
        """Returns what an image holds. The last ones stay open: their pages are known then."""
        with self._lock:
            kept = self._runs.pop(address, None)
            run = kept[1] if kept and kept[0] is image else thalweg.open(_ImageFile(image, address))
            self._runs[address] = image, run
            while len(self._runs) > _MOST_OPEN:
                self._runs.popitem(last=False)
            return run


class _ImageFile(io.RawIOBase):
    """An image as a file object. One thread uses it at a time."""

    def __init__(self, image: _core.FileImage, name: str) -> None:
        super().__init__()
        self._image, self.name, self._position = image, name, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._image.read_into(self._position, buffer)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        begins = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._image.size}
        self._position = begins[whence] + offset
        return self._position


def _row_of(row: str, count: int, where: str) -> int:
    if not row:
        return count - 1
    if not (row.isascii() and row.isdigit() and len(row) < 19 and int(row) < count):
        raise UsageError(f"{where} has no row {row!r} (it has {count}, from 0 on)")
    return int(row)


def _link(address: str, table: str, row: int | str, text: str) -> str:
    query = f"table={quote(table, safe='')}" + (f"&row={row}" if row != "" else "")
    return f'<a href="{escape(address)}?{escape(query)}">{escape(text)}</a>'


def _rows(address: str, table: str, row: int, count: int) -> str:
    links = [f"<b>row {row:,} of {count:,}</b>"]
    places = {"first": 0, "previous": row - 1, "next": row + 1, "last": count - 1}
    links += [_link(address, table, place, text) for text, place in places.items() if 0 <= place < count]
    return " ".join(links)


def _picture(signals: Signals, pulse: Pulse) -> str:
    times, values = pulse.times, pulse.values
    keep = np.isfinite(values)
    times, values = times[keep], values[keep]
    if not len(values):
        return "<p>This waveform has no samples.</p>"
    scale, unit = (1e3, "µs") if pulse.has_times and np.ptp(times) > 5000 else (1.0, "ns")
    label = f"time ({unit})" if pulse.has_times else "sample"
    x = _Axis(times / (scale if pulse.has_times else 1.0), _LEFT, _WIDTH - _RIGHT)
    y = _Axis(values, _HEIGHT - _BOTTOM, _TOP)
    shown = _outline(len(values), values)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.places[shown], y.places[shown], strict=True))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img">',
        *(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
            f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{text}</text>'
            for at, text in x.ticks()
        ),
        *(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'
            for at, text in y.ticks()
        ),
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" height="{_HEIGHT - _TOP - _BOTTOM}"/>',
        f'<polyline points="{points}"/>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{label}</text>',
        f'<text x="4" y="{_TOP + 4}">{escape(signals.sample_unit or "value")}</text>',
        "</svg>",
    ]
    return "\n".join(parts)


def _outline(count: int, values: Array) -> npt.NDArray[np.int64]:
    """Returns which samples to draw: where several fall on one column of the picture, the lowest and the highest."""
    columns = _WIDTH
    if count <= 4 * columns:
        return np.arange(count, dtype=np.int64)
    ends = np.linspace(0, count, columns + 1).astype(int)
    kept = {0, count - 1}
    for begin, end in pairwise(ends):
        kept |= {int(begin + np.argmin(values[begin:end])), int(begin + np.argmax(values[begin:end]))}
    return np.array(sorted(kept), np.int64)


class _Axis:
    """The places of values in the picture, in pixels."""

    def __init__(self, values: Array, begin: float, end: float) -> None:
        self._low, self._high = float(values.min()), float(values.max())
        if self._low == self._high:
            self._low, self._high = self._low - 1, self._high + 1
        self._begin, self._end = begin, end
        self.places = self._place(values)

    def ticks(self) -> list[tuple[float, str]]:
        step = 10.0 ** np.floor(np.log10((self._high - self._low) / _TICKS))
        step *= next(each for each in (1, 2, 5, 10) if (self._high - self._low) / (step * each) <= _TICKS)
        at = np.arange(np.ceil(self._low / step), np.floor(self._high / step) + 1) * step + 0.0  # no -0
        return [(float(place), f"{value:.10g}") for place, value in zip(self._place(at), at, strict=True)]

    def _place(self, values: Array) -> Array:
        return self._begin + (values - self._low) / (self._high - self._low) * (self._end - self._begin)
