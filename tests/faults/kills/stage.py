"""The processes of a round: forked, listened to, killed.

Each says what has happened on one pipe, a line in one write, so that what it had said when it died is known exactly.
"""

import contextlib
import ctypes
import faulthandler
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Say = Callable[..., None]
LIMIT_S = 600  # the longest wait for what must come; machines are slow at times


class StuckError(AssertionError):
    """Something that had to come did not come."""


@dataclass
class Process:
    name: str
    pid: int
    is_alive: bool = True
    signal: int = 0  # the signal that has ended it, unless it was this stage's SIGKILL


class Stage:
    """A stage has no threads, so that it can fork at any time."""

    def __init__(self, errors: Path, hear: Callable[[list[Any]], None]) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._errors, self._hear, self._rest = errors, hear, b""
        self._mine: list[int] = []  # ends of pipes that children must not hold open
        self.processes: list[Process] = []

    def signal_pipe(self) -> tuple[int, Callable[[], None]]:
        """Returns an end for children to read, and a function that closes the other end, which they notice."""
        read, write = os.pipe()
        self._mine.append(write)

        def close() -> None:
            if write in self._mine:
                self._mine.remove(write)
                os.close(write)

        return read, close

    def start(self, name: str, work: Callable[[Say], None]) -> Process:
        pid = os.fork()
        if pid == 0:
            self._be_child(name, work)
        process = Process(name, pid)
        self.processes.append(process)
        return process

    def _be_child(self, name: str, work: Callable[[Say], None]) -> None:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no process outlives the round
        for end in [self._read, *self._mine]:
            os.close(end)
        errors = os.open(self._errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        faulthandler.enable()

        def say(*words: Any) -> None:
            os.write(self._write, json.dumps(words).encode() + b"\n")

        try:
            work(say)
        except Exception as error:
            say("failed", name, type(error).__name__, str(error))
            os._exit(1)
        sys.stderr.flush()
        os._exit(0)

    def listen(self, seconds: float) -> None:
        """Listens to the processes for that time, and returns at once when something was reported."""
        ready, _, _ = select.select([self._read], [], [], seconds)
        while ready:
            try:
                read = os.read(self._read, 1 << 16)
            except BlockingIOError:
                return
            *lines, self._rest = (self._rest + read).split(b"\n")
            for line in lines:
                self._hear(json.loads(line))

    def pause(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            self.listen(left_s)

    def wait_until(self, condition: Callable[[], object], limit_s: float) -> bool:
        end_s = time.monotonic() + limit_s
        while not condition() and time.monotonic() < end_s:
            self.listen(0.05)
        return bool(condition())

    def wait_for(self, what: str, condition: Callable[[], object]) -> None:
        if not self.wait_until(condition, LIMIT_S):
            raise StuckError(f"in {LIMIT_S} s no process reported: {what}")

    def kill(self, processes: list[Process]) -> int:
        """Kills them. Returns how many were alive until now, when all are gone and all their reports were read."""
        for process in processes:
            if process.is_alive:
                os.kill(process.pid, signal.SIGKILL)
        killed = sum(self._reap(process) for process in processes if process.is_alive)
        self.listen(0)
        return killed

    def wait(self, process: Process) -> None:
        """Waits until it has ended by itself."""
        end_s = time.monotonic() + LIMIT_S
        while not self.has_ended(process):
            if time.monotonic() > end_s:
                raise StuckError(f"in {LIMIT_S} s process '{process.name}' did not end")
            self.listen(0.002)
        self.listen(0)

    def crashed(self) -> list[str]:
        """Returns those that ended by a signal of another process."""
        for process in self.alive():
            self.has_ended(process)
        return [f"{process.name} was ended by signal {process.signal}" for process in self.processes if process.signal]

    @staticmethod
    def has_ended(process: Process) -> bool:
        if process.is_alive:
            done, status = os.waitpid(process.pid, os.WNOHANG)
            process.is_alive = not done
            if done and os.WIFSIGNALED(status):
                process.signal = os.WTERMSIG(status)
        return not process.is_alive

    def run(self, name: str, work: Callable[[Say], None]) -> None:
        self.wait(self.start(name, work))

    def alive(self) -> list[Process]:
        return [process for process in self.processes if process.is_alive]

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.kill(self.alive())

    @staticmethod
    def _reap(process: Process) -> bool:
        process.is_alive = False
        _, status = os.waitpid(process.pid, 0)
        was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if os.WIFSIGNALED(status) and not was_killed:
            process.signal = os.WTERMSIG(status)
        return was_killed
