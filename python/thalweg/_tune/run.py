"""One run of the command: until it has ended and what it wrote is on the disk, or until its time is up."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004

_LAST_LINE_BYTES = 4096
_KEPT_FOR_LOG = 64 << 10
"""Bytes that a command can say although it has filled the disk."""
_LEAST_ROOM = 1 << 20
"""With fewer bytes left the disk is full, which a command may not say."""
_KEEP_SIZE = 1
_SET_CHILD_SUBREAPER = 36
_OF_TRACER = "thalweg: "  # begins the lines of the report that follows what the command has said


@dataclass(frozen=True)
class Run:
    seconds: float
    how_it_ended: str
    """Empty if it succeeded."""


class Runner:
    def __init__(self, command: Sequence[str], folder: Path, log: Path, before: str | None) -> None:
        self._command, self._folder, self._log, self._before = list(command), folder, log, before

    def restore(self) -> None:
        """Runs what the user gave to restore files. Raises SystemError if it fails."""
        if self._before is None:
            return
        done = subprocess.run(self._before, shell=True, cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemError(0, f"--before failed ({_last_line(done.stderr) or done.returncode}): try it by hand")

    def run(self, environment: Mapping[str, str], limit_s: float | None = None) -> Run:
        """Runs the command, whose output goes to the log. No process of it is left."""
        self.restore()
        begin_ns = time.time_ns()
        begin_s = time.monotonic()
        with self._log.open("wb") as log:
            _reserve(log.fileno(), _KEPT_FOR_LOG)
            try:
                process = subprocess.Popen(
                    self._command,
                    cwd=self._folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise SystemError(error.errno, f"{self._command[0]} cannot be run ({error.strerror})") from None
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                how = f"it had not ended after {limit_s:.3g} s"
                return Run(time.monotonic() - begin_s, how)
            finally:
                _end_all(process)
        if code != 0:
            said = _last_line(self._log.read_text(errors="replace"))
            how = f"{_code(code)}{f': {said}' if said else ''}{_if_full(self._folder)}"
            return Run(time.monotonic() - begin_s, how)
        sync(self._folder, begin_ns)
        return Run(time.monotonic() - begin_s, "")


def sync(folder: Path, since_ns: int) -> None:
    """Waits until what was written below the folder since then is on the disk."""
    for path in _written(folder, since_ns):
        with contextlib.suppress(FileNotFoundError):
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def _written(folder: Path, since_ns: int) -> Iterable[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".thalweg-tune-")]
        for name in names:
            path = os.path.join(root, name)
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(path, follow_symlinks=False)
                # The clock of files is that of the last tick: up to 10 ms behind.
                if status.st_mtime_ns > since_ns - 20_000_000 and os.path.isfile(path):
                    yield path


def inherit_orphans() -> None:
    """From now on, processes of a command that leave its session become children of this process once alone."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while children := _children():
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def _code(code: int) -> str:
    return f"signal {signal.Signals(-code).name} ended it" if code < 0 else f"its exit code is {code}"


def _reserve(file: int, size: int) -> None:
    """Allocates bytes behind the end of the file, if the file system can."""
    allocate = ctypes.CDLL(None).fallocate
    allocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    allocate(file, _KEEP_SIZE, 0, size)


def _if_full(folder: Path) -> str:
    found = os.statvfs(folder)
    is_full = found.f_bavail * found.f_frsize < _LEAST_ROOM
    return f"; {folder}: {os.strerror(errno.ENOSPC)}" if is_full else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text[-_LAST_LINE_BYTES:].splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(_OF_TRACER)] or lines
    return said[-1][:200] if said else ""
