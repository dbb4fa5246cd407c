"""Signals that were ignored when the program began stay ignored: who starts a program with nohup means it."""

import signal
from collections.abc import Iterable

_IGNORED = frozenset(number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN)


def not_ignored(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Those of them that may be listened to."""
    return [number for number in numbers if number not in _IGNORED]
