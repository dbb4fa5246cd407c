"""Handles the signals that ask a program of the readout to end."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from thalweg._base.signals import Wishes, not_ignored

_SIGNALS = not_ignored((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


class Stop:
    """Counts the signals: the first one asks for an orderly end, the second one for an end without waiting."""

    def __init__(self) -> None:
        self.times = 0
        self._wishes = Wishes()

    def __bool__(self) -> bool:
        return self.times > 0

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.times += self._wishes.is_new()


@contextlib.contextmanager
def listening() -> Iterator[Stop]:
    """Counts signals in the block. After it, signals are ignored, so that none interrupts the final report."""
    stop = Stop()
    for number in _SIGNALS:
        signal.signal(number, stop.on_signal)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
