"""What goes wrong with a traced program, or with the tracer, harms neither the other nor the rest of the trace."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tracing import COMPILER, THALWEG, compile_c, left_folders, trace

import thalweg as tw
from thalweg._trace import folder as folders

KILLS_ITSELF = r"""
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(int count, char** words) {
    int fd = open(words[1], O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 3000; ++i) pwrite(fd, "abc", 3, i);
    kill(getpid(), SIGKILL);
}
"""


def test_a_program_that_is_killed_leaves_all_of_its_calls(tmp_path: Path) -> None:
    program = compile_c(tmp_path, KILLS_ITSELF)
    for number in range(5):
        traced = trace(tmp_path / f"t{number}.root", program, tmp_path / "out")
        assert traced.done.returncode == -signal.SIGKILL
        writes = [call["offset"] for call in traced.calls(of="/out") if call["name"] == "pwrite"]
        assert writes == list(range(3000))


def test_the_call_that_never_came_back_is_named(tmp_path: Path) -> None:
    source = r"""
#include <signal.h>
#include <unistd.h>
int main() { int ends[2]; char data[8]; pipe(ends); alarm(1); read(ends[0], data, 8); }"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source))
    assert traced.done.returncode == -signal.SIGALRM
    (unfinished,) = traced.rows("unfinished")
    assert traced.rows("operations")[unfinished["operation"]]["name"] == "read"
    assert unfinished["size"] == 8
    assert traced.rows("files")[unfinished["file"]]["kind"] == "pipe"


SEEKS = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) { for (long i = atol(words[1]); i; --i) lseek(0, 0, SEEK_SET); }
"""


def test_calls_for_which_there_is_no_room_are_counted_and_said_first(tmp_path: Path) -> None:
    with open(tmp_path / "x", "w+") as file:
        program = compile_c(tmp_path, SEEKS)
        traced = trace(tmp_path / "t.root", program, 2_000_000, options=("--ring", 256), stdin=file)
    report = traced.report()
    assert report["dropped"]["posix"] > 0
    assert report["dropped"]["posix"] + len(traced.calls(of=str(tmp_path / "x"))) == 2_000_000
    assert sum(row["dropped"] for row in traced.rows("threads")) == report["dropped"]["posix"]
    (first, *_) = [line for line in traced.said.splitlines() if line.startswith("thalweg:")]
    assert f"the trace is incomplete: {report['dropped']['posix']:,} of posix calls were dropped" in first


def test_a_tracer_that_is_killed_does_not_harm_the_program(tmp_path: Path) -> None:
    script = (
        "import os, sys, time, threading\nfirst = os.getppid()\nprint(os.getpid(), flush=True)\n"
        "while os.getppid() == first: time.sleep(0.01)\n"
        "out = open(sys.argv[1], 'wb', buffering=0)\n"
        "for i in range(100_000): out.write(b'abc')\n"
        "thread = threading.Thread(target=lambda: out.write(b'end'))\nthread.start(); thread.join()\n"
        "os.rename(sys.argv[1], sys.argv[1] + '.done')\n"
    )
    words = [THALWEG, "trace", "--out", tmp_path / "t.root", "--", sys.executable, "-c", script, tmp_path / "out"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout is not None
        assert int(tracer.stdout.readline()) > 0
        tracer.kill()
        tracer.wait(60)
        deadline = time.monotonic() + 60
        while not (tmp_path / "out.done").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert (tmp_path / "out.done").stat().st_size == 300_003
    assert left_folders() != []
    assert trace(tmp_path / "next.root", "true").done.returncode == 0
    assert not any(f"-{tracer.pid}-" in name for name in left_folders())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "t.root"], "missing argument"),
        (["--out", "t.root", "--", "no-such-command"], "no-such-command cannot be traced (there is no such command)"),
        (["--out", "t.txt", "--", "true"], "t.txt has no known format"),
        (["--out", "t.root", "--resolution", "7", "--", "true"], "the resolution cannot be 7 ns"),
        (["--out", "t.root", "--ring", "1000", "--", "true"], "a ring cannot have 1000 records"),
        (["--out", "t.root", "--level", "tcp", "--", "true"], "there is no level 'tcp': the levels are posix, stdio"),
        (["--out", "there.root", "--", "true"], "there.root"),
        (["--out", "no/folder/t.root", "--", "true"], "no/folder"),
        (["--out", "t.root", "--", "./not-a-program"], "it is not executable"),
    ],
)
def test_a_wrong_request_runs_nothing(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "there.root").write_text("something of value")
    (tmp_path / "not-a-program").write_text("text")
    done = subprocess.run([THALWEG, "trace", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert (tmp_path / "there.root").read_text() == "something of value"
    assert sorted(os.listdir(tmp_path)) == ["not-a-program", "there.root"]


def test_a_static_program_is_refused_and_as_a_child_it_is_named(tmp_path: Path) -> None:
    try:
        static = compile_c(tmp_path, "#include <unistd.h>\nint main() { usleep(400000); }", "-static")
    except AssertionError:
        pytest.skip("there is no static C library")
    refused = trace(tmp_path / "t.root", static)
    assert refused.done.returncode == 2
    assert "is linked statically: no library can be loaded into it" in refused.said
    traced = trace(tmp_path / "t.root", "sh", "-c", f"{static}; true")
    assert traced.done.returncode == 0
    assert f"not traced: {static}" in traced.said
    assert [each["executable"] for each in traced.report()["untraced"]] == [str(static)]


def test_system_calls_past_the_library_are_missing_from_the_share(tmp_path: Path) -> None:
    source = r"""
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
    char data[1000] = ""; int fd = open(words[1], O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 300; ++i) write(fd, data, 1000);
    for (int i = 0; i < 100; ++i) syscall(SYS_write, fd, data, 1000);
}"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source), tmp_path / "out")
    coverage = traced.report()["coverage"]
    assert (coverage["written_seen"], coverage["written_total"]) == (300_000, 400_000)
    assert "it covers 75 % of the 400 kB that were written" in traced.said.splitlines()[0]
    assert "syscall()" in traced.said


