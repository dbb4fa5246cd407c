"""Converts Awkward arrays of exactly the declared types directly to flat columns, which makes wide appends fast."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thalweg._schema.types import Type

Array = npt.NDArray[Any]


class _OtherError(Exception):
    """Raised for all other values: the general conversion takes them, or says what is wrong."""


class _Part(NamedTuple):
    """Some items of a layout: [start, stop), or those of an index."""

    start: int
    stop: int
    chosen: Array | None = None

    def of(self, array: Array) -> Array:
        if self.chosen is not None:
            return array[self.chosen]
        return array if self.start == 0 and self.stop == len(array) else array[self.start : self.stop]

    def inside(self, size: int) -> _Part:
        """Returns the items inside fixed-size arrays of that size."""
        if self.chosen is None:
            return _Part(self.start * size, self.stop * size)
        return _Part(0, 0, (self.chosen[:, np.newaxis] * size + np.arange(size)).reshape(-1))

    def __len__(self) -> int:
        return self.stop - self.start if self.chosen is None else len(self.chosen)


def flat_columns(row: Type, given: Any) -> tuple[int, list[Array]] | None:
    """Returns the number of rows and one contiguous array for each column, or None for other values."""
    columns: list[Array] = []
    try:
        if _is_awkward(given):
            _flatten(row, given.layout, _Part(0, len(given)), columns)
            return len(given), columns
        if not isinstance(given, dict) or not any(map(_is_awkward, given.values())):
            return None
        if len(given) != len(row.members):
            return None
        count = len(given[row.members[0][0]])
        for name, type_ in row.members:
            value = given[name]
            if len(value) != count:
                return None
            _flatten(type_, value.layout if _is_awkward(value) else value, _Part(0, count), columns)
    except (KeyError, TypeError, _OtherError):
        return None
    return count, columns


def _is_awkward(value: Any) -> bool:
    awkward = sys.modules.get("awkward")
    return awkward is not None and isinstance(value, awkward.Array)


def _flatten(type_: Type, layout: Any, part: _Part, columns: list[Array]) -> None:
    """Adds the columns of these items to `columns`."""
    kind = type(layout).__name__
    while kind == "IndexedArray" and layout.parameter("__array__") is None:
        index = part.of(_array(layout.index.data))
        layout, part = layout.content, _Part(0, 0, index)
        kind = type(layout).__name__
    if kind == "RegularArray" and type_.shape and layout.size == type_.shape[0] and layout.parameters == {}:
        _flatten(replace(type_, shape=type_.shape[1:]), layout.content, part.inside(layout.size), columns)
    elif type_.name == "struct" and kind == "RecordArray" and not type_.shape:
        members = dict(zip(layout.fields, layout.contents, strict=True))
        if len(members) != len(type_.members) or layout.is_tuple:
            raise _OtherError
        for name, member in type_.members:
            _flatten(member, members[name], part, columns)
    elif type_.is_scalar and not type_.is_split and type_.time_dtype is None and kind in ("NumpyArray", "ndarray"):
        data = layout if kind == "ndarray" else _array(layout.data)
        if data.dtype != type_.dtype or data.shape[1:] != type_.shape:
            raise _OtherError
        columns.append(np.ascontiguousarray(part.of(data)))
    elif (
        type_.name in ("list", "string")
        and not type_.is_optional
        and not type_.shape
        and kind in ("ListOffsetArray", "ListArray")
    ):
        _flatten_lists(type_, layout, part, columns)
    else:
        raise _OtherError


def _flatten_lists(type_: Type, layout: Any, part: _Part, columns: list[Array]) -> None:
    is_string = layout.parameter("__array__") == "string"
    if is_string != (type_.name == "string") or (layout.parameter("__array__") is not None and not is_string):
        raise _OtherError
    if type(layout).__name__ == "ListOffsetArray" and part.chosen is None:
        offsets = _array(layout.offsets.data)[part.start : part.stop + 1].astype(np.int64, copy=False)
        lengths = offsets[1:] - offsets[:-1]
        inner = _Part(int(offsets[0]), int(offsets[-1]))
    else:
        begins = part.of(_array(layout.starts.data)).astype(np.int64, copy=False)
        lengths = part.of(_array(layout.stops.data)) - begins
        inner = _Part(0, 0, _elements(begins, lengths))
    if len(lengths) and lengths.min() < 0:
        raise _OtherError
    columns.append(lengths.view(np.uint64))
    content = layout.content
    if is_string:
        columns.append(np.ascontiguousarray(inner.of(_array(content.data)), np.uint8))
    else:
        assert type_.element is not None
        _flatten(type_.element, content, inner, columns)


def _elements(begins: Array, lengths: Array) -> Array:
    """Returns the indices of all elements of lists with these begins and lengths."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(begins - ends + lengths, lengths) + np.arange(total)


def _array(buffer: Any) -> Array:
    if hasattr(buffer, "materialize"):  # a virtual buffer is read now
        buffer = buffer.materialize()
    if type(buffer) is not np.ndarray:  # buffers of a GPU or of a tracer are not NumPy arrays
        raise _OtherError
    return buffer
