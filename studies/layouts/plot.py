"""One picture for each kind of data: writing, reading and size of all layouts, and what they cost in the paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from layouts import paper
from layouts.figures import Found, Spread, mean_ratio, producers_name
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

AOS, SOA, PAPER, LIGHT = "#1f6f8b", "#d9792b", "#b0b7bd", "#9cc3d0"
BASE = "aos_event_all"


def draw(folder: Path, found: Found) -> list[Path]:
    return [_draw(folder / f"{data}.png", found, data) for data in found.known("data")]


def _draw(path: Path, found: Found, data: str) -> Path:
    layouts = [name for name in paper.LOG if name in found.known("layout", data=data)]
    rows = {name: len(layouts) - 1 - index for index, name in enumerate(layouts)}
    picture = Picture(figsize=(17, 2.2 + 0.32 * len(layouts)), layout="constrained", dpi=110)
    left, middle, right, last = picture.subplots(1, 4, sharey=True)
    _writing(left, found, data, rows)
    _slowdown(middle, found, data, rows)
    _reading(right, found, data, rows)
    _sizes(last, found, data, rows)
    left.set_yticks(list(rows.values()), list(rows))
    if len(found.producer_groups) > 1:
        picture.legend(loc="outside upper left", ncols=len(found.producer_groups), fontsize=9, frameon=False)
    picture.savefig(path)
    return path


Rows = dict[str, int]


def _colour(layout: str) -> str:
    return SOA if layout.startswith("soa_") else AOS


def _bars(axes: Axes, rows: Rows, value: Callable[[str], Spread | None]) -> None:
    for name, row in rows.items():
        if spread := value(name):
            axes.barh(row, spread.median, color=_colour(name))
            axes.plot(spread.values, [row] * len(spread.values), ".", color="black", markersize=4)


def _writing(axes: Axes, found: Found, data: str, rows: Rows) -> None:
    mode, producers = found.producer_groups[-1]
    wanted = {"measured": "write", "data": data}
    _bars(axes, rows, lambda name: found.spread("GB_per_s", layout=name, mode=mode, producers=producers, **wanted))
    markers = iter("|x+1234")
    for other, count in found.producer_groups[:-1]:
        marker = next(markers)
        found_of = [
            (found.spread("GB_per_s", layout=n, mode=other, producers=count, **wanted), r) for n, r in rows.items()
        ]
        points = [(spread.median, row) for spread, row in found_of if spread]
        axes.plot(*zip(*points, strict=True), marker, color="#444444", markersize=6, label=producers_name(other, count))
    axes.set_xlabel("raw data, GB/s, durable")
    axes.set_title(f"writing {data}: {producers_name(mode, producers)}", fontsize=10)


def _slowdown(axes: Axes, found: Found, data: str, rows: Rows) -> None:
    mode, producers = found.producer_groups[-1]
    seconds = found.of_layout("seconds", measured="write", data=data, mode=mode, producers=producers)
    for name, row in rows.items():
        base = f"{name[:3]}_event_all"
        axes.barh(row + 0.2, paper.LOG[name].write_s / paper.LOG[base].write_s, 0.4, color=PAPER)
        if spread := mean_ratio([(seconds(name), seconds(base))]):
            axes.barh(row - 0.2, spread.median, 0.4, color=_colour(name))
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("time to write, event_all = 1 (grey: the paper's thread seconds)")
    axes.set_title("what a layout costs", fontsize=10)


def _reading(axes: Axes, found: Found, data: str, rows: Rows) -> None:
    wanted = {"measured": "read", "data": data, "columns": "everything"}
    _bars(axes, rows, lambda name: found.spread("seconds", layout=name, cache="cold", **wanted))
    for name, row in rows.items():
        if warm := found.spread("seconds", layout=name, cache="warm", **wanted):
            axes.barh(row, warm.median, 0.5, color=LIGHT)
    axes.set_xlabel("seconds to read everything (light: warm)")
    axes.set_title("reading", fontsize=10)


def _sizes(axes: Axes, found: Found, data: str, rows: Rows) -> None:
    size = found.of_layout("file_bytes", measured="read", data=data, columns="everything", cache="cold")
    for name, row in rows.items():
        axes.barh(row + 0.2, 100 * (paper.LOG[name].file_size / paper.LOG[BASE].file_size - 1), 0.4, color=PAPER)
        if spread := mean_ratio([(size(name), size(BASE))]):
            axes.barh(row - 0.2, 100 * (spread.median - 1), 0.4, color=_colour(name))
    axes.axvline(0, color="black", linewidth=1)
    axes.set_xlabel(f"% above {BASE} (grey: the paper)")
    axes.set_title("size of the file", fontsize=10)
