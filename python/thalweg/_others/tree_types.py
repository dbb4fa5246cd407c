"""Converts the forms and values that uproot reads from branches of TTrees to our types and values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thalweg._schema.types import Type, as_type
from thalweg._values.from_others import plain
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows

_NOT_IN_NAMES = str.maketrans(dict.fromkeys("./*{},", "_"))


class NoTypeError(Exception):
    """Raised if no type can hold the values; the text says why."""


def field_name_of(text: str) -> str:
    """Returns the name of a branch in a form that all containers accept: without dots, like ROOT's own converter."""
    return text.rstrip(".").translate(_NOT_IN_NAMES) or "_"


def type_of_form(form: Any) -> Type:
    """Returns the type of an Awkward form. Raises NoTypeError."""
    if form.is_numpy:
        return _shaped(_scalar(form.primitive), tuple(form.inner_shape))
    if form.is_regular and form.parameter("__array__") is None:
        return _shaped(type_of_form(form.content), (form.size,))
    if form.is_list and form.parameter("__array__") == "string":
        return Type("string")
    if form.is_list and form.parameter("__array__") is None:
        return Type("list", element=type_of_form(form.content))
    if form.is_record:
        return _struct(form)
    raise NoTypeError(f"there is no type for values that uproot calls {form.type}")


def _scalar(primitive: str) -> Type:
    try:
        return as_type(np.dtype(primitive))
    except Exception as error:
        raise NoTypeError(f"there is no type for {primitive}") from error


def _shaped(type_: Type, shape: tuple[int, ...]) -> Type:
    if math.prod(shape) == 0:
        raise NoTypeError("its arrays are empty")
    return Type(type_.name, (*shape, *type_.shape), element=type_.element, members=type_.members)


def _struct(form: Any) -> Type:
    if form.is_tuple:
        raise NoTypeError("its members have no names")
    members = {field_name_of(field): type_of_form(form.content(field)) for field in form.fields}
    if len(members) < len(form.fields):
        raise NoTypeError("two of its members have the same name")
    if not members:
        raise NoTypeError("it has no members")
    return Type("struct", members=tuple(members.items()))


def values_of_array(type_: Type, array: Any) -> Any:
    """Returns the values of an Awkward array. `type_` is the type of its form, or has fewer members."""
    return _values(type_, plain(array), len(array))


def _values(type_: Type, value: Any, count: int) -> Any:
    if type_.name == "struct":
        members = {field_name_of(field): member for field, member in value.items()}
        return Rows(type_, {name: _values(member, members[name], count) for name, member in type_.members}, count)
    if type_.element is not None and isinstance(value, Ragged):
        content = _values(type_.element, value.content, int(value.offsets[-1]))
        return Ragged(value.offsets, content, value.shape)
    if isinstance(value, Text):
        return value
    return np.ascontiguousarray(value, type_.dtype)


def strings_in(offsets: Any, content: Any) -> Text:
    """Returns the strings of entries that begin with their length: one byte, or 255 and four bytes. Entries may be
    empty."""
    begins, ends = offsets[:-1], offsets[1:]
    sizes = np.append(content, np.uint8(0))  # one more byte, since the last entry may be empty
    heads = np.where(ends == begins, 0, np.where(sizes[begins] == 255, 5, 1))
    told = np.where(heads == 1, sizes[begins], 0).astype(np.int64)
    for entry in np.flatnonzero(heads == 5):
        told[entry] = int.from_bytes(sizes[begins[entry] + 1 : begins[entry] + 5].tobytes(), "big")
    if not np.array_equal(told, ends - begins - heads):
        raise ValueError("an entry holds several strings")
    inside = np.zeros(len(content) + 1, np.int64)
    np.add.at(inside, begins + heads, 1)
    np.add.at(inside, ends, -1)
    return Text.from_lengths(ends - begins - heads, content[np.cumsum(inside[:-1]) > 0])
