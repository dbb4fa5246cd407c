"""uproot_write.py PATH BYTES LEVEL BATCH: one uproot process writes Hahnfeld's events, until they are durable."""

import json
import os
import sys
import time

import awkward as ak
import numpy as np
import uproot

MEAN_PARTICLES = 5
EVENT_BYTES = 8 + 8 + 4 * MEAN_PARTICLES  # id, offset, energies
FIELDS = {"eventId": np.dtype("uint64"), "particles": "var * float32"}


def make_particles(events: int) -> ak.Array:
    random = np.random.default_rng(1)
    counts = random.poisson(MEAN_PARTICLES, events)
    energies = random.uniform(0, 100, counts.sum()).astype(np.float32)
    return ak.unflatten(energies, counts)


def main(path: str, size: int, level: int, batch: int) -> None:
    particles = make_particles(batch)  # the same for every batch: they are compressed one by one
    batches = max(1, round(size / (batch * EVENT_BYTES)))
    begin, begin_cpu = time.monotonic(), time.process_time()
    with uproot.recreate(path, compression=uproot.ZSTD(level)) as file:
        table = file.mkrntuple("events", FIELDS)
        for index in range(batches):
            identifiers = np.arange(index * batch, (index + 1) * batch, dtype=np.uint64)
            table.extend({"eventId": identifiers, "particles": particles})
    descriptor = os.open(path, os.O_RDWR)
    os.fsync(descriptor)
    os.close(descriptor)
    seconds, cpu = time.monotonic() - begin, time.process_time() - begin_cpu
    raw_bytes = batches * (16 * batch + 4 * int(ak.count(particles)))
    result = {"seconds": seconds, "raw_bytes": raw_bytes, "GB_per_s": raw_bytes / seconds / 1e9}
    print(json.dumps({**result, "file_bytes": os.path.getsize(path), "cpu_s_per_GB": cpu / raw_bytes * 1e9}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
