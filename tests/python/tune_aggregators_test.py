"""`thalweg tune` says how many aggregators the collective writes of a command need, and tries them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from mpis import MPICH, OMPIO, ROMIO, Mpi
from storage_law import Law
from tracing import compile_c, trace

from thalweg._trace.trace_file import load_trace
from thalweg._tune.aggregators import Part
from thalweg._tune.together import CollectiveCalls, Together, collective_calls, parts_of

THALWEG = str(Path(sys.executable).with_name("thalweg"))
KIB, MIB = 1 << 10, 1 << 20
# Each mode writes four pieces of 64 kB of each rank; the mode says where.
PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
enum { PIECE = 64 << 10, PIECES = 4, ALL = PIECE * PIECES };
int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char* const bytes = malloc(ALL);
    memset(bytes, 'a' + rank, ALL);
    MPI_File file;
    MPI_Status* const none = MPI_STATUS_IGNORE;
    MPI_Comm ours = MPI_COMM_WORLD;
    int const extents[2] = {ranks / 2, 2}, periods[2] = {0, 0};
    if (!strcmp(words[2], "rows")) MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &ours);
    MPI_File_open(ours, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (!strcmp(words[2], "pieces")) {
        MPI_Datatype pieces;
        MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &pieces);
        MPI_Type_commit(&pieces);
        MPI_File_set_view(file, (MPI_Offset)PIECE * rank, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
        MPI_File_write_all(file, bytes, ALL, MPI_BYTE, none);
    } else if (!strcmp(words[2], "views")) {
        MPI_File_set_view(file, (MPI_Offset)ALL * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
        MPI_File_seek(file, ALL * ranks / 4, MPI_SEEK_SET);
        MPI_File_write_all(file, bytes, ALL, MPI_BYTE, none);
        MPI_File_write_at_all(file, 0, bytes, rank == 1 ? 0 : ALL, MPI_BYTE, none);
    } else if (!strcmp(words[2], "in turn") || !strcmp(words[2], "rows")) {
        for (int i = 0; i < 3; ++i)
            MPI_File_write_at_all(file, (MPI_Offset)ALL * (ranks * i + rank), bytes, ALL, MPI_BYTE, none);
    } else if (!strcmp(words[2], "split")) {
        MPI_File_write_at_all_begin(file, (MPI_Offset)ALL * rank, bytes, ALL, MPI_BYTE);
        MPI_File_write_at_all_end(file, bytes, none);
    } else if (!strcmp(words[2], "read back")) {
        MPI_File_write_at(file, (MPI_Offset)ALL * rank, bytes, ALL, MPI_BYTE, none);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_read_at_all(file, (MPI_Offset)ALL * (ranks - 1 - rank), bytes, ALL, MPI_BYTE, none);
        if (bytes[0] != 'a' + ranks - 1 - rank) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Datatype pieces;
        MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &pieces);
        MPI_Type_commit(&pieces);
        MPI_File_set_view(file, (MPI_Offset)PIECE * rank, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
        MPI_File_read_all(file, bytes, ALL, MPI_BYTE, none);
    } else {
        MPI_File_write_at(file, (MPI_Offset)ALL * rank, bytes, ALL, MPI_BYTE, none);
    }
    MPI_File_close(&file);
    MPI_Finalize();
}
"""
ALL = 256 * KIB


def as_tuple(*sizes: int) -> tuple[Part, ...]:
    return tuple(Part(sum(sizes[:i]), size) for i, size in enumerate(sizes))


IN_ORDER = as_tuple(ALL, ALL, ALL, ALL)
PIECES = tuple(Part(rank * 64 * KIB, ALL, 64 * KIB) for rank in range(4))
WITHOUT_RANK_1 = (Part(0, ALL), Part(ALL, 0), Part(2 * ALL, ALL), Part(3 * ALL, ALL))
WRITES = {
    "pieces": {PIECES: 1},
    "views": {IN_ORDER: 1, WITHOUT_RANK_1: 1},
    "in turn": {IN_ORDER: 3},
    "rows": {IN_ORDER: 3},
    "split": {IN_ORDER: 1},
    "alone": {},
}
IN_REVERSE = tuple(Part(rank * ALL, ALL) for rank in (3, 2, 1, 0))


