"""Reading: projections, ranges, batches, and the libraries that the rows go to."""

from pathlib import Path

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tw.Run:
    path = tmp_path_factory.mktemp("read") / "run.h5"
    fields = {
        "id": tw.uint32(unit="ns", description="a number"),
        "trace": tw.array(tw.int16, 2, 500),
        "pulse": {"t0": tw.float64, "values": tw.array(tw.uint8, 3)},
        "hits": tw.list_({"energy": tw.float32, "name": tw.string}),
        "flag": tw.bool_,
        "z": tw.complex64,
    }
    with tw.create(path, tw.schema({"a": fields, "b": {"x": tw.int8}}), metadata={"run": "7"}) as out:
        ids = np.arange(1000, dtype=np.uint32)
        out.producer("a").append(
            id=ids,
            trace=np.broadcast_to(ids.astype(np.int16)[:, None, None], (1000, 2, 500)),
            pulse={"t0": ids / 2, "values": np.repeat(ids % 7, 3).reshape(-1, 3).astype(np.uint8)},
            hits=[[{"energy": i, "name": f"n{i}"}] * (i % 3) for i in range(1000)],
            flag=ids % 3 == 0,
            z=(ids + 1j).astype(np.complex64),
        )
    return tw.open(path)


def test_a_run_is_a_mapping_of_tables(run: tw.Run) -> None:
    assert list(run) == ["a", "b"]
    assert (len(run["a"]), len(run["b"])) == (1000, 0)
    assert run.metadata["run"] == "7"
    assert not run.is_open
    assert run.schema["a"]["id"].unit == "ns"
    assert "1,000 rows" in repr(run)


def test_a_projection_reads_only_what_it_needs(run: tw.Run) -> None:
    fresh = tw.open(run.path)
    fresh["a"].read(["id", "pulse/t0"])
    narrow = fresh._core.bytes_read()
    fresh["a"].read()
    assert narrow < (fresh._core.bytes_read() - narrow) / 2


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("id", {"id": None}),
        (["pulse/t0"], {"pulse": ["t0"]}),
        (["pulse/t0", "pulse"], {"pulse": ["t0", "values"]}),
        (["hits/energy", "id"], {"id": None, "hits": ["energy"]}),
        (["hits/*/name"], {"hits": ["name"]}),
        ([], {}),
    ],
)
def test_columns_are_chosen_by_name_and_by_path(run: tw.Run, columns: list[str], found: dict) -> None:
    rows = run["a"].read(columns, rows=slice(0, 5))
    members = {name: rows[name] for name in rows}
    nested = {name: getattr(member, "content", member) for name, member in members.items()}
    assert {name: list(each) if isinstance(each, tw.Rows) else None for name, each in nested.items()} == found
    assert rows.row_count == 5


@pytest.mark.parametrize("rows", [slice(0, 0), slice(3, 4), slice(-5, None), slice(990, 2000), slice(7, 3)])
def test_row_ranges_are_those_of_python(run: tw.Run, rows: slice) -> None:
    read = run["a"].read(rows=rows)
    wanted = np.arange(1000)[rows]
    assert read["id"].tolist() == wanted.tolist()
    assert read["trace"][:, 1, 3].tolist() == wanted.tolist()
    assert [len(hits["energy"]) for hits in read["hits"]] == (wanted % 3).tolist()
    assert [hits["name"].tolist() for hits in read["hits"]] == [[f"n{i}"] * (i % 3) for i in wanted]


def test_batches_follow_each_other(run: tw.Run) -> None:
    batches = list(run["a"].batches(["id"], rows=300))
    assert [batch.row_count for batch in batches] == [300, 300, 300, 100]
    assert np.concatenate([batch["id"] for batch in batches]).tolist() == list(range(1000))
    assert list(run["b"].batches()) == []


