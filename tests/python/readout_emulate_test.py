"""`thalweg readout emulate` as a process of its own, read by plain Python."""

import contextlib
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "import thalweg.cli; thalweg.cli.main()", "readout", "emulate"]
HEAD_BYTES, ODD = 4096, 1 << 63
WRITE_POINTER, HEARTBEAT, STOPPED, READ_POINTER = 64, 128, 136, 192


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"test-{os.getpid()}-{abs(hash(request.node.name)) % 10**6}"


@pytest.fixture
def start(name: str) -> Iterator[Start]:
    """Starts a card; none of them outlives the test."""
    with contextlib.ExitStack() as started:

        def start_one(*options: str) -> subprocess.Popen[str]:
            command = [*COMMAND, "--name", name, *options]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            started.enter_context(process)
            started.callback(process.kill)
            return process

        yield start_one


class Buffer:
    """The DMA buffer as docs/formats/felix.md describes it, and its only reader."""

    def __init__(self, name: str, patience_s: float = 120) -> None:
        path = Path(f"/dev/shm/thalweg-felix-{name}-0")
        end_s = time.monotonic() + patience_s
        while not self._is_ready(path):
            assert time.monotonic() < end_s, f"{path} does not appear"
            time.sleep(0.01)
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.buffer_bytes, self.block_bytes = struct.unpack_from("<QI", self.memory, 8)

    @staticmethod
    def _is_ready(path: Path) -> bool:
        try:
            with path.open("rb") as file:
                return file.read(8) == b"THWFDMA1"
        except OSError:
            return False

    def word(self, offset: int) -> int:
        return int.from_bytes(self.memory[offset : offset + 8], "little")

    def take(self) -> list[bytes]:
        """All blocks that are there; they are the card's again."""
        write, read = self.word(WRITE_POINTER), self.word(READ_POINTER)
        begin, end = read & ~ODD, write & ~ODD
        offsets = range(begin, end + (self.buffer_bytes if (write ^ read) & ODD else 0), self.block_bytes)
        starts = [HEAD_BYTES + offset % self.buffer_bytes for offset in offsets]
        blocks = [self.memory[at : at + self.block_bytes] for at in starts]
        self.memory[READ_POINTER : READ_POINTER + 8] = write.to_bytes(8, "little")
        return blocks

    def take_all(self) -> list[bytes]:
        blocks: list[bytes] = []
        while True:
            is_last = self.word(STOPPED)
            taken = self.take()
            blocks += taken
            if is_last and not taken:
                return blocks
            time.sleep(0.001)


def test_sends_so_many_events_and_says_so(start: Start, name: str, tmp_path: Path) -> None:
    tally = tmp_path / "sent.json"
    options = ("--events", "20000", "--elinks", "3", "--rate", "max", "--buffer-size", "1MiB")
    process = start(*options, "--tally", str(tally), "--json")
    blocks = Buffer(name).take_all()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    report = json.loads(out)
    assert report["events"] == 20_000
    assert report["packets"] == 60_000
    assert report["unread_bytes"] == 0
    assert report["blocks"] == len(blocks)
    written = json.loads(tally.read_text())
    assert [link["packets"] for link in written["links"]] == [20_000] * 3
    assert [link["elink"] for link in written["links"]] == [0, 1, 2]
    for elink in range(3):
        headers = [int.from_bytes(block[:4], "little") for block in blocks]
        mine = [header >> 11 & 31 for header in headers if header & 0x7FF == elink]
        assert mine == [index % 32 for index in range(len(mine))]
        assert len(mine) == written["links"][elink]["blocks"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_whole_events(start: Start, name: str, number: int) -> None:
    process = start("--rate", "50kHz", "--faults", "all=1e-4,stuck_pointer=0")
    buffer = Buffer(name)
    while not buffer.take():
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert f"{name} sent" in out
    assert f"{name} sent" not in err
    assert "Traceback" not in err
    assert not Path(f"/dev/shm/thalweg-felix-{name}-0").exists()


def test_waits_for_a_reader_until_it_is_told_not_to(start: Start, name: str) -> None:
    process = start("--events", "100", "--rate", "max")
    buffer = Buffer(name)
    while not buffer.word(STOPPED):
        time.sleep(0.01)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "are left in the buffers, for handlers that still run" in out


def test_of_a_killed_card_nothing_stands_in_the_way(start: Start, name: str) -> None:
    process = start("--rate", "10kHz")
    buffer = Buffer(name)
    second = start("--rate", "10kHz")
    _, err = second.communicate(timeout=120)
    assert second.returncode == 2
    assert f"the card of process {process.pid} does" in err
    process.kill()
    process.wait()
    again = start("--events", "10", "--duration", "60s")
    while buffer.word(HEARTBEAT):  # a reader of the old one sees that
        time.sleep(0.01)
    Buffer(name).take_all()
    assert again.wait(timeout=120) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--faults", "crcs=1"), "there is no fault 'crcs'"),
        (("--packet-bytes", "4"), "too small"),
        (("--rate", "fast"), "'fast' is not a frequency"),
        (("--rate", "0Hz"), "no events"),
        (("--block-format", "abcd", "--block-size", "4KiB"), "its blocks have 1024 bytes"),
        (("--elinks", "3000"), "cannot have 3000 e-links"),
        (("--name", "a/b"), "cannot be called 'a/b'"),
    ],
)
def test_wrong_requests(options: tuple[str, ...], said: str) -> None:
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
