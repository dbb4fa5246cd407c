"""The door of an append: arrays of other libraries become plain values, at every depth, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thalweg._append.count import ValuePlace, has_items
from thalweg._base.errors import UsageError
from thalweg._values.from_others import plain
from thalweg._values.ragged import Ragged

_SINGLE = frozenset((int, float, bool, complex, str, bytes, type(None)))


class _OtherValueError(Exception):
    """Raised for a value that its library cannot convert."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.names: list[str] = []
        """The members that lead to the value, innermost first."""


def plain_value(value: Any, place: ValuePlace) -> Any:
    """Returns a value that consists of NumPy arrays, `Ragged`, mappings, lists and single values only.

    Raises UsageError if a library cannot convert its values."""
    try:
        return _converted(value)
    except _OtherValueError as error:
        for name in reversed(error.names):
            place = place.inside(name)
        place.fail(str(error))


def plain_rows(rows: Any, place: ValuePlace) -> Any:
    """Returns rows as a mapping of columns if their library has one; the columns stay as they are. Raises as above."""
    try:
        return plain(rows)
    except UsageError as error:
        place.fail(str(error))


def _converted(value: Any) -> Any:
    if type(value) is list:  # most values that hold others
        return value if _SINGLE.issuperset(map(type, value)) else [_converted(item) for item in value]
    try:
        value = plain(value)
    except UsageError as error:
        raise _OtherValueError(str(error)) from None
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return value
    if isinstance(value, Mapping):
        return value if _SINGLE.issuperset(map(type, value.values())) else _members(value)
    if isinstance(value, Ragged):
        content = _converted(value.content)
        return value if content is value.content else type(value)(value.offsets, content, value.shape)
    if isinstance(value, np.ndarray):
        items = value.tolist()
        converted = _converted(items)
        return value if converted is items else converted
    if not has_items(value) or _SINGLE.issuperset(map(type, value)):
        return value
    return [_converted(item) for item in value]


def _members(value: Mapping[str, Any]) -> dict[str, Any]:
    members = {}
    for name, member in value.items():
        try:
            members[name] = _converted(member)
        except _OtherValueError as error:
            error.names.append(str(name))
            raise
    return members
