"""Wrappers that make a system call themselves, and files that are named by the path with which they were opened, are
what the C library and the kernel would have made of them."""

import subprocess
from pathlib import Path

import pytest
from tracing import compile_c, trace

CANCELLED = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
    char data[8]; int fd = open(words[1], O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 100; ++i) if (pread(fd, data, 8, 0) < 0 || lseek(fd, 0, SEEK_SET)) return 3;
    pthread_cancel(pthread_self());
    lseek(fd, 0, SEEK_SET);
    pread(fd, data, 8, 0);
    _exit(7);
}
"""


def test_a_program_with_one_thread_may_cancel_it(tmp_path: Path) -> None:
    program = compile_c(tmp_path, CANCELLED, "-pthread")
    plain = subprocess.run([program, tmp_path / "plain"], check=False)
    traced = trace(tmp_path / "t.root", program, tmp_path / "out")
    assert (plain.returncode, traced.done.returncode) == (0, 0)  # 7 means that the read did not end the thread
    assert [call["name"] for call in traced.calls(of="/out")][-1] == "lseek"


ERRORS = r"""
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#define TELL(call) do { errno = 0; long result = (call); printf("%s %ld %d\n", #call, result, errno); } while (0)
static void* ask(void* path) {
    char data[100]; int fd;
    TELL(open("/no/such", O_RDONLY)); TELL(open(path, O_CREAT | O_EXCL | O_RDWR, 0640)); TELL(open(path, O_RDWR));
    TELL(openat(999, "x", O_RDONLY)); TELL(open64(NULL, O_RDONLY)); TELL(close(999));
    fd = open(path, O_RDWR);
    TELL(write(fd, "0123456789", 10)); TELL(lseek(fd, -100, SEEK_CUR)); TELL(lseek(fd, 3, SEEK_SET));
    TELL(lseek64(fd, 1L << 40, SEEK_END)); TELL(read(fd, data, 100)); TELL(pread(fd, data, 100, 4));
    TELL(pread64(fd, data, 100, -4)); TELL(pwrite(fd, "abc", 3, 1L << 33)); TELL(pwrite64(999, "abc", 3, 1));
    TELL(read(fd, (void*)1, 100)); TELL(lseek(999, 0, SEEK_SET)); TELL(close(fd)); TELL(close(fd));
    struct stat status; TELL(stat(NULL, &status)); TELL(rename(NULL, path));
    stat(path, &status); printf("%o %ld\n", status.st_mode, (long)status.st_size); unlink(path);
    return NULL;
}
int main(int count, char** words) {
    umask(022);
    ask(words[1]); ask(words[1]); // the second time, the functions are known
    pthread_t thread; pthread_create(&thread, 0, ask, words[1]); pthread_join(thread, 0);
}
"""


def test_results_and_errors_are_those_of_the_c_library(tmp_path: Path) -> None:
    program = compile_c(tmp_path, ERRORS, "-pthread", "-w")
    plain = subprocess.run([program, tmp_path / "out"], capture_output=True, text=True, check=True)
    traced = trace(tmp_path / "t.root", program, tmp_path / "out")
    assert traced.done.stdout.decode() == plain.stdout
    assert plain.stdout.count(" -1 ") > 20


OTHER = r"""
#include <sys/types.h>
off_t lseek(int fd, off_t at, int from) { return 12345; }
ssize_t pread(int fd, void* data, size_t size, off_t at) { return 77; }
"""
ASKS = r"""
#include <fcntl.h>
#include <unistd.h>
int main(int count, char** words) {
    char data[8]; int wrong = 0, fd = open(words[1], O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 3; ++i) wrong |= lseek(fd, 0, SEEK_SET) != 12345 || pread(fd, data, 8, 0) != 77;
    return wrong;
}
"""


def test_another_preloaded_library_is_not_passed_over(tmp_path: Path) -> None:
    other = compile_c(tmp_path, OTHER, "-shared", "-fPIC", "-w")
    program = compile_c(tmp_path, ASKS)
    words = ["sh", "-c", 'LD_PRELOAD="$LD_PRELOAD:$1" exec "$2" "$3"', "sh", other, program, tmp_path / "out"]
    traced = trace(tmp_path / "t.root", *words)
    assert traced.done.returncode == 0, traced.said
    calls = [(call["name"], call["result"]) for call in traced.calls(of="/out") if call["name"] != "open"]
    assert calls == [("lseek", 12345), ("pread", 77)] * 3


OPENED = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void tell(int fd, char const* how) {
    char link[64], path[4096]; snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = readlink(link, path, sizeof path - 1); path[length > 0 ? length : 0] = 0;
    if (fd < 0 || write(fd, "x", 1) != 1) abort();
    fprintf(stderr, "%s=%s\n", how, path);
}
int main(int count, char** words) {
    char path[4096]; int folder;
    chdir(words[1]); mkdir("real", 0700); mkdir("real/deep", 0700); symlink("real", "link"); symlink("real/a", "to_a");
    enum { HOW = O_CREAT | O_RDWR };
    tell(open("real/a", HOW, 0600), "relative");
    tell(open("to_a", O_RDWR), "link to a file");
    tell(open("link/b", HOW, 0600), "link to a folder");
    tell(open("./real//deep/../c", HOW, 0600), "with dots");
    tell(open("link/deep/../d", HOW, 0600), "with dots behind a link");
    snprintf(path, sizeof path, "%s/link/e", words[1]);
    tell(open64(path, HOW, 0600), "absolute");
    int removed = open("link/f", HOW, 0600); tell(removed, "removed at once"); unlink("real/f");
    int renamed = open("real/g", HOW, 0600); tell(renamed, "renamed at once"); rename("real/g", "real/h");
    int replaced = open("link/i", HOW, 0600); tell(replaced, "replaced at once");
    close(open("real/j", HOW, 0600)); rename("real/j", "real/i");
    folder = open("real/deep", O_RDONLY); tell(openat(folder, "k", HOW, 0600), "in a folder");
    folder = open("link", O_PATH); tell(openat(folder, "l", HOW, 0600), "in a folder without permission to read");
    int unnamed = open("real", O_TMPFILE | O_RDWR, 0600); tell(unnamed, "unnamed");
    snprintf(path, sizeof path, "/dev/fd/%d", renamed); tell(open(path, O_RDWR), "by descriptor");
    strcpy(path, "link/mXXXXXX"); tell(mkstemp(path), "temporary");
    FILE* stream = fopen("link/n", "w"); tell(fileno(stream), "stream");
    stream = freopen("to_a", "r+", stream); tell(fileno(stream), "reopened");
    tell(open("link/\xff o", HOW, 0600), "not UTF-8");
    if (!fork()) { tell(open("link/p", HOW, 0600), "by a child"); _exit(0); }
    wait(NULL);
}
"""


