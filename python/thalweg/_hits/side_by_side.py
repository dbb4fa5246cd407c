"""Reads the hits of several detectors side by side, so that those of one time come together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError

PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12}
EARLIEST_PS = -(1 << 63)
Hits = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]
"""Times in picoseconds, negative before the zero of the clock, and energies."""
_MOST_PS = (1 << 63) - (1 << 50)
"""A little less than 63 bits, so that delays and the ends of histograms can be added."""


def side_by_side(
    hits: Mapping[int, Iterator[Hits]], newest: list[int] | None = None
) -> Iterator[list[tuple[int, Hits]]]:
    """Yields hits by the number of their detector, in rounds: each time those of the detectors that lag behind, so that
    partners are in memory at the same time.

    newest: the newest time of each detector so far, which is kept up to date.
    """
    reached = newest if newest is not None else [EARLIEST_PS] * (1 + max(hits, default=-1))
    waiting = dict(hits)
    while waiting:
        oldest = min(reached[each] for each in waiting)
        found = []
        for detector in [each for each in waiting if reached[each] <= oldest]:
            got = next(waiting[detector], None)
            if got is None:
                del waiting[detector]
                continue
            found.append((detector, got))
            if len(got[0]):
                reached[detector] = max(reached[detector], int(got[0][-1]))
        if found:
            yield found


def picoseconds(times: npt.NDArray[Any], unit: str) -> npt.NDArray[np.int64]:
    """Returns times as whole picoseconds. Raises UsageError if they do not fit into 63 bits."""
    factor = PICOSECONDS[unit]
    if len(times) and not -_MOST_PS < _exact(times.min()) * factor <= _exact(times.max()) * factor < _MOST_PS:
        raise UsageError(f"times from {times.min()} to {times.max()} {unit} cannot be counted in ps in 63 bits")
    if times.dtype.kind == "f":
        return np.rint(times * float(factor)).astype(np.int64)
    return np.asarray(times.astype(np.int64) * np.int64(factor))


def _exact(time: Any) -> int | float:
    return int(time) if time.dtype.kind in "iu" else float(time)
