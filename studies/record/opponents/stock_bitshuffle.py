"""stock_bitshuffle.py PULSES BYTES THREADS: the bitshuffle library of hdf5plugin, in memory and without HDF5."""

import ctypes
import json
import sys
import threading
import time

import hdf5plugin
import numpy as np

PAGE_BYTES = 48 * 10_496 * 2
ITEM_BYTES = 2


def load() -> ctypes.CDLL:
    library = ctypes.CDLL(hdf5plugin.get_config().registered_filters["bshuf"])
    compress = library.bshuf_compress_lz4  # (in, out, items, bytes of an item, block size or 0)
    compress.restype = ctypes.c_int64
    compress.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t]
    return library


def instructions(library: ctypes.CDLL) -> str:
    for name in ("AVX512", "AVX2", "SSE2"):
        if getattr(library, f"bshuf_using_{name}")():
            return name
    return "none"


def compress_pages(library: ctypes.CDLL, pages: np.ndarray, count: int) -> None:
    out = np.ones(PAGE_BYTES + PAGE_BYTES // 16 + 4096, np.uint8)
    for index in range(count):
        page = pages[index % len(pages)]
        # ctypes gives up the interpreter's lock for the call, so that threads run side by side
        stored = library.bshuf_compress_lz4(page.ctypes.data, out.ctypes.data, PAGE_BYTES // ITEM_BYTES, ITEM_BYTES, 0)
        assert stored > 0


def main(pulses_path: str, size: str, thread_count: str) -> None:
    library = load()
    pages = np.fromfile(pulses_path, dtype=np.uint8).reshape(-1, PAGE_BYTES)
    count = int(size) // PAGE_BYTES // int(thread_count)
    threads = [threading.Thread(target=compress_pages, args=(library, pages, count)) for _ in range(int(thread_count))]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    size_bytes = count * len(threads) * PAGE_BYTES
    result = {"seconds": seconds, "raw_bytes": size_bytes, "GB_per_s": size_bytes / seconds / 1e9}
    print(json.dumps({**result, "instructions": instructions(library)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
