"""A model of few terms: what handlers and collectors cost, fitted to measured points, and tried on one that it has not
seen. It projects hundreds of handlers and a thousand collectors.

The terms were fixed before the point that is held out was measured: a constant for each thread (polling), a packet, a
fragment, a part of a range (what one handler sends of it), a connection.
"""

from dataclasses import dataclass, replace

import numpy as np
from readout.scale.farm import Point, Told, Variant, measure

HANDLER_TERMS = ("polling", "packet", "fragment", "part of a range", "connection")
COLLECTOR_TERMS = ("collector", "packet", "fragment", "part of a range", "connection")

BASE = Point(rate_hz=60_000)
FITTED: dict[str, Point] = {
    "1 M packets/s": replace(BASE, rate_hz=20_000),
    "3 M packets/s": BASE,
    "9 M packets/s": replace(BASE, rate_hz=160_000),
    "7 streams": replace(BASE, streams=7),
    "28 streams": replace(BASE, streams=28),
    "ranges of 64": replace(BASE, range_events=64),
    "ranges of 16": replace(BASE, range_events=16, rate_hz=30_000),
    "2 handlers": replace(BASE, handlers=2, rate_hz=30_000),
    "4 handlers": replace(BASE, handlers=4, rate_hz=20_000),
    "8 collectors": replace(BASE, collectors=8, range_events=64),
    "1000 connections": replace(BASE, connections=1000),
    "3000 connections": replace(BASE, connections=3000, rate_hz=30_000),
    "4 handlers, 4 collectors, ranges of 64": replace(
        BASE, handlers=4, collectors=4, range_events=64, rate_hz=15_000, events_in_flight=1024
    ),
}
HELD_OUT = "held out: 3 handlers, 6 collectors, 10 connections each, ranges of 32"
HELD_OUT_POINT = replace(
    BASE, handlers=3, collectors=6, connections=10, range_events=32, rate_hz=20_000, events_in_flight=1024
)
# The readout that is projected: as many events as the paper has, and a thousand collectors that share them.
HANDLERS, COLLECTORS, EVENTS_HZ, GROUPS, STREAMS, RANGE_EVENTS = 300, 1000, 1_100_000, 3, 14, 256


@dataclass(frozen=True)
class Work:
    """What a second asks of all handlers, or of all collectors."""

    processes: float
    packets: float
    fragments: float
    parts: float  # of ranges
    connections: float

    def terms(self) -> np.ndarray:
        """Returns what each coefficient is multiplied with; they are CPU seconds, and of all but the first µs."""
        rates = (self.packets, self.fragments, self.parts, self.connections)
        return np.array([self.processes, *(each / 1e6 for each in rates)])


def work_of(point: Point, told: Told) -> tuple[Work, Work]:
    """Returns the work of the handlers and of the collectors at a point, at the rates that it reached."""
    packets, fragments = told["M_packets_per_s"] * 1e6, told["fragments_per_s"]
    parts = told["ranges_per_s"] * point.handlers
    connections = point.handlers * point.collectors * point.connections
    return (
        Work(point.handlers, packets, fragments, parts, connections),
        Work(point.collectors, packets, fragments, parts, connections),
    )


def fit(works: list[Work], cores: list[float]) -> np.ndarray:
    """Returns coefficients of at least 0 with the least squares of relative errors."""
    scale = np.array(cores)
    rows = np.array([work.terms() for work in works]) / scale[:, None]
    used = list(range(rows.shape[1]))
    while True:  # a cost is not negative: what would be is left out
        found = np.zeros(rows.shape[1])
        found[used] = np.linalg.lstsq(rows[:, used], np.ones(len(cores)), rcond=None)[0]
        if not (found < 0).any():
            return found
        used.remove(int(np.argmin(found)))


def points() -> dict[str, Variant]:
    def variant(point: Point) -> Variant:
        def run(seconds: float) -> Told:
            found = measure(point, seconds)
            handlers, collectors = work_of(point, found)
            names = ("processes", "packets", "fragments", "parts", "connections")
            for side, work in (("handlers", handlers), ("collectors", collectors)):
                found |= {f"{side}: {name}": getattr(work, name) for name in names}
            return found

        return run

    return {name: variant(point) for name, point in {**FITTED, HELD_OUT: HELD_OUT_POINT}.items()}


def projected() -> tuple[Work, Work]:
    """Returns the work of one handler, and that of one collector, of the readout that is projected."""
    fragments = EVENTS_HZ * GROUPS
    ranges = EVENTS_HZ / RANGE_EVENTS
    share = HANDLERS / COLLECTORS
    return (
        Work(1, fragments * STREAMS, fragments, ranges, COLLECTORS),
        Work(1, share * fragments * STREAMS, share * fragments, share * ranges, HANDLERS),
    )


def modelled(variants: dict[str, dict[str, list[float]]]) -> dict[str, float]:
    """Fits both sides to the medians of what was measured, but the point that is held out. Returns numbers by name."""
    if HELD_OUT not in variants or len(variants) < len(HANDLER_TERMS) + 1:
        return {}
    found: dict[str, float] = {}
    sides = zip(("handlers", "collectors"), (HANDLER_TERMS, COLLECTOR_TERMS), projected(), strict=True)
    for side, terms, projection in sides:
        key = "handler_cores" if side == "handlers" else "collector_cores"
        names = ("processes", "packets", "fragments", "parts", "connections")
        works = {name: Work(*(measured[f"{side}: {each}"][0] for each in names)) for name, measured in variants.items()}
        fitted = [name for name in variants if name != HELD_OUT]
        coefficients = fit([works[name] for name in fitted], [variants[name][key][0] for name in fitted])
        for term, value in zip(terms, coefficients, strict=True):
            unit = "cores each" if term in ("polling", "collector") else "µs" if "range" in term else "ns"
            factor = {"cores each": 1.0, "µs": 1.0, "ns": 1000.0}[unit]
            found[f"{side}: {term}, {unit}"] = float(value) * factor
        errors = [abs(works[name].terms() @ coefficients / variants[name][key][0] - 1) for name in fitted]
        predicted, measured_cores = float(works[HELD_OUT].terms() @ coefficients), variants[HELD_OUT][key][0]
        found[f"{side}: largest error of the fitted points, %"] = 100 * float(max(errors))
        found[f"{side}: held out, predicted cores"] = predicted
        found[f"{side}: held out, measured cores"] = measured_cores
        found[f"{side}: held out, error, %"] = 100 * (predicted / measured_cores - 1)
        found[f"{side}: one of the projection, cores"] = float(projection.terms() @ coefficients)
    return {name: float(f"{value:.4g}") for name, value in found.items()}
