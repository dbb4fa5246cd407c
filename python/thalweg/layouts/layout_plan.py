"""The tables of a layout: what they hold, and how events are written to them and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from thalweg._append.columns import columns_of
from thalweg._base.errors import UsageError
from thalweg._reading.asked import selected_row
from thalweg._reading.run import Run
from thalweg._schema.schema import Schema
from thalweg._schema.types import Type
from thalweg._values.rows import Rows
from thalweg._writing.attached import Attached
from thalweg._writing.producer import Producer
from thalweg._writing.writer import Writer
from thalweg.layouts.gather import gather, parts_for
from thalweg.layouts.layout import Layout
from thalweg.layouts.model import EventModel
from thalweg.layouts.rows import flat_arrays, path_name_of, rows_of, selected
from thalweg.layouts.scatter import Array, Batch, scatter
from thalweg.layouts.tables import TablePlan, plan_tables

_METADATA_KEY = "layout"
_VERSION = 1


@dataclass(frozen=True)
class Plan:
    """The tables of a layout and the source of each of their columns. The metadata of the file keep it."""

    model: EventModel
    layout: Layout
    tables: tuple[TablePlan, ...]

    @property
    def schema(self) -> Schema:
        """The schema for `tw.create`."""
        return Schema(tuple(table.schema for table in self.tables))

    def metadata(self) -> dict[str, str]:
        """Returns the metadata for `tw.create`, with which the file can be read back as events."""
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
        """Reads a plan from metadata. Raises UsageError if the run has no layout, or one of a later version."""
        if _METADATA_KEY not in metadata:
            raise UsageError("this run was not written with a layout: read its tables directly")
        described = json.loads(metadata[_METADATA_KEY])
        if described["version"] > _VERSION:
            raise UsageError(
                f"this run has a layout of version {described['version']} (this Thalweg reads version {_VERSION}): "
                "use a newer Thalweg"
            )
        products = tuple((field["name"], Type.from_json(field)) for field in described["events"])
        groups = tuple((name, tuple(paths)) for name, paths in described["groups"].items())
        tables = tuple(map(TablePlan.from_json, described["tables"]))
        return Plan(EventModel(products, groups), Layout(**described["layout"]), tables)

    def where(self, fields: Sequence[str] | None = None) -> dict[str, list[str]]:
        """Returns the columns that hold these fields ("hits.energy"), by table, for `run[table].read`."""
        wanted = selected(self.model.columns, self._paths(fields))
        found: dict[str, list[str]] = {}
        for table in self.tables:
            for column, source in zip(table.columns, table.sources, strict=True):
                if source.column in wanted and not self.model.columns[source.column].is_lengths:
                    found.setdefault(table.name, []).append(path_name_of(column))
        return found

    def flatten(self, batch: Any) -> Batch:
        """Returns events (an Awkward array, a dictionary of products, or `Rows`) as flat columns.

        Raises UsageError if they do not fit the model."""
        given = batch if isinstance(batch, Batch) else Batch(*columns_of(self.model.table, batch, {}))
        return given.checked(self.model)

    def scatter(self, batch: Any, first_event: int = 0) -> dict[str, tuple[int, list[Array]]]:
        """Returns the number of rows and the flat columns of each table. Values that are not repeated are not
        copied."""
        events = self.flatten(batch)
        return {
            table.name: scatter(self.model, table, events, first_event, self.layout.spill_events)
            for table in self.tables
        }

    def append(self, producers: Mapping[str, Producer], batch: Any, first_event: int) -> int:
        """Appends events to the producers of all tables, and returns the number of events.

        The numbers of the events begin with `first_event` and must be unique among all producers of the run.
        """
        events = self.flatten(batch)
        for table in self.tables:
            rows, columns = scatter(self.model, table, events, first_event, self.layout.spill_events)
            producers[table.name].append_columns(rows, columns)
        return events.events

    def writer(self, out: Writer | Attached) -> LayoutWriter:
        """Returns a writer; each thread needs its own. It is finished when its `with` block ends."""
        return LayoutWriter(self, {table.name: out.producer(table.name) for table in self.tables})

    def read(self, run: Run, fields: Sequence[str] | None = None, *, threads: int = 0) -> Rows:
        """Returns the events of a run, sorted by their numbers. Only columns that `fields` need are read.

        fields: dotted paths such as "hits.energy". The default is all fields.
        threads: the number of threads; 0: one for each usable core.

        Raises UnknownNameError if there is no such field; DataError if the tables do not hold the same events, for
        example after losses.
        """

        def read_columns(table: TablePlan, columns: list[int]) -> dict[int, Array]:
            paths = dict.fromkeys(path_name_of(table.columns[i]) for i in columns if not table.columns[i].is_lengths)
            arrays = flat_arrays(run[table.name].read(paths, threads=threads))
            return dict(zip(selected(table.columns, paths), arrays, strict=True))

        paths = self._paths(fields)
        wanted = selected(self.model.columns, paths)
        numbers, columns = gather(self.model, parts_for(self.model, self.tables, wanted), read_columns)
        return rows_of(selected_row(self.model.table, paths), len(numbers), (columns[column] for column in wanted))

    def _paths(self, fields: Sequence[str] | None) -> list[str]:
        if isinstance(fields, str):
            raise UsageError(f"fields cannot be '{fields}' (it is a string): give a list, such as ['{fields}']")
        paths = list(self.model.table) if fields is None else ["/".join(self.model.path_of(field)) for field in fields]
        selected_row(self.model.table, paths)  # raises if there is no such field
        return paths


class LayoutWriter:
    """Appends events to all tables of a layout."""

    def __init__(self, plan: Plan, producers: Mapping[str, Producer]) -> None:
        self._plan = plan
        self._producers = producers
        self._next_event = 0

    def append(self, batch: Any, first_event: int | None = None) -> int:
        """Appends events and returns their number.

        first_event: the number of the first event. By default, numbers continue those appended before. Each writer of a
            run needs its own numbers.
        """
        first = self._next_event if first_event is None else first_event
        events = self._plan.append(self._producers, batch, first)
        self._next_event = first + events
        return events

    def finish(self) -> None:
        """Finishes the producers of all tables."""
        for producer in self._producers.values():
            producer.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()


def plan(model: EventModel, layout: Layout) -> Plan:
    """Returns the tables of a layout. Raises UsageError if they cannot be stored."""
    planned = Plan(model, layout, plan_tables(model, layout.granularity, layout.split, layout.arrangement))
    _ = planned.schema  # checks the schema
    return planned


def read(run: Run, fields: Sequence[str] | None = None, *, threads: int = 0) -> Rows:
    """Returns the events of a run that was written with any layout; see `Plan.read`."""
    return Plan.from_metadata(run.metadata).read(run, fields, threads=threads)
