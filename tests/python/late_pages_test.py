"""Foreign columns of many chunks: where these lie is looked up when the column is first read."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

import thalweg as tw

ROWS = 30_000
VALUES = np.arange(ROWS * 4).reshape(ROWS, 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """`x`, `y` and the list `hits` have more chunks than are looked up when a file is opened."""
    path = tmp_path / "many.h5"
    with h5py.File(path, "w", libver="v110") as file:
        file.create_dataset("g/x", data=VALUES, chunks=(10, 4), maxshape=(None, 4))
        file.create_dataset("g/y", data=VALUES.astype(">i4"), chunks=(20, 3), compression="gzip")
        file.create_dataset("g/hits/cumulative_length", data=np.arange(1, ROWS + 1) * 2, chunks=(7,))
        file.create_dataset("g/hits/flattened_data", data=np.arange(ROWS * 2), chunks=(11,))
        file["g/z"] = np.arange(ROWS)
    return path


def damage_index(path: Path, name: str) -> None:
    """Zeros in the middle of what libhdf5 has allocated for the index of the chunks, and for no values."""
    with h5py.File(path) as file:
        chunks = [file[name].id.get_chunk_info(index) for index in range(file[name].id.get_num_chunks())]
        held = sorted((chunk.byte_offset, chunk.size) for chunk in chunks)
        others = [
            file[other].id.get_chunk_info(i)
            for other in ("g/y", "g/hits/cumulative_length", "g/hits/flattened_data")
            for i in range(file[other].id.get_num_chunks())
        ]
        held = sorted(held + [(chunk.byte_offset, chunk.size) for chunk in others])
        held.append((file["g/z"].id.get_offset(), ROWS * 8))
    content = bytearray(path.read_bytes())
    signature = content.find(b"EADB")  # a data block of an extensible array, which `x` alone has
    assert signature > 0
    assert all(not begin <= signature < begin + size for begin, size in held)
    content[signature : signature + 4] = b"\0\0\0\0"
    path.write_bytes(content)


def test_columns_are_whole_whichever_is_read_first(path: Path) -> None:
    run = tw.open(path)
    assert not run.problems
    table = run["g"]
    assert len(table) == ROWS
    assert (table.read("y", rows=slice(1001, 1999))["y"] == VALUES[1001:1999]).all()
    rows = table.read()
    assert (rows["x"] == VALUES).all()
    assert (rows["z"] == np.arange(ROWS)).all()
    assert rows["hits"][ROWS - 1].tolist() == [2 * ROWS - 2, 2 * ROWS - 1]
    assert sum(len(batch["x"]) for batch in tw.open(path)["g"].batches(rows=999)) == ROWS
    assert tw.verify(path).is_sound
    assert tw.open(path)["g"].storage()[0][0] == ROWS * 4 * 8


def test_threads_that_read_a_column_first_at_once_all_see_it(path: Path) -> None:
    for _ in range(10):
        table = tw.open(path)["g"]
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(table.read, "x", rows=slice(first, first + 50)) for first in range(0, 800, 100)]
        for first, each in zip(range(0, 800, 100), asked, strict=True):
            assert (each.result()["x"] == VALUES[first : first + 50]).all()


def test_an_index_that_is_damaged_is_an_error_at_first_use_and_costs_no_other_column(path: Path) -> None:
    damage_index(path, "g/x")
    table = tw.open(path)["g"]
    for _ in range(2):
        with pytest.raises(tw.DataError, match=r"many\.h5: table 'g', column 'x' cannot be read \(.*/g/x"):
            table.read("x")
    assert (
        tw.open(path)["g"].read("x", rows=slice(20_000, 20_010))["x"] == VALUES[20_000:20_010]
    ).all()  # not of that part
    assert (table.read("y")["y"] == VALUES).all()
    found = tw.verify(path)
    assert not found.is_sound
    assert any("column 'x'" in message for message in found.messages)
    with pytest.raises(tw.DataError, match="column 'x'"):
        tw.convert(path, path.with_suffix(".root"))
    assert not path.with_suffix(".root").exists()


def test_a_column_that_was_changed_since_the_file_was_opened_is_an_error(path: Path) -> None:
    table = tw.open(path)["g"]
    with h5py.File(path, "r+") as file:
        file["g/x"].resize((ROWS + 10, 4))
    with pytest.raises(tw.DataError, match=r"column 'x'.*is not the file that was opened.*open it again"):
        table.read("x")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_is_cut_off_meanwhile_is_an_error(path: Path, share: float) -> None:
    table = tw.open(path)["g"]
    os.truncate(path, int(os.path.getsize(path) * share))
    with pytest.raises((tw.DataError, tw.SystemError), match=r"many\.h5.*column 'x'"):
        table.read("x")


def test_a_file_that_is_removed_meanwhile_is_read_on(path: Path) -> None:
    table = tw.open(path)["g"]
    path.unlink()
    assert (table.read("x")["x"] == VALUES).all()


def test_slices_and_whole_columns_are_equal_in_any_order(path: Path) -> None:
    random = np.random.default_rng(1)
    for _ in range(5):
        table = tw.open(path)["g"]
        for _ in range(8):
            first = int(random.integers(ROWS))
            last = min(ROWS, first + int(random.choice([1, 7, 300, ROWS])))
            name = str(random.choice(["x", "y", "hits"]))
            got = table.read(name, rows=slice(first, last))[name]
            if name == "hits":
                assert got.content.tolist() == list(range(2 * first, 2 * last))
            else:
                assert (got == VALUES[first:last]).all()


@pytest.mark.parametrize("order", [1, -1])
def test_columns_of_many_tables_are_whole(order: int, tmp_path: Path) -> None:
    path = tmp_path / "tables.h5"
    with h5py.File(path, "w", libver="v110") as file:
        for table in range(9):
            for column in ("a", "b"):
                file.create_dataset(f"t{table}/{column}", data=np.arange(900) * (table + 1), chunks=(10,))
    run = tw.open(path)
    for table in range(9)[::order]:
        rows = run[f"t{table}"].read()
        assert (rows["a"] == np.arange(900) * (table + 1)).all()
        assert (rows["b"] == np.arange(900) * (table + 1)).all()


def test_a_damaged_index_costs_no_column_that_is_looked_up_with_it(path: Path) -> None:
    damage_index(path, "g/x")
    table = tw.open(path)["g"]
    assert (table.read("y")["y"] == VALUES).all()
    assert len(table.read("hits")["hits"]) == ROWS
    with pytest.raises(tw.DataError, match=r"many\.h5: table 'g', column 'x' cannot be read \(.*/g/x"):
        table.read("x")
