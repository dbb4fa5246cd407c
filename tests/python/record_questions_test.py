"""Questions of `thalweg record` to the machine, its display and its metrics fail: the run goes on, and says so."""

import contextlib
import errno
import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from recording import SMALL, THALWEG, columns, recording

from thalweg._recording import progress
from thalweg._recording.snapshot import RecordingSnapshot


def rows_of(path: Path) -> int:
    return sum(len(table["timestamp"]) for table in columns(path).values())


# Each of these fails once while the run goes on, in the process of the recorder; the last one when it is over.
PROGRAM = """
import errno, os, selectors, socketserver, subprocess, sys, time
from thalweg._recording import counts, snapshot

def fail(owner, name, error, after=3):
    original, failed = getattr(owner, name), []
    def once(*args, **keywords):
        if time.monotonic() < begin + after or failed:
            return original(*args, **keywords)
        failed.append(1)
        raise error
    setattr(owner, name, once)

begin = time.monotonic()
fail(os, "fstatvfs", OSError(errno.EIO, "Input/output error"))
fail(counts, "of_status", RuntimeError("no counters"), 3.5)
fail(snapshot.Rates, "put_into", ZeroDivisionError("no time"), 4)
fail(selectors.PollSelector, "select", OSError(errno.ENOMEM, "Cannot allocate memory"))
fail(socketserver.TCPServer, "get_request", OSError(errno.EMFILE, "Too many open files"), 4)
fail(subprocess.Popen, "__init__", OSError(errno.EAGAIN, "Resource temporarily unavailable"), 5)
import thalweg.cli
sys.argv = ["thalweg", "record", *sys.argv[1:]]
thalweg.cli.main()
"""


def test_questions_that_fail_once_end_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    words = ["--out", str(path), *SMALL, "--rate", "1kHz", "--duration", "6s", "--json", "--metrics", "0"]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words, "--on-stop", "true"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        said = ""
        while "/metrics" not in said:
            said += process.stderr.readline()
        (url,) = re.findall(r"http://[0-9.:]+/metrics", said)
        metrics = ""
        while process.poll() is None:
            with contextlib.suppress(OSError):  # the connection that fails, or the run is over
                metrics = urllib.request.urlopen(url, timeout=5).read().decode()
            time.sleep(0.2)
        out, err = process.communicate(timeout=120)
    report = json.loads(out)
    assert "Traceback" not in said + err
    assert report["ended_by"] == "duration"
    assert report["files"][0]["complete"]
    assert rows_of(path) == report["rows"] == report["triggers"] > 15_000
    assert report["problems"] == ["the command 'true' cannot be run (Resource temporarily unavailable)"]
    assert process.returncode == 1
    for problem in ("free space of", "figures of the run (no counters)", "figures of the run (no time)"):
        assert len(re.findall(f"thalweg: cannot ask for the {re.escape(problem)}.*the run goes on", err)) == 1, err
    assert "was not served for a moment (" in err
    assert "thalweg_problems_total 4.0" in metrics
    assert "thalweg_failed 0.0" in metrics


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ValueError("I/O operation on closed file"),
        UnicodeEncodeError("ascii", "x", 0, 1, "no"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_display_raises(monkeypatch: pytest.MonkeyPatch, error: Exception, is_terminal: bool) -> None:
    class Stderr:
        def isatty(self) -> bool:
            return is_terminal

        def fileno(self) -> int:
            return 2

        def write(self, _: str) -> int:
            raise error

        def flush(self) -> None:
            raise error

    shown = progress.RecordingProgress(quiet=False)
    monkeypatch.setattr(sys, "stderr", Stderr())
    monkeypatch.setattr(progress.time, "monotonic", lambda: 0.0 if shown._view is None else 100.0)
    shown.say_starting()
    for _ in range(3):
        shown.show(RecordingSnapshot(state="recording"))
    shown.close()
    monkeypatch.undo()
    assert "the progress is not shown any more" in shown.problem


def test_a_closed_stderr_ends_nothing(tmp_path: Path) -> None:
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), *SMALL, "--records", "500", "--json"]
    done = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *words], stdout=subprocess.PIPE, text=True, check=False)
    assert json.loads(done.stdout)["files"][0]["complete"]
    assert rows_of(tmp_path / "run.h5") == 1500
    assert done.returncode == 0


# System calls of the recording process: every other one fails for some seconds.
CALLS: dict[str, list[tuple[str, str]]] = {
    "of any file": [("fstatfs,statfs", "EIO"), ("wait4", "ECHILD"), ("accept4,poll", "ENOMEM")],
    "of the file, and of the state of a producer": [("newfstatat,stat,statx", "ESTALE"), ("openat", "EMFILE")],
}


def strace(recorder: Any, out: Path, kind: str) -> list[str]:
    worker = recorder.workers()[0]
    only = ["-P", str(out), "-P", f"/proc/{worker}/stat"] if "producer" in kind else []
    calls = CALLS[kind]
    words = ["strace", "-f", "-o", str(out.with_name("calls")), *only]
    words += ["-e", "trace=" + ",".join(names for names, _ in calls)]
    for names, error in calls:
        words += ["-e", f"inject={names}:error={error}:when=1+2"]
    return [*words, "-p", str(recorder.process.pid)]


@pytest.mark.parametrize("kind", CALLS)
def test_system_calls_that_fail_now_and_then_end_nothing(tmp_path: Path, kind: str) -> None:
    probe = ["strace", "-o", "/dev/null", "-e", "inject=getuid:error=EPERM", "true"]
    if shutil.which("strace") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("strace cannot inject errors here")
    out = tmp_path / "run.h5"
    options = (*SMALL, "--rate", "1kHz", "--duration", "5s", "--producers", "1", "--metrics", "0")
    with recording(out, *options) as recorder:
        (url,) = re.findall(r"http://[0-9.:]+/metrics", recorder.said)
        with subprocess.Popen(strace(recorder, out, kind), stderr=subprocess.DEVNULL) as tracer:
            until = time.monotonic() + 3
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(url, timeout=5).read()
                time.sleep(0.2)
            tracer.send_signal(signal.SIGTERM)
        report = recorder.report()
    failed = (tmp_path / "calls").read_text()
    for names, error in CALLS[kind]:
        assert re.search(rf"\b({names.replace(',', '|')})\(.*{error}.*\(INJECTED\)", failed), (names, failed[-2000:])
    assert (report["problems"], report["ended_by"]) == ([], "duration")
    assert rows_of(out) == report["rows"] == report["triggers"] > 10_000
