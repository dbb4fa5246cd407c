"""Reads rows that do not follow each other: it reads stretches of rows and takes the requested ones from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._reading.protocol import ReadsRows
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen, Indices, is_stretch
from thalweg._values.take import joined

Arrays = Mapping[str, npt.NDArray[Any]]

_STRETCH_BYTES = 64 << 20  # the size of the values of a stretch
_PAGE_ROWS = 4096  # assumed if pages have no common size


def read_chosen(table: ReadsRows, stretch: Callable[[int, int, Arrays], Rows], chosen: Chosen, out: Arrays) -> Rows:
    """Returns the chosen rows of a table. `stretch` reads rows [start, stop), into `out` if that has their columns."""
    if is_stretch(chosen):
        return stretch(chosen.start, chosen.stop, out)
    if out:
        raise UsageError(f"rows of table '{table.name}' that do not follow each other cannot be read into `out`")
    return gathered_rows(lambda start, stop: stretch(start, stop, {}), chosen, len(table), table.storage())


def gathered_rows(
    read: Callable[[int, int], Rows], chosen: Chosen, count: int, storage: Iterable[tuple[int, int]]
) -> Rows:
    """Returns the rows with these numbers, in this order; a row may occur several times.

    read: reads rows [start, stop).
    count: the number of rows of the table.
    storage: the bytes of each column and the items of its pages, as `Table.storage`.

    Rows of one page are read together, so that pages are rarely decoded twice, in stretches of about 64 MiB.
    """
    wanted, places = np.unique(np.asarray(chosen, np.int64), return_inverse=True)
    if not len(wanted):
        return read(0, 0)
    columns = list(storage)
    page_rows = max((items for _, items in columns), default=0) or _PAGE_ROWS
    most_rows = max(1, _STRETCH_BYTES * count // max(1, sum(size for size, _ in columns)))  # on average
    parts = []
    for stretch in _stretches(wanted, page_rows, most_rows):
        first = int(stretch[0])
        parts.append(read(first, int(stretch[-1]) + 1).taken(stretch - first))
    together: Rows = joined(parts)
    is_in_order = len(places) == len(wanted) and bool(np.all(np.diff(places) > 0))
    return together if is_in_order else together.taken(places.astype(np.int64))


def _stretches(wanted: Indices, page_rows: int, most_rows: int) -> Iterator[Indices]:
    """Yields the stretches. A new one begins after a gap wider than a page, or if a stretch would be too large."""
    for part in np.split(wanted, np.flatnonzero(np.diff(wanted) > page_rows) + 1):
        while len(part):
            end = np.searchsorted(part, part[0] + most_rows)
            yield part[:end]
            part = part[end:]
