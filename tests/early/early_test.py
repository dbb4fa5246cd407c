"""Files of early versions stay readable: Thalweg, h5py and uproot find each value in them."""

import hashlib
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np
import pytest
import uproot
from early_runs import METADATA, ROWS, SCHEMA, UNITS, row_of_pulses, row_of_slow

import thalweg as tw

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.iterdir() if path.suffix in (".h5", ".root"))
# A file of a version that is released is never written again.
SHA256 = {
    "0.1.0.h5": "4219fc8681a3aeeafe45e5692b167577ec75bb14ba99372842becb7f0fe2ea35",
    "0.1.0.root": "20f03ec6b91a03f206fd74602c70fe155fe78aa9097f326cfe53a13ec0c0da17",
}


def test_no_file_has_changed_and_each_container_has_one() -> None:
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FILES} == SHA256
    assert {path.suffix for path in FILES} == {".h5", ".root"}


def plain(value: Any) -> Any:
    """Values as Python's own, whatever array holds them."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_value_is_there(path: Path) -> None:
    assert tw.verify(path).is_sound
    with tw.open(path) as run:
        assert {key: run.metadata[key] for key in METADATA} == METADATA
        assert run.schema["pulses"] == tw.schema(SCHEMA)["pulses"]  # with units and descriptions
        assert plain(run["pulses"].arrays()) == [plain(row_of_pulses(i)) for i in range(ROWS)]
        assert plain(run["slow"].arrays()) == [plain(row_of_slow(i)) for i in range(5)]
        assert [unit.key for unit in run.units] == [f"unit {i}".encode() for i in range(UNITS)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_converts_to_a_file_of_today(path: Path, tmp_path: Path) -> None:
    for ending in (".h5", ".root"):
        tw.convert(path, tmp_path / f"new{ending}")
        with tw.open(tmp_path / f"new{ending}") as run, tw.open(path) as old:
            assert {name: plain(run[name].arrays()) for name in SCHEMA} == {
                name: plain(old[name].arrays()) for name in SCHEMA
            }


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".h5"], ids=lambda path: path.name)
def test_h5py_reads_it(path: Path) -> None:
    with h5py.File(path) as file:
        pulses = file["pulses"]
        assert pulses["timestamp"][:].tolist() == [row_of_pulses(i)["timestamp"] for i in range(ROWS)]
        assert np.array_equal(pulses["waveform"][:], [row_of_pulses(i)["waveform"] for i in range(ROWS)])


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".root"], ids=lambda path: path.name)
def test_uproot_reads_it(path: Path) -> None:
    with uproot.open(path) as file:
        pulses = file["pulses"].arrays(["energy", "note", "hits"])
    assert pulses["energy"].tolist() == [row_of_pulses(i)["energy"] for i in range(ROWS)]
    assert pulses["note"].tolist() == [row_of_pulses(i)["note"] for i in range(ROWS)]
    assert pulses["hits"].tolist() == [row_of_pulses(i)["hits"] for i in range(ROWS)]
