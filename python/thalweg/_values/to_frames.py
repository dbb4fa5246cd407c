"""Converts rows to structured NumPy arrays and to pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thalweg._base.packages import needed
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged
from thalweg._values.struct import Struct
from thalweg._values.to_arrow import node_of

if TYPE_CHECKING:
    import pandas
    import pyarrow


def dtype_of(type_: Type) -> np.dtype[Any]:
    """Returns the dtype of one item: structs are structured dtypes, lists and strings are objects."""
    if type_.name == "struct":
        return np.dtype([(name, dtype_of(member), member.shape) for name, member in type_.members])
    return np.dtype(type_.dtype) if type_.is_scalar or type_.is_split else np.dtype(object)


def structured_of(rows: Struct) -> npt.NDArray[Any]:
    array = np.empty((rows.row_count, *rows.type.shape), dtype_of(rows.type))
    _fill(array, rows)
    return array


def frame_of(rows: Struct) -> pandas.DataFrame:
    with needed("rows cannot become a DataFrame", "pandas"):
        import pandas
        import pyarrow

    leaves = list(_leaves(rows.type, rows, ""))
    arrow = [leaf for leaf in leaves if not _is_complex(leaf[1])]
    flat = _Leaves(
        Type("struct", members=tuple((name, type_) for name, type_, _ in arrow)),
        {name: value for name, _, value in arrow},
        rows.row_count,
    )
    frame = with_nulls(pyarrow.table(flat), flat.type).to_pandas(types_mapper=pandas.ArrowDtype)
    if len(frame) != rows.row_count:  # an Arrow table without columns has no rows
        frame = pandas.DataFrame(index=pandas.RangeIndex(rows.row_count))
    for place, (name, type_, value) in enumerate(leaves):
        if _is_complex(type_):
            frame.insert(place, name, list(value) if type_.shape else value)
    return frame


class _Leaves(Struct):
    """Columns in no struct, as pyarrow takes them."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return node_of(self).stream()


def with_nulls(table: pyarrow.Table, type_: Type) -> pyarrow.Table:
    """Returns the table with optional values as nulls, instead of lists of one value or none."""
    import pyarrow

    for place, (name, member) in enumerate(type_.members):
        if not member.is_optional or member.shape:
            continue
        lists = table.column(place).combine_chunks()
        lengths = np.asarray(lists.value_lengths())
        if lengths.max(initial=0) <= 1:
            values = lists.flatten().take(pyarrow.array(np.cumsum(lengths) - lengths, mask=lengths == 0))
            field = table.schema.field(place)
            table = table.set_column(place, pyarrow.field(name, values.type, metadata=field.metadata), values)
    return table


def _fill(array: npt.NDArray[Any], rows: Struct) -> None:
    for name, value in rows.members.items():
        if isinstance(value, Struct):
            _fill(array[name], value)
        elif isinstance(value, Ragged):
            flat = np.empty(len(value.offsets) - 1, object)
            for index, each in enumerate(type(value)(value.offsets, value.content)):
                flat[index] = each
            array[name] = flat.reshape(value.shape)
        else:
            array[name] = value


def _leaves(type_: Type, rows: Struct, path: str) -> Iterator[tuple[str, Type, Any]]:
    """Yields the fields and members that become columns. Fixed-size arrays of structs stay whole, as Arrow lists."""
    for name, member in type_.members:
        own = f"{path}/{name}" if path else name
        value = rows.members[name]
        if isinstance(value, Struct) and not member.shape:
            yield from _leaves(member, value, own)
        else:
            yield own, member, value


def _is_complex(type_: Type) -> bool:
    return type_.name.startswith("complex")
