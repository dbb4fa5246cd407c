"""Converts rows to Awkward arrays in the same memory. C++ types of other writers are shown as uproot shows them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg._base.packages import needed
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged, Text, length_of
from thalweg._values.struct import Struct

if TYPE_CHECKING:
    import awkward as ak

_BASE_CLASS = re.compile(r":_[0-9]+")
_OPTIONAL = ("std::optional<", "std::unique_ptr<")
_MEMBER_OF_TUPLE = re.compile(r"_[0-9]+")


def awkward_of(rows: Struct) -> ak.Array:
    with needed("rows cannot become an Awkward array"):
        import awkward as ak

    return ak.Array(_record(rows.type, rows, rows.row_count))


def _content(type_: Type, value: Any, count: int) -> Any:
    """Returns the layout of a value with `count` items: rows, elements of lists, or items of fixed-size arrays."""
    import awkward as ak

    inner = count * math.prod(type_.shape)
    if isinstance(value, Struct):
        content = _record(type_, value, inner)
    elif isinstance(value, Ragged):
        content = _list(type_, value)
    else:
        content = ak.contents.NumpyArray(value.reshape(inner))
    for axis, size in reversed(list(enumerate(type_.shape))):
        outer = count * math.prod(type_.shape[:axis])  # awkward cannot derive it if the size is 0
        content = ak.contents.RegularArray(content, size, outer)
    return content


def _list(type_: Type, value: Ragged) -> Any:
    import awkward as ak

    offsets = ak.index.Index64(value.offsets)
    if isinstance(value, Text):
        characters = ak.contents.NumpyArray(np.ascontiguousarray(value.content), parameters={"__array__": "char"})
        return ak.contents.ListOffsetArray(offsets, characters, parameters={"__array__": "string"})
    assert type_.element is not None
    content = _content(type_.element, value.content, length_of(value.content))
    if not type_.type_name.startswith(_OPTIONAL):
        return ak.contents.ListOffsetArray(offsets, content)
    index = np.where(np.diff(value.offsets) > 0, value.offsets[:-1], -1)
    return ak.contents.IndexedOptionArray(ak.index.Index64(index), content)


def _record(type_: Type, rows: Struct, count: int) -> Any:
    import awkward as ak

    if type_.type_name.startswith("std::variant<"):
        return _union(type_, rows, count)
    members = list(_members(type_, rows))
    contents = [_content(member, value, count) for _, member, value in members]
    names = [name for name, _, _ in members]
    is_tuple = bool(names) and all(map(_MEMBER_OF_TUPLE.fullmatch, names))
    return ak.contents.RecordArray(contents, None if is_tuple else names, length=count)


def _members(type_: Type, rows: Struct) -> Iterator[tuple[str, Type, Any]]:
    """Yields the name, type and values of each member, and then those of the base classes.

    A name that occurs already gets the name of its base class in front, as in C++: "Left::id".
    """
    bases = []
    names = set()
    for name, member in type_.members:
        if _BASE_CLASS.fullmatch(name):
            bases.append((member, rows.members[name]))
        else:
            names.add(name)
            yield name, member, rows.members[name]
    for base, value in reversed(bases):
        for name, member, values in _members(base, value):
            whole = f"{base.type_name}::{name}" if name in names else name
            names.add(whole)
            yield whole, member, values


def _union(type_: Type, rows: Struct, count: int) -> Any:
    """Returns the layout of a std::variant: each alternative is a list of 0 or 1 elements, at most one has an
    element."""
    import awkward as ak

    tags, index = np.zeros(count, np.int8), np.full(count, -1, np.int64)
    nothing = ak.contents.IndexedOptionArray(ak.index.Index64(index.copy()), ak.contents.EmptyArray())
    alternatives = [nothing]
    for tag, (name, member) in enumerate(type_.members, 1):
        assert member.element is not None
        lists = rows.members[name]
        is_this = np.diff(lists.offsets) > 0
        tags[is_this], index[is_this] = tag, lists.offsets[:-1][is_this]
        content = _content(member.element, lists.content, length_of(lists.content))
        alternatives.append(content if content.is_option or content.is_union else ak.contents.UnmaskedArray(content))
    index[tags == 0] = np.flatnonzero(tags == 0)
    return ak.contents.UnionArray(ak.index.Index8(tags), ak.index.Index64(index), alternatives)
