"""Tables as Arrow's streams and polars' scans, judged by what pyarrow, polars and pandas read."""

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import thalweg as tw

ROWS = 50_000
SCHEMA = {"t": {"x": tw.int64, "name": tw.string, "v": tw.list_(tw.float64), "w": tw.array(tw.uint16, 3)}}


@pytest.fixture(scope="module", params=["run.h5", "run.root"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tw.Table:
    path = tmp_path_factory.mktemp("streams") / request.param
    with tw.create(path, SCHEMA) as out, out.producer("t") as producer:
        for first in range(0, ROWS, 10_000):
            numbers = range(first, first + 10_000)
            producer.append(
                x=np.array(numbers),
                name=[f"row {number}" for number in numbers],
                v=[[number / 2] * (number % 3) for number in numbers],
                w=np.array(numbers, np.uint16)[:, None] + np.arange(3, dtype=np.uint16),
            )
    return tw.open(path)["t"]


def test_pyarrow_and_polars_read_all_rows(table: tw.Table) -> None:
    arrow = pa.table(table)
    assert arrow.column("x").to_pylist() == list(range(ROWS))
    assert arrow.column("v")[49_999].as_py() == [49_999 / 2]
    assert arrow.column("w")[7].as_py() == [7, 8, 9]
    frame = pl.DataFrame(table)
    assert frame["name"][-1] == "row 49999"
    assert frame["v"].list.len().sum() == sum(number % 3 for number in range(ROWS))


def test_a_part_of_a_table_is_a_stream_too(table: tw.Table) -> None:
    assert pa.table(table[10:20]).column("x").to_pylist() == list(range(10, 20))
    assert pa.table(table[:0]).num_rows == 0


def test_a_stream_reads_batch_by_batch(table: tw.Table) -> None:
    reader = pa.RecordBatchReader.from_stream(table)
    assert reader.schema.names == ["x", "name", "v", "w"]
    first = reader.read_next_batch()
    assert 0 < first.num_rows < ROWS
    assert first.num_rows + sum(batch.num_rows for batch in reader) == ROWS


def test_a_scan_reads_the_columns_and_rows_of_the_query_alone(table: tw.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    batches = type(table).batches

    def noted(self: tw.Table, columns: Any = None, **options: Any) -> Any:
        asked.append(columns)
        return batches(self, columns, **options)

    monkeypatch.setattr(type(table), "batches", noted)
    found = table.scan_polars().filter(pl.col("x") >= ROWS - 3).select("x").collect()
    assert found["x"].to_list() == [ROWS - 3, ROWS - 2, ROWS - 1]
    assert [list(columns) for columns in asked] == [["x"]]
    assert table.scan_polars().select("name").head(2).collect()["name"].to_list() == ["row 0", "row 1"]
    assert table.scan_polars().select(pl.len()).collect().item() == ROWS
    assert table.scan_polars().select(pl.col("x").sum()).collect().item() == ROWS * (ROWS - 1) // 2
    assert table.scan_polars().collect().equals(pl.DataFrame(table))
