"""Which rows are read: slices with steps, ranges, row numbers and masks, of tables, columns and what was read."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw

ROWS = 1000


@pytest.fixture(scope="module", params=[".h5", ".root"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tw.Run:
    path = tmp_path_factory.mktemp("rows") / f"run{request.param}"
    fields = {
        "id": tw.uint32,
        "trace": tw.array(tw.int16, 2, 50),
        "pulse": {"t0": tw.float64, "values": tw.array(tw.uint8, 3)},
        "hits": tw.list_({"energy": tw.float32, "name": tw.string}),
        "pairs": tw.array(tw.list_(tw.int32), 2),
        "text": tw.string,
    }
    ids = np.arange(ROWS, dtype=np.uint32)
    with tw.create(path, {"a": fields}) as out:
        out.producer("a").append(
            id=ids,
            trace=np.arange(ROWS * 100, dtype=np.int16).reshape(ROWS, 2, 50),
            pulse={"t0": ids / 2, "values": np.arange(ROWS * 3).astype(np.uint8).reshape(-1, 3)},
            hits=[[{"energy": i, "name": f"n{i}"}] * (i % 3) for i in range(ROWS)],
            pairs=[[[i] * (i % 2), [i] * 2] for i in range(ROWS)],
            text=[f"row {i}" for i in range(ROWS)],
        )
    return tw.open(path)


def expect_rows(read: tw.Rows, wanted: list[int]) -> None:
    assert len(read) == read.row_count == len(wanted)
    assert read["id"].tolist() == wanted
    assert read["trace"][:, 1, 3].tolist() == [np.int16(np.int64(i * 100 + 53).astype(np.int16)) for i in wanted]
    assert read["pulse/values"][:, 2].tolist() == [(i * 3 + 2) % 256 for i in wanted]
    assert [hits["name"].tolist() for hits in read["hits"]] == [[f"n{i}"] * (i % 3) for i in wanted]
    assert [[list(part) for part in pair] for pair in read["pairs"]] == [[[i] * (i % 2), [i] * 2] for i in wanted]
    assert read["text"].tolist() == [f"row {i}" for i in wanted]


CHOICES = [
    slice(None, None, 7),
    slice(990, 2000),
    slice(900, 100, -13),
    slice(None, None, -1),
    slice(-5000, None, -1),
    slice(7, 3),
    range(9, 9, -2),
    range(5, 800, 100),
    range(-10, 0),
    [3],
    [],
    [5, 3, 3, -1, 999, 0],
    np.array([17, 4], np.uint8),
    np.arange(ROWS) % 97 == 5,
    np.zeros(ROWS, bool),
]


@pytest.mark.parametrize("rows", CHOICES, ids=range(len(CHOICES)))
def test_rows_are_chosen_as_by_numpy(run: tw.Run, rows: slice | range | list[int]) -> None:
    numbers = np.arange(ROWS)
    wanted = (
        numbers[list(rows) if isinstance(rows, range) else np.asarray(rows, int) if rows == [] else rows].tolist()
        if not isinstance(rows, np.ndarray)
        else numbers[rows].tolist()
    )
    expect_rows(run["a"].read(rows=rows), wanted)
    expect_rows(run["a"][rows].read(), wanted)
    expect_rows(run["a"].read()[rows], wanted)
    assert len(run["a"][rows]) == len(wanted)
    assert run["a"]["id"][rows].tolist() == wanted


@pytest.mark.parametrize("outer", CHOICES, ids=range(len(CHOICES)))
@pytest.mark.parametrize("inner", [slice(2, None, 3), slice(None, None, -1), [0, -1, 0], slice(0, 0)], ids=str)
def test_rows_of_rows_are_those_of_numpy(run: tw.Run, outer: slice, inner: slice) -> None:
    chosen = run["a"].read("id", rows=outer)["id"]
    some = run["a"][outer]
    if isinstance(inner, list) and not len(some):
        with pytest.raises(IndexError, match="no row 0 in table 'a'"):
            some[inner].read("id")
        return
    assert some[inner].read("id")["id"].tolist() == chosen[inner].tolist()


def test_a_part_of_a_table_is_a_table(run: tw.Run) -> None:
    some = run["a"][100:200]
    assert (len(some), list(some), some.num_entries) == (100, list(run["a"]), 100)
    assert some["pulse/values"][10:20, ::2].tolist() == run["a"]["pulse/values"][110:120, ::2].tolist()
    assert [len(batch) for batch in some.batches("id", rows=30)] == [30, 30, 30, 10]
    assert np.concatenate([batch["id"] for batch in some.batches("id", rows=7)]).tolist() == list(range(100, 200))
    assert sum(len(batch) for batch in some.batches(memory_bytes=5_000)) == 100
    assert some[-1]["id"] == 199


def test_one_row_is_a_dictionary(run: tw.Run) -> None:
    row = run["a"][5]
    assert list(row) == list(run["a"])
    assert (row["id"], row["text"], row["pulse"]["t0"]) == (5, "row 5", 2.5)
    assert row["trace"].shape == (2, 50)
    assert row["hits"]["name"].tolist() == ["n5", "n5"]
    assert run["a"][-1]["id"] == run["a"].read()[-1]["id"] == ROWS - 1
    assert run["a"][np.int64(7)]["id"] == 7


@pytest.mark.parametrize("index", [ROWS, -ROWS - 1])
def test_a_row_that_is_not_there_is_an_index_error(run: tw.Run, index: int) -> None:
    for holder in (run["a"], run["a"].read(), run["a"]["id"]):
        with pytest.raises(IndexError, match=f"no row {index}"):
            holder[index]
        with pytest.raises(tw.OutOfRangeError, match=f"no row {index}"):
            holder[[0, index]]
    with pytest.raises(tw.OutOfRangeError, match="no row"):
        run["a"].read(rows=range(ROWS + 1))


def test_large_numbers_without_a_sign_are_no_rows_from_the_end(run: tw.Run) -> None:
    with pytest.raises(tw.OutOfRangeError, match="no row 18446744073709551615"):
        run["a"].read(rows=np.array([2**64 - 1], np.uint64))


def test_requests_for_rows_that_cannot_be_met_say_why(run: tw.Run) -> None:
    table = run["a"]
    with pytest.raises(tw.UsageError, match=r"rows 7 of table 'a' cannot be read .*table\[7\]"):
        table.read(rows=7)
    with pytest.raises(tw.UsageError, match=r"a mask of 3 bools cannot select rows of table 'a' \(it has 1000 rows\)"):
        table.read(rows=[True, False, True])
    for rows in ("id", [1.5], [[1]], {"a": 1}, [None]):
        with pytest.raises(tw.UsageError, match="give a slice, a range, row numbers or a mask"):
            table.read(rows=rows)
    with pytest.raises(tw.UsageError, match="cannot be indexed"):
        table[1, 2]  # type: ignore[call-overload]
    with pytest.raises(tw.UsageError, match="some count from the end"):
        table.read(rows=range(-5, 5))


def test_a_tuple_still_works_and_says_what_to_write(run: tw.Run) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert run["a"].read("id", rows=(2, 5))["id"].tolist() == [2, 3, 4]
    assert [str(each.message) for each in found] == ["rows=(2, 5) as a tuple is deprecated: give slice(2, 5)"]
    assert found[0].filename == __file__


def test_pages_between_the_rows_are_not_read(tmp_path: Path) -> None:
    rows = 400_000
    with tw.create(tmp_path / "run.h5", {"t": {"x": tw.float64}}) as out:
        values = np.random.default_rng(7).random(rows)
        out.producer("t").append(x=values)
    run = tw.open(tmp_path / "run.h5")
    before = run._core.bytes_read()
    assert run["t"].read(rows=[rows - 1, 3])["x"].tolist() == [values[-1], values[3]]
    assert run._core.bytes_read() - before < rows * 8 / 2
    assert run["t"]["x"][::100_000].tolist() == values[::100_000].tolist()


def test_len_counts_rows_and_iterating_gives_fields(run: tw.Run) -> None:
    read = run["a"].read(["id", "text"])
    assert (len(read), list(read), list(read.keys()), len(read.keys())) == (ROWS, ["id", "text"], ["id", "text"], 2)
    assert "id" in read
    assert 3 not in read
    assert [name for name, _ in read.items()] == ["id", "text"]
    assert dict(read)["id"].tolist() == list(range(ROWS))
    assert {**read}["text"][1] == "row 1"
    assert (list(run["a"]), "id" in run["a"], "pulse/t0" in run["a"], "nope" in run["a"]) == (
        list(run["a"].schema),
        True,
        True,
        False,
    )
    for no_array in (run["a"], read):
        with pytest.raises(tw.UsageError, match="to_numpy"):
            np.asarray(no_array)
