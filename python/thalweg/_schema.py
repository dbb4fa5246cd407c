"""What a run holds: tables of typed fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from thalweg import _core
from thalweg._errors import UnknownNameError
from thalweg._types import Type, TypeLike, as_type


@dataclass(frozen=True)
class TableSchema(Mapping[str, Type]):
    """The fields of a table: a mapping from their names to their types."""

    name: str
    fields: tuple[tuple[str, Type], ...]
    description: str = ""

    def __getitem__(self, name: str) -> Type:
        for field, type_ in self.fields:
            if field == name:
                return type_
        raise UnknownNameError(f"table '{self.name}' has no field '{name}'; its fields are {', '.join(self)}")

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

    def __post_init__(self) -> None:
        _core.check_schema(self.to_json())

    def __getitem__(self, name: str) -> TableSchema:
        return self.tables[self.index(name)]

    def __iter__(self) -> Iterator[str]:
        return (table.name for table in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.tables))

    def index(self, name: str) -> int:
        for index, table in enumerate(self.tables):
            if table.name == name:
                return index
        some = ", ".join(list(self)[:8]) + (f" and {len(self) - 8} more" if len(self) > 8 else "")
        raise UnknownNameError(f"there is no table '{name}'; the tables are {some}")

    @cached_property
    def columns(self) -> list[list[_core.Column]]:
        """What the fields of each table flatten to."""
        return _core.flatten(self.to_json())

    def to_json(self) -> str:
        """The text that is kept in every file, as docs/formats/schema.md describes it."""
        tables = []
        for table in self.tables:
            fields = [{"name": name, **type_.to_json()} for name, type_ in table.fields]
            tables.append({"name": table.name, "fields": fields, "description": table.description})
        return json.dumps({"tables": tables})

    @staticmethod
    def from_json(text: str) -> Schema:
        """Raises UsageError where the text is not a schema."""
        _core.check_schema(text)
        tables = []
        for table in json.loads(text)["tables"]:
            fields = tuple((field["name"], Type.from_json(field)) for field in table["fields"])
            tables.append(TableSchema(table["name"], fields, table.get("description", "")))
        return Schema(tuple(tables))


def schema(tables: Mapping[str, Mapping[str, TypeLike]]) -> Schema:
    """The schema of a run: `tw.schema({"ch0": {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32}})`.

    Slashes in the names of tables nest them. Raises UsageError naming the table and field that cannot be stored.
    """
    return Schema(
        tuple(
            TableSchema(name, tuple((field, as_type(like)) for field, like in fields.items()))
            for name, fields in tables.items()
        )
    )
