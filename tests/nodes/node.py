"""What one node runs: rows that name the node that wrote them, and a log of what was promised about them.

    node.py FILE NODE NODES ROWS LOG PACE DEATH TIMEOUT NUMBER FLUSH
    node.py HANDLE LOG PACE NUMBER                                     one more process of a node

ROWS 0: until the file LOG.stop is there. PACE: seconds between batches. DEATH, TIMEOUT: `on_node_death` and
`node_timeout` of the run. NUMBER: the rows say that they are of this node; where it is another one than NODE, the run
is resumed. FLUSH: the flush interval in seconds. The log has a line for each batch: the rows appended, and how many of
them would survive the loss of this machine.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

import thalweg as tw

_BATCH = 50
_SAMPLES = 200
_SCHEMA = tw.schema({"events": {"node": tw.uint16, "id": tw.uint64, "samples": tw.array(tw.uint16, _SAMPLES)}})


def rows(node: int, first: int) -> dict[str, np.ndarray]:
    ids = np.arange(first, first + _BATCH, dtype=np.uint64)
    samples = (ids[:, None] * 31 + np.arange(_SAMPLES, dtype=np.uint64) * (node + 1)) % 1021
    return {"node": np.full(_BATCH, node, np.uint16), "id": ids, "samples": samples.astype(np.uint16)}


def begin(path: str, node: int, nodes: int, death: str, timeout: float, resume: bool, flush: float) -> tw.Writer:
    if node == 1:
        tuning = {"flush_interval": flush}
        return tw.create(
            path, _SCHEMA, nodes=nodes, tuning=tuning, node_timeout=timeout, on_node_death=death, resume=resume
        )
    return tw.join(path, node=node, nodes=nodes, schema=_SCHEMA, node_timeout=timeout, resume=resume)


class Log:
    def __init__(self, path: Path) -> None:
        self._file = path.open("w", buffering=1)
        self._moments: list[tuple[float, int]] = []
        self._durable = 0

    def note(self, out: tw.Writer, appended: int) -> None:
        now = time.monotonic()
        self._moments.append((now, appended))
        durable_at = now - out.status().durable_lag
        while self._moments and self._moments[0][0] <= durable_at:
            self._durable = self._moments.pop(0)[1]
        self._file.write(f"{appended} {self._durable}\n")


def main(
    path: str,
    node: int,
    nodes: int,
    wanted: int,
    log_path: str,
    pace: float,
    death: str,
    timeout: float,
    number: int,
    flush: float,
) -> None:
    Path(f"{log_path}.pid").write_text(f"{os.getpid()}\n")  # in this machine
    with begin(path, node, nodes, death, timeout, number != node, flush) as out:
        Path(f"{log_path}.handle").write_text(f"{out.handle}\n")
        log = Log(Path(log_path))
        with out.producer("events") as producer:
            appended = 0
            while appended < wanted or (wanted == 0 and not Path(f"{log_path}.stop").exists()):
                producer.append(**rows(number, appended))
                appended += _BATCH
                log.note(out, appended)
                time.sleep(pace)


def append_to(handle: str, log_path: str, pace: float, number: int) -> None:
    Path(f"{log_path}.pid").write_text(f"{os.getpid()}\n")
    with tw.attach(handle) as run, run.producer("events") as producer, Path(log_path).open("w", buffering=1) as log:
        appended = 0
        while not Path(f"{log_path}.stop").exists():
            producer.append(**rows(number, appended))
            appended += _BATCH
            log.write(f"{appended} 0\n")
            time.sleep(pace)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        handle, log_path, pace, number = sys.argv[1:]
        append_to(handle, log_path, float(pace), int(number))
    else:
        path, node, nodes, wanted, log_path, pace, death, timeout, number, flush = sys.argv[1:]
        ints = int(node), int(nodes), int(wanted)
        main(path, *ints, log_path, float(pace), death, float(timeout), int(number), float(flush))
