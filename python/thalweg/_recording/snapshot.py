"""A snapshot of a running recording, for progress and metrics."""

import time
from collections import deque
from dataclasses import dataclass, field

from thalweg._recording.counts import Channel, Channels, total_of

_WINDOW_S = 2.0
STATES = ("starting", "recording", "paused", "stopping", "closing")


@dataclass
class RecordingSnapshot:
    elapsed_s: float = 0.0
    state: str = "starting"  # one of STATES
    file: str = ""
    file_number: int = 1
    engine: str = ""
    channels: Channels = field(default_factory=dict)
    rows_per_s: dict[str, float] = field(default_factory=dict)
    bytes_per_s: dict[str, float] = field(default_factory=dict)  # raw
    stored_bytes_per_s: float = 0.0
    durable_lag_s: float = 0.0
    producers: int = 0
    free_bytes: int | None = None  # None: the file system does not say
    failed: bool = False
    problems: int = 0  # how many were said
    limit_s: float = 0.0  # the requested duration, or 0 for none

    @property
    def total(self) -> Channel:
        return total_of(self.channels.values())

    @property
    def until_full_s(self) -> float | None:
        """The time until the disk is full at the current rate, in seconds, or None if it cannot be told."""
        if self.free_bytes is None or self.stored_bytes_per_s <= 1:
            return None
        return self.free_bytes / self.stored_bytes_per_s


class Rates:
    """Computes rates over the last two seconds: smooth enough to read, and quick enough to show a stall."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Channels]] = deque()

    def put_into(self, snapshot: RecordingSnapshot) -> None:
        now = time.monotonic()
        self._seen.append((now, snapshot.channels))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _WINDOW_S:
            self._seen.popleft()
        then, before = self._seen[0]
        seconds = max(now - then, 1e-3)
        for name, channel in snapshot.channels.items():
            snapshot.rows_per_s[name] = max(0, channel.rows - before[name].rows) / seconds
            snapshot.bytes_per_s[name] = max(0, channel.raw_bytes - before[name].raw_bytes) / seconds
        stored = snapshot.total.stored_bytes - total_of(before.values()).stored_bytes
        snapshot.stored_bytes_per_s = max(0, stored) / seconds
