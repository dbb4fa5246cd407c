"""A program that writes through aggregators to a storage with a known law, as arithmetic, for many searches."""

import heapq
import itertools
from dataclasses import dataclass

MIB = 1 << 20
RANKS, BYTES_EACH = 16, 2 * MIB
LINK = 400e6  # bytes a second into an aggregator

AGGREGATORS = (4, 1, 2, 8, 16)
BUFFERS = (4 * MIB, MIB // 4, MIB, 2 * MIB, 16 * MIB)
SHIFTS = (MIB // 3, 0, MIB // 2, MIB // 16)  # where the data begin in a stripe
SIEVING = (True, False)
VALUES = (AGGREGATORS, BUFFERS, SHIFTS, SIEVING)
COUNTS = tuple(map(len, VALUES))
COMBINATIONS = list(itertools.product(*map(range, COUNTS)))  # (0, 0, 0, 0) is the default
assert len(COMBINATIONS) == 200


@dataclass(frozen=True)
class Law:
    servers: int
    stripe: int
    latency_s: float
    bandwidth: float

    def seconds(self, combination: tuple[int, ...]) -> float:
        """Returns how long the program takes: each aggregator writes one buffer after the other, and each server does
        one piece of a stripe at a time."""
        aggregators, buffer, shift, sieves = (of[i] for of, i in zip(VALUES, combination, strict=True))
        share = RANKS * BYTES_EACH // aggregators
        free = [0.0] * self.servers
        waiting = [(0.0, number, shift + number * share) for number in range(aggregators)]
        last = 0.0
        while waiting:
            now, number, at = heapq.heappop(waiting)
            end = min(at + buffer, shift + (number + 1) * share)
            now += (end - at) / LINK
            if sieves and (at % self.stripe or end % self.stripe):  # what is around the piece is read before
                now += self.latency_s
            while at < end:
                piece = min(end, at - at % self.stripe + self.stripe) - at
                server = at // self.stripe % self.servers
                now = free[server] = max(now, free[server]) + self.latency_s + piece / self.bandwidth
                at += piece
            last = max(last, now)
            if end < shift + (number + 1) * share:
                heapq.heappush(waiting, (now, number, end))
        return last


LAWS = {
    "one disk": Law(1, MIB, 100e-6, 1e9),
    "four servers": Law(4, MIB, 2e-3, 100e6),
    "sixteen servers": Law(16, MIB // 4, 5e-3, 200e6),
    "far away": Law(4, 4 * MIB, 50e-3, 400e6),
}
