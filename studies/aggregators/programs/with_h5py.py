"""with_h5py.py: the same words and output as writer.c, with h5py over MPI, as the paper's scripts write.

Collective transfers: creators take part with nothing selected, by the low-level interface, since `dset[0:0] = ...` is
elided by h5py and the others would wait for ever.
"""

import itertools
import json
import sys

import h5py
import numpy as np
from mpi4py import MPI

PARTS = 4


def write_file(comm, info, path, pairs, writer, data, is_collective, is_synced):  # type: ignore[no-untyped-def]
    at = [MPI.Wtime()]
    count = len(data)
    file = h5py.File(path, "w", driver="mpio", comm=comm, info=info)
    at.append(MPI.Wtime())
    dataset = file.create_dataset("dataset", (pairs * count,), dtype=np.uint16)
    at.append(MPI.Wtime())
    if is_collective:
        transfer = h5py.h5p.create(h5py.h5p.DATASET_XFER)
        transfer.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)
        space, memory = dataset.id.get_space(), h5py.h5s.create_simple((count,))
        if writer is None:
            space.select_none()
            memory.select_none()
        else:
            space.select_hyperslab((writer * count,), (count,))
        dataset.id.write(memory, space, data, dxpl=transfer)
    elif writer is not None:
        dataset[writer * count : (writer + 1) * count] = data
    if is_synced:
        file.flush()
    at.append(MPI.Wtime())
    file.close()
    at.append(MPI.Wtime())
    return [after - before for before, after in itertools.pairwise(at)]


def main() -> None:
    variant, transfer, k, _, repeats, is_synced, path, *hints = sys.argv[1:]
    world = MPI.COMM_WORLD
    pairs = world.size // 2
    writer = world.rank - pairs if world.rank >= pairs else None
    data = np.random.default_rng(world.rank).integers(0, 1024, int(k), dtype=np.uint16)
    if writer is None:
        world.Send(data, world.rank + pairs)
    else:
        world.Recv(data, world.rank - pairs)
    info = MPI.Info.Create()
    for name, value in zip(hints[::2], hints[1::2], strict=True):
        info.Set(name, value)
    rows = []
    for _ in range(int(repeats)):
        world.Barrier()
        begin = MPI.Wtime()
        comm = world
        if variant == "split":
            comm = world.Split(MPI.UNDEFINED if writer is None else 0, world.rank)
        parts = [0.0] * PARTS
        if comm != MPI.COMM_NULL:
            parts = write_file(comm, info, path, pairs, writer, data, transfer == "collective", is_synced == "1")
        rows.append(world.gather([MPI.Wtime() - begin, *parts], 0))
    if world.rank == 0:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
