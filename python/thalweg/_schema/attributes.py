"""Attributes of runs, groups, tables and columns: names with numbers, texts or arrays of these."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._base.suggestion import likely

_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
_SCALARS = frozenset(_NAMES.split())
_NO_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # JSON has no numbers for these


class Attributes(Mapping[str, Any]):
    """A read-only mapping from names to values, like that of h5py: `str`, NumPy scalars, and arrays of these.

    Attributes are given when a run is created.
    """

    def __init__(self, values: Mapping[str, Any] | None = None, *, of: str = "") -> None:
        """Takes values by name. Raises UsageError if a value cannot be stored; `of` names the owner in messages."""
        given = dict(values or {})
        for name in given:
            if not isinstance(name, str):
                raise UsageError(f"the name of an attribute{_of(of)} is {name!r}: give a string")
        self._json = {name: _to_json(name, given[name], of) for name in sorted(given)}
        self._values = {name: _from_json(entry) for name, entry in self._json.items()}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Attributes:
        """Returns the attributes that `to_json` has written."""
        attributes = cls()
        attributes._json = {name: dict(json[name]) for name in sorted(json)}
        attributes._values = {name: _from_json(entry) for name, entry in attributes._json.items()}
        return attributes

    def to_json(self) -> dict[str, Any]:
        """Returns the form that docs/formats/schema.md describes."""
        return self._json

    def with_texts(self, **texts: str) -> Attributes:
        """Returns the attributes together with non-empty texts, such as units, that the schema keeps separately."""
        given = {name: {"type": "string", "value": text} for name, text in texts.items() if text}
        return Attributes.from_json({**self._json, **given}) if given else self

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            known = ", ".join(self) or "none"
            raise UnknownNameError(f"there is no attribute '{name}'{likely(name, self)}; the attributes are {known}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attributes) and self._json == other._json

    def __hash__(self) -> int:
        return hash(json.dumps(self._json))

    def __repr__(self) -> str:
        return f"<Attributes: {self._values}>"


def _to_json(name: str, value: Any, of: str) -> dict[str, Any]:
    array = _as_array(name, value, of)
    shape = {"shape": list(array.shape)} if array.ndim else {}
    flat = array.reshape(-1)
    if array.dtype.kind in "OU":
        texts = [str(each) for each in flat]
        for text in texts:
            if "\0" in text:
                raise UsageError(
                    f"the attribute '{name}'{_of(of)} cannot be {text!r} (HDF5 ends a text at a NUL character): leave "
                    "the NUL out"
                )
        return {"type": "string", **shape, "value": texts if shape else texts[0]}
    if array.dtype.kind == "c":
        parts = [[_number(each.real), _number(each.imag)] for each in flat.tolist()]
    else:
        parts = [_number(each) for each in flat.tolist()]
    return {"type": array.dtype.name, **shape, "value": parts if shape else parts[0]}


def _as_array(name: str, value: Any, of: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
        if array.dtype.kind == "U" and isinstance(value, list | tuple):
            array = np.asarray(value, object)  # a number among texts stays a number here, and is refused below
        if array.dtype.kind == "S":
            array = np.char.decode(array, "utf-8")
    except (ValueError, TypeError, OverflowError, UnicodeDecodeError) as error:
        raise UsageError(f"the attribute '{name}'{_of(of)} cannot be stored ({error})") from None
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype.kind == "O" and array.size and all(isinstance(each, str) for each in array.reshape(-1)):
        return array
    if array.dtype.kind == "U" or array.dtype.name in _SCALARS:
        return array
    kind = type(value).__name__ if array.dtype.kind == "O" else f"of type {array.dtype}"
    raise UsageError(
        f"the attribute '{name}'{_of(of)} cannot be stored (it is {kind}): "
        "give a number, a string, a bool, or an array of these"
    )


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _from_json(entry: Mapping[str, Any]) -> Any:
    shape, value = tuple(entry.get("shape", ())), entry["value"]
    items = value if "shape" in entry else [value]
    if entry["type"] == "string":
        if not shape:
            return items[0]
        texts = np.empty(len(items), object)
        texts[:] = items
        return _fixed(texts.reshape(shape))
    dtype = np.dtype(entry["type"])
    numbers = [complex(_real(a), _real(b)) for a, b in items] if dtype.kind == "c" else [_real(each) for each in items]
    array = np.array(numbers, dtype).reshape(shape)
    return _fixed(array) if shape else array[()]


def _real(value: Any) -> Any:
    return _NO_NUMBERS[value] if isinstance(value, str) else value


def _fixed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def _of(owner: str) -> str:
    return f" of {owner}" if owner else ""


def common_attributes(of_each: Sequence[Attributes]) -> tuple[Attributes, tuple[str, ...]]:
    """Returns the attributes that all owners have with the same value, and the names of the others."""
    stored = [each.to_json() for each in of_each]
    names = sorted({name for each in stored for name in each})
    same = [name for name in names if all(each.get(name) == stored[0].get(name) for each in stored)]
    return Attributes.from_json({name: stored[0][name] for name in same}), tuple(
        name for name in names if name not in same
    )
