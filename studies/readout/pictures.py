"""A picture of each sweep: what it costs to pass descriptors, to send many pieces, and to ask too many at once."""

import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from harness.figures import Round
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from readout.variants import BATCHES, CONNECTIONS, SERVERS

Name = Callable[[int], str]


def values(rounds: list[Round], variant: str, key: str) -> list[float]:
    return [each[variant][key] for each in rounds if variant in each and key in each[variant]]


def line(axes: Axes, rounds: list[Round], steps: Iterable[int], name: Name, key: str, label: str, style: str) -> None:
    found = {step: values(rounds, name(step), key) for step in steps}
    found = {step: each for step, each in found.items() if each}
    if not found:
        return
    drawn = axes.plot(list(found), [statistics.median(each) for each in found.values()], style, label=label)
    for step, each in found.items():
        axes.plot([step] * len(each), each, ".", color=drawn[0].get_color(), markersize=3)


def finish(axes: Axes, x: str, y: str, title: str, ticks: Iterable[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{tick:,}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend(fontsize=8)


def draw_hand_off(axes: Axes, rounds: list[Round]) -> None:
    for through, where, style in (
        ("map", "other complex", "s:"), ("map", "same complex", "s-"), ("map", "one thread", "s--"),
        ("ring", "other complex", "o:"), ("ring", "same complex", "o-"), ("ring", "one thread", "o--"),
    ):  # fmt: skip

        def name(batch: int, through: str = through, where: str = where) -> str:
            return f"hand-off: {through}, {where}, batch {batch}"

        line(axes, rounds, BATCHES, name, "ns_per_item", f"{through}, {where}", style)
    finish(axes, "descriptors in a batch", "ns of CPU for a descriptor, both sides", "passing descriptors", BATCHES)


def draw_flatten(axes: Axes, rounds: list[Round]) -> None:
    for pieces, mark in (("1 kB and 10 B", "o"), ("1 kB", "s")):
        for way, dashes in (("copied", "-"), ("iovec", "--")):

            def name(connections: int, pieces: str = pieces, way: str = way) -> str:
                return f"flatten: {pieces}, {way}, {connections} connections"

            line(axes, rounds, CONNECTIONS, name, "ns_per_item", f"{pieces}, {way}", mark + dashes)
    title = "sending responses of 1000 pieces"
    finish(axes, "connections", "ns of the sender's CPU for a fragment", title, CONNECTIONS)


def draw_incast(axes: Axes, rounds: list[Round], key: str, y: str) -> None:
    for congestion, mark in (("cubic", "o"), ("bbr", "s")):
        for credit, dashes in (("credit", "-"), ("no credit", "--")):

            def name(servers: int, congestion: str = congestion, credit: str = credit) -> str:
                return f"incast: {servers} servers, {congestion}, {credit}"

            line(axes, rounds, SERVERS, name, key, f"{congestion}, {credit}", mark + dashes)
    finish(axes, "servers asked at once", y, "one client, a bottleneck of 200 Mb/s with 64 KiB", SERVERS)


def draw_all(folder: Path, rounds: list[Round]) -> list[str]:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    left.set_yscale("log")
    draw_hand_off(left, rounds)
    draw_flatten(right, rounds)
    right.set_ylim(bottom=0)
    figure.savefig(folder / "sweeps.png", dpi=110)
    plt.close(figure)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    draw_incast(left, rounds, "goodput_MB_per_s", "goodput, MB/s (the bottleneck: 25)")
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    draw_incast(right, rounds, "p99_ms", "99th percentile of a batch, ms")
    figure.savefig(folder / "incast.png", dpi=110)
    plt.close(figure)
    return ["sweeps.png", "incast.png"]
