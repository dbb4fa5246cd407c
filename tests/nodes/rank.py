"""What one rank of MPI runs: rank.py FILE ROWS [FAILING_RANK how], `how`: schema, append, exit or single.

single: no rank fails, and MPI is told that each has one thread. append: it throws in its `with` block. exit: it throws,
and has none.
"""

import os
import sys

import mpi4py

if sys.argv[4:] == ["single"]:
    mpi4py.rc.thread_level = "single"

from mpi4py import MPI
from node import rows

import thalweg as tw

_SCHEMA = {"events": {"node": tw.uint16, "id": tw.uint64, "samples": tw.array(tw.uint16, 200)}}


def append(out: tw.Shared, wanted: int, fails: bool) -> None:
    with out.producer("events") as producer:
        for first in range(0, wanted, 50):
            producer.append(**rows(MPI.COMM_WORLD.Get_rank() + 1, first))
            if fails and first >= wanted / 2:
                raise ValueError("this rank has had enough")


def main(path: str, wanted: int, failing: int, how: str) -> None:
    rank = MPI.COMM_WORLD.Get_rank()
    schema = {"others": {"id": tw.uint64}} if (failing, how) == (rank, "schema") else _SCHEMA
    out = tw.create(path, schema, comm=MPI.COMM_WORLD, node_timeout=20)
    if how == "exit":
        append(out, wanted, rank == failing)
        out.close()
        return
    with out:
        append(out, wanted, (failing, how) == (rank, "append"))


if __name__ == "__main__":
    failing, how = (int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 3 else (-1, "")
    if how == "single":
        assert MPI.Query_thread() == MPI.THREAD_SINGLE
    said = f"rank {MPI.COMM_WORLD.Get_rank()} closed\n"
    try:
        main(sys.argv[1], int(sys.argv[2]), failing, how)
    except (tw.Error, ValueError) as error:
        said = f"rank {MPI.COMM_WORLD.Get_rank()} heard: {error}\n"
    os.write(1, said.encode())  # in one piece, among those of the others
