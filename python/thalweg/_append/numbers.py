"""Converts numbers, and fixed-size arrays of numbers, to arrays of the declared type, and refuses what would change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from thalweg._append.count import ValuePlace, has_items
from thalweg._append.times import numbers_of_times
from thalweg._schema.types import Type
from thalweg._values.ragged import Optional, Ragged, Text, in_shape

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

_PYTHONS = frozenset((int, float, bool, complex))


def number_values(type_: Type, value: Any, shape: Shape, place: ValuePlace) -> Array:
    """Returns the numbers at all positions of `shape`. Raises UsageError if one does not fit the declared type."""
    dtype = type_.dtype
    if isinstance(value, Text):
        place.fail("strings were given", f"{dtype} is declared")
    if isinstance(value, Mapping):
        place.fail("a struct was given", f"{dtype} is declared")
    if isinstance(value, Ragged):
        value = _regular(value, shape, place)
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, list | tuple):
        value = _items_as_lists(value)
    if type_.time_dtype is not None:
        value = numbers_of_times(value, type_.time_dtype, place)
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        array = _cast(np.asarray(value), dtype, place)
    else:
        array = _of_list(value, dtype, shape, place)
    if array.shape != shape and not (array.size == 0 and 0 in shape):
        _fail_shape(array, shape, place)
    return np.ascontiguousarray(array, dtype)


def _regular(value: Ragged, shape: Shape, place: ValuePlace) -> Any:
    """Returns lists that all have the declared length as one array."""
    value = value.packed()
    rank = len(value.shape)
    content = value.content
    if isinstance(content, Mapping | Text | Optional):
        place.fail("lists of other values were given", "numbers are declared")
    if rank >= len(shape):
        place.fail("lists were given", "numbers are declared")
    wanted = shape[rank]
    if (wrong := np.flatnonzero(value.lengths.reshape(-1) != wanted)).size:
        index = int(wrong[0]) // max(1, int(np.prod(value.shape[1:])))
        place.fail("a list of another length was given", f"shape {shape[1:]} is declared", index)
    if isinstance(content, Ragged):
        content = _regular(Ragged(content.offsets, content.content), (-1, *shape[rank + 1 :]), place)
    return in_shape(content, (*value.shape, wanted))


def _items_as_lists(value: Any) -> Any:
    """Returns nested lists in which each `Ragged` is a list."""
    if _PYTHONS.issuperset(map(type, value)):
        return value
    return [_items_as_lists(each) if isinstance(each, list | tuple | Ragged) else each for each in value]


def _cast(array: Array, dtype: np.dtype[Any], place: ValuePlace) -> Array:
    """Returns an array in the declared type. Raises UsageError if values would change.

    Integers may be converted if the values fit. Floats are never converted to a smaller type or to integers, even if
    these values would fit, since the next values would not.
    """
    if np.can_cast(array.dtype, dtype, "safe"):
        return array
    if array.size == 0:  # there is no value that could change
        return np.empty(array.shape, dtype)
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
    if array.dtype == object and dtype.kind in "fc":
        array = _large_numbers(array, dtype)
    if array.dtype.kind not in "biufc":
        _fail_items(value, shape, place)
    return _numbers(array, dtype, place)


def _large_numbers(array: Array, dtype: np.dtype[Any]) -> Array:
    """Returns Python's numbers of which some are too large for NumPy's integers; other values stay as they are."""
    if not all(isinstance(number, int | float | complex) for number in array.flat):
        return array
    try:
        return array.astype(np.complex128 if dtype.kind == "c" else np.float64)
    except (OverflowError, TypeError):
        return array


# Python's own numbers have no fixed size, so only their values must fit.
_GENERALITY = {"b": 0, "i": 1, "u": 1, "O": 1, "f": 2, "c": 3}


def _numbers(array: Array, dtype: np.dtype[Any], place: ValuePlace) -> Array:
    if array.size == 0:
        return array
    if _GENERALITY[array.dtype.kind] > _GENERALITY[dtype.kind]:
        place.fail(f"values such as {array.flat[0]!r} were given", f"{dtype} is declared")
    if array.dtype.kind == "b":
        return array.astype(dtype)
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
        if found.dtype.kind not in "biufc":
            place.fail(f"{item!r} is not a number", index=index)
        if found.shape != shape[1:]:
            place.fail(f"shape {found.shape} was given", f"shape {shape[1:]} is declared", index)
    place.fail("the values do not form an array", f"shape {shape[1:]} is declared")
