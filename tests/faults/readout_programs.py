"""Runs the programs of the readout for the tests of its faults, as processes of their own, and collects their
output."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

THALWEG = Path(sys.executable).with_name("thalweg")
RATE_AND_INDEX = """
[readout]
expected_rate = "10kHz"
[index]
events = 16384
window_events = 512
close_after_events = 256
close_after = "20s"
dead_after = "20s"
"""
CONFIGURATION = f"""{RATE_AND_INDEX}{{index}}
[server]
lease = "{{lease}}"
outstanding_events = 4096
{{server}}
"""
HANDLER = """
[[handler]]
name = "dh{number}"
card = "{card}"
dma = {number}
listen = "127.0.0.1:{port}"
metrics = "127.0.0.1:{metrics_port}"
[handler.server]
threads = 1
"""
GROUP = """
[[handler.group]]
source_id = {source_id}
elinks = {elinks}
"""


def free_ports(count: int) -> list[int]:
    """Returns free ports: a handler that is restarted must listen where it did.

    The kernel gives none of these to clients; otherwise a port could be taken while the handler is away, even by its
    own clients.
    """
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    candidates = [port for port in range(10_000, 65_000) if not first <= port <= last]
    ports: list[int] = []
    while len(ports) < count:
        port = random.choice(candidates)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
        candidates.remove(port)
    return ports


def wait_for(condition: Callable[[], object], what: str, seconds: float = 120) -> None:
    end_s = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end_s, f"after {seconds} s: {what}"
        time.sleep(0.02)


class Program:
    """A program, and its output."""

    def __init__(self, name: Path, *command: object) -> None:
        self._out, self._err = name.with_suffix(".out"), name.with_suffix(".err")
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [*map(str, command)], stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def said(self) -> str:
        return self._err.read_text()

    @property
    def result(self) -> str:
        return self._out.read_text()

    @property
    def answer(self) -> Any:
        return json.loads(self._out.read_text())

    def wait_for(self, text: str, seconds: float = 120) -> None:
        wait_for(lambda: text in self.said or self.has_ended, f"it never said '{text}'", seconds)
        assert text in self.said, self.said

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def stop(self, *codes: int) -> Program:
        """Asks the program to end, and checks that it ends with one of these codes (default: 0)."""
        self.terminate()
        return self.end(*codes)

    def end(self, *codes: int, seconds: float = 120) -> Program:
        """Checks that the program ends by itself, in time, and with one of these codes (default: 0)."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.process.args!r}\n{self.said}") from None
        ended = f"{self.process.args!r} ended with {self.process.returncode}\n{self.said}"
        assert self.process.returncode in (codes or (0,)), ended
        assert "Traceback" not in self.said, ended
        return self


def stop_all(*programs: Program) -> None:
    """Ends the programs one after the other, each when the one before has ended: first a card, then its reader."""
    for each in programs:
        each.stop()