@pytest.mark.parametrize("mpi", [MPICH, OMPIO, ROMIO], ids=str)
def test_what_ranks_have_in_collective_writes(tmp_path: Path, mpi: Mpi) -> None:
    mpi.skip_if_missing()
    program = compile_c(tmp_path / "c", PROGRAM, compiler=mpi.compiler)
    for mode, expected in WRITES.items():
        out = tmp_path / mode.replace(" ", "-")
        traced = trace(
            tmp_path / "t.root", *mpi.command(4, program, out, mode), options=("--force",), env=mpi.variables()
        )
        assert traced.done.returncode == 0, traced.said
        data = out.read_bytes()
        found = collective_calls(load_trace(str(traced.path)), tmp_path)
        assert {each.parts: each.times for each in found.kinds} == expected, mode
        assert found.left_out == []
        assert all((each.file, each.kind) == (out.name, "write") for each in found.kinds)
        assert {each.dims for each in found.kinds} <= {(2, 2) if mode == "rows" else ()}
        # The parts are where the bytes of the ranks are.
        for each in found.kinds:
            first = len(data) - ALL * 4 if mode == "views" and each.parts == IN_ORDER else 0
            for rank, part in enumerate(each.parts):
                assert data[first + part.offset : first + part.offset + part.first] == bytes([97 + rank]) * part.first


@pytest.mark.parametrize("mpi", [MPICH, OMPIO, ROMIO], ids=str)
def test_what_ranks_have_in_collective_reads(tmp_path: Path, mpi: Mpi) -> None:
    mpi.skip_if_missing()
    program = compile_c(tmp_path / "c", PROGRAM, compiler=mpi.compiler)
    command = mpi.command(4, program, tmp_path / "out", "read back")
    traced = trace(tmp_path / "t.root", *command, env=mpi.variables())
    assert traced.done.returncode == 0, traced.said
    found = collective_calls(load_trace(str(traced.path)), tmp_path)
    assert {each.parts for each in found.kinds} == {IN_REVERSE, PIECES}
    assert all((each.kind, each.times) == ("read", 1) for each in found.kinds)


def test_parts_of_ranks() -> None:
    assert parts_of([100, 300, 200], [100, 100, 100]) == (Part(0, 100), Part(200, 100), Part(100, 100))
    # The last rank has none behind it: its pieces are as long as the others.
    assert parts_of([0, 10, 20], [100, 100, 100]) == tuple(Part(10 * rank, 100, 10) for rank in range(3))
    assert parts_of([0, 10, 30], [100, 100, 100]) == (Part(0, 100, 10), Part(10, 100, 20), Part(30, 100))
    assert parts_of([-1, 50, -1], [0, 10, 0]) == (Part(0, 0), Part(0, 10), Part(10, 0))
    # All ranks write the same bytes, which programs should not do: nothing alternates.
    assert parts_of([0, 0], [100, 100]) == (Part(0, 100), Part(0, 100))


