"""Counts a run again from its first row on, with other windows or delays, behind the spectra that are shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg._watching.changes import Changes
from thalweg._watching.counting import Asked, Counting


@dataclass(frozen=True)
class Progress:
    """So many rows of those that are shown."""

    changes: Changes
    rows: int
    of: int

    def as_json(self) -> dict[str, Any]:
        windows = self.changes.windows
        return {
            "windows": [] if windows is None else windows.toml,
            "of_configuration": windows is None,
            "rows": self.rows,
            "of": self.of,
        }


def catch_up(counting: Counting, shown_rows: Callable[[], int], between: Callable[[], None]) -> None:
    """Returns when a pass has all rows that were shown before its last look, or there are no more."""
    while True:
        wanted, files = shown_rows(), len(counting.files)
        has_found = counting.look(between)
        if counting.is_over or counting.rows >= wanted or (not has_found and len(counting.files) == files):
            return
        between()


class Rescans:
    """One pass at a time, in a thread of its own: a newer one ends an older one. Thread-safe.

    shown_rows: returns how many rows the spectra have that are shown. say: writes a line to the log of the page.
    """

    def __init__(self, asked: Asked, shown_rows: Callable[[], int], say: Callable[[str], None]) -> None:
        self._asked, self._shown_rows, self._say = asked, shown_rows, say
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._shown = Changes()
        self._latest = Changes()
        self._number = 0
        """The newest pass has it: an older one that is still made sees by it that it is given up."""
        self._wanted: Changes | None = None
        self._counting: Counting | None = None
        self._done: Counting | None = None
        self._is_stopped = False

    @property
    def latest(self) -> Changes:
        """What the newest pass has that was begun, or what is shown if that pass has failed."""
        with self._news:
            return self._latest

    def begin(self, changed: Callable[[Changes], Changes]) -> Changes:
        """Gives up a pass that is made, and begins another one, unless its changes are shown. It returns at once.

        changed: makes them of the latest ones. What it raises leaves all as it is.
        """
        with self._news:
            changes = changed(self._latest)
            self._number += 1
            self._latest, self._counting, self._done = changes, None, None
            self._wanted = None if changes == self._shown else changes
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._work, name="rescan", daemon=True)
                self._thread.start()
            self._news.notify_all()
            return changes

    def take(self) -> Counting | None:
        """Returns a pass that has caught up with what is shown, once, and regards it as what is shown."""
        with self._news:
            done, self._done = self._done, None
            if done is not None:
                self._shown = done.changes
            return done

    def progress(self) -> Progress | None:
        """Returns how far the pass is that is made, or None if none is made, or waits for `take`."""
        with self._news:
            if self._latest == self._shown:
                return None
            counting, changes = self._done or self._counting, self._latest
        of = self._shown_rows()
        return Progress(changes, min(counting.rows, of) if counting else 0, of)

    def stop(self) -> None:
        with self._news:
            self._is_stopped = True
            self._news.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (wanted := self._next()) is not None:
            number, changes = wanted
            try:
                self._count(number, changes)
            except _GivenUpError:
                continue
            except Exception as error:  # whatever it is, the spectra that are shown stay
                with self._news:
                    if number == self._number:
                        self._latest, self._counting = self._shown, None
                why = str(error) or type(error).__name__
                self._say(f"the run cannot be counted again, and the spectra stay as they are: {why}")

    def _next(self) -> tuple[int, Changes] | None:
        with self._news:
            while self._wanted is None and not self._is_stopped:
                self._news.wait()
            changes, self._wanted = self._wanted, None
            return None if self._is_stopped or changes is None else (self._number, changes)

    def _count(self, number: int, changes: Changes) -> None:
        """Returns when the pass has all rows that are shown."""

        def check() -> None:
            if self._is_stopped or number != self._number:
                raise _GivenUpError

        counting = Counting(self._asked, changes)
        with self._news:
            check()
            self._counting = counting
        catch_up(counting, self._shown_rows, check)
        with self._news:
            check()
            self._counting, self._done = None, counting


class _GivenUpError(Exception):
    """A newer pass is wanted, or the command ends."""
