"""Selections of rows: slices, ranges, row numbers and masks."""

from __future__ import annotations

import operator
import warnings
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import OutOfRangeError, UsageError

Indices = npt.NDArray[np.int64]
Chosen = range | Indices
"""Row numbers from 0 on, in the requested order."""


def chosen_rows(rows: Any, count: int, of: str) -> Chosen:
    """Returns the selected ones of `count` rows; `of` names their owner in messages.

    rows: None (all), a slice, a range, row numbers (negative ones count from the end), or a mask with one bool for each
        row.

    Raises UsageError if it is none of these, or a mask of another length; OutOfRangeError if there is no such row.
    """
    if rows is None:
        return range(count)
    if isinstance(rows, tuple):
        warnings.warn(
            f"rows={rows} as a tuple is deprecated: give slice({', '.join(map(str, rows))})",
            DeprecationWarning,
            stacklevel=3,
        )
        rows = slice(*rows)
    if isinstance(rows, slice):
        try:
            return range(*rows.indices(count)) or range(0)
        except (TypeError, ValueError) as error:
            raise UsageError(f"rows {rows} of {of} cannot be read ({error})") from None
    if isinstance(rows, range):
        return _checked_range(rows, count, of)
    if is_row_number(rows):
        raise UsageError(
            f"rows {rows!r} of {of} cannot be read (a number is one row): give rows=[{rows}], or take table[{rows}]"
        )
    return _of_an_array(rows, count, of)


def row_number(index: Any, count: int, of: str) -> int:
    """Returns the number of a row, from 0 on. Raises OutOfRangeError if there is no such row."""
    number = operator.index(index)
    if not -count <= number < count:
        raise OutOfRangeError(f"there is no row {number} in {of} (it has {count} rows)")
    return number % count


def is_row_number(rows: object) -> bool:
    """Returns whether `rows` is the number of one row."""
    return isinstance(rows, int | np.integer) and not isinstance(rows, bool)


def part_of_chosen(chosen: Chosen, rows: Any, of: str) -> Chosen:
    """Returns a selection from rows that were selected before."""
    inner = chosen_rows(rows, len(chosen), of)
    if not isinstance(inner, range):
        return np.asarray(chosen, np.int64)[inner]
    if isinstance(chosen, range):
        return range(*_ends(chosen, inner)) or range(0)
    return chosen[_slice_of(inner)]


def is_stretch(chosen: Chosen) -> TypeGuard[range]:
    """Returns whether the rows follow each other in the file."""
    return isinstance(chosen, range) and chosen.step == 1


def _ends(chosen: range, inner: range) -> tuple[int, int, int]:
    step = chosen.step * inner.step
    first = chosen.start + inner.start * chosen.step
    return first, first + len(inner) * step, step


def _slice_of(inner: range) -> slice:
    stop = inner.stop if inner.stop >= 0 else None
    return slice(inner.start, stop, inner.step) if len(inner) else slice(0)


def _checked_range(rows: range, count: int, of: str) -> range:
    if not rows:
        return range(0)
    for end in (rows[0], rows[-1]):
        row_number(end, count, of)
    if min(rows[0], rows[-1]) < 0 <= max(rows[0], rows[-1]):
        raise UsageError(f"rows {rows} of {of} cannot be read (some count from the end, others from the beginning)")
    offset = count if rows[0] < 0 else 0
    return range(rows.start + offset, rows.stop + offset, rows.step)


def _of_an_array(rows: Any, count: int, of: str) -> Indices:
    try:
        array = np.asarray(rows)
    except (ValueError, TypeError):
        array = np.asarray(None)
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "biu":
        raise UsageError(f"rows {rows!r} of {of} cannot be read: give a slice, a range, row numbers or a mask of bools")
    if array.dtype.kind == "b":
        if len(array) != count:
            raise UsageError(f"a mask of {len(array)} bools cannot select rows of {of} (it has {count} rows)")
        return np.flatnonzero(array).astype(np.int64)
    if wrong := np.flatnonzero(
        (array < -count) | (array >= count)
    ).tolist():  # checked before the conversion, in which large numbers become negative
        raise OutOfRangeError(f"there is no row {array[wrong[0]]} in {of} (it has {count} rows)")
    numbers = array.astype(np.int64)
    return np.where(numbers < 0, numbers + count, numbers)
