"""Two hosts behind a switch, each in its own network namespace: the collectors, and all handlers.

To be used inside `unshare --user --map-root-user --net --pid --fork --kill-child`.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from readout.incast.network import NetworkError, address_of, connect, start_hosts
from readout.scale.farm import Place

COLLECTORS, HANDLERS = 0, 1
UNLIMITED_MBIT = 40_000
TIMER_FLOOR = "/proc/sys/net/ipv4/tcp_rto_min_us"


def hold(pipe: Connection) -> None:
    """Tells its number in /proc, which is not that of its own namespace, and keeps its network until it ends."""
    pipe.send(int(os.readlink("/proc/self")))
    pipe.recv()


def inside(number: object) -> tuple[str, ...]:
    return ("nsenter", f"--net=/proc/{number}/ns/net")


def run_in(place: tuple[str, ...], *command: str) -> str:
    done = subprocess.run([*place, *command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip() or 'failed'}")
    return done.stdout.strip()


@contextmanager
def two_hosts(rate_mbit: int = UNLIMITED_MBIT, buffer_bytes: int = 64 << 20) -> Iterator[Place]:
    """The bottleneck is in front of the collectors. The hosts are gone afterwards."""
    hosts = start_hosts([hold, hold])
    try:
        connect(hosts, rate_mbit, buffer_bytes)
        places = [inside(host.ask()) for host in hosts]
        yield Place(places[HANDLERS], places[COLLECTORS], address_of(HANDLERS))
    finally:
        for host in hosts:
            host.process.kill()
            host.process.join()


def dropped() -> int:
    """Returns how many packets the bottleneck has dropped since it was made."""
    done = subprocess.run(["tc", "-s", "-json", "qdisc", "show", "dev", "port0"], capture_output=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"tc: {done.stderr.decode().strip() or 'failed'}")
    return sum(int(each["drops"]) for each in json.loads(done.stdout))


def set_timer_floor(place: Place, microseconds: int) -> int:
    """Sets the shortest retransmission timer of the handlers. Returns what the kernel made of it."""
    run_in(place.of_handlers, "sh", "-c", f"echo {microseconds} > {TIMER_FLOOR}")
    return int(run_in(place.of_handlers, "cat", TIMER_FLOOR))
