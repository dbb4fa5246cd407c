"""`thalweg tune --try`: what a setting changes, that the data stay the same, and what is refused."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from mpis import MPICH, OMPIO
from tracing import compile_c

from thalweg._trace.records import library_path
from thalweg._tune.settings import SETTINGS

THALWEG = str(Path(sys.executable).with_name("thalweg"))
# 500 kB of rows, of which each is written alone: HDF5 gathers neighbours in its sieve buffer.
SERIAL = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    rows = file.create_dataset("x", (250, 1000), "f4")
    for i in range(250):
        rows[i, :500] = np.arange(500) + i
"""
# Chunks are filled column by column, so that all chunks of a row of them are open at a time.
CHUNKED = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    values = file.create_dataset("x", (64, 16384), "f4", chunks=(64, 1024))
    for i in range(64):
        values[i, :] = np.arange(16384)
"""
OWN_LIST = """
import h5py
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
access.set_sieve_buf_size(12345)
h5py.h5f.create(b"out.h5", h5py.h5f.ACC_TRUNC, h5py.h5p.DEFAULT, access).close()
assert access.get_sieve_buf_size() == 12345
"""
VARIABLE = "file_locking=BEST_EFFORT"  # a setting that any program can see
IF_TRIED = 'if [ "$HDF5_USE_FILE_LOCKING" = BEST_EFFORT ]; then {}; fi; echo x > out.txt'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)


def tune(*words: object, code: int = 0, pairs: int = 0) -> dict[str, Any]:
    line = [THALWEG, "tune", "--json", "--pairs", str(pairs), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


def refusal(*words: object, code: int = 2) -> str:
    done = subprocess.run([THALWEG, "tune", *map(str, words)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    return done.stderr


def python(program: str) -> list[str]:
    return ["--", sys.executable, "-c", program]


def shell(program: str) -> list[str]:
    return ["--", "sh", "-c", program]


def calls_by_strace(program: str, *names: str) -> int:
    """Counts the calls of the output, as the kernel sees them."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    log = Path("strace.log")
    words = ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={','.join(names)}", sys.executable, "-c", program]
    subprocess.run(words, check=True)
    calls = [line for line in log.read_text().splitlines() if "/out.h5>" in line]
    for left in (log, Path("out.h5")):
        left.unlink()
    return len(calls)


def test_what_changes_in_the_io_is_what_strace_counts() -> None:
    # h5py has no argument for it, so that this program sets it in a list of its own.
    with_property = """
import h5py, numpy as np
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
access.set_libver_bounds(h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_LATEST)
access.set_sieve_buf_size(4 << 20)
with h5py.File(h5py.h5f.create(b"out.h5", h5py.h5f.ACC_TRUNC, h5py.h5p.DEFAULT, access)) as file:
    rows = file.create_dataset("x", (250, 1000), "f4")
    for i in range(250):
        rows[i, :500] = np.arange(500) + i
"""
    writes = [calls_by_strace(program, "write", "pwrite64", "pwritev") for program in (SERIAL, with_property)]
    assert writes[0] > 4 * writes[1]
    verdict = tune("--try", "sieve_buf_size=4MiB", *python(SERIAL))
    (line,) = verdict["io"]
    assert f"writes {writes[0]:,} → {writes[1]:,}" in line
    assert line.startswith("out.h5: ")
    assert verdict["is_io_steady"]
    assert not verdict["is_inert"]
    assert verdict["data"] == []
    assert verdict["are_values_compared"]
    assert os.listdir() == ["out.h5"]  # as if the program had run once
    with h5py.File("out.h5") as file:
        assert (file["x"][:, :500] == np.arange(500) + np.arange(250)[:, None]).all()


def test_a_setting_without_effect_is_inert() -> None:
    verdict = tune("--try", "file_chunk_cache=64MiB", *python(SERIAL))  # a dataset without chunks
    assert verdict["is_inert"]
    assert verdict["data"] == []


def test_the_chunk_cache_of_a_dataset() -> None:
    verdict = tune("--try", "chunk_cache=1MiB", *python(CHUNKED))
    (line,) = verdict["io"]
    found = re.search(r"writes ([\d,]+) → ([\d,]+)", line)
    assert found
    assert int(found[2].replace(",", "")) > 5 * int(found[1].replace(",", ""))
    assert verdict["data"] == []


