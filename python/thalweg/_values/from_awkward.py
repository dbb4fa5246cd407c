"""Converts Awkward arrays to NumPy arrays and lists. Behaviours do not matter: the layout has the values."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._values.ragged import Optional, Ragged, Text, in_shape


def is_awkward(value: Any) -> bool:
    """Returns whether a value is an Awkward array or record, of any behaviour."""
    awkward = sys.modules.get("awkward")  # without it, nothing can be one
    return awkward is not None and isinstance(value, awkward.Array | awkward.Record)


def of_awkward(value: Any) -> Any:
    """Returns the content of an Awkward array or record; missing values make it an `Optional`."""
    import awkward as ak

    if isinstance(value, ak.Record):
        row = of_layout(value.layout.array.to_packed()[value.layout.at : value.layout.at + 1])
        return {name: _only(member) for name, member in row.items()}
    return of_layout(ak.to_packed(value, highlevel=False))


def _only(member: Any) -> Any:
    """Returns the only item of a column."""
    if isinstance(member, dict):
        return {name: _only(each) for name, each in member.items()}
    return member[0]


def of_layout(layout: Any) -> Any:
    """Returns the content of a layout."""
    if layout.is_option:
        is_there = layout.mask_as_bool(valid_when=True)
        content = of_layout(layout.project())
        return content if is_there.all() else Optional.from_mask(is_there, content)
    if layout.is_indexed:
        return of_layout(layout.project())
    if layout.is_unknown:
        return np.empty(len(layout), object)
    if layout.is_record:
        return {name: of_layout(layout.content(name)) for name in layout.fields}
    if layout.is_regular:
        return in_shape(of_layout(layout.content), (len(layout), layout.size))
    if layout.is_list:
        lists = layout.to_ListOffsetArray64(True)
        make = Text if layout.parameter("__array__") == "string" else Ragged
        return make(np.asarray(lists.offsets), of_layout(lists.content))
    if layout.is_union:
        raise UsageError("an Awkward array of several types (a union) cannot be stored: give each type its own field")
    return np.asarray(layout.to_backend_array())
