"""Ranks of MPI write one file: on two machines of two ranks each, which MPICH pretends where it is asked to and which
Open MPI finds, and on one."""

from __future__ import annotations

import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from launchers import Launcher, launcher, open_mpi_on
from runs import rows_by_node

import thalweg as tw

_RANKS = 4
_ROWS = 1000


class Mpi:
    def __init__(self, launcher: Launcher, more: dict[str, str] | None = None) -> None:
        self._launcher = launcher.command
        self._environment = launcher.environment | (more or {})

    def start(self, path: Path, rows: int, *more: str, preload: Path | None = None) -> subprocess.Popen[str]:
        return self.start_program("rank.py", str(path), str(rows), *more, preload=preload)

    def start_program(self, name: str, *words: str, preload: Path | None = None) -> subprocess.Popen[str]:
        program = Path(__file__).with_name(name)
        command = [*self._launcher, "-n", str(_RANKS), sys.executable, str(program), *words]
        environment = os.environ | self._environment
        if preload:
            environment["LD_PRELOAD"] = str(preload)
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)

    def __call__(self, path: Path, *more: str, preload: Path | None = None) -> list[str]:
        """What the ranks said, in their order."""
        return self.said_by(self.start(path, _ROWS, *more, preload=preload))

    def said_by(self, process: subprocess.Popen[str]) -> list[str]:
        try:
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
        assert process.returncode == 0, err
        return sorted(out.splitlines())


