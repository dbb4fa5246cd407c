"""Runs as file objects, for programs that read HDF5 or ROOT files."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._base.file_state import FileState
from thalweg._reading.origin import Origin


class RunFile(io.RawIOBase):
    """What the file of a run has at one time, as a complete file that cannot be changed: for `h5py.File`,
    `uproot.open`, `xarray.open_dataset` and whatever else takes a file object.

    The file of a run that is still written has no metadata for other programs yet: they are made in memory, and bytes
    of the rows are read from the file. The rows are those of `thalweg.snapshot`. An object goes on showing these rows
    while the run is written, and after it was closed, recovered, replaced by another file or removed; `Run.as_file`
    again shows newer ones. Only a program that writes over the bytes of the file changes what an open run shows.
    Threads may share it. A pickle holds the path, and loading it shows what the run has then.
    """

    def __init__(self, origin: Origin, image: _core.FileImage) -> None:
        """`Run.as_file` makes it."""
        super().__init__()
        self._origin = origin
        self._image: _core.FileImage | None = image
        self._lock = threading.Lock()  # of the position
        self._position = 0

    @classmethod
    def of(cls, origin: Origin) -> RunFile:
        """Raises UsageError if the run is read by a URL or through a file object, or if nothing is recorded yet;
        DataError if the path now leads to another run or file."""
        if origin.is_far:
            raise UsageError(f"{origin.path} cannot be shown as a file (it is not read by a path): give its URL")
        image = _core.FileImage.of(origin.place)
        if image.is_open_run:
            if image.run_id != origin.id:
                raise DataError(f"{origin.path} is another run now (it was run {origin.id}, and is {image.run_id})")
        elif origin.state is not None and image.state is not None:
            origin.state.check(FileState(*image.state), origin.path)
        else:
            origin.reopened()
        return cls(origin, image)

    @property
    def name(self) -> str:
        return self._origin.path

    @property
    def is_open_run(self) -> bool:
        """Whether the run was open when this was made: rows may be missing, which a close or `recover` adds."""
        return self._shown.is_open_run

    @property
    def rows(self) -> Mapping[str, int]:
        """The numbers of rows of the tables of an open run; empty for a closed one."""
        report = self._shown.report
        return MappingProxyType({table.table: table.rows for table in report.tables} if report else {})

    @property
    def size(self) -> int:
        return self._shown.size

    @property
    def _shown(self) -> _core.FileImage:
        if self._image is None:
            raise ValueError(f"{self._origin.path} cannot be read (this file object was closed): ask for it again")
        return self._image

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        image = self._shown
        with self._lock:
            count = image.read_into(self._position, buffer)
            self._position += count
        return count

    def read_at(self, offset: int, size: int) -> bytes:
        """Returns at most `size` bytes from `offset` on: fewer at the end. The position stays."""
        bytes_ = bytearray(max(0, min(size, self.size - offset)))
        self._shown.read_into(offset, bytes_)
        return bytes(bytes_)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        size = self.size
        with self._lock:
            begins = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: size}
            if whence not in begins:
                raise ValueError(f"a position in {self.name} cannot be counted from {whence}: give 0, 1 or 2")
            begin = begins[whence]
            if begin + offset < 0:
                raise ValueError(f"there is no byte {begin + offset} in {self.name}")
            self._position = begin + offset
            return self._position

    def tell(self) -> int:
        return self._position

    def write(self, buffer: Any, /) -> int:  # noqa: ARG002
        raise io.UnsupportedOperation(f"{self.name} cannot be written (it shows a run): write to a file of your own")

    def close(self) -> None:
        """Closes this object, as uproot and xarray do with one that they were given. Copies of it stay open."""
        self._image = None
        super().close()

    def __copy__(self) -> RunFile:
        """Returns another file object of the same bytes, which has a position of its own."""
        return RunFile(self._origin, self._shown)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunFile.of, (self._origin,)

    def __repr__(self) -> str:
        state = "closed" if self._image is None else f"{self.size} bytes{', of an open run' * self.is_open_run}"
        return f"<RunFile {self.name}: {state}>"