def test_batches_keep_to_their_memory(run: tw.Run) -> None:
    table = run["a"]
    batches = list(table.batches(rows=300, memory_bytes=20_000))
    assert sum(batch.row_count for batch in batches) == 1000
    assert max(batch.row_count for batch in batches) < 300
    assert max(batch.to_arrow().nbytes for batch in batches) < 25_000
    assert np.concatenate([batch["id"] for batch in batches]).tolist() == list(range(1000))
    assert [batch.row_count for batch in table.batches(rows=300, memory_bytes=1)] == [1] * 1000
    assert [batch.row_count for batch in table.batches(rows=600, memory_bytes=None)] == [600, 400]


def test_wrong_requests_say_what_there_is(run: tw.Run) -> None:
    with pytest.raises(tw.UsageError, match="no table 'c'; the tables are a, b"):
        run["c"]
    assert run.get("c") is None
    with pytest.raises(KeyError, match="no column 'nope'; its fields are id, trace"):
        run["a"].read(["nope"])
    with pytest.raises(tw.UsageError, match=r"no column 'pulse/x'.*; the fields of 'pulse' are"):
        run["a"].read("pulse/x")
    with pytest.raises(tw.UsageError, match="give 1 or more"):
        next(run["a"].batches(rows=0))
    with pytest.raises(tw.UsageError, match="give 1 or more"):
        next(run["a"].batches(memory_bytes=0))
    with pytest.raises(tw.UsageError, match="no field 'trace'; the fields that were read"):
        run["a"].read("id")["trace"]


def test_arrow_takes_the_rows_without_a_copy(run: tw.Run) -> None:
    rows = run["a"].read()
    table = rows.to_arrow()
    table.validate(full=True)
    assert table.schema.field("id").metadata == {b"unit": b"ns", b"description": b"a number"}
    assert table["id"].chunk(0).buffers()[1].address == rows["id"].ctypes.data
    assert table["flag"].to_pylist() == rows["flag"].tolist()
    assert table["hits"][5].as_py() == [{"energy": 5.0, "name": "n5"}] * 2
    assert table["z"][3].as_py() == [3.0, 1.0]
    batch = pa.record_batch(rows)
    assert batch.schema == table.schema == pa.schema(rows)
    np.testing.assert_array_equal(np.array(table["trace"].to_pylist()[-1]), rows["trace"][-1])


def test_arrow_memory_outlives_the_rows(run: tw.Run) -> None:
    table = run["a"].read("id").to_arrow()
    assert table["id"].to_pylist() == list(range(1000))
    capsule = run["a"].read("id").__arrow_c_stream__()
    del capsule  # no consumer took it


def test_awkward_takes_the_rows_without_a_copy(run: tw.Run) -> None:
    rows = run["a"].read()
    array = rows.to_awkward()
    assert str(array["trace"].type) == "1000 * 2 * 500 * int16"
    assert np.asarray(array["id"]).ctypes.data == rows["id"].ctypes.data
    assert ak.sum(array["hits", "energy"]) == sum(i * (i % 3) for i in range(1000))
    assert array["z"][4] == 4 + 1j


def test_ragged_is_a_sequence_of_views(run: tw.Run) -> None:
    hits = run["a"].read("hits")["hits"]
    assert hits.lengths.tolist() == [i % 3 for i in range(1000)]
    assert hits[-1]["energy"].tolist() == []
    assert hits[2:4][0]["energy"].tolist() == [2.0, 2.0]
    assert np.shares_memory(hits[5]["energy"], hits.content["energy"])
    with pytest.raises(IndexError):
        hits[1000]
    with pytest.raises(tw.UsageError, match="step 1"):
        hits[::2]
    with pytest.raises(tw.UsageError, match="must not fall"):
        tw.Ragged([0, 3, 1], np.zeros(3)).packed()


@pytest.mark.parametrize("name", ["absent.h5", "empty.h5", "text.h5", "directory.h5"])
def test_what_is_no_run_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty.h5").touch()
    (tmp_path / "text.h5").write_text("no HDF5 at all" * 1000)
    (tmp_path / "directory.h5").mkdir()
    for use in (tw.open, tw.verify, tw.recover):
        with pytest.raises(tw.Error, match=name):
            use(tmp_path / name)
