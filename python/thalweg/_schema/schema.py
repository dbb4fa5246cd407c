"""The schema of a run: tables with typed fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from thalweg import _core
from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._base.given import text_of_user
from thalweg._base.suggestion import likely
from thalweg._schema.attributes import Attributes
from thalweg._schema.types import Type, TypeLike, as_type


@dataclass(frozen=True)
class TableSchema(Mapping[str, Type]):
    """The fields of a table, as a mapping from names to types."""

    name: str
    fields: tuple[tuple[str, Type], ...]
    description: str = ""
    attrs: Attributes = field(default_factory=Attributes)

    @property
    def row(self) -> Type:
        """The fields as one struct."""
        return Type("struct", members=self.fields)

    def __getitem__(self, name: str) -> Type:
        for each, type_ in self.fields:
            if each == name:
                return type_
        meant = likely(name, self)
        raise UnknownNameError(f"table '{self.name}' has no field '{name}'{meant}; its fields are {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {name}: {type_}" for name, type_ in self.fields)])


@dataclass(frozen=True, repr=False)
class Schema(Mapping[str, TableSchema]):
    """A mapping from the names of tables to their fields. `print` shows it as an outline."""

    tables: tuple[TableSchema, ...]
    attrs: Attributes = field(default_factory=Attributes)
    """The attributes of the run."""
    groups: tuple[tuple[str, Attributes], ...] = ()
    """The names and attributes of groups that are not tables."""

    def __post_init__(self) -> None:
        # Arrays without values can be read from files of other programs, but `create` refuses them.
        _core.check_schema(self.without_zero_width().to_json())

    def __getitem__(self, name: str) -> TableSchema:
        return self.tables[self.index(name)]

    def __iter__(self) -> Iterator[str]:
        return (table.name for table in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.tables))

    def index(self, name: str) -> int:
        """Returns the position of a table. Raises UnknownNameError if there is no such table."""
        if type(name) is str and (index := self._indices.get(name)) is not None:
            return index
        some = ", ".join(list(self)[:8]) + (f" and {len(self) - 8} more" if len(self) > 8 else "")
        columns = (f"{table.name}/{path}" for table in self.tables for path in table.row.paths())
        meant = likely(name, self) or likely(name, columns)
        raise UnknownNameError(f"there is no table '{name}'{meant}; the tables are {some}")

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {table.name: index for index, table in enumerate(self.tables)}

    @cached_property
    def columns(self) -> list[list[_core.Column]]:
        """The columns of each table, to which its fields flatten."""
        return _core.flatten(self.to_json())

    def zero_width(self) -> list[tuple[str, str]]:
        """Returns the table and path of each field that is an array without values, which no container can store."""
        return [(table.name, path) for table in self.tables for path in table.row.zero_width()]

    def without_zero_width(self) -> Schema:
        """Returns the schema without arrays without values, and without tables that have nothing else."""
        if not self.zero_width():
            return self
        kept = ((table, table.row.without_zero_width()) for table in self.tables)
        return replace(self, tables=tuple(replace(table, fields=row.members) for table, row in kept if row))

    def to_json(self) -> str:
        """Returns the text that is kept in every file, as docs/formats/schema.md describes it."""
        tables = []
        for table in self.tables:
            fields = [{"name": name, **type_.to_json()} for name, type_ in table.fields]
            entry = {"name": table.name, "fields": fields, "description": table.description}
            tables.append(entry | ({"attributes": table.attrs.to_json()} if table.attrs else {}))
        run = {"attributes": self.attrs.to_json()} if self.attrs else {}
        groups = {"groups": {name: attrs.to_json() for name, attrs in self.groups}} if self.groups else {}
        return json.dumps({"tables": tables, **run, **groups})

    @staticmethod
    def from_json(text: str) -> Schema:
        """Reads the text that `to_json` writes. Raises UsageError if it is not a schema."""
        _core.check_schema(text)
        tables = []
        stored = json.loads(text)
        for table in stored["tables"]:
            fields = tuple((each["name"], Type.from_json(each)) for each in table["fields"])
            attrs = Attributes.from_json(table.get("attributes", {}))
            tables.append(TableSchema(table["name"], fields, table.get("description", ""), attrs))
        groups = tuple((name, Attributes.from_json(attrs)) for name, attrs in stored.get("groups", {}).items())
        return Schema(tuple(tables), Attributes.from_json(stored.get("attributes", {})), groups)


def schema(tables: Mapping[str, TypeLike], *, attrs: Mapping[str, Mapping[str, Any]] | None = None) -> Schema:
    """Returns the schema of a run: `tw.schema({"ch0": {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32}})`.

    tables: the fields of each table by its name, as a dictionary of types or a structured NumPy dtype. Slashes in the
        names of tables nest them.
    attrs: attributes by owner: a table ("ch0"), a group above or beside tables ("detector"), a column ("ch0/energy";
        `tw.float32(attrs={...})` does the same), or the run ("/").

    Raises UsageError if a table or field cannot be stored, and names it.
    """
    if not isinstance(tables, Mapping):
        raise UsageError(f"{tables!r} is not a schema: give a dictionary of tables, or tw.schema(...)")
    if not tables:
        raise UsageError("the schema has no tables: give at least one")
    for name in tables:
        text_of_user(name, "the name of a table")
    made = Schema(tuple(TableSchema(name, as_type(_fields(name, fields)).members) for name, fields in tables.items()))
    if made.zero_width():
        _core.check_schema(made.to_json())  # raises an error that names the field
    for path, given in (attrs or {}).items():
        made = _with_attributes(made, path.strip("/"), given)
    return made


def _fields(table: str, given: TypeLike) -> Mapping[str, TypeLike]:
    if isinstance(given, Mapping):
        return cast("Mapping[str, TypeLike]", given)
    row = as_type(given)
    if row.name != "struct" or row.shape:
        raise UsageError(
            f"table '{table}' is {given!r}, which has no fields: give a dictionary of types, or a structured dtype"
        )
    return dict(row.members)


def _with_attributes(made: Schema, path: str, given: Mapping[str, Any]) -> Schema:
    if not path:
        return replace(made, attrs=Attributes(given, of="the run"))
    tables = list(made.tables)
    for index, table in enumerate(tables):
        if path == table.name:
            more = dict(given)
            description = more.pop("description", table.description)
            tables[index] = replace(table, description=description, attrs=Attributes(more, of=f"table '{path}'"))
            return replace(made, tables=tuple(tables))
        if path.startswith(f"{table.name}/"):
            names = path[len(table.name) + 1 :].split("/")
            row = _with_member(Type("struct", members=table.fields), names, given, table)
            tables[index] = replace(table, fields=row.members)
            return replace(made, tables=tuple(tables))
    return replace(made, groups=(*made.groups, (path, Attributes(given, of=f"group '{path}'"))))


def _with_member(type_: Type, names: list[str], given: Mapping[str, Any], table: TableSchema) -> Type:
    if not names:
        return type_(attrs=given)
    if type_.element is not None:
        inner = names[1:] if names[0] == "*" else names
        return replace(type_, element=_with_member(type_.element, inner, given, table))
    if names[0] not in dict(type_.members):
        problem = f"table '{table.name}' has no field '{names[0]}' for the attributes{likely(names[0], table)}"
        raise UnknownNameError(f"{problem}; its fields are {', '.join(table)}")
    return replace(
        type_,
        members=tuple(
            (name, _with_member(member, names[1:], given, table) if name == names[0] else member)
            for name, member in type_.members
        ),
    )
