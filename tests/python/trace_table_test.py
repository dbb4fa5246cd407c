"""Each call belongs to the file that its descriptor has at that moment: what the trace says is what the kernel says."""

import subprocess
import sys
from pathlib import Path

import pytest
from tracing import compile_c, trace

# Changes its descriptors at random, in all ways, in itself and in children; now and then it writes, each time another
# number of bytes, and prints which file the kernel says that this descriptor has.
CHANGES = r"""
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static struct { int size; char path[400]; } told[4000];
static int count, step, fds[64], used;
static char data[9000], *folder;
static unsigned state;
static unsigned below(unsigned end) { state = state * 1664525u + 1013904223u; return (state >> 8) % end; }
static void keep(int fd) { if (fd >= 0 && used < 64) fds[used++] = fd; else if (fd >= 0) close(fd); }
static int taken(void) { if (!used) return -1; int i = below(used), fd = fds[i]; fds[i] = fds[--used]; return fd; }
static int any(void) { return used ? fds[below(used)] : -1; }
static int made(void) {
    char path[300]; snprintf(path, 300, "%s/f%d", folder, step * 10 + below(10));
    return open(path, O_RDWR | O_CREAT, 0600);
}
static void tell(int fd) {
    char link[64], path[400]; snprintf(link, 64, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlink, link, path, 399);
    if (length <= 0 || path[0] != '/') return;
    path[length] = 0;
    int size = 100 + count;
    if (write(fd, data, size) != size) return;
    told[count].size = size; strcpy(told[count++].path, path);
}
static void in_child(int is_borrowed) {
    for (int i = 0; i < 4; ++i) {
        int fd = any(), other = any();
        switch (below(5)) {
        case 0: if (fd >= 0 && other >= 0) dup2(fd, other); break;
        case 1: if (fd >= 0) close(fd); break;
        case 2: fd = made(); if (is_borrowed) tell(fd); break;
        case 3: if (fd >= 0) dup2(made(), fd); if (is_borrowed && fd >= 0) tell(fd); break;
        default: if (is_borrowed && fd >= 0) tell(fd);
        }
    }
    _exit(0);
}
int main(int words_count, char** words) {
    folder = words[1]; state = atoi(words[2]);
    for (step = 0; step < 700; ++step) {
        int fd, other, ends[2]; char path[300]; snprintf(path, 300, "%s/x%dXXXXXX", folder, step);
        switch (below(20)) {
        case 0: case 1: keep(made()); break;
        case 2: case 3: if ((fd = taken()) >= 0) close(fd); break;
        case 4: if ((fd = any()) >= 0) keep(dup(fd)); break;
        case 5: if ((fd = any()) >= 0 && (other = any()) >= 0) dup2(fd, other); break;
        case 6: if ((fd = any()) >= 0 && (other = any()) >= 0 && fd != other) dup3(fd, other, O_CLOEXEC); break;
        case 7: if ((fd = any()) >= 0) keep(fcntl(fd, F_DUPFD, 5)); break;
        case 8: if (pipe(ends) == 0) { keep(ends[0]); keep(ends[1]); } break;
        case 9: if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) { keep(ends[0]); keep(ends[1]); } break;
        case 10: keep(memfd_create("m", 0)); break;
        case 11: keep(mkstemp(path)); break;
        case 12: { FILE* file = tmpfile(); tell(fileno(file)); fclose(file); keep(made()); break; }
        case 13: { DIR* all = opendir(folder); if (all) { fsync(dirfd(all)); closedir(all); }
            keep(memfd_create("n", 0)); break; }
        case 14: if ((fd = taken()) >= 0) { FILE* file = fdopen(fd, "r+"); if (file) fclose(file); else close(fd); }
            break;
        case 15: if (used > 50) { closefrom(fds[0] < 3 ? 3 : fds[0]); int kept = 0;
            for (int i = 0; i < used; ++i) if (fcntl(fds[i], F_GETFD) >= 0) fds[kept++] = fds[i];
            used = kept; } break;
        case 16: if (vfork() == 0) in_child(1); wait(0); break;
        case 17: if (fork() == 0) in_child(0); wait(0); break;
        case 18: keep(mkostemps(path, 0, O_CLOEXEC)); break;
        default: break;
        }
        for (int i = 0; i < 3; ++i) if ((fd = any()) >= 0) tell(fd);
    }
    for (int i = 0; i < count; ++i) printf("%d %s\n", told[i].size, told[i].path);
}
"""


