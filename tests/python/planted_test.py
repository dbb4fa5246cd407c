"""Programs with one fault each, as users write them: it is named first. Programs without a fault: nothing is named.

`make planted` runs all of them, with both MPIs; short runs leave out those in LONG, and take one MPI.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import planted_programs
import planted_ranks
import pytest
from mpis import MPIS, OPEN_MPI_ALONE
from planted_programs import Program
from planted_ranks import Ranks
from tracing import compile_c, trace

from thalweg._explain.findings import Finding
from thalweg._explain.verdict import explain

SYSTEM_PYTHON = "/usr/bin/python3"


LONG = {
    *("PyTables: row by row", "Fortran: opened for each record", "Fortran: rewound again and again"),
    *("Java: a sync after each record", "Java: records here and there", "netCDF: number by number"),
    *("zarr: a file for each value", "HDF5 in pieces", "Fortran: lines of text", "Java: a channel"),
    *("all ranks read one table by a stream", "one rank writes for all by a stream", "the shared file pointer"),
    *("a file for each rank and step", "opened by all ranks for each step", "atomic mode", "a sync after each step"),
    *("a chunk compressed by all ranks", "a collective write that converts", "mpi4py: gathered and saved"),
    *("rows of HDF5, each alone", "each rank reads its part", "the same small input for all", "a log by one rank"),
    *("HDF5, chunks, collective", "HDF5, parts of each rank", "h5py: parts of each rank"),
    *("mpi4py: a file for each rank", "large pieces of each rank"),
}
"""The programs that short runs leave out: others of the same kind stay."""
MISSED: dict[str, str] = {}
"""The faults that are not named first, and what is named in their place."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_long = bool(metafunc.config.getoption("--long"))
    serial = {name: program for name, program in _of(metafunc, planted_programs).items() if is_long or name not in LONG}
    over_mpi = {
        (name, mpi): program
        for name, program in _of(metafunc, planted_ranks).items()
        for mpi in program.mpis[: None if is_long else 1]
        if is_long or name not in LONG
    }
    if "serial" in metafunc.fixturenames:
        metafunc.parametrize("serial", serial.values(), ids=serial.keys())
    elif "ranks" in metafunc.fixturenames:
        names = [f"{name}, {mpi}" for name, mpi in over_mpi]
        metafunc.parametrize(("ranks", "mpi"), [(each, mpi) for (_, mpi), each in over_mpi.items()], ids=names)


def _of(metafunc: pytest.Metafunc, module: Any) -> dict[str, Any]:
    found: dict[str, Any] = module.HEALTHY if "without" in metafunc.function.__name__ else module.PLANTED
    return found


def command_of(folder: Path, program: Program) -> list[object]:
    """Returns the command of a serial program, without its argument."""
    if program.language == "Python":
        return [sys.executable, "-c", program.source]
    if program.language == "C":
        return [compile_c(folder / "programs", program.source)]
    if program.language == "Fortran":
        return [compiled(folder, "gfortran", "program.f90", program.source)]
    compiled(folder, "javac", "Program.java", program.source)
    return ["java", "-Xshare:auto", "-cp", folder, "Program"]


def compiled(folder: Path, compiler: str, name: str, source: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (folder / name).write_text(source)
    out = folder / "program"
    words = [compiler, folder / name] if compiler == "javac" else [compiler, "-O1", "-o", out, folder / name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def found_in(folder: Path, *command: object, **more: Any) -> list[Finding]:
    traced = trace(folder / "t.root", *command, **more)
    assert traced.done.returncode == 0, traced.said
    return [each for each in explain(str(traced.path)).findings if not each.part_of]


def of_program(folder: Path, program: Program) -> list[Finding]:
    return found_in(folder, *command_of(folder, program), folder / "out")


def of_ranks(folder: Path, program: Ranks, name: str) -> list[Finding]:
    mpi = next(each for each in (*MPIS, OPEN_MPI_ALONE) if each.name == name)
    if not all(map(shutil.which, (mpi.compiler, mpi.launcher[0]))):
        pytest.skip(f"there is no {name}")
    started: list[object]
    if program.language == "Python":
        asks = "from mpi4py import MPI; import h5py; assert h5py.get_config().mpi"
        words = [*mpi.launcher, "-n", "1", SYSTEM_PYTHON, "-c", asks]
        if subprocess.run(words, env=mpi.variables(), check=False, capture_output=True).returncode:
            pytest.skip("there is no h5py over MPI: Debian's python3-h5py-mpi has it")
        started = [SYSTEM_PYTHON, "-c", program.source]
    else:
        flags = mpi.flags_of_hdf5() if program.language == "HDF5" else ()
        started = [compile_c(folder / "programs", program.source, *flags, compiler=mpi.compiler)]
    command = mpi.command(program.ranks, *started, folder / "out", *program.hints)
    return found_in(folder, *command, env=mpi.variables())


def check_first(name: str, found: list[Finding], rules: tuple[str, ...]) -> None:
    first = found[0].rule if found else "nothing"
    assert first == MISSED[name] if name in MISSED else first in rules, found


def check_nothing(found: list[Finding]) -> None:
    # A file that was never synced is not slow: this finding says what was measured.
    assert [each.sentence for each in found if each.rule != "no sync"] == []


def test_a_fault_is_named_first(tmp_path: Path, serial: Program, request: pytest.FixtureRequest) -> None:
    check_first(request.node.callspec.id, of_program(tmp_path, serial), serial.rules)


def test_nothing_is_named_without_a_fault(tmp_path: Path, serial: Program) -> None:
    check_nothing(of_program(tmp_path, serial))


def test_a_fault_of_ranks_is_named_first(
    tmp_path: Path, ranks: Ranks, mpi: str, request: pytest.FixtureRequest
) -> None:
    check_first(request.node.callspec.id, of_ranks(tmp_path, ranks, mpi), ranks.rules)


def test_nothing_is_named_in_ranks_without_a_fault(tmp_path: Path, ranks: Ranks, mpi: str) -> None:
    check_nothing(of_ranks(tmp_path, ranks, mpi))


def test_enough_programs_are_tried_and_named_first() -> None:
    faults = len(planted_programs.PLANTED) + len(planted_ranks.PLANTED)
    assert faults >= 30
    assert faults - len(MISSED) >= 0.9 * faults
    assert len(planted_programs.HEALTHY) + len(planted_ranks.HEALTHY) >= 30
