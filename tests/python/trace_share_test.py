"""The report says which share of the bytes and of the calls of a program is in the trace: the kernel counts them."""

import sys
from pathlib import Path

import pytest
from tracing import compile_c, trace

OLD_STAT = r"""
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
extern int __xstat(int, const char*, struct stat*);
extern int __lxstat(int, const char*, struct stat*);
extern int __fxstat(int, int, struct stat*);
extern int __fxstatat(int, int, const char*, struct stat*, int);
__asm__(".symver __xstat,__xstat@GLIBC_2.2.5\n.symver __lxstat,__lxstat@GLIBC_2.2.5\n"
        ".symver __fxstat,__fxstat@GLIBC_2.2.5\n.symver __fxstatat,__fxstatat@GLIBC_2.4");
int main(int count, char** words) {
    struct stat a, b; char path[300]; int wrong = 0;
    for (int i = 0; i < 300; ++i) { snprintf(path, 300, "%s/no/%d", words[1], i); wrong += __xstat(1, path, &a) != -1; }
    stat(words[1], &a); memset(&b, 0, sizeof b);
    wrong += __xstat(1, words[1], &b) != 0 || a.st_ino != b.st_ino || a.st_mode != b.st_mode;
    wrong += __lxstat(1, words[1], &b) != 0 || __fxstatat(1, AT_FDCWD, words[1], &b, 0) != 0;
    wrong += __fxstat(1, open(words[1], O_RDONLY), &b) != 0 || a.st_ino != b.st_ino || a.st_size != b.st_size;
    wrong += __xstat(7, words[1], &b) != -1;
    return wrong;
}
"""


def test_calls_of_programs_that_were_built_long_ago_are_recorded(tmp_path: Path) -> None:
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, OLD_STAT), tmp_path)
    assert traced.done.returncode == 0, traced.said
    stats = [call for call in traced.calls(of="/no/") if call["name"] == "stat"]
    assert len(stats) == 300
    assert {call["error"] for call in stats} == {2}
    found = [call["name"] for call in traced.calls() if call["path"] == str(tmp_path)]
    assert [found.count(name) for name in ("stat", "lstat", "fstatat", "fstat")] == [3, 1, 1, 1]


def test_changes_and_queries_of_names_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    script = """
import os, sys
path = sys.argv[1]
os.chmod(path, 0o600); os.utime(path); os.utime(path, (1, 2)); os.chown(path, -1, -1); os.symlink(path, path + "2")
os.readlink(path + "2"); os.statvfs(path); os.mkfifo(path + "3"); os.access(path, os.R_OK); os.listxattr(path)
folder = os.open(os.path.dirname(path), os.O_RDONLY)
os.mkdir("four", dir_fd=folder); os.readlink("out2", dir_fd=folder); os.link("out", "five", src_dir_fd=folder,
    dst_dir_fd=folder); os.chmod("out", 0o644, dir_fd=folder)
fd = os.open(path, os.O_RDWR); os.fchmod(fd, 0o600); os.fchown(fd, -1, -1); os.utime(fd)
"""
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path / "out")
    assert traced.done.returncode == 0, traced.said
    names = {call["name"].removesuffix("64") for call in traced.calls() if call["kind"] == "metadata"}
    assert {"chmod", "utimensat", "chown", "symlink", "readlink", "readlinkat", "linkat"} <= names
    assert {"fchmod", "fchown", "futimens", "mkdirat", "access", "mkfifo", "listxattr"} <= names
    assert {"fchmodat", "statvfs"} <= names or {"fchmodat", "statfs"} <= names


MOVES = r"""
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
    static char data[65536]; int ends[2]; pipe(ends);
    int from = open(words[1], O_RDWR | O_CREAT, 0600), to = open(words[2], O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 16; ++i) syscall(SYS_write, from, data, sizeof data);
    lseek(from, 0, SEEK_SET);
    for (int i = 0; i < 16; ++i) { splice(from, 0, ends[1], 0, 65536, 0); splice(ends[0], 0, to, 0, 65536, 0); }
    off_t at = 0;
    sendfile(to, from, &at, 1 << 20);
}
"""


def test_what_splice_and_sendfile_move_is_in_the_share(tmp_path: Path) -> None:
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, MOVES), tmp_path / "a", tmp_path / "b")
    coverage = traced.report()["coverage"]
    assert (coverage["written_seen"], coverage["written_total"]) == (3 << 20, 4 << 20)
    assert coverage["read_seen"] == 3 << 20
    assert coverage["read_total"] - (3 << 20) < 1000
    assert "moved by splice: 2.1 MB" in traced.said


BYPASSES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
    char data[8] = ""; int fd = open(words[1], O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 300; ++i) write(fd, data, 8);
    for (int i = 0; i < 100; ++i) syscall(SYS_write, fd, data, 8);
    for (int i = 0; i < 500; ++i) pread(fd, data, 8, 0);
    for (int i = 0; i < 500; ++i) syscall(SYS_pread64, fd, data, 8, 0L);
}
"""


def test_calls_have_a_share_too(tmp_path: Path) -> None:
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, BYPASSES), tmp_path / "out")
    coverage = traced.report()["coverage"]
    assert (coverage["written_calls_seen"], coverage["written_calls_total"]) == (300, 400)
    assert (coverage["read_calls_seen"], coverage["read_calls_total"]) == (500, 1000)
    assert "75 % of 400 that write, 50 % of 1,000 that read" in traced.said


STARTS = r"""
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
int main() {
    for (int i = 0; i < 20; ++i) {
        pid_t child; char* words[] = {"true", 0}; int status;
        if (posix_spawnp(&child, "true", 0, 0, words, environ)) return 1;
        waitpid(child, &status, 0);
        if (!(child = fork())) { execvp("true", words); _exit(1); }
        waitpid(child, &status, 0);
    }
}
"""


def test_what_the_library_reads_of_programs_that_are_started_is_not_the_programs(tmp_path: Path) -> None:
    coverage = trace(tmp_path / "t.root", compile_c(tmp_path, STARTS)).report()["coverage"]
    assert coverage["read_calls_total"] == coverage["read_calls_seen"] == 0
    assert coverage["read_total"] == 0
    assert coverage["own"] > 40 * 1000


ROWS = """
import os, sys, time
import h5py, numpy as np
with h5py.File(sys.argv[1], "w") as file:
    rows, row = file.create_dataset("x", (2000, 100), chunks=(200, 100), dtype="f8"), np.ones(100)
    begin = time.thread_time()
    for i in range(2000): rows[i] = row
    for i in range(2000): rows[i]
    print((time.thread_time() - begin) / 4000)
"""


@pytest.mark.alone
def test_a_transfer_of_hdf5_costs_little_more_under_trace(tmp_path: Path) -> None:
    import subprocess

    added = []
    for _ in range(3):
        words = [sys.executable, "-c", ROWS, str(tmp_path / "x.h5")]
        plain = float(subprocess.run(words, capture_output=True, check=True).stdout)
        traced = float(trace(tmp_path / "t.root", *words, options=("--force",)).done.stdout)
        added.append(traced - plain)
    assert min(added) < 8e-6  # looked up anew in all libraries, a function takes ten times as long
