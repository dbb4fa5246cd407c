"""Tables with columns that h5py reads, and others that the page map reads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import h5py
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import DataError
from thalweg._others.hdf5_column import H5Column
from thalweg._reading.asked import BATCH_BYTES, check_batches, has_path, listed, selected_row
from thalweg._reading.origin import Origin
from thalweg._reading.scan import Items, Scan
from thalweg._reading.stored_table import StoredTable
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type
from thalweg._values.rows import Rows

_CACHE_BYTES = 64 << 20  # for chunks, if the memory of batches has no limit


class H5Table(StoredTable):
    """A table with columns that h5py reads, with one thread at a time. The page map reads all others.

    `columns` has them by path, or by "" the compound dataset whose members they are.
    """

    def __init__(
        self,
        core: _core.Reader,
        origin: Origin,
        schema: TableSchema,
        index: int | None,
        core_columns: Iterable[_core.Column],
        columns: Mapping[str, H5Column],
    ) -> None:
        """`index`: the number of the table in the core, or None if the core reads no column of it."""
        super().__init__(core, origin, schema, -1 if index is None else index, core_columns)
        self._has_core = index is not None
        self._by_h5py = dict(columns)
        self._h5py = next(iter(columns.values())).source

    def __len__(self) -> int:
        self._check_is_open()
        return super().__len__() if self._has_core else len(next(iter(self._by_h5py.values())))

    @property
    def by_h5py(self) -> Mapping[str, H5Column]:
        return self._by_h5py

    def stored_in(self) -> None:
        self._check_is_open()

    def storage(self) -> list[tuple[int, int]]:
        self._check_is_open()
        stored = super().storage() if self._has_core else []
        return [*stored, *((column.raw_bytes, column.chunk_rows) for column in self._by_h5py.values())]

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = BATCH_BYTES,
        threads: int = 0,
    ) -> Iterator[Rows]:
        """Yields rows in batches. Lists and strings that h5py reads take `memory_bytes` on average."""
        check_batches(rows, memory_bytes)
        names = listed(columns)
        row = selected_row(self.schema, names)
        others = _without(row, self._by_h5py, "")
        wanted = self._wanted(row)
        if not wanted:
            yield from super().batches(names, rows=rows, memory_bytes=memory_bytes, threads=threads)
            return
        if memory_bytes is not None and others.members:
            memory_bytes = max(1, memory_bytes // 2)
        source = _H5Scan(self._open_core(), self._index, self._columns, threads, memory_bytes)
        each_bytes = (_CACHE_BYTES if memory_bytes is None else memory_bytes) // len(wanted)
        with self._opened(wanted, 0, len(self)) as file:
            source.by_h5py = {path: column.scanned(file, each_bytes) for path, column in wanted.items()}
            start = 0
            while start < len(self):
                count = min(rows, len(self) - start, _rows_that_fit(wanted, memory_bytes))
                count = source.rows_that_fit(others, start, count) if others.members else count
                yield Rows(row, self._struct(source, row, "", (), start, count), count)
                start += count

    def _stretch(
        self,
        columns: str | list[str] | None,
        start: int,
        stop: int,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]],
    ) -> Rows:
        wanted = self._wanted(selected_row(self.schema, columns))
        if not wanted:
            return super()._stretch(columns, start, stop, threads, out)
        with self._opened(wanted, start, stop):  # once for all columns
            return super()._stretch(columns, start, stop, threads, out)

    @contextmanager
    def _opened(self, wanted: Mapping[str, H5Column], start: int, stop: int) -> Iterator[h5py.File]:
        """Opens the file. Raises DataError if it was removed or damaged after these columns were found in it."""
        with ExitStack() as stack:
            try:
                file = stack.enter_context(self._h5py.opened())
            except Exception as error:
                paths = ", ".join(column.path for column in wanted.values())
                where = f"{self._h5py.path}: rows {start} to {stop} of table '{self.schema.name}' ({paths})"
                raise DataError(f"{where} cannot be read by h5py ({type(error).__name__}: {error})") from error
            yield file

    def _wanted(self, row: Type) -> dict[str, H5Column]:
        return {path: each for path, each in self._by_h5py.items() if has_path(row, path)}

    def _struct(
        self, source: Items, type_: Type, path: str, outer: tuple[int, ...], first: int, count: int
    ) -> dict[str, Any]:
        if not path and "" in self._by_h5py:
            return dict(_columns(source, self._by_h5py)[""].read(type_, first, count).members)
        return super()._struct(source, type_, path, outer, first, count)

    def _member(self, source: Items, type_: Type, path: str, outer: tuple[int, ...], first: int, count: int) -> Any:
        column = _columns(source, self._by_h5py).get(path)
        if column is not None:  # a column without rows is false
            return column.read(type_, first, count)
        return super()._member(source, type_, path, outer, first, count)


class _H5Scan(Scan):
    """A scan whose columns of h5py keep the chunks in which a batch ends."""

    by_h5py: Mapping[str, H5Column]


def _columns(source: Items, all_columns: Mapping[str, H5Column]) -> Mapping[str, H5Column]:
    return source.by_h5py if isinstance(source, _H5Scan) else all_columns


def _rows_that_fit(wanted: Mapping[str, H5Column], memory_bytes: int | None) -> int:
    row_bytes = sum(column.row_bytes for column in wanted.values())
    return sys.maxsize if memory_bytes is None or not row_bytes else max(1, memory_bytes // row_bytes)


def _without(type_: Type, paths: Mapping[str, Any], path: str) -> Type:
    """Returns a struct without the members of these paths, and without structs that have no other members."""
    members = []
    for name, member in type_.members if "" not in paths else ():
        own = f"{path}/{name}" if path else name
        if own in paths:
            continue
        if member.name == "struct":
            member = _without(member, paths, own)
            if not member.members:
                continue
        members.append((name, member))
    return replace(type_, members=tuple(members))
