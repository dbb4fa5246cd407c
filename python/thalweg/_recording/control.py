"""Receives requests to a running recording: signals, and keys if there is a terminal."""

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from types import FrameType
from typing import Any

from thalweg._base.signals import OF_RECORDING, Wishes, not_ignored

_SIGNALS = not_ignored(OF_RECORDING)


class Control:
    """The requests so far, as flags for the recording loop."""

    def __init__(self) -> None:
        self.is_starting = True  # while this is set, a request to stop raises KeyboardInterrupt
        self._waits = self._is_interrupted = False
        self._wishes = Wishes()
        self.interrupts = 0
        self.stop = False
        self.paused = False
        self.problem = ""  # why keys are not read any more

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number in (signal.SIGUSR1, signal.SIGUSR2):
            self.paused = number == signal.SIGUSR1
        elif not self._wishes.is_new():
            return
        elif self.is_starting:
            self._is_interrupted = True
            if not self._waits:
                raise KeyboardInterrupt
        else:
            self.stop = True
            self.interrupts += number == signal.SIGINT

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Delays interrupts until the block ends, so that what begins inside it is begun as a whole."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
        if self._is_interrupted:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.on_signal) for number in _SIGNALS}
        try:
            with self._keys():
                yield
        finally:
            self.is_starting = False
            for number, handler in before.items():
                if number != signal.SIGINT:  # another Ctrl-C while the program ends must not be an error
                    signal.signal(number, handler)

    @contextlib.contextmanager
    def _keys(self) -> Iterator[None]:
        before = _mode_of_terminal()
        if before is None:
            yield
            return
        terminal = sys.stdin.fileno()
        end = threading.Event()
        listener = threading.Thread(target=self._listen, args=(terminal, end), daemon=True)
        try:
            tty.setcbreak(terminal)  # keys arrive one by one, and Ctrl-C stays a signal
            listener.start()
            yield
        finally:
            end.set()
            listener.join()
            with contextlib.suppress(termios.error, OSError):  # the terminal may be gone
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def _listen(self, terminal: int, end: threading.Event) -> None:
        while not end.is_set():
            try:
                pressed = bool(select.select([terminal], [], [], 0.1)[0])
                key = os.read(terminal, 1) if pressed else b""
            except OSError as error:  # the terminal is gone, for example
                self.problem = f"keys are not read any more ({error.strerror}): the run goes on"
                return
            if pressed and not key:
                return
            if key and key in b"p ":
                self.paused = not self.paused


def _mode_of_terminal() -> list[Any] | None:
    """Returns the mode to which the terminal must return, or None if this process reads no keys."""
    try:
        return termios.tcgetattr(sys.stdin.fileno()) if has_keys() else None
    except (termios.error, OSError):
        return None


def has_keys() -> bool:
    """Returns whether this process may read keys. The kernel stops a process that does so in the background."""
    try:
        return sys.stdin is not None and sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
