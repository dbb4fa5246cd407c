"""`thalweg record` in a terminal: Ctrl-C at every moment, keys, and what stands on the screen."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import thalweg as tw

COMMAND = [sys.executable, "-m", "thalweg", "record", "--channels", "2", "--rate", "500Hz", "--duration", "60s"]


class Terminal:
    def __init__(self, *words: str) -> None:
        self._main, side = pty.openpty()
        self._process = subprocess.Popen(
            [*COMMAND, *words], stdin=side, stdout=side, stderr=side, preexec_fn=lambda: _own_terminal(side)
        )
        os.close(side)
        self.said = ""

    def look(self, seconds: float) -> None:
        """Reads for so long, or until the program has ended."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            if select.select([self._main], [], [], rest)[0]:
                try:
                    self.said += os.read(self._main, 1 << 16).decode(errors="replace")
                except OSError:  # no process has it open any more
                    return

    def wait_for(self, pattern: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not re.search(pattern, self.said):
            assert time.monotonic() < end, self.said
            self.look(0.02)

    def press(self, keys: bytes) -> None:
        os.write(self._main, keys)

    def end(self) -> int:
        self.look(120)
        code = self._process.wait(timeout=60)
        os.close(self._main)
        return code


def _own_terminal(side: int) -> None:
    os.setsid()
    import fcntl
    import termios

    fcntl.ioctl(side, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1, 0.2, 0.4, 0.6, 0.9, 1.4])
def test_control_c_at_the_start_leaves_nothing_or_a_whole_file(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "run.h5"
    terminal = Terminal("--out", str(path))
    terminal.wait_for("Starting")
    terminal.look(delay)
    terminal.press(b"\x03")
    code = terminal.end()
    assert "Traceback" not in terminal.said, terminal.said
    if path.exists():
        assert code == 0, terminal.said
        assert not tw.open(path).is_open
    else:
        assert code == 1
        assert "nothing was recorded (the run was interrupted while it started)" in terminal.said
    assert list(tmp_path.glob("*journal*")) == []


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05, 0.1, 0.2])
def test_twice_while_it_is_closed_says_what_happened(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "run.h5"
    terminal = Terminal("--out", str(path))
    terminal.wait_for("Recording")
    terminal.look(0.5)
    terminal.press(b"\x03")
    terminal.look(delay)
    terminal.press(b"\x03")
    code = terminal.end()
    assert "Traceback" not in terminal.said, terminal.said
    text = " ".join(terminal.said.split())
    is_open = tw.open(path).is_open
    if code == 0:
        assert not is_open
        assert "adler32" in text
    else:
        assert "abandoned on the second interrupt" in text
        # Closing goes on until the process ends, which may be before or after the file is complete.
        assert "may not be complete" in text or (is_open and "is not complete" in text)
        if is_open:
            tw.recover(path)
    assert not tw.open(path).is_open


def test_control_c_when_all_is_done_changes_nothing() -> None:
    program = (
        "import atexit, os, signal, sys\n"
        "import thalweg.cli\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['thalweg', '--version']\n"
        "thalweg.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_keys_do_not_echo_from_the_start_on(tmp_path: Path) -> None:
    terminal = Terminal("--out", str(tmp_path / "run.h5"))
    terminal.wait_for("Starting")
    terminal.press(b"xqx")
    terminal.wait_for("Recording")
    terminal.press(b"\x03")
    assert terminal.end() == 0, terminal.said
    assert "xqx" not in terminal.said
