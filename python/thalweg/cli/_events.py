"""Draws the events of a readout as one PNG: fragment sizes, latencies, build times and states."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, StrMethodFormatter

import thalweg
from thalweg.cli._figures import STYLE, colour

PANELS = ["fragment sizes", "latencies", "build times", "states"]
_STATES = {0: "complete", 1: "incomplete", 4: "evicted"}
_BATCH_ROWS = 256
_MOST_DATA_BYTES = 128 << 20  # fragment data to read at most: sizes are known only once the data are read
_MOST_SOURCES = 8
_BINS = 80
_COUNTS = StrMethodFormatter("{x:,.0f}")
_SECONDS = EngFormatter("s")

Numbers = npt.NDArray[Any]


def is_events(table: thalweg.Table) -> bool:
    needed = {"state", "latency", "fragments/source_id", "fragments/build_us", "fragments/data"}
    return table.name == "events" and needed <= set(table.columns)


def draw_events(path: Path, title: str, table: thalweg.Table, rows: int) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 6.4), layout="constrained", dpi=150)
        figure.suptitle(f"{title}: {len(table):,} events", x=0.01, ha="left", fontsize=11, fontweight="bold")
        sizes, latencies, builds, states = figure.subplots(2, 2).flat
        _draw_sizes(sizes, table, rows)
        _draw_times(latencies, table.read(["latency"])["latency"], "From the request to the last fragment", "events")
        times = table.read(["fragments/build_us"])["fragments"].content["build_us"]
        _draw_times(builds, times, "From a fragment's first packet to its closing", "fragments")
        _draw_states(states, table.read(["state"])["state"])
        figure.savefig(path)


def _draw_sizes(axes: Axes, table: thalweg.Table, rows: int) -> None:
    sources, sizes = _sizes(table, rows)
    names, counts = np.unique(sources, return_counts=True)
    edges = _edges(sizes)
    by_source = len(names) <= _MOST_SOURCES
    below = np.zeros(len(edges) - 1, np.int64)
    for index, name in enumerate(names if by_source else [None]):
        chosen = sizes if name is None else sizes[sources == name]
        label = f"all {len(names)} sources" if name is None else f"source {int(name):#x}"
        above = below + np.histogram(chosen, edges)[0]  # stacked, because sources are often alike
        axes.stairs(above, edges, baseline=below, fill=True, color=colour(index), alpha=0.85, label=label)
        below = above
    axes.set_title(f"Fragment sizes (of the first {int(counts.max(initial=0)):,} events)")
    axes.set_xlabel("bytes, with the header")
    axes.set_ylabel("fragments per bin")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(_COUNTS)
    if len(names):
        axes.legend(handlelength=1.2)


def _sizes(table: thalweg.Table, rows: int) -> tuple[Numbers, Numbers]:
    sources: list[Numbers] = [np.empty(0, np.uint32)]
    sizes: list[Numbers] = [np.empty(0, np.int64)]
    data_bytes = 0
    for first in range(0, min(rows, len(table)), _BATCH_ROWS):
        stretch = slice(first, min(first + _BATCH_ROWS, rows, len(table)))
        content = table.read(["fragments/source_id", "fragments/data"], rows=stretch)["fragments"].content
        sources.append(content["source_id"])
        sizes.append(content["data"].lengths)
        data_bytes += int(sizes[-1].sum())
        if data_bytes > _MOST_DATA_BYTES:
            break
    return np.concatenate(sources), np.concatenate(sizes)


def _draw_times(axes: Axes, microseconds: Numbers, title: str, what: str) -> None:
    """Draws a histogram of times. Both axes are logarithmic if the tail is long, since the tail is what matters."""
    times = np.maximum(np.asarray(microseconds, np.float64), 0.1) * 1e-6
    axes.set_title(title)
    axes.set_ylabel(f"{what} per bin")
    if not len(times):
        return
    median, late, last = np.quantile(times, [0.5, 0.99, 1.0])
    is_long = last > 20 * median
    edges = np.geomspace(times.min() * 0.9, last * 1.1, _BINS + 1) if is_long else _edges(times)
    axes.stairs(np.histogram(times, edges)[0], edges, fill=True, color=colour(0), alpha=0.85)
    if is_long:
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_formatter(_COUNTS)
    axes.xaxis.set_major_formatter(_SECONDS)
    for value, name, style in ((median, "median", "--"), (late, "99 %", ":")):
        axes.axvline(value, color="#333333", lw=0.9, ls=style, label=f"{name}: {_in_words(value)}")
    axes.legend(handlelength=1.6)


def _draw_states(axes: Axes, states: Numbers) -> None:
    counts = np.bincount(states, minlength=5)
    names = [name for state, name in _STATES.items() if counts[state] or state < 2]
    values = [int(counts[state]) for state in _STATES if counts[state] or state < 2]
    bars = axes.barh(names, values, color=[colour(index) for index in (2, 1, 3)][: len(names)], height=0.45, alpha=0.85)
    axes.bar_label(bars, labels=[f" {value:,}" for value in values], padding=2)
    axes.invert_yaxis()
    if max(values):
        axes.set_xscale("log")  # so that a few incomplete ones are seen beside a million
        axes.set_xlim(0.5, max(values) * 30)
        axes.xaxis.set_major_formatter(EngFormatter())
    axes.grid(visible=False, axis="y")
    axes.set_title("Events by state")
    axes.set_xlabel("events")


def _in_words(seconds: float) -> str:
    text: str = _SECONDS(float(f"{seconds:.3g}"))
    return text


def _edges(values: Numbers) -> Numbers:
    if not len(values):
        return np.array([0.0, 1.0])
    low, high = float(values.min()), float(values.max())
    if np.issubdtype(values.dtype, np.integer):
        step = (
            int(np.gcd.reduce(np.unique(values).astype(np.int64) - int(low))) or 1
        )  # each bin has as many possible ones
        width = step * -(-int((high - low) // step + 1) // _BINS)
        return np.arange(low - step / 2, high + width, width)
    margin = 0.05 * (high - low) or 1.0
    return np.linspace(max(0.0, low - margin), high + margin, _BINS + 1)
