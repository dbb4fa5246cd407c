"""Counts the rows of an append. A value is one row if it has the shape of its type; with one more leading axis it is
many rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._schema.types import Type
from thalweg._values.from_others import is_missing
from thalweg._values.ragged import Optional, Ragged, Text, length_of
from thalweg._values.rows import Rows


class ValuePlace(NamedTuple):
    """The place of a value in a table, for messages."""

    table: str
    column: str = ""
    item: str = "row"
    present: npt.NDArray[Any] | None = None
    """The items that have a value, if some are missing: the first value is that of item `present[0]`."""

    def inside(self, name: str) -> ValuePlace:
        return self._replace(column=f"{self.column}/{name}" if self.column else name)

    def elements(self) -> ValuePlace:
        return ValuePlace(self.table, f"{self.column}/*", "element")

    def of_present(self, lengths: npt.NDArray[Any]) -> ValuePlace:
        """Returns the place of the values of an optional column, which has so many (one or none) for each item."""
        return self._replace(present=np.flatnonzero(lengths.reshape(-1)))

    def fail(self, problem: str, why: str = "", index: int | None = None) -> NoReturn:
        if index is not None and self.present is not None:
            index = int(self.present[index])
        where = f"table '{self.table}'"
        where += f", column '{self.column}'" if self.column else ""
        where += f", {self.item} {index} of this append" if index is not None else ""
        raise UsageError(f"{where}: {problem}" + (f" ({why})" if why else ""))


def row_count(row: Type, values: Mapping[str, Any], place: ValuePlace) -> int | None:
    """Returns the number of rows, or None if each value is one row without a leading axis.

    Raises UsageError if the values have different numbers of rows."""
    excess = {name: _excess(type_, values[name]) for name, type_ in row.members}
    decided = {name: axes for name, (axes, is_known) in excess.items() if is_known}
    wrong = next((name for name, axes in decided.items() if axes not in (0, 1)), None)
    if wrong is not None:
        type_ = dict(row.members)[wrong]
        place.inside(wrong).fail(f"a value of {_dimensions(values[wrong])} was given", f"one row is {type_}")
    if len(set(decided.values())) > 1:
        one, many = (next(name for name, axes in decided.items() if axes == wanted) for wanted in (0, 1))
        place.inside(many).fail(f"many rows were given, but one row of '{one}'", "all fields need the same number")
    if not (decided or excess):
        return 0
    if (max(decided.values()) if decided else max(axes for axes, _ in excess.values())) <= 0:
        return None
    first, *others = values
    count = _rows_of(values[first], place.inside(first))
    for name in others:
        if (length := _rows_of(values[name], place.inside(name))) != count:
            place.inside(name).fail(f"{length} rows were given", f"'{first}' has {count}")
    return count


def _rows_of(value: Any, place: ValuePlace) -> int:
    """Returns the number of rows of a value that is known to be many rows."""
    if isinstance(value, Mapping) and not isinstance(value, Rows):
        name, member = next(iter(value.items()))
        return _rows_of(member, place.inside(name))
    if not has_items(value):
        place.fail("one row was given, but many rows of another value", "all values need the same number")
    return length_of(value)


def _excess(type_: Type, value: Any) -> tuple[int, bool]:
    """Returns how many axes a value has beyond those of one row, and False if empty lists leave this open."""
    rank = len(type_.shape)
    if isinstance(value, Mapping) and type_.name == "struct":
        found = [_excess(member, value[name]) for name, member in type_.members if name in value]
        axes, is_known = next((each for each in found if each[1]), found[0] if found else (0, False))
        return axes - rank, is_known
    if isinstance(value, Mapping) and type_.element is not None:
        axes, is_known = _excess(type_.element, value)
        return axes - rank - 1, is_known
    if isinstance(value, Ragged) and not isinstance(value, Text | Optional) and type_.element is not None:
        axes, is_known = _excess(type_.element, value.content)
        return (axes if is_known else 1) - 1 + len(value.shape) - rank, True
    while type_.element is not None and not type_.is_optional:
        type_ = type_.element
        rank += 1 + len(type_.shape)
    axes, is_known = _depth(value)
    if type_.is_optional and axes - rank == 2:
        axes -= 1  # each value is a list of one value or none
    return axes - rank, is_known


def _depth(value: Any) -> tuple[int, bool]:
    """Returns the number of axes, and False if an empty list may hide more."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.ndim, True
    if isinstance(value, Text):
        return len(value.shape), True
    if isinstance(value, Ragged):
        return len(value.shape) + max(1, _depth(value.content)[0]) - isinstance(value, Optional), True
    if isinstance(value, Mapping) or not has_items(value):
        return 0, True
    inner = next((each for each in value if not is_missing(each) and not (has_items(each) and len(each) == 0)), None)
    if inner is None:
        if len(value) and all(map(is_missing, value)):
            return 1, True
        return (2, False) if len(value) else (1, False)
    axes, is_known = _depth(inner)
    return axes + 1, is_known


def has_items(value: Any) -> bool:
    """Returns whether a value is a list or array."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def items_at(value: Any, shape: tuple[int, ...], place: ValuePlace, what: str) -> list[Any]:
    """Returns the items at all positions of `shape`, in C order."""
    items = [value]
    for axis, size in enumerate(shape):
        for index, item in enumerate(items):
            if isinstance(item, Mapping) or not has_items(item):
                where = index if axis else None
                place.fail(f"{item!r} was given", f"{what} is needed for each of {shape[axis:]}", where)
            if len(item) != size:
                place.fail(f"{len(item)} items were given", f"{size} are needed", index if axis else None)
        items = list(chain.from_iterable(items))
    return items


def one_row(value: Any) -> Any:
    """Returns a value with a leading axis of length 1."""
    if isinstance(value, Mapping):
        return {name: one_row(member) for name, member in value.items()}
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return np.asarray(value)[np.newaxis]
    return [value]


def _dimensions(value: Any) -> str:
    axes = _depth(value)[0]
    return "no dimensions" if axes == 0 else f"{axes} dimension{'s' if axes > 1 else ''}"
