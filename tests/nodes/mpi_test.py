"""Ranks of MPICH write one file: two machines of two ranks each, as MPICH pretends where it is asked to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import rows_by_node

import thalweg as tw

_RANKS = 4
_ROWS = 1000


def over_mpi(path: Path, *more: str) -> list[str]:
    """What the ranks said, in their order."""
    mpi = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed, or finds no MPI")
    if "MPICH" not in mpi.Get_library_version():
        pytest.skip("MPICH alone can pretend that one machine is two")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("the mpiexec of PyPI's mpich is not installed")
    program = Path(__file__).with_name("rank.py")
    done = subprocess.run(
        [str(mpiexec), "-n", str(_RANKS), sys.executable, str(program), str(path), str(_ROWS), *more],
        env=os.environ | {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert len(lines) == _RANKS, done.stdout + done.stderr
    return lines


def test_ranks_write_one_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert over_mpi(path) == [f"rank {rank} closed" for rank in range(_RANKS)]
    assert rows_by_node(path) == {rank + 1: _ROWS for rank in range(_RANKS)}
    assert tw.verify(path).is_sound
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("failing", [0, 3])
def test_a_rank_that_throws_is_heard_by_all(tmp_path: Path, failing: int) -> None:
    path = tmp_path / "run.h5"
    said = over_mpi(path, str(failing), "append")
    for rank, line in enumerate(said):
        assert "this rank has had enough" in line
        assert (rank == failing) != (f"rank {failing}: ValueError" in line)
    tw.recover(path)
    rows = rows_by_node(path)
    assert rows == {rank + 1: _ROWS if rank != failing else _ROWS // 2 + 50 for rank in range(_RANKS)}


@pytest.mark.parametrize("failing", [0, 3])
def test_a_rank_that_ends_without_a_word_is_heard_by_all(tmp_path: Path, failing: int) -> None:
    path = tmp_path / "run.h5"
    said = over_mpi(path, str(failing), "exit")
    for rank, line in enumerate(said):
        assert ("this rank has had enough" in line) == (rank == failing)
        assert (f"rank {failing}: the program ended" in line) == (rank != failing)
    tw.recover(path)
    rows = rows_by_node(path)
    assert [rows[rank + 1] for rank in range(_RANKS) if rank != failing] == [_ROWS] * (_RANKS - 1)


def test_mpi_may_know_of_one_thread_only(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert over_mpi(path, "-1", "single") == [f"rank {rank} closed" for rank in range(_RANKS)]
    assert rows_by_node(path) == {rank + 1: _ROWS for rank in range(_RANKS)}


def test_ranks_that_disagree_hear_it_all(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    for line in over_mpi(path, "1", "schema"):
        assert "another schema" in line
    assert not path.exists()
