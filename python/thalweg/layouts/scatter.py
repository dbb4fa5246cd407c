"""Batches of events into the rows of a plan's tables: arithmetic on lengths. Values are passed on, or repeated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg.layouts.model import EventModel, Level
from thalweg.layouts.tables import TablePlan

Array = npt.NDArray[Any]
Lengths = Mapping[int, Array] | Sequence[Array]
"""Lengths columns, by their numbers among the columns of events."""
Items = npt.NDArray[np.int64] | None
"""Item numbers, -1 where there is none; None: every item once, in order."""


@dataclass(frozen=True)
class Batch:
    """Events as flat columns, in the order of `EventModel.columns`; those of lengths are uint64."""

    events: int
    columns: Sequence[Array]

    def checked(self, model: EventModel) -> Batch:
        """Raises UsageError where a column is missing, or has another type or number of items than it should."""
        if len(self.columns) != len(model.columns):
            raise UsageError(f"a batch has {len(self.columns)} columns, but events have {len(model.columns)}")
        columns = []
        for column, values in zip(model.columns, self.columns, strict=True):
            where = f"column '{column.path}'" + " (lengths)" * column.is_lengths
            if values.dtype != column.type:
                raise UsageError(f"{where} of a batch is of type {values.dtype}, but {column.type} is declared")
            items = self.events if column.parent is None else int(self.columns[column.parent].sum())
            shape = (items, *column.shape)
            if values.size != math.prod(shape):
                raise UsageError(f"{where} of a batch has the shape {values.shape}; {shape} is needed")
            columns.append(values if values.shape == shape else values.reshape(shape))
        return Batch(self.events, columns)


@dataclass(frozen=True)
class Placement:
    """The rows of a table: which event, and which element of each list of the table, stands in each."""

    rows: int
    items: tuple[Items, ...]

    @staticmethod
    def of(lists: Level, joined: int, lengths: Lengths, events: int) -> Placement:
        items: list[Items] = [None]
        rows = events
        for depth, column in enumerate(lists, 1):
            counts = spread(lengths[column].view(np.int64), items[-1])
            is_filled = counts > 0
            is_joined = depth > len(lists) - joined and not is_filled.all()
            holder = np.repeat(np.arange(rows), np.maximum(counts, 1) if is_joined else counts)
            items = [holder if each is None else each[holder] for each in items]
            items.append(np.where(is_filled[holder], np.cumsum(is_filled[holder]) - 1, -1) if is_joined else None)
            rows = len(holder)
        return Placement(rows, tuple(items))

    def positions(self, depth: int, lengths: Array) -> npt.NDArray[np.uint32]:
        """Of each row's element of the list at `depth`: its position in that list."""
        lengths = lengths.view(np.int64)
        if lengths.size and lengths.max() > np.iinfo(np.uint32).max:
            raise UsageError(f"a list of {lengths.max()} objects is too long for this layout (2^32 - 1 are possible)")
        starts = np.cumsum(lengths) - lengths
        positions = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        return spread(positions.astype(np.uint32), self.items[depth])


def spread(values: Array, items: Items) -> Array:
    """An item for each row; zero where there is none."""
    if items is None:
        return values
    if len(values) and (not items.size or items.min() >= 0):
        return values[items]
    spread_values = np.zeros((len(items), *values.shape[1:]), values.dtype)
    there = items >= 0
    spread_values[there] = values[items[there]]
    return spread_values


def once(values: Array, items: Items) -> Array:
    """Every item in the first of its rows; zero elsewhere."""
    if items is None:
        return values
    once_values = np.zeros((len(items), *values.shape[1:]), values.dtype)
    once_values[(items >= 0) & (np.diff(items, prepend=-1) != 0)] = values
    return once_values


def ids(lists: Level, placement: Placement, lengths: Lengths, numbers: Array) -> list[Array]:
    """The columns that the table begins with: event numbers, and positions in all lists but the last."""
    positions = (placement.positions(depth, lengths[column]) for depth, column in enumerate(lists[:-1], 1))
    return [spread(numbers, placement.items[0]), *positions]


def scatter(
    model: EventModel, table: TablePlan, batch: Batch, first_event: int, spill_events: int
) -> tuple[int, list[Array]]:
    """The number of rows, and the flat columns of the table."""
    numbers = np.arange(first_event, first_event + batch.events, dtype=np.uint64)
    if any(source.kind == "spill" for source in table.sources):
        starts = np.arange(0, batch.events, spill_events)
        sizes = np.diff(starts, append=batch.events).astype(np.uint64)
        placement, generated = Placement(len(starts), (None,)), [numbers[starts], sizes]
    else:
        placement = Placement.of(table.lists, table.joined, batch.columns, batch.events)
        generated = ids(table.lists, placement, batch.columns, numbers)
        sizes = numbers[:0]
    columns: list[Array] = []
    for physical, source in zip(table.columns, table.sources, strict=True):
        if source.kind == "spill":
            columns.append(sizes)
        elif source.kind != "column":
            columns.append(generated[len(columns)])
        else:
            columns.append(_placed(model, table, placement, batch, source.column, physical.is_lengths))
    return placement.rows, columns


def _placed(
    model: EventModel, table: TablePlan, placement: Placement, batch: Batch, column: int, is_lengths: bool
) -> Array:
    values = batch.columns[column]
    ancestors = model.ancestors[column]
    if ancestors != table.lists[: len(ancestors)]:  # it lies in a list that stands in a row
        return values
    items = placement.items[len(ancestors)]
    return once(values, items) if is_lengths else spread(values, items)
