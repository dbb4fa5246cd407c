"""Traces have the calls of a program as it made them, of all levels, threads and processes, which notice nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401 (h5py reads our default codec with it)
import pytest
import uproot
from tracing import MPI_COMPILER, MPI_RUN, THALWEG, Traced, compile_c, left_folders, starts, trace

EVERY_FORM = r"""
#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
int main(int count, char** words) {
    char data[100] = "x";
    struct iovec pieces[2] = {{data, 10}, {data, 20}};
    struct stat status;
    int fd = open(words[1], O_CREAT | O_RDWR | O_TRUNC, 0600);
    write(fd, data, 100); pwrite(fd, data, 50, 7); pwrite64(fd, data, 51, 8);
    writev(fd, pieces, 2); pwritev(fd, pieces, 2, 9); pwritev2(fd, pieces, 2, 10, 0);
    lseek(fd, 5, SEEK_SET); read(fd, data, 11); pread(fd, data, 12, 1); pread64(fd, data, 13, 2);
    readv(fd, pieces, 2); preadv(fd, pieces, 2, 3); preadv2(fd, pieces, 2, 4, 0); pread(fd, data, 100, 1 << 20);
    fsync(fd); fdatasync(fd); ftruncate(fd, 60); posix_fallocate(fd, 0, 200); fallocate(fd, 0, 0, 300);
    mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); flock(fd, LOCK_EX); lockf(fd, F_ULOCK, 0); fstat(fd, &status);
    int copy = dup(fd); write(copy, data, 3); close(copy);
    int other = openat(AT_FDCWD, words[2], O_CREAT | O_RDWR, 0600);
    off_t at = 0; sendfile(other, fd, &at, 40); loff_t from = 0; copy_file_range(fd, &from, other, 0, 30, 0);
    struct aiocb block = {.aio_fildes = other, .aio_buf = data, .aio_nbytes = 9, .aio_offset = 500};
    aio_write(&block); struct aiocb const* all[1] = {&block}; aio_suspend(all, 1, 0); aio_return(&block);
    close(other); close(fd); stat(words[1], &status); rename(words[1], words[2]); unlink(words[2]);
    return open("/nonexistent/file", O_RDONLY) < 0 ? 0 : 9;
}
"""
# Name, offset, size, result.
EXPECTED_OF_FIRST = [
    ("open", -1, -1, None),
    ("write", -1, 100, 100),
    ("pwrite", 7, 50, 50),
    ("pwrite64", 8, 51, 51),
    ("writev", -1, 30, 30),
    ("pwritev", 9, 30, 30),
    ("pwritev2", 10, 30, 30),
    ("lseek", 5, -1, 5),
    ("read", -1, 11, 11),
    ("pread", 1, 12, 12),
    ("pread64", 2, 13, 13),
    ("readv", -1, 30, 30),
    ("preadv", 3, 30, 30),
    ("preadv2", 4, 30, 30),
    ("pread", 1 << 20, 100, 0),
    ("fsync", -1, -1, 0),
    ("fdatasync", -1, -1, 0),
    ("ftruncate", -1, 60, 0),
    ("posix_fallocate", 0, 200, 0),
    ("fallocate", 0, 300, 0),
    ("mmap", 0, 4096, None),
    ("flock", -1, -1, 0),
    ("lockf", -1, 0, 0),
    ("fstat", -1, -1, 0),
    ("dup", -1, -1, None),
    ("write", -1, 3, 3),
    ("close", -1, -1, 0),
    ("close", -1, -1, 0),
    ("stat", -1, -1, 0),
    ("rename", -1, -1, 0),
]
EXPECTED_OF_SECOND = [
    ("openat", -1, -1, None),
    ("sendfile", -1, 40, 40),
    ("copy_file_range", -1, 30, 30),
    ("aio_write", 500, 9, 0),
    ("aio_return", 500, 9, 9),
    ("close", -1, -1, 0),
    ("unlink", -1, -1, 0),
]


@pytest.mark.parametrize("suffix", [".root", ".h5"])
def test_every_form_of_a_posix_call_is_recorded_as_it_was_made(tmp_path: Path, suffix: str) -> None:
    program = compile_c(tmp_path, EVERY_FORM)
    traced = trace(tmp_path / f"t{suffix}", program, tmp_path / "first", tmp_path / "second")
    assert traced.done.returncode == 0, traced.said
    for name, expected in (("first", EXPECTED_OF_FIRST), ("second", EXPECTED_OF_SECOND)):
        found = [(c["name"], c["offset"], c["size"], c["result"]) for c in traced.calls(of=f"/{name}")]
        assert [each[:3] for each in found] == [each[:3] for each in expected]
        assert [
            (each[0], each[3]) for each, (*_, result) in zip(found, expected, strict=True) if result is not None
        ] == [(each[0], each[3]) for each in expected if each[3] is not None]
    (failed,) = traced.calls(of="/nonexistent")
    assert (failed["name"], failed["result"], failed["error"]) == ("open", -1, 2)


def test_others_read_the_trace(tmp_path: Path) -> None:
    for suffix in ("root", "h5"):
        trace(tmp_path / f"t.{suffix}", "dd", "if=/dev/zero", f"of={tmp_path}/x", "bs=1000", "count=50")
    with uproot.open(tmp_path / "t.root") as file:
        sizes = file["posix"].arrays(["size", "result"])
        assert ak.sum(sizes["result"][sizes["size"] == 1000] == 1000) == 100
    with h5py.File(tmp_path / "t.h5") as file:
        assert (file["posix"]["size"][:] == 1000).sum() == 100


@pytest.mark.parametrize("code", [2, 130])
def test_each_exit_code_is_that_of_the_program(tmp_path: Path, code: int) -> None:
    traced = trace(tmp_path / "t.root", "sh", "-c", f"exit {code}")
    assert traced.done.returncode == code
    assert b"interrupted" not in traced.done.stderr


def test_the_program_is_as_it_is_without(tmp_path: Path) -> None:
    script = (
        "import sys; print(sys.stdin.read() * 2); print('no', file=sys.stderr); open(sys.argv[1], 'w').write('abc'); "
    )
    command = [sys.executable, "-c", f"{script} sys.exit(7)"]
    plain = subprocess.run([*command, tmp_path / "a"], input=b"in", capture_output=True, check=False)
    traced = trace(tmp_path / "t.root", *command, tmp_path / "b", input=b"in")
    assert traced.done.returncode == plain.returncode == 7
    assert traced.done.stdout == plain.stdout
    assert traced.done.stderr.startswith(plain.stderr)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_that_ends_the_program_ends_the_command(tmp_path: Path, number: signal.Signals) -> None:
    traced = trace(tmp_path / "t.root", "sh", "-c", f"kill -{number.value} $$")
    assert traced.done.returncode == -number
    assert traced.report()["exit_status"] == number


def test_a_signal_to_the_command_reaches_the_program(tmp_path: Path) -> None:
    script = "import signal, sys; signal.signal(15, lambda *_: sys.exit(5)); print('ready', flush=True); signal.pause()"
    words = [Path(sys.executable).with_name("thalweg"), "trace", "--out", tmp_path / "t.root"]
    with subprocess.Popen([*words, "--", sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait(60) == 5


FORKS_AND_THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int fd;
static void* writes(void* of) {
    for (int i = 0; i < 2000; ++i) pwrite(fd, "abc", 3, (long)of * 10000 + i * 3);
    return 0;
}
int main(int count, char** words) {
    fd = open(words[1], O_CREAT | O_RDWR, 0600);
    pthread_t threads[4];
    for (long i = 0; i < 4; ++i) pthread_create(&threads[i], 0, writes, (void*)i);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    for (int i = 0; i < 200; ++i) {
        if (fork() == 0) { pwrite(fd, "child", 5, 100000 + i); _exit(0); }
        wait(0);
    }
    execlp("dd", "dd", "if=/dev/zero", "of=/dev/null", "bs=77", "count=3", (char*)0);
}
"""


