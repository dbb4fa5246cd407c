"""What one rank of MPI runs: checkpoint_mpi_rank.py PATH save|restore [ROWS]."""

import os
import sys
import warnings

import numpy as np
from mpi4py import MPI

from thalweg.checkpoint import Block, restore, save, save_async

COLUMNS = 50


def main(path: str, what: str, rows: int) -> str:
    comm = MPI.COMM_WORLD
    rank, ranks = comm.Get_rank(), comm.Get_size()
    first, end = rows * rank // ranks, rows * (rank + 1) // ranks
    expected = np.arange(first * COLUMNS, end * COLUMNS).reshape(-1, COLUMNS) * 1j
    if what == "restore":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state = restore(path, comm)
        read = state.read("psi", (first, 0), (end - first, COLUMNS))
        return f"rank {rank} reads {np.array_equal(read, expected)} of step {state.attributes['step']}"
    psi = expected.copy()
    block = Block(psi, (rows, COLUMNS), (first, 0))
    save(path, {"psi": block}, comm, attributes={"step": 1})
    saving = save_async(path, {"psi": block}, comm, attributes={"step": 2}, codec="bitshuffle+lz4")
    psi[:] = 0
    return f"rank {rank} saved {saving.wait().bytes}"


if __name__ == "__main__":
    said = main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    os.write(1, f"{said}\n".encode())  # in one piece, among those of the others
