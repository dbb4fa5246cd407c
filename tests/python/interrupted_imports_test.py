"""Ctrl-C while the command is still being imported ends it without a traceback, and no other process is touched."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import THALWEG

# What the process has mapped when it imports NumPy, the core, and what lies between these and the command itself.
MOMENTS = ["_multiarray_umath", "thalweg/_core", "thalweg/_core", "thalweg/_core"]
COMMANDS = [[THALWEG], [sys.executable, "-m", "thalweg"]]


@pytest.mark.parametrize("command", COMMANDS, ids=["thalweg", "python -m thalweg"])
@pytest.mark.parametrize(("moment", "delay"), [*zip(MOMENTS, [0, 0, 0.02, 0.06], strict=True)])
def test_control_c_during_imports_says_nothing(command: list[str], moment: str, delay: float) -> None:
    process = subprocess.Popen([*command, "knobs", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and moment not in maps.read_text():
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode in (-signal.SIGINT, 0, 1)
    assert said in ("", "thalweg: interrupted\n")


def test_ignored_interrupts_stay_ignored() -> None:
    """As with nohup, or in the background of a script."""
    command = [sys.executable, "-m", "thalweg", "knobs", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and "thalweg/_core" not in maps.read_text():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0].startswith(b"[")
    assert process.returncode == 0


def test_who_imports_the_package_keeps_his_interrupts() -> None:
    program = (
        "import signal; handler = lambda *_: None; signal.signal(signal.SIGINT, handler); import thalweg.cli; "
        "assert signal.getsignal(signal.SIGINT) is handler"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
    program = "import signal, thalweg, thalweg.cli; assert signal.getsignal(2) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
