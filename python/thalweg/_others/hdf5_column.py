"""Reads a dataset as a column through h5py."""

from __future__ import annotations

import math
import os
from copy import copy
from dataclasses import replace
from typing import Any

import h5py
import numpy as np

from thalweg._base.errors import DataError, UsageError
from thalweg._others.hdf5_objects import H5Source, open_dataset
from thalweg._others.hdf5_sources import sources_of
from thalweg._others.hdf5_types import (
    LeaveOut,
    hdf5_name_of,
    renamed_members,
    type_of_hdf5,
    values_of_hdf5,
    with_bytes,
)
from thalweg._others.tree_types import NoTypeError
from thalweg._schema.attributes import Attributes
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged
from thalweg._values.rows import Rows

# This much is read when a file is opened, to see whether h5py can read it, whether strings are UTF-8, and how long
# lists are.
_TRIED_BYTES = 8 << 20
_TRIED_STRINGS = 100_000
_SURE_BYTES = 1 << 33  # datasets up to this size are always accepted; a damaged extent may have any size
_MOST_BYTES_A_BYTE = 4096  # beyond that, the largest number of bytes of values for each byte of the file
_SMALL_CACHE_BYTES = 1 << 20  # the chunk cache of every dataset
# HDF5 keeps the axes of a dataset in the first two, as references. The last one is the type as lh5 describes it.
NOT_SHOWN = ("DIMENSION_LIST", "REFERENCE_LIST", "datatype")


