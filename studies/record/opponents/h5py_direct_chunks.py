"""h5py_direct_chunks.py PATH PULSES BYTES THREADS: threads compress chunks with the bitshuffle library of hdf5plugin,
and hand them to h5py's write_direct_chunk, until they are durable."""

import ctypes
import json
import os
import sys
import threading
import time

import h5py
import numpy as np
from h5py_write import ROWS_PER_CHUNK, SAMPLES, filter_options
from stock_bitshuffle import ITEM_BYTES, PAGE_BYTES, load

BLOCK_ITEMS = 8192 // ITEM_BYTES  # what the library takes by itself, and the filter writes in front of a chunk


def write_chunks(library: ctypes.CDLL, dataset: h5py.Dataset, pages: np.ndarray, indices: range) -> None:
    out = np.ones(12 + PAGE_BYTES + PAGE_BYTES // 16 + 4096, np.uint8)
    # The filter's head of a chunk: the size of its content and of a block, in bytes, big-endian.
    out[:8] = np.frombuffer(PAGE_BYTES.to_bytes(8, "big"), np.uint8)
    out[8:12] = np.frombuffer((BLOCK_ITEMS * ITEM_BYTES).to_bytes(4, "big"), np.uint8)
    for index in indices:
        page = pages[index % len(pages)]
        # ctypes gives up the interpreter's lock for the call; h5py has one lock of its own for the other
        stored = library.bshuf_compress_lz4(
            page.ctypes.data, out.ctypes.data + 12, PAGE_BYTES // ITEM_BYTES, ITEM_BYTES, BLOCK_ITEMS
        )
        assert stored > 0
        dataset.id.write_direct_chunk((index * ROWS_PER_CHUNK, 0), out[: 12 + stored])


def main(path: str, pulses_path: str, size: str, thread_count: str) -> None:
    library = load()
    pages = np.fromfile(pulses_path, dtype=np.uint8).reshape(-1, PAGE_BYTES)
    chunks, writers = int(size) // PAGE_BYTES, int(thread_count)
    begin = time.monotonic()
    cpu_begin = time.process_time()
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset(
            "waveform",
            shape=(chunks * ROWS_PER_CHUNK, SAMPLES),
            dtype=np.uint16,
            chunks=(ROWS_PER_CHUNK, SAMPLES),
            **filter_options("bitshuffle+lz4"),
        )
        threads = [
            threading.Thread(target=write_chunks, args=(library, dataset, pages, range(first, chunks, writers)))
            for first in range(writers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    descriptor = os.open(path, os.O_RDWR)
    os.fsync(descriptor)
    os.close(descriptor)
    seconds = time.monotonic() - begin
    cpu_s = time.process_time() - cpu_begin
    with h5py.File(path) as file:  # the clock has stopped: are they chunks that the filter decodes?
        assert np.array_equal(
            file["waveform"][-ROWS_PER_CHUNK:].view(np.uint8).ravel(), pages[(chunks - 1) % len(pages)]
        )
    size_bytes = chunks * PAGE_BYTES
    rates = {"GB_per_s": size_bytes / seconds / 1e9, "cpu_s_per_GB": cpu_s / size_bytes * 1e9}
    print(json.dumps({"seconds": seconds, "raw_bytes": size_bytes, **rates}))


if __name__ == "__main__":
    main(*sys.argv[1:])
