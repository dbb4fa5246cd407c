"""Finds the types of the columns that a function returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._schema.types import Type, as_type, float32, optional, string


class UnknownTypeError(UsageError):
    """Raised if the returned values do not show their type, for example empty lists."""


def columns_in(returned: Any, what: str) -> dict[str, Any]:
    """Returns the columns by name. Raises UsageError if the returned value has no columns."""
    import awkward as ak

    if isinstance(returned, ak.Array) and returned.fields:
        return {name: returned[name] for name in returned.fields}
    if not isinstance(returned, Mapping) or not returned:
        raise UsageError(
            f"{what} returned {type(returned).__name__}: return a dictionary of columns, or an Awkward array"
        )
    return {str(name): value for name, value in returned.items()}


def type_of_values(value: Any, what: str) -> Type:
    """Returns the type of one row of a column. Raises UnknownTypeError if the values do not show it."""
    import awkward as ak

    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        array = np.asarray(value)
        if array.ndim == 0:
            raise UsageError(f"{what} is one number, {value!r}: return a column with one row for each event")
        type_ = replace(_stored(array.dtype), shape=array.shape[1:])
        return _optional(type_, what) if isinstance(value, np.ma.MaskedArray) else type_
    try:
        layout = ak.to_packed(ak.Array(value), highlevel=False)
    except Exception as error:
        raise UsageError(f"{what} is {type(value).__name__}, which Awkward cannot convert ({error})") from error
    return _of_layout(layout, what)


def _of_layout(layout: Any, what: str) -> Type:
    if layout.is_unknown:
        raise UnknownTypeError(f"the type of {what} is not known (all its values are empty): give schema=")
    if layout.is_option:  # also if none of these values is missing, since one of another range may be
        return _optional(_of_layout(layout.content, what), what)
    if layout.is_indexed:
        return _of_layout(layout.content, what)
    if layout.is_union:
        raise UsageError(f"{what} has values of several types: return one column for each type")
    if layout.is_record:
        return Type(
            "struct", members=tuple((name, _of_layout(layout[name], f"{what}/{name}")) for name in layout.fields)
        )
    if layout.parameter("__array__") == "string":
        return Type("string")
    if layout.is_regular:
        inner = _of_layout(layout.content, what)
        return Type(inner.name, (layout.size, *inner.shape), element=inner.element, members=inner.members)
    if layout.is_list:
        return Type("list", element=_of_layout(layout.content, what))
    array = np.asarray(layout.to_backend_array())
    return replace(_stored(array.dtype), shape=array.shape[1:])


def _optional(type_: Type, what: str) -> Type:
    """Returns the type of values that may be missing. Raises UsageError if only whole values can be stored."""
    try:
        return type_ if type_.is_optional else optional(type_)
    except UsageError as error:
        raise UsageError(
            f"{what} may have missing values, as its type in Awkward says ({error}): replace them with ak.fill_none, "
            "drop them, or give its type in schema= if none is ever missing"
        ) from error


def _stored(dtype: np.dtype[Any]) -> Type:
    """Returns the type in which one value is stored: float32 for float16, which files do not have."""
    if dtype.kind in "UT":  # text of NumPy
        return string
    return float32 if dtype == np.float16 else as_type(dtype)
