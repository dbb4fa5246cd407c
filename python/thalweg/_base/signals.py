"""Handling of signals. Signals that are ignored when the program begins, as with nohup, stay ignored. Ctrl-C ends the
command while it is being imported, like any other program."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

OF_RECORDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""By which a recording is controlled: its producer processes ignore them."""

_TOGETHER_S = 0.25
_IGNORED = frozenset(number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN)


class Wishes:
    """Tells signals that come together from those that a user sends one after the other.

    `timeout -s INT 10 COMMAND` sends its signal to the command and once more to its group, at the same time."""

    def __init__(self) -> None:
        self._last_s = -math.inf

    def is_new(self) -> bool:
        """Returns whether a signal that has come now says more than the last one that did."""
        now_s = time.monotonic()
        if now_s - self._last_s < _TOGETHER_S:
            return False
        self._last_s = now_s
        return True


def not_ignored(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Returns the signals that were not ignored when the program began."""
    return [number for number in numbers if number not in _IGNORED]


def begin_imports() -> None:
    """Lets Ctrl-C end the command at once until `end_imports`, and SIGTERM the first process of a container.

    A KeyboardInterrupt would show a traceback of some import, or the error of a half-imported extension. The kernel
    drops a SIGTERM for the first process of a container that does not handle it, so a container that is ended in its
    first second would go on until it is killed."""
    if not _is_command() or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.getpid() == 1 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end_at_once)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    """Ends the program with the code that a shell gives to one that the signal has ended."""
    os._exit(128 + number)


def end_imports() -> None:
    """Lets Ctrl-C raise KeyboardInterrupt again."""
    if (
        _is_command()
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Lets Ctrl-C end the program at once in the block, as `kill -9` does.

    This is for work in the core that can be repeated after any interruption and does not check for signals."""
    listens = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if listens:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Ignores Ctrl-C from here on, so that it does not change the exit code while the interpreter ends."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_command() -> bool:
    """Returns whether the program is `thalweg` or `python -m thalweg`; its name is "-m" until the module is found."""
    program = sys.argv[0] if getattr(sys, "argv", None) else ""
    folder, name = os.path.split(program)
    return name in ("-m", "thalweg") or (name == "__main__.py" and os.path.basename(folder) == "thalweg")


begin_imports()  # the package imports this module first
