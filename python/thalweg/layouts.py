"""Persistent layouts as data: how events of nested data products become tables and rows, and events again.

    model = tw.layouts.event_model({"hits": tw.list_({...}), "wires": tw.list_({...})})
    plan = tw.layouts.plan(model, tw.layouts.Layout("element", "per_group", "soa"))
    with tw.create("run.h5", plan.schema, metadata=plan.metadata()) as out, plan.writer(out) as writer:
        writer.append(events)
    tw.layouts.read(tw.open("run.h5")).to_awkward()

docs/layouts.md says what each layout stores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal, Self, get_args

from thalweg._append import columns_of
from thalweg._attach import Attached, Producer
from thalweg._errors import UsageError
from thalweg._layouts_gather import gather, parts_for
from thalweg._layouts_model import EventModel, event_model
from thalweg._layouts_plan import TablePlan, plan_tables
from thalweg._layouts_rows import flat_arrays, name_of, rows_of, selected
from thalweg._layouts_scatter import Array, Batch, scatter
from thalweg._layouts_toml import load_model
from thalweg._read import Run
from thalweg._rows import Rows
from thalweg._schema import Schema
from thalweg._table import selected_row
from thalweg._types import Type
from thalweg._write import Writer

__all__ = ["ALL", "Batch", "EventModel", "Layout", "LayoutWriter", "Plan", "event_model", "load_model", "plan", "read"]

Granularity = Literal["event", "spill", "top_object", "element"]
Split = Literal["all", "per_product", "per_group"]
Arrangement = Literal["aos", "soa"]

_METADATA_KEY = "layout"
_VERSION = 1


@dataclass(frozen=True)
class Layout:
    """What a row is, which fields share a table, and how lists of structs are stored."""

    granularity: Granularity
    """What one row holds: an event, a spill, an element of a product's outermost list, or of its innermost."""
    split: Split
    """One table for everything, for each data product, or for each group of the model."""
    arrangement: Arrangement = "aos"
    """Lists of structs (members share the lengths), or structs of lists (each member has its own)."""
    spill_events: int = 100
    """How many events of a batch make a spill."""

    def __post_init__(self) -> None:
        for value, choices in (
            (self.granularity, get_args(Granularity)),
            (self.split, get_args(Split)),
            (self.arrangement, get_args(Arrangement)),
        ):
            if value not in choices:
                raise UsageError(f"'{value}' is no choice of a layout: use one of {', '.join(choices)}")
        if self.split == "all" and self.granularity in ("top_object", "element"):
            raise UsageError(
                f"rows of one {self.granularity} of all products cannot share a table: use per_product or per_group"
            )
        if self.spill_events < 1:
            raise UsageError(f"a spill of {self.spill_events} events is not possible; give at least 1")

    @property
    def name(self) -> str:
        return f"{self.arrangement}_{self.granularity}_{self.split}"

    @staticmethod
    def parse(name: str, spill_events: int = 100) -> Layout:
        """Of "aos_event_all". Raises UsageError where there is no such layout."""
        for layout in ALL:
            if layout.name == name:
                return Layout(layout.granularity, layout.split, layout.arrangement, spill_events)
        raise UsageError(f"there is no layout '{name}'; there are {', '.join(layout.name for layout in ALL)}")


ALL: tuple[Layout, ...] = tuple(
    Layout(granularity, split, arrangement)
    for arrangement, granularity, split in product(get_args(Arrangement), get_args(Granularity), get_args(Split))
    if split != "all" or granularity in ("event", "spill")
)
"""The 20 layouts."""


