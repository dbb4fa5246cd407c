"""A C++ project of its own finds the installed libraries and headers, and builds against them."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw

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
NEEDS_MPI = "thalweg/ranks/mpi_communicator.h"


def public_headers(installed: Path) -> list[str]:
    include = installed / "include"
    headers = (str(header.relative_to(include)) for header in include.rglob("*.h"))
    return sorted(header for header in headers if not header.startswith("thalweg/internal/"))


def test_every_public_header_compiles_and_links(installed: Path, build_project, tmp_path: Path) -> None:
    headers = public_headers(installed)
    assert "thalweg/thalweg.h" in headers
    assert len(headers) <= 30
    headers.remove(NEEDS_MPI)
    project = tmp_path / "headers"
    project.mkdir()
    (project / "main.cc").write_text(
        "".join(f'#include "{header}"\n' for header in headers) + "#include <cstdio>\n"
        'int main() { std::printf("%s\\n", thalweg::base::UsageError("1").what()); }\n'
    )
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(headers LANGUAGES C CXX)\n"
        "find_package(thalweg 0.1 REQUIRED)\nadd_executable(main main.cc)\n"
        "target_link_libraries(main PRIVATE thalweg::thalweg)\n"
    )
    assert run(build_project(project) / "main") == "1\n"


@pytest.mark.parametrize(
    ("member", "type_", "said"),
    [
        (
            "std::array<Inner, 2>",
            "inner_type()",
            "there are no columns of arrays of structs; use a std::vector of them",
        ),
        ("std::optional<float>", "", "a member is a real number, an enumeration, a std::array of these"),
        ("Inner", "", "for which with() needs a StructType as third argument"),
        ("float", "inner_type()", "the StructType is that of another struct"),
        ("std::array<std::string, 2>", "", "a std::array of these, a std::string, a std::vector of any of these"),
        ("std::complex<float>", "", "a member is a real number"),
    ],
)
def test_a_member_that_cannot_be_stored_is_said_by_the_compiler(
    installed: Path, tmp_path: Path, member: str, type_: str, said: str
) -> None:
    (tmp_path / "main.cc").write_text(
        "#include <thalweg/thalweg.h>\n#include <complex>\n#include <optional>\n"
        "struct Inner { float x; };\n"
        'auto inner_type() { return thalweg::dataset::struct_type<Inner>().with("x", &Inner::x); }\n'
        f"struct Row {{ {member} value; }};\n"
        f'int main() {{ thalweg::dataset::struct_type<Row>().with("value", &Row::value{", " + type_ if type_ else ""})'
        '\n.table("rows"); }\n'
    )
    compiler = shutil.which("c++") or pytest.skip("there is no C++ compiler")
    words = [compiler, "-std=c++20", "-fsyntax-only", tmp_path / "main.cc", *flags_of(installed, "thalweg")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert said in errors[0]
    assert re.search(r"main\.cc:7:\d+:.*required from here", done.stderr), "the line of the member is not named"


def test_the_page_about_cpp_runs_as_it_stands(installed: Path, repository: Path, tmp_path: Path) -> None:
    """Its first CMakeLists.txt, and its commands but the one that installs."""
    page = (repository / "docs/reference/cpp.md").read_text()
    lists = re.findall(r"```cmake\n(.*?)```", page, re.DOTALL)[0]
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)[1:]
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(blocks) == 2
    (tmp_path / "CMakeLists.txt").write_text(lists)
    shutil.copy(repository / "examples/cpp/two_threads.cc", tmp_path)
    run("bash", "-euc", "\n".join([f"cd {tmp_path}", *lines]).replace("$HOME/thalweg", str(installed)))
    linked = run("ldd", tmp_path / "two_threads")
    assert "libthalweg.so" in linked
    assert "not found" not in linked


def test_what_public_headers_do_not_need_is_not_installed(installed: Path) -> None:
    internal = installed / "include" / "thalweg" / "internal" / "thalweg"
    assert (internal / "storage" / "storage.h").exists()
    for header in ("dataset/writer.h", "felix/decoder.h", "codec/transposer.h", "dataset/testing.h"):
        assert not (internal / header).exists(), header


WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_program_without_cmake_compiles_without_warnings(
    installed: Path, repository: Path, tmp_path: Path, compiler: str
) -> None:
    """Its headers are no system headers, whose warnings compilers hide."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source, program = repository / "examples" / "cpp" / "processes.cc", tmp_path / "processes"
    run(compiler, *WARNINGS, source, "-o", program, *flags_of(installed, "thalweg"))
    assert run(program, tmp_path / "events.root") == "events: 30000 rows\n"


