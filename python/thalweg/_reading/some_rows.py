"""Some rows of a table, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._reading.table import BATCH_BYTES, Table, check_batches
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen, part_of_chosen

if TYPE_CHECKING:
    from thalweg._values.row_groups import NewRows


class RowsOfTable(Table):
    """Some rows of a table, as a table: nothing is read before it is asked for."""

    def __init__(self, table: Table, chosen: Chosen) -> None:
        self._table = table
        self._chosen = chosen
        self.schema = table.schema

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        return self._table.by_h5py

    def __len__(self) -> int:
        return len(self._chosen)

    def close(self) -> None:
        self._table.close()

    def _file(self) -> tuple[str, str, bool]:
        return self._table._file()  # noqa: SLF001 (a table, as this one)

    def follow(self, columns: str | Iterable[str] | None = None, **options: Any) -> Iterator[NewRows]:  # noqa: ARG002
        raise UsageError(f"some rows of table '{self.name}' cannot be followed (no others come); follow the table")

    def page_ends(self, most: int) -> Iterator[list[int]]:  # noqa: ARG002
        """None: what lies in a page of the file need not be together here."""
        return iter(())

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsOfTable, (self._table, self._chosen)

    def storage(self) -> list[tuple[int, int]]:
        """As of the whole table, by the share of its rows."""
        whole = max(1, len(self._table))
        return [(raw_bytes * len(self) // whole, items) for raw_bytes, items in self._table.storage()]

    def read(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: Any = None,
        threads: int = 0,
        out: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Rows:
        chosen = part_of_chosen(self._chosen, rows, f"these rows of table '{self.name}'")
        return self._table.read(columns, rows=chosen, threads=threads, out=out)

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
