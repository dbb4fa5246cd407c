"""Work units: rows of any tables of which all count, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

from thalweg import _core
from thalweg._append.columns import Array, columns_of, stored_columns
from thalweg._base.errors import UsageError
from thalweg._base.given import integer_of
from thalweg._schema.schema import Schema, TableSchema

Key: TypeAlias = "int | bytes | str"
_INTEGERS = range(-(2**63), 2**63)


class UnitTables:
    """The tables of a run as its work units need them."""

    __slots__ = ("exact", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.exact: dict[str, _core.ExactRows] = {}
        """What takes rows without a conversion, by table; made when a table is used first."""


class UnitTable:
    """Appends rows to one table for an open work unit."""

    __slots__ = ("_core", "_schema", "_tables")

    def __init__(self, core: _core.WorkUnit, tables: UnitTables, name: str) -> None:
        self._core = core
        self._tables = tables
        self._schema = tables.schema[name]

    def append(self, rows: Any = None, /, **fields: Any) -> None:
        """Appends one or more rows, as `Producer.append` does. They count when the unit is committed."""
        if (rows is not None and fields) or not self._took_exact(fields if rows is None else rows):
            self._core.append(self._schema.name, *columns_of(self._schema, rows, fields))

    def _took_exact(self, values: Any) -> bool:
        """Returns whether the core took the rows, which it does if no value needs a conversion."""
        name = self._schema.name
        exact = self._tables.exact.get(name)
        if exact is None:
            exact = self._tables.exact[name] = self._core.exact_rows(name)
        return self._core.append_exact(name, exact, values)

    def append_columns(self, rows: int, columns: Sequence[Array]) -> None:
        """Appends rows as flat columns, as `Producer.append_columns` does."""
        self._core.append(self._schema.name, rows, stored_columns(self._schema, columns))

    @property
    def schema(self) -> TableSchema:
        """The fields of the table."""
        return self._schema

    def append_kept(
        self, kept: _core.KeptColumns, first: int, count: int, mask: Array | None, computed: Sequence[Array]
    ) -> None:
        """Appends kept columns of rows of an input together with computed flat columns; derivations use it.

        `mask` has one byte for each row, 0 if the row is dropped; None keeps all rows."""
        _core.append_kept(self._core, self._schema.name, kept, first, count, mask, computed)


class WorkUnit:
    """Rows, in any tables, of which all count, or none. A unit belongs to one thread.

    When its `with` block ends, the unit is committed. If the block ends with an exception, the unit is dropped. If
    several units have the same key, the first that is committed counts, whichever process has it. Work that is done
    twice therefore counts once. A unit whose process dies before it is committed does not count.
    """

    __slots__ = ("_core", "_tables", "committed", "key")

    def __init__(self, core: _core.WorkUnit, tables: UnitTables, key: Key) -> None:
        self._core = core
        self._tables = tables
        self.key = key
        self.committed: bool | None = None
        """None while it is open, True if it counts, False if it was dropped or its key was committed before."""

    def __getitem__(self, table: str) -> UnitTable:
        """Returns the table for appending. Raises UnknownNameError if there is no such table."""
        return UnitTable(self._core, self._tables, table)

    def commit(self) -> bool:
        """Commits the unit, so that its rows count. Returns False if its key was committed before; its rows are
        dropped.

        A committed unit is not durable at once, but as a rule within the flush interval and the time of a sync (knob
        `journal_units`): `units_not_durable` of `Writer.status` says how many are not. Then `tw.open` shows it, too.
        Raises UsageError if the unit has ended, SystemError if the run cannot go on.
        """
        self.committed = False
        self.committed = self._core.commit()
        return self.committed

    def drop(self) -> None:
        """Drops the unit, so that its rows do not count. It does nothing if the unit has ended."""
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
    """One unit of a group. Its rows count when the group is committed.

    If its `with` block ends with an exception, the group is dropped.
    """

    __slots__ = ("_group", "key")

    def __init__(self, group: WorkGroup, key: int) -> None:
        self._group = group
        self.key = key

    def __getitem__(self, table: str) -> UnitTable:
        """Returns the table for appending. Raises UnknownNameError if there is no such table."""
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
    """Work units with consecutive keys that are committed together, in a run ordered by key. A group belongs to one
    thread.

    When its `with` block ends, the group is committed. If the block ends with an exception, the group is dropped. If
    its process dies before, the whole group must be done again.
    """

    __slots__ = ("_core", "_open", "_tables", "committed", "keys", "number")

    def __init__(self, core: _core.WorkUnit, tables: UnitTables, number: int, keys: range) -> None:
        self._core = core
        self._tables = tables
        self._open: UnitOfGroup | None = None
        self.number = number
        self.keys = keys
        """The keys that its units may have, in this order. Keys may be left out."""
        self.committed: bool | None = None
        """None while it is open, True if it counts, False if it was dropped or its number was committed before."""

    def work_unit(self, key: int, summary: bytes | str = b"") -> UnitOfGroup:
        """Begins the next unit. Raises UsageError if its key is not in the group, or not larger than the one before."""
        if key not in self.keys:
            raise UsageError(f"work unit {key!r} is not in group {self.number}, which has the keys {self._between}")
        self._core.next_key(key, _bytes_of(summary))
        self._open = UnitOfGroup(self, key)
        return self._open

    def commit(self) -> bool:
        """Commits the group, so that its rows count. Returns False if it was committed before; its rows are dropped."""
        self.committed, self._open = False, None
        self.committed = self._core.commit()
        return self.committed

    def drop(self) -> None:
        """Drops the group, so that its rows do not count. It does nothing if the group has ended."""
        if self.committed is None:
            self.committed, self._open = False, None
            self._core.drop()

    @property
    def _between(self) -> str:
        return f"{self.keys[0]} to {self.keys[-1]}"

    def table_of(self, unit: UnitOfGroup, table: str) -> UnitTable:
        """Returns a table for one of its units. Raises UsageError if that unit has ended."""
        if self._open is not unit:
            raise UsageError(f"unit {unit.key} of group {self.number} takes no more rows (it has ended)")
        return UnitTable(self._core, self._tables, table)

    def leave(self, unit: UnitOfGroup) -> None:
        """Ends one of its units."""
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


def begin_group(units: _core.WorkUnits, tables: UnitTables, number: int) -> WorkGroup:
    """Begins a work group. Raises UsageError if the number is not an integer, or if its keys have more than 64 bits."""
    count = units.keys_per_group
    first = group_number(number) * count
    if first not in _INTEGERS or first + count - 1 not in _INTEGERS:
        raise UsageError(f"there is no work group {number} (its keys have more than 64 bits): give a smaller number")
    return WorkGroup(units.begin_group(number), tables, number, range(first, first + count))


def group_number(number: object) -> int:
    """Returns the number of a work group. Raises UsageError if it is not an integer of 64 bits."""
    return integer_of(number, "the number of a work group", -(2**63))


def _bytes_of(summary: bytes | str) -> bytes:
    if type(summary) is bytes:  # the usual case comes first
        return summary
    if isinstance(summary, str):
        return encoded(summary, "the summary of a work unit")
    if isinstance(summary, bytes | bytearray | memoryview):
        return bytes(summary)
    raise UsageError(f"the summary of a work unit cannot be {summary!r}: give bytes or a string")


def begin(units: _core.WorkUnits, tables: UnitTables, key: Key, summary: bytes | str) -> WorkUnit:
    """Begins a work unit. Raises UsageError if the key or the summary is wrong."""
    return WorkUnit(units.begin(stored_key(key), _bytes_of(summary)), tables, key)


def encoded(text: str, what: str) -> bytes:
    """Returns a text as UTF-8. Raises UsageError if it is not Unicode text."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} cannot be {text!r} (it is not Unicode text): give bytes") from None


def stored_key(key: Key) -> int | bytes:
    """Returns a key as it is stored. Raises UsageError if it is neither an integer of 64 bits nor a text."""
    if type(key) is int and -(2**63) <= key < 2**63:  # the usual case comes first
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
