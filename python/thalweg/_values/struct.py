"""A struct of columns: its type, its members, and how many rows they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from thalweg._schema.types import Type
from thalweg._values.ragged import part_of
from thalweg._values.select import Indices
from thalweg._values.take import joined, taken_of


class Struct:
    """The columns that all converters take. `Rows` adds the interface for users."""

    def __init__(self, type_: Type, members: Mapping[str, Any], row_count: int) -> None:
        self.type = type_
        """The type of the struct, with units and descriptions of its members."""
        self.row_count = row_count
        """The number of rows, which `len` returns, too."""
        self._members = dict(members)

    def __len__(self) -> int:
        return self.row_count

    @property
    def members(self) -> Mapping[str, Any]:
        """The values as they were read; strings are offsets and UTF-8 bytes."""
        return self._members

    def part(self, start: int, stop: int) -> Self:
        """Returns rows [start, stop), in the same memory."""
        members = {name: part_of(member, start, stop) for name, member in self._members.items()}
        return type(self)(self.type, members, stop - start)

    def taken(self, indices: Indices) -> Self:
        """Returns a copy of the rows with these numbers, in their order."""
        members = {name: taken_of(member, indices) for name, member in self._members.items()}
        return type(self)(self.type, members, len(indices))

    def joined_with(self, others: Sequence[Self]) -> Self:
        """Returns a copy of these rows followed by others of the same type."""
        everything = [self, *others]
        members = {name: joined([each.members[name] for each in everything]) for name in self._members}
        return type(self)(self.type, members, sum(each.row_count for each in everything))
