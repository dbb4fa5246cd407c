"""Several machines on this one: each with its own host name, pids, /dev/shm, System V IPC and boot id.

They share the disk, and one kernel: what a machine had not yet synced when it lost its power is not seen here. What a
client of a network file system caches is seen if each has its own view of the folder (`see_through_cache`).
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_UNSHARE = ["--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
_SETUP = """set -e
mount --make-rprivate /
hostname "$1"
mount -t tmpfs tmpfs /dev/shm
mount --bind "$2" /proc/sys/kernel/random/boot_id
touch "$3"
exec sleep infinity
"""
_SECONDS = 20.0


@functools.cache
def why_not() -> str:
    """Why there can be no such machines here; empty: there can."""
    try:
        probe = subprocess.run([*_as_root(), "true"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if probe.returncode == 0 else probe.stderr.strip()


def _as_root() -> list[str]:
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own, *_UNSHARE]


class Machine:
    """hours: what its clock of running time is ahead by. (All namespaces of a kernel have one clock of the day.)"""

    def __init__(self, name: str, folder: Path, hours: int = 0) -> None:
        self.name = name
        self._clock = ["-T"] if hours else []
        self._started: list[subprocess.Popen[str]] = []
        boot, up = folder / f"{name}.boot", folder / f"{name}.up"
        boot.write_text(f"{uuid.uuid4()}\n")
        ahead = ["--time", "--monotonic", str(3600 * hours), "--boottime", str(3600 * hours)] if hours else []
        arguments = [*_as_root(), *ahead, "sh", "-c", _SETUP, "sh", name, str(boot), str(up)]
        self._outer = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
        end = time.monotonic() + _SECONDS
        while not up.exists():
            if self._outer.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the machine {name} does not start")
            time.sleep(0.01)
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
        self._first_pid = int(children[0])

    @property
    def enter(self) -> list[str]:
        """What stands in front of a command that is run there."""
        user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self._first_pid), *user, "-m", "-u", "-i", "-p", *self._clock]

    def start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([*self.enter, *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._started.append(process)
        return process

    def run(self, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        process = self.start(*command)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def make_read_only(self, folder: Path) -> None:
        script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
        assert self.run("sh", "-c", script, "sh", str(folder)).returncode == 0

    def see_through_cache(self, folder: Path, seconds: float) -> None:
        """The machine sees the folder through a file system of its own from now on, which keeps for so long what it has
        found: attributes, names, and that a name is missing."""
        options = ",".join(f"{what}_timeout={seconds}" for what in ("attr", "entry", "negative"))
        mounted = self.run("bindfs", "-o", options, str(folder), str(folder))
        assert mounted.returncode == 0, mounted.stderr

    def kill(self) -> None:
        """As if the power were cut, but for the page cache: all its processes are gone, and its memory."""
        if self._outer.poll() is None:
            os.kill(self._first_pid, signal.SIGKILL)
        self._outer.wait()

    def forget(self) -> None:
        """Waits for all processes of a killed machine that were not waited for."""
        for process in self._started:
            process.wait(_SECONDS)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


@contextmanager
def machines(count: int, hours: int = 0) -> Iterator[Sequence[Machine]]:
    """hours: what each one's clock is ahead of the one before."""
    with tempfile.TemporaryDirectory(prefix="thalweg-nodes-") as folder:
        started: list[Machine] = []
        try:
            for number in range(1, count + 1):
                started.append(Machine(f"machine{number}", Path(folder), hours * (number - 1)))
            yield started
        finally:
            for machine in started:
                machine.kill()
                machine.forget()


Make = Callable[..., Sequence[Machine]]
