"""`explain` says where the time of a program went, and which settings had an effect. For rules: rules_test.py."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpis import OMPIO, ROMIO, Mpi
from rule_programs import FILES, START
from tracing import MPI_COMPILER, MPI_RUN, THALWEG, compile_c, trace

import thalweg as tw
from thalweg._explain.findings import call_places
from thalweg._explain.verdict import explain
from thalweg._trace.trace_file import load_trace

RANKS = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
    int rank; MPI_Info info; MPI_File file; int const size = 1 << 20; char* data = calloc(1, size);
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Info_create(&info);
    for (int i = 3; i + 1 < count; i += 2) MPI_Info_set(info, words[i], words[i + 1]);
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Offset const at = (MPI_Offset)rank * size;
    if (!strcmp(words[2], "collective")) MPI_File_write_at_all(file, at, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!strcmp(words[2], "independent")) MPI_File_write_at(file, at, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file); MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if MPI_RUN is None:
        pytest.skip("there is no MPICH: `tools/system-packages bench` installs it")
    return compile_c(tmp_path_factory.mktemp("mpi"), RANKS, compiler=MPI_COMPILER)


def of_ranks(tmp_path: Path, program: Path, count: int, *words: str) -> dict[str, Any]:
    traced = trace(tmp_path / "t.root", MPI_RUN, "-n", count, program, tmp_path / "out", *words)
    assert traced.done.returncode == 0, traced.said
    return explain(str(traced.path)).to_dict()


@pytest.mark.parametrize(
    ("words", "state", "why"),
    [
        (("collective", "cb_nodes", "99"), "overruled", "1 is in effect"),
        (("collective", "nonsense", "3"), "inert", "does not know this name"),
        (("collective", "romio_cb_write", "enabel"), "overruled", "automatic is in effect"),
        (("independent", "cb_config_list", "*:1"), "inert", "all 2 writes are independent"),
        (("collective", "cb_config_list", "*:1"), "inert", "ranks 0, 1 wrote, but the aggregators are 0"),
        (("collective", "romio_cb_write", "enable"), "in effect", "reports it"),
        (("collective", "romio_cb_alltoall", "automatic"), "inert", "romio_cb_pfr"),
    ],
)
def test_hints_are_judged_by_what_is_reported_and_by_who_wrote(
    tmp_path: Path, ranks: Path, words: tuple[str, ...], state: str, why: str
) -> None:
    verdict = of_ranks(tmp_path, ranks, 2, *words)
    (judged,) = [each for each in verdict["settings"] if each["kind"] == "hint"]
    assert (judged["name"], judged["state"]) == (words[1], state), judged
    assert why in judged["why"]
    assert ("setting without effect" in [each["rule"] for each in verdict["findings"]]) == (state != "in effect")


@pytest.mark.parametrize(
    ("mpi", "states"),
    [(OMPIO, ("overruled", "inert", "inert")), (ROMIO, ("cannot be told", "cannot be told", "cannot be told"))],
    ids=["OMPIO", "ROMIO"],
)
@pytest.mark.parametrize("number", range(3))
def test_hints_that_a_library_only_gives_back(tmp_path: Path, mpi: Mpi, states: tuple[str, ...], number: int) -> None:
    """OMPIO shows its modules and reads three hints; ROMIO corrects what it was given, and Open MPI 4 does not say."""
    hint = [("cb_nodes", "99"), ("nonsense", "3"), ("romio_cb_write", "enabel")][number]
    mpi.skip_if_missing()
    program = compile_c(tmp_path / "programs", RANKS, compiler=mpi.compiler)
    command = mpi.command(2, program, tmp_path / "out", "collective", *hint)
    traced = trace(tmp_path / "t.root", *command, env=mpi.variables())
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path)).to_dict()
    (judged,) = [each for each in verdict["settings"] if each["kind"] == "hint"]
    assert (judged["name"], judged["state"]) == (hint[0], states[number]), judged
    is_told = "setting without effect" in [each["rule"] for each in verdict["findings"]]
    assert is_told == (states[number] != "cannot be told")


# The last two of three ranks open the file; what they write beside is written by both.
PART = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** words) {
    int rank; MPI_Info info; MPI_File file; MPI_Comm some; int const size = 1 << 20; char* data = calloc(1, size);
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 0 : MPI_UNDEFINED, rank, &some);
    MPI_Info_create(&info);
    for (int i = 2; i + 1 < count; i += 2) MPI_Info_set(info, words[i], words[i + 1]);
    if (rank) {
        MPI_File_open(some, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
        MPI_File_write_at_all(file, (MPI_Offset)rank * size, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_write_at(file, rank * 100, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    MPI_Finalize();
}
"""


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
@pytest.mark.parametrize(
    ("gate", "why"),
    [("enable", "it is the default"), ("automatic", "ranks 1, 2 wrote, but the aggregators are 1:")],
)
def test_aggregators_are_ranks_of_those_that_opened_the_file(tmp_path: Path, gate: str, why: str) -> None:
    program = compile_c(tmp_path / "programs", PART, compiler=MPI_COMPILER)
    verdict = of_ranks(tmp_path, program, 3, "cb_config_list", "*:1", "romio_cb_write", gate)
    judged = {each["name"]: each for each in verdict["settings"] if each["kind"] == "hint"}
    assert judged["cb_config_list"]["state"] == "inert", judged
    assert why in judged["cb_config_list"]["why"]


