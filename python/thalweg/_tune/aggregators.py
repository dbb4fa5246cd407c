"""Chooses aggregators of a collective call by the data of its ranks, after M. Chaarawi and E. Gabriel, "Automatically
selecting the number of aggregators for collective I/O operations", CLUSTER 2011.

Ranks are put in groups, each of which has one aggregator, its first rank. A group first has the ranks whose data follow
each other in the file, or a row of a Cartesian topology. A group with more bytes than the storage needs to be busy, k,
is split; neighbours with fewer are merged.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from thalweg._base.errors import UsageError

Group = tuple[int, ...]
"""The ranks of a group, its aggregator first."""


class Mode(enum.IntEnum):
    """What a split is to reach; the numbers are those of `io_ompio_grouping_option` in Open MPI."""

    DATA_VOLUME = 1
    """Each group has about k bytes; the last one may have few ranks."""
    UNIFORM = 2
    """As DATA_VOLUME, but without a last group of less than half the ranks of the others."""
    CONTIGUOUS = 3
    """Groups grow until one of them has 1 MiB that is contiguous in the file."""
    OPTIMIZED = 4
    """Both."""


@dataclass(frozen=True)
class Part:
    """What one rank moves in a collective call: where it begins in the file, and how many bytes it has."""

    offset: int
    bytes: int
    piece: int | None = None
    """The bytes that lie together at the beginning, if pieces of ranks alternate. None: all lie together."""

    @property
    def end(self) -> int:
        return self.offset + self.bytes

    @property
    def first(self) -> int:
        return self.bytes if self.piece is None else self.piece


CONTIGUOUS_BYTES = 1 << 20
SMALL_SHARE = 0.5


def groups(parts: Sequence[Part], k: int, mode: Mode = Mode.DATA_VOLUME, dims: Sequence[int] = ()) -> list[Group]:
    """Returns the groups of ranks of one collective call.

    parts: what each rank moves, by rank.
    k: the bytes from which on an aggregator writes as fast as the storage lets it.
    dims: the extent of each dimension of a Cartesian topology with the same ranks. Without it, or with one dimension,
        the first groups are by the places in the file.

    Raises UsageError if `k` is not positive, a part is negative, or the topology has another number of ranks.
    """
    _check(parts, k, dims)
    first = _rows(len(parts), dims) if len(dims) > 1 else _by_place(parts)
    found: list[Group] = []
    small: list[Group] = []
    for group in first:
        total = sum(parts[rank].bytes for rank in group)
        if total < k:
            small.append(group)
            continue
        found += _merged(small, parts, k)
        small = []
        found += _split(group, parts, k, mode) if total > k else [group]
    return found + _merged(small, parts, k)


def _check(parts: Sequence[Part], k: int, dims: Sequence[int]) -> None:
    if k < 1:
        raise UsageError(f"k cannot be {k} bytes: give the bytes of one aggregator, 1 or more")
    for rank, part in enumerate(parts):
        if part.offset < 0 or part.bytes < 0:
            raise UsageError(f"rank {rank} cannot move {part.bytes} bytes at {part.offset}: give numbers from 0 on")
    ranks = 1
    for extent in dims:
        ranks *= extent
    if dims and (ranks != len(parts) or min(dims) < 1):
        shape = " x ".join(map(str, dims))
        raise UsageError(f"a topology of {shape} has no place for {len(parts)} ranks: give extents with this product")


def _by_place(parts: Sequence[Part]) -> list[Group]:
    """Returns groups of consecutive ranks of which each begins where the first piece of the one before it ends."""
    found: list[list[int]] = []
    for rank, part in enumerate(parts):
        if rank and part.offset == parts[rank - 1].offset + parts[rank - 1].first:
            found[-1].append(rank)
        else:
            found.append([rank])
    return [tuple(group) for group in found]


def _rows(ranks: int, dims: Sequence[int]) -> list[Group]:
    """Returns one group for each coordinate of the first dimension. Ranks count the last dimension fastest."""
    size = ranks // dims[0]
    return [tuple(range(row * size, (row + 1) * size)) for row in range(dims[0])]


def _merged(small: Sequence[Group], parts: Sequence[Part], k: int) -> list[Group]:
    """Merges neighbours, as Open MPI does: a group takes the next one while it has no more than k bytes. What is left
    alone at the end joins the group before it."""
    found: list[Group] = []
    total = 0
    for number, group in enumerate(small):
        is_last = number + 1 == len(small)
        if found and (total <= k or is_last):
            found[-1] += group
            total += sum(parts[rank].bytes for rank in group)
        else:
            found.append(group)
            total = sum(parts[rank].bytes for rank in group)
    return found


def _split(group: Group, parts: Sequence[Part], k: int, mode: Mode) -> list[Group]:
    total = sum(parts[rank].bytes for rank in group)
    size = -(-k * len(group) // total)  # the authors round up the number of ranks that have k bytes together
    if mode in (Mode.CONTIGUOUS, Mode.OPTIMIZED):
        while size < len(group) and _most_contiguous(_pieces(group, size), parts) < CONTIGUOUS_BYTES:
            size = -(-(size + len(group)) // 2)  # rounded down, it would never become the whole group
    found = _pieces(group, size)
    if mode in (Mode.UNIFORM, Mode.OPTIMIZED) and len(found) > 1 and len(found[-1]) <= SMALL_SHARE * size:
        if len(group) % len(found) == 0:
            return _pieces(group, len(group) // len(found))
        return [*found[:-2], found[-2] + found[-1]]
    return found


def _pieces(group: Group, size: int) -> list[Group]:
    return [group[first : first + size] for first in range(0, len(group), size)]


def _most_contiguous(found: Sequence[Group], parts: Sequence[Part]) -> int:
    """Returns the bytes of the longest range of one group that has no gap."""
    most = 0
    for group in found:
        length = parts[group[0]].first
        most = max(most, length)
        for before, rank in pairwise(group):
            follows = parts[rank].offset == parts[before].offset + parts[before].first
            length = parts[rank].first + (length if follows else 0)
            most = max(most, length)
    return most


def number_by_volume(parts: Sequence[Part], k: int) -> int:
    """Returns how many aggregators have k bytes each if groups do not matter: all bytes divided by k, rounded up."""
    return max(1, -(-sum(part.bytes for part in parts) // k))
