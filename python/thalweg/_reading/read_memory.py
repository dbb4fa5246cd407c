"""How much memory reading may take."""

from __future__ import annotations

from thalweg import _core
from thalweg._base.errors import UsageError


def read_memory(size: int | str | None = None) -> int:
    """What all that is read in this process may take for decoding at once, in bytes, beside what it returns.

    size: sets it: bytes, or a text as "64 MiB". Without it, and without the environment variable THALWEG_READ_MEMORY,
    that is 256 MiB. A page that takes more is decoded alone.

    Raises UsageError where it is no size, or 0.
    """
    if size is not None:
        bytes_ = _core.parse_size_bytes(size) if isinstance(size, str) else size
        if bytes_ < 1:
            raise UsageError(f"readers cannot do with {bytes_} bytes of memory: give them 1 at least")
        _core.set_read_memory_bytes(bytes_)
    return _core.read_memory_bytes()