def test_all_is_seen_of_programs_that_call_the_library(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 1_000_000)
    command = (
        f"dd if={tmp_path}/in of={tmp_path}/a bs=4096 status=none; {sys.executable} -c 'open(\"{tmp_path}/in\").read()'"
    )
    # A program that becomes another one takes its counts with it.
    command += f'; exec {sys.executable} -c \'import os; open("{tmp_path}/in").read(); os.execvp("true", ["true"])\''
    coverage = trace(tmp_path / "t.root", "sh", "-c", command).report()["coverage"]
    assert coverage["written_seen"] == coverage["written_total"] == 1_000_000
    assert coverage["read_total"] * 0.98 < coverage["read_seen"] <= coverage["read_total"]


def test_a_program_that_closes_all_descriptors_is_traced_on(tmp_path: Path) -> None:
    source = r"""
#include <fcntl.h>
#include <unistd.h>
int main(int count, char** words) {
    int fd = open(words[1], O_CREAT | O_RDWR, 0600); write(fd, "a", 1);
    for (int i = 3; i < 1000; ++i) close(i);
    closefrom(3);
    int ends[2]; char data[3]; pipe(ends); write(ends[1], "xyz", 3); read(ends[0], data, 3);
    fd = open(words[2], O_CREAT | O_RDWR, 0600); write(fd, "bc", 2);
}"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source), tmp_path / "first", tmp_path / "second")
    assert [call["size"] for call in traced.calls(of="/second") if call["name"] == "write"] == [2]
    assert [call["size"] for call in traced.calls(of="/first") if call["name"] in ("read", "write")] == [1]


def test_a_jump_out_of_a_call_leaves_the_depth_right(tmp_path: Path) -> None:
    source = r"""
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
static sigjmp_buf back;
static void jump(int number) { siglongjmp(back, 1); }
int main(int count, char** words) {
    int ends[2]; char data[8]; pipe(ends); signal(SIGALRM, jump);
    if (!sigsetjmp(back, 1)) { alarm(1); read(ends[0], data, 8); }
    int fd = open(words[1], O_CREAT | O_RDWR, 0600); write(fd, "abc", 3);
}"""
    traced = trace(tmp_path / "t.root", compile_c(tmp_path, source), tmp_path / "out")
    assert traced.done.returncode == 0
    assert [(call["name"], call["depth"]) for call in traced.calls(of="/out")] == [("open", 0), ("write", 0)]


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_a_program_under_address_sanitizer_runs(tmp_path: Path) -> None:
    try:
        program = compile_c(
            tmp_path, '#include <unistd.h>\nint main() { return write(1, "hi", 2) != 2; }', "-fsanitize=address"
        )
    except AssertionError:
        pytest.skip("there is no AddressSanitizer")
    traced = trace(tmp_path / "t.root", program)
    assert (traced.done.returncode, traced.done.stdout) == (0, b"hi"), traced.said
    assert [call["size"] for call in traced.calls() if call["name"] == "write"] == [2]


def test_without_shared_memory_rings_lie_in_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_SHARED_MEMORY", tmp_path / "missing")
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    with folders.Folder(1024, 15) as folder:
        assert folder.path.parent == tmp_path
        assert not folder.in_shared_memory
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path / "missing, too"))
    with pytest.raises(tw.SystemError, match="there is no memory for a trace") as error:
        folders.Folder(1024, 15)
    assert error.value.errno == errno.ENOENT


def test_a_full_disk_is_an_error_of_the_trace_alone(tmp_path: Path) -> None:
    script = f"ulimit -f 40; exec {THALWEG} trace --out {tmp_path}/t.root -- {sys.executable} -c 'print(1)'"
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; {script}"], capture_output=True, text=True, check=False)
    assert done.stdout in ("1\n", "")
    assert done.returncode == 1
    assert "thalweg: " in done.stderr
    assert "Traceback" not in done.stderr
