"""Datasets of other programs, however they are laid out: equal to what h5py reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest

import thalweg as tw

ROWS = 700
WAVES = np.random.default_rng(3).integers(0, 900, (ROWS, 640)).astype(np.uint16)
CUBES = WAVES.reshape(ROWS, 8, 80)
Make = Callable[[h5py.Group], Any]


def dataset(data: npt.NDArray[Any], **options: Any) -> Make:
    return lambda group: group.create_dataset("values", data=data, **options)


def compact(group: h5py.Group) -> None:
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((ROWS, 3))
    h5py.h5d.create(group.id, b"values", h5py.h5t.IEEE_F32BE, space, creation)
    group["values"][:] = WAVES[:, :3]


def partly_written(group: h5py.Group) -> None:
    values = group.create_dataset(
        "values", WAVES.shape, ">i4", chunks=(100, 64), fillvalue=-77, compression="gzip", shuffle=True
    )
    values[150:350, 100:300] = WAVES[150:350, 100:300]


def extended(group: h5py.Group) -> None:
    values = group.create_dataset("values", (10, 64), "u2", maxshape=(None, None), chunks=(64, 100), fillvalue=9)
    values[:] = WAVES[:10, :64]
    values.resize((ROWS, 640))


def array_type(group: h5py.Group) -> None:
    type_ = h5py.h5t.array_create(h5py.h5t.STD_I32BE, (2, 40))
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((33, 3))
    creation.set_shuffle()
    creation.set_deflate(1)
    creation.set_fletcher32()
    h5py.h5d.create(group.id, b"values", type_, h5py.h5s.create_simple((ROWS, 8)), creation)
    group["values"][:] = CUBES.reshape(ROWS, 8, 2, 40)


def some_filters(group: h5py.Group) -> None:
    """Every second chunk lacks deflate, the last filter, and has only been shuffled; some lack both."""
    values = group.create_dataset("values", data=WAVES, chunks=(100, 64), compression="gzip", shuffle=True)
    for row in range(0, ROWS, 200):
        tile = np.ascontiguousarray(WAVES[row : row + 100, 64:128])
        values.id.write_direct_chunk((row, 64), tile.reshape(-1, 1).view(np.uint8).T.tobytes(), 0b10)
        values.id.write_direct_chunk((row, 0), WAVES[row : row + 100, :64].tobytes(), 0b11)


LAYOUTS: dict[str, Make] = {
    "what h5py chooses": dataset(WAVES, chunks=True),
    "what h5py chooses for gzip": dataset(WAVES, compression="gzip"),
    "bands of three rows": dataset(WAVES, chunks=(3, 256), compression="gzip", compression_opts=1),
    "columns of chunks": dataset(WAVES, chunks=(ROWS, 7)),
    "tall chunks": dataset(WAVES, chunks=(188, 32), compression="gzip", shuffle=True),
    "cubes": dataset(CUBES, chunks=(64, 3, 80), compression="gzip"),
    "cubes in small": dataset(CUBES, chunks=(64, 3, 33)),
    "big endian": dataset(WAVES.astype(">u2")),
    "big endian in chunks": dataset(WAVES.astype(">f8"), chunks=(50, 640), compression="gzip", shuffle=True),
    "big endian in tiles": dataset(WAVES.astype(">i4"), chunks=(50, 64), shuffle=True),
    "big endian complex": dataset(WAVES.astype(">c8"), chunks=(50, 64)),
    "fletcher32": dataset(WAVES, chunks=(50, 640), fletcher32=True),
    "fletcher32 and others": dataset(WAVES, chunks=(50, 64), fletcher32=True, compression="gzip", shuffle=True),
    "compact": compact,
    "never written": lambda group: group.create_dataset("values", (ROWS, 6), "f4", fillvalue=2.5),
    "never written, in tiles": lambda group: group.create_dataset("values", (ROWS, 6), ">f4", chunks=(9, 4)),
    "partly written": partly_written,
    "extended": extended,
    "array type": array_type,
    "some filters": some_filters,
}


@pytest.fixture(params=LAYOUTS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("ch0/waveform")
        LAYOUTS[request.param](group)
        group.create_dataset("t0", data=np.arange(ROWS) / 4, chunks=True)
        group["dt"] = np.full(ROWS, 16.0)
        file["ch0/energy"] = np.arange(ROWS)
    return path


def test_all_values_are_those_of_h5py(foreign: Path) -> None:
    with h5py.File(foreign) as file:
        names = ["waveform/values", "waveform/t0", "waveform/dt", "energy"]
        expected = {name: file[f"ch0/{name}"][:] for name in names}
    table = tw.open(foreign)["ch0"]
    rows = table.read()
    for name, values in expected.items():
        np.testing.assert_array_equal(rows[name], values)
    for start, stop in [(0, 1), (99, 101), (ROWS - 1, ROWS), (13, 444)]:
        part = table.read(["waveform/values"], rows=slice(start, stop))
        np.testing.assert_array_equal(part["waveform/values"], expected["waveform/values"][start:stop])


def test_it_is_sound(foreign: Path) -> None:
    assert tw.verify(foreign).is_sound


@pytest.mark.parametrize("rows", [1, 10, 333])
def test_batches_decode_every_chunk_once(foreign: Path, rows: int) -> None:
    whole = tw.open(foreign)
    expected = whole["ch0"].read()["waveform/values"]
    run = tw.open(foreign)
    batches = list(run["ch0"].batches(rows=rows))
    assert [batch.row_count for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    np.testing.assert_array_equal(np.concatenate([batch["waveform/values"] for batch in batches]), expected)
    assert run._core.bytes_read() == whole._core.bytes_read()


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_what_is_converted_is_the_same(foreign: Path, ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"copy.{ending}"
    tw.convert(foreign, target)
    expected = tw.open(foreign)["ch0"].read()["waveform/values"]
    np.testing.assert_array_equal(tw.open(target)["ch0"].read()["waveform/values"], expected)


def test_a_flipped_bit_under_fletcher32_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        values = file.create_dataset("ch0/x", data=WAVES, chunks=(50, 64), fletcher32=True)
        offset = values.id.get_chunk_info(7).byte_offset
    with path.open("r+b") as raw:
        raw.seek(offset + 100)
        byte = raw.read(1)[0]
        raw.seek(offset + 100)
        raw.write(bytes([byte ^ 1]))
    with pytest.raises(tw.DataError, match="fletcher32"):
        tw.open(path)["ch0"].read()
    assert not tw.verify(path).is_sound


def test_bands_beyond_the_memory_are_read_in_steps_of_it(tmp_path: Path) -> None:
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("ch0/x", data=WAVES, chunks=(ROWS, 64), compression="gzip")
    run = tw.open(path)
    run["ch0"].read()
    once = run._core.bytes_read()
    batches = list(run["ch0"].batches(rows=10, memory_bytes=WAVES.nbytes // 4))
    np.testing.assert_array_equal(np.concatenate([batch["x"] for batch in batches]), WAVES)
    assert run._core.bytes_read() - once <= 5 * once
