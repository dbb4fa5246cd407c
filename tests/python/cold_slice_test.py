"""Tests what one slice of a file costs that is not in the page cache: calls and bytes, beside those of h5py."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw

ROWS, SAMPLES = 20_000, 64
SLICE = slice(5000, 5010)
# Opening shows all columns, and looks for the seal and mark of our files; and small things are read with what is around
# them.
MORE_BYTES = 8192

LAYOUTS: dict[str, dict[str, Any]] = {
    "whole rows": {"chunks": (1000, SAMPLES), "compression": "gzip"},
    "split rows": {"chunks": (1000, 16), "compression": "gzip"},
    "guessed": {"compression": "gzip"},
    "without filters": {"chunks": (400, SAMPLES)},
    "many chunks": {"chunks": (10, SAMPLES)},
    "contiguous": {},
}


def reads() -> tuple[int, int]:
    """Calls and bytes that this thread has read by now, this look included."""
    with Path("/proc/thread-self/io").open() as file:
        counts = dict(line.split(": ") for line in file)
    return int(counts["syscr"]), int(counts["rchar"])


def cost(read: Callable[[], Any]) -> tuple[int, int, Any]:
    first, second = reads(), reads()
    values = read()
    third = reads()
    looked = [after - before for before, after in zip(first, second, strict=True)]
    calls, size = (after - before - each for before, after, each in zip(second, third, looked, strict=True))
    return calls, size, values


def by_us(path: Path) -> Any:
    return tw.open(path)["g"].read("wave", rows=SLICE, threads=1)["wave"]


def by_h5py(path: Path) -> Any:
    with h5py.File(path) as file:
        return file["g/wave"][SLICE]


def check(path: Path, more_bytes: int = MORE_BYTES) -> None:
    by_us(path), by_h5py(path)  # modules are loaded, and pages of this process are there
    calls, size, values = cost(lambda: by_us(path))
    their_calls, their_size, theirs = cost(lambda: by_h5py(path))
    assert (values == theirs).all()
    assert size > 0
    assert calls <= their_calls, f"{calls} calls, h5py has {their_calls}"
    assert size <= their_size + more_bytes, f"{size} bytes, h5py reads {their_size}"


def noise() -> Any:
    return np.random.default_rng(1).integers(0, 1 << 12, (ROWS, SAMPLES), np.uint16)


@pytest.mark.parametrize("libver", ["earliest", "v110"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_slice_of_a_foreign_file_costs_no_more_than_by_h5py(layout: str, libver: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        file.create_dataset("g/wave", data=noise(), **LAYOUTS[layout])
        file.create_dataset("g/energy", data=np.arange(ROWS), chunks=(1000,))
        file["g/time"] = np.arange(ROWS)
    check(path)


def test_a_slice_of_our_file_costs_no_more_than_by_h5py(tmp_path: Path) -> None:
    path = tmp_path / "ours.h5"
    row = {"energy": tw.float32, "wave": tw.array(tw.uint16, SAMPLES)}
    with tw.create(path, {"g": row}, codec="deflate") as run, run.producer("g") as producer:
        producer.append(energy=np.arange(ROWS, dtype=np.float32), wave=noise())
    # All metadata are compared with the seal before libhdf5 sees any (docs/decisions/0024).
    sealed = struct.unpack_from("<QQ", path.read_bytes(), 1024)[1]
    check(path, sealed + MORE_BYTES)
