"""`thalweg watch` as a child process, and a viewer that keeps what it sends."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from serving import Shown, shown
from websockets.sync.client import ClientConnection, connect

import thalweg as tw
from thalweg import tdpac
from thalweg._hits.histogram import BINS


@dataclass
class Viewer:
    """Does what the page does with messages."""

    socket: ClientConnection
    layout: list[dict[str, Any]] = field(default_factory=list)
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    parts: dict[str, Any] = field(default_factory=dict)
    streams: dict[str, Any] = field(default_factory=dict)
    proposal: dict[str, Any] | None = None
    applied: dict[str, Any] | None = None
    sizes: list[int] = field(default_factory=list)

    def take(self, timeout: float = 60) -> None:
        message = self.socket.recv(timeout=timeout)
        assert isinstance(message, bytes)
        self.sizes.append(len(message))
        length = int.from_bytes(message[:4], "little")
        head = json.loads(message[4 : 4 + length])
        numbers = message[4 + length :]
        if "layout" in head:
            self.layout = head["layout"]
            self.values = np.zeros(sum(each["length"] for each in self.layout))
        if head["whole"]:
            self.values[:] = np.frombuffer(numbers, "<" + head["kind"])
        else:
            count = head["count"]
            places = np.frombuffer(numbers, "<u4", count)
            at = 4 * count + (4 * count % 8 if head["kind"] == "f8" else 0)
            self.values[places] = np.frombuffer(numbers, "<" + head["kind"], count, at)
        self.proposal = head.get("proposal", self.proposal)
        self.applied = head.get("applied", self.applied)
        self.parts |= {name: head[name] for name in ("status", "scopes", "fit", "read_only") if name in head}
        self.streams |= {name[7:]: part for name, part in head.items() if name.startswith("stream:")}

    def until(self, condition: Callable[[], bool], within_s: float = 60) -> None:
        end = time.monotonic() + within_s
        while not ("status" in self.parts and condition()):
            assert time.monotonic() < end, self.parts
            self.take()

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.parts["status"])

    @property
    def rows(self) -> dict[str, int]:
        return {each["name"]: each["rows"] for each in self.status["tables"]}

    def kinds(self) -> set[tuple[str, str]]:
        return {(each["kind"], each["table"]) for each in self.status["alarms"]}

    def blocks(self, of: str) -> dict[Any, np.ndarray]:
        """The histograms by table, or by start and stop."""
        found, at = {}, 0
        for each in self.layout:
            part = self.values[at : at + each["length"]]
            at += each["length"]
            if each["of"] == of:
                found[each["table"] if of == "energies" else (each["start"], each["stop"])] = part
        return found


@contextlib.contextmanager
def viewer(server: Shown, path: str = "live", **headers: str) -> Iterator[Viewer]:
    url = server.url.replace("http", "ws", 1) + path
    with connect(url, additional_headers=headers, compression=None, max_size=None) as socket:
        yield Viewer(socket)


def watched(run: Path | str, *options: object, code: int = 0, said: str = "") -> AbstractContextManager[Shown]:
    """Watches it with the priority of the test itself: a full machine has no idle time for minutes."""
    return shown(run, *options, "--priority", "normal", command="watch", code=code, said=said)


def counted(run: Path, config: str) -> tuple[tdpac.Spectra, dict[str, np.ndarray]]:
    """What the closed run has, counted by other code."""
    parsed = tdpac.parse_config(config)
    spectra = tdpac.count(str(run), parsed, parsed.delays_ps)
    energies, end = {}, 1.3 * parsed.stop[1]
    while True:
        with tw.open(run) as opened:
            for name in spectra.tables:
                of_table = opened[name].read(["energy"])["energy"].astype(np.float64)
                found = np.histogram(of_table[(of_table >= 0) & (of_table < end)], BINS, (0, end))[0]
                energies[name] = energies.get(name, 0) + found
            following = opened.metadata.get("next_file")
        if not following:
            return spectra, energies
        run = run.with_name(following)


def check_equal(page: Viewer, run: Path, config: str) -> None:
    spectra, energies = counted(run, config)
    pairs = page.blocks("pair")
    assert len(pairs) == len(spectra.tables) * (len(spectra.tables) - 1)
    for start, first in enumerate(spectra.tables):
        for stop, second in enumerate(spectra.tables):
            if start != stop:
                np.testing.assert_array_equal(pairs[first, second], spectra.counts[start, stop])
    assert page.status["coincidences"] == spectra.counts.sum() > 100
    found = page.blocks("energies")
    for name, expected in energies.items():
        # An energy at the edge of a bin may be in either one, by a rounding.
        assert np.abs(np.cumsum(found[name]) - np.cumsum(expected)).max() <= 2
        assert found[name].sum() == expected.sum()
