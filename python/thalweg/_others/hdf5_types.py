"""Converts the types and values that h5py reads from HDF5 files of other programs to our types and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._others.tree_types import NoTypeError
from thalweg._schema.attributes import Attributes
from thalweg._schema.types import Type, as_type, time_type, uint8
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows

Array = npt.NDArray[Any]
LeaveOut = Callable[[str, str], None]
"""A function that is called with the name of a member and the reason why it is left out."""

_NOT_IN_NAMES = str.maketrans(dict.fromkeys("./*{},", "_"))


def hdf5_name_of(text: str) -> str:
    """Returns the name of a member of a compound in a form that all containers accept."""
    return text.translate(_NOT_IN_NAMES) or "_"


def type_of_hdf5(dtype: np.dtype[Any], leave_out: LeaveOut) -> Type:
    """Returns the type of values of a dtype. Members without a type are left out. Raises NoTypeError if none is
    left."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return _shaped(type_of_hdf5(base, leave_out), shape)
    if dtype.names is not None:
        return _struct(dtype, leave_out)
    if h5py.check_string_dtype(dtype) is not None:
        return Type("string")
    if (inner := h5py.check_vlen_dtype(dtype)) is not None:
        return Type("list", element=type_of_hdf5(inner, leave_out))
    if h5py.check_ref_dtype(dtype) is not None:
        raise NoTypeError("it holds references, which mean nothing in another file")
    if (labels := h5py.check_enum_dtype(dtype)) is not None:
        return replace(as_type(np.dtype(dtype.str)), attrs=_labels(labels, dtype))
    if dtype.kind in "mM":
        return time_type(dtype)
    if dtype.kind == "V" and dtype.itemsize:
        return _shaped(uint8, (dtype.itemsize,))
    if dtype == np.float16:
        return Type("float32")
    try:
        return as_type(dtype.newbyteorder("="))
    except UsageError as error:
        raise NoTypeError(f"Thalweg has no type for its numbers ({dtype})") from error


def _shaped(type_: Type, shape: tuple[int, ...]) -> Type:
    if math.prod(shape) == 0:
        raise NoTypeError("its items are empty")
    return replace(type_, shape=(*shape, *type_.shape))


def _struct(dtype: np.dtype[Any], leave_out: LeaveOut) -> Type:
    members: dict[str, Type] = {}
    for field in dtype.names or ():
        try:
            if hdf5_name_of(field) in members:
                raise NoTypeError("two members have this name")
            members[hdf5_name_of(field)] = type_of_hdf5(dtype[field], _inside(field, leave_out))
        except NoTypeError as error:
            leave_out(field, str(error))
    if not members:
        raise NoTypeError("none of its members can be read")
    return Type("struct", members=tuple(members.items()))


def renamed_members(dtype: np.dtype[Any], path: str) -> Iterator[str]:
    """Yields a sentence for each member of a compound, at any depth, that is shown under another name."""
    base = dtype.subdtype[0] if dtype.subdtype else h5py.check_vlen_dtype(dtype) or dtype
    if base is not dtype:
        yield from renamed_members(np.dtype(base), path)
    for field in dtype.names or ():
        if (name := hdf5_name_of(field)) != field:
            yield f"member '{field}' of {path} is shown as '{name}', since no column can have its name"
        yield from renamed_members(dtype[field], f"{path}.{field}")


def _inside(field: str, leave_out: LeaveOut) -> LeaveOut:
    return lambda name, why: leave_out(f"{field}.{name}", why)


def _labels(labels: dict[str, int], dtype: np.dtype[Any]) -> Attributes:
    by_value = sorted(labels.items(), key=lambda label: label[1])
    names = np.array([name for name, _ in by_value], object)
    return Attributes({"enum_labels": names, "enum_values": np.array([value for _, value in by_value], dtype.str)})


