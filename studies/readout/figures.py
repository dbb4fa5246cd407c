"""The figures of the table, what they should be, and what the paper says."""

import statistics

from harness.figures import Best, Figure, Round, of_one

Key = tuple[str, str]


def ratio(name: str, target: str, over: Key, under: Key) -> Figure:
    """Returns the ratio of two measurements of one round, each a pair (variant, key)."""

    def value(each: Round) -> float:
        return float(each[over[0]][over[1]] / each[under[0]][under[1]])

    return Figure(name, target, value, (over[0], under[0]))


def cpu_ratio(name: str, target: str, over: str, under: str) -> Figure:
    return ratio(name, target, (over, "ns_per_item"), (under, "ns_per_item"))


POINTS = (
    "live: 24 B at 1 M packets/s",
    "live: 24 B at 5 M packets/s",
    "live: 24 B at 20 M packets/s",
    "live: 46.2 M packets/s",
)


def line(each: Round) -> statistics.LinearRegression:
    """Returns the line through the cores of a handler over its rates, in millions of packets a second."""
    rates = [each[point]["M_items_per_s"] for point in POINTS]
    return statistics.linear_regression(rates, [each[point]["cores"] for point in POINTS])


def lines() -> list[Figure]:
    ns_for_a_core = 1000  # a core at a million packets a second
    return [
        Figure("live: without packets (a), cores", "", lambda each: line(each).intercept, POINTS),
        Figure("live: each packet more (b), ns", "", lambda each: ns_for_a_core * line(each).slope, POINTS),
        cpu_ratio("live, at 9.2 / at 46.2 M packets/s: a packet", "≤ 1.3",
                  "live: 24 B at 9.2 M packets/s", "live: 46.2 M packets/s"),
    ]  # fmt: skip


def hand_off() -> list[Figure]:
    ring, one = "hand-off: ring, same complex, batch {}", "hand-off: ring, one thread, batch 64"
    hash_map = "hand-off: map, same complex, batch {}"
    return [
        of_one("hand-off in one thread, ns", "", one, "ns_per_item"),
        of_one("hand-off to another thread, ring, batches of 64, ns", "", ring.format(64), "ns_per_item"),
        cpu_ratio("hand-off by ring, batches of 1 / of 64", "", ring.format(1), ring.format(64)),
        cpu_ratio("hand-off, hash map / ring, batches of 64", "", hash_map.format(64), ring.format(64)),
    ]


def flatten() -> list[Figure]:
    mixed, large = "flatten: 1 kB and 10 B, {}, {} connections", "flatten: 1 kB, {}, {} connections"
    return [
        of_one("flattened, 1 kB and 10 B, 3000 connections: ns a fragment",
               "", mixed.format("copied", 3000), "ns_per_item", "540 ns"),
        cpu_ratio("iovec / flattened, 1 kB and 10 B, 3000 connections", "",
                  mixed.format("iovec", 3000), mixed.format("copied", 3000)),
        cpu_ratio("iovec / flattened, 1 kB, 3000 connections", "",
                  large.format("iovec", 3000), large.format("copied", 3000)),
    ]  # fmt: skip


def incast() -> list[Figure]:
    found = []
    for congestion in ("cubic", "bbr"):
        credit, none = f"incast: 64 servers, {congestion}, credit", f"incast: 64 servers, {congestion}, no credit"
        found += [
            ratio(f"incast of 64, {congestion}: goodput with credit / without", "",
                  (credit, "goodput_MB_per_s"), (none, "goodput_MB_per_s")),
            ratio(f"incast of 64, {congestion}: slowest batch without credit / with", "",
                  (none, "max_ms"), (credit, "max_ms")),
        ]  # fmt: skip
    return found


def live() -> list[Figure]:
    """Returns the figures of the best case, and of others beside it."""
    mixed = "live: 8 to 40 B"
    cases = (mixed, "live: 8 to 40 B, ranges of 16", "live: ranges of 16", "live: ranges of 1",
             "live: 100 connections", "live: 3000 connections", "live: 3 builders")  # fmt: skip
    return [
        of_one("live, 8 to 40 B: handler with 1000 connections, cores", "", mixed, "cores"),
        *(of_one(f"{case}: ns a packet", "", case, "ns_per_item", "102 ns") for case in cases),
        *(of_one(f"{case}: rate reached, M packets/s", "", case, "M_items_per_s", "46.2") for case in cases),
        cpu_ratio("live, 8 to 40 B / 24 B, at 18.5 M packets/s: everything in the handler", "≤ 1.15",
                  "live: 8 to 40 B at 18.5 M packets/s", "live: 24 B at 18.5 M packets/s"),
        cpu_ratio("live, ranges of 16 / of 256, at 9.2 M packets/s: everything in the handler", "≤ 2",
                  "live: ranges of 16 at 9.2 M packets/s", "live: 24 B at 9.2 M packets/s"),
    ]  # fmt: skip


def handler() -> list[Figure]:
    live, serve, card = "live: 46.2 M packets/s", "serve: 336 B, flattened", "card: 24 B, unpaced"
    return [
        of_one("decode, 24 B fixed: ns a packet", "≤ 5", "decode: 24 B", "ns_per_item", "43 ns"),
        of_one("decode, 8 to 40 B: ns a packet", "≤ 7", "decode: 8 to 40 B", "ns_per_item", "43 ns"),
        of_one("decode and build, 42 streams, 24 B fixed: ns a packet", "≤ 12",
               "build: 42 streams, 24 B", "ns_per_item", "71 ns"),
        of_one("decode and build, 42 streams, 8 to 40 B: ns a packet", "≤ 20",
               "build: 42 streams, 8 to 40 B", "ns_per_item", "71 ns"),
        of_one("decode and build, 14 of 42 streams, 24 B: ns a packet", "",
               "build: 14 of 42 streams, 24 B", "ns_per_item", "71 ns"),
        of_one("serve a fragment of 14 payloads of 24 B: ns", "≤ 160", serve, "ns_per_item", "420 ns"),
        of_one("serve / a bare write of the same bytes, from memory as large as the index", "≤ 1.3",
               serve, "times_bare_write"),
        of_one("serve / a bare write of a buffer that never leaves the cache", "", serve, "times_warm_write"),
        of_one("live: everything in the handler, ns a packet", "≤ 22", live, "ns_per_item", "102 ns"),
        of_one("live: handler with 1000 connections, cores", "≤ 1.1", live, "cores", "4.7 cores"),
        of_one("live: rate reached, M packets/s", "≥ 46", live, "M_items_per_s", "46.2"),
        of_one("live: wrong fragments", "≤ 0", live, "wrong"),
        of_one("live: incomplete fragments, marked as such", "", live, "incomplete"),
        of_one("relay of 752 B, 2100 connections: the sending thread, ns a fragment", "≤ 290",
               "relay: 752 B", "server_ns", "540 ns"),
        of_one("relay: everything in the handler, ns a fragment", "", "relay: 752 B", "ns_per_item"),
        of_one("relay: rate reached, M fragments/s", "", "relay: 752 B", "M_items_per_s", "1"),
        of_one("card, unpaced: M packets/s", "≥ 300", card, "M_items_per_s"),
        of_one("full events (64 fragments of 1 kB) into one durable .root file: kHz", "≥ 10",
               "collect: full events, ROOT", "kHz"),
        of_one("full events (64 fragments of 1 kB) into one durable .h5 file: kHz", "≥ 10",
               "collect: full events, HDF5", "kHz"),
    ]  # fmt: skip


def all_figures(_: Best) -> list[Figure]:
    return [*handler(), *live(), *lines(), *hand_off(), *flatten(), *incast()]
