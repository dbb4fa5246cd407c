"""What people and programs ask of a run while it goes on: signals, and keys where there is a terminal."""

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


class Control:
    """Flags that the recording loop looks at."""

    def __init__(self) -> None:
        self.interrupts = 0
        self.stop = False
        self.paused = False

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupts += 1
        self.stop = True

    def on_terminate(self, number: int, frame: FrameType | None) -> None:
        self.stop = True

    def on_pause(self, number: int, frame: FrameType | None) -> None:
        self.paused = True

    def on_resume(self, number: int, frame: FrameType | None) -> None:
        self.paused = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        handlers = {
            signal.SIGINT: self.on_interrupt,
            signal.SIGTERM: self.on_terminate,
            signal.SIGUSR1: self.on_pause,
            signal.SIGUSR2: self.on_resume,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            with self._keys():
                yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _keys(self) -> Iterator[None]:
        if not has_keys():
            yield
            return
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        end = threading.Event()
        listener = threading.Thread(target=self._listen, args=(terminal, end), daemon=True)
        try:
            tty.setcbreak(terminal)  # single keys, and Ctrl-C stays a signal
            listener.start()
            yield
        finally:
            end.set()
            listener.join()
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def _listen(self, terminal: int, end: threading.Event) -> None:
        while not end.is_set():
            if select.select([terminal], [], [], 0.1)[0]:
                key = os.read(terminal, 1)
                if not key:
                    return
                if key in b"p ":
                    self.paused = not self.paused


def has_keys() -> bool:
    """In the foreground of a terminal: whoever reads it in the background is stopped by the kernel."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
