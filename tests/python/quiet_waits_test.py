"""A quiet program that waits for another one says so: otherwise it looks as if it hung."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg._readout import configuration
from thalweg._readout.live import LiveLine, Waits

THALWEG = str(Path(sys.executable).with_name("thalweg"))
PATIENCE_S = 120


@pytest.fixture
def nothing_there() -> Iterator[str]:
    """An address at which no process listens, and none can begin to."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_a_quiet_program_says_for_what_it_waits(tmp_path: Path, nothing_there: str) -> None:
    name = f"quiet-{os.getpid()}"
    config = tmp_path / "readout.toml"
    text = configuration.dump_default(2, 1, 1, packet_bytes=24, mode="build")
    config.write_text(text.replace("felix0", f"{name}-none").replace(":7700", ":0").replace(":7800", ":0"))
    programs = {
        "no handler reads " + name: ["emulate", "--name", name, "--elinks", "2", "--events", "9", "--rate", "max"],
        "waiting for the card: handler dh0 has no card": ["serve", "--config", config],
        f"waiting for {nothing_there} (": ["collect", "--handler", nothing_there, "--out", tmp_path / "run.h5"],
    }
    said = {sentence: (tmp_path / words[0]) for sentence, words in programs.items()}  # type: ignore[operator]
    running = []
    for sentence, words in programs.items():
        with said[sentence].open("w") as err:
            command = [THALWEG, "readout", *map(str, words), "--quiet"]
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err))
    try:
        end_s = time.monotonic() + PATIENCE_S
        while missing := [sentence for sentence in programs if sentence not in said[sentence].read_text()]:
            assert time.monotonic() < end_s, (missing, [path.read_text() for path in said.values()])
            assert [process.poll() for process in running] == [None] * 3
            time.sleep(0.1)
        time.sleep(1)
        for sentence, path in said.items():
            assert path.read_text().count(sentence) == 1  # and not a line a second
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(PATIENCE_S)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_wait_is_said_once_and_so_is_its_end(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    waits = Waits(LiveLine(quiet=quiet))

    def look(until_s: float, waiting: str) -> str:
        nonlocal now_s
        while now_s < until_s:
            now_s += 0.5
            waits.look(waiting, "it goes on")
        return "".join(line.partition(" ")[2] for line in capsys.readouterr().err.splitlines(keepends=True))

    expected = iter(["", "", "it waits\n", "", "it goes on\n", ""])
    for until_s, waiting in [(104, "it waits"), (105, ""), (111, "it waits"), (200, "it waits"), (210, ""), (300, "")]:
        found = look(until_s, waiting)
        assert found == (next(expected) if quiet else "")


def test_a_line_that_stays_the_same_comes_more_and_more_rarely(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    live = LiveLine()

    def shown(sentence: str, until_s: float) -> list[str]:
        nonlocal now_s
        while now_s < until_s:
            now_s += 0.5
            live.show(sentence)
        return [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]

    lines = shown("no card", 1000)
    assert lines[:4] == ["no card", "no card (for 1.0 s)", "no card (for 3.0 s)", "no card (for 7.0 s)"]
    assert 15 <= len(lines) <= 25  # not 900
    assert shown("it reads", 1001) == ["it reads"]
    assert shown("no card", 1003)[0] == "no card"
