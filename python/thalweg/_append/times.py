"""Converts times to numbers in the declared unit, as they are stored."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from thalweg._append.count import ValuePlace


def numbers_of_times(value: Any, declared: np.dtype[Any], place: ValuePlace) -> Any:
    """Returns times as numbers in the declared unit; numbers stay as they are.

    Raises UsageError if a time does not fit or would lose digits."""
    return _counts(value, declared, place, None)


def _counts(value: Any, declared: np.dtype[Any], place: ValuePlace, index: int | None) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, list | tuple):
        items = [_counts(each, declared, place, i if index is None else index) for i, each in enumerate(value)]
        try:
            return np.asarray(items)
        except ValueError:
            place.fail("lists of different lengths were given", f"{declared} is declared", index)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    array = value if isinstance(value, np.ndarray | np.generic) else _of_python(value, declared)
    if array is None:
        place.fail(f"{value!r:.60} is not a time", f"{declared} is declared", index)
    return _converted(array, declared, place, index) if array.dtype.kind in "mM" else array


def _of_python(value: Any, declared: np.dtype[Any]) -> Any:
    """Returns one time of Python or pandas in the unit that keeps all its digits, or None if it is no time."""
    for convert in ("to_datetime64", "to_timedelta64"):  # pandas has them; its NaT has the first
        if hasattr(value, convert):
            return getattr(value, convert)()
    try:
        if isinstance(value, timedelta):
            return np.timedelta64(value)
        if isinstance(value, datetime) and value.tzinfo is not None:
            return np.datetime64(value.astimezone(UTC).replace(tzinfo=None))
        if isinstance(value, date) or (isinstance(value, str) and declared.kind == "M"):
            return np.datetime64(value)
    except ValueError:
        return None
    return None


def _converted(array: Any, declared: np.dtype[Any], place: ValuePlace, index: int | None) -> Any:
    if np.isnat(array).all():
        return np.full(array.shape, np.iinfo(np.int64).min)
    if not np.can_cast(array.dtype, declared, "same_kind"):
        place.fail(f"values of type {array.dtype} were given", f"{declared} is declared", index)
    held = array.astype(declared)
    changed = np.atleast_1d(~((held.astype(array.dtype) == array) | np.isnat(array)))
    if np.any(changed):
        at = int(np.argwhere(changed)[0][0])
        wrong = np.atleast_1d(array)[changed].flat[0]
        place.fail(f"{wrong} does not fit", f"{declared} is declared", at if index is None else index)
    return held.view(np.int64)
