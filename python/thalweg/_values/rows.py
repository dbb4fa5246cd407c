"""Rows that were read: a mapping from fields to arrays."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged, Text, part_of
from thalweg._values.select import Indices, chosen_rows, is_row_number, is_stretch, row_number
from thalweg._values.take import joined, taken_of

if TYPE_CHECKING:
    import awkward
    import numpy.typing as npt
    import pandas
    import pyarrow


class Rows(Mapping[str, Any]):
    """Rows as a mapping from the names of fields to their values. `len` is the number of rows, as of a DataFrame.

    `rows["x"]` are the values of a field, `rows[3]` is one row as a dict, and `rows[10:20]`, `rows[mask]` and
    `rows[[3, 1]]` are some of the rows.

    Scalars and fixed-size arrays are NumPy arrays of shape (rows, ...), strings NumPy arrays of str, structs are
    `Rows` again, lists `Ragged`. They go without a copy to all that take the Arrow C data interface, such as
    `pyarrow.table(rows)` and `polars.DataFrame(rows)`.
    """

    def __init__(self, type_: Type, members: Mapping[str, Any], row_count: int) -> None:
        self.type = type_
        """The struct whose members these are: units and descriptions."""
        self.row_count = row_count
        """The number of rows, as `len`."""
        self._members = dict(members)

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | range | list[int] | npt.NDArray[Any]) -> Rows: ...
    def __getitem__(self, key: Any) -> Any:
        """The values of a field, "waveform/values" being `["waveform"]["values"]`; or one row, or some of them.

        Raises UnknownNameError or OutOfRangeError where there is no such field or row.
        """
        if isinstance(key, str):
            return self._field(key)
        if is_row_number(key):
            return self._row(row_number(key, self.row_count, "what was read"))
        chosen = chosen_rows(key, self.row_count, "what was read")
        if is_stretch(chosen):
            return self.part(chosen.start, chosen.stop)
        return self.taken(np.asarray(chosen, np.int64))

    def _field(self, name: str) -> Any:
        outer, _, inner = name.partition("/")
        if outer not in self._members:
            raise UnknownNameError(f"there is no field '{outer}' among those read: {', '.join(self)}")
        value = self._members[outer]
        if inner:
            return _inside(value, inner)
        return value.decoded() if isinstance(value, Text) else self._time(outer, value)

    def _time(self, name: str, value: Any) -> Any:
        """Numbers that are times as such."""
        type_ = next((each for own, each in self.type.members if own == name), None)
        is_time = type_ is not None and type_.time_dtype is not None and isinstance(value, np.ndarray)
        return value.view(type_.time_dtype) if is_time and type_ else value

    def _row(self, index: int) -> dict[str, Any]:
        return {name: self._time(name, member)[index] for name, member in self._members.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __len__(self) -> int:
        return self.row_count

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError("rows are no array (each field has a type of its own); take a field, or to_numpy()")

    # Those of Mapping would take `len` for the number of fields.
    def keys(self) -> KeysView[str]:
        return self._members.keys()

    def values(self) -> ValuesView[Any]:
        return {name: self[name] for name in self}.values()

    def items(self) -> ItemsView[str, Any]:
        return {name: self[name] for name in self}.items()

    def __repr__(self) -> str:
        fields = (f"{name}: {type_}" for name, type_ in self.type.members)
        return f"<Rows: {self.row_count} of {{{', '.join(fields)}}}>"

    @property
    def members(self) -> Mapping[str, Any]:
        """The values as they were read: strings as offsets and UTF-8 bytes."""
        return self._members

    def part(self, start: int, stop: int) -> Rows:
        """Rows [start, stop), in the same memory."""
        members = {name: part_of(member, start, stop) for name, member in self._members.items()}
        return Rows(self.type, members, stop - start)

    def taken(self, indices: Indices) -> Rows:
        """A copy of the rows of these numbers, in their order."""
        members = {name: taken_of(member, indices) for name, member in self._members.items()}
        return Rows(self.type, members, len(indices))

    def joined_with(self, others: Sequence[Rows]) -> Rows:
        """A copy of these rows with others of the same type behind them."""
        everything = [self, *others]
        members = {name: joined([each.members[name] for each in everything]) for name in self._members}
        return Rows(self.type, members, sum(each.row_count for each in everything))

    def to_numpy(self) -> npt.NDArray[Any]:
        """One structured array of shape (rows,): structs nested, lists and strings as objects."""
        from thalweg._values.to_frames import structured_of

        return structured_of(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame with a column for each field, those in structs as "waveform/values", in Arrow's dtypes.

        Numbers, lists and fixed-size arrays refer to the same memory; complex values, which Arrow has not, are columns
        of NumPy's dtype.
        """
        from thalweg._values.to_frames import frame_of

        return frame_of(self)

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table that refers to the same memory (bool, complex and optional values are copied)."""
        import pyarrow

        from thalweg._values.to_frames import with_nulls

        return with_nulls(pyarrow.table(self), self.type)

    def to_awkward(self) -> awkward.Array:
        """An awkward.Array of records that refers to the same memory."""
        from thalweg._values.to_awkward import awkward_of

        return awkward_of(self)

    def __arrow_c_schema__(self) -> object:
        from thalweg._values.to_arrow import node_of

        return node_of(self).schema()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from thalweg._values.to_arrow import node_of

        node = node_of(self)
        return node.schema(), node.array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from thalweg._values.to_arrow import node_of

        return node_of(self).stream()


def _inside(value: Any, path: str) -> Any:
    """What is nested in a struct, also where that stands in lists."""
    if isinstance(value, Ragged):
        inner = path.removeprefix("*").removeprefix("/")
        return type(value)(value.offsets, _inside(value.content, inner), value.shape) if inner else value
    return value[path]
