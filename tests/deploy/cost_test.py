"""What a container costs: processor time a packet of a handler in its pod, against one that runs bare on its node.

Both run at the same time, at the same rate, on the same processor: what else the machine does meets both. Each pair of
spans is of handlers that have just begun, since where a process lies in memory may cost or save some percent. The
figure is good only on a machine that does nothing else: the kernel shares processors between control groups, so beside
other programs a handler in a group of its own waits less for them than the bare one.
"""

import math
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MakeReadout
from containers import Manifest
from kubelet import Pod, page_on
from node import GATEWAY
from readout_programs import THALWEG, wait_for
from readouts import OnNode

MOST = 1.02
PAIRS, LOWER, UPPER = 12, 2, 9  # of 12 sorted ratios, these enclose the median with 96 %, whatever their distribution
SPAN_S = 6.0
LINKS, RATE = 64, "10kHz"
EDITS = {
    "events = 16384": "events = 131072",
    "outstanding_events = 4096": "outstanding_events = 65536",
    "source_id = 0": "source_id = 0\nfragment_bytes = 2048",
}
HANDLERS_RUN_ON, OTHERS_RUN_ON = sorted(os.sched_getaffinity(0))[-1], sorted(os.sched_getaffinity(0))[0]


def on(processor: int) -> dict[str, Any]:
    def change(spec: Manifest) -> None:
        spec["linux"]["resources"]["cpu"] |= {"cpus": str(processor)}

    return {"change": change}


class Bare:
    """A handler that runs on its node without a container: in the network of the node, with its /dev/shm."""

    def __init__(self, readout: OnNode) -> None:
        node = readout.controller.node
        node.names["dh-0"] = GATEWAY
        self._node, folder = node, node.folder / "overlay"
        text = (folder / "readout.toml").read_text().replace('"dh-0:', f'"{GATEWAY}:')
        self._config = folder / "bare.toml"
        self._config.write_text(text.replace("/run/secrets/thalweg/token", str(folder / "token")))
        self._log = node.folder / "bare.log"
        self.start()

    def start(self) -> None:
        options: list[object] = ["--config", self._config, "--handler", "dh-0", "--drain", "10s", "--interval", "1min"]
        enter = ["ip", "netns", "exec", self._node.name, "sh", "-c", 'mount --bind "$0" /dev/shm && exec "$@"']
        pinned = ["taskset", "-c", HANDLERS_RUN_ON, THALWEG, "readout", "serve", *options]
        with self._log.open("w") as log:
            words = [str(word) for word in (*enter, self._node.shm, *pinned)]
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def said(self) -> str:
        return self._log.read_text()

    @property
    def pid(self) -> int:
        return self._process.pid

    def page(self, path: str) -> tuple[int, str]:
        return page_on(self._node, GATEWAY, 7800, path)

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(60) == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def handler_in(pod: Pod) -> int:
    """Returns the process that process 1 of the pod has started."""
    (child,) = Path(f"/proc/{pod.pid}/task/{pod.pid}/children").read_text().split()
    return int(child)


def processor_s(pid: int) -> float:
    """Returns the time of all threads, ended ones too, to the nanosecond: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def metric(handler: Pod | Bare, name: str) -> float:
    lines = handler.page("/metrics")[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(f"thalweg_readout_{name}{{"))


def wait_until_read(handler: Pod | Bare) -> None:
    """Waits until ranges of it are safe in a file."""
    wait_for(lambda: metric(handler, "fragments_cleared_total") > 0, f"it is read: {handler.said}")


def moment(pid: int, handler: Pod | Bare) -> tuple[float, float, float]:
    return processor_s(pid), metric(handler, "packets_total"), time.monotonic()


def pair(pod: Pod, bare: Bare) -> float:
    """Returns the ratio of what a packet costs in both."""
    both = ((handler_in(pod), pod), (bare.pid, bare))
    before = np.array([moment(*each) for each in both])
    time.sleep(SPAN_S)
    spent_s, counted, passed_s = (np.array([moment(*each) for each in both]) - before).T
    costs_ns, rates = spent_s / counted * 1e9, counted / passed_s
    ratio = float(costs_ns[0] / costs_ns[1])
    print(f"{costs_ns[0]:.1f} and {costs_ns[1]:.1f} ns a packet, {ratio:.3f}, at {rates[0]:,.0f} and {rates[1]:,.0f}/s")
    return ratio


@pytest.mark.timeout(900)
def test_a_packet_costs_as_much_in_a_container(make_readout: MakeReadout) -> None:
    """The test fails if it is sure, at 95 %, that a container costs more than the target."""
    inside, outside = (make_readout(1, links=LINKS, edits=EDITS) for _ in range(2))
    bare = Bare(outside)
    pod = inside.controller.pod("dh", 0, **on(HANDLERS_RUN_ON))
    collectors = []
    for readout in (inside, outside):
        readout.card("--packet-bytes", 8, rate=RATE, **on(OTHERS_RUN_ON))
        collectors.append(readout.controller.pod("collector", 0, **on(OTHERS_RUN_ON)))
    buffer = outside.controller.node.shm / "thalweg-felix-card-0"
    wait_for(buffer.exists, "the card has made its buffer")
    os.chown(buffer, 0, 0)  # a handler reads no buffer of another user
    ratios = []
    try:
        for number in range(PAIRS):
            if number:
                bare.end()
                assert pod.delete().code == 0
                bare.start()
                pod = inside.controller.pod("dh", 0, **on(HANDLERS_RUN_ON))
            for each in collectors:
                each.restarts_long_ago = each.restarts  # it ends with the run, and is started again
            wait_until_read(pod)
            wait_until_read(bare)
            ratios.append(pair(pod, bare))
    finally:
        bare.kill()
    ratios.sort()
    median = math.sqrt(ratios[PAIRS // 2 - 1] * ratios[PAIRS // 2])
    print(f"a packet in its container costs {median:.3f} of one bare, from {ratios[LOWER]:.3f} to {ratios[UPPER]:.3f}")
    print(f"{PAIRS} pairs, {os.getloadavg()[0]:.1f} processes on average for {os.cpu_count()} processors")
    assert ratios[LOWER] <= MOST
