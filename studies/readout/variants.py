"""All that is measured, one function each."""

from collections.abc import Callable

from harness.programs import Measurement
from readout.programs import Programs

Variant = Callable[[Programs], Measurement]

BATCHES = (1, 4, 16, 64, 256)
CONNECTIONS = (1, 100, 1000, 3000)
SERVERS = (8, 16, 32, 64)
CREDIT_BYTES = 48 << 10  # the bottleneck's buffer has 64 KiB, packets have headers
EVENTS_HZ = 1_100_000
RELAY_HZ = 1_000_000
FIXED, MIXED = "24", "8-40"  # bytes of a packet
FULL_EVENT_BYTES = 952  # of each of 64 payloads; with its header a fragment has 1 KiB


def hand_off(through: str, batch: int, other_complex: bool = False) -> Variant:
    def run(programs: Programs) -> Measurement:
        producer, consumer = programs.two_cores(other_complex)
        where = {"producer_processor": producer, "consumer_processor": consumer}
        milliseconds = programs.milliseconds // 2
        return programs.study("hand-off", through=through, batch=batch, milliseconds=milliseconds, **where)

    return run


def one_thread(through: str, batch: int) -> Variant:
    return lambda programs: programs.study(
        "hand-off", through=through, threads=1, batch=batch, milliseconds=programs.milliseconds // 2
    )


def measured(subcommand: str, **options: object) -> Variant:
    return lambda programs: programs.study(subcommand, milliseconds=programs.milliseconds, **options)


def flatten(way: str, small: bool, connections: int) -> Variant:
    return measured("flatten", way=way, small=int(small), connections=connections)


def incast(servers: int, congestion: str, credit_bytes: int) -> Variant:
    return lambda programs: programs.incast(
        servers=servers,
        congestion=congestion,
        credit_bytes=credit_bytes,
        seconds=3 * programs.milliseconds / 1000,
    )


def hand_offs() -> dict[str, Variant]:
    found: dict[str, Variant] = {}
    for batch in BATCHES:
        for through in ("ring", "map"):
            found[f"hand-off: {through}, one thread, batch {batch}"] = one_thread(through, batch)
            found[f"hand-off: {through}, same complex, batch {batch}"] = hand_off(through, batch)
            found[f"hand-off: {through}, other complex, batch {batch}"] = hand_off(through, batch, other_complex=True)
    return found


def flattenings() -> dict[str, Variant]:
    found = {}
    for pieces, small in (("1 kB and 10 B", True), ("1 kB", False)):
        for connections in CONNECTIONS:
            for name, way in (("copied", "copy"), ("iovec", "writev")):
                found[f"flatten: {pieces}, {name}, {connections} connections"] = flatten(way, small, connections)
    return found


def incasts() -> dict[str, Variant]:
    return {
        f"incast: {servers} servers, {congestion}, {'credit' if credit else 'no credit'}": incast(
            servers, congestion, credit
        )
        for servers in SERVERS
        for congestion in ("cubic", "bbr")
        for credit in (0, CREDIT_BYTES)
    }


def full_events(suffix: str) -> Variant:
    words = {"mode": "relay", "elinks": 64, "buffers": 2, "sizes": FULL_EVENT_BYTES, "slots": 16384}
    return lambda programs: programs.study(
        "full-events", path=programs.target.with_suffix(suffix), events=20 * programs.milliseconds, **words
    )


def live(
    *,
    sizes: str = FIXED,
    range_events: int = 256,
    connections: int = 1000,
    builders: int = 1,
    in_flight: int = 4096,
    rate_hz: int = EVENTS_HZ,
) -> Variant:
    """Keeps the same number of events in flight for any size of ranges."""
    return measured(
        "live",
        sizes=sizes,
        rate_hz=rate_hz,
        connections=connections,
        range_events=range_events,
        ranges_in_flight=in_flight // range_events,
        builders=builders,
    )


VARIANTS: dict[str, Variant] = {
    "decode: 24 B": measured("decode", sizes=FIXED),
    "decode: 8 to 40 B": measured("decode", sizes=MIXED),
    "build: 42 streams, 24 B": measured("build", sizes=FIXED),
    # A fragment has room for 14 packets of 40 bytes, as `thalweg readout serve --dump-config` gives it.
    "build: 42 streams, 8 to 40 B": measured("build", sizes=MIXED, fragment_bytes=704),
    "build: 14 of 42 streams, 24 B": measured("build", sizes=FIXED, own_groups=1),
    "serve: 336 B, flattened": measured("serve"),
    "serve: 336 B, iovec": measured("serve", iovec=1),
    "card: 24 B, unpaced": measured("card"),
    "live: 46.2 M packets/s": live(),
    "live: 8 to 40 B": live(sizes=MIXED),
    "live: 8 to 40 B, ranges of 16": live(sizes=MIXED, range_events=16),
    "live: ranges of 16": live(range_events=16),
    "live: ranges of 1": live(range_events=1),
    "live: 100 connections": live(connections=100),
    "live: 3000 connections": live(connections=3000),
    "live: 3 builders": live(builders=3),
    # Compared with each other: at rates that both reach, because a handler that has less to do looks at empty rings
    # more often.
    "live: 24 B at 18.5 M packets/s": live(rate_hz=440_000),
    "live: 8 to 40 B at 18.5 M packets/s": live(rate_hz=440_000, sizes=MIXED),
    "live: 24 B at 9.2 M packets/s": live(rate_hz=220_000),
    # With 46.2, the points of a line: what is constant, and what is by packet.
    "live: 24 B at 20 M packets/s": live(rate_hz=476_000),
    "live: 24 B at 5 M packets/s": live(rate_hz=119_000),
    "live: 24 B at 1 M packets/s": live(rate_hz=23_800),
    "live: ranges of 16 at 9.2 M packets/s": live(rate_hz=220_000, range_events=16),
    "relay: 752 B": measured(
        "live", mode="relay", elinks=4, sizes=752, rate_hz=RELAY_HZ, connections=2100, range_events=50, slots=1 << 15
    ),
    "collect: full events, ROOT": full_events(".root"),
    "collect: full events, HDF5": full_events(".h5"),
    **hand_offs(),
    **flattenings(),
    **incasts(),
}
