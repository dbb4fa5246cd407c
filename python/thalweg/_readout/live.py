"""Shows one line of progress on stderr: it is rewritten in a terminal, else printed now and then, with the time."""

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from thalweg._base.notify import Notifier
from thalweg._base.quantities import as_duration
from thalweg._base.stamps import stamped

_RECENT_S = 1.0
_LONG_S = 5.0
_RAREST_S = 64.0
_JUMP_S = 1.0  # a clock that is slewed moves by less than a millisecond between two looks


class _Moment(Protocol):
    @property
    def time_s(self) -> float: ...


M = TypeVar("M", bound=_Moment)


class Recent(Generic[M]):
    """The states of the last second. Rates over this time are steadier than rates since the last look."""

    def __init__(self) -> None:
        self._moments: deque[M] = deque()

    def since(self, now: M) -> M:
        """Returns the state from which the rates at `now` are computed."""
        self._moments.append(now)
        while len(self._moments) > 2 and now.time_s - self._moments[1].time_s >= _RECENT_S:
            self._moments.popleft()
        return self._moments[0]


class LiveLine:
    """The line of progress. If stderr or its terminal is closed, the program goes on without it."""

    def __init__(self, *, quiet: bool = False, interval_s: float = 1.0) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._is_quiet = quiet
        self._interval_s = interval_s
        self._next_s = time.monotonic() + interval_s
        self._last = ""  # what was printed last, since when, and how soon it is printed again
        self._last_since_s = self._pause_s = self._repeat_s = 0.0
        self._is_shown = False
        self._is_closed = False
        self.clock = ClockWatch()

    @property
    def is_quiet(self) -> bool:
        return self._is_quiet

    def show(self, sentence: str) -> None:
        if self._is_quiet:
            return
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be rewritten
            self._write(f"\r{shortened(sentence, width)}\x1b[K")
            self._is_shown = True
        elif time.monotonic() >= self._next_s:
            self._print(sentence, time.monotonic())

    def _print(self, sentence: str, now_s: float) -> None:
        """Prints a line. The same one, as of a handler that has no card, comes more and more rarely, with its time."""
        so_long = ""
        if sentence == self._last:
            so_long = f" (for {as_duration(now_s - self._last_since_s)})"
        else:
            self._last, self._last_since_s, self._pause_s = sentence, now_s, self._interval_s
        self._next_s = now_s + self._interval_s
        if so_long and now_s < self._repeat_s:
            return
        self._repeat_s = now_s + self._pause_s
        self._pause_s = max(self._interval_s, min(2 * self._pause_s, _RAREST_S))
        self._write(f"{stamped(sentence)}{so_long}\n")

    def say(self, sentence: str) -> None:
        """Prints a sentence that stays."""
        self.close()
        self._write(f"{stamped(sentence)}\n")

    def close(self) -> None:
        """Removes the line of progress, so that the next text begins on its own line."""
        if self._is_shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        if not self._is_closed:
            try:
                sys.stderr.write(text)
                sys.stderr.flush()
            except OSError:
                self._is_closed = True


def shortened(sentence: str, width: int) -> str:
    """Returns the parts that fit, with a sign for those that are left out: half a number would be another one."""
    if len(sentence) <= width:
        return sentence
    fits = sentence[: max(0, width - 1)]
    for end in (", ", " "):
        if end in fits:
            return f"{fits.rpartition(end)[0]}{end}…"
    return "…"


class Waits:
    """Says for what a quiet program has waited for five seconds, and once more when it goes on.

    Without that, a program that shows no progress would look as if it hung. Others say it in their line of progress."""

    def __init__(self, live: LiveLine) -> None:
        self._live = live
        self._since_s = 0.0
        self._is_waiting = self._is_said = False

    def look(self, waiting: str, goes_on: str) -> None:
        """`waiting` says for what the program waits now; it is empty if it goes on."""
        now = time.monotonic()
        if waiting and not self._is_waiting:
            self._since_s = now
        if self._is_said and not waiting:
            self._live.say(goes_on)
        is_long = bool(waiting) and self._is_waiting and now - self._since_s >= _LONG_S
        if is_long and not self._is_said and self._live.is_quiet:
            self._live.say(waiting)
            self._is_said = True
        self._is_waiting, self._is_said = bool(waiting), self._is_said and bool(waiting)


class ClockWatch:
    """Notices that the clock of the machine was set while a program runs.

    Only times in messages and files depend on it. Leases, timers and ages go by a clock that cannot be set."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._offset_s = wall() - steady()

    def look(self) -> str:
        """Returns what happened to the clock since the last look; empty: it went on."""
        offset_s = self._wall() - self._steady()
        jump_s, self._offset_s = offset_s - self._offset_s, offset_s
        if abs(jump_s) < _JUMP_S:
            return ""
        way = "forward" if jump_s > 0 else "back"
        return (
            f"the clock of this machine was set {way} by {as_duration(abs(jump_s))} (or the machine was suspended): "
            "times in messages and files jump, and nothing else depends on it"
        )


def show(live: LiveLine, notifier: Notifier, sentence: str) -> None:
    """Shows what a main loop sees, and feeds the watchdog of systemd with it."""
    if jump := live.clock.look():
        live.say(jump)
    live.show(sentence)
    notifier.alive(lambda: sentence)
    if notifier.problem:
        live.say(notifier.problem)
        notifier.problem = ""


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