def test_threads_forks_and_programs_that_follow_are_traced(tmp_path: Path) -> None:
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, FORKS_AND_THREADS, "-pthread"), tmp_path / "out")
    assert traced.done.returncode == 0, traced.said
    writes = [call for call in traced.calls(of="/out") if call["name"] == "pwrite"]
    by_threads = [call for call in writes if call["size"] == 3]
    assert sorted(call["offset"] for call in by_threads) == sorted(
        t * 10000 + i * 3 for t in range(4) for i in range(2000)
    )
    assert len({call["thread"] for call in by_threads}) == 4
    children = [call for call in writes if call["size"] == 5]
    assert sorted(call["offset"] for call in children) == list(range(100_000, 100_200))
    assert len({call["process"] for call in children}) == 200
    assert [call["size"] for call in traced.calls(of="/dev/null") if call["name"] == "write"] == [77] * 3
    for thread in {call["thread"] for call in writes}:
        begun = starts(traced.calls(), thread)
        assert (begun >= 0).all()
        assert (begun[1:] >= begun[:-1]).all()


def test_what_streams_are_asked_for_is_recorded(tmp_path: Path) -> None:
    source = r"""
#include <stdio.h>
int main(int count, char** words) {
    FILE* file = fopen(words[1], "w+"); char text[50];
    fwrite("abcdef", 2, 3, file); fputs("line\n", file); fprintf(file, "%d\n", 12345); fputc('x', file); fflush(file);
    fseek(file, 0, SEEK_SET); fread(text, 1, 4, file); fgets(text, 50, file); fclose(file);
}"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source, "-fno-builtin"), tmp_path / "out")
    found = [(call["name"], call["result"]) for call in traced.calls("stdio", "/out")]
    names = ["fopen", "fwrite", "fputs", "fprintf", "fputc", "fflush", "fseek", "fread", "fgets", "fclose"]
    assert [name for name, _ in found] == names
    assert dict(found) | {"fopen": 0} == {
        "fopen": 0,
        "fwrite": 6,
        "fputs": 5,
        "fprintf": 6,
        "fputc": 1,
        "fflush": 0,
        "fseek": 0,
        "fread": 4,
        "fgets": 7,
        "fclose": 0,
    }


@pytest.mark.parametrize("order", ["import h5py, netCDF4", "import netCDF4, h5py"])
def test_two_libraries_of_hdf5_in_one_process_each_get_their_own_calls(tmp_path: Path, order: str) -> None:
    pytest.importorskip("netCDF4")
    script = f"""{order}
