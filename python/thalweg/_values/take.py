"""Takes and concatenates items of values that were read: arrays, lists and structs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._values.ragged import Ragged
from thalweg._values.select import Indices


def taken_of(content: Any, indices: Indices) -> Any:
    """Returns copies of the items with these numbers, in this order."""
    if isinstance(content, Ragged):
        return _taken_lists(content, indices)
    if hasattr(content, "taken"):
        return content.taken(indices)
    if isinstance(content, Mapping):
        return {name: taken_of(member, indices) for name, member in content.items()}
    return content[indices]


def joined(contents: Sequence[Any]) -> Any:
    """Returns the concatenation of one or more values of the same type."""
    first = contents[0]
    if len(contents) == 1:
        return first
    if isinstance(first, Ragged):
        return _joined_lists(contents)
    if hasattr(first, "joined_with"):
        return first.joined_with(contents[1:])
    if isinstance(first, Mapping):
        return {name: joined([content[name] for content in contents]) for name in first}
    return np.concatenate(contents)


def _taken_lists(lists: Ragged, indices: Indices) -> Ragged:
    inner = int(np.prod(lists.shape[1:], dtype=np.int64))
    numbers = (indices[:, np.newaxis] * inner + np.arange(inner)).reshape(-1)
    starts = lists.offsets[:-1][numbers]
    lengths = lists.offsets[1:][numbers] - starts
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    elements = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return type(lists)(offsets, taken_of(lists.content, elements), (len(indices), *lists.shape[1:]))


def _joined_lists(contents: Sequence[Ragged]) -> Ragged:
    packed = [each.packed() for each in contents]
    shape = (sum(len(each) for each in packed), *packed[0].shape[1:])
    lengths = np.concatenate([np.diff(each.offsets) for each in packed])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return type(packed[0])(offsets, joined([each.content for each in packed]), shape)
