"""Files that other libraries read for us: file objects, and URLs by fsspec."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from thalweg._base.errors import SystemError, UsageError  # noqa: A004

Ranges = Sequence[tuple[int, int]]  # offset and size, in bytes


@runtime_checkable
class Readable(Protocol):
    """What `open(..., "rb")` gives, or fsspec's `open`."""

    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...


@dataclass(frozen=True)
class FarFile:
    name: str
    size_bytes: int
    read_ranges: Callable[[Ranges], list[bytes]]


def far_file(source: object) -> FarFile | None:
    """None where it is a path of this machine.

    Raises UsageError where what it is cannot be read, and what fsspec raises.
    """
    if isinstance(source, str) and "://" in source:
        return _by_url(source)
    name = f"<{type(source).__name__} {getattr(source, 'name', None) or getattr(source, 'path', '')}".rstrip() + ">"
    if isinstance(source, io.TextIOBase):
        raise UsageError(f"{name} cannot be read (it gives text); open it in mode 'rb'")
    if isinstance(source, os.PathLike) or not isinstance(source, Readable):
        return None
    if getattr(source, "closed", False):
        raise UsageError(f"{name} cannot be read (it is closed); open it again")
    if not getattr(source, "seekable", lambda: True)():
        raise UsageError(f"{name} cannot be read (it cannot seek); save it as a file first")
    system, path = getattr(source, "fs", None), getattr(source, "path", None)
    if hasattr(system, "cat_ranges") and isinstance(path, str):  # what fsspec opens
        return FarFile(name, _size_of(source), _Fsspec(system, path))
    return FarFile(name, _size_of(source), _Object(source, name))


def _by_url(url: str) -> FarFile:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(
            f"{url} cannot be read (that needs fsspec); pip install fsspec, and what it asks for"
        ) from None
    system, path = url_to_fs(url)
    size = system.size(path)
    if size is None:
        raise SystemError(f"{url} cannot be read (its server does not say how long it is); copy it to this machine")
    return FarFile(url, size, _Fsspec(system, path))


def _size_of(file: Readable) -> int:
    return file.seek(0, os.SEEK_END)


class _Fsspec:
    """All ranges by one call, which systems that can serve at the same time."""

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
        self._lock = Lock()  # between seek and read

    def __call__(self, ranges: Ranges) -> list[bytes]:
        with self._lock:
            return [self._read(offset, size) for offset, size in ranges]

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        first = self._file.read(size)
        if not isinstance(first, bytes):
            raise UsageError(f"{self._name} cannot be read (read() gives {type(first).__name__}, no bytes)")
        pieces, missing = [first], size - len(first)
        while missing > 0 and pieces[-1]:  # raw files give less than they are asked for
            pieces.append(self._file.read(missing))
            missing -= len(pieces[-1])
        return b"".join(pieces) if len(pieces) > 1 else first
