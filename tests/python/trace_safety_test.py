"""A program under trace does what it does without it: the library stays out where it cannot be, and this is said."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tracing import compile_c, trace

STRICT = r"""
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
    int fd = open(words[1], O_CREAT | O_WRONLY, 0600), unused = open(words[2], O_CREAT | O_WRONLY, 0600);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    write(1, "hello\n", 6);
    for (int i = 0; i < 5000; ++i) write(fd, "data\n", 5);
    write(unused, "abc", 3);
    syscall(SYS_exit, 0);
}
"""


def test_a_program_that_forbids_itself_system_calls_runs(tmp_path: Path) -> None:
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, STRICT), tmp_path / "out", tmp_path / "other")
    assert (traced.done.returncode, traced.done.stdout) == (0, b"hello\n"), traced.said
    assert (tmp_path / "out").read_bytes() == b"data\n" * 5000
    report = traced.report()
    writes = [call for call in traced.calls() if call["name"] == "write"]
    assert len(writes) + report["dropped"]["posix"] == 5002
    assert {call["path"] for call in writes if call["size"] == 5} == {str(tmp_path / "out")}
    assert len(report["limited"]) == 1
    assert "restricts its system calls (seccomp)" in traced.said


LIMITED = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static void* reads(void* path) {
    char data[16]; int fd = open(path, O_RDONLY);
    for (int i = 0; i < 3000; ++i) pread(fd, data, 16, 0);
    return 0;
}
int main(int count, char** words) {
    struct rlimit limit = {2048, 2048}; setrlimit(RLIMIT_FSIZE, &limit);
    pthread_t thread; pthread_create(&thread, 0, reads, words[0]); pthread_join(thread, 0); puts("fine");
}
"""


def test_a_program_whose_files_have_a_limit_runs_and_is_traced(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 1000)
    traced = trace(tmp_path / "t.root", "bash", "-c", f"ulimit -f 2; exec cat {tmp_path}/in")
    assert (traced.done.returncode, traced.done.stdout) == (0, b"x" * 1000), traced.said
    assert [call["result"] for call in traced.calls(of="/in") if call["kind"] == "read" and call["result"]] == [1000]
    traced = trace(tmp_path / "t2.root", compile_c(tmp_path, LIMITED, "-pthread"))
    assert (traced.done.returncode, traced.done.stdout) == (0, b"fine\n"), traced.said
    calls = len([call for call in traced.calls() if call["name"] == "pread"])
    assert calls + traced.report()["dropped"]["posix"] == 3000
    assert calls > 0


PRINTS_PRELOAD = r"""
#include <stdio.h>
#include <stdlib.h>
int main() { char* found = getenv("LD_PRELOAD"); printf("[%s]\n", found ? found : ""); }
"""
STARTS = {
    "execv": "if (!fork()) execv(words[1], words + 1);",
    "execlp": "if (!fork()) execlp(words[1], words[1], (char*)0);",
    "vfork": "if (!vfork()) execve(words[1], words + 1, environ);",
    "posix_spawn": "pid_t child; posix_spawn(&child, words[1], 0, 0, words + 1, environ);",
}


def loader_of(program: Path) -> str:
    from thalweg._trace.program import read_elf

    elf = read_elf(program)
    assert elf is not None
    return elf.loader


@pytest.mark.parametrize("how", STARTS)
def test_a_program_of_another_c_library_is_started_without_ours_and_named(tmp_path: Path, how: str) -> None:
    loader = tmp_path / "ld-musl-x86_64.so.1"  # by its name only, so that the program runs
    loader.symlink_to(loader_of(compile_c(tmp_path / "plain", PRINTS_PRELOAD)))
    other = compile_c(tmp_path / "other", PRINTS_PRELOAD, f"-Wl,--dynamic-linker={loader}")
    body = f"{STARTS[how]} wait(0); return 0;"
    source = "#include <spawn.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(int n, char** words) { %s }"
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source % body), other)
    assert (traced.done.returncode, traced.done.stdout) == (0, b"[]\n"), traced.said
    assert [each["executable"] for each in traced.report()["untraced"]] == [str(other)]
    assert "is for another C library than the tracing library" in traced.said
    refused = trace(tmp_path / "t2.root", other)
    assert refused.done.returncode == 2
    assert "is for another C library" in refused.said


