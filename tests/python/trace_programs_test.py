"""What the report says of the shares of bytes and calls that it has seen is what strace has counted: for a few real
programs."""

import shutil
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).parent.parent.parent / "studies" / "tracing"
sys.path.insert(0, str(STUDY))

import share_seen as study  # noqa: E402

BY_NAME = {program.name: program for program in study.ALL}
CHOSEN = (
    *("dd", "cat through pipes", "tar with gzip", "sort, from files beside", "awk", "sqlite3 of Python"),
    *("h5py with chunks", "ranks of MPICH", "ranks of Open MPI", "fio, libaio", "fio, io_uring", "fio, mmap"),
    *("Go, dynamic", "a static program below a shell", "C, calls that fail", "C, children of vfork"),
    *("C, pieces and unnamed files", "C, copies by the kernel", "C, children of fork", "Python, subprocesses"),
)


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_said_of_a_real_program_is_right(name: str) -> None:
    if shutil.which("strace") is None:
        pytest.skip("there is no strace, which counts what the program reads and writes")
    program = BY_NAME[name]
    if why := program.why_not():
        pytest.skip(why)
    found = study.outcome(program)
    assert found.is_right, found
    if program.sees_all:
        assert found.written.seen_share > 0.95, found


def test_a_share_that_is_said_wrong_is_found() -> None:
    assert study.Shares(counted=1_000_000, seen=500_000, said=1_000_000).is_said_right
    assert not study.Shares(counted=1_000_000, seen=500_000, said=500_000).is_said_right
    assert not study.Shares(counted=33_600_000, seen=12_700, said=12_700).is_said_right
    assert study.Shares(counted=103, seen=0, said=100, uncertain=4).is_said_right
    assert not study.Shares(counted=200, seen=100, said=100, uncertain=4).is_said_right


LOG = """\
10 execve("thalweg", ["thalweg"], 0x7 /* 30 vars */) = 0
10 set_tid_address(0x7) = 10
10 read(3</etc/x>, ""..., 100) = 100
10 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0}, 88) = 11
10 vfork( <unfinished ...>
12 execve("/bin/program", ["program"], 0x7 /* 30 vars */ <unfinished ...>
11 write(4</tmp/t.root>, ""..., 500) = 500
12 <... execve resumed>) = 0
10 <... vfork resumed>) = 12
12 read(3</lib/libc.so.6>, ""..., 832) = 832
12 set_tid_address(0x7) = 12
12 read(3</proc/12/io>, ""..., 511) = 90
12 read(3</data>, ""..., 4096) = 4096
12 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 13
13 pwrite64(4</out (1)>, ""..., 8192, 0 <unfinished ...>
12 read(5<pipe:[7]>,  <unfinished ...>
13 <... pwrite64 resumed>) = 8192
12 <... read resumed>""..., 4096) = 0
12 read(9, 0x7, 100) = -1 EBADF (Bad file descriptor)
12 readv(9, 0x7, 1) = -1 EBADF (Bad file descriptor)
12 pread64(7</bin/other>,  <unfinished ...>
13 write(4</out (1)>, ""..., 0) = 0
12 <... pread64 resumed>""..., 1023, 0)  = 1023
12 pread64(7</bin/other>, ""..., 56, 64) = 56
12 write(6<pipe:[8]>, ""..., 9) = -1 EAGAIN (Resource temporarily unavailable)
12 copy_file_range(3</data>, NULL, 4</out (1)>, NULL, 1048576, 0) = 1000
12 copy_file_range(3</data>, NULL, 4</out (1)>, NULL, 1048576, 0) = 0
12 splice(3</data>, NULL, 5<pipe:[7]>, NULL, 65536, 0) = 300
"""


def test_strace_counts_what_the_program_does_and_not_what_the_tracer_does(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    counted = study.Counted()
    counted.take(tmp_path / "log")
    assert (counted.read, counted.written) == (4096 + 1000 + 300, 8192 + 1000 + 300)
    # The kernel has a file for these: the two reads, readv, and one of the copies; three writes, and that copy.
    assert (counted.read_calls, counted.written_calls) == (4, 4)


def test_the_study_has_enough_programs() -> None:
    assert len(study.ALL) >= 60
    assert len(BY_NAME) == len(study.ALL)
