"""The model of an event: data products, the lists of objects in them, and the groups into which a layout may split
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type, TypeLike, as_type

NodePath = tuple[str, ...]
Level = tuple[int, ...]
"""The lists of objects around a field, outermost first, each given by its lengths column; () is the event."""


@dataclass(frozen=True)
class Node:
    """A struct, a list, or a leaf, which no layout divides. The elements of a list have the path of the list."""

    path: NodePath
    type: Type
    columns: tuple[int, ...]
    """The flat columns of a leaf, or the lengths column of a list."""
    level: Level
    has_objects: bool = False
    """Whether it is a list whose elements may become rows."""
    children: tuple[Node, ...] = ()

    @property
    def element_level(self) -> Level:
        return (*self.level, *self.columns) if self.has_objects else self.level

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class EventModel:
    """The fields of an event, each of which is a data product, and the named groups of their parts.

    A group is a set of dotted paths. A path includes everything nested in it, except parts that a longer path of
    another group names. Parts that no group names belong to a group with the name of their product.

    Raises UsageError if a group names a path that does not exist, or if two groups name the same path.
    """

    products: tuple[tuple[str, Type], ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        for name, paths in self.groups:
            for path in paths:
                if path not in self._paths:
                    raise UsageError(f"group '{name}' names '{path}', which is not a path of an event")
        named = [self._paths[path] for _, paths in self.groups for path in paths]
        if twice := next((path for path in named if named.count(path) > 1), None):
            raise UsageError(f"'{'.'.join(twice)}' is in two groups: name it in one")

    @cached_property
    def table(self) -> TableSchema:
        """The schema of a table whose rows are events."""
        return TableSchema("events", self.products)

    @cached_property
    def columns(self) -> list[_core.Column]:
        """The flat columns of events, depth first, the lengths of a list before its content."""
        return _core.flatten(Schema((self.table,)).to_json())[0]

    @cached_property
    def tree(self) -> tuple[Node, ...]:
        """The nodes of the products."""
        _ = self.columns  # raises if the fields cannot be stored
        numbers = count()
        return tuple(_node((name,), type_, (), True, numbers) for name, type_ in self.products)

    def nodes(self) -> Iterator[Node]:
        for product in self.tree:
            yield from product.walk()

    @cached_property
    def ancestors(self) -> list[Level]:
        """For each column, the lengths columns of the lists around it, outermost first."""
        found: list[Level] = []
        for column in self.columns:
            found.append(() if column.parent is None else (*found[column.parent], column.parent))
        return found

    @cached_property
    def _paths(self) -> dict[str, NodePath]:
        return {separator.join(node.path): node.path for separator in "./" for node in self.nodes()}

    def path_of(self, name: str) -> NodePath:
        """Returns the path of a name. "wires.rois" and "wires/rois" mean the same."""
        return self._paths.get(name) or tuple(name.replace(".", "/").split("/"))

    def group_of(self, path: NodePath) -> str:
        named = [(self._paths[name], group) for group, names in self.groups for name in names]
        covering = [(len(outer), group) for outer, group in named if path[: len(outer)] == outer]
        return max(covering)[1] if covering else path[0]


def event_model(products: Mapping[str, TypeLike], groups: Mapping[str, Sequence[str]] | None = None) -> EventModel:
    """Returns the model of events with these products, such as `{"hits": tw.list_({...}), "wires": tw.list_({...})}`.

    groups: dotted paths by group, such as `{"rois": ["wires.rois"]}`. The default is one group for each list of
        structs.

    Raises UsageError if a field cannot be stored, or if a group names a path that does not exist.
    """
    fields = tuple((str(name), as_type(like)) for name, like in products.items())
    if groups is None:
        lists = [node.path for node in EventModel(fields).nodes() if node.has_objects]
        return EventModel(fields, tuple(("_".join(path), (".".join(path),)) for path in lists))
    return EventModel(fields, tuple((name, tuple(paths)) for name, paths in groups.items()))


def _node(path: NodePath, type_: Type, level: Level, may_divide: bool, numbers: Iterator[int]) -> Node:
    """Returns the node of a type. `may_divide` says whether all nodes around it are structs and lists of objects."""
    if type_.name == "struct" and not type_.shape:
        members = (_node((*path, name), member, level, may_divide, numbers) for name, member in type_.members)
        return Node(path, type_, (), level, children=tuple(members))
    if type_.element is None or type_.shape:
        return Node(path, type_, tuple(islice(numbers, _width(type_))), level)
    has_structs = type_.element.name == "struct" and not type_.element.shape
    has_objects = may_divide and (len(path) == 1 or has_structs)
    lengths = next(numbers)
    inner_level = (*level, lengths) if has_objects else level
    inner = _node(path, type_.element, inner_level, has_objects and has_structs, numbers)
    return Node(path, type_, (lengths,), level, has_objects, (inner,))


def _width(type_: Type) -> int:
    """Returns the number of flat columns of a type."""
    if type_.element is not None:
        return 1 + _width(type_.element)
    return sum(_width(member) for _, member in type_.members) if type_.members else 1 + (type_.name == "string")
