"""The limit of the memory that reading takes."""

from __future__ import annotations

from thalweg import _core
from thalweg._base.given import integer_of


def read_memory(size: int | str | None = None) -> int:
    """Returns the memory in bytes that all reads of this process together may take for decoding.

    The arrays that reads return come on top of it.

    size: the new limit: bytes, or a text such as "64 MiB". The default is the environment variable THALWEG_READ_MEMORY,
        and without it 256 MiB. A page that needs more is decoded alone.

    Raises UsageError if it is not a size, or 0.
    """
    if size is not None:
        given = _core.parse_size_bytes(size) if isinstance(size, str) else size
        _core.set_read_memory_bytes(integer_of(given, "the memory of readers in bytes", 1))
    return _core.read_memory_bytes()
