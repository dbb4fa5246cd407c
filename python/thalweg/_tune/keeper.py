"""Ends the processes of a trial if the trial itself is killed. They are known by a variable, which they inherit.

It runs as a program of its own: keeper.py MARK. It waits until its standard input ends, which it does with the trial.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

VARIABLE = "THALWEG_TUNE"


def start(mark: str) -> int:
    """Starts the keeper, which is no child of this process. Returns the file that keeps it waiting."""
    reading, writing = os.pipe()
    try:
        subprocess.run([sys.executable, "-I", "-S", __file__, mark], stdin=reading, check=True, start_new_session=True)
    finally:
        os.close(reading)
    return writing


def end_marked(mark: str) -> None:
    """Ends all processes with this mark, and returns when none is left."""
    while found := [pid for pid in _processes() if _has(pid, mark)]:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _has(pid: int, mark: str) -> bool:
    """Whether the process has the mark. One that has ended, or belongs to another user, has none. Raises OSError if the
    machine cannot say it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{VARIABLE}={mark}".encode() in file.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


if __name__ == "__main__":
    if os.fork() == 0:
        os.read(0, 1)
        end_marked(sys.argv[1])
