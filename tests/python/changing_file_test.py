"""Foreign files that change while they are read, and filters that fail: an error that says where, or what was there."""

import os
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest

import thalweg as tw

ROWS = 3000
NUMBERS = np.random.default_rng(1).integers(0, 1 << 30, (ROWS, 4))
WORDS = np.array([f"word {row}".encode() for row in range(ROWS)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """In group `g` the page map has `packed` and `plain`, and h5py reads `blosc` and `words`."""
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w", libver="v110") as file:
        file["g/plain"] = NUMBERS
        for name, options in (("packed", {"compression": "gzip"}), ("blosc", hdf5plugin.Blosc())):
            file.create_dataset(f"g/{name}", data=NUMBERS, chunks=(500, 4), maxshape=(None, 4), **options)
        file.create_dataset("g/words", data=WORDS, chunks=(500,), maxshape=(None,))
    return path


def last_chunk(path: Path, name: str) -> tuple[int, int]:
    with h5py.File(path) as file:
        chunk = file[name].id.get_chunk_info_by_coord((ROWS - 500, 0)[: file[name].ndim])
        return chunk.byte_offset, chunk.size


def said(column: str) -> str:
    where = (
        rf"table 'g', column '{column}', items \d+ to \d+|rows \d+ to \d+ of /g/{column}|rows \d+ to \d+ of table 'g'"
    )
    return rf"theirs\.h5.*({where}).* cannot be read"


@pytest.mark.parametrize("column", ["plain", "packed", "blosc", "words"])
def test_a_file_that_shrinks_is_an_error_that_says_where(column: str, path: Path) -> None:
    table = tw.open(path)["g"]
    os.truncate(path, 600)
    for rows in (slice(0, ROWS), slice(ROWS - 10, ROWS)):
        with pytest.raises((tw.DataError, tw.SystemError), match=said(column)):
            table.read(column, rows=rows)


@pytest.mark.parametrize("column", ["blosc", "words"])
def test_a_file_that_is_gone_is_an_error_where_it_is_opened_again(column: str, path: Path) -> None:
    table = tw.open(path)["g"]
    path.unlink()
    assert (table.read("plain")["plain"] == NUMBERS).all()  # of which the file is open
    with pytest.raises(tw.DataError, match=said(column)):
        table.read(column)


def test_a_file_that_grows_is_an_error_until_it_is_opened_again(path: Path) -> None:
    table = tw.open(path)["g"]
    with h5py.File(path, "r+") as file:
        for name in ("packed", "blosc", "words"):
            file[f"g/{name}"].resize(ROWS + 700, axis=0)
            file[f"g/{name}"][ROWS:] = file[f"g/{name}"][0]
        file["g/more"] = np.arange(ROWS + 700)
    for name in ("plain", "packed", "blosc", "words"):
        with pytest.raises(tw.DataError, match="is not the file that was opened"):
            table.read(name)
    grown = tw.open(path)  # now `plain` has other rows than the rest
    assert len(grown["g"]) == ROWS + 700
    assert len(grown["g_plain"]) == ROWS


@pytest.mark.parametrize("column", ["packed", "blosc"])
def test_a_filter_that_fails_says_where_and_spoils_no_other_rows(column: str, path: Path) -> None:
    offset, size = last_chunk(path, f"g/{column}")
    content = bytearray(path.read_bytes())
    content[offset : offset + size] = bytes(size)
    path.write_bytes(content)
    table = tw.open(path)["g"]
    with pytest.raises(tw.DataError, match=said(column)):
        table.read(column)
    assert (table.read(column, rows=slice(0, ROWS - 500))[column] == NUMBERS[:-500]).all()
    found = tw.verify(path)
    assert not found.is_sound
    assert any(f"column '{column}'" in message for message in found.messages)
    assert found.problems == ()


def test_verify_reads_what_only_h5py_reads_and_says_which_has_no_checksum(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.create_dataset("g/checked", data=NUMBERS, chunks=(500, 4), fletcher32=True, **hdf5plugin.Blosc())
    found = tw.verify(path)
    assert found.is_sound
    names = [f"table 'g', column '{name}'" for name in ("blosc", "checked", "words")]
    assert sorted(found.read_by_h5py) == names
    assert sorted(found.read_without_checksum) == [names[0], names[2]]
    assert found.problems == ()


def test_verify_names_what_is_not_read_of_a_file_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "references.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("g/to", (10,), h5py.ref_dtype)
    found = tw.verify(path)
    assert [problem.path for problem in found.problems] == ["/g/to"]
    assert found.read_by_h5py == ()
