"""The part of a table that columns, and the functions with uproot's names, need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from thalweg._reading.asked import BATCH_BYTES
from thalweg._schema.schema import TableSchema
from thalweg._values.rows import Rows


class ReadsRows(Protocol):
    schema: TableSchema

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def storage(self) -> list[tuple[int, int]]: ...
    def read(self, columns: str | Iterable[str] | None = None, *, rows: Any = None, threads: int = 0) -> Rows: ...
    def batches(
        self, columns: str | Iterable[str] | None = None, *, rows: int = 10_000, memory_bytes: int = BATCH_BYTES
    ) -> Iterator[Rows]: ...
