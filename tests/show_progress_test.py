"""`make build` shows how far it is, and what went wrong."""

import subprocess
import sys
from pathlib import Path

import show_progress

NINJA = [f"  [{step}/40] Building CXX object {step}.cc.o\n" for step in range(1, 41)]


def test_a_line_for_each_tenth_or_one_that_changes() -> None:
    lines = ["Processing /work\n", *NINJA, "Successfully built thalweg\n"]
    told = list(show_progress.shown(lines, is_terminal=False, now=iter(range(100)).__next__))
    assert len(told) == 11
    assert told[0].startswith("  1 of 40 steps, ")
    assert told[-1].startswith("  40 of 40 steps, ")
    in_terminal = list(show_progress.shown(lines, is_terminal=True))
    assert len(in_terminal) == 40
    assert all(each.startswith("\r") for each in in_terminal)
    assert "".join(in_terminal).count("\n") == 1


def test_what_fails_is_shown_and_kept(repository: Path, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "build.log"
    program = "print('[1/2] Building a.cc.o'); print('a.cc:1: error: no'); raise SystemExit(3)"
    command = [sys.executable, repository / "tools" / "show_progress.py", log, sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("  1 of 2 steps")
    assert "a.cc:1: error: no" in done.stderr
    assert log.read_text() == "[1/2] Building a.cc.o\na.cc:1: error: no\n"


def test_steps_are_shown_while_they_are_done(repository: Path, tmp_path: Path) -> None:
    program = "import time; print('[1/2] a', flush=True); time.sleep(5)"
    command = [
        sys.executable,
        repository / "tools" / "show_progress.py",
        tmp_path / "log",
        sys.executable,
        "-c",
        program,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("  1 of 2 steps")
        assert process.poll() is None
        process.kill()
