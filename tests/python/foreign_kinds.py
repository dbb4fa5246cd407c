"""Kinds of HDF5 files as h5py writes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

ROWS = 300
PAIR = np.dtype([("a", "<i4"), ("b", "<f4")])
NUMBERS = np.arange(ROWS * 24).reshape(ROWS, 24) * 7 % 251
Make = Callable[[h5py.File], None]


def dataset(data: Any = NUMBERS, **options: Any) -> Make:
    def make(file: h5py.File) -> None:
        file.create_dataset("g/x", data=data, **options)
        file["g/beside"] = np.arange(len(data))

    return make


def unwritten(**options: Any) -> Make:
    def make(file: h5py.File) -> None:
        made = file.create_dataset("g/x", (ROWS, 8), np.int16, **options)
        made[100:120] = 5

    return make


def typed(kind: Any, value: Any = None, width: tuple[int, ...] = (), **options: Any) -> Make:
    def make(file: h5py.File) -> None:
        made = file.create_dataset("g/x", (ROWS, *width), kind, **options)
        if value is not None:
            made[:] = value

    return make


def lists(kind: Any, of: Callable[[int], Any], width: tuple[int, ...] = ()) -> Make:
    def make(file: h5py.File) -> None:
        made = file.create_dataset("g/x", (ROWS, *width), h5py.vlen_dtype(kind))
        for row in range(0, ROWS, 2):
            made[(row, *(0 for _ in width))] = of(row % 5)
        file["g/beside"] = np.arange(ROWS)

    return make


def low_level(kind: Any, layout: int | None = None) -> Make:
    """Makes datasets of types that NumPy has no name for, and of layouts that h5py does not choose."""

    def make(file: h5py.File) -> None:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if layout is not None:
            creation.set_layout(layout)
        space = h5py.h5s.create_simple((ROWS,))
        h5py.h5d.create(file.create_group("g").id, b"x", kind, space, creation)
        file["g/beside"] = np.arange(ROWS)

    return make


def sized(size: int, precision: int) -> Any:
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(precision)
    kind.set_size(size)
    return kind


def compounds(file: h5py.File) -> None:
    inner = np.dtype([("x", "<f4"), ("y", ">i2", (2, 2))])
    kind = np.dtype([("id", "<u8"), ("inner", inner, (3,)), ("text", "S5"), ("flag", "?"), ("z", "<c8")])
    rows = np.zeros(ROWS, kind)
    rows["id"] = np.arange(ROWS)
    rows["inner"]["y"] = np.arange(ROWS * 12).reshape(ROWS, 3, 2, 2)
    rows["text"] = [b"%d" % row for row in range(ROWS)]
    rows["z"] = 1j
    file.create_dataset("daq/events", data=rows, chunks=(77,), compression="gzip")
    file.create_dataset("daq/grid", data=rows[:20].reshape(4, 5))


def mixed_compound(file: h5py.File) -> None:
    text, samples = h5py.string_dtype(), h5py.vlen_dtype(np.int16)
    made = file.create_dataset("g/x", (ROWS,), np.dtype([("t", text), ("v", samples), ("e", "<i4")]))
    rows = made[:]
    for row in range(ROWS):
        rows[row] = (b"x" * (row % 4), np.arange(row % 3, dtype=np.int16), row)
    made[:] = rows
    file["g/beside"] = np.arange(ROWS)


def partly_compound(file: h5py.File) -> None:
    file.create_dataset("g/x", (ROWS,), np.dtype([("good", "<i4"), ("to", h5py.ref_dtype)]))


def links(file: h5py.File) -> None:
    file["a/x"] = NUMBERS
    file["b/x"] = file["a/x"]
    file["b/y"] = h5py.SoftLink("/a/x")
    file["b/gone"] = h5py.SoftLink("/a/gone")
    file["c"] = file["a"]


def good_links(file: h5py.File) -> None:
    file["a/x"] = NUMBERS
    file["a/text"] = np.array([b"t"] * ROWS)
    file["b/x"] = file["a/x"]
    file["b/text"] = h5py.SoftLink("/a/text")


def external_link(file: h5py.File) -> None:
    file["g/x"] = NUMBERS
    file["g/out"] = h5py.ExternalLink("other.h5", "/x")


def virtual(file: h5py.File) -> None:
    file["source/x"] = np.arange(ROWS)
    layout = h5py.VirtualLayout((ROWS,), np.int64)
    layout[:] = h5py.VirtualSource(file["source/x"])
    file.create_virtual_dataset("g/x", layout)
    file["g/beside"] = np.arange(ROWS)


def virtual_with_gaps(file: h5py.File) -> None:
    file["source/x"] = NUMBERS
    layout = h5py.VirtualLayout((ROWS, 24), np.int64)
    layout[10:20, 3:] = h5py.VirtualSource(file["source/x"])[:10, 3:]
    file.create_virtual_dataset("g/x", layout, fillvalue=-3)


def virtual_beside(file: h5py.File) -> None:
    beside = Path(file.filename).with_name("beside.h5")
    with h5py.File(beside, "w") as other:
        other["x"] = NUMBERS
    layout = h5py.VirtualLayout((ROWS, 24), np.int64)
    layout[:] = h5py.VirtualSource("beside.h5", "x", (ROWS, 24))
    file.create_virtual_dataset("g/x", layout)


def virtual_without_source(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((ROWS,), np.int64)
    layout[:] = h5py.VirtualSource("nowhere.h5", "x", (ROWS,))
    file.create_virtual_dataset("g/x", layout)
    file["g/beside"] = np.arange(ROWS)


def external(file: h5py.File) -> None:
    for name, part in (("one.bin", NUMBERS[:100]), ("two.bin", NUMBERS[100:])):
        Path(file.filename).with_name(name).write_bytes(np.pad(part.astype("<i4").ravel(), (2, 0)).tobytes())
    parts = [("one.bin", 8, 100 * 24 * 4), ("two.bin", 8, 200 * 24 * 4)]
    made = file.create_dataset("g/x", (ROWS, 24), "<i4", external=[(str(Path(file.filename).parent / n), a, b)
                                                                    for n, a, b in parts])  # fmt: skip
    del made
    file["g/beside"] = np.arange(ROWS)


def scalars(file: h5py.File) -> None:
    file["g/version"] = 3
    file["g/title"] = "run µ"
    file["g/nothing"] = h5py.Empty("f8")
    file["g/no text"] = h5py.Empty("S1")
    file["g/x"] = np.arange(ROWS)
    file["alone/number"] = 2.5


def compound_scalar(file: h5py.File) -> None:
    file["g/setup"] = np.zeros((), [("a", "i4")])
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


def texts_everywhere(file: h5py.File) -> None:
    for path, rows in (("top", 5), ("g/a", 4), ("g/b", 4), ("g/c", 3), ("g/s/d", 4), ("far/away/e", 2), ("far/f", 9)):
        file[path] = np.array([f"{path} {row}".encode() for row in range(rows)])
    file["far/away/numbers"] = np.arange(2)


def named_type(file: h5py.File) -> None:
    file["types/pair"] = np.dtype([("a", "<i4"), ("b", "<f8")])
    file.create_dataset("g/x", (ROWS,), file["types/pair"])


def scales(file: h5py.File) -> None:
    file["g/time"] = np.arange(float(ROWS))
    file["g/x"] = NUMBERS
    file["g/time"].make_scale("time")
    file["g/x"].dims[0].attach_scale(file["g/time"])
    file["g/x"].dims[0].label = "t"


NUMBER_TYPES = ["<i1", ">i2", "<i4", ">i8", "<u1", ">u2", "<u4", ">u8", "<f4", ">f4", "<f8", ">f8"]
FILTERS: dict[str, Any] = {
    "Blosc": hdf5plugin.Blosc(),
    "Blosc2": hdf5plugin.Blosc2(),
    "BZip2": hdf5plugin.BZip2(),
    "Bitshuffle": hdf5plugin.Bitshuffle(),
    "Bitshuffle without compression": hdf5plugin.Bitshuffle(cname="none"),
    "LZ4": hdf5plugin.LZ4(),
    "Zstd": hdf5plugin.Zstd(),
    "ZFP": hdf5plugin.Zfp(reversible=True),
}
KINDS: dict[str, Make] = {
    **{f"number {kind}": dataset(NUMBERS.astype(kind)) for kind in NUMBER_TYPES},
    **{f"chunked {kind}": dataset(NUMBERS.astype(kind), chunks=True) for kind in (">u2", "<f4", ">f8")},
    **{f"filter {name}": dataset(NUMBERS.astype("<f4"), chunks=(40, 24), **each) for name, each in FILTERS.items()},
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
    "lzf, split rows": dataset(chunks=(17, 5), compression="lzf", shuffle=True),
    "scale-offset": dataset(scaleoffset=0),
    "3 dimensions": dataset(NUMBERS.reshape(ROWS, 4, 6), chunks=(50, 3, 4)),
    "growing": dataset(maxshape=(None, None), chunks=(64, 10)),
    "1 row": dataset(NUMBERS[:1]),
    "no rows": dataset(NUMBERS[:0]),
    "no rows of text": dataset(np.array([], "S4")),
    "zero width": dataset(np.zeros((ROWS, 0))),
    "zero width, chunked": dataset(np.zeros((ROWS, 2, 0), "<f4"), chunks=(10, 1, 1), maxshape=(None, 2, None)),
    "zero width of structs": dataset(np.zeros((ROWS, 0), [("a", "<i4"), ("b", "S3")])),
    "zero width of texts": dataset(np.zeros((ROWS, 0), "S3")),
    "unwritten chunks": unwritten(chunks=(16, 8)),
    "fill value": unwritten(chunks=(16, 3), fillvalue=-9),
    "fill value, contiguous": unwritten(fillvalue=-9),
    "compact": low_level(h5py.h5t.STD_I32BE, h5py.h5d.COMPACT),
    "array type": typed(np.dtype((np.int16, (3,)))),
    "bool": typed(np.bool_, np.arange(ROWS) % 2 == 0),
    "complex": typed(np.complex64, np.arange(ROWS) * 1j),
    "wide complex": typed(np.clongdouble),
    "half": typed(np.float16, np.arange(ROWS)),
    "half, gzip": typed(np.float16, 0.1, (5,), compression="gzip"),
    "long double": typed(np.longdouble, np.arange(ROWS)),
    "bitfield": low_level(h5py.h5t.STD_B16BE),
    "integers of 24 bits in 4 bytes": low_level(sized(4, 24)),
    "integers of 3 bytes": low_level(sized(3, 24)),
    "time of Unix": low_level(h5py.h5t.UNIX_D32LE),
    "text": typed(h5py.string_dtype(), "word"),
    "text that was never written": typed(h5py.string_dtype()),
    "text in 2 dimensions, gzip": typed(h5py.string_dtype(), "µm", (3,), compression="gzip"),
    "fixed text": typed("S8", b"word"),
    "fixed text in UTF-8": typed(h5py.string_dtype("utf-8", 6), "µm"),
    "fixed text in 2 dimensions": typed("S3", b"abc", (4,), chunks=(7, 2)),
    "text that is no UTF-8": typed("S4", b"caf\xe9"),
    "compound": typed(np.dtype([("a", "<i4"), ("b", "<f8")])),
    "compounds in compounds": compounds,
    "compound with text and lists": mixed_compound,
    "compound with references": partly_compound,
    "compound by a named type": named_type,
    "lists": lists(np.int32, lambda count: np.arange(count)),
    "lists that were never written": typed(h5py.vlen_dtype(np.int32)),
    "lists of floats, 2 dimensions": lists(np.float64, lambda count: np.arange(count) / 2, (2,)),
    "lists of bool": lists(np.bool_, lambda count: np.ones(count, bool)),
    "lists of text": lists(h5py.string_dtype(), lambda count: np.array([b"word"] * count, object)),
    "lists of compounds": lists(PAIR, lambda count: np.ones(count, PAIR)),
    "enum": typed(h5py.enum_dtype({"red": 0, "green": 1}, "u1"), 1),
    "enum of 8 bytes": typed(h5py.enum_dtype({"low": -5, "high": 2**40}, ">i8"), -5),
    "bool in 2 dimensions": typed(np.bool_, True, (3,), chunks=(10, 2)),
    "references": typed(h5py.ref_dtype),
    "references to regions": typed(h5py.regionref_dtype),
    "opaque": typed(np.dtype("V5")),
    "time": typed(h5py.opaque_dtype(np.dtype("<M8[ns]"))),
    "time between": dataset(np.arange(ROWS).astype("<m8[ms]").astype(h5py.opaque_dtype(np.dtype("<m8[ms]")))),
    "links": links,
    "links that lead somewhere": good_links,
    "link to another file": external_link,
    "virtual": virtual,
    "virtual with gaps": virtual_with_gaps,
    "virtual of a file beside": virtual_beside,
    "virtual without its source": virtual_without_source,
    "external storage": external,
    "scalars": scalars,
    "scalar compound": compound_scalar,
    "tree": tree,
    "texts everywhere": texts_everywhere,
    "dimension scales": scales,
}  # fmt: skip

# What neither the page map nor h5py can show as a table: of these something is left out, of all others nothing.
LEFT_OUT = ["wide complex", "long double", "integers of 3 bytes", "time of Unix", "references", "links"]
LEFT_OUT += ["references to regions", "compound with references", "link to another file", "virtual without its source"]
LEFT_OUT += ["scalar compound"]