class H5Column:
    """A dataset as a column. The constructor raises NoTypeError, or what h5py raises, if it cannot be a column."""

    def __init__(self, path: str, source: H5Source, leave_out: LeaveOut, notes: list[str]) -> None:
        self.path = path
        self.source = source
        self.cached: h5py.Dataset | None = None
        with source.opened() as file:
            self.type = self._examine(file, open_dataset(file, path), leave_out, notes)
            tried = self._values(file, 0, self._tried_rows())
        self.type = with_bytes(self.type, tried, path, notes)
        self.row_bytes = max(1, bytes_of(values_of_hdf5(self.type, tried)) // max(1, len(tried)))

    def _examine(self, file: h5py.File, dataset: h5py.Dataset, leave_out: LeaveOut, notes: list[str]) -> Type:
        if not dataset.shape:
            raise NoTypeError("it is a scalar and has no rows")
        self._sources = sources_of(file, dataset, self.source.folders)
        self._is_external = bool(dataset.external)
        # Values of variable length are stored elsewhere, without a checksum.
        self.has_checksum = bool(dataset.fletcher32) and not dataset.dtype.hasobject
        self._shape, self._chunks = dataset.shape, dataset.chunks
        self.stored_bytes = int(dataset.id.get_storage_size())
        row_bytes = self._stored_row_bytes = int(math.prod(dataset.shape[1:])) * int(dataset.dtype.itemsize)
        file_bytes = os.path.getsize(self.source.path)
        if len(self) * max(1, row_bytes) > _SURE_BYTES + _MOST_BYTES_A_BYTE * file_bytes:
            raise NoTypeError(
                f"it claims {len(self)} items of {row_bytes} bytes, but the file has only {file_bytes} bytes"
            )
        self._band_bytes = 0  # the size of all chunks that hold the same rows
        if self._chunks:
            sizes = zip(self._shape[1:], self._chunks[1:], strict=True)
            chunk_bytes = math.prod(self._chunks) * dataset.dtype.itemsize
            self._band_bytes = chunk_bytes * math.prod(-(-size // chunk) for size, chunk in sizes)
        type_ = type_of_hdf5(dataset.dtype, lambda name, why: leave_out(f"{self.path}.{name}", why))
        notes += renamed_members(dataset.dtype, self.path)
        type_ = replace(type_, shape=(*dataset.shape[1:], *type_.shape))
        return with_attributes(type_, dataset, self.path, leave_out)

    def _open(self, file: h5py.File) -> h5py.Dataset:
        return self.cached or open_dataset(file, self.path, is_external=self._is_external)

    def __len__(self) -> int:
        return int(self._shape[0])

    @property
    def raw_bytes(self) -> int:
        return self.row_bytes * len(self)

    @property
    def chunk_rows(self) -> int:
        """The number of rows of a chunk, or 0 if it has no chunks."""
        return int(self._chunks[0]) if self._chunks else 0

    def scanned(self, file: h5py.File, memory_bytes: int) -> H5Column:
        """Returns a column for reading all rows in order while the file is open. If there is enough memory, each chunk
        is decoded once."""
        if not _SMALL_CACHE_BYTES < self._band_bytes <= memory_bytes:
            return self
        column = copy(self)
        column.cached = open_dataset(
            file, self.path, self._band_bytes + _SMALL_CACHE_BYTES, is_external=self._is_external
        )
        return column

    def read(self, type_: Type, start: int, count: int) -> Any:
        """Reads rows. `type_` is the type of the column, or one with fewer members. Raises DataError if h5py cannot."""
        try:
            with self.source.opened() as file:
                values = self._values(file, start, start + count, type_)
            return values_of_hdf5(type_, values)
        except Exception as error:
            where = f"{self.source.path}: rows {start} to {start + count} of {self.path}"
            if isinstance(error, DataError):
                raise DataError(f"{where} cannot be read ({error})") from error
            raise DataError(f"{where} cannot be read by h5py ({type(error).__name__}: {error})") from error

    def _values(self, file: h5py.File, start: int, stop: int, type_: Type | None = None) -> Any:
        """Reads rows. With a type, only the members that it has."""
        parts = []
        for first, end in self._sources.pieces(start, stop):
            # A dataset that is opened anew keeps no other files open than those of its piece.
            with self._sources.held(file, first, end):
                parts.append(self._piece(file, first, end, type_))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _piece(self, file: h5py.File, start: int, stop: int, type_: Type | None) -> Any:
        dataset = self._open(file)
        if type_ and type_.name == "struct" and len(type_.members) < len(dataset.dtype.names):
            wanted = dict(type_.members)
            dataset = dataset.fields([name for name in dataset.dtype.names if hdf5_name_of(name) in wanted])
        return dataset[start:stop]

    def _tried_rows(self) -> int:
        if not has_lists(self.type):
            return min(1, len(self))
        strings = _TRIED_STRINGS // max(1, int(math.prod(self._shape[1:])))
        return min(len(self), max(1, min(_TRIED_BYTES // max(1, self._stored_row_bytes), strings)))


def with_attributes(type_: Type, dataset: h5py.Dataset, path: str, leave_out: LeaveOut) -> Type:
    given: dict[str, Any] = {}
    unit, description = type_.unit, ""
    for name in dataset.attrs:
        if name in NOT_SHOWN:
            continue
        try:
            value = value_of(dataset.attrs[name], dataset.attrs.get_id(name).dtype)
            if name == "units" and isinstance(value, str):
                unit = value
            elif name == "description" and isinstance(value, str):
                description = value
            else:
                Attributes({name: value})  # raises if it cannot be stored
                given[name] = value
        except Exception as error:
            leave_out(f"the attribute '{name}' of {path}", str(error))
    return replace(type_, unit=unit, description=description, attrs=Attributes({**given, **type_.attrs}))


def value_of(value: Any, dtype: Any) -> Any:
    """Returns the value of an attribute, or of a scalar dataset. Raises UsageError or UnicodeDecodeError if it has
    none."""
    if isinstance(value, h5py.Empty):
        return "" if h5py.check_string_dtype(value.dtype) else np.empty(0, value.dtype)
    if dtype is not None and h5py.check_enum_dtype(dtype):
        raise UsageError("it is an enumeration, whose labels would be lost")
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "mM":
        return value.astype(str) if value.shape else str(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        texts = np.empty(value.size, object)
        texts[:] = [each.decode() if isinstance(each, bytes) else each for each in value.flat]
        return texts.reshape(value.shape)
    return value


def has_lists(type_: Type) -> bool:
    return type_.name in ("string", "list") or any(has_lists(member) for _, member in type_.members)


def bytes_of(value: Any) -> int:
    """Returns the size of values in memory."""
    if isinstance(value, Rows):
        return sum(bytes_of(member) for member in value.members.values())
    if isinstance(value, Ragged):
        return int(value.offsets.nbytes) + bytes_of(value.content)
    return int(value.nbytes)