@dataclass(frozen=True)
class Plan:
    """The tables of a layout, and where each of their columns comes from. Kept in the metadata of the file."""

    model: EventModel
    layout: Layout
    tables: tuple[TablePlan, ...]

    @property
    def schema(self) -> Schema:
        """What `tw.create` takes."""
        return Schema(tuple(table.schema for table in self.tables))

    def metadata(self) -> dict[str, str]:
        """What `tw.create` takes: with it, the file can be read back as events."""
        described = {
            "version": _VERSION,
            "events": [{"name": name, **type_.to_json()} for name, type_ in self.model.products],
            "groups": dict(self.model.groups),
            "layout": asdict(self.layout),
            "tables": [table.to_json() for table in self.tables],
        }
        return {_METADATA_KEY: json.dumps(described)}

    @staticmethod
    def from_metadata(metadata: Mapping[str, str]) -> Plan:
        """Raises UsageError where the run was not written with a layout, or by a later version."""
        if _METADATA_KEY not in metadata:
            raise UsageError("this run was not written with a layout: read its tables as they are")
        described = json.loads(metadata[_METADATA_KEY])
        if described["version"] > _VERSION:
            raise UsageError(f"this run has a layout of version {described['version']}; {_VERSION} is known here")
        products = tuple((field["name"], Type.from_json(field)) for field in described["events"])
        groups = tuple((name, tuple(paths)) for name, paths in described["groups"].items())
        tables = tuple(map(TablePlan.from_json, described["tables"]))
        return Plan(EventModel(products, groups), Layout(**described["layout"]), tables)

    def where(self, fields: Sequence[str] | None = None) -> dict[str, list[str]]:
        """The columns that hold these fields ("hits.energy"), by table: what `run[table].read` takes."""
        wanted = selected(self.model.columns, self._paths(fields))
        found: dict[str, list[str]] = {}
        for table in self.tables:
            for column, source in zip(table.columns, table.sources, strict=True):
                if source.column in wanted and not self.model.columns[source.column].is_lengths:
                    found.setdefault(table.name, []).append(name_of(column))
        return found

    def flatten(self, batch: Any) -> Batch:
        """Events (an Awkward array, a dictionary of products, `Rows`) as flat columns, checked against the model."""
        given = batch if isinstance(batch, Batch) else Batch(*columns_of(self.model.table, batch, {}))
        return given.checked(self.model)

    def scatter(self, batch: Any, first_event: int = 0) -> dict[str, tuple[int, list[Array]]]:
        """The number of rows, and the flat columns, of each table. Values that are not repeated are not copied."""
        events = self.flatten(batch)
        return {
            table.name: scatter(self.model, table, events, first_event, self.layout.spill_events)
            for table in self.tables
        }

    def append(self, producers: Mapping[str, Producer], batch: Any, first_event: int) -> int:
        """Appends events to a producer of each table, and returns how many they are.

        Their numbers begin with `first_event`, and must be unique among all producers of the run.
        """
        events = self.flatten(batch)
        for table in self.tables:
            rows, columns = scatter(self.model, table, events, first_event, self.layout.spill_events)
            producers[table.name].append_columns(rows, columns)
        return events.events

    def writer(self, out: Writer | Attached) -> LayoutWriter:
        """One for each thread; leaving its `with` block finishes it."""
        return LayoutWriter(self, {table.name: out.producer(table.name) for table in self.tables})

    def read(self, run: Run, fields: Sequence[str] | None = None, *, threads: int = 0) -> Rows:
        """The events of a run in the order of their numbers; of the file, no more than `fields`, ids and counts need.

        fields: dotted paths such as "hits.energy"; None: all.
        Raises DataError where tables do not hold the same events, as after losses.
        """

        def read_columns(table: TablePlan, columns: list[int]) -> dict[int, Array]:
            paths = dict.fromkeys(name_of(table.columns[i]) for i in columns if not table.columns[i].is_lengths)
            arrays = flat_arrays(run[table.name].read(paths, threads=threads))
            return dict(zip(selected(table.columns, paths), arrays, strict=True))

        paths = self._paths(fields)
        wanted = selected(self.model.columns, paths)
        numbers, columns = gather(self.model, parts_for(self.model, self.tables, wanted), read_columns)
        return rows_of(selected_row(self.model.table, paths), len(numbers), (columns[column] for column in wanted))

    def _paths(self, fields: Sequence[str] | None) -> list[str]:
        if isinstance(fields, str):
            raise UsageError(f"fields are a list: ['{fields}']")
        paths = list(self.model.table) if fields is None else ["/".join(self.model.path_of(field)) for field in fields]
        selected_row(self.model.table, paths)  # which raises where there is no such field
        return paths


class LayoutWriter:
    """Appends events, by one producer for each table of a layout."""

    def __init__(self, plan: Plan, producers: Mapping[str, Producer]) -> None:
        self._plan = plan
        self._producers = producers
        self._next_event = 0

    def append(self, batch: Any, first_event: int | None = None) -> int:
        """Appends events, and returns how many they are.

        first_event: the number of the first; None: they follow those appended before. Two writers of one run need
        numbers of their own.
        """
        first = self._next_event if first_event is None else first_event
        events = self._plan.append(self._producers, batch, first)
        self._next_event = first + events
        return events

    def finish(self) -> None:
        for producer in self._producers.values():
            producer.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()


def plan(model: EventModel, layout: Layout) -> Plan:
    """The tables of a layout. Raises UsageError where they cannot be stored."""
    planned = Plan(model, layout, plan_tables(model, layout.granularity, layout.split, layout.arrangement))
    _ = planned.schema  # which checks it
    return planned


def read(run: Run, fields: Sequence[str] | None = None, *, threads: int = 0) -> Rows:
    """The events of a run that was written with a layout, whichever it is. As `Plan.read`."""
    return Plan.from_metadata(run.metadata).read(run, fields, threads=threads)