def test_the_programs_own_list_is_put_back() -> None:
    assert tune("--try", "sieve_buf_size=4MiB", *python(OWN_LIST))["failed"] == ""


def test_what_changes_the_file_is_asked_for() -> None:
    assert "--may-change-file" in refusal("--try", "alignment=1MiB", *python(SERIAL))
    verdict = tune("--may-change-file", "--try", "alignment=64KiB", *python(SERIAL))
    assert any("size" in line for line in verdict["io"])
    assert verdict["data"] == []


def test_a_setting_that_the_library_refuses() -> None:
    verdict = tune("--try", "page_buffer_size=1MiB", *python(SERIAL), code=1)  # the file has no pages
    assert "exit code is 1" in verdict["failed"]
    assert os.listdir() == ["out.h5"]


def test_a_setting_that_never_ends() -> None:
    verdict = tune("--limit", "2s", "--try", VARIABLE, *shell(IF_TRIED.format("sleep 31415 & sleep 31415")), code=1)
    assert "had not ended after 2 s" in verdict["failed"]
    running = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if each.exists()]
    assert not [words for words in running if b"31415\0" in words and words.startswith(b"sleep")]


def test_a_setting_with_which_the_command_crashes() -> None:
    verdict = tune("--try", VARIABLE, *shell(IF_TRIED.format("kill -SEGV $$")), code=1)
    assert "SIGSEGV" in verdict["failed"]


def test_no_process_is_left_that_has_left_its_session() -> None:
    program = IF_TRIED.format("setsid sleep 27182 & sleep 27182")
    tune("--limit", "2s", "--try", VARIABLE, *shell(program), code=1)
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if path.read_bytes() == b"sleep\x0027182\0"]


def test_what_the_command_has_said_is_told() -> None:
    said = refusal("--try", VARIABLE, *shell("echo no beam today >&2; exit 3"))
    assert "its exit code is 3: no beam today" in said


def test_a_setting_that_this_hdf5_does_not_have() -> None:
    verdict = tune("--try", "metadata_reads=collective", *python(SERIAL), code=1)  # that is of parallel HDF5
    assert "metadata_reads cannot be set" in verdict["failed"]


def test_a_trace_that_lacks_calls_proves_nothing() -> None:
    verdict = tune("--try", VARIABLE, *shell("env -i sleep 0.5; echo x > out.txt"), code=1)
    assert not verdict["is_inert"]
    assert any("sleep" in line for line in verdict["lacks"])


def test_groups_that_contain_themselves_and_damaged_files() -> None:
    loop = "import h5py\nwith h5py.File('out.h5', 'w') as f: f['g/again'] = f['/']; f['t'] = [1]"
    assert tune("--try", VARIABLE, *python(loop))["data"] == []
    Path("out.h5").unlink()
    cut = "import h5py\nh5py.File('out.h5', 'w')['x'] = range(1000)\nopen('out.h5', 'r+b').truncate(3000)"
    assert "outputs cannot be compared (out.h5, read by h5py: " in refusal("--try", VARIABLE, *python(cut), code=1)


def test_hints_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROMIO_HINTS", "/no/hints")
    assert "names /no/hints, which cannot be read" in refusal("--try", "cb_nodes=1", *shell("true"))


def test_other_data_are_said() -> None:
    verdict = tune("--try", VARIABLE, *shell(IF_TRIED.format("echo y > out.txt; exit 0")), code=1)
    assert verdict["data"] == ["out.txt has other bytes"]
    Path("out.txt").unlink()
    program = SERIAL.replace("+ i", "+ i * (1 + ('HDF5_USE_FILE_LOCKING' in __import__('os').environ))")
    verdict = tune("--try", VARIABLE, *python(program), code=1)
    assert verdict["data"] == ["out.h5/x has other values from row 0 on"]


def test_of_random_data_shapes_are_compared() -> None:
    verdict = tune("--try", VARIABLE, *python(SERIAL.replace("np.arange(500)", "np.random.rand(500)")))
    assert verdict["data"] == []
    assert not verdict["are_values_compared"]