def test_a_file_has_the_name_that_the_kernel_gives_it(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    program = compile_c(tmp_path, OPENED, "-w")
    traced = trace(tmp_path / "t.root", program, folder)
    assert traced.done.returncode == 0, traced.said
    told = dict(line.split("=", 1) for line in traced.done.stderr.decode(errors="replace").splitlines() if "=/" in line)
    assert len(told) == 18
    written = [call["path"] for call in traced.calls() if call["name"] == "write" and str(folder) in call["path"]]
    assert sorted(written) == sorted(told.values())


@pytest.mark.parametrize("times", [1, 300])
def test_children_that_do_nothing_and_children_that_open_files_are_traced(tmp_path: Path, times: int) -> None:
    source = r"""
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(int count, char** words) {
        for (int i = 0; i < atoi(words[2]); ++i) {
            if (!fork()) _exit(0);
            if (!fork()) {
                char path[4096]; snprintf(path, sizeof path, "%s/file%d", words[1], i);
                int fd = open(path, O_CREAT | O_RDWR, 0600);
                if (!fork()) { _exit(write(fd, "grandchild", 10) != 10); }
                int status; wait(&status); _exit(write(fd, "child", 5) != 5 || status);
            }
            for (int j = 0; j < 2; ++j) { int status; wait(&status); if (status) return 1; }
        }
    }
    """
    (tmp_path / "files").mkdir()
    program = compile_c(tmp_path, source)
    traced = trace(tmp_path / "t.root", program, tmp_path / "files", times)
    assert traced.done.returncode == 0, traced.said
    writes = [call for call in traced.calls(of="/files/file") if call["name"] == "write"]
    assert sorted(call["result"] for call in writes) == [5] * times + [10] * times
    assert len({call["process"] for call in writes}) == 2 * times
    by_file: dict[str, list[int]] = {}
    for call in writes:
        by_file.setdefault(call["path"], []).append(call["result"])
    assert all(sorted(sizes) == [5, 10] for sizes in by_file.values())
    assert len(by_file) == times
    processes = traced.rows("processes")
    pids = {each["pid"]: each for each in processes}
    assert all(pids[processes[call["process"]]["pid"]]["is_forked"] for call in writes)
