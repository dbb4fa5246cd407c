"""Reading: closed files, and runs that are still being written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from thalweg import _core
from thalweg._attributes import Attributes
from thalweg._errors import UnknownNameError, UsageError
from thalweg._ragged import Ragged, Text
from thalweg._reports import LeftOut, Verification, problems_of, verification_of
from thalweg._rows import Rows
from thalweg._scan import Items, Scan
from thalweg._schema import Schema, TableSchema
from thalweg._tuning import Value, in_effect
from thalweg._types import Type, uint8
from thalweg._write import Path

_BATCH_BYTES = 64 << 20  # of `batches`


class Column:
    """A column of a table: what is said of it. `Table.read` reads its values."""

    def __init__(self, path: str, type_: Type) -> None:
        self.name = path
        self.type = type_

    @property
    def attrs(self) -> Attributes:
        """As h5py gives them, with unit and description as "units" and "description"."""
        return self.type.attrs.with_texts(units=self.type.unit, description=self.type.description)

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError(f"column '{self.name}' is not the values of it; read them with table.read('{self.name}')")

    def __repr__(self) -> str:
        return f"<Column '{self.name}': {self.type}>"


class Table:
    """A table of a run. `len` is the number of its rows; iterating gives the names of its fields."""

    def __init__(self, core: _core.Reader, schema: Schema, name: str, columns: list[list[_core.Column]]) -> None:
        self._core = core
        self._index = schema.index(name)
        self._columns = {(column.path, column.is_lengths): index for index, column in enumerate(columns[self._index])}
        self.schema: TableSchema = schema[name]

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def columns(self) -> list[str]:
        """All that `read` can be asked for: fields, and what is nested in them, as "waveform/values"."""
        row = Type("struct", members=self.schema.fields)
        return list(_paths(row))

    @property
    def attrs(self) -> Attributes:
        """Its attributes, as h5py gives them: numbers, strings, and arrays of these."""
        return self.schema.attrs.with_texts(description=self.schema.description)

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        """Columns that h5py reads, by path; by "" a compound whose members they are."""
        return {}

    def __len__(self) -> int:
        return self._core.rows(self._index)

    # All together: with `__len__` and `__getitem__` alone Python would take a table for a sequence of rows.
    def __getitem__(self, column: str) -> Column:
        """A column by its name, or that of what is nested in it: "waveform/values"."""
        if not isinstance(column, str):
            raise UsageError(f"a table is asked for columns by name, not for {column!r}; read rows with read(rows=...)")
        type_ = Type("struct", members=self.schema.fields)
        for name in column.split("/"):
            while type_.element is not None and name != "*":
                type_ = type_.element
            inner = dict(type_.members) if name != "*" else {"*": type_.element}
            found = inner.get(name)
            if found is None:
                raise UnknownNameError(
                    f"table '{self.name}' has no column '{column}'; there are {', '.join(self.schema)}"
                )
            type_ = found
        return Column(column, type_)

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema)

    def __contains__(self, name: object) -> bool:
        return name in self.schema or name in self.columns

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError(f"table '{self.name}' is no array (each column has a type of its own); read its columns")

    def storage(self) -> list[tuple[int, int]]:
        """Of each column: its bytes when they are decoded, and how many items its pages have, where that is one number
        (else 0)."""
        return [(column.raw_bytes, column.page_items) for column in _core.storage_of(self._core, self._index)]

    def read(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: slice | tuple[int, int] | None = None,
        threads: int = 0,
    ) -> Rows:
        """Reads columns in parallel, and of the file no more than they need.

        columns: names of fields, or of what is nested in them ("waveform/values"); None: all.
        rows: a slice without a step, or (start, stop); None: all.
        threads: 0: as many as there are usable cores.

        Raises UsageError where there is no such column, DataError naming table, column and offset where the file is
        damaged.
        """
        row = selected_row(self.schema, columns)
        start, stop = self._range(rows)
        source = Items(self._core, self._index, threads)
        members = self._struct(source, row, "", (), start, stop - start)
        return Rows(row, members, stop - start)

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = _BATCH_BYTES,
        threads: int = 0,
    ) -> Iterator[Rows]:
        """Reads one stretch of `rows` rows after the other.

        A stretch is shorter at the end, and where its values would take more than `memory_bytes` (None: never), but has
        a row at least: so wide tables, and long lists, are read in bounded memory. What is decoded with the last rows
        of a stretch, since it shares their pages, is kept for the next one, in as much memory again: so every page is
        decoded once, unless it is larger than that.
        """
        check_batches(rows, memory_bytes)
        names = columns if columns is None or isinstance(columns, str) else list(columns)
        row = selected_row(self.schema, names)
        source = Scan(self._core, self._index, self._columns, threads, memory_bytes)
        start = 0
        while start < len(self):
            count = source.rows_that_fit(row, start, min(rows, len(self) - start))
            yield Rows(row, self._struct(source, row, "", (), start, count), count)
            start += count

    def _range(self, rows: slice | tuple[int, int] | None) -> tuple[int, int]:
        if not isinstance(rows, slice | tuple | None):
            raise UsageError(f"rows {rows!r} cannot be read: give a slice, or (start, stop)")
        wanted = slice(*rows) if isinstance(rows, tuple) else rows or slice(None)
        start, stop, step = wanted.indices(len(self))
        if step != 1:
            raise UsageError(f"rows {wanted} cannot be read; read without a step and take [::{step}] of the result")
        return start, max(start, stop)

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

    def __repr__(self) -> str:
        return f"<Table '{self.name}': {len(self)} rows of {{{', '.join(self.schema)}}}>"


@dataclass(frozen=True)
class UnitRows:
    """Rows of a table that one work unit has: [first, first + rows)."""

    table: str
    producer: int
    first: int
    rows: int


@dataclass(frozen=True)
class Unit:
    """A work unit that counts, and where its rows are: in several pieces of a table where the container moved them."""

    key: int | bytes
    summary: bytes
    rows: tuple[UnitRows, ...]


class Run(Mapping[str, Table]):
    """A recorded run: a mapping from the names of its tables to `Table`. A snapshot, if it is still being written."""

    def __init__(self, core: _core.Reader) -> None:
        self._core = core
        stored = core.schema
        self._schema = Schema.from_json(stored)
        self._columns = _core.flatten(stored)

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def metadata(self) -> dict[str, str]:
        return self._core.metadata

    @cached_property
    def problems(self) -> tuple[LeftOut, ...]:
        """What the file has and the tables have not, and why: empty where all of it is read."""
        return problems_of(self._core.left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is shown otherwise than it is stored, in files of other programs."""
        return tuple(self._core.notes)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the run; of an HDF5 file those of its root. What is noted while a run is recorded is
        `metadata`."""
        return self._schema.attrs

    @property
    def group_attrs(self) -> dict[str, Attributes]:
        """Of groups that are no tables, by name."""
        return dict(self._schema.groups)

    @property
    def keys_per_group(self) -> int:
        """So many consecutive keys of its work units were committed together; 0: its rows are in no order of keys."""
        return self._core.keys_per_group

    @property
    def knobs(self) -> dict[str, Value]:
        """The knobs it is written with, by name: sizes in bytes, times in seconds. Of somebody else's file: none."""
        return in_effect(self._core.knobs)

    @property
    def path(self) -> str:
        return self._core.path

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The work units that were committed, in the order in which the run got to know of them. Of a run that is still
        open: those whose rows can be read.

        Raises DataError where the file's table of units is damaged; the rows can still be read.
        """
        names = list(self._schema)
        return tuple(
            Unit(
                unit.key,
                unit.summary,
                tuple(UnitRows(names[each.table], each.producer, each.first_row, each.rows) for each in unit.ranges),
            )
            for unit in self._core.units()
        )

    @property
    def is_open(self) -> bool:
        """The run is not closed: it is still being written, or waits for `recover`. Open it again for newer rows."""
        return self._core.is_open_run

    def __getitem__(self, name: str) -> Table:
        return Table(self._core, self._schema, name, self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema)

    def __len__(self) -> int:
        return len(self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing has to be closed: the file is, once nobody refers to the run."""

    def __repr__(self) -> str:
        tables = ", ".join(f"'{name}': {len(table)} rows" for name, table in self.items())
        missing = f"; {len(self.problems)} left out, see problems" if self.problems else ""
        return f"<Run {self.path}{' (still open)' if self.is_open else ''}: {tables}{missing}>"


