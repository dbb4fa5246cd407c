"""Reads items of columns: any range of them, or all in order with every page decoded once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.given import MOST_THREADS, integer_of
from thalweg._schema.types import Type, uint8

Array = npt.NDArray[Any]
Sizes = npt.NDArray[np.int64]

_PIECE_BYTES = 128 << 20  # a piece takes a fraction of a second


class Items:
    """Reads items of the columns of a table; a column is given by its number."""

    def __init__(self, core: _core.Reader, table: int, threads: int) -> None:
        self._core = core
        self._table = table
        self._threads = integer_of(threads, "threads", 0, MOST_THREADS)
        self._out: dict[int, Array] = {}  # the arrays to fill, by column

    def put_into(self, out: Mapping[str, Array], columns: Mapping[tuple[str, bool], int], table: str) -> None:
        """Lets items be read into these arrays, by column path. Raises UsageError if an array cannot be used."""
        for path, array in out.items():
            if (path, False) not in columns:
                raise UsageError(f"`out` has '{path}', which is not a column of numbers of table '{table}'")
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise UsageError(f"the array for column '{path}' in `out` must be C-contiguous and writeable")
            self._out[columns[path, False]] = array

    def items(self, column: int, dtype: np.dtype[Any], shape: tuple[int, ...], first: int) -> Array:
        """Returns `shape[0]` items from `first` on. Raises UsageError if the array in `out` does not fit."""
        values = self._out.get(column)
        if values is None:
            values = np.empty(shape, dtype)
        elif values.shape != shape or values.dtype != dtype:
            is_given, is_read = f"{values.dtype} {values.shape}", f"{dtype} {shape}"
            raise UsageError(f"an array in `out` is {is_given}, but the values are {is_read}: give one like these")
        self._read(column, first, values)
        return values

    def _read(self, column: int, first: int, values: Array) -> None:
        """Reads items in pieces, between which Python handles Ctrl-C. Pieces end at ends of pages."""
        item_bytes = max(1, values.dtype.itemsize * math.prod(values.shape[1:]))
        most, done = max(1, _PIECE_BYTES // item_bytes), 0
        while len(values) - done > most:
            end = self._core.page_end(self._table, column, first + done + most - 1) - first
            count = min(end, len(values)) - done
            self._core.read(self._table, column, first + done, count, values[done : done + count], self._threads)
            done += count
        self._core.read(self._table, column, first + done, len(values) - done, values[done:], self._threads)

    def elements(self, column: int, first: int, lengths: Array) -> tuple[int, int]:
        """Returns the first element and the number of elements of the lists from `first` on with these lengths."""
        return self._core.elements(self._table, column, first, len(lengths))


class Scan(Items):
    """Reads all items in order. Values that are decoded together with those of a request are kept for the next one."""

    def __init__(
        self,
        core: _core.Reader,
        table: int,
        columns: Mapping[tuple[str, bool], int],
        threads: int,
        memory_bytes: int | None,
    ) -> None:
        super().__init__(core, table, threads)
        self._columns = columns
        self._memory_bytes: float = math.inf if memory_bytes is None else memory_bytes
        # The limit for values that are kept.
        self._spare_bytes = math.inf if memory_bytes is None else min(memory_bytes, _core.read_memory_bytes() // 4)
        self._kept: dict[int, tuple[int, Array]] = {}  # by column: the first item and the values from it on
        self._surplus: dict[int, int] = {}  # the bytes of these that were not requested
        self._next_element: dict[int, int] = {}  # the next element, by lengths column

    def items(self, column: int, dtype: np.dtype[Any], shape: tuple[int, ...], first: int) -> Array:
        return self._keep(column, dtype, shape, first)[: shape[0]]

    def elements(self, column: int, first: int, lengths: Array) -> tuple[int, int]:  # noqa: ARG002
        start, count = self._next_element.get(column, 0), int(lengths.sum())
        self._next_element[column] = start + count
        return start, count

    def rows_that_fit(self, row: Type, first: int, most: int) -> int:
        """Returns how many of the next rows fit into the memory; at least one."""
        if self._memory_bytes == math.inf:
            return most
        most = max(1, min(most, int(self._memory_bytes // max(1, _fixed_bytes(row)))))
        return len(self._cut(self._sizes(row, "", (), first, most))) if _has_lists(row) else most

    def _keep(self, column: int, dtype: np.dtype[Any], shape: tuple[int, ...], first: int) -> Array:
        """Returns at least `shape[0]` items from `first` on, and the rest of the last page if there is room."""
        kept_first, kept = self._kept.get(column, (0, np.empty((0, *shape[1:]), dtype)))
        count, known = shape[0], kept_first + len(kept) - first
        if count <= known:
            return kept[first - kept_first :]
        item_bytes = max(1, dtype.itemsize * math.prod(shape[1:]))
        room = self._spare_bytes - sum(size for other, size in self._surplus.items() if other != column)
        wanted = self._core.page_end(self._table, column, first + count - 1) - first if count else 0
        total = max(count, min(wanted, count + int(max(0, min(room / item_bytes, wanted)))))
        values = np.empty((total, *shape[1:]), dtype)
        values[:known] = kept[len(kept) - known :]
        self._read(column, first + known, values[known:])
        self._kept[column] = first, values
        self._surplus[column] = (total - count) * item_bytes
        return values

    def _sizes(self, type_: Type, path: str, outer: tuple[int, ...], first: int, count: int) -> Sizes:
        """Returns the size in memory of each of `count` items, or of the first ones that fit.

        A list takes the size of its elements and one offset."""
        shape = (*outer, *type_.shape)
        if type_.name == "struct":
            sizes = np.zeros(count, np.int64)
            for name, member in type_.members:
                inner = self._sizes(member, f"{path}/{name}" if path else name, shape, first, len(sizes))
                sizes = self._cut(sizes[: len(inner)] + inner)
            return sizes
        if type_.is_scalar or type_.is_split:
            return np.full(count, math.prod(shape) * type_.dtype.itemsize, np.int64)
        return self._list_sizes(type_.element or uint8, path, shape, first, count)

    def _list_sizes(self, element: Type, path: str, shape: tuple[int, ...], first: int, count: int) -> Sizes:
        column = self._columns[path, True]
        each = math.prod(shape)
        lengths = self._keep(column, np.dtype(np.uint64), (count, *shape), first)[:count]
        numbers = lengths.sum(axis=tuple(range(1, lengths.ndim))).astype(np.int64)
        sizes = self._cut(8 * each + numbers * _fixed_bytes(element))
        if not _has_lists(element):
            return sizes
        if len(sizes) == 0:
            return sizes
        ends = np.cumsum(numbers[: len(sizes)])
        inner = self._sizes(element, f"{path}/*", (), self._next_element.get(column, 0), int(ends[-1]))
        ends = ends[: np.searchsorted(ends, len(inner), "right")]
        if len(ends) == 0:  # not even the elements of the first list fit
            return np.array([int(inner.sum())], np.int64)
        sums = np.concatenate([[0], np.cumsum(inner)])[np.concatenate([[0], ends])]
        return self._cut(8 * each + np.diff(sums))

    def _cut(self, sizes: Sizes) -> Sizes:
        """Returns the sizes of the items that fit; at least one, if there is one."""
        return sizes[: max(1, int(np.searchsorted(np.cumsum(sizes), self._memory_bytes, "right")))]


def _fixed_bytes(type_: Type) -> int:
    """Returns the size of an item without the content of its lists."""
    each = math.prod(type_.shape)
    if type_.name == "struct":
        return each * sum(_fixed_bytes(member) for _, member in type_.members)
    return each * (type_.dtype.itemsize if type_.is_scalar or type_.is_split else 8)


def _has_lists(type_: Type) -> bool:
    if type_.name == "struct":
        return any(_has_lists(member) for _, member in type_.members)
    return not (type_.is_scalar or type_.is_split)
