"""Derives the tables of a layout from a model: the columns of each table and the source of each column. Pure data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from thalweg import _core
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type, list_, uint32, uint64
from thalweg.layouts.model import EventModel, Level, Node, NodePath

Kind = Literal["event", "spill", "index", "column"]


@dataclass(frozen=True)
class ColumnSource:
    """The source of a column of a table.

    "event": the number of the event of the row (in a spill: of its first event). "spill": the number of events of the
    spill. "index": the position of the object of the row, or of the object around it, in the list with lengths column
    `column`. "column": the logical column `column`.
    """

    kind: Kind
    column: int = -1

    def is_column_of(self, lists: Level) -> bool:
        """Returns whether it is the lengths column of one of these lists."""
        return self.kind == "column" and self.column in lists

    def to_json(self) -> int | str | dict[str, int]:
        if self.kind == "column":
            return self.column
        return {"index": self.column} if self.kind == "index" else self.kind

    @staticmethod
    def from_json(json: Any) -> ColumnSource:
        if isinstance(json, int):
            return ColumnSource("column", json)
        return ColumnSource("index", json["index"]) if isinstance(json, dict) else ColumnSource(json)


@dataclass(frozen=True)
class TablePlan:
    """A table of a layout. A row is an element of the last of `lists`; without lists, it is an event or a spill.

    For the last `joined` of these lists, an object whose list is empty keeps a row. The fields of an outer object are
    repeated in the rows of its inner objects; its lists are in the first of these rows only.
    """

    schema: TableSchema
    lists: Level
    joined: int
    sources: tuple[ColumnSource, ...]
    """The source of each flat column."""

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def home(self) -> int:
        """The number of `lists` whose objects may lack rows. All elements of the next list have rows."""
        return len(self.lists) - self.joined

    @cached_property
    def columns(self) -> list[_core.Column]:
        return _core.flatten(Schema((self.schema,)).to_json())[0]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "fields": [{"name": name, **type_.to_json()} for name, type_ in self.schema.fields],
            "lists": list(self.lists),
            "joined": self.joined,
            "sources": [source.to_json() for source in self.sources],
        }

    @staticmethod
    def from_json(json: Any) -> TablePlan:
        fields = tuple((field["name"], Type.from_json(field)) for field in json["fields"])
        sources = tuple(map(ColumnSource.from_json, json["sources"]))
        return TablePlan(TableSchema(json["name"], fields), tuple(json["lists"]), json["joined"], sources)


@dataclass(frozen=True)
class _Selection:
    """The parts of an event that one table holds."""

    name: str
    leaves: frozenset[int] = frozenset()
    """The leaves, each given by its first column."""
    counts: frozenset[int] = frozenset()
    """The lists of which the table holds only the lengths, as numbers."""
    lists: Level = ()
    joined: int = 0


def plan_tables(model: EventModel, granularity: str, split: str, arrangement: str) -> tuple[TablePlan, ...]:
    selections = {"top_object": _top_objects, "element": _elements}.get(granularity, _events)
    whole = "spills" if granularity == "spill" else "events"

    def part_of(path: NodePath) -> str:
        return {"all": whole, "per_product": path[0]}.get(split) or model.group_of(path)

    parts: dict[NodePath, str] = {node.path: part_of(node.path) for node in model.nodes()}
    tables: dict[str, TablePlan] = {}
    for selection in selections(model, parts):
        named = replace(selection, name=_free(selection.name, tables))
        tables[named.name] = _table(model, named, granularity == "spill", arrangement == "soa")
    return tuple(tables.values())


def _leaves(model: EventModel) -> list[Node]:
    return [node for node in model.nodes() if not node.children]


def _events(model: EventModel, parts: dict[NodePath, str]) -> Iterator[_Selection]:
    leaves = defaultdict(set)
    for leaf in _leaves(model):
        leaves[parts[leaf.path]].add(leaf.columns[0])
    for part, columns in leaves.items():
        yield _Selection(part, frozenset(columns))


def _event_counts(parts: dict[NodePath, str], lists: Iterable[Node]) -> _Selection:
    """Returns the table with one row for each event, even if it is empty, that holds the numbers of its objects."""
    return _Selection(_free("events", parts.values()), counts=frozenset(node.columns[0] for node in lists))


def _top_objects(model: EventModel, parts: dict[NodePath, str]) -> Iterator[_Selection]:
    """Yields the tables if rows are top objects. A part with fields of several products has one table for each."""
    yield _event_counts(parts, [product for product in model.tree if product.has_objects])
    leaves: dict[str, dict[Node, set[int]]] = defaultdict(lambda: defaultdict(set))
    for product in model.tree:
        for leaf in (node for node in product.walk() if not node.children):
            leaves[parts[leaf.path]][product].add(leaf.columns[0])
    for part, products in leaves.items():
        for product, columns in products.items():
            name = part if len(products) == 1 else f"{part}/{product.path[0]}"
            yield _Selection(name, frozenset(columns), lists=product.element_level)


def _elements(model: EventModel, parts: dict[NodePath, str]) -> Iterator[_Selection]:
    """Yields the tables if rows are elements: one for each innermost list of a part. The first also has outer
    fields."""
    lists = {node.element_level: node for node in model.nodes() if node.has_objects}
    yield _event_counts(parts, [node for node in lists.values() if not node.level])
    leaves: dict[str, dict[Level, set[int]]] = defaultdict(lambda: defaultdict(set))
    counts: dict[str, dict[Level, set[int]]] = defaultdict(lambda: defaultdict(set))
    for leaf in _leaves(model):
        leaves[parts[leaf.path]][leaf.level].add(leaf.columns[0])
    for node in lists.values():
        if node.level:
            counts[parts[lists[node.level].path]][node.level].add(node.columns[0])
    for part in sorted({*leaves, *counts}, key=[*parts.values()].index):
        chains = _chains(sorted({*leaves[part], *counts[part]}), counts[part])
        for chain in chains:
            path = lists[chain[-1]].path if chain[-1] else ("events",)
            yield _Selection(
                part if len(chains) == 1 else f"{part}/{'_'.join(path)}",
                frozenset().union(*(leaves[part][level] for level in chain)),
                frozenset().union(*(counts[part][level] for level in chain)),
                chain[-1],
                len(chain) - 1,
            )


def _chains(levels: list[Level], counts: dict[Level, set[int]]) -> list[list[Level]]:
    """Groups levels into chains, each level in one chain. A list continues the chain of its object if the part holds
    its lengths."""
    chains: list[list[Level]] = []
    for level in levels:  # outer levels come before inner ones, as columns are numbered
        outer = next((chain for chain in chains if chain[-1] == level[:-1]), None)
        if outer is not None and level and level[-1] in counts.get(outer[-1], ()):
            outer.append(level)
        else:
            chains.append([level])
    return chains


def _table(model: EventModel, selection: _Selection, is_spill: bool, is_soa: bool) -> TablePlan:
    shaper = _Shaper(selection, is_soa)
    members, sources = shaper.members(model.tree, [ColumnSource("spill")] if is_spill and is_soa else [])
    taken = [name for name, _ in members]
    if is_spill and not is_soa:
        members = [("events", list_(Type("struct", members=tuple(members))))]
        sources = [ColumnSource("spill"), *sources]
    what = "number of the first event of the spill" if is_spill else "number of the event"
    ids = [(_free("event_number", taken), uint64(description=what))]
    id_sources = [ColumnSource("event")]
    lists = {node.columns[0]: node.path for node in model.nodes() if node.has_objects}
    for column in selection.lists[:-1]:
        what = f"position of the object in {'.'.join(lists[column])}"
        name = _free(f"{lists[column][-1]}_index", [*taken, *(name for name, _ in ids)])
        ids.append((name, uint32(description=what)))
        id_sources.append(ColumnSource("index", column))
    schema = TableSchema(selection.name, (*ids, *members))
    return TablePlan(schema, selection.lists, selection.joined, (*id_sources, *sources))


class _Shaper:
    """Selects members of a type, and finds the sources of their columns."""

    def __init__(self, selection: _Selection, is_soa: bool) -> None:
        self._selection = selection
        self._is_soa = is_soa

    def members(
        self, nodes: Iterable[Node], outer: list[ColumnSource]
    ) -> tuple[list[tuple[str, Type]], list[ColumnSource]]:
        members: list[tuple[str, Type]] = []
        sources: list[ColumnSource] = []
        nodes = list(nodes)
        for node in nodes:
            name = node.path[-1]
            if shaped := self._shaped(node, outer):
                members.append((name, shaped[0]))
                sources += shaped[1]
            if node.has_objects and node.columns[0] in self._selection.counts:
                count = _free(f"{name}_count", [each.path[-1] for each in nodes])
                members.append((count, uint64(description=f"number of {'.'.join(node.path)}")))
                sources.append(ColumnSource("column", node.columns[0]))
        return members, sources

    def _shaped(self, node: Node, outer: list[ColumnSource]) -> tuple[Type, list[ColumnSource]] | None:
        """Returns the selected part of a node. `outer` has the lists around it, which each leaf repeats with "soa"."""
        if not node.children:
            return self._leaf(node, outer) if node.columns[0] in self._selection.leaves else None
        if node.type.element is None:
            members, sources = self.members(node.children, outer)
            return (_with(node.type, members=tuple(members)), sources) if members else None
        (element,) = node.children
        if node.columns[0] in self._selection.lists:  # its elements are the rows
            return self._shaped(element, outer)
        lengths = ColumnSource("column", node.columns[0])
        if self._is_soa:
            return self._shaped(element, [*outer, lengths])
        shaped = self._shaped(element, [])
        return (_with(node.type, element=shaped[0]), [lengths, *shaped[1]]) if shaped else None

    def _leaf(self, node: Node, outer: list[ColumnSource]) -> tuple[Type, list[ColumnSource]]:
        type_ = node.type
        for _ in outer:
            type_ = list_(type_)
        return type_, [*outer, *(ColumnSource("column", column) for column in node.columns)]


def _with(type_: Type, **inner: Any) -> Type:
    """Returns the type with other members or elements. If these differ, it loses the name of its C++ class."""
    changed = replace(type_, **inner)
    return type_ if changed == type_ else replace(changed, type_name="")


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
