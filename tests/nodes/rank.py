"""What one rank of MPI runs: rank.py FILE ROWS [FAILING_RANK how].

`how`: schema, path, append, exit, single, kill, resume or count.

append: it throws in its `with` block. exit: it throws, and has none. With all others no rank fails. single: MPI is
told that each has one thread. kill: FILE.pidN and FILE.logN have the process and the rows of rank N, which takes its
time. resume: the run goes on, as it is after all ranks of `kill` were killed. count: says how often it called MPI
between `create` and `close`, where that is counted.
"""

import ctypes
import os
import sys
import time
from pathlib import Path

import mpi4py

if sys.argv[4:] == ["single"]:
    mpi4py.rc.thread_level = "single"

from mpi4py import MPI
from node import rows

import thalweg as tw

_SCHEMA = {"events": {"node": tw.uint16, "id": tw.uint64, "samples": tw.array(tw.uint16, 200)}}


def wait_for_others(path: str, rank: int) -> None:
    """So that these have appended all of theirs, before this one ends the run for all."""
    others = [Path(f"{path}.done{other}") for other in range(MPI.COMM_WORLD.Get_size()) if other != rank]
    while not all(other.exists() for other in others):
        time.sleep(0.01)


def append(out: tw.Shared, rank: int, wanted: int, fails: bool, log: Path | None = None, number: int = 0) -> None:
    lines = log.open("w", buffering=1) if log is not None else None
    with out.producer("events") as producer:
        for first in range(0, wanted, 50):
            producer.append(**rows(number or rank + 1, first))
            if lines is not None:
                lines.write(f"{first + 50}\n")
                time.sleep(0.0005)
            if fails and first >= wanted / 2:
                wait_for_others(out.path, rank)
                raise ValueError("this rank has had enough")
    Path(f"{out.path}.done{rank}").touch()


def calls_of_mpi() -> int:
    return ctypes.c_long.in_dll(ctypes.CDLL(None), "calls_of_mpi").value


def main(path: str, wanted: int, failing: int, how: str) -> None:
    rank = MPI.COMM_WORLD.Get_rank()
    schema = {"others": {"id": tw.uint64}} if (failing, how) == (rank, "schema") else _SCHEMA
    path = f"{path}.other.h5" if (failing, how) == (rank, "path") else path
    out = tw.create(path, schema, comm=MPI.COMM_WORLD, node_timeout=20, resume=how == "resume")
    if how == "exit":
        append(out, rank, wanted, rank == failing)
        out.close()
        return
    before = calls_of_mpi() if how == "count" else 0
    with out:
        log = Path(f"{path}.log{rank}") if how == "kill" else None
        append(out, rank, wanted, (failing, how) == (rank, "append"), log, rank + 101 if how == "resume" else 0)
        if how == "count":
            os.write(1, f"rank {rank} called MPI {calls_of_mpi() - before} times, and {before} before\n".encode())


if __name__ == "__main__":
    failing, how = (int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 3 else (-1, "")
    if how == "kill":
        Path(f"{sys.argv[1]}.pid{MPI.COMM_WORLD.Get_rank()}").write_text(str(os.getpid()))
    if how == "single":
        assert MPI.Query_thread() == MPI.THREAD_SINGLE
    said = f"rank {MPI.COMM_WORLD.Get_rank()} closed\n"
    try:
        main(sys.argv[1], int(sys.argv[2]), failing, how)
    except (tw.Error, ValueError) as error:
        said = f"rank {MPI.COMM_WORLD.Get_rank()} heard: {error}\n"
    os.write(1, said.encode())  # in one piece, among those of the others
