"""Tables: what is in them, and how rows of them are read, whichever library does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._reading.asked import BATCH_BYTES, check_batches, paths_in, selected_row
from thalweg._reading.column import Column
from thalweg._reading.follow import Tables, followed
from thalweg._reading.origin import Origin, reopened_table
from thalweg._reading.uproot_names import in_library, matching, step_of
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type
from thalweg._values.row_groups import NewRows
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen, chosen_rows, is_row_number, part_of_chosen, row_number

if TYPE_CHECKING:
    import pandas


class Table(ABC):
    """A table of a run. `len` is the number of its rows; iterating gives the names of its fields.

    `table["x"]` is a column, `table[3]` one row, and `table[10:20]` these rows as a table, of which nothing is read
    yet.
    """

    def __init__(self, schema: TableSchema, origin: Origin) -> None:
        self.schema: TableSchema = schema
        self.origin = origin
        """The file that has it."""

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def columns(self) -> list[str]:
        """All that `read` can be asked for: fields, and what is nested in them, as "waveform/values"."""
        row = Type("struct", members=self.schema.fields)
        return list(paths_in(row))

    @property
    def attrs(self) -> Attributes:
        """Its attributes, as h5py gives them: numbers, strings, and arrays of these."""
        return self.schema.attrs.with_texts(description=self.schema.description)

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        """Columns that h5py reads, by path; by "" a compound whose members they are."""
        return {}

    @abstractmethod
    def __len__(self) -> int: ...

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
        return SomeRows(self, chosen_rows(key, len(self), f"table '{self.name}'"))

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

    @abstractmethod
    def storage(self) -> list[tuple[int, int]]:
        """Returns for each column the bytes of its values when they are decoded, and how many items each of its pages
        has, or 0 if that is no single number. Raises UsageError if the run is closed."""

    def stored_in(self) -> tuple[_core.Reader, int] | None:
        """Returns the reader of the core and the number of the table there, or None if the core alone cannot read it.

        Raises UsageError if the run is closed.
        """
        self._check_is_open()
        return None

    @abstractmethod
    def page_ends(self, most: int) -> Iterator[list[int]]:
        """Yields the rows at which pages end, for at most `most` columns with one item a row, spread over the table."""

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
        return self._read(names, chosen_rows(rows, len(self), self._what()), threads, out)

    def _what(self) -> str:
        """Returns what messages call its rows."""
        return f"table '{self.name}'"

    @abstractmethod
    def _read(
        self,
        columns: str | list[str] | None,
        chosen: Chosen,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]] | None,
    ) -> Rows: ...

    @abstractmethod
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

    @abstractmethod
    def close(self) -> None:
        """Closes it, as `Run.close` does with its tables: its rows can no longer be read."""

    @abstractmethod
    def _check_is_open(self) -> None:
        """Raises UsageError if it is closed."""

    def __reduce__(self) -> tuple[Any, ...]:
        self.origin.path_of_pickled()
        return reopened_table, (self.origin, self.name, len(self))

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
        self._check_is_open()
        names = columns if columns is None or isinstance(columns, str) else list(columns)
        selected_row(self.schema, names)
        path, id_ = self.origin.path_of_followed(), self.origin.id
        return followed(self._when_followed(), path, id_, self.name, names, interval, timeout, memory_bytes, next_files)

    def _when_followed(self) -> Tables:
        """Returns what makes tables of a run that is followed. Raises UsageError if the table cannot be followed."""
        raise UsageError(f"table '{self.name}' cannot be followed (its rows are no run of Thalweg's)")

    def to_numpy(self) -> npt.NDArray[Any]:
        """All rows, as `Rows.to_numpy`."""
        return self.read().to_numpy()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows, as `Rows.to_pandas`."""
        return self.read().to_pandas()

    def __repr__(self) -> str:
        return f"<Table '{self.name}': {len(self)} rows of {{{', '.join(self.schema)}}}>"


class SomeRows(Table):
    """Some rows of a table, as a table: nothing is read before it is asked for."""

    def __init__(self, table: Table, chosen: Chosen) -> None:
        super().__init__(table.schema, table.origin)
        self._table = table
        self._chosen = chosen

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        return self._table.by_h5py

    def __len__(self) -> int:
        return len(self._chosen)

    def close(self) -> None:
        self._table.close()

    def _check_is_open(self) -> None:
        self._table._check_is_open()  # noqa: SLF001 (a table, as this one)

    def _when_followed(self) -> Tables:
        raise UsageError(f"some rows of table '{self.name}' cannot be followed (no others come); follow the table")

    def page_ends(self, most: int) -> Iterator[list[int]]:  # noqa: ARG002
        """Yields nothing: rows that share a page of the file need not be together here."""
        return iter(())

    def __reduce__(self) -> tuple[Any, ...]:
        return SomeRows, (self._table, self._chosen)

    def storage(self) -> list[tuple[int, int]]:
        """As of the whole table, by the share of its rows."""
        whole = max(1, len(self._table))
        return [(raw_bytes * len(self) // whole, items) for raw_bytes, items in self._table.storage()]

    def _read(
        self,
        columns: str | list[str] | None,
        chosen: Chosen,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]] | None,
    ) -> Rows:
        rows = part_of_chosen(self._chosen, chosen, self._what())
        return self._table.read(columns, rows=rows, threads=threads, out=out)

    def _what(self) -> str:
        return f"these rows of table '{self.name}'"

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = BATCH_BYTES,
        threads: int = 0,
    ) -> Iterator[Rows]:
        """As of any table, with batches of so many rows as take the memory in the mean."""
        check_batches(rows, memory_bytes)
        names = columns if columns is None or isinstance(columns, str) else list(columns)
        if memory_bytes is not None and len(self):
            rows = max(1, min(rows, memory_bytes * len(self) // max(1, sum(size for size, _ in self.storage()))))
        for start in range(0, len(self), rows):
            yield self.read(names, rows=slice(start, start + rows), threads=threads)
