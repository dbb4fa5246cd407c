"""Many handlers in one process, and many collectors in another: starts both, and measures one point."""

import contextlib
import json
import os
import select
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.programs import WORK

BUILT = WORK / "studies" / "readout" / "driver" / "readout_study"
PROGRAM_VARIABLE = "THALWEG_READOUT_STUDY"  # another program than the one above
PATIENCE_S = 60.0
WARM_UP_S = 0.7
BYTES_OF_KIB = 1024

Told = dict[str, Any]
Variant = Callable[[float], Told]  # measures for so many seconds


class FarmError(Exception):
    """A process of the measurement failed, or says nothing."""


@dataclass(frozen=True)
class Point:
    """What is measured. The card sends `rate_hz` events a second to each handler; 0: as many as are taken."""

    handlers: int = 1
    collectors: int = 1
    connections: int = 1  # of each collector to each handler
    streams: int = 14  # of a fragment
    elinks: int = 56  # of each handler
    sizes: str = "24"  # bytes of a packet
    rate_hz: int = 100_000
    range_events: int = 256
    events_in_flight: int = 4096  # of each collector
    builders: int = 1
    mode: str = "build"
    slots: int = 1 << 15
    buffer_bytes: int = 32 << 20
    congestion: str = "reno"  # every user may set it, and unlike BBR it needs no timer for pacing
    credit: str = ""  # of a collector, in bytes, or "auto"; empty: the client's default
    pacing: int = 0  # bytes a second of a connection; 0: none
    poll_us: int = 30  # the shortest sleep of a thread that builds

    def of_handlers(self) -> list[str]:
        streams = {} if self.mode == "relay" else {"streams": self.streams}
        return words(
            **streams, buffers=self.handlers, elinks=self.elinks * self.handlers, sizes=self.sizes,
            rate_hz=self.rate_hz, builders=self.builders, mode=self.mode, slots=self.slots,
            buffer_bytes=self.buffer_bytes, congestion=self.congestion, pacing=self.pacing,
            poll_us=self.poll_us,
        )  # fmt: skip

    def of_collectors(self) -> list[str]:
        found = words(
            collectors=self.collectors, connections=self.connections, range_events=self.range_events,
            ranges_in_flight=max(1, self.events_in_flight // self.range_events),
        )  # fmt: skip
        return found + (words(credit=self.credit) if self.credit else [])


@dataclass(frozen=True)
class Place:
    """The words before the commands of both sides, which run them elsewhere, and the address of the handlers."""

    of_handlers: tuple[str, ...] = ()
    of_collectors: tuple[str, ...] = ()
    host: str = "127.0.0.1"


def words(**options: object) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]


class Side:
    """A process that answers each line with a line of JSON."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def hear(self) -> Told:
        output = self.process.stdout
        assert output is not None
        if not select.select([output], [], [], PATIENCE_S)[0]:
            raise FarmError("a process of the measurement says nothing")
        line = output.readline()
        if not line:
            self.process.wait(PATIENCE_S)
            assert self.process.stderr is not None
            raise FarmError(self.process.stderr.read().strip() or "a process of the measurement has ended")
        return dict(json.loads(line))

    def ask(self, line: str) -> Told:
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)
        return self.hear()

    def end(self) -> Told:
        assert self.process.stdin is not None
        self.process.stdin.close()
        last = self.hear()
        self.process.wait(PATIENCE_S)
        return last

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def kernel_bytes() -> int:
    """Returns the memory of the kernel's objects, of the whole machine."""
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Slab:"))
    return int(line.split()[1]) * BYTES_OF_KIB


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@dataclass
class Moments:
    """What both sides told at the begin and at the end of an interval."""

    handlers: list[Told] = field(default_factory=list)
    collectors: list[Told] = field(default_factory=list)

    def look(self, handlers: Side, collectors: Side) -> None:
        self.handlers.append(handlers.ask("now"))
        self.collectors.append(collectors.ask("now"))

    def of_handlers(self, key: str) -> float:
        return float(self.handlers[-1][key] - self.handlers[-2][key])

    def of_collectors(self, key: str) -> float:
        return float(self.collectors[-1][key] - self.collectors[-2][key])

    def fairness(self) -> float:
        """Returns what the collector with the fewest events got, as a part of the mean."""
        first, last = (each["events"] for each in self.collectors[-2:])
        got = [after - before for before, after in zip(first, last, strict=True)]
        return min(got) / max(1e-9, statistics.mean(got))


