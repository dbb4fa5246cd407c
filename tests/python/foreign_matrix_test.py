"""Kinds of HDF5 files of h5py, PyTables and pandas: each dataset is equal to what h5py reads, or left out aloud."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw

ROWS = 300
NUMBERS = np.arange(ROWS * 24).reshape(ROWS, 24) * 7 % 251


def dataset(data: Any = NUMBERS, **options: Any) -> Callable[[h5py.File], None]:
    def make(file: h5py.File) -> None:
        file.create_dataset("g/x", data=data, **options)
        file["g/beside"] = np.arange(len(data))

    return make


def unwritten(**options: Any) -> Callable[[h5py.File], None]:
    def make(file: h5py.File) -> None:
        made = file.create_dataset("g/x", (ROWS, 8), np.int16, **options)
        made[100:120] = 5

    return make


def typed(kind: Any, value: Any = None) -> Callable[[h5py.File], None]:
    def make(file: h5py.File) -> None:
        made = file.create_dataset("g/x", (ROWS,), kind)
        if value is not None:
            made[:] = value

    return make


def links(file: h5py.File) -> None:
    file["a/x"] = NUMBERS
    file["b/x"] = file["a/x"]
    file["b/y"] = h5py.SoftLink("/a/x")
    file["b/gone"] = h5py.SoftLink("/a/gone")
    file["c"] = file["a"]


def virtual(file: h5py.File) -> None:
    file["source/x"] = np.arange(ROWS)
    layout = h5py.VirtualLayout((ROWS,), np.int64)
    layout[:] = h5py.VirtualSource(file["source/x"])
    file.create_virtual_dataset("g/x", layout)
    file["g/beside"] = np.arange(ROWS)


def scalars(file: h5py.File) -> None:
    file["g/version"] = 3
    file["g/nothing"] = h5py.Empty("f8")
    file["g/x"] = np.arange(ROWS)


def tree(file: h5py.File) -> None:
    file["top"] = np.arange(ROWS)
    file["g/x"] = np.arange(ROWS)
    file["g/s/inner/y"] = np.arange(ROWS)
    file["g/s/z"] = np.arange(7)
    file["g/list/cumulative_length"] = np.cumsum(np.arange(ROWS) % 3)
    file["g/list/flattened_data/v"] = np.arange((np.arange(ROWS) % 3).sum())
    file["groups/of/groups/x"] = np.arange(3)
    file.create_group("nothing/at/all")


NUMBER_TYPES = ["<i1", ">i2", "<i4", ">i8", "<u1", ">u2", "<u4", ">u8", "<f4", ">f4", "<f8", ">f8"]
KINDS: dict[str, Callable[[h5py.File], None]] = {
    **{f"number {kind}": dataset(NUMBERS.astype(kind)) for kind in NUMBER_TYPES},
    **{f"chunked {kind}": dataset(NUMBERS.astype(kind), chunks=True) for kind in (">u2", "<f4", ">f8")},
    "guessed chunks": dataset(chunks=True),
    "gzip": dataset(compression="gzip"),
    "gzip 9 and shuffle": dataset(compression="gzip", compression_opts=9, shuffle=True),
    "whole rows": dataset(chunks=(17, 24), compression="gzip"),
    "split rows": dataset(chunks=(17, 5), compression="gzip"),
    "split rows, big-endian": dataset(NUMBERS.astype(">i2"), chunks=(300, 1), shuffle=True, compression="gzip"),
    "columns": dataset(chunks=(300, 1)),
    "fletcher32": dataset(chunks=(30, 24), fletcher32=True),
    "fletcher32 and gzip": dataset(chunks=(30, 7), fletcher32=True, compression="gzip"),
    "lzf": dataset(compression="lzf"),
    "scale-offset": dataset(scaleoffset=0),
    "3 dimensions": dataset(NUMBERS.reshape(ROWS, 4, 6), chunks=(50, 3, 4)),
    "growing": dataset(maxshape=(None, None), chunks=(64, 10)),
    "1 row": dataset(NUMBERS[:1]),
    "no rows": dataset(NUMBERS[:0]),
    "zero width": dataset(np.zeros((ROWS, 0))),
    "unwritten chunks": unwritten(chunks=(16, 8)),
    "fill value": unwritten(chunks=(16, 3), fillvalue=-9),
    "fill value, contiguous": unwritten(fillvalue=-9),
    "array type": typed(np.dtype((np.int16, (3,)))),
    "bool": typed(np.bool_, np.arange(ROWS) % 2 == 0),
    "complex": typed(np.complex64, np.arange(ROWS) * 1j),
    "half": typed(np.float16, np.arange(ROWS)),
    "long double": typed(np.longdouble, np.arange(ROWS)),
    "text": typed(h5py.string_dtype(), "word"),
    "fixed text": typed("S8", b"word"),
    "compound": typed(np.dtype([("a", "<i4"), ("b", "<f8")])),
    "lists": typed(h5py.vlen_dtype(np.int32)),
    "enum": typed(h5py.enum_dtype({"red": 0, "green": 1}, "u1"), 1),
    "references": typed(h5py.ref_dtype),
    "opaque": typed(np.dtype("V5")),
    "time": typed(h5py.opaque_dtype(np.dtype("<M8[ns]"))),
    "links": links,
    "virtual": virtual,
    "scalars": scalars,
    "tree": tree,
}
# What the page map cannot show: of these something is left out, of all others nothing.
LEFT_OUT = ["lzf", "scale-offset", "zero width", "half", "long double", "text", "fixed text", "compound"]
LEFT_OUT += ["lists", "enum", "references", "opaque", "time", "links", "virtual", "scalars"]


def pandas_fixed(path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("tables")
    pd.DataFrame({"x": np.arange(ROWS), "y": np.arange(ROWS) / 2}).to_hdf(path, key="frame")


def pandas_table(path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("tables")
    pd.DataFrame({"x": np.arange(ROWS), "y": np.arange(ROWS) / 2}).to_hdf(path, key="frame", format="table")


def pytables(path: Path) -> None:
    tables = pytest.importorskip("tables")
    with tables.open_file(str(path), "w") as file:
        file.create_array("/", "plain", NUMBERS)
        for name, codec in {"zlib": "zlib", "blosc": "blosc", "bzip2": "bzip2"}.items():
            file.create_carray("/", name, obj=NUMBERS, filters=tables.Filters(5, codec))
        file.create_earray("/", "grows", obj=NUMBERS[:, :3])
        file.create_vlarray("/", "lists", tables.Int32Atom()).append([1, 2])


def objects(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    found: list[tuple[str, h5py.Dataset]] = []
    file.visititems(lambda name, each: found.append((f"/{name}", each)) if isinstance(each, h5py.Dataset) else None)
    return iter(found)


def columns(run: tw.Run) -> list[tuple[str, Any]]:
    """Every column of numbers with its values; of a list, what is in it."""

    def of(path: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, tw.Ragged):
            yield f"{path}/cumulative_length", value.offsets[1:]
            yield from of(f"{path}/flattened_data", value.content)
        elif isinstance(value, tw.Rows):
            for name, member in value.members.items():
                yield from of(f"{path}/{name}", member)
        else:
            yield path, np.asarray(value)

    return [pair for name, table in run.items() for pair in of(f"/{name}", table.read())]


def is_whole(path: Path) -> bool:
    """Each dataset has a column of its name with its values, or is among the problems. True where there are none."""
    try:
        run = tw.open(path)
    except tw.DataError as error:
        said = str(error)
        run = None
    if run is None:
        with h5py.File(path, locking=False) as file:
            missing = [name for name, _ in objects(file) if name not in said]
        assert "holds no table" in said
        assert missing == []
        return False
    left_out = {problem.path for problem in run.problems}
    found = columns(run)
    with h5py.File(path, locking=False) as file:
        for name, theirs in objects(file):
            if name in left_out:
                continue
            last = name.rsplit("/", 1)[1]
            mine = [values for column, values in found if column.rsplit("/", 1)[1] == last]
            assert any(np.array_equal(values, theirs[()]) for values in mine), f"{name} is dropped, or has other values"
    return not left_out


@pytest.mark.parametrize("libver", ["earliest", "v110"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_h5py(kind: str, libver: str, tmp_path: Path) -> None:
    path = tmp_path / "file.h5"
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        KINDS[kind](file)
    assert is_whole(path) == (kind not in LEFT_OUT)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [pandas_fixed, pandas_table, pytables])
def test_a_file_of_pytables(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "file.h5")
    is_whole(tmp_path / "file.h5")
