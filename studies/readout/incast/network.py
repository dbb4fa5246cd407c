"""A network of namespaces: a switch (a bridge, in ours), a link to each host, and a bottleneck in front of one of them.

It lives in the namespaces of `unshare --user --map-root-user --net --pid --fork --kill-child`, needs no privilege, and
is gone with the last of its processes.
"""

import ctypes
import multiprocessing
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

CLONE_NEWNET = 0x40000000
FORK = multiprocessing.get_context("fork")  # so that dozens of hosts share the memory of one interpreter
BURST_BYTES = 16_384


class NetworkError(Exception):
    """The machine cannot make such a network."""


def run(program: str, lines: list[str]) -> None:
    done = subprocess.run([program, "-batch", "-"], input="\n".join(lines), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"{program}: {done.stderr.strip() or 'failed'}")


def address_of(host: int) -> str:
    return f"10.9.{host // 250}.{host % 250 + 1}"


@dataclass
class Host:
    process: ForkProcess
    pipe: Connection

    def ask(self) -> object:
        if not self.pipe.poll(60):
            raise NetworkError("a host says nothing")
        answer = self.pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


def live(number: int, pipe: Connection, work: Callable[[Connection], object]) -> None:
    """Runs in the host's own process: reports that its namespace exists, waits for its link, works, reports its
    result."""
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise NetworkError(f"no network namespace: {os.strerror(ctypes.get_errno())}")
        pipe.send("there")
        pipe.recv()
        # One segment a packet, as on a wire: the bottleneck would drop 64 KiB at once.
        run("ip", ["link set lo up", f"addr add {address_of(number)}/16 dev eth0", "link set eth0 gso_max_segs 1 up"])
        pipe.send(work(pipe))
    except Exception as error:
        pipe.send(NetworkError(str(error)))


def start_hosts(works: list[Callable[[Connection], object]]) -> list[Host]:
    hosts = []
    for number, work in enumerate(works):
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=live, args=(number, theirs, work), daemon=True)
        process.start()
        hosts.append(Host(process, ours))
    for host in hosts:
        host.ask()
    return hosts


def connect(hosts: list[Host], rate_mbit: int, buffer_bytes: int) -> None:
    """The bottleneck is where the switch sends to the first host: `buffer_bytes` may wait there, more is dropped."""
    lines = ["link add name switch type bridge", "link set switch up"]
    for number, host in enumerate(hosts):
        lines.append(f"link add name port{number} type veth peer name eth0 netns {host.process.pid}")
        lines.append(f"link set port{number} master switch up")
    run("ip", lines)
    shape = f"tbf rate {rate_mbit}mbit burst {BURST_BYTES} limit {buffer_bytes}"
    run("tc", [f"qdisc add dev port0 root {shape}"])
    for host in hosts:
        host.pipe.send("connected")