def test_collective_calls_are_facts_of_the_journal() -> None:
    found = CollectiveCalls([Together("x", PIECES, 2), Together("x", PIECES, 1, "read", (2, 2))], ["y: a reason"])
    assert CollectiveCalls.of_fact(json.loads(json.dumps(found.to_fact()))) == found


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ranks of MPICH that write together, in a folder of their own."""
    MPICH.skip_if_missing()
    program = compile_c(tmp_path / "c", PROGRAM, compiler=shutil.which(MPICH.compiler))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return list(map(str, MPICH.command(4, program, "out.bin")))


def tune(*words: str, code: int = 0, env: dict[str, str] | None = None) -> Any:
    line = [THALWEG, "tune", "--json", *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False, env=env)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


def test_the_numbers_and_their_reasons(command: list[str]) -> None:
    found = tune("--aggregators", "--k", "512KiB", "--", *command, "in turn")
    (write,) = found["writes"]
    assert (write["times"], write["aggregators"], write["groups"]) == (3, 2, [[0, 1], [2, 3]])
    assert found["settings"] == ["cb_nodes=2", "cb_config_list=*:2", "cb_nodes=1", "cb_config_list=*:1"]
    assert Path("out.bin").stat().st_size == 12 * ALL
    Path("out.bin").unlink()
    line = [THALWEG, "tune", "--aggregators", "--k", "700KiB", "--", *command, "in turn"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=True)
    said = done.stdout.splitlines()
    assert said[0] == "aggregators of collective writes: k is 717 kB, as it was given"
    assert said[1].endswith("2 aggregators, since groups of 1 to 3 neighbouring ranks have 262 kB to 786 kB")
    assert said[2] == (
        "  other ways to split groups: 2 aggregators into equal ones, 1 aggregator with 1 MiB that lies together, "
        "1 aggregator with both"
    )
    assert said[3].startswith(
        "  a hint of ROMIO has the number only, and loses the groups: groups have 262,144 to 786,4"
    )
    assert said[4:] == ["as settings: cb_nodes=2, cb_config_list=*:2, cb_nodes=1, cb_config_list=*:1"]


def test_reads_have_numbers_of_their_own(command: list[str]) -> None:
    found = tune("--aggregators", "--k", "512KiB", "--", *command, "read back")
    assert found["writes"] == []
    by_bytes = {(each["bytes"], each["aggregators"]) for each in found["reads"]}
    assert by_bytes == {(4 * ALL, 1), (4 * ALL, 2)}, "in reverse no rank follows the one before it, and all are merged"
    assert set(found["k"]) == {"read"}
    Path("out.bin").unlink()
    line = [THALWEG, "tune", "--aggregators", "--k", "512KiB", "--", *command, "read back"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=True)
    said = done.stdout.splitlines()
    assert said[0] == "aggregators of collective reads: k is 524 kB, as it was given"
    assert any(each.startswith("out.bin: 1 collective read of 1.05 MB by 4 ranks: 2 aggregators") for each in said)


def test_rows_of_a_topology_are_groups(command: list[str]) -> None:
    found = tune("--aggregators", "--k", "600KiB", "--", *command, "rows")
    (write,) = found["writes"]
    assert (write["topology"], write["groups"]) == ([2, 2], [[0, 1, 2, 3]]), "two rows of 512 KiB are merged"
    Path("out.bin").unlink()
    found = tune("--aggregators", "--k", "600KiB", "--", *command, "in turn")
    (write,) = found["writes"]
    assert (write["topology"], write["groups"]) == ([], [[0, 1, 2], [3]]), "1 MiB is split"


def test_a_command_whose_ranks_do_not_write_together_is_refused(command: list[str]) -> None:
    assert "its ranks do not write or read together" in tune("--aggregators", "--", *command, "alone", code=2)
    assert "its ranks do not write or read together" in tune(
        "--aggregators", "--", "sh", "-c", "echo x > out.txt", code=2
    )
    assert "--k 0 is not a limit" in tune("--aggregators", "--k", "0", "--", *command, "alone", code=2)
    assert "--aggregators tries nothing" in tune("--aggregators", "--try", "cb_nodes=1", "--", *command, code=2)


def test_the_screen_tries_the_number_that_is_computed(command: list[str]) -> None:
    among = ["--only", "cb_config_list", "--always", "--screen"]
    found = tune(*among, "--k", "400KiB", "--", *command, "pieces")
    # Two ranks of four have k; three values are tried of any command.
    assert found["aggregators"]["settings"][:2] == ["cb_nodes=2", "cb_config_list=*:2"]
    Path("out.bin").unlink()
    of_six = ["6" if word == "4" else word for word in command]
    found = tune(*among, "--k", "512KiB", "--", *of_six, "pieces")
    numbers = {each["aggregators"] for each in found["aggregators"]["writes"]}
    assert numbers == {3}
    tried = [*found["screen"]["inert"], *(name for each in found["screen"]["effects"] for name in each["settings"])]
    assert sorted(tried) == ["cb_config_list=*:1", "cb_config_list=*:2", "cb_config_list=*:3", "cb_config_list=*:4"]
    (three,) = [each for each in found["screen"]["effects"] if "cb_config_list=*:3" in each["settings"]]
    assert "written by rank 0 → rank 0, rank 1, rank 2" in three["io"][0]
    Path("out.bin").unlink()
    # Settings that have nothing to do with aggregators need no k.
    assert tune("--only", "romio_ds_write", "--always", "--screen", "--", *command, "pieces")["aggregators"] is None


@pytest.mark.alone
def test_k_is_measured_where_the_file_is_and_not_measured_again(command: list[str], tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="thalweg-law-", dir="/dev/shm") as place:
        check_k(command, Path(place), tmp_path)


def check_k(command: list[str], place: Path, tmp_path: Path) -> None:
    os.chdir(place)
    folder = place / "data"
    folder.mkdir()
    law = Law(folder, tmp_path / "law", stripe=1 << 40, latency_us=10_000, bandwidth=20_000_000)
    command = [word.replace("out.bin", "data/out.bin") for word in command]
    line = [THALWEG, "tune", "--aggregators", "--", *command, "in turn"]
    process = subprocess.Popen(line, env=law.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not any('"what": "k"' in path.read_text() for path in journals()):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    was_killed = process.returncode == -signal.SIGKILL
    transfers = law.counts().transfers
    if not was_killed:  # it was done before
        (folder / "out.bin").unlink()
    found = tune(*(["--resume"] if was_killed else line[2:]), env=law.environment)
    assert found["k"]["write"]["bytes"] == pytest.approx(9 * 10e-3 * 20e6, rel=0.25), found
    assert f"in {folder})" in found["k"]["write"]["how"]
    assert not was_killed or law.counts().transfers == transfers
    assert [path.name for path in folder.iterdir()] == ["out.bin"]


def journals() -> list[Path]:
    return list(Path().glob(".thalweg-tune-*/journal"))


def test_k_that_cannot_be_measured_is_said_and_the_screen_goes_on(command: list[str], tmp_path: Path) -> None:
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    mount = f"mount -t tmpfs -o size=24m none {Path.cwd()} && cd {Path.cwd()} && mkdir data"
    if subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount here")
    command = [word.replace("out.bin", "data/out.bin") for word in command]
    # Larger writes would show a plateau, and have no room.
    law = Law(Path("data"), tmp_path / "law", stripe=1 << 40, latency_us=10_000, bandwidth=1_000_000_000)

    def on_disk(*words: str) -> subprocess.CompletedProcess[str]:
        line = [*unshare, "sh", "-c", f'{mount} && exec "$0" "$@"', THALWEG, "tune", "--json", *words, "--", *command]
        return subprocess.run(
            [*line, "pieces"], env=law.environment, capture_output=True, text=True, timeout=600, check=False
        )

    done = on_disk("--aggregators")
    assert done.returncode == 1, done.stderr
    how = json.loads(done.stdout)["k"]["write"]["how"]
    assert how.startswith("k is not known: the bandwidth of")
    assert "are more than a quarter of the free space of" in how
    assert how.endswith("give k with --k")
    done = on_disk("--screen", "--always", "--only", "cb_config_list")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["aggregators"]["settings"] == []
    assert found["screen"]["effects"]
