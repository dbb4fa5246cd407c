"""A run in processes of its own for the tests of faults, and what it had reported when it was killed."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path


def is_running(pid: int) -> bool:
    """Returns False for a zombie, which may never be reaped in this container."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


@dataclass
class Driver:
    """The program `fault_driver`: driver.cc lists its output."""

    program: Path

    def start(self, path: Path, producers: int, rows: int, **environment: str) -> "Run":
        return Run(self, path, subprocess.Popen(
            [self.program, "write", path, str(producers), str(rows)],
            stdout=subprocess.PIPE, text=True, start_new_session=True, env=os.environ | environment,
        ))  # fmt: skip

    def ask(self, verb: str, path: Path) -> list[str]:
        done = subprocess.run([self.program, verb, path], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{verb}: {done.stdout}{done.stderr}"
        return done.stdout.splitlines()

    def rows_in(self, path: Path, verb: str = "check") -> dict[int, int]:
        """Returns how many rows of each producer there are, after each was compared with what was written."""
        words = self.ask(verb, path)[0].split()
        assert words[0] == "sound"
        return {int(who): int(rows) for who, rows in zip(words[1::2], words[2::2], strict=True)}


@dataclass
class Run:
    driver: Driver
    path: Path
    process: subprocess.Popen[str]
    handle: str = ""
    producers: dict[int, int] = field(default_factory=dict)  # who: pid
    published: dict[int, int] = field(default_factory=dict)  # who: rows
    finished: set[int] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    closed_rows: int | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)
    ended_at: float = 0

    def __post_init__(self) -> None:
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self.changed:
                self._hear(*line.rstrip("\n").split(" ", 1))
                self.changed.notify_all()
        with self.changed:
            self.ended_at = time.monotonic()
            self.changed.notify_all()

    def _hear(self, word: str, rest: str = "") -> None:
        numbers = [int(number) for number in re.findall(r"^-?\d+|\d+$", rest)]
        match word:
            case "handle":
                self.handle = rest
            case "process":
                self.producers[numbers[0]] = numbers[1]
            case "rows":
                self.published[numbers[0]] = numbers[1]
            case "finished":
                self.finished.add(numbers[0])
            case "closing":
                self.closing.set()
            case "closed":
                self.closed_rows = numbers[0]
            case "error":
                self.errors.append(rest)

    def wait_for_handle(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.handle or self.ended_at, timeout=120)

    def wait_for_rows(self, rows: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: sum(self.published.values()) >= rows or self.ended_at, timeout=120)

    def kill(self) -> None:
        """Kills all processes at once, and waits until none can report anything any more."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        self.listener.join(timeout=120)
        assert not self.listener.is_alive(), "processes of the run do not end"
        self.process.wait(timeout=120)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def segments(self) -> list[str]:
        return [name.name for name in Path("/dev/shm").glob(self.handle + "*")] if self.handle else []

    def drop_shared_memory(self) -> None:
        """Does to it what a restart of the machine does."""
        for name in self.segments():
            (Path("/dev/shm") / name).unlink()

    def expect_nothing_left(self) -> None:
        assert not self.segments()
        assert not Path(f"{self.path}.journal").exists()
        end_s = time.monotonic() + 60  # a process that has sent its last line may still be ending
        while left := [who for who, pid in self.producers.items() if is_running(pid)]:
            assert time.monotonic() < end_s, left
            time.sleep(0.01)
