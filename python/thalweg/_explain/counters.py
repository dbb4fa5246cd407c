"""Counts what was done to each file, and how evenly the ranks did it. No rule is needed to read these figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import by_file, call_places, data, steps
from thalweg._trace.calls import Calls
from thalweg._trace.spans import elapsed
from thalweg._trace.trace_file import Trace

SIZES = (100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The limits between the classes of sizes, in bytes."""
KINDS = ("open", "close", "read", "write", "transfer", "seek", "sync", "metadata", "map", "lock")


@dataclass(frozen=True)
class Spread:
    """How a figure is spread over the ranks that used a file."""

    least: float
    least_rank: int
    most: float
    most_rank: int
    mean: float
    variance: float


@dataclass(frozen=True)
class FileCounters:
    file: str
    level: str
    calls: dict[str, int]
    """The calls of each kind."""
    seconds: dict[str, float]
    """The time in each kind in which at least one call was running."""
    read_bytes: int
    written_bytes: int
    read_sizes: list[int]
    """The reads in each class of sizes: below 100 B, below 1 kB, and so on by tens; the last one has no limit."""
    written_sizes: list[int]
    sequential: int
    """The reads and writes that begin at the end of the one before by the same process, or behind it."""
    consecutive: int
    """Those that begin exactly there."""
    last_byte: int
    """The end of the range that is farthest in the file."""
    failed: int
    ranks: int
    bytes_by_rank: Spread | None
    """None if fewer than two ranks used the file."""
    seconds_by_rank: Spread | None

    def sentence(self) -> str:
        assert self.bytes_by_rank is not None
        assert self.seconds_by_rank is not None
        moved, took = self.bytes_by_rank, self.seconds_by_rank
        return (
            f"{self.file}: {self.ranks} ranks move {as_bytes(moved.least)} (rank {moved.least_rank}) to "
            f"{as_bytes(moved.most)} (rank {moved.most_rank}), with a standard deviation of "
            f"{as_bytes(moved.variance**0.5)}, in {took.least:.3g} s (rank {took.least_rank}) to {took.most:.3g} s "
            f"(rank {took.most_rank})"
        )


def counters(trace: Trace) -> list[FileCounters]:
    """Returns the counters of each file of data and each of the levels POSIX and stdio, most bytes first."""
    found = [
        _of_file(trace.files[number], level, calls)
        for level in ("posix", "stdio")
        for number, calls in by_file(trace.on_disk(trace.levels[level]))
    ]
    return sorted(found, key=lambda each: -each.read_bytes - each.written_bytes)


def _of_file(file: str, level: str, calls: Calls) -> FileCounters:
    kinds = {kind: calls.where(calls.kind == kind) for kind in KINDS}
    moves = data(calls)
    sequential, consecutive, last = _order(calls)
    by_rank = [(rank, moves.where(moves.rank == rank)) for rank in moves.ranks if rank >= 0]
    has_ranks = len(by_rank) > 1
    return FileCounters(
        file,
        level,
        {kind: len(some) for kind, some in kinds.items() if len(some)},
        {kind: elapsed(some) for kind, some in kinds.items() if len(some)},
        kinds["read"].moved_bytes,
        kinds["write"].moved_bytes,
        _classes(kinds["read"]),
        _classes(kinds["write"]),
        sequential,
        consecutive,
        last,
        int((calls.error != 0).sum()),
        len(by_rank),
        _spread([(rank, float(some.moved_bytes)) for rank, some in by_rank]) if has_ranks else None,
        _spread([(rank, some.seconds) for rank, some in by_rank]) if has_ranks else None,
    )


def _classes(calls: Calls) -> list[int]:
    counts = np.zeros(len(SIZES) + 1, np.int64)
    for part in calls.in_blocks():
        counts += np.bincount(np.searchsorted(SIZES, part.moved, side="right"), minlength=len(counts))
    return counts.tolist()


def _order(calls: Calls) -> tuple[int, int, int]:
    sequential = consecutive = last = 0
    for process in calls.processes:
        mine = calls.of_process(process)
        is_move = mine.kind.isin(("read", "write")) & (mine.moved > 0)
        begin, moved = call_places(mine)[is_move], mine.where(is_move).moved
        ahead = steps(begin, moved)
        sequential += int((ahead >= 0).sum())
        consecutive += int((ahead == 0).sum())
        begin += moved
        last = max(last, int(begin.max(initial=0)))
    return sequential, consecutive, last


def _spread(values: list[tuple[int, float]]) -> Spread:
    numbers = np.array([value for _, value in values])
    least, most = values[int(numbers.argmin())], values[int(numbers.argmax())]
    return Spread(least[1], least[0], most[1], most[0], float(numbers.mean()), float(numbers.var()))


def as_figures(found: list[FileCounters]) -> list[dict[str, Any]]:
    """Returns the counters as JSON shows them."""
    return [
        {name: vars(value) if isinstance(value, Spread) else value for name, value in vars(each).items()}
        for each in found
    ]
