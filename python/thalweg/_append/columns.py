"""Converts given rows (scalars, arrays, lists, dictionaries) to the flat columns of a table.

The columns have the order of the C++ core: depth first, the lengths of a list before its content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from thalweg._append.awkward_columns import flat_columns
from thalweg._append.count import ValuePlace, has_items, one_row, row_count
from thalweg._append.optional import lists_of_optional, numbers_of_times
from thalweg._base.errors import UsageError
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type
from thalweg._values.from_others import plain
from thalweg._values.ragged import Ragged, length_of

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def columns_of(table: TableSchema, rows: Any, fields: Mapping[str, Any]) -> tuple[int, list[Array]]:
    """Returns the number of rows and one contiguous array for each column.

    Raises UsageError if a value does not fit, and names table, column and row."""
    place = ValuePlace(table.name)
    row = Type("struct", members=table.fields)
    if flat := flat_columns(row, fields if rows is None else rows if not fields else None):
        return flat
    given = _plain(rows, place) if rows is not None else {}
    if not isinstance(given, Mapping):
        place.fail(
            f"rows cannot be {type(rows).__name__}",
            "give fields by name, or a dictionary, Awkward array or Arrow table",
        )
    values = _member_values(row, _nested({**given, **fields}), place)
    count = row_count(row, values, place)
    if count is None:
        count, values = 1, one_row(values)
    return count, list(_struct(row, values, (count,), place))


def stored_columns(table: TableSchema, columns: Sequence[Array]) -> list[Array]:
    """Returns flat columns as the file has them: complex numbers may be split into two columns."""
    if not any(type_.has_split for _, type_ in table.fields):
        return list(columns)
    return [part for column in columns for part in (_split_complex(column) if column.dtype.kind == "c" else [column])]


def _nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Turns names like "waveform/values" into nested dictionaries."""
    if not any("/" in name for name in fields):
        return dict(fields)
    nested: dict[str, Any] = {}
    for name, value in fields.items():
        *outer, last = name.split("/")
        into = nested
        for part in outer:
            into = into.setdefault(part, {})
        into[last] = value
    return nested


def _member_values(struct: Type, value: Mapping[str, Any], place: ValuePlace) -> dict[str, Any]:
    """Returns the values of the members of a struct, in their order. Raises UsageError if one is missing or unknown."""
    names = [name for name, _ in struct.members]
    if unknown := [name for name in value if name not in names]:  # checked first, since a misspelt name is missing, too
        place.fail(f"there is no field '{unknown[0]}'", f"its fields are {', '.join(names)}")
    if missing := [name for name in names if name not in value]:
        place.fail(f"no value for '{missing[0]}'", f"its fields are {', '.join(names)}")
    return {name: _given(member, value[name], place.inside(name)) for name, member in struct.members}


def _given(type_: Type, value: Any, place: ValuePlace) -> Any:
    return _plain(lists_of_optional(value) if type_.is_optional and not type_.shape else value, place)


def _plain(value: Any, place: ValuePlace) -> Any:
    try:
        return plain(value)
    except UsageError as error:
        place.fail(str(error))


# In the functions below, every value has the leading axes `shape`: the rows or elements, and outer fixed sizes.


def _columns(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> Sequence[Array]:
    shape += type_.shape
    value = plain(value)
    if type_.name == "struct":
        return _struct(type_, value, shape, place)
    if type_.name == "list":
        return _lists(type_, value, shape, place)
    if type_.name == "string":
        return _texts(value, shape, place)
    values = _values(type_, value, shape, place)
    return _split_complex(values) if type_.is_split else [values]


def _split_complex(values: Array) -> list[Array]:
    return [np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)]


