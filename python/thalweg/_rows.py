"""Rows that were read: a mapping from fields to arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from thalweg._errors import UnknownNameError
from thalweg._ragged import Text, part_of
from thalweg._types import Type

if TYPE_CHECKING:
    import awkward
    import pyarrow


class Rows(Mapping[str, Any]):
    """Rows as a mapping from the names of fields to their values.

    Scalars and fixed-size arrays are NumPy arrays of shape (rows, ...), strings NumPy arrays of str, structs are
    `Rows` again, lists `Ragged`. They go without a copy to all that take the Arrow C data interface, such as
    `pyarrow.table(rows)` and `polars.DataFrame(rows)`.
    """

    def __init__(self, type_: Type, members: Mapping[str, Any], row_count: int) -> None:
        self.type = type_
        """The struct whose members these are: units and descriptions."""
        self.row_count = row_count
        """The number of rows (`len` is the number of fields)."""
        self._members = dict(members)

    def __getitem__(self, name: str) -> Any:
        """The values of a field; "waveform/values" is `["waveform"]["values"]`."""
        outer, _, inner = name.partition("/")
        if outer not in self._members:
            raise UnknownNameError(f"there is no field '{outer}' among those read: {', '.join(self)}")
        value = self._members[outer]
        if inner:
            return value[inner]
        return value.decoded() if isinstance(value, Text) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

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

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table that refers to the same memory (bool and complex values are copied)."""
        import pyarrow

        return pyarrow.table(self)

    def to_awkward(self) -> awkward.Array:
        """An awkward.Array of records that refers to the same memory."""
        from thalweg._awkward import awkward_of

        return awkward_of(self)

    def __arrow_c_schema__(self) -> object:
        from thalweg._arrow import node_of

        return node_of(self).schema()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from thalweg._arrow import node_of

        node = node_of(self)
        return node.schema(), node.array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from thalweg._arrow import node_of

        return node_of(self).stream()