@dataclass
class Readout:
    """A card, its handlers and collectors, in one folder."""

    folder: Path
    card_name: str
    handlers: int = 1
    groups: int = 2  # in each handler
    links: int = 3  # in each group
    index: str = ""  # more keys of the configuration
    server: str = ""
    token: str = ""
    lease: str = "20s"
    programs: list[Program] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ports = free_ports(2 * self.handlers)
        self._numbers = itertools.count()
        self.config.write_text(self._configuration())

    @property
    def config(self) -> Path:
        return self.folder / f"{self.card_name}.toml"

    def _configuration(self) -> str:
        server = self.server + (f'\ntoken = "{self.token}"' if self.token else "")
        parts = [CONFIGURATION.format(index=self.index, server=server, lease=self.lease)]
        for number in range(self.handlers):
            ports = {"port": self._ports[2 * number], "metrics_port": self._ports[2 * number + 1]}
            parts.append(HANDLER.format(number=number, card=self.card_name, **ports))
            first_group = number * self.groups
            parts += [
                GROUP.format(source_id=source, elinks=self.elinks_of(source))
                for source in range(first_group, first_group + self.groups)
            ]
        return "".join(parts)

    def elinks_of(self, source_id: int) -> list[int]:
        return list(range(source_id * self.links, (source_id + 1) * self.links))

    @property
    def sources(self) -> list[int]:
        return list(range(self.handlers * self.groups))

    def port(self, which: int = 0) -> int:
        """Returns port `index`. 0: the first handler's server; 1: its metrics; 2: the second handler's server; and
        so on."""
        return self._ports[which]

    def address(self, handler: int = 0) -> str:
        return f"127.0.0.1:{self.port(2 * handler)}"

    def use_card_of(self, other: Readout) -> None:
        self.config.write_text(self.config.read_text().replace(self.card_name, other.card_name))

    def start(self, *words: object, program: object = THALWEG) -> Program:
        started = Program(self.folder / f"{self.card_name}-{next(self._numbers)}", program, *words)
        self.programs.append(started)
        return started

    def card(self, *options: object, rate: str = "4kHz") -> Program:
        fixed = ["--name", self.card_name, "--buffers", self.handlers, "--elinks", len(self.sources) * self.links]
        sizes = ["--packet-bytes", "8-40", "--rate", rate, "--buffer-size", "1MiB"]
        return self.start("readout", "emulate", *fixed, *sizes, *options)

    def handler(self, number: int = 0, *options: object) -> Program:
        return self.start("readout", "serve", "--config", self.config, "--handler", f"dh{number}", "--json", *options)

    def collector(self, name: str, *options: object) -> Program:
        return self.start(*self.collect(self.folder / name, *options))

    def collect(self, path: Path, *options: object) -> list[object]:
        return ["readout", "collect", "--config", self.config, "--out", path, "--json", *options]

    def recover(self, name: str) -> None:
        self.start("recover", self.folder / name).end()

    def run(self, name: str, *, rate: str = "4kHz") -> tuple[Program, list[Program], Program]:
        """Starts a card, all handlers, and a collector that already has events in its file."""
        card = self.card("--tally", self.folder / "tally.json", rate=rate)
        handlers = [self.handler(number) for number in range(self.handlers)]
        collector = self.collector(name)
        self.wait_for_clears()
        return card, handlers, collector

    def ask(self, path: str, handler: int = 0, *, post: bool = False) -> tuple[int, str]:
        """Sends a GET or POST to the handler's monitor."""
        url = f"http://127.0.0.1:{self.port(2 * handler + 1)}{path}"
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(url, data=b"" if post else None, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def control(self, verb: str, handler: int = 0) -> int:
        return self.ask(f"/control/{verb}", handler, post=True)[0]

    def metric(self, name: str, label: str = "", handler: int = 0) -> float:
        """Returns the sum over all labels, or over those that contain this text."""
        lines = self.ask("/metrics", handler)[1].splitlines()
        mine = (line for line in lines if line.startswith(f"thalweg_readout_{name}{{") and label in line)
        return sum(float(line.split()[-1]) for line in mine)

    def wait_for_clears(self, more: int = 2, seconds: float = 120) -> None:
        """Waits until so many more ranges are safe in files."""
        enough = self.metric("requests_total", '"clear"') + more
        wait_for(lambda: self.metric("requests_total", '"clear"') >= enough, f"{more} ranges are safe", seconds)

    @property
    def tally(self) -> Any:
        return json.loads((self.folder / "tally.json").read_text())

    def close(self) -> None:
        for program in self.programs:
            program.kill()
        for number in range(self.handlers):
            Path(f"/dev/shm/thalweg-felix-{self.card_name}-{number}").unlink(missing_ok=True)


def card_name() -> str:
    return f"faults-{os.getpid()}-{next(_cards)}"


_cards = itertools.count()

Make = Callable[..., Readout]  # the fixture `make`
