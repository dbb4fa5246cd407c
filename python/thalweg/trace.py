"""Marks the phases of a program in a trace of `thalweg trace`."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Returns the tracing library if it is loaded into this process, or None."""
    here = ctypes.CDLL(None)
    if not hasattr(here, "thalweg_interpose_region"):
        return None
    here.thalweg_interpose_now.restype = ctypes.c_uint64
    here.thalweg_interpose_region.argtypes = (ctypes.c_char_p, ctypes.c_uint64)
    here.thalweg_interpose_region.restype = None
    return here


@contextlib.contextmanager
def region(name: str) -> Iterator[None]:
    """Records what happens inside as a phase with this name. Regions may be nested. Without a trace this does nothing.

    with tw.trace.region("step"):
        simulate()
    """
    library = _library()
    if library is None:
        yield
        return
    begin = library.thalweg_interpose_now()
    try:
        yield
    finally:
        library.thalweg_interpose_region(name.encode(), begin)
