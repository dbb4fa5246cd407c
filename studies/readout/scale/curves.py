"""What a handler and its collectors cost, over connections, streams, payloads, handlers and threads that build."""

from dataclasses import replace

from readout.scale.farm import Point, Variant, measure
from readout.scale.incast import in_namespaces

COLLECTORS = 10  # that share the connections
USUAL = Point(rate_hz=60_000)  # 3.4 million packets a second: what two cores carry beside a card and a collector


def of(point: Point) -> Variant:
    return lambda seconds: measure(point, seconds)


def connections() -> dict[str, Variant]:
    """Returns 10^2 to 10^4 connections with hello, shared by ten collectors."""
    return {
        f"{count} connections": of(replace(USUAL, collectors=COLLECTORS, connections=count // COLLECTORS))
        for count in (100, 1000, 10_000)
    }


def curves() -> dict[str, Variant]:
    found = {f"{streams} streams a fragment": of(replace(USUAL, streams=streams)) for streams in (7, 14, 28)}
    for name, sizes in (("24 B", "24"), ("8 to 40 B", "8-40"), ("100 B", "100"), ("1 kB", "1000")):
        # The largest packets come less often, so that all points move about as many bytes as the machine carries.
        rate_hz = USUAL.rate_hz // 4 if sizes == "1000" else USUAL.rate_hz
        found[f"packets of {name}"] = of(replace(USUAL, sizes=sizes, rate_hz=rate_hz, slots=1 << 14))
    for handlers in (1, 2, 4):
        found[f"{handlers} handler(s)"] = of(replace(USUAL, handlers=handlers, rate_hz=USUAL.rate_hz // 2))
    for builders in (1, 2, 3):
        found[f"{builders} thread(s) that build"] = of(replace(USUAL, builders=builders, elinks=42))
    many = replace(USUAL, handlers=8, collectors=64, rate_hz=5000, elinks=14, range_events=16, events_in_flight=256)
    found["8 handlers x 64 collectors"] = lambda seconds: in_namespaces(many, seconds)
    return found
