"""Runs an emulated card and reports on it."""

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg import _core
from thalweg._base import errors
from thalweg._base.quantities import as_bytes, as_duration, frequency_hz
from thalweg._readout.live import LiveLine, Recent, Waits
from thalweg._readout.signals import Stop, listening

_LOOK_S = 0.1


def rate_hz(text: str) -> float:
    """Returns the rate in Hz; 0 stands for `max`, as fast as the readers read."""
    if text == "max":
        return 0.0
    rate = frequency_hz(text, "Hz")
    if rate <= 0:
        raise errors.UsageError(f"the rate '{text}' gives no events: give a rate such as 1MHz or 10Hz, or max")
    return rate


def whole_blocks(size_bytes: int, block_format: _core.BlockFormat) -> int:
    return size_bytes // block_format.block_bytes * block_format.block_bytes


@dataclass(frozen=True)
class CardReport:
    options: _core.CardOptions
    events: int
    sent_bytes: int
    unread_bytes: int
    elapsed_s: float
    stalled_s: float
    links: list[_core.LinkTally]

    @property
    def packets(self) -> int:
        return sum(link.packets for link in self.links)

    @property
    def faults(self) -> dict[str, int]:
        tallies = [link.faults.as_json() for link in self.links]
        return {name: sum(tally[name] for tally in tallies) for name in tallies[0]}

    def sentences(self) -> list[str]:
        seconds = max(self.elapsed_s, 1e-9)
        rate = f"{self.events / seconds:,.0f} events/s"
        what = f"{self.packets:,} packets on {len(self.links)} e-links, {as_bytes(self.sent_bytes)}"
        said = [f"{self.options.name} sent {self.events:,} events in {as_duration(self.elapsed_s)} ({rate}): {what}"]
        if self.stalled_s:
            said.append(f"it waited for {self.stalled_s / seconds:.1%} of the time, because the buffers were full")
        if any(self.faults.values()):
            done = (f"{count:,} {name.replace('_', ' ')}" for name, count in self.faults.items() if count)
            said.append(f"faults made on request: {', '.join(done)}")
        if self.unread_bytes:
            said.append(f"{as_bytes(self.unread_bytes)} are left in the buffers, for handlers that still run")
        return said

    def as_json(self) -> dict[str, Any]:
        options = self.options
        return {
            "card": options.name,
            "buffers": [_core.dma_name(options.name, index) for index in range(options.buffers)],
            "events": self.events,
            "packets": self.packets,
            "blocks": sum(link.blocks for link in self.links),
            "bytes": self.sent_bytes,
            "unread_bytes": self.unread_bytes,
            "elapsed_s": self.elapsed_s,
            "stalled_s": self.stalled_s,
            "seed": options.seed,
            "faults": self.faults,
        }

    def write_tally(self, path: Path) -> None:
        """Writes what was sent on each e-link as JSON, to compare it with the counters of a reader."""
        links = [link.as_json() for link in self.links]
        try:
            path.write_text(json.dumps({**self.as_json(), "links": links}, indent=2) + "\n")
        except OSError as error:
            raise errors.SystemError(
                error.errno or 0, f"cannot write the tally to {path} ({error.strerror})"
            ) from error


class Emulation:
    def __init__(self, options: _core.CardOptions, duration_s: float = 0, live: LiveLine | None = None) -> None:
        self._options = options
        self._duration_s = duration_s
        self._card = _core.Card(options)
        self._runner = threading.Thread(target=self._card.run, daemon=True)
        self._live = live or LiveLine()
        self._waits = Waits(self._live)
        self._read_bytes = 0

    def run(self) -> CardReport:
        """Runs until all is sent and read, or until a signal ends it. Returns the report."""
        start_s = time.monotonic()
        with listening() as stop:
            self._runner.start()
            self._send(stop, start_s)
            elapsed_s = time.monotonic() - start_s
            self._wait_for_reader(stop)
        self._live.close()
        card = self._card
        stalled_s = card.stall_ns / 1e9
        return CardReport(
            self._options, card.events_sent, card.bytes_sent, card.backlog_bytes, elapsed_s, stalled_s, card.tally()
        )

    def _send(self, stop: Stop, start_s: float) -> None:
        recent = Recent[_Moment]()
        while self._runner.is_alive():
            self._runner.join(_LOOK_S)
            is_over = self._duration_s and time.monotonic() - start_s >= self._duration_s
            if stop or is_over:
                self._card.stop()
            now = _Moment.of(self._card)
            self._live.show(now.sentence(recent.since(now), time.monotonic() - start_s))
            self._look_for_reader()

    def _wait_for_reader(self, stop: Stop) -> None:
        """Waits until a handler has read everything: the buffers disappear together with the card."""
        while not stop and self._card.backlog_bytes:
            left = as_bytes(self._card.backlog_bytes)
            self._live.show(f"all is sent; waiting for the handler to read the last {left} (Ctrl-C: do not wait)")
            self._look_for_reader()
            time.sleep(_LOOK_S)

    def _look_for_reader(self) -> None:
        backlog_bytes = self._card.backlog_bytes
        before, self._read_bytes = self._read_bytes, self._card.bytes_sent - backlog_bytes
        waiting = (
            f"no handler reads {self._options.name}: {as_bytes(backlog_bytes)} wait in its buffers, and it does "
            "not end before they are read (start a handler; Ctrl-C: do not wait)"
        )
        self._waits.look(
            waiting if backlog_bytes and self._read_bytes == before else "", f"a handler reads {self._options.name}"
        )


@dataclass(frozen=True)
class _Moment:
    time_s: float
    events: int
    sent_bytes: int
    backlog_bytes: int
    stall_ns: int

    @classmethod
    def of(cls, card: _core.Card) -> "_Moment":
        return cls(time.monotonic(), card.events_sent, card.bytes_sent, card.backlog_bytes, card.stall_ns)

    def sentence(self, before: "_Moment", elapsed_s: float) -> str:
        seconds = max(self.time_s - before.time_s, 1e-9)
        rate = (self.events - before.events) / seconds
        speed = as_bytes((self.sent_bytes - before.sent_bytes) / seconds)
        stalled = min(1.0, (self.stall_ns - before.stall_ns) / 1e9 / seconds)
        return (
            f"{as_duration(elapsed_s)}: {rate:,.0f} events/s, {speed}/s, {self.events:,} events, "
            f"backlog {as_bytes(self.backlog_bytes)}, stalled {stalled:.0%}"
        )
