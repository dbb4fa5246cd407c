"""Counts how often a device was lost for one cause: each cause is said at its 1st, 10th, 100th time, and so on."""

import re
from dataclasses import dataclass

MOST_AT_ONCE = 5


@dataclass
class Cause:
    times: int = 0
    said: str = ""  # the sentence that stands among the failures of the run

    @property
    def is_told(self) -> bool:
        return int(str(self.times)[1:] or "0") == 0 and str(self.times)[0] == "1"


class Losses:
    """Those of one device."""

    def __init__(self) -> None:
        self.last = Cause(times=1)
        self._causes: dict[str, Cause] = {}
        self._has_given = False
        self._at_once = ""
        self._times_at_once = 0

    def add(self, text: str) -> Cause:
        """Counts a loss, of which this is said."""
        self.last = self._causes.setdefault(_kind_of(text), Cause())
        self.last.times += 1
        return self.last

    def is_hopeless(self, text: str, *, fails_at_once: bool, has_given: bool) -> bool:
        """Returns whether processes that gave no row ended in this way so often in a row that the program is wrong. A
        device that has given rows in this run may do so again."""
        self._has_given = self._has_given or has_given
        if self._has_given or not fails_at_once:
            self._at_once = ""
            return False
        kind = _kind_of(text)
        self._times_at_once = self._times_at_once + 1 if kind == self._at_once else 1
        self._at_once = kind
        return self._times_at_once >= MOST_AT_ONCE


def _kind_of(text: str) -> str:
    """Returns the text without the numbers that an exception says, but for the line of the file at its end."""
    said, at, place = text.rpartition(", at ")
    return re.sub(r"\d[\d.,]*", "#", said) + at + place if at else text
