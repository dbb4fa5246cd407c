"""Runs the traced command with the tracing library, passes signals on, and watches all its processes to their end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._trace.coverage import Io, io_of, schedule_of
from thalweg._trace.program import find_program, libraries_before, why_untraceable
from thalweg._trace.records import has_steady_counter, library_path

_SET_CHILD_SUBREAPER = 36
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT)


@dataclass
class Watched:
    """The processes of the command that were seen so far, by pid."""

    executables: dict[int, str] = field(default_factory=dict)

    def look(self, root: int) -> None:
        """Notes all descendants of `root`, and those of this process, which inherits orphans."""
        parents = _parents()
        for pid in parents:
            if pid != os.getpid() and _is_below(pid, (root, os.getpid()), parents):
                executable = _executable(pid)
                if executable:
                    self.executables[pid] = executable


def preloaded(program: Path) -> str:
    """Returns LD_PRELOAD for a program: what must be loaded first, the tracing library, and what the variable has."""
    before = libraries_before(program)
    others = [text for text in os.environ.get("LD_PRELOAD", "").replace(":", " ").split() if text not in before]
    return ":".join([*before, str(library_path()), *others])


class Command:
    """The running command. This process inherits its orphans, so that nothing they did is lost."""

    def __init__(self, words: list[str], folder: Path) -> None:
        program = find_program(words)
        environment = dict(os.environ, THALWEG_TRACE_FOLDER=str(folder), LD_PRELOAD=preloaded(program))
        if not has_steady_counter():
            environment["THALWEG_TRACE_CLOCK"] = "system"
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._old = {number: signal.signal(number, self._pass_on) for number in _PASSED_ON}
        self._process: subprocess.Popen[bytes] | None = None
        sys.stdout.flush()
        try:
            self._process = subprocess.Popen(words, env=environment)
        except OSError as error:
            self._restore()
            raise SystemError(error.errno, f"{words[0]} cannot be run ({error.strerror})") from None
        self.pid = self._process.pid
        self.minor_faults = self.major_faults = 0
        """Page faults of all processes that were waited for; major ones waited for the disk."""
        self.schedule: dict[int, tuple[float, float]] = {}
        """By pid: how long processes ran, and how long they waited for a core, in seconds."""
        self.status: int | None = None
        """The status of os.waitpid, once the command has ended."""

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        """Passes a signal on to the command, except Ctrl-C of a terminal, which reaches the command directly."""
        if self._process is None or self.status is not None:
            return
        if number in (signal.SIGINT, signal.SIGQUIT) and _is_at_terminal():
            return
        os.kill(self._process.pid, number)

    def _restore(self) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def reap(self) -> Iterator[tuple[int, Io | None]]:
        """Yields the pid of each child and orphan that has ended, and what it read and wrote."""
        while True:
            try:
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            except ChildProcessError:
                return
            if info is None:
                return
            io = io_of(info.si_pid)
            if (schedule := schedule_of(info.si_pid)) is not None:
                self.schedule[info.si_pid] = schedule
            _, status, usage = os.wait4(info.si_pid, 0)
            self.minor_faults += usage.ru_minflt
            self.major_faults += usage.ru_majflt
            if info.si_pid == self.pid:
                self.status = status
                assert self._process is not None
                self._process.returncode = os.waitstatus_to_exitcode(status)
            yield info.si_pid, io

    def end_likewise(self) -> int:
        """Returns the exit code of the command. If a signal ended it, the same signal ends this process."""
        assert self.status is not None
        self._restore()
        code = os.waitstatus_to_exitcode(self.status)
        if code >= 0:
            return code
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.stdout.flush()
        sys.stderr.flush()
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        return 128 - code  # reached only if the signal does not end a process by default


def why_not_traced(executable: str) -> str:
    """Returns why the library was not loaded into a process, as far as its file tells."""
    return why_untraceable(Path(executable)) or "was started without the environment of its parent, or ended too early"


def _is_at_terminal() -> bool:
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def _executable(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def _parents() -> dict[int, int]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    return found


def _is_below(pid: int, roots: tuple[int, ...], parents: dict[int, int]) -> bool:
    while pid > 1:
        if pid in roots:
            return True
        pid = parents.get(pid, 0)
    return False
