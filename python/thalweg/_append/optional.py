"""Converts optional values to lists of one value or none, and refuses missing values in all other columns."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from thalweg._append.count import ValuePlace, has_items, items_at
from thalweg._values.ragged import Optional, Ragged, Text, in_shape


def lists_of_optional(value: Any, shape: tuple[int, ...], place: ValuePlace) -> Any:
    """Returns optional values, one for each position of `shape`, as lists of one value or none. Lists stay as they are.

    NaN and NaT are values."""
    if isinstance(value, Text):
        return Optional.from_mask(np.ones(value.shape, bool), Text(value.offsets, value.content))
    if isinstance(value, Ragged):
        return value
    if isinstance(value, Mapping):
        place.fail("a struct was given", "an optional value is declared")
    if isinstance(value, np.ndarray) and value.dtype != object:
        return Optional.from_mask(np.ones(shape, bool), value.reshape(-1)) if value.shape == shape else value
    items = items_at(value, shape, place, "a value")
    if not any(map(has_items, items)):
        is_there = np.array([item is not None for item in items], bool)
        return Optional.from_mask(is_there.reshape(shape), [item for item in items if item is not None])
    lists = [item if has_items(item) else [] if item is None else [item] for item in items]
    return Ragged.from_lengths(np.reshape([len(each) for each in lists], shape), list(chain.from_iterable(lists)))


def present_values(value: Optional, shape: tuple[int, ...], place: ValuePlace, in_lists: bool = False) -> Any:
    """Returns values of which none is missing. Raises UsageError if one is, and names its row.

    in_lists: further axes of the values are lists, whose elements may be missing."""
    if in_lists and len(value.shape) > len(shape):
        length, *inner = value.shape[len(shape) :]
        outer = value.shape[: len(shape)]
        elements = Optional(value.offsets, value.content, (int(np.prod(outer)) * length, *inner))
        return Ragged.from_lengths(np.full(outer, length), elements)
    missing = np.flatnonzero(value.lengths.reshape(-1) == 0)
    if missing.size:
        why = "it is null, None or masked: fill it, leave its row out, or declare tw.optional"
        place.fail("the value is missing", why, int(missing[0]) // max(1, int(np.prod(value.shape[1:]))))
    return in_shape(value.content, value.shape)
