"""Ranks of MPI save one file, and other numbers of them restore it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launchers import launcher

_ROWS = 3000


Run = Callable[[int, Path, str], list[str]]


@pytest.fixture(params=["mpich", "openmpi"])
def over_mpi(request: pytest.FixtureRequest) -> Run:
    """Returns what the ranks said, in their order."""
    mpi = launcher(request.param)
    program = Path(__file__).with_name("checkpoint_mpi_rank.py")

    def run(ranks: int, path: Path, what: str) -> list[str]:
        words = [*mpi.command, "-n", str(ranks), sys.executable, str(program), str(path), what, str(_ROWS)]
        environment = os.environ | mpi.environment
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return run


def test_ranks_of_mpi_save_and_others_restore(over_mpi: Run, tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    size_bytes = _ROWS * 50 * 16
    assert over_mpi(3, path, "save") == [f"rank {rank} saved {size_bytes}" for rank in range(3)]
    assert sorted(each.name for each in tmp_path.iterdir()) == [".psi.h5.saved", "psi.h5", "psi.h5.1"]
    for ranks in (2, 4):
        assert over_mpi(ranks, path, "restore") == [f"rank {rank} reads True of step 2" for rank in range(ranks)]
    assert over_mpi(2, Path(f"{path}.1"), "restore") == [f"rank {rank} reads True of step 1" for rank in range(2)]


_PROGRAM = """
#include <thalweg/ranks/mpi_communicator.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    { thalweg::ranks::MpiCommunicator const comm(MPI_COMM_WORLD); }
    MPI_Finalize();
}
"""


@pytest.mark.parametrize(
    ("compiler", "option"), [("mpicc.openmpi", "--showme:compile"), ("mpicc.mpich", "-compile_info")]
)
def test_a_program_needs_nothing_of_mpi_but_its_c_library(
    compiler: str, option: str, repository: Path, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None or shutil.which("g++") is None:
        pytest.skip(f"{compiler} or g++ is not installed")
    words = subprocess.run([compiler, option], capture_output=True, text=True, check=True).stdout.split()
    flags = [word for word in words if word.startswith("-I")]
    source, made = tmp_path / "program.cc", tmp_path / "program.o"
    source.write_text(_PROGRAM)
    subprocess.run(["g++", "-std=c++20", f"-I{repository}", *flags, "-c", source, "-o", made], check=True)
    symbols = subprocess.run(["nm", "-C", made], capture_output=True, text=True, check=True).stdout
    assert "MPI_Comm_size" in symbols
    assert "MPI::" not in symbols
