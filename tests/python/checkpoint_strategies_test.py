"""The programs of studies/checkpoint: whatever way ranks save by, the files hold their values, and are restored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))

from checkpoint.programs import ENVIRONMENT

_RANKS = 4
_BYTES = 40_008  # of each rank: no number of blocks
_MASK = (1 << 64) - 1
_STRATEGIES = ["posix-buffered", "posix-direct", "mpiio-per-process", "mpiio-independent", "mpiio-collective"]
_STRATEGIES += ["mpiio-files-2", "mpiio-files-4", "hdf5-independent", "hdf5-collective"]


def values_of(rank: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """As `values_of` of the programs: xorshift."""
    values = np.empty(_BYTES // 8)
    state = ((rank + 1) * 0x9E3779B97F4A7C15 + 1) & _MASK
    for i in range(len(values)):
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        values[i] = state >> 11
    return values


@dataclass
class Programs:
    mpi: str
    folder: Path

    def run(self, program: str, *words: object, ranks: int = _RANKS) -> subprocess.CompletedProcess[str]:
        line = [f"mpiexec.{self.mpi}", "-n", str(ranks), str(self.folder / f"checkpoint_{program}_{self.mpi}")]
        return subprocess.run(
            [*line, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ | ENVIRONMENT[self.mpi],
        )

    def failed(self, program: str, *words: object, ranks: int = _RANKS) -> subprocess.CompletedProcess[str]:
        """Runs it again while nothing is said: MPICH's launcher may end before it has passed on a rank's last words."""
        for _ in range(5):
            done = self.run(program, *words, ranks=ranks)
            assert done.returncode != 0
            if done.stderr:
                break
        return done

    def told(self, program: str, *words: object, ranks: int = _RANKS) -> dict[str, Any]:
        done = self.run(program, *words, ranks=ranks)
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said


@pytest.fixture(params=["mpich", "openmpi"])
def programs(request: pytest.FixtureRequest, repository: Path) -> Programs:
    mpi = request.param
    if shutil.which(f"mpiexec.{mpi}") is None or shutil.which(f"mpicxx.{mpi}") is None:
        pytest.skip(f"{mpi} is not installed, by Debian's names: mpiexec.{mpi} and mpicxx.{mpi}")
    build = Path(os.environ.get("THALWEG_BUILD", repository / "build" / "default"))
    found = Programs(mpi, build / "studies" / "checkpoint" / "programs")
    if not (found.folder / f"checkpoint_ours_{mpi}").exists():
        pytest.fail(f"{found.folder} has no programs for {mpi}: run `make test`")
    return found


def saved_at(strategy: str, path: Path) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """Returns what the files have, in the order of ranks, as other programs read it."""
    if strategy.startswith("hdf5") or strategy == "ours":
        with h5py.File(path) as file:
            return [file["psi"][:]]
    if strategy.startswith("posix") or strategy == "mpiio-per-process":
        return [np.fromfile(f"{path}.{rank}") for rank in range(_RANKS)]
    if strategy.startswith("mpiio-files"):
        return [np.fromfile(f"{path}.{number}") for number in range(int(strategy.rsplit("-", 1)[1]))]
    return [np.fromfile(path)]


def damage(folder: Path) -> None:
    """In the middle of the largest file, which is payload."""
    largest = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x10]))


@pytest.mark.parametrize("strategy", _STRATEGIES)
def test_what_ranks_save_is_there_and_comes_back(strategy: str, programs: Programs, tmp_path: Path) -> None:
    if strategy.startswith("hdf5") and strategy not in programs.run("strategies", "names", ranks=1).stdout.split():
        pytest.skip(f"parallel HDF5 for {programs.mpi} is not installed: libhdf5-{programs.mpi}-dev")
    path = tmp_path / "target"
    told = programs.told("strategies", strategy, "save", path, _BYTES)
    assert told["raw_bytes"] == _RANKS * _BYTES
    assert sum(told[f"{phase}_s"] for phase in ("open", "write", "sync", "close")) > 0
    expected = np.concatenate([values_of(rank) for rank in range(_RANKS)])
    np.testing.assert_array_equal(np.concatenate(saved_at(strategy, path)), expected)
    assert programs.told("strategies", strategy, "restore", path, _BYTES)["read_s"] > 0
    damage(tmp_path)
    failed = programs.failed("strategies", strategy, "restore", path, _BYTES)
    assert "what was read is not what was saved" in failed.stderr


def test_one_file_by_extents(programs: Programs, tmp_path: Path) -> None:
    path = tmp_path / "target.h5"
    assert programs.told("ours", "save", path, _BYTES)["raw_bytes"] == _RANKS * _BYTES
    expected = np.concatenate([values_of(rank) for rank in range(_RANKS)])
    np.testing.assert_array_equal(saved_at("ours", path)[0], expected)
    for how in ("restore", "verify"):
        programs.told("ours", how, path, _BYTES)
        programs.told("ours", how, path, 2 * _BYTES, _BYTES, ranks=2)
    programs.told("ours", "async", path, _BYTES)
    np.testing.assert_array_equal(saved_at("ours", path)[0].shape, expected.shape)
    damage(tmp_path)
    assert programs.run("ours", "restore", path, _BYTES).returncode != 0


def test_hints_are_read_back_and_those_in_vain_named(programs: Programs, tmp_path: Path) -> None:
    if programs.mpi != "mpich":
        pytest.skip("these hints are ROMIO's")
    hints = ("romio_cb_write=enable", "striping_factor=4", "no_such_hint=1")
    told = programs.told("strategies", "mpiio-collective", "save", tmp_path / "target", _BYTES, *hints)
    assert "romio_cb_write=enable" in told["hints"]
    assert told["ignored"] == "striping_factor=4, no_such_hint=1"
    assert told["writes_by_rank"] == [1, 0, 0, 0], "the aggregator writes for all"
    told = programs.told("strategies", "mpiio-collective", "save", tmp_path / "target", _BYTES)
    assert told["writes_by_rank"] == [1] * _RANKS, "parts that do not interleave are written by their ranks"


def test_a_strategy_that_is_not_there_is_said(programs: Programs, tmp_path: Path) -> None:
    done = programs.failed("strategies", "by-hand", "save", tmp_path / "target", _BYTES, ranks=1)
    assert "there is no strategy by-hand, but " in done.stderr
