"""Requests: which columns are read, by their paths, and in which batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._base.given import integer_of
from thalweg._base.suggestion import likely
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type

_MEANT = "did you mean"
BATCH_BYTES = 64 << 20  # the default of `batches`


def check_batches(rows: int, memory_bytes: int | None) -> None:
    """Raises UsageError if a batch cannot have so many rows, or so many bytes."""
    integer_of(rows, "rows", 1)
    if memory_bytes is not None:
        integer_of(memory_bytes, "memory_bytes", 1)


def listed(columns: str | Iterable[str] | None) -> str | list[str] | None:
    """Returns names of columns, as a list if they are several. Raises UsageError if they cannot be iterated."""
    if columns is None or isinstance(columns, str):
        return columns
    try:
        return list(columns)
    except TypeError:
        raise UsageError(f"columns cannot be {columns!r}: give names of columns") from None


def selected_row(table: TableSchema, columns: str | Iterable[str] | None) -> Type:
    """Returns a struct with the columns that are asked for, in the order of the schema.

    Raises UnknownNameError if the table has no such column, UsageError if a name is not a string.
    """
    row = Type("struct", members=table.fields)
    if columns is None:
        return row
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"a column of table '{table.name}' cannot be {name!r}: give names of columns")
    for name in names:
        _check_path(table, name)
    return _pruned(row, [[part for part in name.split("/") if part != "*"] for name in names])


def _check_path(table: TableSchema, path: str) -> None:
    if _deepest(table.row, path)[0] != path:
        raise no_column(table, path)


def _deepest(type_: Type, path: str) -> tuple[str, Type]:
    """Returns as much of a path as there is, and the type that it leads to."""
    found: list[str] = []
    for name in path.split("/"):
        while type_.element is not None:
            type_ = type_.element
        inner = type_ if name == "*" else dict(type_.members).get(name)
        if inner is None:
            break
        found.append(name)
        type_ = inner
    return "/".join(found), type_


def no_column(table: TableSchema, path: str) -> UnknownNameError:
    """Returns the error of a table that has no such column: it says which one is probably meant."""
    inside, type_ = _deepest(table.row, path)
    known = [f"{inside}/{each}" if inside else each for each in type_.paths()]
    whose = f"the fields of '{inside}'" if inside else "its fields"
    fields = ", ".join(name for name, _ in type_.members) or "none"
    return UnknownNameError(f"table '{table.name}' has no column '{path}'{likely(path, known)}; {whose} are {fields}")


def _pruned(type_: Type, paths: list[list[str]]) -> Type:
    if [] in paths:
        return type_
    if type_.element is not None:
        return replace(type_, element=_pruned(type_.element, paths))
    wanted: dict[str, list[list[str]]] = {}
    for path in paths:
        wanted.setdefault(path[0], []).append(path[1:])
    members = [(name, _pruned(each, wanted[name])) for name, each in type_.members if name in wanted]
    return replace(type_, members=tuple(members))


def has_path(type_: Type, path: str) -> bool:
    """Returns whether a struct has a member with this path, also a nested one."""
    for name in path.split("/") if path else ():
        inner = dict(type_.members).get(name)
        if inner is None:
            return False
        type_ = inner
    return True


def tables_with(schema: Schema, columns: str | list[str]) -> frozenset[str]:
    """Returns the names of the tables that have all of these columns. Raises UnknownNameError if there is none,
    UsageError if a name is not a string."""
    found, errors = set(), []
    for name, table in schema.items():
        try:
            selected_row(table, columns)
        except UnknownNameError as error:
            errors.append(error)
        else:
            found.add(name)
    if not found:
        # The table that has a similar name is the one that is meant.
        likely_ones = [error for error in errors if _MEANT in str(error)]
        raise [*likely_ones, *errors, UnknownNameError("the run has no table")][0]
    return frozenset(found)
