"""What a request asks for: columns by their paths, and batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type

BATCH_BYTES = 64 << 20  # of `batches`


def paths_in(type_: Type, path: str = "") -> Iterator[str]:
    while type_.element is not None:
        type_ = type_.element
    for name, member in type_.members:
        inner = f"{path}/{name}" if path else name
        yield inner
        yield from paths_in(member, inner)


def check_batches(rows: int, memory_bytes: int | None) -> None:
    if rows < 1:
        raise UsageError(f"batches of {rows} rows cannot be read; give at least 1")
    if memory_bytes is not None and memory_bytes < 1:
        raise UsageError(f"batches of {memory_bytes} bytes cannot be read; give at least 1")


def selected_row(table: TableSchema, columns: str | Iterable[str] | None) -> Type:
    """The struct of what is asked for, in the order of the schema."""
    row = Type("struct", members=table.fields)
    if columns is None:
        return row
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is not the name of a column of table '{table.name}'")
    return _pruned(row, [[part for part in name.split("/") if part != "*"] for name in names], table.name)


def _pruned(type_: Type, paths: list[list[str]], table: str) -> Type:
    if [] in paths:
        return type_
    if type_.element is not None:
        return replace(type_, element=_pruned(type_.element, paths, table))
    known = dict(type_.members)
    for path in paths:
        if path[0] not in known:
            raise UnknownNameError(f"table '{table}' has no column '{'/'.join(path)}'; there are {', '.join(known)}")
    members = []
    for name, member in type_.members:
        if inner := [path[1:] for path in paths if path[0] == name]:
            members.append((name, _pruned(member, inner, table)))
    return replace(type_, members=tuple(members))


def has_path(type_: Type, path: str) -> bool:
    """A struct has such a member, if need be nested in others."""
    for name in path.split("/") if path else ():
        inner = dict(type_.members).get(name)
        if inner is None:
            return False
        type_ = inner
    return True
