"""Assigns the datasets that h5py reads to tables, by the rules of docs/formats/hdf5.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._others.hdf5_column import H5Column
from thalweg._others.tree_types import NoTypeError
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type, uint8


@dataclass
class Planned:
    """A table with the columns that h5py reads, as in `H5Table`."""

    schema: TableSchema
    rows: int
    columns: dict[str, H5Column] = field(default_factory=dict)


class H5Plan:
    """Tables to which columns and attributes are added. `root` is the name of the table of datasets without a group."""

    def __init__(self, stored: Schema, rows: Mapping[str, int], root: str) -> None:
        self.tables = {name: Planned(table, rows[name]) for name, table in stored.items()}
        self.attrs = stored.attrs
        self.groups = dict(stored.groups)
        self.homeless: list[tuple[str, str, Any]] = []
        """Attributes of groups that are inside a table now, as path, name and value."""
        self._root = root

    def add(self, columns: list[H5Column]) -> list[tuple[str, str]]:
        """Adds columns. Returns the path of each column that fits nowhere, with the reason."""
        failed = []
        compounds = [each for each in columns if _is_table(each)]
        for column in [*self._with_tables([each for each in columns if not _is_table(each)]), *compounds]:
            try:
                self._place(column)
            except (NoTypeError, UsageError) as error:
                failed.append((column.path, str(error)))
        return failed

    def _with_tables(self, columns: list[H5Column]) -> list[H5Column]:
        """Returns the columns. A group that is in no table becomes one with the most frequent length of its
        datasets."""
        by_group: dict[str, list[H5Column]] = {}
        for column in columns:
            by_group.setdefault(_group(column.path), []).append(column)
        for group in sorted(by_group, key=lambda path: path.count("/")):
            lengths = Counter(len(column) for column in by_group[group])
            rows, how_many = max(lengths.items(), key=lambda each: (each[1], each[0]))
            name = group[1:] or self._root
            if self._host(group) is None and (how_many > 1 or len(lengths) == 1) and self._is_free(name):
                self.tables[name] = Planned(TableSchema(name, ()), rows)
                self._take_attributes(name)
        return columns

    def _place(self, column: H5Column) -> None:
        group, name = _group(column.path), column.path.rpartition("/")[2]
        found = self._host(group)
        if found is None:
            return self._add_table(f"{group}/{name}"[1:], name, column)
        table, inner = found
        if table.rows == len(column):
            try:
                return self._add_field(table, [*inner, name], column)
            except NoTypeError:
                pass  # the place is inside a list
        return self._add_table("_".join([table.schema.name, *inner, name]) if group else name, name, column)

    def _add_field(self, table: Planned, names: list[str], column: H5Column) -> None:
        row = _with_field(Type("struct", members=table.schema.fields), names, column.type)
        _check(names[-1], column.type)
        table.schema = replace(table.schema, fields=row.members)
        table.columns["/".join(names)] = column

    def _add_table(self, table: str, name: str, column: H5Column) -> None:
        if not self._is_free(table):
            table = table.replace("/", "_")
        while not self._is_free(table) or table in self.groups:
            table += "_"
        is_table = _is_table(column)
        type_ = column.type
        fields = type_.members if is_table else ((name, type_),)
        about = type_.description if is_table else ""
        schema = TableSchema(table, fields, about, type_.attrs if is_table else Attributes())
        Schema((schema,))  # raises if a name cannot be the name of a field
        self.tables[table] = Planned(schema, len(column), {"" if is_table else name: column})

    def _host(self, group: str) -> tuple[Planned, list[str]] | None:
        """Returns the table that a group is or lies in, and the names of the structs between; None if there is none."""
        if not group:
            return (self.tables[self._root], []) if self._root in self.tables else None
        names = group[1:].split("/")
        for end in range(len(names), 0, -1):
            name = "/".join(names[:end])
            if name in self.tables and name != self._root:  # the root table has no group
                return self.tables[name], names[end:]
        return None

    def _is_free(self, name: str) -> bool:
        above = ["/".join(name.split("/")[:end]) for end in range(1, name.count("/") + 2)]
        return not any(each in self.tables for each in above) and not any(
            each.startswith(f"{name}/") for each in self.tables
        )

    def _take_attributes(self, name: str) -> None:
        """Moves the attributes of a group that has become a table to the table."""
        table = self.tables[name]
        texts = dict(self.groups.pop(name, Attributes()))
        about = texts.pop("description") if isinstance(texts.get("description"), str) else ""
        table.schema = replace(table.schema, description=about, attrs=Attributes(texts))
        for inner in [group for group in self.groups if group.startswith(f"{name}/")]:
            self.homeless += [(f"/{inner}", each, value) for each, value in self.groups.pop(inner).items()]

    def add_attribute(self, path: str, name: str, value: Any) -> None:
        """Adds an attribute to an object. Raises NoTypeError or UsageError if it cannot have it."""
        if not path.strip("/"):
            attrs = _with(self.attrs, name, value)
            Schema((TableSchema("table", (("x", uint8),)),), attrs)
            self.attrs = attrs
            return
        found = self._host(path)
        if found is None:
            group = path[1:]
            attrs = _with(self.groups.get(group, Attributes()), name, value)
            Schema(tuple(each.schema for each in self.tables.values()), groups=((group, attrs),))
            self.groups[group] = attrs
            return
        table, inner = found
        if not inner:
            schema = replace(table.schema, attrs=_with(table.schema.attrs, name, value))
        else:
            row = _with_attribute(Type("struct", members=table.schema.fields), inner, name, value)
            schema = replace(table.schema, fields=row.members)
        Schema((schema,))
        table.schema = schema

    def add_attribute_above(self, path: str, name: str, value: Any) -> None:
        """Adds an attribute of an object that is not shown itself, such as a dataset without rows, to what it lies in.

        It is called like those of NeXus, "energy@units". Raises NoTypeError or UsageError if nothing can have it."""
        names: list[str] = []
        while path.strip("/"):
            path, _, last = path.rpartition("/")
            names.insert(0, last)
            try:
                return self.add_attribute(path, f"{'/'.join(names)}@{name}", value)
            except (NoTypeError, UsageError):
                pass
        raise NoTypeError("nothing can have the attribute")

    def schema(self) -> Schema:
        tables = tuple(each.schema for each in self.tables.values() if each.schema.fields)
        return Schema(tables, self.attrs, tuple(self.groups.items()))


def _is_table(column: H5Column) -> bool:
    return column.type.name == "struct" and not column.type.shape


def _group(path: str) -> str:
    return path.rpartition("/")[0]


def _check(name: str, type_: Type) -> None:
    """Raises UsageError if no table can have such a field."""
    Schema((TableSchema("table", ((name, type_),)),))


def _with_field(type_: Type, names: list[str], new: Type) -> Type:
    known = dict(type_.members)
    if len(names) == 1:
        if names[0] in known:
            raise NoTypeError("another column has the same name")
        return replace(type_, members=(*type_.members, (names[0], new)))
    inner = known.get(names[0], Type("struct"))
    if inner.name != "struct" or inner.shape:
        raise NoTypeError("it is inside a list")
    return replace(type_, members=tuple({**known, names[0]: _with_field(inner, names[1:], new)}.items()))


def _with_attribute(type_: Type, names: list[str], name: str, value: Any) -> Type:
    if not names and name == "units" and isinstance(value, str) and not type_.unit:
        return replace(type_, unit=value)
    if not names and name == "description" and isinstance(value, str) and not type_.description:
        return replace(type_, description=value)
    if not names:
        return replace(type_, attrs=_with(type_.attrs, name, value))
    known = dict(type_.members)
    if names[0] not in known:
        raise NoTypeError("its object is not shown")
    changed = _with_attribute(known[names[0]], names[1:], name, value)
    return replace(type_, members=tuple({**known, names[0]: changed}.items()))


def _with(attrs: Attributes, name: str, value: Any) -> Attributes:
    if name in attrs:
        raise NoTypeError(f"its owner has an attribute '{name}' already")
    return Attributes({**attrs, name: value})
