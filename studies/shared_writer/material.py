"""Two outputs of a train, and the events that go into them: no page is equal to another one."""

from typing import Any

import numpy as np

import thalweg as tw

RANGE = 500  # events
_BASE = 1 << 16


class Output:
    """An output table with numbers and lists of numbers, like those of reduced formats."""

    def __init__(
        self, name: str, numbers: int, lists: int, seed: int, cheap: bool = False, distinct: bool = False
    ) -> None:
        self.name, self._seed, self._distinct = name, seed, distinct
        self.schema = {"event": tw.uint64}
        self.schema |= {f"number{i}": tw.float32 for i in range(numbers)}
        self.schema |= {f"list{i}": tw.list_(tw.float32) for i in range(lists)}
        random = np.random.default_rng(seed)
        # Few bits of the mantissa; `cheap`: so few that compression does not matter.
        self._bits = np.uint32(0xFF800000 if cheap else 0xFFFFE000)
        self._values = self._made(random, _BASE)
        self._lengths = random.poisson(3, _BASE).astype(np.uint64)
        self.numbers, self.lists = numbers, lists

    def columns(self, number: int) -> list[Any]:
        """Flat columns of a range of events."""
        if self._distinct:
            self._random = np.random.default_rng([self._seed, number])
        columns = [np.arange(number * RANGE, (number + 1) * RANGE, dtype=np.uint64)]
        for i in range(self.numbers):
            columns.append(self._some(number * 7919 + i * 104729, RANGE))
        for i in range(self.lists):
            first = (number * 6007 + i * 7877) % (_BASE - RANGE)
            lengths = self._lengths[first : first + RANGE]
            columns += [lengths, self._some(number * 3571 + i * 5701, int(lengths.sum()))]
        return columns

    def _some(self, first: int, count: int) -> Any:
        """`distinct`: made for this range. Else of those that there are: that is fast, and each comes again later."""
        if self._distinct:
            return self._made(self._random, count)
        first %= _BASE - count
        return self._values[first : first + count]

    def _made(self, random: np.random.Generator, count: int) -> Any:
        return (random.exponential(30, count).astype(np.float32).view(np.uint32) & self._bits).view(np.float32)


def wide() -> Output:
    """Makes an RNTuple of 701 columns."""
    return Output("wide", 500, 100, 4, distinct=True)


def train(cheap: bool = False) -> list[Output]:
    """Makes outputs of about 250 and 80 columns; `cheap`: one of 12, whose compression costs almost nothing."""
    if cheap:
        return [Output("cheap", 8, 1, 3, cheap=True)]
    return [Output("phys", 170, 39, 1), Output("lite", 50, 14, 2)]
