"""Slices of time that all detectors share: features of pulses that are watched are made in some of them.

Of pulses at random, one in ten would keep one in a hundred coincidences. Slices that all detectors share keep one in
ten.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._hits.side_by_side import EARLIEST_PS
from thalweg._watching.load import Load

SLICE_PS = 10_000_000_000
_MOST = 1_000_000
_FIRST_ONE_OF = 10
"""The share until the load is known."""
_CLOSE_ROWS = 64
"""Rows that lie between two slices of a piece are read with them if they are fewer: a page has some rows."""


class Slices:
    """One of so many slices counts; 1: all. Thread-safe.

    If the share follows the load, it changes from the first slice on that no pass over the run has asked for yet. So
    all passes and all detectors have the same slices.
    """

    def __init__(self, one_of: int = 1, follows_load: bool = False) -> None:
        self.load = Load(SLICE_PS) if follows_load else None
        self._lock = threading.Lock()
        self._newest = EARLIEST_PS // SLICE_PS
        self._begins = np.array([self._newest], np.int64)
        self._one_of = np.array([one_of], np.int64)

    @property
    def one_of(self) -> int:
        """The share of the newest slices."""
        return int(self._one_of[-1])

    def have(self, times_ps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which times lie in slices that count."""
        numbers = times_ps // SLICE_PS
        with self._lock:
            if len(numbers):
                self._newest = max(self._newest, int(numbers.max()))
            begins, one_of = self._begins, self._one_of
        return np.asarray(numbers % one_of[np.searchsorted(begins, numbers, "right") - 1] == 0)

    def follow(self, computing_s: float, newest_ps: int | None, is_behind: bool) -> bool:
        """Lets the share follow the load, and returns whether it has changed.

        computing_s, newest_ps, is_behind: as for `Load.wanted`.
        """
        if self.load is None or newest_ps is None:
            return False
        wanted = self.load.wanted(self.one_of, computing_s, newest_ps, is_behind)
        if wanted == self.one_of:
            return False
        with self._lock:
            self._begins = np.append(self._begins, self._newest + 1)
            self._one_of = np.append(self._one_of, wanted)
        return True

    def begin_anew(self) -> None:
        """The load is that of another pass over the run from now on."""
        if self.load is not None:
            self.load.begin_anew()

    def stretches(self, most: int) -> list[tuple[int, int]]:
        """Returns the newest stretches: from which slice on one of how many counts. The first slice of a run has the
        number 0 if its clock begins at 0."""
        with self._lock:
            return [(int(begin), int(one_of)) for begin, one_of in zip(self._begins, self._one_of, strict=True)][-most:]

    def __str__(self) -> str:
        pulses = "all pulses" if self.one_of == 1 else f"the pulses in one of {self.one_of} slices of 10 ms"
        return pulses if self.load is None else f"{pulses} at present, which follows the load"


def slices_of(text: str) -> Slices:
    """Returns the slices of a text such as 1/10. Raises UsageError if it is none."""
    if text == "auto":
        return Slices(_FIRST_ONE_OF, follows_load=True)
    match = re.fullmatch(r"1/([1-9][0-9]{0,6})", text)
    if text != "all" and (match is None or int(match[1]) > _MOST):
        raise UsageError(f"--slices is '{text}': give auto, all, or for example 1/10 (at most 1/{_MOST})")
    return Slices(int(match[1]) if match else 1)


def parts_of(piece: Any, kept: npt.NDArray[np.bool_]) -> Iterator[tuple[Any, npt.NDArray[np.bool_]]]:
    """Yields parts of a piece of a table that have all rows that are kept, and which rows of a part these are."""
    rows = np.flatnonzero(kept)
    if not len(rows):
        return
    breaks = np.flatnonzero(np.diff(rows) > _CLOSE_ROWS) + 1
    for part in np.split(rows, breaks):
        first, end = int(part[0]), int(part[-1]) + 1
        yield piece[first:end], kept[first:end]