def verify(path: Path, *, threads: int = 0) -> Verification:
    """Compares every stored byte with what was written. Raises as `open` does; faults are in the result."""
    name = os.fspath(path)
    return verification_of(name, _core.verify(name, threads))


def _paths(type_: Type, path: str = "") -> Iterator[str]:
    while type_.element is not None:
        type_ = type_.element
    for name, member in type_.members:
        inner = f"{path}/{name}" if path else name
        yield inner
        yield from _paths(member, inner)


def check_batches(rows: int, memory_bytes: int | None) -> None:
    if rows < 1:
        raise UsageError(f"batches of {rows} rows cannot be read; give at least 1")
    if memory_bytes is not None and memory_bytes < 1:
        raise UsageError(f"batches of {memory_bytes} bytes cannot be read; give at least 1")


def selected_row(table: TableSchema, columns: str | Iterable[str] | None) -> Type:
    """The struct of what is asked for, in the order of the schema."""
    row = Type("struct", members=table.fields)
    if columns is None:
        return row
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is not the name of a column of table '{table.name}'")
    return _pruned(row, [[part for part in name.split("/") if part != "*"] for name in names], table.name)


def _pruned(type_: Type, paths: list[list[str]], table: str) -> Type:
    if [] in paths:
        return type_
    if type_.element is not None:
        return replace(type_, element=_pruned(type_.element, paths, table))
    known = dict(type_.members)
    for path in paths:
        if path[0] not in known:
            raise UnknownNameError(f"table '{table}' has no column '{'/'.join(path)}'; there are {', '.join(known)}")
    members = []
    for name, member in type_.members:
        if inner := [path[1:] for path in paths if path[0] == name]:
            members.append((name, _pruned(member, inner, table)))
    return replace(type_, members=tuple(members))
