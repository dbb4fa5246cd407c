"""Taking a file out of the page cache, and looking whether it is out."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path


def drop(path: Path) -> float:
    """Writes what is not yet written, drops all, and returns the share of the file that is in memory nevertheless.

    (On tmpfs all of it, always. Caches of the drive or of the host of a virtual machine are beyond reach.)
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return _resident_share(descriptor)
    finally:
        os.close(descriptor)


def _resident_share(descriptor: int) -> float:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return 0.0
    pages = -(-size // mmap.PAGESIZE)
    found = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    # A private writable mapping, so that Python lets us have its address; nothing is written.
    with mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        address = ctypes.c_char.from_buffer(mapping)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(address)), ctypes.c_size_t(size), found)
        del address
    if failed:
        raise OSError(ctypes.get_errno(), "mincore does not say what is in memory")
    return sum(byte & 1 for byte in bytes(found)) / pages