def with_bytes(type_: Type, array: Array, path: str, notes: list[str]) -> Type:
    """Returns the type with lists of bytes instead of strings that are not UTF-8, and adds a note for each."""
    if type_.name == "struct":
        names = _fields(array)
        members = (
            (name, with_bytes(each, array[names[name]], f"{path}.{name}", notes)) for name, each in type_.members
        )
        return replace(type_, members=tuple(members))
    if type_.name == "list" and type_.element is not None:
        elements = _joined(array)
        if elements is not None:
            return replace(type_, element=with_bytes(type_.element, elements, path, notes))
    if type_.name != "string":
        return type_
    try:
        for each in array.reshape(-1).tolist():
            _bytes(each).decode()
    except UnicodeDecodeError:
        notes.append(f"{path} holds strings that are not UTF-8: they are shown as lists of bytes")
        return replace(type_, name="list", element=uint8)
    return type_


def values_of_hdf5(type_: Type, array: Array) -> Any:
    """Returns the values of an array that h5py has read. `type_` may have fewer members than the array."""
    if type_.name == "struct":
        names = _fields(array)
        members = {name: values_of_hdf5(member, array[names[name]]) for name, member in type_.members}
        return Rows(type_, members, len(array))
    if type_.name == "string" or (type_.element == uint8 and _is_text(array)):
        return _strings(array, Text if type_.name == "string" else Ragged)
    if type_.element is not None:
        lengths = np.fromiter(map(len, array.reshape(-1)), np.int64, array.size).reshape(array.shape)
        elements = _joined(array)
        content = _nothing(type_.element) if elements is None else values_of_hdf5(type_.element, elements)
        return Ragged.from_lengths(lengths, content)
    if array.dtype.kind in "mM":
        array = array.view(f"{array.dtype.str[0]}i8")
    if array.dtype.kind == "V":
        size = array.dtype.itemsize
        return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, size)
    return np.ascontiguousarray(array, type_.dtype)


def _fields(array: Array) -> dict[str, str]:
    fields: dict[str, str] = {}
    for field in array.dtype.names or ():
        fields.setdefault(hdf5_name_of(field), field)
    return fields


def _is_text(array: Array) -> bool:
    return array.dtype.kind == "S" or (array.dtype == object and isinstance(next(array.flat, None), bytes | str))


def _strings(array: Array, make: type[Ragged]) -> Ragged:
    texts = [_bytes(each) for each in array.reshape(-1).tolist()]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)).reshape(array.shape)
    strings = make.from_lengths(lengths, np.frombuffer(b"".join(texts), np.uint8))
    if make is Text:
        _check_utf8(strings, texts)
    return strings


def _check_utf8(strings: Ragged, texts: list[bytes]) -> None:
    """Raises NoTypeError if a string is not UTF-8. Only the first strings were checked when the file was opened."""
    first_bytes = strings.content[strings.offsets[:-1][np.diff(strings.offsets) > 0]]
    if not np.any((first_bytes & 0xC0) == 0x80):  # otherwise two strings may be UTF-8 together, but not alone
        with suppress(UnicodeDecodeError):
            strings.content.tobytes().decode()
            return
    for index, text in enumerate(texts):
        try:
            text.decode()
        except UnicodeDecodeError:
            raise NoTypeError(f"string {index} of these, {text[:40]!r}, is not UTF-8, unlike the first ones") from None


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _joined(array: Array) -> Array | None:
    """Returns all elements of all lists, or None if there are none."""
    lists = [each for each in array.reshape(-1) if len(each)]
    return np.concatenate(lists) if lists else None


def _nothing(type_: Type) -> Any:
    if type_.name == "struct":
        return Rows(type_, {name: _nothing(member) for name, member in type_.members}, 0)
    if type_.name == "string" or type_.element is not None:
        make = Text if type_.name == "string" else Ragged
        return make.from_lengths(np.empty((0, *type_.shape), np.int64), _nothing(type_.element or uint8))
    return np.empty((0, *type_.shape), type_.dtype)
