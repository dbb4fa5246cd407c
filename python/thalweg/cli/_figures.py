"""Pulses, energy spectra and rates as one PNG."""

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thalweg.cli._signals import Signals

_COLOURS = [
    "#1f6f9f",
    "#d9792b",
    "#3d8f5f",
    "#b3434a",
    "#7a63a8",
    "#7d6b5d",
    "#c26ba0",
    "#6f7378",
    "#a89b2d",
    "#3a9ca6",
]
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": "#333333",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8e8e8",
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "legend.frameon": False,
    "legend.fontsize": 8,
}
_POINTS = 4000  # more cannot be seen


def draw(path: Path, title: str, tables: list[Signals], panels: list[str], pulses: int, rows: int) -> None:
    with mpl.rc_context(STYLE):
        grids = [panel for panel in panels if panel != "pulses"]
        drawn = [table for table in tables if table.can_show("pulses")] if "pulses" in panels else []
        columns = min(3, len(drawn)) or 1
        pulse_rows = math.ceil(len(drawn) / columns)
        heights = [1.9 * pulse_rows] * bool(drawn) + [2.9] * bool(grids)
        figure = Figure(figsize=(10, sum(heights) + 0.6), layout="constrained", dpi=150)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        parts = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        if drawn:
            _draw_pulses(next(parts).subplots(pulse_rows, columns, squeeze=False, sharex=True), drawn, pulses)
        if grids:
            for axes, panel in zip(next(parts).subplots(1, len(grids), squeeze=False)[0], grids, strict=True):
                shown = [table for table in tables if table.can_show(panel)]
                _draw_spectrum(axes, shown, rows) if panel == "spectrum" else _draw_rates(axes, shown)
        figure.savefig(path)


def _draw_pulses(grid: Any, tables: list[Signals], count: int) -> None:
    in_ns = all(table.has_time_axis() for table in tables)
    longest_ns = max((pulse.times[-1] for pulse in tables[0].pulses(1) if len(pulse.times)), default=0.0)
    unit, scale = ("µs", 1000) if longest_ns > 5000 else ("ns", 1)
    for index, axes in enumerate(grid.flat):
        if index >= len(tables):
            axes.set_visible(False)
            continue
        table = tables[index]
        for number, pulse in enumerate(table.pulses(count)):
            times = pulse.times / scale if in_ns else np.arange(len(pulse.values))
            step = max(1, len(times) // _POINTS)
            fade = 1 - 0.7 * number / max(1, count)
            axes.plot(times[::step], pulse.values[::step], lw=0.7, color=colour(index), alpha=fade)
        axes.set_title(table.name)
        axes.margins(x=0)
        if index % grid.shape[1] == 0:
            axes.set_ylabel(table.sample_unit or "sample value")
        if index >= len(tables) - grid.shape[1]:
            axes.set_xlabel(f"time ({unit})" if in_ns else "sample")
            axes.tick_params(labelbottom=True)


def _draw_spectrum(axes: Axes, tables: list[Signals], rows: int) -> None:
    spectra = {table.name: table.energies(rows) for table in tables}
    together = np.concatenate(list(spectra.values()))
    low, high = np.quantile(together, [0.0, 0.999])
    edges = np.linspace(min(low, 0), high * 1.05 if high > 0 else 1, _bins(len(together) // len(tables)))
    for index, (name, energies) in enumerate(spectra.items()):
        axes.stairs(np.histogram(energies, edges)[0], edges, color=colour(index), lw=1.0, label=name)
    unit = tables[0].sample_unit
    axes.set_title("Energy spectrum")
    axes.set_xlabel(f"pulse integral above baseline ({f'{unit} · ' if unit else ''}samples)")
    axes.set_ylabel("records per bin")
    axes.set_xlim(edges[0], edges[-1])
    axes.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
    _legend(axes, tables)


def _draw_rates(axes: Axes, tables: list[Signals]) -> None:
    times = {table.name: table.times() for table in tables}
    known = all(table.timestamp_s for table in tables)
    longest = max(float(each.max()) for each in times.values()) or 1.0
    fewest = min(len(each) for each in times.values())
    edges = np.linspace(0, longest, min(101, max(11, fewest // 50)))
    unit, scale = _time_unit(longest) if known else ("timestamp units", 1.0)
    for index, (name, each) in enumerate(times.items()):
        rates = np.histogram(each, edges)[0] / np.diff(edges)
        axes.stairs(rates, edges * scale, color=colour(index), lw=1.2, label=name, baseline=None)
    axes.set_title("Trigger rate")
    axes.set_xlabel(f"timestamp since the first record ({unit}, by the clock of the source)")
    axes.set_ylabel("records per second" if known else "records per unit")
    axes.set_xlim(0, longest * scale)
    axes.set_ylim(bottom=0)
    _legend(axes, tables)


def _legend(axes: Axes, tables: list[Signals]) -> None:
    if len(tables) > 1:
        axes.legend(ncols=2 if len(tables) > 6 else 1, handlelength=1.2)


def _time_unit(longest_s: float) -> tuple[str, float]:
    for unit, scale in (("µs", 1e6), ("ms", 1e3), ("s", 1.0)):
        if longest_s * scale < 1000:
            return unit, scale
    return ("s", 1.0) if longest_s < 7200 else ("h", 1 / 3600)


def _bins(count: int) -> int:
    return max(11, min(401, int(2 * math.sqrt(count))))


def colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]
