"""h5py_write.py FOLDER PATH CHUNK_BYTES: the flat columns of a folder as datasets, by h5py, one after the other.

Lists as Thalweg writes them: `cumulative_length` and values. h5py has the chunks of one dataset at a time here, so its
memory says nothing of what a program that writes rows would need: it is not compared.
"""

import json
import sys
import time
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np


def main(folder: str, path: str, chunk: str) -> None:
    columns = json.loads((Path(folder) / "columns.json").read_text())["columns"]
    begin_s = time.process_time()
    with h5py.File(path, "w", libver="latest") as file:
        for index, column in enumerate(columns):
            dtype = np.dtype(column["type"])
            values = np.fromfile(Path(folder) / column["file"], dtype)
            if column["kind"] == "lengths":
                values = np.cumsum(values)
            items = max(1, min(int(chunk) // dtype.itemsize, values.size))
            filters = hdf5plugin.Bitshuffle(nelems=0, cname="zstd", clevel=1)
            name = f"{index:05d}" if values.size else f"{index:05d}-empty"
            file.create_dataset(name, data=values, chunks=(items,), maxshape=(None,), **filters)
    print(json.dumps({"file_bytes": Path(path).stat().st_size, "cpu_s": time.process_time() - begin_s}))


if __name__ == "__main__":
    main(*sys.argv[1:])