def connect(point: Point, handlers: Side, collectors: Side) -> Told:
    """Connects all collectors with all handlers; no run has begun. Returns the cost of it."""
    count = point.handlers * point.collectors * point.connections
    kernel = kernel_bytes()
    before, theirs = handlers.ask("now"), collectors.ask("connect")
    end = time.monotonic() + PATIENCE_S
    while (after := handlers.ask("now"))["connections"] < count:
        if time.monotonic() > end:
            raise FarmError(f"{after['connections']:.0f} of {count} connections in {PATIENCE_S:.0f} s")
        time.sleep(0.02)
    kernel = kernel_bytes() - kernel
    theirs_after = collectors.ask("now")
    return {
        "connections": count,
        "setup_s": (after["at_ns"] - before["at_ns"]) / 1e9,
        "setup_server_us": (after["cpu_ns"] - before["cpu_ns"]) / count / 1e3,
        "setup_client_us": (theirs_after["cpu_ns"] - theirs["cpu_ns"]) / count / 1e3,
        "server_bytes": (after["resident_bytes"] - before["resident_bytes"]) / count,
        "client_bytes": (theirs_after["resident_bytes"] - theirs["resident_bytes"]) / count,
        "kernel_bytes": kernel / count,
    }


def flow(point: Point, moments: Moments, latencies: list[float]) -> Told:
    seconds = moments.of_handlers("at_ns") / 1e9
    thread_ns = moments.of_handlers("builder_ns") + moments.of_handlers("server_ns")
    packets = max(1.0, moments.of_handlers("packets"))
    sent = max(1.0, moments.of_handlers("fragments"))
    return {
        "seconds": seconds,
        "M_packets_per_s": packets / seconds / 1e6,
        "fragments_per_s": sent / seconds,
        "ranges_per_s": moments.of_collectors("ranges") / moments.of_collectors("at_ns") * 1e9,
        "MB_per_s": moments.of_collectors("bytes") / moments.of_collectors("at_ns") * 1e3,
        "ns_per_packet": thread_ns / packets,
        "builder_ns": moments.of_handlers("builder_ns") / packets,
        "server_ns_per_fragment": moments.of_handlers("server_ns") / sent,
        "builder_cores": moments.of_handlers("builder_ns") / seconds / 1e9,
        "server_cores": moments.of_handlers("server_ns") / seconds / 1e9,
        "handler_cores": thread_ns / seconds / 1e9,
        "collector_cores": moments.of_collectors("cpu_ns") / moments.of_collectors("at_ns"),
        "fairness": moments.fairness() if point.collectors > 1 else 1.0,
        "p50_ms": statistics.median(latencies) / 1e6 if latencies else 0.0,
        "p99_ms": quantile(latencies, 0.99) / 1e6 if latencies else 0.0,
        "ranges": len(latencies),
    }


Look = Callable[[Side, Side], Told]


def measure(point: Point, seconds: float, place: Place = Place(), look: Look | None = None) -> Told:
    """Measures one point: its connections, then its flow for so many seconds. `look` may look at both sides then."""
    program = os.environ.get(PROGRAM_VARIABLE, str(BUILT))
    of_handlers = [*place.of_handlers, program, "handlers", "--host", place.host, *point.of_handlers()]
    with Side(of_handlers) as handlers:
        addresses = ",".join(handlers.hear()["addresses"])
        of_collectors = [*place.of_collectors, program, "collectors", "--handlers", addresses]
        with Side([*of_collectors, *point.of_collectors()]) as collectors:
            collectors.hear()
            found = connect(point, handlers, collectors)
            handlers.ask("start")
            time.sleep(WARM_UP_S)
            moments = Moments()
            moments.look(handlers, collectors)
            time.sleep(seconds)
            moments.look(handlers, collectors)
            found |= flow(point, moments, moments.collectors[-1]["latencies_ns"])
            if look is not None:
                found |= look(handlers, collectors)
            last = collectors.end()
            found["wrong"] = last["wrong"]
            found["balances"] = handlers.end()["balances"]
    return found
