"""Tables: their columns, and the interface that reads their rows, with any library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._reading.asked import BATCH_BYTES, check_batches, listed, selected_row
from thalweg._reading.column import Column
from thalweg._reading.follow import Tables, followed
from thalweg._reading.origin import Origin, reopened_table
from thalweg._reading.streams import arrow_stream, polars_scan
from thalweg._reading.uproot_names import in_library, matching, step_of
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import TableSchema
from thalweg._values.row_groups import NewRows
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen, chosen_rows, is_row_number, part_of_chosen, row_number

if TYPE_CHECKING:
    import pandas
    import polars


class Table(ABC):
    """A table of a run. `len` is the number of its rows; iteration gives the names of its fields.

    `table["x"]` is a column, `table[3]` one row, and `table[10:20]` is a table of these rows, which are read only when
    they are used.
    """

    def __init__(self, schema: TableSchema, origin: Origin) -> None:
        self.schema: TableSchema = schema
        self.origin = origin
        """The file of its run."""

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def columns(self) -> list[str]:
        """The paths of all columns that `read` takes: fields, and nested members such as "waveform/values"."""
        return list(self.schema.row.paths())

    @property
    def attrs(self) -> Attributes:
        """The attributes of the table, as h5py gives them: numbers, strings, and arrays of these."""
        return self.schema.attrs.with_texts(description=self.schema.description)

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        """The columns that h5py reads, by path. The path "" means a compound dataset whose members are the fields."""
        return {}

    @property
    def by_uproot(self) -> Mapping[str, Any]:
        """The branches that uproot reads, by field."""
        return {}

    @abstractmethod
    def __len__(self) -> int: ...

    # With `__len__` and `__getitem__` alone Python would take a table for a sequence of rows: `__iter__` and
    # `__contains__` below prevent this.
    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | range | list[int] | npt.NDArray[Any]) -> Table: ...
    def __getitem__(self, key: Any) -> Any:
        """Returns a column by its path ("x", "waveform/values"), one row by its number, or some rows as a table.

        Raises UnknownNameError if there is no such column, OutOfRangeError if there is no such row, UsageError if the
        index is of another type.
        """
        if isinstance(key, str):
            return Column(self, key)
        if is_row_number(key):
            row = row_number(key, len(self), f"table '{self.name}'")
            return self.read(rows=slice(row, row + 1))[0]
        if key is None or isinstance(key, tuple):
            raise UsageError(f"table '{self.name}' cannot be indexed with {key!r}: give a column, a row, or rows")
        return SomeRows(self, chosen_rows(key, len(self), f"table '{self.name}'"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema)

    def __contains__(self, name: object) -> bool:
        return name in self.schema or name in self.columns

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError(
            f"table '{self.name}' is not an array (each column has its own type): read columns, or call to_numpy()"
        )

    def keys(self) -> list[str]:
        """The names of its fields."""
        return list(self.schema)

    @property
    def num_entries(self) -> int:
        """The number of rows, by the name that uproot uses."""
        return len(self)

    @abstractmethod
    def storage(self) -> list[tuple[int, int]]:
        """Returns for each column the bytes of its decoded values, and the number of items of each of its pages (0 if
        its pages differ). Raises UsageError if the run is closed."""

    def stored_in(self) -> tuple[_core.Reader, int] | None:
        """Returns the reader of the core and the number of the table there, or None if the core alone cannot read it.

        Raises UsageError if the run is closed.
        """
        self._check_is_open()
        return None

    @property
    def survives_fork(self) -> bool:
        """Whether a forked process can read on. File positions and threads of other libraries do not survive that."""
        return self.stored_in() is not None

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
        """Reads columns in parallel, and only the pages of the file that they need.

        columns: paths of fields or nested members ("waveform/values"). The default is all.
        rows: a slice, a range, row numbers, or a mask with one bool per row. The default is all.
        threads: the number of threads; 0 means as many as there are usable cores.
        out: C-contiguous arrays by path, which take the values of columns of numbers and are in the result. Each must
            have the shape and type of the values that are read, and the rows must be consecutive.

        Raises UnknownNameError if there is no such column, OutOfRangeError if there is no such row, UsageError if an
        array of `out` does not fit, DataError if the file is damaged (it names table, column and offset).
        """
        names = listed(columns)
        return self._read(names, chosen_rows(rows, len(self), self._what()), threads, out)

    def _what(self) -> str:
        """Returns the words for its rows in messages."""
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
        """Yields the rows of the table in batches.

        columns, threads: as in `read`.
        rows: the number of rows of a batch. The last batch may have fewer.
        memory_bytes: a batch has fewer rows if its values would take more bytes than this, but at least one row. So
            wide tables and long lists are read in bounded memory. None means no limit.

        A page may have rows of two batches. Its decoded values are kept for the next batch, in at most as much memory
        again, or a quarter of `read_memory` if that is less. So each page is decoded once, unless it is larger.

        Raises UsageError if a size is wrong, and the errors of `read`.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes the table, as `Run.close` does: its rows can no longer be read."""

    @abstractmethod
    def _check_is_open(self) -> None:
        """Raises UsageError if the table is closed."""

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
        """Returns columns as an Awkward array ("ak"), a dict of NumPy arrays ("np") or a DataFrame ("pd"), like uproot.

        columns: names or patterns such as "Muon_*".

        Raises UnknownNameError if no column matches.
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
        """Yields the rows of the table in steps, each of them as `arrays` returns it.

        step_size: the number of rows of a step, or the memory of a loop over the steps. Such a loop still holds one
            step while the next is read: a step takes half of this memory, and a third if it is a DataFrame.
        """
        names = matching(self, columns)
        rows, memory_bytes = step_of(step_size)
        if memory_bytes is not None:
            memory_bytes = max(1, memory_bytes // (3 if library == "pd" else 2))
        steps = self.batches(names, rows=rows or max(1, len(self)), memory_bytes=memory_bytes)
        yield from map(partial(in_library, library=library), steps)  # `map` keeps no step

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Gives all rows to whatever takes Arrow's C stream, such as `polars.DataFrame(table)`, `pyarrow.table(table)`
        and DuckDB. Rows are read in batches. Raises UsageError if pyarrow is not installed."""
        self._check_is_open()
        return arrow_stream(self).__arrow_c_stream__(requested_schema)

    def scan_polars(self) -> polars.LazyFrame:
        """Returns a polars.LazyFrame: a query reads only the columns that it needs, and as many rows as it takes.

        Raises UsageError if polars is not installed.
        """
        self._check_is_open()
        return polars_scan(self)

    def follow(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        interval: float = 1.0,
        timeout: float | None = None,
        memory_bytes: int = BATCH_BYTES,
        next_files: bool = True,
    ) -> Iterator[NewRows]:
        """Yields each row of this table once, while the run is written, until it is closed: see `Run.follow`.

        columns: as in `read`.

        Raises UnknownNameError if there is no such column, and the errors of `Run.follow`.
        """
        self._check_is_open()
        names = listed(columns)
        selected_row(self.schema, names)
        path, id_, chosen = self.origin.path_of_followed(), self.origin.id, (self.name,)
        return followed(self._when_followed(), path, id_, chosen, names, interval, timeout, memory_bytes, next_files)

    def _when_followed(self) -> Tables:
        """Returns the function that makes the tables of a followed run. Raises UsageError if it cannot be followed."""
        raise UsageError(f"table '{self.name}' cannot be followed (Thalweg has not written it): read it again")

    def to_numpy(self) -> npt.NDArray[Any]:
        """Returns all rows, as `Rows.to_numpy` does."""
        return self.read().to_numpy()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns all rows, as `Rows.to_pandas` does."""
        return self.read().to_pandas()

    def __repr__(self) -> str:
        return f"<Table '{self.name}': {len(self):,} rows of {{{', '.join(self.schema)}}}>"


class SomeRows(Table):
    """Some rows of a table, as a table. They are read only when they are used."""

    def __init__(self, table: Table, chosen: Chosen) -> None:
        super().__init__(table.schema, table.origin)
        self._table = table
        self._chosen = chosen

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        return self._table.by_h5py

    @property
    def by_uproot(self) -> Mapping[str, Any]:
        return self._table.by_uproot

    def __len__(self) -> int:
        return len(self._chosen)

    def close(self) -> None:
        self._table.close()

    def _check_is_open(self) -> None:
        self._table._check_is_open()  # noqa: SLF001 (a table, as this one)

    def _when_followed(self) -> Tables:
        raise UsageError(f"some rows of table '{self.name}' cannot be followed (they are fixed): follow the table")

    def page_ends(self, most: int) -> Iterator[list[int]]:  # noqa: ARG002
        """Yields nothing, since rows of one page of the file need not be neighbours here."""
        return iter(())

    def __reduce__(self) -> tuple[Any, ...]:
        return SomeRows, (self._table, self._chosen)

    def storage(self) -> list[tuple[int, int]]:
        """Returns the numbers of the whole table, with the bytes in proportion to the rows."""
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
        """Yields the rows in batches, whose values take `memory_bytes` on average."""
        check_batches(rows, memory_bytes)
        names = listed(columns)
        if memory_bytes is not None and len(self):
            rows = max(1, min(rows, memory_bytes * len(self) // max(1, sum(size for size, _ in self.storage()))))
        for start in range(0, len(self), rows):
            yield self.read(names, rows=slice(start, start + rows), threads=threads)
