"""A host with a network card, as files below a folder: what is of the whole machine must not be changed by tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType
from typing import Any

from thalweg import _core
from thalweg._readout.network.cards import Card
from thalweg._readout.network.journal import Journal
from thalweg._readout.network.machine import Machine
from thalweg._readout.network.planning import NetworkPlan, plan_of
from thalweg._readout.network.settings import Kind, NotThere, Refused

CARD, FIRST_INTERRUPT = "eth4", 40
PACKAGE = str(Path(sys.modules[Machine.__module__].__file__ or "").parent)
SYSCTLS = {
    "net/core/rps_sock_flow_entries": 0,
    "net/core/netdev_budget": 300,
    "net/core/netdev_budget_usecs": 2000,
    "net/ipv4/tcp_rto_min_us": 200000,
    "vm/percpu_pagelist_high_fraction": 0,
    "kernel/numa_balancing": 1,
}
COALESCE = {"adaptive-rx": 1, "adaptive-tx": 1, "rx-usecs": 8, "rx-frames": 128, "tx-usecs": 16, "tx-frames": 32}


class FakeHost:
    """The host. Its ethtool keeps its values in a file, too, so that they outlive a process that is killed."""

    def __init__(self, root: Path, channels: int = 2, most_channels: int = 8) -> None:
        self.root = root
        for name, value in SYSCTLS.items():
            self.write(f"proc/sys/{name}", value)
        self.write("proc/sys/kernel/random/boot_id", "1f0c")
        self.write("proc/1/comm", "systemd")
        self.write(f"sys/class/net/{CARD}/ifindex", 7)
        self.write(f"sys/class/net/{CARD}/device/numa_node", 0)
        self.write("sys/class/net/lo/ifindex", 1)
        values = {"channels": {"combined": channels}, "ring": {"rx": 512, "tx": 512}, "coalesce": COALESCE}
        limits = {"channels": {"combined": most_channels}, "ring": {"rx": 8192, "tx": 8192}}
        self.write("ethtool.json", json.dumps({"values": values, "limits": limits, "refuses": []}))
        self.set_queues(channels)
        for queue in range(channels):
            self.write(f"{self.queue(f'rx-{queue}')}/rps_cpus", "00000000,00000003")
            self.write(f"{self.queue(f'rx-{queue}')}/rps_flow_cnt", 16)
            self.write(f"proc/irq/{FIRST_INTERRUPT + queue}/smp_affinity_list", 8 + queue)

    def write(self, name: str, value: object) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def read(self, name: str) -> str:
        return (self.root / name).read_text().strip()

    @staticmethod
    def queue(name: str) -> str:
        return f"sys/class/net/{CARD}/queues/{name}"

    def set_queues(self, count: int) -> None:
        """Makes the queues and interrupts that a driver makes anew when the number of channels is changed."""
        for name in (f"sys/class/net/{CARD}/queues", f"sys/class/net/{CARD}/device/msi_irqs", "proc/irq"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        for number in range(count):
            for name in (f"rx-{number}/rps_cpus", f"tx-{number}/xps_cpus", f"tx-{number}/xps_rxqs"):
                self.write(self.queue(name), "0")
            self.write(self.queue(f"rx-{number}/rps_flow_cnt"), 0)
            interrupt = FIRST_INTERRUPT + number
            self.write(f"sys/class/net/{CARD}/device/msi_irqs/{interrupt}", "msix")
            (self.root / f"proc/irq/{interrupt}/{CARD}-TxRx-{number}").mkdir(parents=True, exist_ok=True)
            self.write(f"proc/irq/{interrupt}/smp_affinity_list", "0-15")

    def ethtool(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.read("ethtool.json"))
        return facts

    def refuse(self, name: str) -> None:
        self.write("ethtool.json", json.dumps(self.ethtool() | {"refuses": [name]}))

    def get(self, card: str, kind: Kind) -> dict[str, int]:
        if card != CARD:
            raise NotThere("the card has no such setting")
        values: dict[str, int] = self.ethtool()["values"][kind]
        return values

    def limits(self, _card: str, kind: Kind) -> dict[str, int]:
        limits: dict[str, int] = self.ethtool()["limits"][kind]
        return limits

    def set(self, _card: str, kind: Kind, name: str, value: int) -> None:
        facts = self.ethtool()
        if name in facts["refuses"]:
            raise Refused("Device or resource busy")
        facts["values"][kind][name] = value
        self.write("ethtool.json", json.dumps(facts))
        if kind is Kind.CHANNELS:
            self.set_queues(value)

    @property
    def machine(self) -> Machine:
        return Machine(self.root, self)

    @property
    def journal(self) -> Journal:
        return Journal(self.root / "var" / "network.json")

    def planner(self, topology: _core.Topology, pinned: _core.Plan) -> Callable[..., tuple[NetworkPlan, list[Card]]]:
        def made(settled: Collection[str] = ()) -> tuple[NetworkPlan, list[Card]]:
            return plan_of(self.machine, topology, pinned, [CARD], settled)

        return made

    def all_values(self) -> dict[str, str]:
        """Returns what every file says, but for those of the journal."""
        files = (path for path in self.root.rglob("*") if path.is_file() and "var" not in path.parts)
        texts = {str(path.relative_to(self.root)): path.read_text().strip() for path in files}
        # 00000000,00000003 and 3 are the same mask.
        return {name: _plain(text) if name.endswith(("_cpus", "_rxqs")) else text for name, text in texts.items()}


def _plain(mask: str) -> str:
    return f"{int(mask.replace(',', ''), 16):x}"


def killed_at(line: int, work: Callable[[], object]) -> bool:
    """Does the work in a child process, which is killed before it executes this line of the package, counted from its
    begin. Returns whether it was killed: it was not if the work has fewer lines."""
    left = line

    def killer() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    status = _in_child(lambda: _traced(killer, work))
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def lines_of(work: Callable[[], object]) -> int:
    """Does the work, and returns how many lines of the package it has."""
    lines = 0

    def count() -> None:
        nonlocal lines
        lines += 1

    _traced(count, work)
    return lines


def _in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def _traced(at_each_line: Callable[[], None], work: Callable[[], object]) -> None:
    def local(_frame: FrameType, event: str, _given: Any) -> Any:
        if event == "line":
            at_each_line()
        return local

    def called(frame: FrameType, _event: str, _given: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
