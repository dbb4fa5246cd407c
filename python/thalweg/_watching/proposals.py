"""What another energy window would give, counted over the newest hits, which are kept in memory."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._hits.side_by_side import Hits
from thalweg._watching.windows import toml_of, window_of
from thalweg.tdpac import Spectra, SpectraCounter, TdpacConfig

MEMORY_BYTES = 128 << 20
"""The size for one pass over a run. There are two of them while it is counted again with other delays."""
_MOST_POINTS = 400
_LEAST_RANDOM_BINS = 10
_AROUND_ZERO_NS = 3.0

Counts = npt.NDArray[np.int64]


class HitMemory:
    """The newest hits of all detectors, in the order in which they were read. Thread-safe."""

    def __init__(self, size_bytes: int = MEMORY_BYTES) -> None:
        self._size_bytes = size_bytes
        self._lock = threading.Lock()
        self._pieces: deque[tuple[int, Hits]] = deque()
        self._bytes = 0

    def add(self, detector: int, hits: Hits) -> None:
        times, energies = np.array(hits[0], np.int64), np.array(hits[1], np.float32)
        with self._lock:
            self._pieces.append((detector, (times, energies)))
            self._bytes += times.nbytes + energies.nbytes
            while self._bytes > self._size_bytes and len(self._pieces) > 1:
                _, oldest = self._pieces.popleft()
                self._bytes -= sum(each.nbytes for each in oldest)

    def pieces(self) -> list[tuple[int, Hits]]:
        with self._lock:
            return list(self._pieces)


def proposal_of(
    given: Any,
    config: TdpacConfig,
    tables: tuple[str, ...],
    delays_ps: tuple[float, ...] | None,
    pieces: list[tuple[int, Hits]],
) -> dict[str, Any]:
    """Returns what the window that a viewer proposes would give, beside what that of the configuration gives, over the
    same hits.

    given: as for `window_of`.

    Raises UsageError if it is no window.
    """
    kind, window = window_of(given, config, tables)
    proposed = replace(config, start=window) if kind == "start" else replace(config, stop=window)
    now, then = (_counted(each, tables, delays_ps, pieces) for each in (config, proposed))
    step = max(1, -(-now.counts.shape[2] // _MOST_POINTS))
    return {
        "kind": kind,
        "toml": toml_of(kind, window),
        "hits": sum(len(times) for _, (times, _) in pieces),
        "times": _merged_times(now, step),
        "now": {**_summary(now), "counts": _merged(now, step)},
        "then": {**_summary(then), "counts": _merged(then, step)},
    }


def _counted(
    config: TdpacConfig, tables: tuple[str, ...], delays_ps: tuple[float, ...] | None, pieces: list[tuple[int, Hits]]
) -> Spectra:
    counter = SpectraCounter(config, tables, delays_ps)
    last = -1
    for detector, hits in pieces:
        if detector <= last:  # hits of one time are read side by side
            counter.pair()
        counter.add(detector, *hits)
        last = detector
    counter.pair()
    return counter.spectra()


def _of_all_pairs(spectra: Spectra) -> Counts:
    return np.asarray(spectra.counts.sum(axis=(0, 1)) - np.trace(spectra.counts), np.int64)


def _summary(spectra: Spectra) -> dict[str, Any]:
    """Returns the coincidences of different detectors, and how many of them are true: more than the random ones that
    the negative times show."""
    counts, edges = _of_all_pairs(spectra), spectra.edges_ns
    random, after = counts[edges[1:] < -_AROUND_ZERO_NS], counts[edges[:-1] >= -_AROUND_ZERO_NS]
    is_known = len(random) >= _LEAST_RANDOM_BINS
    return {
        "coincidences": int(counts.sum()),
        "true": round(float(after.sum() - random.mean() * len(after))) if is_known else None,
    }


def _merged(spectra: Spectra, step: int) -> list[int]:
    counts = _of_all_pairs(spectra)
    whole = len(counts) // step * step
    return [int(each) for each in counts[:whole].reshape(-1, step).sum(axis=1)]


def _merged_times(spectra: Spectra, step: int) -> list[float]:
    edges = spectra.edges_ns
    count = (len(edges) - 1) // step
    return [round(float(edges[i * step] + edges[(i + 1) * step]) / 2, 6) for i in range(count)]