import sys
with h5py.File(sys.argv[1] + "/a.h5", "w") as file:
    file.create_dataset("x", data=range(1000))
with netCDF4.Dataset(sys.argv[1] + "/b.nc", "w") as file:
    file.createDimension("x", 10)
    file.createVariable("v", "f8", ("x",))[:] = 1
print(h5py.File(sys.argv[1] + "/a.h5")["x"][:].sum())
"""
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path)
    assert traced.done.returncode == 0, traced.said
    assert traced.done.stdout == b"499500\n"
    (write,) = [call for call in traced.calls("hdf5", "/a.h5") if call["name"] == "H5Dwrite"]
    assert write["size"] == 8000
    inner = [call for call in traced.calls(of="/a.h5") if call["name"].startswith("pwrite") and call["depth"] > 0]
    assert sum(call["result"] for call in inner) >= 8000
    assert any(call["name"] == "H5Fcreate" for call in traced.calls("hdf5", "/b.nc"))
    assert any(call["name"] == "H5Idec_ref" for call in traced.calls("hdf5"))


MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** words) {
    int rank; MPI_Info info; MPI_File file; char* data = calloc(1, 1 << 16);
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Info_create(&info); MPI_Info_set(info, "cb_nodes", "99"); MPI_Info_set(info, "nonsense", "3");
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_File_write_at_all(file, rank << 16, data, 1 << 14, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file); MPI_Finalize();
}
"""


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
def test_ranks_their_calls_of_mpi_and_their_hints(tmp_path: Path) -> None:
    program = compile_c(tmp_path, MPI_PROGRAM, compiler=MPI_COMPILER)
    traced = trace(tmp_path / "t.root", MPI_RUN, "-n", 2, program, tmp_path / "out")
    assert traced.done.returncode == 0, traced.said
    writes = [call for call in traced.calls("mpi", "/out") if call["name"] == "MPI_File_write_at_all"]
    assert sorted((call["rank"], call["offset"], call["size"]) for call in writes) == [
        (0, 0, 1 << 16),
        (1, 1 << 16, 1 << 16),
    ]
    bytes_written = sum(call["result"] for call in traced.calls(of="/out") if "write" in call["name"])
    assert bytes_written == 2 << 16
    settings = {(each["origin"], each["name"]): each["value"] for each in traced.rows("settings")}
    assert settings["asked", "cb_nodes"] == "99"
    assert settings["asked", "nonsense"] == "3"
    assert settings["reported", "cb_nodes"] == "1"  # of one machine
    assert ("reported", "nonsense") not in settings


def test_an_open_that_truncates_says_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"x" * 1234)
    script = "import sys; path = sys.argv[1]; open(path, 'a'); open(path, 'w'); open(path, 'w'); open(path + '2', 'w')"
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path / "out")
    assert [call["size"] for call in traced.calls(of=f"{tmp_path}/out") if call["kind"] == "open"] == [-1, 1234, 0, -1]


# The command runs before the tracer goes on.
LATE_TRACER = """
import thalweg._trace.tracer as tracer, time
begin = tracer.Command
def begin_and_wait(*words):
    command = begin(*words)
    time.sleep(0.3)
    return command
tracer.Command = begin_and_wait
from thalweg.cli import main
main()
"""


def test_no_call_begins_before_the_trace(tmp_path: Path) -> None:
    words = [sys.executable, "-c", LATE_TRACER, "trace", "--out", tmp_path / "t.root", "--", "ls", tmp_path]
    traced = Traced(subprocess.run(words, capture_output=True, check=True), tmp_path / "t.root")
    for level in ("posix", "stdio"):
        calls = traced.calls(level)
        assert all((starts(calls, thread) >= 0).all() for thread in {call["thread"] for call in calls})


def test_nothing_is_left_in_shared_memory(tmp_path: Path) -> None:
    words = [THALWEG, "trace", "--out", tmp_path / "t.root", "--", "true"]
    with subprocess.Popen(list(map(str, words)), stderr=subprocess.DEVNULL) as tracer:
        assert tracer.wait(60) == 0
    assert not any(f"-{tracer.pid}-" in name for name in left_folders())