def test_a_program_in_another_root_says_nothing_of_it_and_is_named(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may change the root")
    program = compile_c(tmp_path, '#include <stdio.h>\nint main() { puts("inside"); }')
    root = tmp_path / "root"
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split()
    for library in {word for word in libraries if word.startswith("/")}:
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    shutil.copy(program, root / "program")
    traced = trace(tmp_path / "t.root", "chroot", root, "/program")
    assert (traced.done.returncode, traced.done.stdout) == (0, b"inside\n")
    assert "ld.so" not in traced.said
    assert "not traced: /program" in traced.said
    assert "cannot reach the tracing library" in traced.said


def test_a_child_for_32_bits_says_nothing_of_it_and_is_named(tmp_path: Path) -> None:
    try:
        small = compile_c(tmp_path, '#include <stdio.h>\nint main() { puts("small"); }', "-m32")
    except AssertionError:
        pytest.skip("there is no compiler for 32 bits")
    traced = trace(tmp_path / "t.root", "sh", "-c", f"{small}; true")
    assert traced.done.returncode == 0
    assert traced.done.stdout == b"small\n"
    assert "ld.so" not in traced.said
    assert f"not traced: {small}" in traced.said


def test_a_static_program_that_follows_by_execl_is_named_however_short(tmp_path: Path) -> None:
    try:
        static = compile_c(tmp_path, "int main() { return 0; }", "-static")
    except AssertionError:
        pytest.skip("there is no static C library")
    source = "#include <unistd.h>\nint main(int n, char** words) { %s return 9; }"
    for call in ("execl(words[1], words[1], (char*)0);", "execle(words[1], words[1], (char*)0, environ);"):
        traced = trace(tmp_path / f"{call[:6]}.root", compile_c(tmp_path, source % call), static)
        assert traced.done.returncode == 0
        assert [each["executable"] for each in traced.report()["untraced"]] == [str(static)]


def test_a_process_in_another_pid_namespace_is_traced(tmp_path: Path) -> None:
    if os.geteuid() != 0 or subprocess.run(["unshare", "-pf", "true"], capture_output=True, check=False).returncode:
        pytest.skip("there are no PID namespaces here")
    words = ("dd", "if=/dev/zero", f"of={tmp_path}/out", "bs=1000", "count=20", "status=none")
    traced = trace(tmp_path / "t.root", "unshare", "-pf", *words)
    assert traced.done.returncode == 0, traced.said
    assert [call["result"] for call in traced.calls(of="/out") if call["name"] == "write"] == [1000] * 20
    assert "memory" not in traced.said


def test_threads_take_little_memory(tmp_path: Path) -> None:
    source = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t bar;
static void* reads(void* path) {
    char data[64]; int fd = open(path, O_RDONLY);
    for (int i = 0; i < 2000; ++i) pread(fd, data, 16, 0);
    pthread_barrier_wait(&bar); pthread_barrier_wait(&bar); return 0;
}
int main(int count, char** words) {
    pthread_t threads[300]; pthread_attr_t small; pthread_attr_init(&small); pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&bar, 0, 301);
    for (int i = 0; i < 300; ++i) pthread_create(threads + i, &small, reads, words[0]);
    pthread_barrier_wait(&bar);
    FILE* maps = fopen("/proc/self/maps", "r"); char line[600]; unsigned long first, last, bytes = 0;
    while (fgets(line, 600, maps))
        if (strstr(line, "thalweg-trace-") && sscanf(line, "%lx-%lx", &first, &last) == 2) bytes += last - first;
    printf("%lu\n", bytes);
    pthread_barrier_wait(&bar);
    for (int i = 0; i < 300; ++i) pthread_join(threads[i], 0);
}"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source, "-pthread"))
    assert traced.done.returncode == 0, traced.said
    assert 0 < int(traced.done.stdout) < 100e6
    assert len([call for call in traced.calls() if call["name"] == "pread"]) == 600_000
    assert traced.report()["dropped"]["posix"] == 0


def test_rings_grow_as_the_tracer_falls_behind(tmp_path: Path) -> None:
    source = r"""
#include <unistd.h>
int main() { for (long i = 0; i < 600000; ++i) lseek(0, 0, SEEK_CUR); }"""
    with open(tmp_path / "x", "w+") as file:
        traced = trace(tmp_path / "t.root", compile_c(tmp_path, source), stdin=file)
    assert sum(traced.report()["dropped"].values()) == 0
    assert traced.report()["calls"]["posix"] >= 600_000
