"""What asks a program of the readout to end."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from thalweg._signals import not_ignored

_SIGNALS = not_ignored((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


class Stop:
    """How often it was asked for: the first time means an orderly end, any more that nothing is to be waited for."""

    def __init__(self) -> None:
        self.times = 0

    def __bool__(self) -> bool:
        return self.times > 0

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.times += 1


@contextlib.contextmanager
def listening() -> Iterator[Stop]:
    """Who asks after the end is too late: what is left is to say what happened, and no signal cuts that short."""
    stop = Stop()
    for number in _SIGNALS:
        signal.signal(number, stop.on_signal)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
