"""h5py_write.py PATH PULSES BYTES FILTER: one h5py process writes waveforms by the chunk, until they are durable."""

import json
import os
import sys
import time
from typing import Any

import h5py
import hdf5plugin
import numpy as np

SAMPLES = 10_496
ROWS_PER_CHUNK = 48  # the chunks that Thalweg writes


def filter_options(name: str) -> dict[str, Any]:
    if name == "bitshuffle+lz4":
        return dict(hdf5plugin.Bitshuffle(nelems=0, cname="lz4"))
    if name == "shuffle+gzip-1":
        return {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    raise ValueError(name)


def main(path: str, pulses_path: str, size: str, filter_name: str) -> None:
    pulses = np.fromfile(pulses_path, dtype=np.uint16).reshape(-1, ROWS_PER_CHUNK, SAMPLES)
    chunks = int(size) // pulses[0].nbytes
    begin = time.monotonic()
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset(
            "waveform",
            shape=(chunks * ROWS_PER_CHUNK, SAMPLES),
            dtype=np.uint16,
            chunks=(ROWS_PER_CHUNK, SAMPLES),
            **filter_options(filter_name),
        )
        for index in range(chunks):
            first = index * ROWS_PER_CHUNK
            dataset[first : first + ROWS_PER_CHUNK] = pulses[index % len(pulses)]
    descriptor = os.open(path, os.O_RDWR)
    os.fsync(descriptor)
    os.close(descriptor)
    seconds = time.monotonic() - begin
    size_bytes = chunks * pulses[0].nbytes
    print(json.dumps({"seconds": seconds, "raw_bytes": size_bytes, "GB_per_s": size_bytes / seconds / 1e9}))


if __name__ == "__main__":
    main(*sys.argv[1:])
