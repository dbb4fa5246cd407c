"""Handles Ctrl-C: the first one finishes the current ranges and stops the job, the second one stops it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from thalweg._derive.loop import JobLoop


class Interrupts:
    """Stops a loop on SIGINT if it runs in the main thread. In other threads, Python handles no signals."""

    def __init__(self, loop: JobLoop) -> None:
        self._loop = loop
        self._before: Any = None
        self.count = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.count += 1
        if self.count == 1:
            self._loop.stop("it was interrupted")
        else:
            self._loop.kill("the job was interrupted twice")
