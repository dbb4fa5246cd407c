"""Builds quantum-hall against the installed package, as an outside user would, and runs it."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

APP = Path(__file__).parent.parent
REPOSITORY = APP.parent.parent
# Open MPI asks for these where a test suite runs as root, or has fewer cores than ranks.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

Result = dict[str, Any]


def command(*words: object) -> None:
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def is_eigen_there() -> bool:
    look = ["pkg-config", "--exists", "eigen3"]
    return shutil.which(look[0]) is not None and subprocess.run(look, check=False).returncode == 0


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the built programs; QUANTUM_HALL_BUILD names one that is there already."""
    if ready := os.environ.get("QUANTUM_HALL_BUILD"):
        return Path(ready)
    libraries = REPOSITORY / "build" / "default"
    if not (libraries / "cmake_install.cmake").exists():
        pytest.skip("the C++ libraries are not built: make test")
    if not is_eigen_there():
        pytest.skip("Eigen is not installed: libeigen3-dev")
    prefix, directory = tmp_path_factory.mktemp("prefix"), tmp_path_factory.mktemp("quantum_hall")
    command("cmake", "--install", libraries, "--prefix", prefix, "--component", "cpp")
    cache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    # Ten files at once take two thirds of the time, which most of them spend on the same headers.
    together = ["-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=10"]
    command("cmake", "-G", "Ninja", "-S", APP, "-B", directory, f"-DCMAKE_PREFIX_PATH={prefix}", *cache, *together)
    command("cmake", "--build", directory)
    return directory


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def line(build: Path) -> Callable[[int], list[str]]:
    """The words that start the program on so many ranks; 0: the program without MPI."""

    def words(ranks: int) -> list[str]:
        if ranks == 0:
            return [str(build / "quantum-hall")]
        settings = [f"{name}={value}" for name, value in MPI.items()]
        return ["env", *settings, mpiexec(build), "-n", str(ranks), str(build / "quantum-hall-mpi")]

    return words


@pytest.fixture(scope="session")
def start(line: Callable[[int], list[str]]) -> Run:
    """start("dos", "--size", ..., ranks=2): the exit code is not checked."""

    def run(*words: object, ranks: int = 0, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        whole = [*line(ranks), *map(str, words)]
        return subprocess.run(whole, capture_output=True, text=True, timeout=timeout_s, check=False)

    return run


def mpiexec(build: Path) -> str:
    if not (build / "quantum-hall-mpi").exists():
        pytest.skip("quantum-hall-mpi is not built: there is no MPI, such as Debian's mpich")
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("MPIEXEC_EXECUTABLE:"):
            return line.partition("=")[2]
    pytest.fail("CMake found MPI and no mpiexec")


@pytest.fixture(scope="session")
def hall(start: Run) -> Callable[..., Result]:
    """Runs like `start` and expects success. Returns what the program prints."""

    def run(*words: object, ranks: int = 0, timeout_s: float = 300) -> Result:
        result = start(*words, ranks=ranks, timeout_s=timeout_s)
        assert result.returncode == 0, result.stderr
        printed: Result = json.loads(result.stdout)
        return printed

    return run


@pytest.fixture
def slow(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--long", default=False):
        pytest.skip("takes minutes: pytest --long")
