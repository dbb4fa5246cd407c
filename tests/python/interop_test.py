"""Files are ordinary: what h5py and the tools of the LEGEND convention make of them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (importing it is what makes the filters known)
import numpy as np
import pytest

import thalweg as tw

ROWS = 500
TRACES = (np.arange(ROWS)[:, None] * 3 + np.arange(1000)).astype(np.uint16)


def record(path: Path, **options: Any) -> Path:
    fields = {
        "timestamp": tw.uint64(unit="ns"),
        "waveform": tw.waveform(tw.uint16, 1000),
        "energy": tw.float32(unit="keV", description="calibrated"),
        "hits": tw.list_(tw.int32),
        "comment": tw.string,
        "z": tw.complex128,
        "ok": tw.bool_,
    }
    ids = np.arange(ROWS)
    with tw.create(path, tw.schema({"ch0/raw": fields}), **options) as out:
        out.producer("ch0/raw").append(
            timestamp=ids.astype(np.uint64),
            waveform={"t0": ids / 2, "dt": np.full(ROWS, 0.1), "values": TRACES},
            energy=ids.astype(np.float32),
            hits=[list(range(i % 4)) for i in range(ROWS)],
            comment=[f"event {i} µs"[: i % 12] for i in range(ROWS)],
            z=ids * 1j,
            ok=ids % 2 == 0,
        )
    return path


@pytest.mark.parametrize("codec", ["none", "lz4", "bitshuffle+lz4", "shuffle+deflate-1", "bitshuffle+zstd-3"])
def test_h5py_reads_what_was_written(codec: str, tmp_path: Path) -> None:
    with h5py.File(record(tmp_path / "run.h5", codec=codec)) as file:
        table = file["ch0/raw"]
        np.testing.assert_array_equal(table["waveform/values"], TRACES)
        assert table["timestamp"].dtype == np.uint64
        assert table["timestamp"].attrs["units"] == "ns"
        assert table["energy"].attrs["description"] == "calibrated"
        assert table["energy"][:].tolist() == list(range(ROWS))
        assert table["z"][3] == 3j
        ends = table["hits/cumulative_length"][:]
        hits = np.split(table["hits/flattened_data"][:], ends[:-1].astype(int))
        assert [list(each) for each in hits] == [list(range(i % 4)) for i in range(ROWS)]


def test_strings_are_utf8_bytes_and_lengths(tmp_path: Path) -> None:
    with h5py.File(record(tmp_path / "run.h5")) as file:
        comment = file["ch0/raw/comment"]
        data, ends = comment["flattened_data"][:].tobytes(), comment["cumulative_length"][:].astype(int)
        texts = [data[start:stop].decode() for start, stop in zip([0, *ends[:-1]], ends, strict=True)]
    assert texts == [f"event {i} µs"[: i % 12] for i in range(ROWS)]


def test_stock_h5py_reads_deflate_without_a_plugin(tmp_path: Path) -> None:
    record(tmp_path / "run.h5", codec="shuffle+deflate-1")
    script = (
        "import h5py, sys; table = h5py.File(sys.argv[1])['ch0/raw']; assert 'hdf5plugin' not in sys.modules;"
        "print(int(table['waveform/values'][:].sum()), int(table['timestamp'][:].sum()))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run.h5")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [str(int(TRACES.sum())), str(ROWS * (ROWS - 1) // 2)]


@pytest.mark.filterwarnings("ignore")
def test_legend_tools_read_a_table_with_waveforms(tmp_path: Path) -> None:
    import lh5
    from lgdo import Table, WaveformTable

    table = lh5.read("ch0/raw", str(record(tmp_path / "run.lh5")))
    assert isinstance(table, Table)
    assert len(table) == ROWS
    assert isinstance(table.waveform, WaveformTable)
    np.testing.assert_array_equal(table.waveform.values.nda, TRACES)
    assert table.waveform.dt.attrs["units"] == "ns"
    assert table.timestamp.nda.tolist() == list(range(ROWS))
    assert [list(each) for each in table.hits] == [list(range(i % 4)) for i in range(ROWS)]
