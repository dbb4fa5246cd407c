"""Slices of time that all detectors share: features of pulses that are watched are made in some of them.

Of pulses at random, one in ten would keep one in a hundred coincidences. Slices that all detectors share keep one in
ten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError

SLICE_PS = 10_000_000_000
_MOST = 1_000_000
_CLOSE_ROWS = 64
"""Rows that lie between two slices of a piece are read with them if they are fewer: a page has some rows."""


@dataclass(frozen=True)
class Slices:
    """One of so many slices counts. 1: all."""

    one_of: int = 1

    def have(self, times_ps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which times lie in slices that count."""
        return np.asarray(times_ps // SLICE_PS % self.one_of == 0)

    def __str__(self) -> str:
        return "all pulses" if self.one_of == 1 else f"the pulses in one of {self.one_of} slices of 10 ms"


def slices_of(text: str) -> Slices:
    """Returns the slices of a text such as 1/10. Raises UsageError if it is none."""
    match = re.fullmatch(r"1/([1-9][0-9]{0,6})", text)
    if text != "all" and (match is None or int(match[1]) > _MOST):
        raise UsageError(f"--slices is '{text}': give all, or for example 1/10 (at most 1/{_MOST})")
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
