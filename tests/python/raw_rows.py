"""Rows as an instrument would send them, made by NumPy and struct, and what they must become."""

import contextlib
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np
import uproot
from recording import THALWEG

DTYPE = "[('timestamp','<u8'),('energy','>u2'),('gain','<f4'),('samples','<u2',(64,))]"
SYNC = 0xA5B6C7D8

# A row of everything: 4 + 4 + 2 + 4 + 10 + 9 + 7 + 2 bytes, and a list.
ROW = f"""
table = "hits"
description = "of a detector"
byte-order = "big"

[[field]]
name = "sync"
type = "uint32"
role = "sync"
value = 0x{SYNC:X}

[[field]]
name = "number"
type = "uint32"
role = "sequence"

[[field]]
name = "time"
type = "<u2"
role = "timestamp"
unit = "ns"
scale = 8

[[field]]
name = "word"
type = "uint32"
bits = {{channel = "0-4", energy = {{bits = "5-18", unit = "keV"}}, flag = "31"}}

[[field]]
name = "low"
type = "uint10"
shape = [2, 4]

[[field]]
name = "high"
type = "int12"
shape = 6
sample-order = "high-first"

[[field]]
role = "skip"
shape = 3

[[field]]
name = "length"
type = "uint16"
role = "length"
counts = "bytes"

[[field]]
name = "trace"
type = "uint14"
shape = "length"
"""


def packed(values: np.ndarray, bits: int, order: str) -> bytes:
    """Packs samples bit by bit."""
    shifts = np.arange(bits) if order == "little" else np.arange(bits)[::-1]
    stream = (values.reshape(-1, 1).astype(np.int64) >> shifts) & 1
    return np.packbits(stream.astype(np.uint8).ravel(), bitorder=order).tobytes()


class Hits:
    """Rows of `ROW`."""

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(3)
        self.count = count
        self.time = np.arange(count, dtype=np.uint64) * 1000 + 65_000  # 16 bits wrap every 65 rows
        self.channel = random.integers(0, 32, count, dtype=np.uint8)
        self.energy = random.integers(0, 1 << 14, count, dtype=np.uint16)
        self.flag = random.integers(0, 2, count, dtype=np.uint8)
        self.low = random.integers(0, 1 << 10, (count, 2, 4), dtype=np.uint16)
        self.high = random.integers(-2048, 2048, (count, 6), dtype=np.int16)
        self.trace = [random.integers(0, 1 << 14, 4 * (i % 5), dtype=np.uint16) for i in range(count)]
        self.rows = [self._row(i) for i in range(count)]

    def _row(self, i: int) -> bytes:
        word = int(self.flag[i]) << 31 | int(self.energy[i]) << 5 | int(self.channel[i])
        trace = packed(self.trace[i], 14, "little")
        return (
            struct.pack(">II", SYNC, i)
            + struct.pack("<H", int(self.time[i]) % 65_536)
            + struct.pack(">I", word)
            + packed(self.low[i], 10, "little")
            + packed(self.high[i], 12, "big")
            + b"\0\0\0"
            + struct.pack(">H", len(trace))
            + trace
        )

    def check(self, file: Path, kept: list[int] | None = None) -> None:
        """Compares what stock readers find with what was packed."""
        index = np.arange(self.count) if kept is None else np.array(kept)
        found = _of_h5py(file) if file.suffix == ".h5" else _of_uproot(file)
        assert set(found) == {"number", "time", "channel", "energy", "flag", "low", "high", "trace"}
        assert found["number"].tolist() == index.tolist()
        np.testing.assert_array_equal(found["time"], 8 * self.time[index])
        for name in ("channel", "energy", "flag", "low", "high"):
            expected = getattr(self, name)[index]
            assert found[name].dtype == expected.dtype
            np.testing.assert_array_equal(found[name], expected)
        assert [each.tolist() for each in found["trace"]] == [self.trace[i].tolist() for i in index]


def _of_h5py(path: Path) -> dict[str, Any]:
    with h5py.File(path) as file:
        table = file["hits"]
        found = {name: table[name][...] for name in table if name != "trace"}
        ends = table["trace/cumulative_length"][...]
        found["trace"] = np.split(table["trace/flattened_data"][...], ends[:-1]) if len(ends) else []
        return found


def _of_uproot(path: Path) -> dict[str, Any]:
    with uproot.open(path) as file:
        arrays = file["hits"].arrays()
        fields = [name for name in arrays.fields if name != "trace"]
        return {name: np.asarray(arrays[name]) for name in fields} | {"trace": [np.asarray(a) for a in arrays["trace"]]}


def rows_of_dtype(count: int, first: int = 0) -> np.ndarray:
    rows = np.zeros(count, np.dtype(eval(DTYPE)))
    rows["timestamp"] = np.arange(first, first + count)
    rows["energy"] = rows["timestamp"] * 7 % 65_536
    rows["gain"] = rows["timestamp"] / 3
    rows["samples"] = rows["timestamp"][:, None] + np.arange(64)
    return rows


def read_dtype(path: Path) -> dict[str, np.ndarray]:
    if path.suffix == ".root":
        with uproot.open(path) as file:
            arrays = file["events"].arrays()
            return {name: np.asarray(arrays[name]) for name in arrays.fields}
    with h5py.File(path) as file:
        return {name: values[...] for name, values in file["events"].items()}


def check_dtype(path: Path, rows: np.ndarray) -> None:
    """Compares the file with the values that NumPy's own decoding of the same bytes gives."""
    found = read_dtype(path)
    assert set(found) == set(rows.dtype.names or ())
    for name in rows.dtype.names or ():
        np.testing.assert_array_equal(found[name], rows[name])


@contextlib.contextmanager
def recording_rows(out: Path, *arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Begins to record; nothing is said about when it listens: senders try again."""
    words = [THALWEG, "record", "--source", "raw", "--out", str(out), "--json", "--quiet", *map(str, arguments)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def connect(port: int) -> socket.socket:
    end_s = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert time.monotonic() < end_s
            time.sleep(0.02)


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


SENDER = [sys.executable, "-c", "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer)"]
