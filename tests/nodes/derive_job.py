"""A job of derivations whose workers are those of an engine on several machines.

    derive_job.py ENGINE ADDRESS INPUT FOLDER ENDING NODES

ENGINE: `own`, or `blind`, which does not notice that a worker has died (engine.py); `dask`: ADDRESS is the file of its
scheduler; `mpi`, under mpi4py.futures; `none`: workers of this job alone. NODES 0: the engine is asked. Says how far it
is, and at last the report as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from derive_cases import muons, sums, train, two_muons

import thalweg as tw

TIMEOUT_S = 8.0


def slow(of: Any) -> dict[str, Any]:
    """So that there is time to kill."""
    time.sleep(0.05)
    return muons(of)


def met(of: Any) -> Any:
    return of.MET_pt > 30


def derivations(folder: Path, ending: str) -> list[tw.Derivation]:
    """That can be sent to workers."""
    first, second = train(folder, ending)
    cuts = {"two muons": two_muons, "met": met}
    return [replace(first, function=slow, select=two_muons, summary=sums), replace(second, select=cuts)]


def executor_of(engine: str, address: str, stack: ExitStack) -> Any:
    if engine in ("own", "blind"):
        from engine import Engine

        return Engine(address, notices=engine == "own")
    if engine == "dask":
        from distributed import Client

        client = stack.enter_context(Client(scheduler_file=address))
        client.wait_for_workers(3, timeout=60)
        return client
    if engine == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        return stack.enter_context(MPIPoolExecutor())
    return None


def main(engine: str, address: str, path: str, folder: str, ending: str, nodes: str) -> None:
    said: list[str] = []

    def progress(state: tw.JobState) -> None:
        if len(said) < 2 and state.events_done > len(said) * state.events // 3:
            said.append("ranges are being done" if not said else "a third is done")
            print(said[-1], flush=True)

    with ExitStack() as stack:
        executor = executor_of(engine, address, stack)
        several = {"executor": executor, "nodes": int(nodes) or None, "node_timeout": TIMEOUT_S} if executor else {}
        both = derivations(Path(folder), ending)
        carry = ["Runs"] if path.endswith(":Events") else []
        report = tw.derive(path, both, range_bytes=1, attempts=20, workers=4, carry=carry, **several).run(progress)
        print(json.dumps(report.to_dict()), flush=True)
        print(report, file=sys.stderr, flush=True)
    if engine in ("own", "blind"):
        os._exit(0)  # its threads wait for workers for ever


if __name__ == "__main__":
    import derive_job  # so that its functions have a module's name, by which workers find them

    derive_job.main(*sys.argv[1:])
