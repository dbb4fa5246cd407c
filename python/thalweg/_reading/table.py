"""Tables: what is in them, and how rows of them are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._reading.column import Column
from thalweg._reading.gather import gathered
from thalweg._reading.origin import ClosedReader, closed_reader, opener, path_of_followed, path_of_pickled
from thalweg._reading.scan import Items, Scan
from thalweg._reading.uproot_names import in_library, matching, step_of
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type, uint8
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows
from thalweg._values.select import chosen_rows, is_row_number, is_stretch, row_number

if TYPE_CHECKING:
    import pandas

    from thalweg._values.row_groups import NewRows

BATCH_BYTES = 64 << 20  # of `batches`


class Table:
    """A table of a run. `len` is the number of its rows; iterating gives the names of its fields.

    `table["x"]` is a column, `table[3]` one row, and `table[10:20]` these rows as a table, of which nothing is read
    yet.
    """

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
    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | range | list[int] | npt.NDArray[Any]) -> Table: ...
    def __getitem__(self, key: Any) -> Any:
        """A column by its name, or that of what is nested in it: "waveform/values"; one row; or some rows as a table.

        Raises UnknownNameError or OutOfRangeError where there is no such column or row.
        """
        if isinstance(key, str):
            return Column(self, key)
        if is_row_number(key):
            row = row_number(key, len(self), f"table '{self.name}'")
            return self.read(rows=slice(row, row + 1))[0]
        if key is None or isinstance(key, tuple):
            raise UsageError(f"table '{self.name}' cannot be indexed with {key!r}; give a column, a row, or rows")
        from thalweg._reading.some_rows import RowsOfTable

        return RowsOfTable(self, chosen_rows(key, len(self), f"table '{self.name}'"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema)

    def __contains__(self, name: object) -> bool:
        return name in self.schema or name in self.columns

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError(
            f"table '{self.name}' is no array (each column has a type of its own); read its columns, or take to_numpy()"
        )

    def keys(self) -> list[str]:
        """The names of its fields."""
        return list(self.schema)

    @property
    def num_entries(self) -> int:
        """The number of its rows, as in uproot."""
        return len(self)

    def storage(self) -> list[tuple[int, int]]:
        """Of each column: its bytes when they are decoded, and how many items its pages have, where that is one number
        (else 0)."""
        self._check_is_open()
        return [(column.raw_bytes, column.page_items) for column in _core.storage_of(self._core, self._index)]

    def stored_in(self) -> tuple[_core.Reader, int] | None:
        """Who reads it, and its number there; None where it is not the core alone."""
        if type(self) is not Table:
            return None
        self._check_is_open()
        return self._core, self._index

    def page_ends(self, most: int) -> Iterator[list[int]]:
        """Yields the rows at which pages end, for at most `most` columns with one item a row, spread over the table."""
        columns = [column for (path, _), column in self._columns.items() if "*" not in path.split("/")]
        for column in columns[:: max(1, -(-len(columns) // most))]:
            ends = [0]
            while ends[-1] < len(self):
                ends.append(self._core.page_end(self._index, column, ends[-1]))
            yield ends[1:]

    def read(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: Any = None,
        threads: int = 0,
        out: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Rows:
        """Reads columns in parallel, and of the file no more than they need.

        columns: names of fields, or of what is nested in them ("waveform/values"); None: all.
        rows: a slice, a range, row numbers, or a mask with a bool for each row; None: all.
        threads: 0: as many as there are usable cores.
        out: arrays that take the values of columns of numbers, by path: C-contiguous, of the shape and type of what is
        read. They are in the result. Rows must follow each other.

        Raises UsageError where there is no such column or an array does not fit, OutOfRangeError where there is no such
        row, DataError naming table, column and offset where the file is damaged.
        """
        names = columns if columns is None or isinstance(columns, str) else list(columns)
        chosen = chosen_rows(rows, len(self), f"table '{self.name}'")
        if is_stretch(chosen):
            return self._stretch(names, chosen.start, chosen.stop, threads, out or {})
        if out:
            raise UsageError(f"rows of table '{self.name}' that do not follow each other cannot be read into `out`")
        return gathered(
            lambda start, stop: self._stretch(names, start, stop, threads, {}), chosen, len(self), self.storage()
        )

    def _stretch(
        self,
        columns: str | list[str] | None,
        start: int,
        stop: int,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]],
    ) -> Rows:
        """Rows [start, stop)."""
        row = selected_row(self.schema, columns)
        source = Items(self._core, self._index, threads)
        for path in out:
            if not has_path(row, path):
                raise UsageError(f"`out` has '{path}', which is not read of table '{self.name}'")
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
        """Reads one stretch of `rows` rows after the other.

        A stretch is shorter at the end, and where its values would take more than `memory_bytes` (None: never), but has
        a row at least: so wide tables, and long lists, are read in bounded memory. What is decoded with the last rows
        of a stretch, since it shares their pages, is kept for the next one, in as much memory again, or a quarter of
        `read_memory` where that is less: so every page is decoded once, unless it is larger than that.
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

    def close(self) -> None:
        """What `Run.close` does to its tables."""
        if not isinstance(self._core, ClosedReader):
            self._core = closed_reader(self._core.path)

    def _check_is_open(self) -> None:
        """Raises UsageError where it was closed."""
        if isinstance(self._core, ClosedReader):
            self._core.refuse()

    def _file(self) -> tuple[str, str, bool]:
        """Path, id of the run, and whether it was still open."""
        return self._core.path, self._core.id, self._core.is_open_run

    def __reduce__(self) -> tuple[Any, ...]:
        path_of_pickled(self._core)
        return opener("reopened_table"), (*self._file(), self.name, len(self))

    def arrays(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        library: str = "ak",
    ) -> Any:
        """Columns as an Awkward array ("ak"), a dict of NumPy arrays ("np") or a DataFrame ("pd"), as uproot has them.

        columns: names or patterns such as "Muon_*". Raises UnknownNameError where a pattern is that of no column.
        """
        rows = self.read(matching(self, columns), rows=slice(entry_start, entry_stop))
        return in_library(rows, library)

    def iterate(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        step_size: int | str = "100 MB",
        library: str = "ak",
    ) -> Iterator[Any]:
        """`arrays` of one stretch of rows after the other.

        step_size: so many rows, or so many bytes: that is what a loop over the steps holds, which has one of them still
        while the next is read. So a step has half of it, of frames a third.
        """
        names = matching(self, columns)
        rows, memory_bytes = step_of(step_size)
        if memory_bytes is not None:
            memory_bytes = max(1, memory_bytes // (3 if library == "pd" else 2))
        steps = self.batches(names, rows=rows or max(1, len(self)), memory_bytes=memory_bytes)
        yield from map(partial(in_library, library=library), steps)  # which keeps none of them

    def follow(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        interval: float = 1.0,
        timeout: float | None = None,
        memory_bytes: int = BATCH_BYTES,
        next_files: bool = True,
    ) -> Iterator[NewRows]:
        """Every row of this table once, as they come, until the run is closed: see `Run.follow`.

        columns: as in `read`. Raises UsageError where there is no such column.
        """
        names = columns if columns is None or isinstance(columns, str) else list(columns)
        selected_row(self.schema, names)
        _, id_, _ = self._file()
        follow: Callable[..., Iterator[NewRows]] = opener("followed")
        return follow(path_of_followed(self._core), id_, self.name, names, interval, timeout, memory_bytes, next_files)

    def to_numpy(self) -> npt.NDArray[Any]:
        """All rows, as `Rows.to_numpy`."""
        return self.read().to_numpy()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows, as `Rows.to_pandas`."""
        return self.read().to_pandas()

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


def has_path(type_: Type, path: str) -> bool:
    """A struct has such a member, if need be nested in others."""
    for name in path.split("/") if path else ():
        inner = dict(type_.members).get(name)
        if inner is None:
            return False
        type_ = inner
    return True
