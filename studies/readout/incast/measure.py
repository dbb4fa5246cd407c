"""One client asks many servers at once, over a bottleneck with a small buffer. Prints one JSON object.

To be run as a module, inside `unshare --user --map-root-user --net --pid --fork --kill-child`.
"""

import argparse
import json
import signal
import statistics
import sys
from typing import Any, cast

from readout.incast.hosts import Limits, client, server
from readout.incast.network import NetworkError, connect, start_hosts

WHOLE_S = 60  # after so long something is wrong, and everything ends


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--credit-bytes", type=int, default=0)
    parser.add_argument("--part-bytes", type=int, default=16_384)
    parser.add_argument("--rate-mbit", type=int, default=200)
    parser.add_argument("--buffer-bytes", type=int, default=65_536)
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3.0)
    return parser.parse_args()


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    limits = Limits(options.part_bytes, options.credit_bytes, options.batches, options.seconds)
    servers = [server(options.congestion, options.part_bytes)] * options.servers
    hosts = start_hosts([client(options.servers, limits), *servers])
    connect(hosts, options.rate_mbit, options.buffer_bytes)
    for host in hosts:
        host.ask()
    hosts[0].pipe.send("go")
    latencies = cast("list[float]", hosts[0].ask())
    retransmissions = sum(cast("int", host.ask()) for host in hosts[1:])
    batch_bytes = options.servers * options.part_bytes
    seconds = sum(latencies)
    goodput = len(latencies) * batch_bytes / seconds
    return {
        "seconds": seconds,
        "batches": len(latencies),
        "response_bytes": options.part_bytes,
        "goodput_MB_per_s": goodput / 1e6,
        "goodput_share": goodput * 8 / (options.rate_mbit * 1e6),
        "ideal_ms": batch_bytes * 8 / options.rate_mbit / 1e3,
        "p50_ms": statistics.median(latencies) * 1e3,
        "p99_ms": quantile(latencies, 0.99) * 1e3,
        "max_ms": max(latencies) * 1e3,
        "retransmissions_per_batch": retransmissions / len(latencies),
    }


def main() -> int:
    signal.alarm(WHOLE_S)  # this process is the first of its namespace: all others end with it
    try:
        print(json.dumps(measure(arguments())))
    except NetworkError as error:
        print(json.dumps({"missing": str(error)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
