"""Converts Awkward, Arrow and structured NumPy arrays to NumPy arrays, `Ragged` and dictionaries of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows

_PLAIN = frozenset((int, float, bool, complex, str, list, tuple, dict, Ragged, Text))


def plain(value: Any) -> Any:
    """Returns the content of an array of another library, without a copy if possible. Other values stay as they are."""
    if type(value) in _PLAIN or (type(value) is np.ndarray and value.dtype.names is None):
        return value  # most values are of these types
    if isinstance(value, np.ndarray | np.generic):
        return _of_numpy(value)
    if isinstance(value, Rows):
        return value.members  # strings as they were read
    if isinstance(value, str | list | tuple | int | float | complex | Mapping | Ragged):
        return value
    library = type(value).__module__.partition(".")[0]
    if library == "awkward":
        return _of_awkward(value)
    if library == "pandas" and hasattr(value, "columns"):
        return {name: _column_of_frame(value.iloc[:, place]) for place, name in enumerate(value.columns)}
    if hasattr(value, "__array__") and not hasattr(value, "columns") and library != "pyarrow":
        return np.asarray(value)
    if library == "pyarrow" or hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return _of_arrow(value)
    return value


def _of_numpy(value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        first = np.argwhere(value.mask)[0].tolist()
        raise UsageError(f"item {first} of the NumPy array is masked: fill it, or leave its row out")
    return value if value.dtype.names is None else {name: value[name] for name in value.dtype.names}


def _column_of_frame(series: Any) -> Any:
    """Returns a column of a DataFrame as an array. It is converted later, when errors can name the column."""
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    import pyarrow

    return pyarrow.Array.from_pandas(series)


def _of_awkward(value: Any) -> Any:
    import awkward as ak

    if isinstance(value, ak.Record):
        return {name: plain(value[name]) for name in value.fields}
    return _of_layout(ak.to_packed(value, highlevel=False))


def _of_layout(layout: Any) -> Any:
    import awkward as ak

    if layout.is_option:
        missing = np.flatnonzero(np.asarray(ak.is_none(ak.Array(layout))))
        if missing.size:
            raise UsageError(f"item {missing[0]} of the Awkward array is missing: fill it, or leave its row out")
    if layout.is_option or layout.is_indexed:
        return _of_layout(layout.project())
    if layout.is_record:
        return {name: _of_layout(layout.content(name)) for name in layout.fields}
    if layout.is_regular:
        return _regular(_of_layout(layout.content), len(layout), layout.size)
    if layout.is_list:
        lists = layout.to_ListOffsetArray64(True)
        make = Text if layout.parameter("__array__") == "string" else Ragged
        return make(np.asarray(lists.offsets), _of_layout(lists.content))
    if layout.is_union:
        raise UsageError("an Awkward array of several types (a union) cannot be stored: give each type its own field")
    return np.asarray(layout.to_backend_array())


def _regular(content: Any, length: int, size: int) -> Any:
    """Returns `length` fixed-size arrays of `size` items of `content`."""
    if isinstance(content, Mapping):
        return {name: _regular(member, length, size) for name, member in content.items()}
    if isinstance(content, Ragged):
        return type(content)(content.offsets, content.content, (length, size, *content.shape[1:]))
    return content[: length * size].reshape(length, size, *content.shape[1:])


def _of_arrow(value: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise UsageError(f"{type(value).__name__} cannot be appended (pyarrow is not installed): install it") from None

    if isinstance(value, pa.Table | pa.RecordBatch):
        return {name: _of_arrow(value.column(name)) for name in value.schema.names}
    if isinstance(value, pa.ChunkedArray):
        return _of_arrow_array(pa, value.combine_chunks())
    if isinstance(value, pa.Array):
        return _of_arrow_array(pa, value)
    if isinstance(value, pa.Scalar):
        return value.as_py()
    is_table = hasattr(value, "columns")
    return _of_arrow(pa.table(value) if is_table else pa.chunked_array(value))


def _of_arrow_array(pa: Any, array: Any) -> Any:
    if array.null_count:
        missing = next(index for index, is_valid in enumerate(array.is_valid()) if not is_valid.as_py())
        raise UsageError(f"item {missing} of the Arrow array is null: fill it, or leave its row out")
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _of_arrow_array(pa, array.dictionary_decode())
    if pa.types.is_struct(kind):
        members = array.flatten()
        return {kind.field(i).name: _of_arrow_array(pa, members[i]) for i in range(kind.num_fields)}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        text = array.cast(pa.large_string()).cast(pa.large_binary())
        offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
        return Text(offsets, np.frombuffer(text.buffers()[2] or b"", np.uint8))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Ragged(array.offsets.to_numpy(), _of_arrow_array(pa, array.values))
    if pa.types.is_fixed_size_list(kind):
        return _regular(_of_arrow_array(pa, array.flatten()), len(array), kind.list_size)
    return array.to_numpy(zero_copy_only=False)
