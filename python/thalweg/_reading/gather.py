"""Rows that do not follow each other: read in stretches, of which those that are wanted are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from thalweg._values.rows import Rows
from thalweg._values.select import Chosen, Indices
from thalweg._values.take import joined

_STRETCH_BYTES = 64 << 20  # of values
_PAGE_ROWS = 4096  # where pages have no common size


def gathered(read: Callable[[int, int], Rows], chosen: Chosen, count: int, storage: Iterable[tuple[int, int]]) -> Rows:
    """The rows of these numbers, in their order, a row also more than once.

    read: of rows [start, stop). count: the rows that there are. storage: of each column its bytes, and how many items
    a page has, as `Table.storage`.
    Rows of one page are read together, so that a page is seldom decoded twice, in stretches of some 64 MiB.
    """
    wanted, places = np.unique(np.asarray(chosen, np.int64), return_inverse=True)
    if not len(wanted):
        return read(0, 0)
    columns = list(storage)
    page_rows = max((items for _, items in columns), default=0) or _PAGE_ROWS
    most_rows = max(1, _STRETCH_BYTES * count // max(1, sum(size for size, _ in columns)))  # in the mean
    parts = []
    for stretch in _stretches(wanted, page_rows, most_rows):
        first = int(stretch[0])
        parts.append(read(first, int(stretch[-1]) + 1).taken(stretch - first))
    together: Rows = joined(parts)
    is_in_order = len(places) == len(wanted) and bool(np.all(np.diff(places) > 0))
    return together if is_in_order else together.taken(places.astype(np.int64))


def _stretches(wanted: Indices, page_rows: int, most_rows: int) -> Iterator[Indices]:
    """Cut where a gap is wider than a page, and where rows from first to last would be too many."""
    for part in np.split(wanted, np.flatnonzero(np.diff(wanted) > page_rows) + 1):
        while len(part):
            end = np.searchsorted(part, part[0] + most_rows)
            yield part[:end]
            part = part[end:]