def test_launchers_are_left_out(tmp_path: Path, ranks: Path) -> None:
    verdict = of_ranks(tmp_path, ranks, 2, "independent")
    assert verdict["hidden_launchers"] >= 2
    assert sorted(each["rank"] for each in verdict["accounts"]) == [0, 1]


def test_time_belongs_to_the_innermost_call(tmp_path: Path) -> None:
    source = r"""
#include <sys/wait.h>
#include <unistd.h>
int main() {
    int ends[2]; char data[1]; pipe(ends);
    if (!fork()) { usleep(300000); write(ends[1], "x", 1); usleep(200000); _exit(0); }
    read(ends[0], data, 1); wait(0); write(1, "done", 4);
}"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source))
    first = explain(str(traced.path)).accounts[0]
    assert 0.25 < first.by_kind["read"] < 5
    assert 0.15 < first.outside_s < first.elapsed_s
    assert first.elapsed_s == pytest.approx(first.outside_s + sum(first.by_kind.values()), rel=0.02)
    script = "import sys, h5py\nwith h5py.File(sys.argv[1], 'w') as file: file['x'] = bytes(50_000_000)"
    traced = trace(tmp_path / "h.root", sys.executable, "-c", script, tmp_path / "x.h5")
    account = max(explain(str(traced.path)).accounts, key=lambda each: each.by_level["hdf5"])
    whole = sum(call["duration"] for call in traced.calls("hdf5") if call["depth"] == 0) * 1e-8
    inner = sum(c["duration"] for c in traced.calls(of="x.h5") if c["depth"] > 0) * 1e-8
    assert account.by_level["hdf5"] == pytest.approx(whole - inner, rel=0.1)


def test_places_of_reads_follow_the_descriptor(tmp_path: Path) -> None:
    code = "os.write(fd, bytes(100)); os.lseek(fd, 10, 0); os.read(fd, 30); os.read(fd, 5); os.pread(fd, 7, 50)"
    code += "; os.read(fd, 1)"
    traced = trace(tmp_path / "t.root", sys.executable, "-c", START + code, tmp_path / "out")
    loaded = load_trace(str(traced.path))
    calls = loaded.posix.where(
        np.array([loaded.files[number] == str(tmp_path / "out") for number in loaded.posix.file])
    )
    assert call_places(calls)[calls.kind == "read"].tolist() == [10, 40, 50, 45]


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([THALWEG, "explain", *map(str, words)], capture_output=True, text=True, check=False)


def test_the_command_says_it_in_sentences_and_as_json(tmp_path: Path) -> None:
    trace(tmp_path / "t.root", sys.executable, "-c", START + FILES["sync storm"][0], tmp_path / "out")
    said = command(tmp_path / "t.root")
    assert said.returncode == 0
    assert "200 syncs for 819 kB, one for every 4.1 kB" in said.stdout
    assert "outside I/O; in calls: sync" in said.stdout
    found = json.loads(command("--json", tmp_path / "t.root").stdout)
    assert found["findings"][0]["rule"] == "sync storm"
    assert found["findings"][0]["calls"] == 200
    assert found["findings"][0]["evidence"] == {"written_bytes": 819_200}


def test_a_trace_that_is_not_whole_is_said_and_fails_the_command(tmp_path: Path) -> None:
    code = "for i in range(300_000): os.lseek(fd, 0, 0)"
    trace(tmp_path / "t.root", sys.executable, "-c", START + code, tmp_path / "out", options=("--ring", 256))
    if sum(explain(str(tmp_path / "t.root")).trace.report["dropped"].values()) == 0:
        pytest.skip("the tracer has kept up")
    said = command(tmp_path / "t.root")
    assert said.returncode == 1
    assert "the trace is incomplete" in said.stdout.splitlines()[0]


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    with tw.create(tmp_path / "other.root", {"x": {"y": tw.int32}}) as out:
        out.producer("x").append(y=[1])
    (tmp_path / "text.root").write_text("text")
    trace(tmp_path / "t.root", "true")
    (tmp_path / "cut.root").write_bytes((tmp_path / "t.root").read_bytes()[:20_000])
    for name, said in [
        ("other", "is not a trace (its tables are x)"),
        ("text", ""),
        ("cut", ""),
        ("missing", "missing.root"),
    ]:
        done = command(tmp_path / f"{name}.root")
        assert done.returncode in (1, 2), name
        assert done.stderr.startswith("thalweg: "), done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
