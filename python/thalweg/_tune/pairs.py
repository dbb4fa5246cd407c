"""Whether one way is faster than another: pairs in alternating order, and looks that are agreed before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Quantiles of Student's t at 99.75 %, for an interval of 99.5 % on both sides, by the number of pairs. Looks after each
# of these keep false claims at 1 % in simulations; looks after every pair at 95 % would make 14 to 20 %.
T_QUANTILES = {5: 5.598, 10: 3.690, 20: 3.174, 40: 2.976}
LOOKS = tuple(T_QUANTILES)


@dataclass(frozen=True)
class Gain:
    """How many times as long the command takes without the settings: above 1 they make it faster."""

    pairs: int
    ratio: float
    low: float
    high: float

    @property
    def is_shown(self) -> bool:
        return self.low > 1 or self.high < 1

    def __str__(self) -> str:
        if not self.is_shown:
            return f"no difference can be shown: {self._as_ratio(self.ratio, self.low, self.high)} as fast"
        if self.low > 1:
            return f"{self._as_ratio(self.ratio, self.low, self.high)} as fast"
        return f"slower: {self._as_ratio(1 / self.ratio, 1 / self.high, 1 / self.low)} as long"

    def _as_ratio(self, ratio: float, low: float, high: float) -> str:
        return f"{ratio:.3g} times ({low:.3g} to {high:.3g}, {self.pairs} pairs)"


def gain(default_s: Sequence[float], tried_s: Sequence[float]) -> Gain:
    """Returns the gain of as many pairs as one of LOOKS, with its interval of 99.5 % of the mean log ratio."""
    pairs = len(default_s)
    assert pairs in T_QUANTILES, "looks are agreed before"
    logs = [math.log(default / tried) for default, tried in zip(default_s, tried_s, strict=True)]
    mean = sum(logs) / pairs
    deviation = math.sqrt(sum((each - mean) ** 2 for each in logs) / (pairs - 1))
    half = T_QUANTILES[pairs] * deviation / math.sqrt(pairs)
    return Gain(pairs, math.exp(mean), math.exp(mean - half), math.exp(mean + half))
