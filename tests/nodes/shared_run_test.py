"""Ranks of a program in C++ write one file: on one machine, and on two, as MPICH pretends where it is asked to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from launchers import OPEN_MPI

import thalweg as tw

_RANKS = 4
_ROWS = 1000

Run = Callable[..., list[str]]


_MACHINES = {"mpich": 1, "mpich, two machines": 2, "openmpi": 1}


@pytest.fixture(params=list(_MACHINES))
def mpi(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machines(mpi: str) -> int:
    return _MACHINES[mpi]


@pytest.fixture
def over_mpi(repository: Path, mpi: str, machines: int) -> Run:
    """Returns what the ranks said, in their order."""
    name = mpi.partition(",")[0]
    if shutil.which(f"mpiexec.{name}") is None or shutil.which(f"mpicxx.{name}") is None:
        pytest.skip(f"Debian's {name} is not installed")
    build = Path(os.environ.get("THALWEG_BUILD", repository / "build" / "default"))
    program = build / "tests" / "nodes" / f"shared_run_{name}"
    if not program.exists():
        pytest.fail(f"{program} is not there: run `make test`")
    launcher = OPEN_MPI if name == "openmpi" else ["mpiexec.mpich"]

    def run(*words: object) -> list[str]:
        environment = os.environ | ({"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"} if machines == 2 else {})
        line = [*launcher, "-n", str(_RANKS), str(program), *map(str, words)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return run


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_ranks_write_one_file(over_mpi: Run, machines: int, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    said = over_mpi(path, _ROWS)
    assert said == [f"rank {rank} closed{' a node' if rank < machines else ''}" for rank in range(_RANKS)]
    assert tw.verify(path).is_sound
    with tw.open(path) as run:
        rows = run["events"].read()
    assert Counter(rows["rank"].tolist()) == dict.fromkeys(range(_RANKS), _ROWS)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("failing", [0, 3])
def test_a_rank_that_disagrees_is_heard_by_all(over_mpi: Run, failing: int, tmp_path: Path) -> None:
    for rank, line in enumerate(over_mpi(tmp_path / "run.h5", _ROWS, failing)):
        assert line.startswith(f"rank {rank} heard: ")
        assert "another schema" in line
        assert "cannot be written by all ranks" in line
