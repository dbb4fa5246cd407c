"""Converts Arrow arrays, and whatever offers itself through Arrow's C interface, to NumPy arrays and lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._base.packages import needed
from thalweg._values.ragged import Optional, Ragged, Text, in_shape, named


def of_arrow(value: Any) -> Any:
    """Returns the content of an Arrow array, scalar or table; missing values make it an `Optional`.

    The columns of a table stay Arrow arrays, so that an error can name the column."""
    with needed(f"{type(value).__name__} cannot be appended"):
        import pyarrow as pa

    if isinstance(value, pa.RecordBatchReader):
        value = value.read_all()
    if isinstance(value, pa.Table | pa.RecordBatch):
        return named(zip(value.schema.names, value.columns, strict=True))
    if isinstance(value, pa.ChunkedArray | pa.Array):
        kind = _without_views(pa, value.type)
        value = value if kind == value.type else value.cast(kind)
        return _array(pa, value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value)
    if isinstance(value, pa.Scalar):
        return _scalar(pa, value)
    return of_arrow(pa.table(value) if hasattr(value, "columns") else pa.chunked_array(value))


def _scalar(pa: Any, value: Any) -> Any:
    if value.is_valid and (pa.types.is_timestamp(value.type) or pa.types.is_duration(value.type)):
        return _array(pa, pa.array([value], value.type))[0]  # Python's times have no nanoseconds
    return value.as_py()


def _without_views(pa: Any, kind: Any) -> Any:
    """Returns a type with other strings and lists instead of views, which Arrow cannot filter."""
    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_struct(kind):
        return pa.struct([_field_without_views(pa, kind.field(i)) for i in range(kind.num_fields)])
    if types.is_fixed_size_list(kind):
        return pa.list_(_field_without_views(pa, kind.value_field), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_field_without_views(pa, kind.value_field))
    if types.is_large_list(kind) or types.is_list_view(kind) or types.is_large_list_view(kind):
        return pa.large_list(_field_without_views(pa, kind.value_field))
    return kind


def _field_without_views(pa: Any, field: Any) -> Any:
    return field.with_type(_without_views(pa, field.type))


def _array(pa: Any, array: Any) -> Any:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _array(pa, array.storage)
    if pa.types.is_dictionary(kind):
        values = array.dictionary.cast(_without_views(pa, kind.value_type))
        return _array(pa, pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        from pyarrow import compute

        return _array(pa, compute.run_end_decode(array))
    if array.null_count:
        is_there = array.is_valid().to_numpy(zero_copy_only=False)
        # An array of Arrow's null type keeps its nulls, whatever is dropped.
        return Optional.from_mask(is_there, _array(pa, array.drop_null()) if is_there.any() else np.empty(0, object))
    return _values(pa, array)


def _values(pa: Any, array: Any) -> Any:
    """Returns the content of an array without nulls. What lies outside its slice is not looked at."""
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return named(zip(names, (_array(pa, member) for member in array.flatten()), strict=True))
    if types.is_string(kind) or types.is_large_string(kind):
        text = array.cast(pa.large_string()).cast(pa.large_binary())
        _, offsets, data = text.buffers()
        if not len(text):
            return Text(np.zeros(1, np.int64), np.empty(0, np.uint8))
        begins = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
        return Text(begins, np.frombuffer(data or b"", np.uint8))
    if types.is_list(kind) or types.is_large_list(kind):
        if not len(array):
            return Ragged(np.zeros(1, np.int64), _array(pa, array.values[:0]))
        offsets = array.offsets.to_numpy()
        first, last = int(offsets[0]), int(offsets[-1])
        return Ragged(offsets - first, _array(pa, array.values[first:last]))
    if types.is_fixed_size_list(kind):
        return in_shape(_array(pa, array.flatten()), (len(array), kind.list_size))
    if types.is_null(kind):
        return np.empty(0, object)
    is_time = types.is_timestamp(kind) or types.is_duration(kind) or types.is_date(kind)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or is_time:
        return array.to_numpy(zero_copy_only=False)
    raise UsageError(f"Arrow values of type {kind} cannot be stored: convert them to numbers, times or strings")