def test_files_that_were_there_stay_as_they_were() -> None:
    Path("old.txt").write_text("precious")
    said = refusal("--try", VARIABLE, *shell("echo new >> old.txt; echo x > out.txt"))
    assert "it changed old.txt, which was there before; it is restored" in said
    assert "--before COMMAND" in said
    assert Path("old.txt").read_text() == "precious"
    verdict = tune("--before", "echo precious > old.txt", "--try", VARIABLE, *shell("echo new >> old.txt"))
    assert verdict["data"] == []
    assert Path("old.txt").read_text() == "precious\nnew\n"


def test_what_restores_files_must_succeed() -> None:
    said = refusal("--before", "echo no copy >&2; exit 3", "--try", VARIABLE, *shell("true"), code=1)
    assert "--before failed (no copy)" in said


def test_a_trial_that_was_killed_is_noticed() -> None:
    Path(".thalweg-tune-1234").mkdir()
    assert "an earlier trial was killed" in refusal("--try", VARIABLE, *shell("true"))


def test_nothing_is_claimed_about_no_output() -> None:
    verdict = tune("--try", VARIABLE, *shell("true"))
    assert not verdict["has_outputs"]
    assert verdict["is_inert"]


@pytest.mark.alone
def test_a_gain_is_shown_with_its_interval() -> None:
    program = 'if [ -z "$HDF5_USE_FILE_LOCKING" ]; then sleep 0.4; fi; sleep 0.1'
    gain = tune("--try", VARIABLE, *shell(program), pairs=5)["gain"]
    assert gain["is_shown"]
    assert 1 < gain["low"] < gain["ratio"] < gain["high"]
    assert gain["pairs"] == 5


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--try", "sieve_buf_siz=1MiB", "--", "true"], ["no setting 'sieve_buf_siz'", "'sieve_buf_size'"]),
        (["--try", "sieve_buf_size", "--", "true"], ["it has no '='", "NAME=VALUE"]),
        (["--try", "cb_nodes=0", "--", "true"], ["cb_nodes cannot be tried", "number of aggregators"]),
        (["--try", "romio_cb_write=yes", "--", "true"], ["not one of enable, disable"]),
        (["--try", "cb_nodes=1", "--try", "cb_nodes=2", "--", "true"], ["given twice"]),
        (["--try", VARIABLE], ["there is no command"]),
        (["--try", VARIABLE, "--pairs", "7", "--", "true"], ["cannot be 7", "5, 10, 20, 40"]),
        (["--try", VARIABLE, "--", "false"], ["fails without the setting", "exit code is 1"]),
        (["--try", VARIABLE, "--", "/no/program"], ["fails without the setting", "/no/program"]),
    ],
)
def test_wrong_requests_are_refused(words: list[str], parts: list[str]) -> None:
    said = refusal(*words)
    for part in parts:
        assert part in said
    assert os.listdir() == []


WRITES_PIECES = r"""
#include <mpi.h>
int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_Datatype pieces;
    MPI_Type_vector(64, 256, 256 * ranks, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File_set_view(file, 256 * rank, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    static char bytes[64 * 256];
    for (int i = 0; i < (int)sizeof bytes; ++i) bytes[i] = (char)(rank + i);
    MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
}
"""


OWN_HINTS = WRITES_PIECES.replace(
    'MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);',
    """MPI_Info own;
    MPI_Info_create(&own);
    MPI_Info_set(own, "romio_cb_write", "enable");
    MPI_Info_set(own, "cb_nodes", "2");
    MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, own, &file);
    char value[64] = "";
    int count_of_keys = 0, is_set = 0;
    MPI_Info_get_nkeys(own, &count_of_keys);
    MPI_Info_get(own, "romio_cb_write", 63, value, &is_set);
    if (count_of_keys != 2 || !is_set || value[0] != 'e' || value[2] != 'a') MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Info_free(&own);""",
)


def test_a_hint_that_the_program_passes_itself_is_changed_there(tmp_path: Path) -> None:
    MPICH.skip_if_missing()
    program = compile_c(tmp_path / "c", OWN_HINTS, compiler=shutil.which(MPICH.compiler))
    words = ["--", *map(str, MPICH.command(4, program))]
    verdict = tune("--try", "romio_cb_write=disable", *words, pairs=5)  # also where nothing is traced
    assert any("rank 0, rank 1, rank 2, rank 3" in line for line in verdict["io"]), verdict
    assert verdict["data"] == []
    assert verdict["failed"] == ""


