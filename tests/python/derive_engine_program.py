"""A job whose workers are those of an engine: ENGINE INPUT FOLDER DIES. `mpi` runs under mpi4py.futures.

With DIES one worker is killed in the middle, once, where the engine does its work again.
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from derive_cases import EVENTS, check, muons
from derive_executor_test import picklable

import thalweg as tw


class DiesOnce:
    """A function that can be sent to workers."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __call__(self, of: Any) -> dict[str, Any]:
        is_late = len(of) and of.event[0] > EVENTS // 2
        if is_late and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return muons(of)


def run(executor: Any, path: str, folder: Path, dies: bool) -> None:
    first, second = picklable(folder)
    if dies:
        first = replace(first, function=DiesOnce(folder.with_name("died")))
    report = tw.derive(path, [first, second], executor=executor, workers=2, range_bytes=50_000).run()
    check(folder, report)
    assert sum(each.events for each in report.workers) >= EVENTS
    assert folder.with_name("died").exists() == dies
    print("every event once")


def main(engine: str, path: str, folder: str, dies: str) -> None:
    if engine == "dask":
        from distributed import Client, LocalCluster

        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            run(client.get_executor(), path, Path(folder), dies == "dies")
    else:
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as executor:
            run(executor, path, Path(folder), dies == "dies")


if __name__ == "__main__":
    main(*sys.argv[1:])
