"""Plans the ranges of a job: which rows are done together, and in which order ranges are given out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

from thalweg._derive.inputs import InputFile, Inputs

RANGE_BYTES = 8 << 20
"""The decoded size up to which clusters are put into one range."""
GROUP_BYTES = 32 << 20
"""The size of the input that becomes one group of an output in the order of the input."""
_CLUSTERS_PER_WORKER = 4


@dataclass(frozen=True)
class Range:
    """Rows [start, stop) of a file. Its number is the key of its work unit and its position in the input."""

    number: int
    file: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class RangePlan:
    """All ranges of a job. The outputs keep the plan, so that a resumed job has the same ranges."""

    files: tuple[tuple[int, ...], ...]
    """The rows at which the ranges of each file end."""
    per_group: int
    """The number of consecutive ranges that are committed together; 0 if the outputs have no order."""

    @property
    def ranges(self) -> list[Range]:
        pairs = [(file, *pair) for file, ends in enumerate(self.files) for pair in pairwise((0, *ends))]
        return [Range(number, *each) for number, each in enumerate(pairs)]

    @property
    def tasks(self) -> list[tuple[Range, ...]]:
        """The ranges that one worker does at a time, in the order in which they are given out: large ones first, and
        those of one file one after the other, so that few files are open at a time."""
        ranges = self.ranges
        size = self.per_group or 1
        groups = [tuple(ranges[first : first + size]) for first in range(0, len(ranges), size)]
        largest = [max((stop - start for start, stop in pairwise((0, *ends))), default=0) for ends in self.files]
        if self.per_group:
            return groups
        return sorted(groups, key=lambda group: (-largest[group[0].file], group[0].file, -len(group[0])))

    def number_of(self, task: Sequence[Range]) -> int:
        """Returns the number of the work unit of a task, or of its group."""
        return task[0].number // max(1, self.per_group)

    @property
    def number_of_carried(self) -> int:
        """The key of the work unit of carried tables: the first one behind the ranges, in a group of its own."""
        count = sum(map(len, self.files))
        return -(-count // self.per_group) * self.per_group if self.per_group else count

    def to_json(self) -> dict[str, Any]:
        return {"files": [list(ends) for ends in self.files], "per_group": self.per_group}

    @staticmethod
    def from_json(stored: Any) -> RangePlan:
        return RangePlan(tuple(tuple(ends) for ends in stored["files"]), stored["per_group"])


class RangeCut(Enum):
    """The rows at which ranges may end."""

    pages = "at the ends of pages of all columns"
    clusters = "at the ends of clusters, so that their pages can be copied, or in the middle of a cluster"
    whole = "only at the ends of clusters, since half a cluster cannot be copied"


def range_plan(
    inputs: Inputs, workers: int, in_order: bool, ranges_per_group: int | None, range_bytes: int | None, cut: RangeCut
) -> RangePlan:
    """Returns the plan of a job. With `in_order`, it does not depend on the number of workers."""
    most_bytes = range_bytes or (RANGE_BYTES if in_order else min(RANGE_BYTES, inputs.raw_bytes // (8 * workers)))
    # If there are few clusters, decoding some of them costs less than leaving workers idle.
    enough = 1 if in_order or cut is RangeCut.whole else _CLUSTERS_PER_WORKER * workers
    by_clusters = cut is not RangeCut.pages and sum(len(file.clusters) for file in inputs.files) >= enough
    files = [list(_ends(file, by_clusters, most_bytes)) for file in inputs.files]
    if not in_order:
        files = files if cut is RangeCut.whole else _with_halves(files, workers)
        return RangePlan(tuple(map(tuple, files)), 0)
    count = sum(map(len, files))
    chosen = GROUP_BYTES * count // max(1, inputs.raw_bytes)
    return RangePlan(tuple(map(tuple, files)), ranges_per_group or max(1, min(chosen, count // 16)))


def _ends(file: InputFile, by_clusters: bool, most_bytes: int) -> Iterator[int]:
    """Yields the rows at which ranges end. Small pages or clusters are put together."""
    ends = (by_clusters and file.clusters) or file.ends
    each_bytes = file.raw_bytes / max(1, file.rows)
    start = 0
    for end, following in pairwise((*ends, None)):
        assert end is not None
        if following is None or (following - start) * each_bytes > most_bytes:
            yield end
            start = end


def _with_halves(files: list[list[int]], workers: int) -> list[list[int]]:
    """Cuts the smallest ranges, one for each worker, in two, so that all workers end at about the same time."""
    sizes = sorted(
        (stop - start, file, stop) for file, ends in enumerate(files) for start, stop in pairwise((0, *ends))
    )
    cut = [list(ends) for ends in files]
    for size, file, stop in sizes[:workers] if workers > 1 else ():
        if size > 1:
            cut[file].append(stop - size // 2)
    return [sorted(ends) for ends in cut]


def as_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
