"""Files that other libraries read: file objects, and URLs through fsspec."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._base.packages import needed

Ranges = Sequence[tuple[int, int]]  # offset and size, in bytes


@runtime_checkable
class Readable(Protocol):
    """A file object, from `open(..., "rb")` or from fsspec."""

    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...


@dataclass(frozen=True)
class FarFile:
    """A file that is read through a function."""

    name: str
    size_bytes: int
    read_ranges: Callable[[Ranges], list[bytes]]


def far_file(source: object) -> FarFile | None:
    """Returns the file of a URL or file object, or None for a path of this machine.

    Raises UsageError if it cannot be read, and what fsspec raises.
    """
    if isinstance(source, str) and "://" in source:
        return _by_url(source)
    name = f"<{type(source).__name__} {getattr(source, 'name', None) or getattr(source, 'path', '')}".rstrip() + ">"
    if isinstance(source, io.TextIOBase):
        raise UsageError(f"{name} cannot be read (it is open in text mode): open it in mode 'rb'")
    if isinstance(source, os.PathLike) or not isinstance(source, Readable):
        return None
    if getattr(source, "closed", False):
        raise UsageError(f"{name} cannot be read (it is closed): open it again")
    if not getattr(source, "seekable", lambda: True)():
        raise UsageError(f"{name} cannot be read (it cannot seek): save it as a file first")
    system, path = getattr(source, "fs", None), getattr(source, "path", None)
    if hasattr(system, "cat_ranges") and isinstance(path, str):  # a file of fsspec
        return FarFile(name, _size_of(source), _Fsspec(system, path))
    return FarFile(name, _size_of(source), _Object(source, name))


def _by_url(url: str) -> FarFile:
    with needed(f"{url} cannot be read"):
        from fsspec.core import url_to_fs

    system, path = url_to_fs(url)
    size = system.size(path)
    if size is None:
        raise SystemError(0, f"{url} cannot be read (its server does not tell its size): copy it to this machine")
    return FarFile(url, size, _Fsspec(system, path))


def _size_of(file: Readable) -> int:
    return file.seek(0, os.SEEK_END)


class _Fsspec:
    """Reads all ranges in one call, which fsspec can serve in parallel."""

    def __init__(self, system: Any, path: str) -> None:
        self._system, self._path = system, path

    def __call__(self, ranges: Ranges) -> list[bytes]:
        begins = [offset for offset, _ in ranges]
        ends = [offset + size for offset, size in ranges]
        found: list[bytes] = self._system.cat_ranges([self._path] * len(begins), begins, ends, on_error="raise")
        return found


class _Object:
    def __init__(self, file: Readable, name: str) -> None:
        self._file, self._name = file, name
        self._lock = Lock()  # no other thread may come between seek and read

    def __call__(self, ranges: Ranges) -> list[bytes]:
        with self._lock:
            return [self._read(offset, size) for offset, size in ranges]

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        first = self._file.read(size)
        if not isinstance(first, bytes):
            raise UsageError(f"{self._name} cannot be read (its read() returns {type(first).__name__}, not bytes)")
        pieces, missing = [first], size - len(first)
        while missing > 0 and pieces[-1]:  # raw files may return fewer bytes than requested
            pieces.append(self._file.read(missing))
            missing -= len(pieces[-1])
        return b"".join(pieces) if len(pieces) > 1 else first
