"""Converts given rows (scalars, arrays, lists, dictionaries) to the flat columns of a table.

The columns have the order of the C++ core: depth first, the lengths of a list before its content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._append.awkward_columns import flat_columns
from thalweg._append.count import ValuePlace, has_items, items_at, one_row, row_count
from thalweg._append.names import nested_fields
from thalweg._append.numbers import number_values
from thalweg._append.optional import lists_of_optional, present_values
from thalweg._append.plain_values import plain_rows, plain_value
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type
from thalweg._values.ragged import Optional, Ragged, Text

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def columns_of(table: TableSchema, rows: Any, fields: Mapping[str, Any]) -> tuple[int, list[Array]]:
    """Returns the number of rows and one contiguous array for each column.

    Raises UsageError if a value does not fit, and names table, column and row."""
    place = ValuePlace(table.name)
    row = Type("struct", members=table.fields)
    if flat := flat_columns(row, fields if rows is None else rows if not fields else None):
        return flat
    given = plain_rows(rows, place) if rows is not None else {}
    if isinstance(given, Optional):
        present_values(given, given.shape, place)  # names the row that is missing
    if not isinstance(given, Mapping):
        place.fail(
            f"rows cannot be {type(rows).__name__}",
            "give fields by name, or a dictionary, Awkward array or Arrow table",
        )
    by_name = _member_values(row, nested_fields([given, fields], place), place)
    values = {name: plain_value(value, place.inside(name)) for name, value in by_name.items()}
    count = row_count(row, values, place)
    if count is None:
        count, values = 1, one_row(values)
    return count, list(_struct(row, values, (count,), place))


def stored_columns(table: TableSchema, columns: Sequence[Array]) -> list[Array]:
    """Returns flat columns as the file has them: complex numbers may be split into two columns."""
    if not any(type_.has_split for _, type_ in table.fields):
        return list(columns)
    return [part for column in columns for part in (_split_complex(column) if column.dtype.kind == "c" else [column])]


def _member_values(struct: Type, value: Mapping[str, Any], place: ValuePlace) -> dict[str, Any]:
    """Returns the values of the members of a struct, in their order. Raises UsageError if one is missing or unknown."""
    names = [name for name, _ in struct.members]
    if unknown := [name for name in value if name not in names]:  # checked first, since a misspelt name is missing, too
        place.fail(f"there is no field '{unknown[0]}'", f"its fields are {', '.join(names)}")
    if missing := [name for name in names if name not in value]:
        place.fail(f"no value for '{missing[0]}'", f"its fields are {', '.join(names)}")
    return {name: value[name] for name in names}


# In the functions below, values are plain, and have the leading axes `shape`: the rows or elements, and outer fixed
# sizes.


def _columns(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> Sequence[Array]:
    shape += type_.shape
    if type_.is_optional:
        value = lists_of_optional(value, shape, place)
    elif isinstance(value, Optional):
        value = present_values(value, shape, place, in_lists=type_.name == "list")
    if type_.name == "struct":
        return _struct(type_, value, shape, place)
    if type_.name == "list":
        return _lists(type_, value, shape, place)
    if type_.name == "string":
        return _texts(value, shape, place)
    values = number_values(type_, value, shape, place)
    return _split_complex(values) if type_.is_split else [values]


def _split_complex(values: Array) -> list[Array]:
    return [np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)]


def _struct(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> list[Array]:
    if not isinstance(value, Mapping):
        items = items_at(value, shape, place, "a struct")
        for index, item in enumerate(items):
            if not isinstance(item, Mapping):
                place.fail(f"{item!r} is not a struct", "give a dictionary", index)
            _member_values(type_, item, place)
        shape = (len(items),)
        value = {name: [item[name] for item in items] for name, _ in type_.members}
    members = _member_values(type_, value, place)
    found = (_columns(member, members[name], shape, place.inside(name)) for name, member in type_.members)
    return list(chain.from_iterable(found))


def _lists(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> list[Array]:
    assert type_.element is not None
    if isinstance(value, Mapping):
        return _lists_of_members(type_.element, value, shape, place)
    if isinstance(value, Text):
        place.fail("strings were given", "lists are declared")
    lengths, content = _split(value, shape, place)
    if type_.is_optional and (wrong := np.flatnonzero(lengths.ravel() > 1)).size:
        place.fail(f"{lengths.ravel()[wrong[0]]} values were given", "one or none is declared", int(wrong[0]))
    inside = place.of_present(lengths) if type_.is_optional else place.elements()
    inner = _columns(type_.element, content, (int(lengths.sum()),), inside)
    return [np.ascontiguousarray(lengths, np.uint64), *inner]


def _lists_of_members(element: Type, value: Mapping[str, Any], shape: Shape, place: ValuePlace) -> list[Array]:
    """Converts lists of structs that are given as a dictionary of lists."""
    values = _member_values(element, value, place)
    split = {name: _split(member, shape, place.inside(name)) for name, member in values.items()}
    (first, (lengths, _)), *others = split.items()
    for name, (other, _) in others:
        if (differ := np.flatnonzero(other.ravel() != lengths.ravel())).size:
            place.inside(name).fail(f"its list has another length than that of '{first}'", index=int(differ[0]))
    content = {name: content for name, (_, content) in split.items()}
    inner = _columns(element, content, (int(lengths.sum()),), place.elements())
    return [np.ascontiguousarray(lengths, np.uint64), *inner]


def _split(value: Any, shape: Shape, place: ValuePlace) -> tuple[Array, Any]:
    """Returns the lengths of lists and all their elements."""
    if isinstance(value, Ragged):
        if value.shape != shape:
            place.fail(f"lists of shape {value.shape[1:]} were given", f"{shape[1:]} is declared")
        value = value.packed()
        return value.lengths, value.content
    if isinstance(value, np.ndarray) and value.dtype != object:
        if value.ndim <= len(shape) or value.shape[: len(shape)] != shape:
            place.fail(f"an array of shape {value.shape} was given", f"lists are needed for each of {shape}")
        lengths = np.full(shape, value.shape[len(shape)], np.uint64)
        return lengths, value.reshape(-1, *value.shape[len(shape) + 1 :])
    lists = items_at(value, shape, place, "a list")
    sizes = [_length(item, place, index) for index, item in enumerate(lists)]
    if any(isinstance(item, Mapping) for item in lists):
        lists = [_dictionaries(item) if isinstance(item, Mapping) else item for item in lists]
    return np.array(sizes, np.uint64).reshape(shape), _joined(lists)


def _length(item: Any, place: ValuePlace, index: int) -> int:
    """Returns the length of a list, which may be given as a dictionary of lists. Raises UsageError if it is none."""
    if isinstance(item, Mapping) and item:
        (first, length), *others = [(name, _length(member, place, index)) for name, member in item.items()]
        for name, other in others:
            if other != length:
                place.inside(str(name)).fail(f"its list has another length than that of '{first}'", index=index)
        return length
    if isinstance(item, Mapping) or not has_items(item):
        place.fail(f"{item!r} is not a list", index=index)
    return len(item)


def _dictionaries(lists: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a dictionary of lists as a list of dictionaries."""
    members = (_dictionaries(value) if isinstance(value, Mapping) else value for value in lists.values())
    return [dict(zip(lists, values, strict=True)) for values in zip(*members, strict=True)]


def _joined(lists: list[Any]) -> Any:
    """Returns all elements of all lists."""
    lists = [item for item in lists if len(item)]
    are_arrays = all(isinstance(item, np.ndarray) and item.dtype != object for item in lists)
    if lists and are_arrays and len({(item.shape[1:], item.dtype) for item in lists}) == 1:
        return np.concatenate(lists)
    return list(chain.from_iterable(lists))


def _texts(value: Any, shape: Shape, place: ValuePlace) -> list[Array]:
    if isinstance(value, Ragged):
        if not isinstance(value, Text):
            place.fail("lists were given", "strings are declared")
        lengths, content = _split(value, shape, place)
        return [np.ascontiguousarray(lengths, np.uint64), np.ascontiguousarray(content, np.uint8)]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    encoded = []
    for index, text in enumerate(items_at(value, shape, place, "a string")):
        if not isinstance(text, str):
            place.fail(f"{text!r} is not a string", index=index)
        try:
            encoded.append(text.encode())
        except UnicodeEncodeError as error:
            place.fail(f"{text!r} is not valid text", str(error), index)
    lengths = np.fromiter(map(len, encoded), np.uint64, len(encoded))
    return [lengths, np.frombuffer(b"".join(encoded), np.uint8)]
