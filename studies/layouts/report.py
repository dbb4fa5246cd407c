"""The measurements as tables for people, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from layouts import paper
from layouts.figures import Figure, Found, Spread, mean_ratio, number, producers_name
from layouts.products import SELECTIONS
from layouts.settings import Settings

WARM_SHARE = 0.01


def markdown(found: Found, figures: Sequence[Figure], settings: Settings, machine: dict[str, Any]) -> str:
    parts = [
        _table(
            ["figure", "median and range", "target", "", "paper"],
            ([each.name, str(each.spread), each.target, each.verdict, each.paper] for each in figures),
        ),
        _circumstances(found, settings, machine),
    ]
    for data in found.known("data"):
        parts += [f"### {data}: writing, GB/s", _writing(found, data)]
        parts += [f"### {data}: seconds to read, cold", _reading(found, data, "cold")]
        parts += [f"### {data}: seconds to read, warm", _reading(found, data, "warm")]
    parts += ["### Size of the file, and what a projection reads of it, MB", _sizes(found)]
    parts += ["### Beside the paper", _beside(found), "### Memory of a producer", _memory(found)]
    return "\n\n".join(parts) + "\n"


def _writing(found: Found, data: str) -> str:
    groups = found.producer_groups
    mode, producers = groups[-1]
    head = [
        "layout",
        *(producers_name(*group) for group in groups),
        f"rows/s, {producers_name(mode, producers)}",
        "arranging, s",
    ]
    lines = []
    for layout in found.known("layout", measured="write", data=data):
        wanted = {"measured": "write", "data": data, "layout": layout}
        cells = [found.spread("GB_per_s", **wanted, mode=each, producers=count) for each, count in groups]
        last = [found.spread(value, **wanted, mode=mode, producers=producers) for value in ("rows_per_s", "arrange_s")]
        lines.append([layout, *map(_cell, cells), *(number(each.median) if each else "" for each in last)])
    return _table(head, lines)


def _reading(found: Found, data: str, cache: str) -> str:
    lines = []
    for layout in found.known("layout", measured="read", data=data):
        wanted = {"measured": "read", "data": data, "layout": layout, "cache": cache}
        spreads = [found.spread("seconds", **wanted, columns=selection) for selection in SELECTIONS]
        lines.append([layout, *map(_cell, spreads)])
    return _table(["layout", *SELECTIONS], lines)


def _sizes(found: Found) -> str:
    """Makes the table of the files, with the share of each that a projection reads."""
    kinds, parts = found.known("data"), list(SELECTIONS)[1:]
    head = ["layout", *(f"{data}: {what}" for data in kinds for what in ("MB", *(f"{each} alone" for each in parts)))]
    lines = []
    for layout in found.known("layout", measured="read"):
        cells = [layout]
        for data in kinds:
            wanted = {"measured": "read", "data": data, "layout": layout, "cache": "cold"}
            size = found.spread("file_bytes", **wanted, columns="everything")
            read = [found.spread("read_bytes", **wanted, columns=each) for each in parts]
            cells += [f"{each.median / 1e6:.2f}" if each else "" for each in (size, *read)]
        lines.append(cells)
    return _table(head, lines)


def _beside(found: Found) -> str:
    """Each beside "one row an event, all in one table" of its arrangement: what a layout costs."""
    data = found.known("data")
    groups = found.producer_groups
    head = [
        "layout",
        "paper: thread seconds",
        *(f"{each}: {producers_name(mode, count)}" for each in data for mode, count in groups),
    ]
    head += ["paper: size", *(f"{each}: size" for each in data)]
    lines = []
    for layout in paper.LOG:
        base = f"{layout[:3]}_event_all"
        cells = [f"{paper.LOG[layout].write_s / paper.LOG[base].write_s:.2f}"]
        cells += [
            _relative(found, "seconds", layout, base, data=each, measured="write", mode=mode, producers=count)
            for each in data
            for mode, count in groups
        ]
        cells.append(f"{paper.LOG[layout].file_size / paper.LOG['aos_event_all'].file_size:.3f}")
        mode, count = groups[-1]
        cells += [
            _relative(
                found, "file_bytes", layout, "aos_event_all", 3, data=each, measured="write", mode=mode, producers=count
            )
            for each in data
        ]
        lines.append([layout, *cells])
    return _table(head, lines)


def _relative(found: Found, value: str, layout: str, base: str, digits: int = 2, **wanted: object) -> str:
    of = found.of_layout(value, **wanted)
    spread = mean_ratio([(of(layout), of(base))])
    return f"{spread.median:.{digits}f}" if spread else ""


def _memory(found: Found) -> str:
    lines = []
    for layout in found.known("layout", measured="memory"):
        cells = [found.spread(value, measured="memory", layout=layout) for value in ("pss_MiB", "memory_MiB")]
        lines.append([layout, *map(_cell, cells)])
    return _table(["layout", "PSS of the process, MiB", "of it since it attached, MiB"], lines)


def _circumstances(found: Found, settings: Settings, machine: dict[str, Any]) -> str:
    counted = "" if settings.lengths == "fixed" else " in the mean (Poisson)"
    others, stolen = (_median(found, value) for value in ("other_cores", "stolen_cores"))
    return "\n".join(
        [
            f"- {settings.events:,} events of {settings.hits} hits and {settings.wires} wires{counted}",
            f"- {settings.rois} regions of interest a wire, with {settings.samples} samples each{counted}",
            f"- {settings.batch_events} events an append, {settings.spill_events} a spill, seed {settings.seed}",
            f"- format {settings.format}, codec: {settings.codec or 'the default'}",
            f"- cores kept busy by other work: {others:.2f}, taken away by the host: {stolen:.2f} (medians)",
            _cold(found),
            *(f"- {name.replace('_', ' ')}: {value}" for name, value in machine.items()),
        ]
    )


def _cold(found: Found) -> str:
    shares = [row["resident_share"] for row in found.rows if "resident_share" in row]
    warm = sum(share > WARM_SHARE for share in shares)
    if not shares or not warm:
        return "- before every cold read, mincore said that nothing of the file was in the page cache"
    return (
        f"- **{warm} of {len(shares)} cold reads were not cold**: up to {max(shares):.0%} of the file stayed in memory "
        "(on tmpfs that cannot be otherwise)"
    )


def _median(found: Found, value: str) -> float:
    values = [row[value] for row in found.rows if value in row]
    return statistics.median(values) if values else 0.0


def _cell(spread: Spread | None) -> str:
    return str(spread) if spread else ""


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    written = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *written])
