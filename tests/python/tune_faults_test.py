"""Settings with which real programs hang or fail, and disks that are full: each is named, nothing is lost, and no
process is left."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import pytest
from mpis import OMPIO
from tracing import compile_c

from thalweg._tune.old_reader import opened_by_old_hdf5
from thalweg._tune.outputs import Outputs

THALWEG = str(Path(sys.executable).with_name("thalweg"))
VARIABLE = "file_locking=BEST_EFFORT"
WRITES_PIECES = r"""
#include <mpi.h>
int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_Datatype pieces; // their places are in the type, so that Open MPI sees that they lie side by side
    int const all = 256 * ranks, mine = 256, begin = 256 * rank;
    MPI_Type_create_subarray(1, &all, &mine, &begin, MPI_ORDER_C, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File_set_view(file, 0, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    static char bytes[64 * 256];
    MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
}
"""
SWMR = """
import h5py
with h5py.File("out.h5", "w", libver=("v110", "v110")) as file:
    rows = file.create_dataset("x", (0,), maxshape=(None,), dtype="i4", chunks=(64,))
    file.swmr_mode = True
    rows.resize((64,))
    rows[:] = 1
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)


def verdict(*words: object, code: int = 1) -> dict[str, Any]:
    line = [THALWEG, "tune", "--json", "--pairs", "0", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


def check_that_none_runs(program: Path) -> None:
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in lines if str(program).encode() in line], "a process of the command is left"


def test_groups_of_open_mpi_that_never_end(tmp_path: Path) -> None:
    OMPIO.skip_if_missing()
    program = compile_c(tmp_path / "c", WRITES_PIECES, compiler=shutil.which(OMPIO.compiler))
    # The pieces of all ranks are one group of more bytes than an aggregator is to have, and none has 1 MiB together.
    variables = OMPIO.environment | {"OMPI_MCA_io_ompio_bytes_per_agg": "1024", "OMPI_MCA_fcoll": "dynamic"}
    command = ["env", *(f"{name}={value}" for name, value in variables.items()), *OMPIO.command(8, program)]
    found = verdict("--limit", "5s", "--try", "io_ompio_grouping_option=3", "--", *command)
    assert "had not ended after 5 s" in found["failed"]
    check_that_none_runs(program)
    assert os.listdir() == ["out.bin"]
    assert Path("out.bin").stat().st_size == 8 * 64 * 256


def test_a_setting_that_only_some_ranks_have(tmp_path: Path) -> None:
    OMPIO.skip_if_missing()
    program = compile_c(tmp_path / "c", WRITES_PIECES, compiler=shutil.which(OMPIO.compiler))
    variables = [f"{name}={value}" for name, value in OMPIO.environment.items()]
    some = ["-n", "2", str(program), ":", "-n", "2", "env", "-u", "OMPI_MCA_io", str(program)]
    launcher = ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none"]
    found = verdict("--limit", "5s", "--try", "io=romio321", "--", "env", *variables, *launcher, *some)
    assert found["failed"], "one half waits in ROMIO, the other one in OMPIO"
    check_that_none_runs(program)
    assert os.listdir() == ["out.bin"]


def test_a_format_in_which_a_file_cannot_be_read_while_it_is_written() -> None:
    found = verdict("--may-change-file", "--try", "libver=earliest", "--", sys.executable, "-c", SWMR)
    assert "its exit code is 1" in found["failed"]
    assert "swmr" in found["failed"]
    assert os.listdir() == ["out.h5"]


def test_whether_an_old_hdf5_opens_a_file_in_another_format_is_said() -> None:
    if shutil.which("h5dump") is None or "1.10." not in subprocess.check_output(["h5dump", "--version"], text=True):
        pytest.skip("there is no h5dump of HDF5 1.10")
    program = "import h5py\nwith h5py.File('out.h5', 'w') as file: file['x'] = range(1000)"
    found = verdict("--may-change-file", "--try", "libver=v110", "--", sys.executable, "-c", program, code=0)
    (said,) = found["opened"]
    assert re.fullmatch(r"HDF5 1\.10\.\d+ opens out\.h5", said)
    assert found["io"]
    Path("out.h5").unlink()
    found = verdict("--try", VARIABLE, "--", sys.executable, "-c", program, code=0)
    assert found["opened"] == [], "this setting changes no file"


def test_a_file_that_an_old_hdf5_does_not_open_is_said(tmp_path: Path) -> None:
    path = tmp_path / "out.h5"
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file["x"] = range(1000)
    content = bytearray(path.read_bytes())
    content[8] = 9  # the version of the superblock
    path.write_bytes(content)
    (said,) = opened_by_old_hdf5(Outputs(tmp_path, [Path("out.h5")]))
    assert said.startswith(("HDF5 1.10", "whether HDF5 1.10 opens out.h5 is not known"))
    assert "does not open out.h5: " in said or "not known" in said


FULL = """
mount -t tmpfs -o size=24m none "$PWD" && cd "$PWD"
echo precious > old.txt
eval "$FIRST" 2> ../first
"$0" "$@" > ../said 2>&1
echo $? > ../code
ls -A > ../left
cat old.txt > ../old
"""


def on_small_disk(*words: str, before: str = "") -> tuple[int, str]:
    """Runs the trial in a file system of 24 MB, behind a line of the shell. Returns its exit code, and what it has
    said."""
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    if subprocess.run([*unshare, "sh", "-c", "mount -t tmpfs none ."], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount here")
    line = [*unshare, "sh", "-c", FULL, THALWEG, "tune", "--pairs", "5", "--try", VARIABLE, "--", "sh", "-c", *words]
    subprocess.run(line, env=os.environ | {"FIRST": before}, timeout=500, check=True)
    assert Path("../old").read_text() == "precious\n"
    return int(Path("../code").read_text()), Path("../said").read_text()


def test_a_disk_on_which_the_outputs_of_two_runs_have_no_room() -> None:
    code, said = on_small_disk("head -c 9000000 /dev/zero > out.bin")
    assert code != 0
    assert "No space left on device" in said, said
    assert Path("../left").read_text().split() == ["old.txt", "out.bin"]


# The disk is full, which the command does not say. The trace may have no room there, either.
IGNORES = 'echo x > out.bin; [ "$HDF5_USE_FILE_LOCKING" != BEST_EFFORT ] || {} 2>/dev/null; exit 0'


@pytest.mark.parametrize(
    ("fills", "why"),
    [
        ("fallocate -l 30000000 out.bin", "No space left on device"),
        ("head -c 24000000 /dev/zero >> out.bin", "bytes were written, as on a full disk"),
    ],
)
def test_a_command_that_does_not_say_that_the_disk_is_full(fills: str, why: str) -> None:
    code, said = on_small_disk(IGNORES.format(fills))
    assert code == 1, said
    said = re.sub(r"[\d,]+ of [\d,]+ bytes", "bytes", said)
    is_named = f"a write of out.bin failed ({why}), and the command has not said that" in said
    assert is_named or "trace.root takes no more rows at present (No space left on device)" in said, said
    assert Path("../left").read_text().split() == ["old.txt", "out.bin"]


def test_a_disk_on_which_no_trial_can_begin() -> None:
    code, said = on_small_disk("true", before="head -c 30000000 /dev/zero > full.bin")
    assert code == 1, said
    assert said.startswith("thalweg: the trial cannot begin"), said
    assert "No space left on device" in said
    assert Path("../left").read_text().split() == ["full.bin", "old.txt"]