def test_a_hint_that_cannot_be_changed_passes_for_no_inert_one(tmp_path: Path) -> None:
    MPICH.skip_if_missing()
    program = compile_c(tmp_path / "c", OWN_HINTS, compiler=shutil.which(MPICH.compiler))
    longer_than_any_key = "k" * 300
    environment = os.environ | {"LD_PRELOAD": str(library_path()), "THALWEG_TRIED_HINTS": f"{longer_than_any_key}=1"}
    words = list(map(str, MPICH.command(1, program)))
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"{longer_than_any_key}=1 cannot be set: this MPI" in done.stdout + done.stderr


def test_a_number_of_aggregators_that_the_program_passes_to_open_mpi_is_changed_there(tmp_path: Path) -> None:
    OMPIO.skip_if_missing()
    program = compile_c(tmp_path / "c", OWN_HINTS, compiler=shutil.which(OMPIO.compiler))
    words = ["--", "env", *(f"{name}={value}" for name, value in OMPIO.environment.items())]
    verdict = tune("--try", "io_ompio_num_aggregators=1", *words, *map(str, OMPIO.command(4, program)))
    assert any("written by rank 0, rank 2 → rank 0" in line for line in verdict["io"]), verdict
    assert verdict["data"] == []


def test_hints_reach_mpi_and_say_who_writes(tmp_path: Path) -> None:
    MPICH.skip_if_missing()
    program = compile_c(tmp_path / "c", WRITES_PIECES, compiler=shutil.which(MPICH.compiler))
    words = ["--", *map(str, MPICH.command(4, program))]
    verdict = tune("--try", "romio_cb_write=disable", *words)
    assert any("locks" in line and "rank 0, rank 1, rank 2, rank 3" in line for line in verdict["io"]), verdict
    assert verdict["data"] == []
    expected = np.concatenate([(rank + np.arange(64 * 256)).astype("u1").reshape(64, 1, 256) for rank in range(4)], 1)
    assert Path("out.bin").read_bytes() == expected.tobytes()


def test_knobs_of_thalweg_reach_a_program_that_leaves_them_open(tmp_path: Path) -> None:
    program = f"""
import thalweg as tw
with tw.create({str(tmp_path / "run.h5")!r}, dict(ch0=dict(x="uint16")), force=True) as out:
    print(out.knobs["extent_bytes"], out.knobs["queue_depth"], file=open("knobs.txt", "w"))
"""
    verdict = tune("--try", "extent_bytes=64KiB", "--try", "queue_depth=16", *python(program), code=1)
    assert verdict["data"] == ["knobs.txt has other bytes"]
    assert Path("knobs.txt").read_text().split() == [str(2 << 20), "4"]  # as it is without them


def test_what_thalweg_notes_of_a_run_is_no_data() -> None:
    program = "import thalweg as tw\ntw.create('run.h5', dict(ch0=dict(x='uint16'))).close()"
    assert tune("--try", "extent_bytes=64KiB", *python(program))["data"] == []  # which the file has as text


def screen(*words: object) -> dict[str, Any]:
    line = [THALWEG, "tune", "--json", "--screen", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)["screen"])


def test_a_screen_says_which_settings_do_anything() -> None:
    found = screen("--always", *python(SERIAL))
    assert found["is_io_steady"]
    assert 0 < found["share_of_time"] < 1
    effects = {name: each for each in found["effects"] for name in each["settings"]}
    assert {"sieve_buf_size=4KiB", "sieve_buf_size=4MiB"} <= set(effects)
    assert effects["sieve_buf_size=4KiB"] != effects["sieve_buf_size=4MiB"]
    assert {"file_chunk_cache=16MiB", "chunk_cache=64MiB"} <= set(found["inert"])  # there are no chunks
    assert "page_buffer_size=4MiB" in found["failed"]  # there are no pages
    assert not any(name.startswith(("cb_", "romio", "io_ompio", "alignment")) for name in [*effects, *found["inert"]])
    assert all(each["data"] == [] for each in found["effects"])
    assert os.listdir() == ["out.h5"]


def test_where_io_takes_no_time_nothing_is_tried() -> None:
    found = screen(*shell("echo x > out.txt; sleep 1"))
    assert 0 < found["share_of_time"] < 0.05
    assert not found["is_tried"]
    assert found["effects"] == found["inert"] == []


def test_every_setting_has_a_name_of_its_own() -> None:
    counts = collections.Counter(each.name for each in SETTINGS)
    assert max(counts.values()) == 1
