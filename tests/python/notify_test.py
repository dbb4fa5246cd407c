"""What systemd hears from the services: a datagram socket of the test takes the place of systemd's."""

import contextlib
import fcntl
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording import THALWEG

from thalweg._base.notify import Notifier

F_SETPIPE_SZ = 1031
PATIENCE_S = 120.0
WATCHDOG = {"WATCHDOG_USEC": "600000"}


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(PATIENCE_S)
        yield listener


def until(heard: socket.socket, sign: str) -> list[str]:
    """Returns the messages up to the first one that has this line."""
    messages: list[str] = []
    while not messages or sign not in messages[-1].splitlines():
        messages.append(heard.recv(65536).decode())
    return messages


def words(program: str, folder: Path) -> list[str]:
    config = subprocess.run(
        [THALWEG, "readout", "serve", "--dump-config"], capture_output=True, text=True, check=True
    ).stdout
    text = re.sub(r'127\.0\.0\.1:\d+"', '127.0.0.1:0"', config).replace("felix0", f"notify{os.getpid()}")
    (folder / "readout.toml").write_text(text)
    live = ["--interval", "1ms"]
    return {
        "handler": [THALWEG, "readout", "serve", "--config", str(folder / "readout.toml"), *live],
        "collector": [
            *(THALWEG, "readout", "collect", "--handler", "127.0.0.1:9"),
            *("--out", str(folder / "events.h5"), *live),
        ],
        "record": [
            *(THALWEG, "record", "--out", str(folder / "run.h5"), "--channels", "1", "--rate", "100Hz"),
            *("--metrics", "0", *live),
        ],
    }[program]


@contextlib.contextmanager
def service(
    program: str, folder: Path, stderr: int = subprocess.DEVNULL, address: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | WATCHDOG | {"NOTIFY_SOCKET": address or str(folder / "notify")}
    process = subprocess.Popen(words(program, folder), env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


PROGRAMS = ("handler", "collector", "record")
ENDS_WITH = {"handler": 0, "collector": 1, "record": 0}  # the collector has no handler, which is a problem


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_service_says_that_it_is_ready_lives_hangs_and_stops(
    program: str, tmp_path: Path, heard: socket.socket
) -> None:
    """The main loop hangs in a write to a pipe that is not read. Other threads go on, and a timer's messages would."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
    with service(program, tmp_path, writing) as process, os.fdopen(reading, "rb") as said:
        os.close(writing)
        first = until(heard, "READY=1")
        assert len(first) == 1
        assert re.search(r"^STATUS=\w", first[0], re.MULTILINE)
        assert "STATUS=" in until(heard, "WATCHDOG=1")[-1]
        heard.settimeout(3)  # 15 times the time between two messages
        with pytest.raises(TimeoutError):
            until(heard, "it is never said")
        assert process.poll() is None
        threading.Thread(target=said.read, daemon=True).start()
        heard.settimeout(PATIENCE_S)
        until(heard, "WATCHDOG=1")
        process.send_signal(signal.SIGTERM)
        until(heard, "STOPPING=1")
        assert process.wait(PATIENCE_S) == ENDS_WITH[program]


def test_an_abstract_socket_is_told(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0thalweg-notify-{os.getpid()}")
        listener.settimeout(PATIENCE_S)
        with service("handler", tmp_path, address=f"@thalweg-notify-{os.getpid()}"):
            until(listener, "READY=1")


def test_the_variables_are_not_for_programs_that_a_service_starts(heard: socket.socket, tmp_path: Path) -> None:
    environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "A": "b"}
    notifier = Notifier(environment)
    assert environment == {"A": "b"}
    notifier.alive(lambda: "two\nlines")  # WATCHDOG_PID is another process: there is no watchdog for this one
    assert heard.recv(100) == b"STATUS=two lines"


def test_a_socket_that_is_gone_is_said_and_ends_nothing(tmp_path: Path) -> None:
    with service("handler", tmp_path, subprocess.PIPE, str(tmp_path / "gone")) as process:
        assert process.stderr
        with process.stderr:
            assert any(b"systemd is told nothing" in line for line in process.stderr)
        assert process.poll() is None


def test_a_manager_that_does_not_read_stops_nothing(heard: socket.socket, tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    for number in range(10_000):
        notifier.ready(f"message {number}")
    assert notifier.problem == ""
    heard.recv(100)


def test_what_was_not_taken_at_once_is_told_later(heard: socket.socket, tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, contextlib.suppress(BlockingIOError):
        other.setblocking(False)
        while True:
            other.sendto(b"of another service", str(tmp_path / "notify"))
    notifier.ready("begins")
    with contextlib.suppress(TimeoutError):
        heard.settimeout(0.2)
        while True:
            assert heard.recv(100) == b"of another service"
    notifier.alive(lambda: "goes on")
    assert heard.recv(100) == b"READY=1\nSTATUS=goes on"
    notifier.alive(lambda: "nothing is due")
    with pytest.raises(TimeoutError):
        heard.recv(100)


def test_without_systemd_nothing_is_sent() -> None:
    notifier = Notifier({})
    notifier.ready("ready")
    notifier.alive(lambda: pytest.fail("no status is needed"))
    assert notifier.problem == ""
    assert Notifier({"NOTIFY_SOCKET": "vsock:2:9"}).problem.startswith("NOTIFY_SOCKET is vsock")
