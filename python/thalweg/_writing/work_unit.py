"""Work units: rows, of any tables, that count together or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

from thalweg import _core
from thalweg._append.columns import Array, columns_of, stored_columns
from thalweg._base.errors import UsageError
from thalweg._schema.schema import Schema, TableSchema

Key: TypeAlias = "int | bytes | str"
_INTEGERS = range(-(2**63), 2**63)


class UnitTable:
    """Takes rows of one table for a work unit that is open."""

    __slots__ = ("_core", "_schema")

    def __init__(self, core: _core.WorkUnit, schema: TableSchema) -> None:
        self._core = core
        self._schema = schema

    def append(self, rows: Any = None, /, **fields: Any) -> None:
        """Appends one row, or many, as `Producer.append` does. They count when the unit is committed."""
        self._core.append(self._schema.name, *columns_of(self._schema, rows, fields))

    def append_columns(self, rows: int, columns: Sequence[Array]) -> None:
        """Appends rows as flat columns, as `Producer.append_columns` does."""
        self._core.append(self._schema.name, rows, stored_columns(self._schema, columns))

    @property
    def schema(self) -> TableSchema:
        return self._schema

    def append_kept(
        self, kept: _core.KeptColumns, first: int, count: int, mask: Array | None, computed: Sequence[Array]
    ) -> None:
        """For derivations: rows of an input, or those that a mask of bytes chooses, and flat columns for the rest."""
        _core.append_kept(self._core, self._schema.name, kept, first, count, mask, computed)


class WorkUnit:
    """Rows that count together, in all tables, or not at all: of one thread.

    Leaving its `with` block commits it, and leaving that on an exception drops it. Of units with the same key the first
    that is committed counts, whoever has it: so work that is done again, after its process died or because two had it,
    counts once. A unit whose process dies before it is committed does not count.
    """

    __slots__ = ("_core", "_schema", "committed", "key")

    def __init__(self, core: _core.WorkUnit, schema: Schema, key: Key) -> None:
        self._core = core
        self._schema = schema
        self.key = key
        self.committed: bool | None = None
        """None while it is open. False: it was dropped, or its key was taken before."""

    def __getitem__(self, table: str) -> UnitTable:
        """Takes rows of that table. Raises UnknownNameError where there is no such table."""
        return UnitTable(self._core, self._schema[table])

    def commit(self) -> bool:
        """From here on its rows count. False: the key was taken before, and they are dropped.

        A unit that is committed is not durable yet: `Writer.status` tells how many are not. Raises UsageError where the
        unit has ended, SystemError where the run cannot go on.
        """
        self.committed = False
        self.committed = self._core.commit()
        return self.committed

    def drop(self) -> None:
        """Its rows do not count. Does nothing where the unit has ended."""
        if self.committed is None:
            self.committed = False
            self._core.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self.drop()
        elif self.committed is None:
            self.commit()

    def __repr__(self) -> str:
        state = {None: "open", True: "committed", False: "dropped"}[self.committed]
        return f"<WorkUnit {self.key!r}, {state}>"


class UnitOfGroup:
    """One unit of a group: rows that are appended to its tables count when the group is committed.

    Leaving its `with` block on an exception drops the group.
    """

    __slots__ = ("_group", "key")

    def __init__(self, group: WorkGroup, key: int) -> None:
        self._group = group
        self.key = key

    def __getitem__(self, table: str) -> UnitTable:
        """Takes rows of that table. Raises UnknownNameError where there is no such table."""
        return self._group.table_of(self, table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._group.leave(self)
        if kind is not None:
            self._group.drop()

    def __repr__(self) -> str:
        return f"<Unit {self.key} of {self._group!r}>"


class WorkGroup:
    """Work units of consecutive keys, in a run that is ordered by key, which are committed together: of one thread.

    Leaving its `with` block commits it, and leaving that on an exception drops it. It is done again whole where its
    worker dies before.
    """

    __slots__ = ("_core", "_open", "_schema", "committed", "keys", "number")

    def __init__(self, core: _core.WorkUnit, schema: Schema, number: int, keys: range) -> None:
        self._core = core
        self._schema = schema
        self._open: UnitOfGroup | None = None
        self.number = number
        self.keys = keys
        """Those that its units may have, in this order; not all need be there."""
        self.committed: bool | None = None
        """None while it is open. False: it was dropped, or its number was taken before."""

    def work_unit(self, key: int, summary: bytes | str = b"") -> UnitOfGroup:
        """The next unit. Raises UsageError where its key is not of the group, or not behind those in front of it."""
        if key not in self.keys:
            raise UsageError(f"work unit {key!r} is not of group {self.number}, which has the keys {self._between}")
        self._core.next_key(key, _bytes_of(summary))
        self._open = UnitOfGroup(self, key)
        return self._open

    def commit(self) -> bool:
        """From here on its rows count. False: the group was committed before, and they are dropped."""
        self.committed, self._open = False, None
        self.committed = self._core.commit()
        return self.committed

    def drop(self) -> None:
        """Its rows do not count. Does nothing where the group has ended."""
        if self.committed is None:
            self.committed, self._open = False, None
            self._core.drop()

    @property
    def _between(self) -> str:
        return f"{self.keys[0]} to {self.keys[-1]}"

    def table_of(self, unit: UnitOfGroup, table: str) -> UnitTable:
        """For its units."""
        if self._open is not unit:
            raise UsageError(f"unit {unit.key} of group {self.number} takes no more rows (it has ended)")
        return UnitTable(self._core, self._schema[table])

    def leave(self, unit: UnitOfGroup) -> None:
        """For its units."""
        if self._open is unit:
            self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self.drop()
        elif self.committed is None:
            self.commit()

    def __repr__(self) -> str:
        state = {None: "open", True: "committed", False: "dropped"}[self.committed]
        return f"<WorkGroup {self.number}, keys {self._between}, {state}>"


def begin_group(units: _core.WorkUnits, schema: Schema, number: int) -> WorkGroup:
    count = units.keys_per_group
    first = number * count
    return WorkGroup(units.begin_group(number), schema, number, range(first, first + count))


def _bytes_of(summary: bytes | str) -> bytes:
    if type(summary) is bytes:  # nearly always
        return summary
    if isinstance(summary, str):
        return encoded(summary, "the summary of a work unit")
    if isinstance(summary, bytes | bytearray | memoryview):
        return bytes(summary)
    raise UsageError(f"the summary of a work unit cannot be {summary!r}: give bytes or a string")


def begin(units: _core.WorkUnits, schema: Schema, key: Key, summary: bytes | str) -> WorkUnit:
    return WorkUnit(units.begin(stored_key(key), _bytes_of(summary)), schema, key)


def encoded(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} cannot be {text!r} (it is no Unicode text): give bytes") from None


def stored_key(key: Key) -> int | bytes:
    if type(key) is int and -(2**63) <= key < 2**63:  # nearly always
        return key
    if isinstance(key, str):
        return encoded(key, "the key of a work unit")
    if isinstance(key, bytes):
        return key
    try:
        number = key.__index__()
    except AttributeError:
        raise UsageError(f"a work unit cannot have the key {key!r}: give an integer, bytes or a string") from None
    if number not in _INTEGERS:
        raise UsageError(f"a work unit cannot have the key {key!r} (it has more than 64 bits): give it as a string")
    return number
