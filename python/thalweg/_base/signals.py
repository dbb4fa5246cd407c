"""Signals that were ignored when the program began stay ignored: who starts a program with nohup means it. And Ctrl-C
while the command is still being imported ends it, as it ends any other program."""

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_IGNORED = frozenset(number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN)


def not_ignored(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Those of them that may be listened to."""
    return [number for number in numbers if number not in _IGNORED]


def begin_imports() -> None:
    """Ctrl-C ends the program at once from here to `end_imports`, if it is the command: a KeyboardInterrupt would be a
    traceback of whatever is imported at the moment, or an error of an extension that is half there."""
    if (
        _is_command()
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def end_imports() -> None:
    if (
        _is_command()
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Ctrl-C ends the program here and now, as `kill -9` would: for what can be repeated after any interruption, and
    would be heard only when it is over."""
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
    """What the program has done and said is done: Ctrl-C while the interpreter ends does not change its exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_command() -> bool:
    """`thalweg`, or `python -m thalweg`, which is "-m" until the module is found."""
    program = sys.argv[0] if getattr(sys, "argv", None) else ""
    folder, name = os.path.split(program)
    return name in ("-m", "thalweg") or (name == "__main__.py" and os.path.basename(folder) == "thalweg")


begin_imports()  # the package imports this module first
