"""Handles Ctrl-C: the first one finishes the current ranges and stops the job, the second one stops it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from thalweg._base.signals import Wishes

if TYPE_CHECKING:
    from thalweg._derive.loop import JobLoop


class Interrupts:
    """Stops a loop on SIGINT if it runs in the main thread. In other threads, Python handles no signals.

    When the loop has ended without an interrupt, SIGINT is handled as before. A job that was interrupted has yet to
    leave its outputs so that they can be resumed, which further interrupts must not prevent: `end` comes behind that.
    """

    def __init__(self, loop: JobLoop) -> None:
        self._loop = loop
        self._before: Any = None
        self._runs = True
        self.count = 0
        self._wishes = Wishes()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        self._runs = False
        if not self.count:
            self.end()

    def end(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self._before = None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if not self._wishes.is_new():
            return
        self.count += 1
        if self.count == 1:
            self._loop.stop("it was interrupted")
        elif self._runs:
            self._loop.kill("the job was interrupted twice")