def _struct(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> list[Array]:
    if not isinstance(value, Mapping):
        items = _items(value, shape, place, "a struct")
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
    lengths, content = _split(value, shape, place)
    if type_.is_optional and (wrong := np.flatnonzero(lengths.ravel() > 1)).size:
        place.fail(f"{lengths.ravel()[wrong[0]]} values were given", "one or none is declared", int(wrong[0]))
    inner = _columns(type_.element, content, (int(lengths.sum()),), place.elements())
    return [np.ascontiguousarray(lengths, np.uint64), *inner]


def _lists_of_members(element: Type, value: Mapping[str, Any], shape: Shape, place: ValuePlace) -> list[Array]:
    """Converts lists of structs that are given as a dictionary of lists."""
    values = _member_values(element, value, place)
    split = {name: _split(plain(member), shape, place.inside(name)) for name, member in values.items()}
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
    lists = [plain(item) for item in _items(value, shape, place, "a list")]
    for index, item in enumerate(lists):
        if not has_items(item):
            place.fail(f"{item!r} is not a list", index=index)
    return np.array([length_of(item) for item in lists], np.uint64), _joined(lists)


def _items(value: Any, shape: Shape, place: ValuePlace, what: str) -> list[Any]:
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


def _joined(lists: list[Any]) -> Any:
    """Returns all elements of all lists."""
    lists = [item for item in lists if length_of(item)]
    are_arrays = all(isinstance(item, np.ndarray) and item.dtype != object for item in lists)
    if lists and are_arrays and len({item.shape[1:] for item in lists}) == 1:
        return np.concatenate(lists)
    if lists and all(isinstance(item, Mapping) for item in lists):
        return {name: _joined([plain(item[name]) for item in lists]) for name in lists[0]}
    return list(chain.from_iterable(lists))


def _texts(value: Any, shape: Shape, place: ValuePlace) -> list[Array]:
    if isinstance(value, Ragged):
        lengths, content = _split(value, shape, place)
        return [np.ascontiguousarray(lengths, np.uint64), np.ascontiguousarray(content, np.uint8)]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    encoded = []
    for index, text in enumerate(_items(value, shape, place, "a string")):
        if not isinstance(text, str):
            place.fail(f"{text!r} is not a string", index=index)
        try:
            encoded.append(text.encode())
        except UnicodeEncodeError as error:
            place.fail(f"{text!r} is not valid text", str(error), index)
    lengths = np.fromiter(map(len, encoded), np.uint64, len(encoded))
    return [lengths, np.frombuffer(b"".join(encoded), np.uint8)]


def _values(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> Array:
    dtype = type_.dtype
    if type_.time_dtype is not None:
        value = numbers_of_times(value, type_.time_dtype, place)
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        array = _cast(np.asarray(value), dtype, place)
    else:
        array = _of_list(value, dtype, shape, place)
    if array.shape != shape and not (array.size == 0 and 0 in shape):
        _fail_shape(array, shape, place)
    return np.ascontiguousarray(array, dtype)


def _cast(array: Array, dtype: np.dtype[Any], place: ValuePlace) -> Array:
    """Returns an array in the declared type. Raises UsageError if values would change.

    Integers may be converted if the values fit. Floats are never converted to a smaller type or to integers, even if
    these values would fit, since the next values would not.
    """
    if np.can_cast(array.dtype, dtype, "safe"):
        return array
    if array.dtype.kind == "O":
        for index, each in enumerate(array.flat if array.ndim == 1 else ()):
            if isinstance(each, str | bytes) or not isinstance(each, int | float | complex | np.generic):
                place.fail(f"{each!r:.60} is not a number", f"{dtype} is declared", index)
    if array.dtype.kind not in "iu" or dtype.kind not in "iuf":
        why = f"{dtype} is declared, and cannot hold every {array.dtype}; convert them with .astype if you want this"
        place.fail(f"values of type {array.dtype} were given", why)
    with np.errstate(all="ignore"):
        held = array.astype(dtype)
        # The second comparison is needed, since a negative integer survives a round trip through an unsigned type.
        changed = np.atleast_1d((held.astype(array.dtype) != array) | ((held < 0) != (array < 0)))
    if np.any(changed):
        index = int(np.argwhere(changed)[0][0])
        value = np.atleast_1d(array)[changed].flat[0]
        place.fail(f"{value} does not fit", f"{dtype} is declared", index if array.ndim else None)
    return held


def _of_list(value: Any, dtype: np.dtype[Any], shape: Shape, place: ValuePlace) -> Array:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        _fail_items(value, shape, place)
    inner = value
    while isinstance(inner, list | tuple) and inner:
        inner = inner[0]
    if isinstance(inner, np.ndarray):
        return _cast(array, dtype, place)
    if dtype.kind in "iu" and array.dtype.kind in "fO":
        numbers = np.asarray(value, object)  # NumPy converts large integers to float or object
        if all(isinstance(number, int) for number in numbers.flat):
            return _numbers(numbers, dtype, place)
    if array.dtype == object:
        _fail_items(value, shape, place)
    return _numbers(array, dtype, place)


# Python's own numbers have no fixed size, so only their values must fit.
_GENERALITY = {"b": 0, "i": 1, "u": 1, "O": 1, "f": 2, "c": 3}


def _numbers(array: Array, dtype: np.dtype[Any], place: ValuePlace) -> Array:
    if array.size == 0:
        return array
    if _GENERALITY.get(array.dtype.kind, 4) > _GENERALITY[dtype.kind]:
        place.fail(f"values such as {array.flat[0]!r} were given", f"{dtype} is declared")
    if dtype.kind in "iu":
        wrong = (array < np.iinfo(dtype).min) | (array > np.iinfo(dtype).max)
        held = array
    else:
        with np.errstate(over="ignore"):
            held = array.astype(dtype)
        wrong = np.isfinite(array) & ~np.isfinite(held)
    if np.any(wrong):
        index = int(np.argwhere(wrong)[0][0])
        place.fail(f"{array[wrong].flat[0]} does not fit", f"{dtype} is declared", index)
    return held


def _fail_shape(array: Array, shape: Shape, place: ValuePlace) -> NoReturn:
    if array.ndim == len(shape) and array.shape[1:] == shape[1:]:
        place.fail(f"{array.shape[0]} {place.item}s were given", f"{shape[0]} are needed")
    place.fail(f"{place.item}s of shape {array.shape[1:]} were given", f"shape {shape[1:]} is declared")


def _fail_items(value: Any, shape: Shape, place: ValuePlace) -> NoReturn:
    """Raises UsageError for the first item of a list that does not fit."""
    for index, item in enumerate(value if has_items(value) else [value]):
        try:
            found = np.asarray(item)
        except (ValueError, TypeError):
            place.fail("lists of different lengths were given", f"shape {shape[1:]} is declared", index)
        if found.dtype == object:
            place.fail(f"{item!r} is not a number", index=index)
        if found.shape != shape[1:]:
            place.fail(f"shape {found.shape} was given", f"shape {shape[1:]} is declared", index)
    place.fail("the values do not form an array", f"shape {shape[1:]} is declared")
