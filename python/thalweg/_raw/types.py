"""Types of values in rows, by the names of Thalweg, of NumPy, and of packed samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from thalweg._base.errors import UsageError

# The kinds and sizes of NumPy that a table can hold, by the name of the type in a table.
_SCALARS = {
    "b1": "bool",
    **{f"{kind}{size}": f"{name}{8 * size}" for kind, name in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
    "f4": "float32",
    "f8": "float64",
    "c8": "complex64",
    "c16": "complex128",
}
_PACKED = re.compile(r"(u?int)(10|12|14)")
NAMES = [*_SCALARS.values(), "uint10", "uint12", "uint14", "int10", "int12", "int14"]


@dataclass(frozen=True)
class ItemType:
    scalar: str
    packed_bits: int = 0
    big_endian: bool | None = None  # None: as the row says


def of_dtype(dtype: np.dtype) -> ItemType | None:
    """Returns the type of a scalar dtype, or None if a table cannot hold it."""
    scalar = _SCALARS.get(f"{dtype.kind}{dtype.itemsize}")
    return ItemType(scalar, big_endian=dtype.newbyteorder("=").str != dtype.str) if scalar else None


def parse(text: str) -> ItemType:
    """Returns the type of this name, for example uint16, <u2 or uint10. Raises UsageError if there is no such type."""
    if match := _PACKED.fullmatch(text):
        return ItemType(f"{match[1]}16", packed_bits=int(match[2]))
    if text in _SCALARS.values():
        return ItemType(text)
    try:
        found = of_dtype(np.dtype(text))
    except TypeError:
        found = None
    if found is None:
        raise UsageError(f"'{text}' is not a type of values in rows")
    return found if text[0] in "<>" else ItemType(found.scalar)
