"""Tables as streams of batches, for programs that take Arrow's C stream, and for polars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from thalweg._base.packages import needed
from thalweg._reading.protocol import ReadsRows

if TYPE_CHECKING:
    import polars
    import pyarrow

_BATCH_ROWS = 20_000


def arrow_stream(table: ReadsRows) -> pyarrow.RecordBatchReader:
    """Returns a reader of all rows, which reads a batch when it is asked for."""
    with needed(f"table '{table.name}' cannot be streamed"):
        import pyarrow
    schema = table.read(rows=slice(0, 0)).to_arrow().schema
    batches = (batch for rows in table.batches() for batch in rows.to_arrow().cast(schema).to_batches())
    return pyarrow.RecordBatchReader.from_batches(schema, batches)


def polars_scan(table: ReadsRows) -> polars.LazyFrame:
    """Returns a frame that reads only the columns and the rows that a query asks for."""
    with needed(f"table '{table.name}' cannot be scanned", "polars"):
        import polars
        import pyarrow  # noqa: F401 (its tables become frames)
        from polars.io.plugins import register_io_source

    def frame_of(rows: Any) -> polars.DataFrame:
        frame = polars.from_arrow(rows.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def read(
        with_columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        columns: Iterable[str] | None = with_columns
        if with_columns is not None and not with_columns:  # a query for the number of rows alone
            columns = table.columns[:1]
        part = table if n_rows is None else table[:n_rows]
        for rows in part.batches(columns, rows=batch_size or _BATCH_ROWS):
            frame = frame_of(rows)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if with_columns is None else frame.select(with_columns)

    return register_io_source(read, schema=frame_of(table.read(rows=slice(0, 0))).schema)
