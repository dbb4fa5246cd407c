"""Describes rows in the layout of Arrow: the buffers and children of each field. The C++ core exports them."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from thalweg._core import ArrowNode
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged, Text
from thalweg._values.struct import Struct

_FORMATS = {
    "bool": "b",
    "int8": "c",
    "int16": "s",
    "int32": "i",
    "int64": "l",
    "uint8": "C",
    "uint16": "S",
    "uint32": "I",
    "uint64": "L",
    "float32": "f",
    "float64": "g",
}
_TIMES = {(unit, 1): unit[0] for unit in ("s", "ms", "us", "ns")}
_REAL = {"complex64": "float32", "complex128": "float64"}


def node_of(rows: Struct) -> ArrowNode:
    """Returns the rows as an Arrow struct."""
    return _node(rows.type, rows, "", rows.row_count)


def _node(type_: Type, value: Any, name: str, count: int) -> ArrowNode:
    """Returns the node of a value with `count` items: rows, elements of lists, or items of fixed-size arrays."""
    if isinstance(value, Struct):
        inner = _struct(type_, value, count * math.prod(type_.shape))
    elif isinstance(value, Text):
        inner = _text(value)
    elif isinstance(value, Ragged):
        inner = _list(type_, value)
    else:
        inner = _numbers(type_, value)
    return _fixed_sizes(inner, type_, name, count)


# A node without a name: (format, length, buffers, children).
_Nameless = tuple[str, int, list[Any], list[ArrowNode]]


def _struct(type_: Type, rows: Struct, length: int) -> _Nameless:
    return "+s", length, [], [_node(member, rows.members[each], each, length) for each, member in type_.members]


def _text(value: Text) -> _Nameless:
    text = value.packed()
    return "U", len(text.offsets) - 1, [text.offsets, np.ascontiguousarray(text.content)], []


def _list(type_: Type, value: Ragged) -> _Nameless:
    assert type_.element is not None
    lists = value.packed()
    element = _node(type_.element, lists.content, "item", int(lists.offsets[-1]))
    return "+L", len(lists.offsets) - 1, [lists.offsets], [element]


def _numbers(type_: Type, value: Any) -> _Nameless:
    name, time = type_.name, type_.time_dtype
    values = np.ascontiguousarray(value)
    if name == "bool":
        return "b", values.size, [np.packbits(values, bitorder="little")], []
    if name in _REAL:  # Arrow has no complex numbers; they become pairs of real and imaginary part
        real = _REAL[name]
        part = ArrowNode(_FORMATS[real], "item", b"", 2 * values.size, [values.view(real)], [])
        return "+w:2", values.size, [], [part]
    if time is not None and np.datetime_data(time) in _TIMES:
        unit = _TIMES[np.datetime_data(time)]
        return (f"ts{unit}:" if time.kind == "M" else f"tD{unit}"), values.size, [values], []
    return _FORMATS[name], values.size, [values], []


def _fixed_sizes(inner: _Nameless, type_: Type, name: str, count: int) -> ArrowNode:
    format_, length, buffers, children = inner
    for axis, size in reversed(list(enumerate(type_.shape))):
        children = [ArrowNode(format_, "item", b"", length, buffers, children)]
        format_, length, buffers = f"+w:{size}", count * math.prod(type_.shape[:axis]), []
    return ArrowNode(format_, name, _metadata(type_), length, buffers, children)


def _metadata(type_: Type) -> bytes:
    """Returns unit and description in Arrow's encoding of metadata: a count, then lengths and texts."""
    texts = {"unit": type_.unit, "description": type_.description}
    pairs = [(key.encode(), text.encode()) for key, text in texts.items() if text]
    if not pairs:
        return b""
    encoded = (struct.pack("=i", len(text)) + text for pair in pairs for text in pair)
    return struct.pack("=i", len(pairs)) + b"".join(encoded)
