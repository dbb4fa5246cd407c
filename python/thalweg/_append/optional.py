"""Converts optional values to lists of one element or none, and times to numbers, as they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._append.count import ValuePlace
from thalweg._values.from_others import plain
from thalweg._values.ragged import Ragged, Text


def lists_of_optional(value: Any) -> Any:
    """Returns optional values, one or many, as lists of one element or none. Lists stay as they are."""
    if value is None:
        return []
    if isinstance(value, str | bytes | int | float | np.generic):
        return [value]
    if isinstance(value, Text):
        return Ragged(np.arange(len(value) + 1), value)
    if isinstance(value, Ragged):
        return value
    if isinstance(value, np.ma.MaskedArray):
        return _lists(~np.ma.getmaskarray(value), value.compressed())
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return _of_objects(value)
    library = type(value).__module__.partition(".")[0]
    if library == "awkward":
        return _of_awkward(value)
    if library == "pyarrow":
        return _lists(np.asarray(value.is_valid()), plain(value.drop_null()))
    if library == "pandas" and not (isinstance(value.dtype, np.dtype) and value.dtype.kind != "O"):
        return _lists(~np.asarray(value.isna()), value.dropna().tolist())  # in NumPy's dtypes, NaN is a value
    array = plain(value)
    return _lists(np.ones(len(array), bool), array) if getattr(array, "ndim", 0) == 1 else array


def _lists(is_there: npt.NDArray[Any], content: Any) -> Ragged:
    return Ragged.from_lengths(is_there.astype(np.uint64), content)


def _of_objects(values: Any) -> Any:
    if any(isinstance(each, list | tuple | np.ndarray | Ragged) for each in values):
        return values  # the values are lists already
    is_there = np.array([each is not None for each in values], bool)
    return _lists(is_there, [each for each in values if each is not None])


def _of_awkward(value: Any) -> Any:
    import awkward as ak

    if value.layout.is_list and value.layout.parameter("__array__") != "string":
        return value
    is_there = ~np.asarray(ak.is_none(value))
    return _lists(is_there, plain(value[is_there]) if is_there.all() else plain(ak.drop_none(value)))


def numbers_of_times(value: Any, declared: np.dtype[Any], place: ValuePlace) -> Any:
    """Returns times as numbers in the declared unit; numbers stay as they are.

    Raises UsageError if a time does not fit or would lose digits."""
    array = value if isinstance(value, np.ndarray | np.generic) else _of_list(value, declared, place)
    if array.dtype == object:
        array = _of_list(array.tolist(), declared, place)
    if array.dtype.kind not in "mM":
        return array
    if array.dtype.kind != declared.kind:
        place.fail(f"values of type {array.dtype} were given", f"{declared} is declared")
    held = array.astype(declared)
    changed = np.atleast_1d(~((held.astype(array.dtype) == array) | np.isnat(array)))
    if np.any(changed):
        index = int(np.argwhere(changed)[0][0])
        place.fail(f"{np.atleast_1d(array)[changed].flat[0]} does not fit", f"{declared} is declared", index)
    return held.view(np.int64)


def _of_list(value: Any, declared: np.dtype[Any], place: ValuePlace) -> Any:
    array = np.asarray(value)
    if array.dtype.kind in "mMiu" or array.size == 0:
        return array
    try:
        return np.asarray(value, declared)
    except (TypeError, ValueError):
        place.fail(f"{value!r:.60} is not a time", f"{declared} is declared")