MOVES = ("write", "transfer")


@pytest.mark.parametrize("seed", range(3))
def test_the_table_of_descriptors_is_that_of_the_kernel(tmp_path: Path, seed: int) -> None:
    (tmp_path / "files").mkdir()
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, CHANGES), tmp_path / "files", seed)
    assert traced.done.returncode == 0, traced.said
    lines = [line.split(" ", 1) for line in traced.done.stdout.decode().splitlines()]
    expected = {int(size): path for size, path in lines}
    assert len(expected) > 500
    found = {call["size"]: call["path"] for call in traced.calls() if call["name"] == "write" and call["result"] > 0}
    wrong = {size: (path, found.get(size)) for size, path in expected.items() if found.get(size) != path}
    assert wrong == {}


def test_what_a_child_does_to_its_descriptors_does_not_reach_the_parent(tmp_path: Path) -> None:
    script = """
import os, subprocess, sys
out = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
with open(sys.argv[2], "w") as log:
    os.dup2(out, 1)
    os.write(1, bytes(1000))
    subprocess.run(["cat", sys.argv[3]], stdout=log, check=True)
    os.write(1, bytes(5000))
    subprocess.run(["cat", sys.argv[3]], stdout=log, check=True, close_fds=False)
    os.write(1, bytes(7000))
"""
    (tmp_path / "in").write_bytes(b"hi\n")
    files = (tmp_path / "out", tmp_path / "log", tmp_path / "in")
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, *files)
    assert traced.done.returncode == 0, traced.said
    written = [(call["path"], call["size"]) for call in traced.calls(of=str(tmp_path)) if call["kind"] == "write"]
    assert [size for path, size in written if path.endswith("/out")] == [1000, 5000, 7000]
    assert sum(call["result"] for call in traced.calls(of=f"{tmp_path}/log") if call["kind"] in MOVES) == 6


def test_libraries_of_hdf5_that_give_the_same_numbers_are_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("netCDF4")
    script = """
import sys, h5py, netCDF4
first = h5py.File(sys.argv[1] + "/a.h5", "w")
second = netCDF4.Dataset(sys.argv[1] + "/b.nc", "w")
one = first.create_dataset("x", (1000,), "f8")
second.createDimension("x", 10)
other = second.createVariable("v", "f4", ("x",))
one[:] = 1
other[:] = 1
one[:] = 2
second.close()
one[:] = 3
"""
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path)
    assert traced.done.returncode == 0, traced.said
    writes = [(Path(call["path"]).name, call["size"]) for call in traced.calls("hdf5") if call["name"] == "H5Dwrite"]
    assert [size for name, size in writes if name == "a.h5"] == [8000] * 3
    assert {name for name, size in writes if size == 40} == {"b.nc"}


def test_a_long_path_is_whole(tmp_path: Path) -> None:
    script = """
import os, sys
os.chdir(sys.argv[1])
for letter in "abcdefgh":
    os.mkdir(letter * 200); os.chdir(letter * 200)
for name in "xy":
    os.write(os.open(name, os.O_CREAT | os.O_WRONLY), b"1234")
"""
    subprocess.run(["rm", "-rf", tmp_path / ("a" * 200)], check=True)
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path)
    paths = [call["path"] for call in traced.calls() if call["kind"] == "write" and call["size"] == 4]
    whole = "/".join([str(tmp_path), *(letter * 200 for letter in "abcdefgh")])
    assert paths == [f"{whole}/x", f"{whole}/y"]
