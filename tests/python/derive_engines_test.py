"""Workers of engines do derivations: Dask's local cluster, and mpi4py.futures over ranks of MPI."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from derive_cases import write_input
from launchers import launcher

PROGRAM = Path(__file__).with_name("derive_engine_program.py")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def run(command: list[str], environment: dict[str, str]) -> str:
    path = os.pathsep.join([str(PROGRAM.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **environment, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("dies", ["lives", "dies"])
def test_dasks_local_cluster(inputs: Path, tmp_path: Path, dies: str) -> None:
    """Dask does again what a worker had that died: each range counts once all the same."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("dask's distributed is not installed")
    folder = tmp_path / "out"
    folder.mkdir()
    assert "every event once" in run([sys.executable, str(PROGRAM), "dask", str(inputs), str(folder), dies], {})


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_mpi4py_futures(inputs: Path, tmp_path: Path, mpi: str) -> None:
    over = launcher(mpi)
    folder = tmp_path / "out"
    folder.mkdir()
    words = [sys.executable, "-m", "mpi4py.futures", str(PROGRAM), "mpi", str(inputs), str(folder), "lives"]
    assert "every event once" in run([*over.command, "-n", "3", *words], dict(over.environment))
