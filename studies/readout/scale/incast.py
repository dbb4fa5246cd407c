"""Many handlers answer one collector of ours, and their answers meet in front of it: what each cure is worth."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.programs import STUDIES, MissingError
from readout.programs import NAMESPACES
from readout.scale.farm import Point, Side, Told, Variant, measure
from readout.scale.namespaces import dropped, set_timer_floor, two_hosts

RATE_MBIT = 200
BUFFER_BYTES = 64 << 10
TIMER_FLOOR_US = 5000
PART_EVENTS = 16  # of a range; with fragments of 1 KiB a handler has 16 KiB of each
PAYLOAD_BYTES = 952
FRAGMENT_BYTES = 1024
POLL_US = 3000  # of 64 handlers on few cores
RANGES_IN_FLIGHT = 2  # so that the next range is there when the first one is whole
CLIENT_CREDIT_BYTES = 32 << 20  # the client's default
NO_PACING = (1 << 64) - 1


@dataclass(frozen=True)
class Link:
    rate_mbit: int = RATE_MBIT
    buffer_bytes: int = BUFFER_BYTES
    timer_floor_us: int = 0  # 0: the kernel's, 200 ms

    @property
    def bytes_s(self) -> float:
        return self.rate_mbit * 1e6 / 8


def point_of(handlers: int) -> Point:
    carried_hz = Link().bytes_s / (handlers * FRAGMENT_BYTES)
    return Point(
        handlers=handlers, streams=1, elinks=1, sizes=str(PAYLOAD_BYTES), rate_hz=int(3 * carried_hz), mode="relay",
        slots=1 << 15, buffer_bytes=16 << 20, poll_us=POLL_US, range_events=PART_EVENTS,
        events_in_flight=RANGES_IN_FLIGHT * PART_EVENTS, congestion="cubic",
    )  # fmt: skip


def paced(point: Point, link: Link) -> Point:
    """Each handler may send its equal part of the link."""
    return replace(point, pacing=int(link.bytes_s / point.handlers))


def in_effect(point: Point, link: Link, found: Told) -> dict[str, bool]:
    """Returns, for each cure that was asked for, whether it was found in effect."""
    cures = {}
    if point.credit == "auto":
        cures["auto"] = found["most_outstanding_bytes"] < CLIENT_CREDIT_BYTES
    elif point.credit:
        cures["credit"] = found["most_outstanding_bytes"] <= int(point.credit)
    if point.pacing:
        cures["pacing"] = found["least_pacing_bytes_s"] == found["most_pacing_bytes_s"] == point.pacing
    if link.timer_floor_us:
        cures["timer"] = found["timer_floor_us"] == link.timer_floor_us and found["least_timer_us"] < 200_000
    return cures


def measure_here(point: Point, seconds: float, link: Link) -> Told:
    """Measures in the namespaces of this process."""

    def look(handlers: Side, collectors: Side) -> Told:
        found = handlers.ask("sockets")
        outstanding = collectors.ask("now")["most_outstanding_bytes"]
        return found | {"most_outstanding_bytes": outstanding, "dropped": dropped()}

    with two_hosts(link.rate_mbit, link.buffer_bytes) as place:
        floor = set_timer_floor(place, link.timer_floor_us) if link.timer_floor_us else 0
        found = measure(point, seconds, place, look) | {"timer_floor_us": floor}
    ideal_ms = point.handlers * point.range_events * FRAGMENT_BYTES / link.bytes_s * 1e3
    found["share"] = found["MB_per_s"] * 1e6 / link.bytes_s
    found["ideal_ms"] = ideal_ms
    found["p50_of_ideal"] = found["p50_ms"] / ideal_ms
    found["p99_of_ideal"] = found["p99_ms"] / ideal_ms
    return found | {f"{name}_in_effect": is_so for name, is_so in in_effect(point, link, found).items()}


def in_namespaces(point: Point, seconds: float, link: Link | None = None) -> Told:
    """Measures in namespaces of its own."""
    asked: dict[str, Any] = {"point": asdict(point), "seconds": seconds, "link": asdict(link) if link else None}
    command = [*NAMESPACES, "--mount-proc", sys.executable, "-m", "readout.scale.one_point"]
    options: dict[str, Any] = {"capture_output": True, "text": True, "check": False, "timeout": 90, "cwd": STUDIES}
    done = subprocess.run(command, input=json.dumps(asked), **options)
    if done.returncode != 0:
        raise MissingError(done.stderr.strip()[-500:] or "a measurement in namespaces took too long")
    found = dict(json.loads(done.stdout))
    if "missing" in found:
        raise MissingError(found["missing"])
    return found


def cures() -> dict[str, Variant]:
    """Returns what is measured, by name: 16 and 64 handlers, with each cure alone, and with several."""

    def variant(point: Point, link: Link) -> Variant:
        return lambda seconds: in_namespaces(point, seconds, link)

    plain, quick = Link(), Link(timer_floor_us=TIMER_FLOOR_US)
    found = {}
    for handlers in (16, 64):
        point = point_of(handlers)
        auto, slow = replace(point, credit="auto"), paced(point, plain)
        for name, each, link in (
            ("default", point, plain),
            ("auto", auto, plain),
            ("paced", slow, plain),
            ("timer", point, quick),
            ("auto and timer", auto, quick),
            ("paced and timer", slow, quick),
            ("auto and paced", replace(slow, credit="auto"), plain),
        ):
            found[f"{handlers} handlers, {name}"] = variant(each, link)
    return found