def flags_of(installed: Path, package: str) -> list[str]:
    (config,) = installed.rglob(f"{package}.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(config.parent)}
    command = ["pkg-config", "--cflags", "--libs", package]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_thread_sanitizer_finds_nothing_of_ours_in_a_program(
    installed: Path, repository: Path, tmp_path: Path, name: str
) -> None:
    """It watches what the program and the C library do: also memcpy and mutexes that the library uses."""
    probe, program = tmp_path / "probe.cc", tmp_path / "watched"
    probe.write_text("int main() {}\n")
    built = subprocess.run(["g++", "-fsanitize=thread", probe, "-o", program], check=False).returncode
    if built != 0 or subprocess.run([program], check=False).returncode:  # some kernels map memory where it cannot be
        pytest.skip("g++ has no ThreadSanitizer that runs here")
    source = repository / "tests" / "find_package_watched.cc"
    run("g++", "-std=c++20", "-g", "-O1", "-fsanitize=thread", source, "-o", program, *flags_of(installed, "thalweg"))
    assert run(program, tmp_path / name) == "60000 rows\n"


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_older_standard_is_refused_in_one_sentence(installed: Path, tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "main.cc"
    source.write_text("#include <thalweg/thalweg.h>\nint main() {}\n")
    output = tmp_path / "main.o"
    command = [compiler, "-std=c++17", "-c", source, "-o", output, *flags_of(installed, "thalweg")]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert refused.returncode != 0
    assert "Thalweg needs C++20: compile with -std=c++20" in refused.stderr
    assert refused.stderr.count("error:") == 1, refused.stderr


def test_a_program_links_the_shared_library(installed: Path, repository: Path, tmp_path: Path) -> None:
    flags = flags_of(installed, "thalweg-shared")
    (library,) = installed.rglob("libthalweg.so")
    folder = str(library.parent)
    programs = {}
    for name in ("processes", "read"):
        programs[name] = tmp_path / name
        source = repository / "examples" / "cpp" / f"{name}.cc"
        run("g++", *WARNINGS, source, "-o", programs[name], *flags, f"-Wl,-rpath,{folder}")
    assert run(programs["processes"], tmp_path / "events.h5") == "events: 30000 rows\n"
    assert run(programs["read"], tmp_path / "events.h5") == READ
    assert f"{folder}/libthalweg.so" in run("ldd", programs["read"])
    assert programs["read"].stat().st_size < 1_000_000


SHARED = """
cmake_minimum_required(VERSION 3.25)
project(read LANGUAGES CXX)
find_package(thalweg 0.1 REQUIRED{components})
add_executable(read {source})
target_link_libraries(read PRIVATE thalweg::shared)
"""


@pytest.mark.parametrize("components", ["", " COMPONENTS shared"])
def test_the_shared_library_needs_no_library_that_it_stands_on(
    installed: Path, repository: Path, tmp_path: Path, components: str
) -> None:
    """On this machine pkg-config finds nothing, as where no development package of them is installed."""
    (tmp_path / "none").mkdir()
    source = repository / "examples/cpp/read.cc"
    (tmp_path / "CMakeLists.txt").write_text(SHARED.format(components=components, source=source))
    hidden = ("PKG_CONFIG_PATH=", f"PKG_CONFIG_LIBDIR={tmp_path / 'none'}")
    disabled = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("nlohmann_json", "HDF5")]
    words = ["-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}", *disabled]
    said = run("env", *hidden, "cmake", *words)
    told = "thalweg::thalweg needs what is not found: nlohmann_json, liburing, libzstd"
    assert (told in said) is (components == "")
    run("cmake", "--build", tmp_path / "build")
    linked = run("ldd", tmp_path / "build" / "read")
    assert f"{installed}" in linked
    assert "not found" not in linked


def test_the_static_libraries_name_what_they_miss(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(static LANGUAGES C CXX)\n"
        "find_package(thalweg 0.1 REQUIRED COMPONENTS static)\n"
    )
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}"]
    hidden = {**os.environ, "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": str(tmp_path)}
    done = subprocess.run(command, env=hidden, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert "thalweg::thalweg needs what is not found: liburing, libzstd" in " ".join(done.stderr.split())


READ = "30000 events up to number 29999, 675015000 keV\n"


def test_a_program_reads_structs_and_columns(repository: Path, build_project, tmp_path: Path) -> None:
    programs = build_project(repository / "examples" / "cpp")
    for name in ("events.h5", "events.root"):
        run(programs / "processes", tmp_path / name)
        assert run(programs / "read", tmp_path / name) == READ


def test_forked_processes_attach_and_write_one_table(repository: Path, build_project, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("hdf5plugin")
    program = build_project(repository / "examples" / "cpp") / "processes"
    path = tmp_path / "events.h5"
    assert run(program, path) == "events: 30000 rows\n"
    with h5py.File(path) as file:
        assert sorted(file["events"]["number"][:]) == list(range(30_000))


def test_an_event_loop_fills_two_files(repository: Path, build_project, tmp_path: Path) -> None:
    awkward, uproot, h5py = (pytest.importorskip(name) for name in ("awkward", "uproot", "h5py"))
    pytest.importorskip("hdf5plugin")
    program = build_project(repository / "examples" / "cpp") / "event_loop"
    events, selected, momenta = tmp_path / "events.root", tmp_path / "selected.root", tmp_path / "momenta.h5"
    counts = np.arange(20_000) % 4
    muons = awkward.unflatten(np.arange(counts.sum(), dtype=np.float32), counts)
    with (
        tw.create(events, {"Events": {"event": tw.uint64, "Muon_pt": tw.list_(tw.float32)}}) as out,
        out.producer("Events") as producer,
    ):
        producer.append(event=np.arange(20_000, dtype=np.uint64), Muon_pt=muons)
    for workers, threads in [(2, 1), (1, 2), (0, 2)]:
        said = run(program, events, selected, momenta, workers, threads)
        assert said == f"10000 of 20000 events\n{selected}: 10000 rows\n{momenta}: 30000 rows\n"
        rows = uproot.open(selected)["selected"].arrays()
        rows = rows[np.argsort(rows.event)]
        assert rows.event.tolist() == np.flatnonzero(counts >= 2).tolist()
        assert rows.pt.tolist() == muons[counts >= 2].tolist()
        with h5py.File(momenta) as file:
            assert sorted(file["muons/pt"][:]) == sorted(awkward.flatten(muons))


def test_a_project_adds_the_sources_to_its_own(repository: Path, tmp_path: Path, long_mode: bool) -> None:
    """As FetchContent does: no tests are built, and nothing of the project around is changed.

    To compile the library once more takes minutes, so only its lowest folder is compiled, and all of it with --long.
    """
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(around LANGUAGES C CXX)\n"
        "include(FetchContent)\n"
        f"FetchContent_Declare(thalweg SOURCE_DIR {repository})\nFetchContent_MakeAvailable(thalweg)\n"
        f"add_executable(two_threads {repository}/examples/cpp/two_threads.cc)\n"
        "target_link_libraries(two_threads PRIVATE thalweg::thalweg)\n"
        'if(TARGET thalweg_base_test OR CMAKE_CXX_STANDARD)\n  message(FATAL_ERROR "it is not left alone")\nendif()\n'
    )
    build = repository / "build" / "added"  # where what was compiled before is found again
    run("cmake", "--fresh", "-G", "Ninja", "-S", tmp_path, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    run("cmake", "--build", build, "--target", "two_threads" if long_mode else "thalweg_base")
    if long_mode:
        assert run(build / "two_threads", tmp_path / "pulses.h5") == "left: 20000 rows\nright: 20000 rows\n"


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
