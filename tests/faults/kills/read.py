"""Files as h5py and uproot read them with their defaults: without a word from Thalweg."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import cramjam
import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np
import uproot

from kills.values import Array, Column, Values

Columns = Mapping[str, Column]


@dataclass
class Unit:
    key: int | bytes
    summary: bytes
    ranges: list[tuple[int, int, int]]  # table, first row, rows


def is_complete(path: Path) -> bool:
    if path.suffix == ".root":
        with uproot.open(path) as file:
            return bool(json.loads(str(file["thalweg"]))["closed"])
    with path.open("rb") as raw:
        return raw.read(8) == b"\x89HDF\r\n\x1a\n"


def opens(path: Path) -> bool:
    """Whether other programs open it, complete or not."""
    if path.suffix == ".root":
        return True
    with path.open("rb") as raw:
        begin = raw.read(1024)
    return any(begin[at:].startswith(b"\x89HDF\r\n\x1a\n") for at in (0, 512))


def read_table(path: Path, table: str, columns: tuple[Column, ...]) -> tuple[Array, Array, list[Values]]:
    """Returns the writer of each row, its number among the rows of this writer, and all columns."""
    if path.suffix == ".root":
        with uproot.open(path) as file:
            rows = file[table].arrays()
            found = [_of_awkward(rows[column.name], column) for column in columns]
            return ak.to_numpy(rows["who"]), ak.to_numpy(rows["row"]), found
    with h5py.File(path) as file:
        group = file[table]
        return group["who"][:], group["row"][:], [_of_hdf5(group[column.name], column) for column in columns]


def _of_hdf5(node: Any, column: Column) -> Values:
    if column.kind in ("scalar", "array"):
        return None, node[:].ravel()
    ends = node["cumulative_length"][:]
    return np.diff(ends, prepend=np.int64(0)).astype(np.uint64), node["flattened_data"][:]


def _of_awkward(rows: ak.Array, column: Column) -> Values:
    if column.kind in ("scalar", "array"):
        return None, _numbers(ak.flatten(rows, axis=None) if not rows.fields else rows)
    lists = ak.without_parameters(rows)  # of texts the characters
    return ak.to_numpy(ak.num(lists)).astype(np.uint64), _numbers(ak.flatten(lists))


def _numbers(items: ak.Array) -> Array:
    if items.fields:  # complex numbers are records
        real, imaginary = (ak.to_numpy(items[name]) for name in ("real", "imag"))
        return (real + 1j * imaginary).astype(np.result_type(real, np.complex64)).ravel()
    return ak.to_numpy(items).ravel()


def read_units(path: Path) -> list[Unit]:
    """The table of work units, as docs/formats/units.md describes it."""
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return _units(file["thalweg/units"][:].tobytes()) if "thalweg/units" in file else []
    with uproot.open(path) as file:
        facts = json.loads(str(file["thalweg"])).get("units")
    return _units(_pieces(path, facts)) if facts else []


def _pieces(path: Path, facts: Mapping[str, Any]) -> bytes:
    data = b""
    with path.open("rb") as raw:
        for offset, stored in facts["pieces"]:
            raw.seek(offset)
            piece = raw.read(stored)
            size = min(4 << 20, facts["bytes"] - len(data))
            data += piece if stored == size else bytes(cramjam.zstd.decompress(piece))
    assert len(data) == facts["bytes"]
    return data


def _units(data: bytes) -> list[Unit]:
    magic, count = struct.unpack_from("<8sQ", data)
    assert magic == b"THUNITS1"
    at, units = 16, []
    for _ in range(count):
        key_bytes, summary_bytes, ranges = struct.unpack_from("<III", data, at)
        at += 12
        is_integer = key_bytes == 0xFFFFFFFF
        key_size = 8 if is_integer else key_bytes
        key = struct.unpack_from("<q", data, at)[0] if is_integer else data[at : at + key_size]
        summary = data[at + key_size : at + key_size + summary_bytes]
        at += key_size + summary_bytes
        parts = []
        for _ in range(ranges):
            table, _, first, rows = struct.unpack_from("<IIQQ", data, at)
            parts.append((table, first, rows))
            at += 24
        units.append(Unit(key, summary, parts))
    assert at == len(data)
    return units