@pytest.fixture(scope="module")
def over_mpich() -> Mpi:
    return Mpi(launcher("mpich"), {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"})


@pytest.fixture(params=["mpich", "openmpi"])
def over_mpi_here(request: pytest.FixtureRequest) -> Mpi:
    """Ranks whose process ids are what they say."""
    if request.param == "openmpi":
        return Mpi(launcher("openmpi"))
    mpich: Mpi = request.getfixturevalue("over_mpich")
    return mpich


@pytest.fixture(params=["mpich", "openmpi", "openmpi, two machines"])
def over_mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    if request.param == "mpich":
        mpich: Mpi = request.getfixturevalue("over_mpich")
        return mpich
    if request.param == "openmpi":
        return Mpi(launcher("openmpi"))
    machines = request.getfixturevalue("make_machines")(2)
    return Mpi(open_mpi_on(machines, _RANKS // 2, tmp_path_factory.mktemp("openmpi")))


def test_ranks_write_one_file(over_mpi: Mpi, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert over_mpi(path) == [f"rank {rank} closed" for rank in range(_RANKS)]
    assert rows_by_node(path) == {rank + 1: _ROWS for rank in range(_RANKS)}
    assert tw.verify(path).is_sound
    assert not Path(f"{path}.parts").exists()


@pytest.mark.parametrize("failing", [0, 3])
def test_a_rank_that_throws_is_heard_by_all(over_mpi: Mpi, tmp_path: Path, failing: int) -> None:
    path = tmp_path / "run.h5"
    said = over_mpi(path, str(failing), "append")
    for rank, line in enumerate(said):
        assert "this rank has had enough" in line
        assert (rank == failing) != (f"rank {failing}: ValueError" in line)
    tw.recover(path, all_nodes_are_down=True)
    rows = rows_by_node(path)
    assert rows == {rank + 1: _ROWS if rank != failing else _ROWS // 2 + 50 for rank in range(_RANKS)}


@pytest.mark.parametrize("failing", [0, 3])
def test_a_rank_that_ends_without_a_word_is_heard_by_all(over_mpi: Mpi, tmp_path: Path, failing: int) -> None:
    path = tmp_path / "run.h5"
    said = over_mpi(path, str(failing), "exit")
    for rank, line in enumerate(said):
        assert ("this rank has had enough" in line) == (rank == failing)
        assert (f"rank {failing}: the program ended" in line) == (rank != failing)
    tw.recover(path, all_nodes_are_down=True)
    rows = rows_by_node(path)
    assert [rows[rank + 1] for rank in range(_RANKS) if rank != failing] == [_ROWS] * (_RANKS - 1)


def test_mpi_may_know_of_one_thread_only(over_mpi: Mpi, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert over_mpi(path, "-1", "single") == [f"rank {rank} closed" for rank in range(_RANKS)]
    assert rows_by_node(path) == {rank + 1: _ROWS for rank in range(_RANKS)}


def test_ranks_that_disagree_hear_it_all(over_mpi: Mpi, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    for line in over_mpi(path, "1", "schema"):
        assert "another schema" in line
    assert not path.exists()


def test_ranks_of_other_paths_hear_it_all(over_mpi: Mpi, tmp_path: Path) -> None:
    for line in over_mpi(tmp_path / "run.h5", "1", "path"):
        assert "ranks 0 and 1 do not write the same file" in line
    assert not list(tmp_path.glob("*.h5*"))


def test_an_error_is_of_the_same_kind_with_and_without_mpi(over_mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "exists.h5").write_text("here already")
    (tmp_path / "damaged.h5").write_bytes(b"no run")
    (tmp_path / "damaged.h5.journal").write_bytes(b"no journal" * 100)
    over_mpi.said_by(over_mpi.start_program("mpi_errors.py", str(tmp_path)))
    by_rank = {rank: json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(_RANKS)}
    alone = {name: found["alone"] for name, found in by_rank[0].items() if "alone" in found}
    assert {kind for kind, _ in alone.values()} == {"UsageError", "SystemError", "DataError"}
    for rank, found in by_rank.items():
        for name, (kind, text) in alone.items():
            over_kind, over_text = found[name]["over MPI"]
            assert over_kind == kind, f"rank {rank}, {name}: {over_text}"
            assert text in over_text, f"rank {rank}, {name}"
            assert "cannot be written by all ranks (rank 0: " in over_text, f"rank {rank}, {name}"
        last = _RANKS - 1
        kind, text = found["metadata of the last rank"]["over MPI"]
        assert (kind, f"(rank {last}: " in text, "the metadata 'a' is 7" in text) == ("UsageError", True, True), text
        kind, text = found["schema of the last rank"]["over MPI"]
        assert (kind, text.count("(")) == ("UsageError", 1), text
        assert f"(rank {last} gives another schema than rank 0: " in text
        kind, text = found["a wrong row of the last rank"]["over MPI"]
        assert (kind, "text" in text) == ("UsageError", True), f"rank {rank}: {text}"
        assert (f"(rank {last}: " in text) == (rank != last), text


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 60
    for pid in pids:
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.01)


def appended_by(log: Path) -> int:
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    whole = [int(line) for line in lines if line.endswith("\n")]
    return whole[-1] if whole else 0


@pytest.mark.parametrize("seed", range(2))
def test_a_rank_is_killed_at_any_moment(
    over_mpi_here: Mpi, name: str, tmp_path: Path, seed: int, long_mode: bool
) -> None:
    """MPI kills the others then. The machine lives: what `append` had taken is all there."""
    for turn in range(15 if long_mode else 1):
        chance = random.Random(100 * seed + turn)
        path = tmp_path / f"{turn}-{name}"
        process = over_mpi_here.start(path, 20_000, "-1", "kill")
        pids = [Path(f"{path}.pid{rank}") for rank in range(_RANKS)]
        while not all(pid.exists() and pid.read_text() for pid in pids):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 2.5))
        ranks = [int(pid.read_text()) for pid in pids]
        with suppress(ProcessLookupError):
            os.kill(ranks[chance.randrange(_RANKS)], signal.SIGKILL)
        process.communicate(timeout=120)
        wait_until_gone(ranks)
        appended = [appended_by(Path(f"{path}.log{rank}")) for rank in range(_RANKS)]
        if Path(f"{path}.parts").exists() or Path(f"{path}.journal").exists():
            with suppress(tw.UsageError):  # nothing was recorded
                tw.recover(path, all_nodes_are_down=True)
        counts = rows_by_node(path) if path.exists() else {}
        for rank, rows in enumerate(appended):
            assert rows <= counts.get(rank + 1, 0) <= rows + 50, f"rank {rank} of {counts}, {appended}"
        if path.exists():
            assert tw.verify(path).is_sound
    print(f"{turn + 1} deaths")


def test_ranks_that_were_killed_go_on(over_mpi_here: Mpi, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    process = over_mpi_here.start(path, 20_000, "-1", "kill")
    logs = [Path(f"{path}.log{rank}") for rank in range(_RANKS)]
    end = time.monotonic() + 60
    while not all(appended_by(log) > 100 for log in logs) and time.monotonic() < end:
        time.sleep(0.01)
    ranks = [int(Path(f"{path}.pid{rank}").read_text()) for rank in range(_RANKS)]
    os.kill(ranks[1], signal.SIGKILL)
    process.communicate(timeout=120)
    wait_until_gone(ranks)
    appended = [appended_by(log) for log in logs]
    assert over_mpi_here(path, "-1", "resume") == [f"rank {rank} closed" for rank in range(_RANKS)]
    counts = rows_by_node(path)
    for rank, rows in enumerate(appended):
        assert rows <= counts[rank + 1] <= rows + 50
        assert counts[rank + 101] == _ROWS
    assert tw.verify(path).is_sound


_COUNTER = """
.bss
.globl calls_of_mpi
.align 8
calls_of_mpi: .skip 8
.type calls_of_mpi, @object
.size calls_of_mpi, 8
.text
.macro count name
.globl MPI_\\name
.type MPI_\\name, @function
MPI_\\name:
    movq calls_of_mpi@GOTPCREL(%rip), %r11
    lock incq (%r11)
    jmp PMPI_\\name@PLT
.endm
"""


def test_no_write_calls_mpi(over_mpich: Mpi, tmp_path: Path) -> None:
    """All functions of MPI are counted, by wrappers around those that MPI has beside them for that."""
    if platform.machine() != "x86_64" or shutil.which("cc") is None or shutil.which("nm") is None:
        pytest.skip("the wrappers are made by cc, for x86-64")
    library = next(Path(sys.prefix).glob("lib/**/libmpi.so.12"))
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    known = {line.split()[-1] for line in listed.splitlines()}
    names = sorted(name[4:] for name in known if name.startswith("MPI_") and f"P{name}" in known)
    assert len(names) > 300
    source, counter = tmp_path / "count.S", tmp_path / "count.so"
    source.write_text(_COUNTER + "".join(f"count {name}\n" for name in names))
    subprocess.run(["cc", "-shared", "-o", counter, source, library, f"-Wl,-rpath,{library.parent}"], check=True)
    said = [line for line in over_mpich(tmp_path / "run.h5", "-1", "count", preload=counter) if "called" in line]
    assert len(said) == _RANKS
    for line in said:
        calls, before = int(line.split()[4]), int(line.split()[7])
        assert (calls, before > 5) == (0, True), line
