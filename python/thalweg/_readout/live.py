"""One line on stderr that says how it goes: over and over where it is a terminal, else once a second."""

import shutil
import sys
import time
from collections import deque
from typing import Generic, Protocol, TypeVar

_RECENT_S = 1.0


class _Moment(Protocol):
    @property
    def time_s(self) -> float: ...


M = TypeVar("M", bound=_Moment)


class Recent(Generic[M]):
    """The moments of the last second: a rate since the last look would jump about."""

    def __init__(self) -> None:
        self._moments: deque[M] = deque()

    def since(self, now: M) -> M:
        """The moment that the rates of `now` are counted from."""
        self._moments.append(now)
        while len(self._moments) > 2 and now.time_s - self._moments[1].time_s >= _RECENT_S:
            self._moments.popleft()
        return self._moments[0]


class LiveLine:
    """Nobody needs to look: when stderr is closed, or its terminal is, the program goes on without."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._next_s = time.monotonic() + 1
        self._is_shown = False
        self._is_closed = False

    def show(self, sentence: str) -> None:
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be written over
            self._write(f"\r{sentence if len(sentence) <= width else sentence[: width - 1] + '…'}\x1b[K")
            self._is_shown = True
        elif time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + 1
            self._write(f"{sentence}\n")

    def say(self, sentence: str) -> None:
        """Something that stays."""
        self.close()
        self._write(f"{sentence}\n")

    def close(self) -> None:
        """What is said next begins on a line of its own."""
        if self._is_shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        if not self._is_closed:
            try:
                sys.stderr.write(text)
                sys.stderr.flush()
            except OSError:
                self._is_closed = True


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
