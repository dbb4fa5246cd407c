"""Names that an RNTuple cannot have, such as those with dots and spaces: `convert` replaces and restores them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged
from thalweg._values.rows import Rows

ORIGINAL_NAME = "thalweg_name"
"""The attribute of a table or column that keeps its name in the file that was converted."""
_REFUSED = re.compile(r"[\0- \x7f./\\]")
_MOST_NAMED = 8

Members = tuple[tuple[str, Type], ...]


def names_for_root(schema: Schema) -> tuple[Schema, str]:
    """Returns the schema with names that an RNTuple can have, and a note about them, or "" if none has changed."""
    folders: dict[tuple[str, ...], dict[str, str]] = {}
    for table in schema.tables:
        parts = tuple(table.name.split("/"))
        for depth, part in enumerate(parts):
            folders.setdefault(parts[:depth], {})[part] = part
    folders = {above: _free_names(below) for above, below in folders.items()}
    changed: dict[str, str] = {}
    tables = []
    for table in schema.tables:
        parts = tuple(table.name.split("/"))
        name = "/".join(folders[parts[:depth]][part] for depth, part in enumerate(parts))
        attrs = _with_original(table.attrs, table.name, name, changed)
        tables.append(replace(table, name=name, fields=_members_for_root(table.fields, changed), attrs=attrs))
    if not changed:
        return schema, ""
    some = ", ".join(f"'{old}' is '{new}'" for old, new in list(changed.items())[:_MOST_NAMED])
    more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    note = (
        f"names with dots, spaces and the like are replaced, since an RNTuple cannot have them: {some}{more}; the "
        f"attribute '{ORIGINAL_NAME}' keeps each, and a conversion to HDF5 restores them"
    )
    return replace(schema, tables=tuple(tables)), note


def original_names(schema: Schema) -> Schema:
    """Returns the schema with the names that `names_for_root` has replaced."""
    tables = []
    for table in schema.tables:
        attrs = dict(table.attrs)
        name = attrs.pop(ORIGINAL_NAME, table.name)
        fields = _original_members(table.fields)
        tables.append(TableSchema(str(name), fields, table.description, Attributes(attrs)))
    restored = tuple(tables)
    try:
        return schema if restored == schema.tables else replace(schema, tables=restored)
    except UsageError:  # attributes of other programs give two tables one name
        return schema


def renamed(value: Any, old: Type, new: Type) -> Any:
    """Returns values of the type `old` with the names of `new`, in the same memory."""
    if isinstance(value, Rows):
        members = {
            name: renamed(value.members[before], of_before, type_)
            for (before, of_before), (name, type_) in zip(old.members, new.members, strict=True)
        }
        return Rows(new, members, value.row_count)
    if isinstance(value, Ragged) and old.element and new.element:
        return type(value)(value.offsets, renamed(value.content, old.element, new.element), value.shape)
    return value


def _free_names(names: Iterable[str]) -> dict[str, str]:
    """Returns a name that an RNTuple can have for each of these, which lie beside each other."""
    found = {name: name for name in names if not _REFUSED.search(name)}
    for name in names:
        if name not in found:
            free = _REFUSED.sub("_", name)
            while free in found.values():
                free += "_"
            found[name] = free
    return found


def _with_original(attrs: Attributes, old: str, new: str, changed: dict[str, str]) -> Attributes:
    if old == new:
        return attrs
    changed[old] = new
    return Attributes({**attrs, ORIGINAL_NAME: old})


def _members_for_root(members: Members, changed: dict[str, str]) -> Members:
    names = _free_names([name for name, _ in members])
    return tuple((names[name], _type_for_root(type_, name, names[name], changed)) for name, type_ in members)


def _type_for_root(type_: Type, old: str, new: str, changed: dict[str, str]) -> Type:
    attrs = _with_original(type_.attrs, old, new, changed)
    element = _type_for_root(type_.element, "", "", changed) if type_.element else None
    return replace(type_, attrs=attrs, members=_members_for_root(type_.members, changed), element=element)


def _original_members(members: Members) -> Members:
    found = tuple((str(type_.attrs.get(ORIGINAL_NAME, name)), _original_type(type_)) for name, type_ in members)
    return found if _are_different([name for name, _ in found]) else members


def _original_type(type_: Type) -> Type:
    attrs = dict(type_.attrs)
    attrs.pop(ORIGINAL_NAME, None)
    element = _original_type(type_.element) if type_.element else None
    return replace(type_, attrs=Attributes(attrs), members=_original_members(type_.members), element=element)


def _are_different(names: Sequence[str]) -> bool:
    return len(set(names)) == len(names)
