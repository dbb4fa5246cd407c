"""Draws pulses, energy spectra and rates as one PNG."""

import math
import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from thalweg.cli._fitting import fold_to, short_names, shorten, shorten_to
from thalweg.cli._signals import Signals
from thalweg.cli._spectra import Spectrum
from thalweg.cli._strips import draw_strips, rate_strips, spectrum_strips

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
_POINTS = 4000  # of one curve; more cannot be told apart in the picture
_MOST_TITLE = 100  # characters of a file's name, and of a line of remarks
_MOST_LINE = 150


def draw(
    path: Path,
    title: str,
    tables: list[Signals],
    spectra: list[Spectrum],
    panels: list[str],
    pulses: int,
    remarks: list[str],
) -> list[str]:
    """Draws the tables. What the picture leaves out stands below it and is returned: `remarks`, and what is found
    here."""
    names, folders = short_names([table.name for table in tables])
    with mpl.rc_context(STYLE):
        drawn = [table for table in tables if "pulses" in panels and table.can_show("pulses")]
        colours = {table.name: colour(index) for index, table in enumerate(tables)}
        columns = min(3, len(drawn)) or 1
        pulse_rows = math.ceil(len(drawn) / columns)
        strips = [spectrum_strips(group, colours, names) for group in _by_axis(spectra)]
        if "rates" in panels:
            strips.append(rate_strips([table for table in tables if table.can_show("rates")], colours))
        for each in strips:
            each.names = [names[table] for table in each.tables]
            remarks = [*remarks, *each.left_out]
        most = max((len(each.tables) for each in strips), default=0)
        heights = [1.9 * pulse_rows] * bool(drawn) + [max(2.9, 0.7 * most + 0.8)] * bool(strips)
        figure = Figure(figsize=(10, sum(heights) + 0.6), layout="constrained", dpi=150)
        figure.suptitle(shorten(title, _MOST_TITLE), x=0.01, ha="left", fontsize=11, fontweight="bold")
        parts = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        if drawn:
            grid = next(parts).subplots(pulse_rows, columns, squeeze=False, sharex=True)
            remarks = [*remarks, *_draw_pulses(grid, drawn, colours, pulses, names)]
        if strips:
            for part, each in zip(next(parts).subfigures(1, len(strips), squeeze=False)[0], strips, strict=True):
                draw_strips(part, each)
        said = textwrap.fill(" ".join([*filter(None, [folders]), *remarks]), _MOST_LINE)
        figure.supxlabel(said, x=0.01, ha="left", fontsize=8, color="#555555")
        _fit_texts(figure)
        figure.savefig(path)
    return remarks


def _fit_texts(figure: Figure) -> None:
    """Folds and shortens the texts that would reach beyond their part of the picture, or into the one beside it."""
    figure.draw_without_rendering()
    for axes in figure.get_axes():
        if not axes.get_visible():
            continue
        place, part = axes.get_window_extent(), axes.get_subplotspec()
        is_last = part is None or part.is_last_col()
        whole = axes.figure.bbox  # of the subfigure
        for title in (each for each in axes.get_children() if isinstance(each, Text)):
            shorten_to(title, (whole.x1 if is_last else place.x1) - place.x0)
        reach = 2 * min(whole.x1 - (place.x0 + place.x1) / 2, (place.x0 + place.x1) / 2 - whole.x0)
        offset = axes.xaxis.get_offset_text()
        taken = 2 * offset.get_window_extent().width if offset.get_text() else 0.0
        fold_to(axes.xaxis.label, min(reach, place.width) - taken if taken else reach)
        fold_to(axes.yaxis.label, min(whole.height, place.height * 1.3), "height")


def _by_axis(spectra: list[Spectrum]) -> list[list[Spectrum]]:
    """Groups spectra that have the same quantity and unit."""
    groups: dict[tuple[str, str], list[Spectrum]] = {}
    for spectrum in spectra:
        groups.setdefault((spectrum.quantity, spectrum.unit), []).append(spectrum)
    return list(groups.values())


def _draw_pulses(
    grid: Any, tables: list[Signals], colours: dict[str, str], count: int, names: dict[str, str]
) -> list[str]:
    """Returns sentences about what it leaves out."""
    largest_step = 1
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
            largest_step = max(step, largest_step)
            fade = 1 - 0.7 * number / max(1, count)
            axes.plot(times[::step], pulse.values[::step], lw=0.7, color=colours[table.name], alpha=fade)
        axes.set_title(shorten(names[table.name], _MOST_TITLE // grid.shape[1]))
        axes.margins(x=0)
        if index % grid.shape[1] == 0:
            axes.set_ylabel(table.sample_unit or "sample value")
        if index >= len(tables) - grid.shape[1]:
            axes.set_xlabel(f"time ({unit})" if in_ns else "sample")
            axes.tick_params(labelbottom=True)
    remarks = []
    if any(len(table.table) > count for table in tables):
        remarks.append(
            f"Pulses: the first {count:,} of each table." if count > 1 else "Pulses: the first of each table."
        )
    if largest_step > 1:
        remarks.append(f"Long pulses: one sample of {largest_step:,}.")
    return remarks


def colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]
