"""A C++ project of its own finds the installed libraries and headers, and builds against them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1200)  # it runs a compiler


def run(*words: object) -> str:
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def installed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = repository / "build" / "default"
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("the C++ libraries are not built: make test")
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", build, "--prefix", prefix, "--component", "cpp")
    return prefix


@pytest.fixture
def build_project(installed: Path, tmp_path: Path) -> Callable[[Path], Path]:
    """Configures and builds a project against the installed tree; returns its build directory."""

    def build(source: Path) -> Path:
        directory = tmp_path / "build"
        run("cmake", "-G", "Ninja", "-S", source, "-B", directory, f"-DCMAKE_PREFIX_PATH={installed}")
        run("cmake", "--build", directory)
        return directory

    return build


# It needs an MPI, which the package does not: tests/docs_test.py compiles it where there is one.
NEEDS_MPI = "thalweg/checkpoint/mpi_communicator.h"


def test_all_installed_headers_compile_and_link(installed: Path, build_project, tmp_path: Path) -> None:
    include = installed / "include"
    headers = sorted(str(header.relative_to(include)) for header in include.rglob("*.h"))
    assert "thalweg/base/error.h" in headers
    headers.remove(NEEDS_MPI)
    project = tmp_path / "headers"
    project.mkdir()
    (project / "main.cc").write_text(
        "".join(f'#include "{header}"\n' for header in headers) + "#include <cstdio>\n"
        "int main() { std::puts(thalweg::base::format_bytes(2.5e9).c_str()); }\n"
    )
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(headers LANGUAGES C CXX)\n"
        "find_package(thalweg 0.1 REQUIRED)\nadd_executable(main main.cc)\n"
        "target_link_libraries(main PRIVATE thalweg::thalweg)\n"
    )
    assert run(build_project(project) / "main") == "2.50 GB\n"


def test_the_program_that_reads_what_nothing_vouches_for_is_installed(installed: Path) -> None:
    assert os.access(installed / "libexec" / "thalweg" / "thalweg-hdf5-reader", os.X_OK)


def test_the_example_writes_a_file_that_h5py_reads(repository: Path, build_project, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("hdf5plugin")  # registers the filters
    program = build_project(repository / "examples" / "cpp") / "two_threads"
    path = tmp_path / "pulses.h5"
    assert run(program, path) == "left: 20000 rows\nright: 20000 rows\n"
    with h5py.File(path) as file:
        for detector in ("left", "right"):
            timestamps, waveforms = file[detector]["timestamp"][:], file[detector]["waveform"][:]
            assert timestamps.tolist() == list(range(0, 20_000_000, 1000))
            assert waveforms.shape == (20_000, 512)
            assert waveforms[:2, 0].tolist() == [100, 101]


def test_a_version_that_is_too_new_is_refused(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(newer LANGUAGES C CXX)\nfind_package(thalweg 99 REQUIRED)\n"
    )
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode != 0
    assert 'compatible with requested version "99"' in result.stderr
