"""Readers that are not ours show every kind of file with the values that h5py shows.

What one of them cannot read is listed here and in docs/readers.md, and the test fails if it can.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest
from readers.kinds import KINDS
from readers.programs_of_others import Digests, Served, expected, reader_of

import thalweg as tw

READERS = ("h5dump", "h5wasm", "jhdf", "jsfive", "netCDF4", "xarray")
# jhdf applies the filters of a chunk that says that it went without, has no zstd, and knows no virtual datasets. For
# bitshuffle with LZ4 it shows other values in some chunks, in files of h5py as well (see below).
# jsfive knows only the chunk index of HDF5 1.8, and loses digits of 64-bit integers.
NOT_READ = {
    "jhdf": {"bitshuffle+lz4", "bitshuffle+zstd", "deflate that does not shrink", "zstd"}
    | {"lists of three producers", "lists, deflated"},
    "jsfive": set(KINDS),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("kinds")
    made = {kind: folder / f"{index}.h5" for index, kind in enumerate(KINDS)}
    for kind, path in made.items():
        KINDS[kind](path)
    return made


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Iterator[tuple[str, object]]:
    read, why_not = reader_of(request.param)
    if read is None:
        pytest.skip(why_not)
    yield request.param, read
    if isinstance(read, Served):
        read.end()


def of_user(digests: Digests) -> Digests:
    """Leaves out the datasets of the group /thalweg, which only Thalweg needs."""
    return {name: digest for name, digest in digests.items() if not name.startswith("/thalweg/")}


def test_every_kind_has_the_values_that_h5py_shows(reader: tuple[str, object], files: dict[str, Path]) -> None:
    name, read = reader
    differences = {}
    for kind, path in files.items():
        found, right = read(path), of_user(expected(path))  # type: ignore[operator]
        assert right
        wrong = {
            each: found.get(each, f"not shown {found.get('', '')}") for each in right if found.get(each) != right[each]
        }
        if wrong:
            differences[kind] = wrong
    unexpected = {kind: wrong for kind, wrong in differences.items() if kind not in NOT_READ.get(name, set())}
    assert not unexpected
    assert set(differences) == NOT_READ.get(name, set()), "docs/readers.md says that these kinds are not read"


def test_jhdf_shows_other_values_of_bitshuffle_in_files_of_h5py_too(tmp_path: Path) -> None:
    """So the files are right. The length of these chunks is no multiple of 8 blocks."""
    read, why_not = reader_of("jhdf")
    if read is None:
        pytest.skip(why_not)
    path = tmp_path / "h5py.h5"
    values = np.cumsum(np.random.default_rng(1).integers(1, 100, 3004)).astype(np.uint64)
    with h5py.File(path, "w") as file:
        file.create_dataset("whole", data=values[:2048], chunks=(1024,), **hdf5plugin.Bitshuffle(cname="lz4"))
        file.create_dataset("odd", data=values, chunks=(3004,), **hdf5plugin.Bitshuffle(cname="lz4"))
    found, right = read(path), expected(path)
    assert isinstance(read, Served)
    read.end()
    assert found["/whole"] == right["/whole"]
    assert found["/odd"] != right["/odd"]


def test_jhdf_reads_files_that_are_larger_than_its_memory(tmp_path: Path) -> None:
    """Judges record for as long as they like, and jhdf makes objects of unsigned integers and of each row of arrays."""
    read, why_not = reader_of("jhdf")
    if read is None:
        pytest.skip(why_not)
    path, rows = tmp_path / "large.h5", 3_000_000
    number = np.arange(rows, dtype=np.uint64)
    with tw.create(path, tw.schema({"ev": {"n": tw.uint64, "w": tw.array(tw.uint16, 4)}}), codec="none") as out:
        out.producer("ev").append(n=number, w=(number[:, None] + np.arange(4, dtype=np.uint64)).astype(np.uint16))
    found = read(path)
    assert isinstance(read, Served)
    read.end()
    assert of_user(found) == of_user(expected(path))


def test_jsfive_reads_contiguous_datasets_and_the_chunks_of_hdf5_1_8(files: dict[str, Path], tmp_path: Path) -> None:
    """So what it does not read is due to the index of the chunks, and its values are compared rightly."""
    read, why_not = reader_of("jsfive")
    if read is None:
        pytest.skip(why_not)
    old = tmp_path / "old.h5"
    with h5py.File(old, "w", libver=("earliest", "v108")) as file:
        file.create_dataset("x", data=np.arange(1000.0), chunks=(100,), compression="gzip")
    found = {path: read(path) for path in (files["checkpoint"], old)}
    assert isinstance(read, Served)
    read.end()
    assert found[files["checkpoint"]]["/psi"] == expected(files["checkpoint"])["/psi"]
    assert found[old] == expected(old)


def test_the_copy_in_the_documents_has_the_index_of_hdf5_1_8(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = re.search(r"```python\n(.*?)```", (repository / "docs/readers.md").read_text(), re.DOTALL)
    assert block
    monkeypatch.chdir(tmp_path)
    exec(block[1], {})
    assert expected(Path("old.h5")) == expected(Path("new.h5"))
    # The layout message of version 3 has the class "chunked" behind its version, and the index is a B-tree of nodes.
    assert b"TREE" in Path("old.h5").read_bytes()
    assert b"TREE" not in Path("new.h5").read_bytes()


def test_a_reader_that_shows_another_value_is_found(files: dict[str, Path]) -> None:
    """The digests of two files differ wherever their values do."""
    one, other = expected(files["codec none"]), expected(files["numbers of all types"])
    assert set(one.values()) & set(of_user(other).values()) == set()
    assert len(set(of_user(one).values())) == len(of_user(one))
