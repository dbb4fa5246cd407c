"""What one rank of MPI runs: rank.py FILE ROWS [FAILING_RANK how], `how`: schema or append."""

import os
import sys

from mpi4py import MPI
from node import rows

import thalweg as tw

_SCHEMA = {"events": {"node": tw.uint16, "id": tw.uint64, "samples": tw.array(tw.uint16, 200)}}


def main(path: str, wanted: int, failing: int, how: str) -> None:
    rank = MPI.COMM_WORLD.Get_rank()
    schema = {"others": {"id": tw.uint64}} if (failing, how) == (rank, "schema") else _SCHEMA
    with tw.create_over(MPI.COMM_WORLD, path, schema, node_timeout=20) as out, out.producer("events") as producer:
        for first in range(0, wanted, 50):
            producer.append(**rows(rank + 1, first))
            if (failing, how) == (rank, "append") and first >= wanted / 2:
                raise ValueError("this rank has had enough")


if __name__ == "__main__":
    failing, how = (int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 3 else (-1, "")
    said = f"rank {MPI.COMM_WORLD.Get_rank()} closed\n"
    try:
        main(sys.argv[1], int(sys.argv[2]), failing, how)
    except (tw.Error, ValueError) as error:
        said = f"rank {MPI.COMM_WORLD.Get_rank()} heard: {error}\n"
    os.write(1, said.encode())  # in one piece, among those of the others
