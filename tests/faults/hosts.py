"""A host with several handlers for the tests of `thalweg readout host`. Each handler has a card and a collector of its
own, so that what happens to one of them can reach the others only through the host."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from readout_judge import expect_right
from readout_programs import CONFIGURATION, GROUP, THALWEG, Program, free_ports, wait_for

from thalweg._readout.host.groups import ControlGroups

GROUPS, LINKS = 2, 3
PATIENCE_S = 240
HANDLER = """
[[handler]]
name = "dh{number}"
card = "{card}"
dma = 0
listen = "127.0.0.1:{port}"
[handler.server]
threads = 1
{hook}
"""


@dataclass
class OfHandler:
    """What the judge of files knows of a readout: here it is one handler."""

    sources: list[int]
    links: int = LINKS


@dataclass
class Host:
    folder: Path
    name: str
    handlers: int = 2
    hooks: dict[int, str] = field(default_factory=dict)  # the table [handler.hook] of some handlers
    prefix: Sequence[object] = ()  # words before each command, such as those of nsenter
    programs: list[Program] = field(default_factory=list)

    def __post_init__(self) -> None:
        *self.ports, self.metrics_port = free_ports(self.handlers + 1)
        self._numbers = itertools.count()
        self.sockets = tempfile.mkdtemp(prefix="hosts-")  # a supervisor that is killed leaves its folder here
        parts = [CONFIGURATION.format(index="", server="", lease="20s")]
        for number in range(self.handlers):
            hook = self.hooks.get(number, "")
            parts.append(HANDLER.format(number=number, card=self.card_name(number), port=self.ports[number], hook=hook))
            for source in self.judged(number).sources:
                links = list(range(source * LINKS, (source + 1) * LINKS))
                parts.append(GROUP.format(source_id=source, elinks=links))
        self.config.write_text("".join(parts))

    @property
    def config(self) -> Path:
        return self.folder / f"{self.name}.toml"

    @property
    def socket(self) -> Path:
        return self.folder / "host.sock"

    def card_name(self, number: int) -> str:
        return f"{self.name}-{number}"

    def judged(self, number: int) -> OfHandler:
        return OfHandler(list(range(number * GROUPS, (number + 1) * GROUPS)))

    # Programs

    def start(self, *words: object) -> Program:
        started = Program(
            self.folder / f"{self.name}-{next(self._numbers)}",
            *self.prefix,
            "env",
            f"TMPDIR={self.sockets}",
            THALWEG,
            *words,
        )
        self.programs.append(started)
        return started

    def supervisor(self, *options: object) -> Program:
        fixed = ["--metrics", f"127.0.0.1:{self.metrics_port}", "--control-socket", self.socket, "--json"]
        fixed += ["--drain", "60s", "--delay", "100ms", "--interval", "100ms"]
        return self.start("readout", "host", self.config, *fixed, *options)

    def card(self, number: int, *options: object) -> Program:
        links = GROUPS * LINKS
        words = ["--name", self.card_name(number), "--elinks", links, "--first-elink", number * links]
        words += ["--packet-bytes", "8-40", "--rate", "4kHz", "--buffer-size", "1MiB"]
        return self.start("readout", "emulate", *words, "--tally", self.tally(number), *options)

    def collector(self, number: int) -> Program:
        address = f"127.0.0.1:{self.ports[number]}"
        return self.start("readout", "collect", "--handler", address, "--out", self.file(number), "--json")

    def tally(self, number: int) -> Path:
        return self.folder / f"tally{number}.json"

    def file(self, number: int) -> Path:
        return self.folder / f"run{number}.root"

    def processes(self) -> list[int]:
        """Returns the processes of handlers of this configuration, also if no supervisor is there."""
        return [pid for pid, words in _commands() if "serve" in words and str(self.config) in words]

    def process(self, number: int) -> int:
        (found,) = (pid for pid, words in _commands() if f"dh{number}" in words and str(self.config) in words)
        return found

    # Pages

    def ask(self, page: str, method: str = "GET", *, patience_s: float = 120) -> tuple[int, str]:
        connection = http.client.HTTPConnection("localhost", timeout=patience_s)
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(patience_s)
            connection.sock.connect(str(self.socket))
            connection.request(method, page)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def control(self, number: int, verb: str) -> tuple[int, str]:
        return self.ask(f"/control/dh{number}/{verb}", "POST")

    def metric(self, name: str, number: int, label: str = "") -> float:
        """Returns the sum of the samples of a handler. Before a run, or while it is away, it has none: 0."""
        lines = self.ask("/metrics")[1].splitlines()
        of_handler = f'handler="dh{number}"'
        mine = [line for line in lines if line.startswith(f"thalweg_{name}{{") and of_handler in line and label in line]
        return sum(float(line.rsplit(" ", 1)[1]) for line in mine)

    def wait_until_up(self, *numbers: int) -> None:
        supervisor = [program for program in self.programs if "host" in program.process.args][-1]
        for number in numbers:
            wait_for(
                lambda n=number: supervisor.has_ended or self.metric("host_handler_up", n) == 1,
                f"dh{number} is up",
                PATIENCE_S,
            )
            assert not supervisor.has_ended, supervisor.said

    def wait_for_progress(self, number: int, events: int = 4000) -> None:
        """Waits until so many more fragments of a handler are safe in its file."""
        enough = self.metric("readout_fragments_cleared_total", number) + GROUPS * events
        wait_for(
            lambda: self.metric("readout_fragments_cleared_total", number) >= enough, f"dh{number} goes on", PATIENCE_S
        )

    # Results

    def expect_nothing_lost(self, number: int, collector: Program) -> None:
        """Waits for the end of a collector. Checks that its file has every event that the card has sent, complete."""
        collector.end(seconds=PATIENCE_S)
        events = expect_right(self.file(number), self.judged(number))  # type: ignore[arg-type]
        sent = json.loads(self.tally(number).read_text())["events"]
        np.testing.assert_array_equal(np.unique(events.event) & 0xFFFFFFFF, np.arange(sent))
        assert (events.state == 0).all()

    def close(self) -> None:
        for number in range(self.handlers):
            with contextlib.suppress(ValueError, ProcessLookupError):
                os.kill(self.process(number), signal.SIGCONT)
        for program in self.programs:
            program.kill()
        for number in range(self.handlers):
            Path(f"/dev/shm/thalweg-felix-{self.card_name(number)}-0").unlink(missing_ok=True)
        shutil.rmtree(self.sockets, ignore_errors=True)
        ControlGroups().close()  # removes those of supervisors that were killed


MakeHost = Callable[..., Host]  # the fixture `make_host`


def facts_of(supervisor: Program, number: int) -> Any:
    return supervisor.answer["handlers"][number]


def hostile_hook(folder: Path, compiler: str, what: str) -> str:
    """Compiles tests/standins/hook, and returns the table of a handler that has it."""
    repository = Path(__file__).parents[2]
    library = folder / "hostile.so"
    source = repository / "tests" / "standins" / "hook" / "hostile.c"
    words = [compiler, "-O1", "-shared", "-fPIC", f"-I{repository}", source, "-o", library]
    subprocess.run([*map(str, words)], check=True)
    return f'[handler.hook]\nlibrary = "{library}"\nconfiguration = "{what}"\n'


def _commands() -> list[tuple[int, list[str]]]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if Path(words[0]).name.startswith("python") and "serve" in words:
                    found.append((int(entry.name), words))
    return found
