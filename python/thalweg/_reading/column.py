"""A column of a table. Its values are read when it is indexed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._reading.asked import no_column
from thalweg._reading.protocol import ReadsRows
from thalweg._schema.attributes import Attributes
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged
from thalweg._values.select import is_row_number, row_number
from thalweg._values.to_frames import dtype_of

if TYPE_CHECKING:
    import pandas


_BATCH_ROWS = 10_000  # rows that iterating reads at a time


class Column:
    """A column of a table, used like a dataset of h5py: `column[10:20, ::4]` reads every fourth value of these rows.

    If the column is a struct, `column["values"]` is a column inside it.
    """

    def __init__(self, table: ReadsRows, path: str) -> None:
        """Raises UnknownNameError if the table has no such column."""
        self._table = table
        self.name = path
        self.type, self._outer, self._in_list = _type_at(table, path)

    @property
    def attrs(self) -> Attributes:
        """The attributes, with unit and description as "units" and "description"."""
        return self.type.attrs.with_texts(units=self.type.unit, description=self.type.description)

    @property
    def is_ragged(self) -> bool:
        """Whether it is read as lists of different lengths, so that its rows have no common shape."""
        return self._in_list or self.type.element is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, rows first. For lists, it does not include their elements."""
        return (len(self._table), *self._outer, *(() if self._in_list else self.type.shape))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of items in `shape`."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of one value: structured for structs, object for lists and strings."""
        return np.dtype(object) if self.is_ragged else dtype_of(self.type)

    def __len__(self) -> int:
        return len(self._table)

    def read(self, rows: Any = None, *, threads: int = 0) -> Any:
        """Returns the values of rows. `rows`, `threads` and errors are the same as for `Table.read`."""
        return self._table.read(self.name, rows=rows, threads=threads)[self.name]

    def __getitem__(self, key: Any) -> Any:
        """Returns one or more rows. Further indices select along the axes of a fixed-size array.

        Raises OutOfRangeError if there is no such row, UsageError if there are more indices than axes.
        """
        if isinstance(key, str):
            return self._table[f"{self.name}/{key}"]
        rows, inner = self._axes(key)
        if inner and (self.is_ragged or self.type.name == "struct"):
            raise UsageError(f"column '{self.name}' has no more axes to index ({self.type}): take its rows first")
        if is_row_number(rows):
            index = row_number(rows, len(self), f"table '{self._table.name}'")
            value = self.read(slice(index, index + 1))[0]
            return value[inner] if inner else value
        values = self.read(rows)
        return values[(slice(None), *inner)] if inner else values

    def __iter__(self) -> Iterator[Any]:
        for rows in self._table.batches(self.name, rows=_BATCH_ROWS):
            values = rows[self.name]
            yield from (values[index] for index in range(len(values)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError(f"column '{self.name}' cannot be an array without a copy (it lies in a file)")
        if self.is_ragged:
            raise UsageError(
                f"column '{self.name}' is not an array (its lists have different lengths): take column[...], which has "
                "`content` and `offsets`, or table.read(...).to_awkward()"
            )
        return np.asarray(self.to_numpy(), dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Gives all values to a library that takes DLPack, such as `torch.from_dlpack(column)`, in memory of their own.

        Raises UsageError if the values are lists, strings or structs, and BufferError if the library asks for no copy
        (the values lie in a file), for another device, or if DLPack has no such type."""
        if copy is False:
            raise BufferError(f"column '{self.name}' cannot be given without a copy (it lies in a file)")
        if self.is_ragged or self.type.name == "struct":
            raise UsageError(f"column '{self.name}' cannot be a tensor (it is {self.type}): take a column of numbers")
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        return self.to_numpy().__dlpack__(**{name: value for name, value in asked.items() if value is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the CPU, as DLPack numbers it."""
        return (1, 0)

    def to_numpy(self) -> npt.NDArray[Any]:
        """Returns all values. Structs become a structured array, lists and strings become objects."""
        values = self.read()
        if isinstance(values, Ragged):
            array = np.empty(len(values), object)
            for index, each in enumerate(values):
                array[index] = each
            return array
        return np.asarray(values.to_numpy() if self.type.name == "struct" else values)

    def to_pandas(self) -> pandas.Series[Any] | pandas.DataFrame:
        """Returns all values as a Series, or as a DataFrame if it is a struct."""
        frame = self._table.read(self.name).to_pandas()
        return frame.get(self.name, frame)

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self._table, self.name)

    def __repr__(self) -> str:
        return f"<Column '{self.name}': {len(self)} rows of {self.type}>"

    def _axes(self, key: Any) -> tuple[Any, tuple[Any, ...]]:
        """Returns the index of rows and the indices of the further axes."""
        if key is Ellipsis or (isinstance(key, tuple) and not key):
            return slice(None), ()
        if not isinstance(key, tuple):
            key = (key,)
        dots = [place for place, each in enumerate(key) if each is Ellipsis]
        if len(dots) > 1 or any(each is None for each in key):
            raise UsageError(f"column '{self.name}' cannot be indexed with {key}: give one index for each axis")
        if dots:
            filled = (slice(None),) * (self.ndim - (len(key) - 1))
            key = (*key[: dots[0]], *filled, *key[dots[0] + 1 :])
        if len(key) > self.ndim and not self.is_ragged:
            raise UsageError(f"column '{self.name}' cannot be indexed with {len(key)} axes (it has {self.ndim})")
        return key[0], tuple(key[1:])


def _type_at(table: ReadsRows, path: str) -> tuple[Type, tuple[int, ...], bool]:
    """Returns the type of a column, the sizes of fixed-size arrays around it, and whether it is inside lists."""
    type_, in_list = Type("struct", members=table.schema.fields), False
    outer: tuple[int, ...] = ()
    for name in path.split("/"):
        outer = outer if in_list else (*outer, *type_.shape)
        while type_.element is not None and name != "*":
            in_list, type_ = True, type_.element
        in_list = in_list or name == "*"
        found = type_.element if name == "*" else dict(type_.members).get(name)
        if found is None:
            raise no_column(table.schema, path)
        type_ = found
    return type_, outer, in_list
