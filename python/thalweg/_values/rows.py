"""Rows that were read, as a mapping from fields to arrays."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._base.packages import needed
from thalweg._base.suggestion import likely
from thalweg._values.ragged import Ragged, Text
from thalweg._values.select import chosen_rows, is_row_number, is_stretch, row_number
from thalweg._values.struct import Struct
from thalweg._values.to_arrow import node_of
from thalweg._values.to_awkward import awkward_of
from thalweg._values.to_frames import frame_of, structured_of, with_nulls

if TYPE_CHECKING:
    import awkward
    import numpy.typing as npt
    import pandas
    import pyarrow


class Rows(Struct, Mapping[str, Any]):
    """Rows as a mapping from the names of fields to their values. `len` is the number of rows, as for a DataFrame.

    `rows["x"]` has the values of a field, `rows[3]` is one row as a dict, and `rows[10:20]`, `rows[mask]` and
    `rows[[3, 1]]` are some of the rows.

    Scalars and fixed-size arrays are NumPy arrays of shape (rows, ...), strings are NumPy arrays of str, structs are
    `Rows`, and lists are `Ragged`. Libraries that read the Arrow C data interface take rows without a copy, for example
    `pyarrow.table(rows)` and `polars.DataFrame(rows)`.
    """

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | range | list[int] | npt.NDArray[Any]) -> Rows: ...
    def __getitem__(self, key: Any) -> Any:
        """Returns the values of a field, one row, or some of the rows. "a/b" is the same as `["a"]["b"]`.

        Raises UnknownNameError if there is no such field, OutOfRangeError if there is no such row.
        """
        if isinstance(key, str):
            return self._field(key)
        if is_row_number(key):
            return self._row(row_number(key, self.row_count, "these rows"))
        chosen = chosen_rows(key, self.row_count, "these rows")
        if is_stretch(chosen):
            return self.part(chosen.start, chosen.stop)
        return self.taken(np.asarray(chosen, np.int64))

    def _field(self, name: str) -> Any:
        outer, _, inner = name.partition("/")
        if outer not in self._members:
            read = ", ".join(self)
            raise UnknownNameError(
                f"there is no field '{outer}'{likely(outer, self)}; the fields that were read are {read}"
            )
        value = self._members[outer]
        if inner:
            return _inside(value, inner)
        return value.decoded() if isinstance(value, Text) else self._time(outer, value)

    def _time(self, name: str, value: Any) -> Any:
        """Returns the values of a field; numbers that are times become NumPy times."""
        type_ = next((each for own, each in self.type.members if own == name), None)
        is_time = type_ is not None and type_.time_dtype is not None and isinstance(value, np.ndarray)
        return value.view(type_.time_dtype) if is_time and type_ else value

    def _row(self, index: int) -> dict[str, Any]:
        return {name: self._time(name, member)[index] for name, member in self._members.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError("rows are not one array (each field has its own type): take a field, or to_numpy()")

    # The views of Mapping would take `len` for the number of fields.
    def keys(self) -> KeysView[str]:
        return self._members.keys()

    def values(self) -> ValuesView[Any]:
        return {name: self[name] for name in self}.values()

    def items(self) -> ItemsView[str, Any]:
        return {name: self[name] for name in self}.items()

    def __repr__(self) -> str:
        fields = (f"{name}: {type_}" for name, type_ in self.type.members)
        return f"<Rows: {self.row_count} of {{{', '.join(fields)}}}>"

    def to_numpy(self) -> npt.NDArray[Any]:
        """Returns a structured array of shape (rows,). Structs are nested; lists and strings are objects."""

        return structured_of(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a DataFrame with one column for each field, in Arrow's dtypes. Members are named "struct/member".

        Numbers, lists and fixed-size arrays share memory with the rows. Complex values have NumPy's dtype, since Arrow
        has no complex numbers.
        """

        return frame_of(self)

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow.Table in the same memory; bool, complex and optional values are copied."""
        with needed("rows cannot become an Arrow table"):
            import pyarrow

        return with_nulls(pyarrow.table(self), self.type)

    def to_awkward(self) -> awkward.Array:
        """Returns an awkward.Array of records in the same memory."""

        return awkward_of(self)

    def __arrow_c_schema__(self) -> object:

        return node_of(self).schema()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:

        node = node_of(self)
        return node.schema(), node.array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:

        return node_of(self).stream()


def _inside(value: Any, path: str) -> Any:
    """Returns the values of a path inside a struct, or inside lists of structs."""
    if isinstance(value, Ragged):
        inner = path.removeprefix("*").removeprefix("/")
        return type(value)(value.offsets, _inside(value.content, inner), value.shape) if inner else value
    return value[path]
