"""Converts batches of events to the rows of the tables of a layout, by arithmetic on lengths."""

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
"""The lengths columns, by their numbers among the columns of events."""
ItemNumbers = npt.NDArray[np.int64] | None
"""The number of an item for each row, or -1 for none. None stands for every item once, in order."""


@dataclass(frozen=True)
class Batch:
    """Events as flat columns in the order of `EventModel.columns`. Lengths are uint64."""

    events: int
    columns: Sequence[Array]

    def checked(self, model: EventModel) -> Batch:
        """Returns the batch with its columns in shape. Raises UsageError if a column is missing or does not fit."""
        if len(self.columns) != len(model.columns):
            raise UsageError(f"the batch has {len(self.columns)} columns, but events have {len(model.columns)}")
        columns = []
        for column, values in zip(model.columns, self.columns, strict=True):
            where = f"column '{column.path}'" + " (lengths)" * column.is_lengths
            if values.dtype != column.type:
                raise UsageError(f"{where} of the batch has type {values.dtype}, but {column.type} is declared")
            items = self.events if column.parent is None else int(self.columns[column.parent].sum())
            shape = (items, *column.shape)
            if values.size != math.prod(shape):
                raise UsageError(f"{where} of the batch has shape {values.shape}, but {shape} is needed")
            columns.append(values if values.shape == shape else values.reshape(shape))
        return Batch(self.events, columns)


@dataclass(frozen=True)
class Placement:
    """The rows of a table: the event and the element of each list of the table that each row holds."""

    rows: int
    items: tuple[ItemNumbers, ...]

    @staticmethod
    def of(lists: Level, joined: int, lengths: Lengths, events: int) -> Placement:
        items: list[ItemNumbers] = [None]
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
        """Returns the position, in its list at `depth`, of the element of each row. Raises UsageError for huge
        lists."""
        lengths = lengths.view(np.int64)
        if lengths.size and lengths.max() > np.iinfo(np.uint32).max:
            raise UsageError(f"a list of {lengths.max()} objects is too long for this layout (at most 2^32 - 1 fit)")
        starts = np.cumsum(lengths) - lengths
        positions = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        return spread(positions.astype(np.uint32), self.items[depth])


def spread(values: Array, items: ItemNumbers) -> Array:
    """Returns the item of each row, or zero if there is none."""
    if items is None:
        return values
    if len(values) and (not items.size or items.min() >= 0):
        return values[items]
    spread_values = np.zeros((len(items), *values.shape[1:]), values.dtype)
    there = items >= 0
    spread_values[there] = values[items[there]]
    return spread_values


def once(values: Array, items: ItemNumbers) -> Array:
    """Returns each item in the first of its rows, and zero in all other rows."""
    if items is None:
        return values
    once_values = np.zeros((len(items), *values.shape[1:]), values.dtype)
    once_values[(items >= 0) & (np.diff(items, prepend=-1) != 0)] = values
    return once_values


def ids(lists: Level, placement: Placement, lengths: Lengths, numbers: Array) -> list[Array]:
    """Returns the first columns of a table: event numbers, and positions in all lists except the last."""
    positions = (placement.positions(depth, lengths[column]) for depth, column in enumerate(lists[:-1], 1))
    return [spread(numbers, placement.items[0]), *positions]


def scatter(
    model: EventModel, table: TablePlan, batch: Batch, first_event: int, spill_events: int
) -> tuple[int, list[Array]]:
    """Returns the number of rows and the flat columns of a table."""
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
    if ancestors != table.lists[: len(ancestors)]:  # it is inside a list that one row holds
        return values
    items = placement.items[len(ancestors)]
    return once(values, items) if is_lengths else spread(values, items)
