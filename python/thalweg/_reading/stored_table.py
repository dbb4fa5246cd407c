"""Tables that the core reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._reading.asked import BATCH_BYTES, check_batches, has_path, listed, selected_row
from thalweg._reading.follow import Tables
from thalweg._reading.gather import read_chosen
from thalweg._reading.origin import Origin
from thalweg._reading.scan import Items, Scan
from thalweg._reading.table import Table
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type, uint8
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen

Columns = Mapping[tuple[str, bool], int]
"""The number of each column in the core, by its path and whether it holds lengths of lists."""


class StoredTable(Table):
    def __init__(
        self, core: _core.Reader, origin: Origin, schema: TableSchema, index: int, columns: Iterable[_core.Column]
    ) -> None:
        """`index`: the number of the table in the core, or -1 if the core reads none of it (`columns` is empty)."""
        super().__init__(schema, origin)
        self._core: _core.Reader | None = core
        self._index = index
        self._columns: Columns = {(column.path, column.is_lengths): place for place, column in enumerate(columns)}

    def __len__(self) -> int:
        return self._open_core().rows(self._index)

    def storage(self) -> list[tuple[int, int]]:
        return [(column.raw_bytes, column.page_items) for column in _core.storage_of(self._open_core(), self._index)]

    def stored_in(self) -> tuple[_core.Reader, int] | None:
        return self._open_core(), self._index

    def page_ends(self, most: int) -> Iterator[list[int]]:
        core = self._open_core()
        columns = [column for (path, _), column in self._columns.items() if "*" not in path.split("/")]
        for column in columns[:: max(1, -(-len(columns) // most))]:
            ends = [0]
            while ends[-1] < len(self):
                ends.append(core.page_end(self._index, column, ends[-1]))
            yield ends[1:]

    def _read(
        self,
        columns: str | list[str] | None,
        chosen: Chosen,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]] | None,
    ) -> Rows:
        self._check_is_open()

        def stretch(start: int, stop: int, into: Mapping[str, npt.NDArray[Any]]) -> Rows:
            return self._stretch(columns, start, stop, threads, into)

        return read_chosen(self, stretch, chosen, out or {})

    def _stretch(
        self,
        columns: str | list[str] | None,
        start: int,
        stop: int,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]],
    ) -> Rows:
        """Returns rows [start, stop)."""
        row = selected_row(self.schema, columns)
        source = Items(self._open_core(), self._index, threads)
        for path in out:
            if not has_path(row, path):
                raise UsageError(f"`out` has '{path}' (it is not read from table '{self.name}'): leave it out")
        source.put_into(out, self._columns, self.name)
        return Rows(row, self._struct(source, row, "", (), start, stop - start), stop - start)

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = BATCH_BYTES,
        threads: int = 0,
    ) -> Iterator[Rows]:
        check_batches(rows, memory_bytes)
        names = listed(columns)
        row = selected_row(self.schema, names)
        source = Scan(self._open_core(), self._index, self._columns, threads, memory_bytes)
        start = 0
        while start < len(self):
            count = source.rows_that_fit(row, start, min(rows, len(self) - start))
            yield Rows(row, self._struct(source, row, "", (), start, count), count)
            start += count

    def _when_followed(self) -> Tables:
        return partial(tables_of, origin=self.origin)

    def close(self) -> None:
        self._core = None

    def _open_core(self) -> _core.Reader:
        if self._core is None:
            raise self.origin.closed()
        return self._core

    def _check_is_open(self) -> None:
        self._open_core()

    def _struct(
        self, source: Items, type_: Type, path: str, outer: tuple[int, ...], first: int, count: int
    ) -> dict[str, Any]:
        return {
            name: self._member(source, member, f"{path}/{name}" if path else name, outer, first, count)
            for name, member in type_.members
        }

    def _member(self, source: Items, type_: Type, path: str, outer: tuple[int, ...], first: int, count: int) -> Any:
        shape = (*outer, *type_.shape)
        if type_.name == "struct":
            return Rows(type_, self._struct(source, type_, path, shape, first, count), count)
        if type_.is_split:
            values = np.empty((count, *shape), type_.dtype)
            for part in ("real", "imag"):
                into = getattr(values, part)
                into[...] = source.items(self._columns[f"{path}/{part}", False], into.dtype, into.shape, first)
            return values
        if type_.is_scalar:
            return source.items(self._columns[path, False], type_.dtype, (count, *shape), first)
        column = self._columns[path, True]
        lengths = source.items(column, np.dtype(np.uint64), (count, *shape), first)
        elements = source.elements(column, first, lengths)
        content = self._member(source, type_.element or uint8, f"{path}/*", (), *elements)
        return (Ragged if type_.element else Text).from_lengths(lengths, content)


def tables_of(core: _core.Reader, origin: Origin) -> dict[str, StoredTable]:
    """Returns all tables that the core reads, by name."""
    stored = core.schema
    columns = _core.flatten(stored)
    tables = Schema.from_json(stored).tables
    return {each.name: StoredTable(core, origin, each, at, columns[at]) for at, each in enumerate(tables)}
