"""Computes properties of pulses: their polarity, their baseline, and their integral above it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._values.ragged import Ragged

Array = npt.NDArray[np.float64]
Samples = npt.NDArray[Any] | Ragged

_EDGE_BLOCKS = 128  # blocks of a record for finding an edge: shorter than a pulse, longer than the noise
_LEVEL_BLOCKS = 32  # blocks of a record for finding the baseline
_SHARED_BY = 3  # blocks that must agree on a level; fewer may be an undershoot
_NOISE_WIDTHS = 3.0
_ROUNDS = 10
_MOST_SAMPLES = 1024  # samples of a record that all rounds but the last one use
_SAMPLES_AT_ONCE = 131_072  # samples that stay in the cache


def integrals(samples: Samples, sign: int) -> Array:
    """Returns the sum of the samples of each record above its baseline, in the direction of `sign`."""
    sums = np.zeros(len(samples))
    for rows, records in _by_length(samples):
        step = max(1, _SAMPLES_AT_ONCE // records.shape[1])
        for first in range(0, len(records), step):
            upwards = sign * records[first : first + step].astype(np.float64)
            sums[rows[first : first + step]] = upwards.sum(axis=1) - baselines(upwards) * records.shape[1]
    return sums


def baselines(records: Array) -> Array:
    """Returns the baseline of each record, whose pulses must point upwards.

    The position, number and length of the pulses are not known. The baseline is therefore the lowest level at which
    the record stays for a while, refined to the mean of all samples that differ from it by noise only.
    """
    some = records[:, :: -(-records.shape[1] // _MOST_SAMPLES)]
    size = max(1, some.shape[1] // _LEVEL_BLOCKS)
    blocks = some[:, : some.shape[1] // size * size].reshape(len(some), -1, size)
    medians = np.median(blocks, axis=2)
    deviations = np.median(np.abs(blocks - medians[:, :, np.newaxis]), axis=2)
    lower = np.take_along_axis(deviations, np.argsort(medians, axis=1)[:, : -(-medians.shape[1] // 2)], axis=1)
    width = _NOISE_WIDTHS * 1.4826 * np.median(lower, axis=1)
    if size < _SHARED_BY:  # a block is too short to have a noise of its own
        width = _NOISE_WIDTHS * 1.4826 * np.median(np.abs(np.diff(some, axis=1)), axis=1) / np.sqrt(2)
    level = _lowest_shared(np.sort(medians, axis=1), width)
    for _ in range(_ROUNDS):
        before = level
        level = _mean_within(some, level, width)
        if np.all(np.abs(level - before) <= width / 100):
            break
    return _mean_within(records, level, width)


def polarity(samples: Samples) -> int:
    """Returns 1 if pulses go upwards and -1 if they go downwards.

    The first steep edge of each record votes with its height. A record that begins with a pulse has no such edge; it
    votes by its asymmetry around its median.
    """
    votes = 0.0
    for _, records in _by_length(samples):
        size = max(1, records.shape[1] // _EDGE_BLOCKS)
        means = records[:, : records.shape[1] // size * size].reshape(len(records), -1, size).mean(axis=2)
        steps = np.diff(means, axis=1)
        if not steps.shape[1]:
            continue
        heights = np.abs(steps).max(axis=1)
        first = np.argmax(np.abs(steps) >= heights[:, np.newaxis] / 2, axis=1)
        edges = np.take_along_axis(steps, first[:, np.newaxis], axis=1)[:, 0]
        asymmetry = means.max(axis=1) + means.min(axis=1) - 2 * np.median(means, axis=1)
        votes += float(np.where(first == 0, np.sign(asymmetry) * heights, edges).sum())
    return -1 if votes < 0 else 1


def _lowest_shared(medians: Array, width: Array) -> Array:
    """Returns the lowest of the ascending medians that its neighbours share, or simply the lowest if none is shared."""
    if medians.shape[1] < _SHARED_BY:
        return medians[:, 0]
    near = medians[:, _SHARED_BY - 1 :] - medians[:, : 1 - _SHARED_BY] <= width[:, np.newaxis]
    at = np.where(near.any(axis=1), np.argmax(near, axis=1) + 1, 0)
    return np.asarray(np.take_along_axis(medians, at[:, np.newaxis], axis=1)[:, 0])


def _mean_within(records: Array, level: Array, width: Array) -> Array:
    above = records - level[:, np.newaxis]
    within = np.abs(above) <= width[:, np.newaxis]
    return np.asarray(level + np.einsum("ij,ij->i", above, within) / np.maximum(within.sum(axis=1), 1))


def _by_length(samples: Samples) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[Any]]]:
    """Yields the records of each length together, with their row numbers. Empty records are left out."""
    if isinstance(samples, np.ndarray):
        if samples.size:
            yield np.arange(len(samples)), samples
        return
    offsets = np.asarray(samples.offsets).astype(np.intp)
    lengths = np.diff(offsets)
    content = np.asarray(samples.content)
    for length in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == length)
        yield rows, content[offsets[rows][:, np.newaxis] + np.arange(length)]
