"""Converts the rows of the tables of a layout back to events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg._base.errors import DataError
from thalweg.layouts.model import EventModel
from thalweg.layouts.scatter import Array, ItemNumbers, Placement, ids
from thalweg.layouts.tables import ColumnSource, TablePlan

Read = Callable[[TablePlan, list[int]], dict[int, Array]]
"""A function that reads flat columns of a table, by their numbers."""


@dataclass(frozen=True)
class Part:
    """A table and the numbers of its flat columns that are needed."""

    table: TablePlan
    columns: list[int]


def parts_for(model: EventModel, tables: Sequence[TablePlan], wanted: Collection[int]) -> list[Part]:
    """Returns the tables and columns that hold the logical columns `wanted`, which must include all lists around them.

    Lengths that several tables have are taken from a table that is read anyway. Tables of outer objects come first.
    """
    holders = defaultdict(list)
    for table in tables:
        for column, source in enumerate(table.sources):
            if source.kind == "column":
                holders[source.column].append((table, column))
    missing = set(wanted)
    needed: dict[str, set[int]] = defaultdict(set)
    for is_lengths in (False, True):
        for logical in sorted(wanted, reverse=True):  # inner lists first, since they bring the lists around them
            if logical in missing and model.columns[logical].is_lengths == is_lengths:
                table, column = min(holders[logical], key=lambda holder: holder[0].name not in needed)
                needed[table.name] |= _with_company(table, column)
                missing -= {
                    table.sources[each].column for each in needed[table.name] if table.sources[each].kind == "column"
                }
    parts = [Part(table, sorted(needed[table.name])) for table in tables if table.name in needed]
    return sorted(parts, key=lambda part: part.table.home)


def _with_company(table: TablePlan, column: int) -> set[int]:
    """Returns the columns that a column needs: the lists around it, and those that say which objects are in which
    rows."""
    company = {i for i, source in enumerate(table.sources) if source.kind in ("event", "index")}
    company |= {i for i, source in enumerate(table.sources) if source.is_column_of(table.lists[table.home :])}
    next_one: int | None = column
    while next_one is not None:
        company.add(next_one)
        next_one = table.columns[next_one].parent
    return company


def gather(model: EventModel, parts: Sequence[Part], read: Read) -> tuple[Array, dict[int, Array]]:
    """Returns the sorted numbers of the events and the logical columns. Raises DataError if tables do not fit
    together."""
    numbers: Array | None = None
    found: dict[int, Array] = {}
    for part in parts:
        table = part.table
        arrays = read(table, part.columns)
        rows = _rows_of_items(table, arrays)
        keys = [_taken(key, rows[table.home]) for key in _keys(table, arrays)]
        columns, spills = _columns(model, part, arrays, rows)
        if spills is not None:
            keys = [_numbers_of_spills(keys[0], spills)]
        if table.home:
            assert numbers is not None
            lists = table.lists[: table.home]
            expected = ids(lists, Placement.of(lists, 0, found, len(numbers)), found, numbers)
        else:
            expected = keys if numbers is None else [numbers]
            numbers = expected[0]
        _check_ids(table, keys, expected)
        found = columns | found
        _check_sizes(model, table, columns, found, len(numbers))
    assert numbers is not None
    return numbers, found


def _keys(table: TablePlan, arrays: dict[int, Array]) -> list[Array]:
    return [arrays[i] for i, source in enumerate(table.sources) if source.kind in ("event", "index")]


def _rows_of_items(table: TablePlan, arrays: dict[int, Array]) -> list[ItemNumbers]:
    """Returns the (first) row of each element of each list of the table, in the order of events.

    For the lists above `table.home`, the table has positions only.
    """
    keys = _keys(table, arrays)
    order = None if _is_sorted(keys) else np.lexsort(keys[::-1])
    keys = [_taken(key, order) for key in keys]
    is_filled = np.ones(len(keys[0]), bool)
    rows: list[ItemNumbers] = [None] * table.home
    for depth in range(table.home, len(table.lists) + 1):
        if depth > table.home:
            count = table.sources.index(ColumnSource("column", table.lists[depth - 1]))
            is_filled = is_filled & (_taken(arrays[count], order) > 0)
        is_first = is_filled.copy()
        if depth < len(table.lists):
            is_first[1:] &= np.any([key[1:] != key[:-1] for key in keys[: depth + 1]], axis=0)
        if is_first.all():
            rows.append(order)
        else:
            rows.append(np.flatnonzero(is_first) if order is None else order[is_first])
    return rows


def _is_sorted(keys: Sequence[Array]) -> bool:
    is_tie = np.ones(max(len(keys[0]) - 1, 0), bool)
    for key in keys:
        if np.any(is_tie & (key[:-1] > key[1:])):
            return False
        is_tie &= key[:-1] == key[1:]
    return True


def _taken(values: Array, items: ItemNumbers) -> Array:
    return values if items is None else values[items]


def _columns(
    model: EventModel, part: Part, arrays: dict[int, Array], rows: Sequence[ItemNumbers]
) -> tuple[dict[int, Array], Array | None]:
    """Returns the logical columns, and the sizes of spills if rows are spills."""
    table = part.table
    columns: dict[int, Array] = {}
    spills: Array | None = None
    inside: dict[int, ItemNumbers] = {}
    for i in part.columns:
        source, physical = table.sources[i], table.columns[i]
        if source.kind not in ("column", "spill"):
            continue
        depth = 0 if source.kind == "spill" else min(len(model.ancestors[source.column]), len(table.lists))
        items = rows[depth] if physical.parent is None else inside[physical.parent]
        values = _taken(arrays[i], items)
        if physical.is_lengths:
            inside[i] = _elements(arrays[i], items)
        if source.kind == "spill":
            spills = values
        else:
            columns[source.column] = values
    return columns, spills


def _elements(lengths: Array, lists: ItemNumbers) -> ItemNumbers:
    """Returns the indices of all elements of these lists."""
    if lists is None:
        return None
    lengths = lengths.view(np.int64)
    ends = np.cumsum(lengths).reshape(lengths.shape)[lists].ravel()
    sizes = lengths[lists].ravel()
    return np.repeat(ends - np.cumsum(sizes), sizes) + np.arange(sizes.sum())


def _numbers_of_spills(first: Array, sizes: Array) -> Array:
    sizes = sizes.view(np.int64)
    starts = (np.cumsum(sizes) - sizes).astype(np.uint64)
    return np.repeat(first - starts, sizes) + np.arange(sizes.sum(), dtype=np.uint64)


def _check_ids(table: TablePlan, found: Sequence[Array], expected: Sequence[Array]) -> None:
    numbers = found[0]
    if not table.home and (twice := np.flatnonzero(numbers[1:] == numbers[:-1])).size:
        raise DataError(
            f"table '{table.name}' has event {numbers[twice[0]]} twice: give each producer its own event numbers "
            "(first_event)"
        )
    for here, there in zip(found, expected, strict=False):  # a joined table also has positions of inner lists
        if len(here) != len(there) or np.any(here != there):
            common = min(len(here), len(there))
            differ = np.flatnonzero(numbers[:common] != expected[0][:common])
            longer = max(numbers, expected[0], key=len)
            at = differ[0] if differ.size else min(common, len(longer) - 1)
            raise DataError(
                f"table '{table.name}' lacks objects that other tables count (near event {longer[at]}; rows of the run "
                "were lost)"
            )


def _check_sizes(
    model: EventModel, table: TablePlan, columns: dict[int, Array], found: dict[int, Array], events: int
) -> None:
    for column, values in columns.items():
        parent = model.columns[column].parent
        items = events if parent is None else int(found[parent].sum())
        if len(values) != items:
            raise DataError(
                f"table '{table.name}' has {len(values)} items for '{model.columns[column].path}', "
                f"but there must be {items} (rows of the run were lost)"
            )
