"""h5py_read.py PATH DATASET PASSES: reads all of a dataset into memory that was touched before, once more than said."""

import json
import statistics
import sys
import time

import h5py
import hdf5plugin  # noqa: F401 # registers the filters
import numpy as np


def main(path: str, name: str, passes: str) -> None:
    with h5py.File(path, "r") as file:
        dataset = file[name]
        out = np.ones(dataset.shape, dataset.dtype)
        seconds = []
        for _ in range(1 + int(passes)):  # the first one only warms the page cache
            begin = time.monotonic()
            dataset.read_direct(out)
            seconds.append(time.monotonic() - begin)
    median = statistics.median(seconds[1:])
    print(json.dumps({"seconds": median, "raw_bytes": out.nbytes, "GB_per_s": out.nbytes / median / 1e9}))


if __name__ == "__main__":
    main(*sys.argv[1:])
