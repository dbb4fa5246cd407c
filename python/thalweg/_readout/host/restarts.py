"""Decides when a handler that has ended is started again, and when it is given up."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class RestartOptions:
    first_delay_s: float = 0.5
    longest_delay_s: float = 30.0
    failures: int = 5
    """So many failures within `within_s` are too many."""
    within_s: float = 120.0


class Restarts:
    """The recent failures of one handler. Each one doubles the delay; those that are long ago count no more."""

    def __init__(self, options: RestartOptions) -> None:
        self._options = options
        self._recent: deque[float] = deque(maxlen=options.failures)

    def delay_s(self, now_s: float) -> float | None:
        """Counts a failure. Returns after how many seconds the handler is started again; None: it is given up."""
        options = self._options
        self._recent.append(now_s)
        while now_s - self._recent[0] > options.within_s:
            self._recent.popleft()
        if len(self._recent) >= options.failures:
            return None
        return float(min(options.longest_delay_s, options.first_delay_s * 2.0 ** (len(self._recent) - 1)))
