"""Draws one strip for each channel over a common axis: in one diagram, similar channels would hide each other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from thalweg.cli._fitting import shorten
from thalweg.cli._signals import Signals
from thalweg.cli._spectra import Spectrum, edges_of, left_out_of

_MOST_NAME = 20  # characters of a name beside a strip, so that the strip has room


@dataclass
class Strips:
    title: str
    x: str
    y: str
    tables: list[str]
    colours: list[str]
    draw: Callable[[Axes, int, str], None]
    are_counts: bool
    limits: tuple[float, float]
    names: list[str] = field(default_factory=list)  # that stand beside the strips
    left_out: list[str] = field(default_factory=list)  # sentences about what they do not show


def spectrum_strips(spectra: list[Spectrum], colours: dict[str, str], names: dict[str, str]) -> Strips:
    """names: of tables, as they stand in the picture."""
    edges = edges_of(spectra)
    width = edges[1] - edges[0]

    def draw(axes: Axes, index: int, colour: str) -> None:
        counts = np.histogram(spectra[index].values, edges)[0]
        axes.stairs(counts, edges, color=colour, lw=1.0, fill=True, alpha=0.25)
        axes.stairs(counts, edges, color=colour, lw=1.0)

    tables = [each.table for each in spectra]
    return Strips(
        "Energy spectrum",
        spectra[0].quantity + (f" ({spectra[0].unit})" if spectra[0].unit else ""),
        f"records per {width:,.10g} {spectra[0].unit}".rstrip(),
        tables,
        [colours[table] for table in tables],
        draw,
        True,
        (float(edges[0]), float(edges[-1])),
        left_out=left_out_of(spectra, edges, names),
    )


def rate_strips(tables: list[Signals], colours: dict[str, str]) -> Strips:
    times = [table.times() for table in tables]
    known = all(table.timestamp_s for table in tables)
    longest = max(float(each.max()) for each in times) or 1.0
    fewest = min(len(each) for each in times)
    edges = np.linspace(0, longest, min(101, max(11, fewest // 50)))
    unit, scale = _time_unit(longest) if known else ("timestamp units", 1.0)

    def draw(axes: Axes, index: int, colour: str) -> None:
        rates = np.histogram(times[index], edges)[0] / np.diff(edges)
        axes.stairs(rates, edges * scale, color=colour, lw=1.2, baseline=None)
        axes.set_ylim(bottom=0)

    names = [table.name for table in tables]
    return Strips(
        "Trigger rate",
        f"timestamp since the first record ({unit}, by the clock of the source)",
        "records per second" if known else "records per unit",
        names,
        [colours[name] for name in names],
        draw,
        False,
        (0.0, longest * scale),
    )


def draw_strips(figure: Any, strips: Strips) -> None:
    rows = figure.subplots(len(strips.tables), 1, squeeze=False, sharex=True)[:, 0]
    for index, (axes, name, colour) in enumerate(zip(rows, strips.names, strips.colours, strict=True)):
        strips.draw(axes, index, colour)
        axes.set_xlim(*strips.limits)
        axes.yaxis.set_major_locator(MaxNLocator(3 if len(rows) > 1 else 7, integer=strips.are_counts))
        if len(rows) > 1:
            axes.set_ylabel(shorten(name, _MOST_NAME), rotation=0, ha="right", va="center", color=colour)
    rows[0].set_title(f"{strips.title}: {strips.y}" if len(rows) > 1 else strips.title)
    if len(rows) == 1:
        rows[0].set_ylabel(strips.y)
    rows[-1].set_xlabel(strips.x)
    rows[-1].ticklabel_format(axis="x", style="sci", scilimits=(-3, 5), useMathText=True)


def _time_unit(longest_s: float) -> tuple[str, float]:
    for unit, scale in (("µs", 1e6), ("ms", 1e3), ("s", 1.0)):
        if longest_s * scale < 1000:
            return unit, scale
    return ("s", 1.0) if longest_s < 7200 else ("h", 1 / 3600)
