"""Turns measurements into figures. Ratios are taken within a round: both sides ran in the same minutes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from layouts.paper import LOG
from layouts.products import SELECTIONS
from layouts.settings import DATA
from layouts.table import Measurement

ByRound = dict[int, float]


@dataclass(frozen=True)
class Spread:
    """The values of the rounds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(min(self.values))} to {number(max(self.values))})"


@dataclass(frozen=True)
class Figure:
    name: str
    spread: Spread
    target: str = ""
    """ "≤ 1.5", "≤ 128 MiB"; empty: none."""
    paper: str = ""

    @property
    def verdict(self) -> str:
        if not self.target:
            return ""
        relation, limit = self.target.split()[:2]
        met = self.spread.median >= float(limit) if relation == "≥" else self.spread.median <= float(limit)
        return "met" if met else "**not met**"


def number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def producers_name(mode: str, producers: int) -> str:
    """ "1 thread", "2 processes"."""
    return f"{producers} {mode}" if producers > 1 else {"threads": "1 thread", "processes": "1 process"}[mode]


class Found:
    """Measurements, to be asked by what they are of."""

    def __init__(self, rows: list[Measurement]) -> None:
        self.rows = rows

    def by_round(self, value: str, **wanted: object) -> ByRound:
        """`value` of the one measurement of each round that is as wanted."""
        return {
            int(row["round"]): float(row[value])
            for row in self.rows
            if value in row and all(row.get(name) == each for name, each in wanted.items())
        }

    def spread(self, value: str, **wanted: object) -> Spread | None:
        values = tuple(self.by_round(value, **wanted).values())
        return Spread(values) if values else None

    def of_layout(self, value: str, **wanted: object) -> Callable[[str], ByRound]:
        return lambda layout: self.by_round(value, layout=layout, **wanted)

    def known(self, name: str, **wanted: object) -> list[str]:
        """All values of a key, in the order of the paper's tables."""
        rows = (row for row in self.rows if name in row and all(row.get(key) == each for key, each in wanted.items()))
        order = [*LOG, *DATA]
        return sorted({str(row[name]) for row in rows}, key=order.index)

    @property
    def producer_groups(self) -> list[tuple[str, int]]:
        """How files were written: "threads" or "processes", and by how many. The last is that whose files were read."""
        written = {(str(row["mode"]), int(row["producers"])) for row in self.rows if row["measured"] == "write"}
        return sorted(written, key=lambda group: (group[0] == "processes", group[1]))


def mean_ratio(pairs: Sequence[tuple[ByRound, ByRound]]) -> Spread | None:
    """In each round that has all of them, the mean of what each pair's first is to its second."""
    if not pairs:
        return None
    rounds = set[int].intersection(*(set(side) for pair in pairs for side in pair))
    values = [statistics.fmean(above[each] / below[each] for above, below in pairs) for each in sorted(rounds)]
    return Spread(tuple(values)) if values else None


def event_layout(layout: str) -> str:
    """The layout of the same arrangement and split with one row an event."""
    for granularity in ("spill", "top_object", "element"):
        layout = layout.replace(f"_{granularity}_", "_event_")
    return layout


def figures(found: Found) -> list[Figure]:
    of_data = [
        Figure(f"{data}: {each.name}", each.spread, each.target, each.paper)
        for data in found.known("data")
        for part in (_slowdowns, _scalings, _arrangements, _caches, _projections)
        for each in part(found, data)
    ]
    return [*of_data, *_memory(found)]


def _slowdowns(found: Found, data: str) -> Iterator[Figure]:
    """Yields figures like the paper's 6.9: the worst of the pairs that differ in granularity only."""
    layouts = [name for name in found.known("layout", measured="write", data=data) if "_element_" in name]
    for mode, producers in found.producer_groups:
        for what, value, target, paper in (("time", "seconds", "≤ 1.5", "6.9"), ("CPU", "cpu_s", "", "")):
            of = found.of_layout(value, measured="write", data=data, mode=mode, producers=producers)
            each = {name: mean_ratio([(of(name), of(event_layout(name)))]) for name in layouts}
            known = {name: spread for name, spread in each.items() if spread}
            if known:
                worst = max(known, key=lambda name: known[name].median)
                name = f"{what} to write, element / event, {producers_name(mode, producers)} (worst: {worst})"
                yield Figure(name, known[worst], target, paper)


def _scalings(found: Found, data: str) -> Iterator[Figure]:
    layouts = found.known("layout", measured="write", data=data)
    for mode in dict.fromkeys(mode for mode, _ in found.producer_groups):
        one, two = (
            found.of_layout("seconds", measured="write", data=data, mode=mode, producers=count) for count in (1, 2)
        )
        if spread := mean_ratio([(one(name), two(name)) for name in layouts]):
            yield Figure(f"two {mode} / one, rate of writing, mean of all layouts", spread)


def _arrangements(found: Found, data: str) -> Iterator[Figure]:
    pairs = [
        (name.replace("soa_", "aos_"), name) for name in found.known("layout", data=data) if name.startswith("soa_")
    ]
    mode, producers = found.producer_groups[-1]
    write = {"measured": "write", "mode": mode, "producers": producers}
    read = {"measured": "read", "columns": "everything"}
    for name, value, wanted, paper in (
        ("time to write", "seconds", write, "1.036"),
        ("size of the file", "file_bytes", write, "1.03"),
        ("time to read everything, cold", "seconds", {**read, "cache": "cold"}, "1.023"),
        ("time to read everything, warm", "seconds", {**read, "cache": "warm"}, "1.116"),
    ):
        of = found.of_layout(value, data=data, **wanted)
        if spread := mean_ratio([(of(aos), of(soa)) for aos, soa in pairs]):
            yield Figure(f"{name}, AOS / SOA, mean of ten pairs", spread, paper=paper)


def _caches(found: Found, data: str) -> Iterator[Figure]:
    cold, warm = (
        found.of_layout("seconds", measured="read", data=data, columns="everything", cache=cache)
        for cache in ("cold", "warm")
    )
    if spread := mean_ratio([(cold(name), warm(name)) for name in found.known("layout", data=data)]):
        yield Figure("time to read everything, cold / warm, mean of all layouts", spread, paper="4.91")


def _projections(found: Found, data: str) -> Iterator[Figure]:
    for selection in list(SELECTIONS)[1:]:
        part, all_of_it = (
            found.of_layout("read_bytes", measured="read", data=data, columns=columns, cache="cold")
            for columns in (selection, "everything")
        )
        if spread := mean_ratio([(part(name), all_of_it(name)) for name in found.known("layout", data=data)]):
            yield Figure(f"bytes read for {selection} alone / for everything, mean of all layouts", spread)


def _memory(found: Found) -> Iterator[Figure]:
    known = {name: found.spread("pss_MiB", measured="memory", layout=name) for name in found.known("layout")}
    spreads = {name: spread for name, spread in known.items() if spread}
    if spreads:
        most = max(spreads, key=lambda name: spreads[name].median)
        yield Figure(f"PSS of a producer, MiB (most: {most})", spreads[most], "≤ 128 MiB", "300 to 400 (ROOT)")
