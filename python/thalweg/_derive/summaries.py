"""Summaries: counts and sums of ranges. Each commit holds that of its range; they are merged in the order of ranges."""

from __future__ import annotations

import base64
import io
import json
import pickle
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError

MOST_BYTES = 1 << 16  # the largest summary of a work unit; large_summaries.py stores larger ones
_SMALL_BYTES = 1 << 12  # smaller summaries are not compressed
_COMPRESSED = b"x"  # the first byte of what zlib has compressed

Array = npt.NDArray[Any]


@dataclass
class Summary:
    """The counts and sums of one output, over one or more ranges."""

    events: int = 0
    rows: int = 0
    cuts: dict[str, int] = field(default_factory=dict)
    """The number of events that remain after each selection."""
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, later: Summary) -> None:
        self.events += later.events
        self.rows += later.rows
        for name, count in later.cuts.items():
            self.cuts[name] = self.cuts.get(name, 0) + count
        for name, value in later.values.items():
            try:
                self.values[name] = added(self.values[name], value) if name in self.values else value
            except Exception as error:
                raise UsageError(f"summary '{name}' cannot be added ({error}): return the same kind of it") from error

    def encoded(self) -> bytes:
        """Returns the summary as bytes. Raises UsageError if a value cannot be stored."""
        text = self.plain()
        return zlib.compress(text, 6) if len(text) > _SMALL_BYTES else text

    def plain(self) -> bytes:
        """Returns the summary as bytes that are not compressed. Raises UsageError if a value cannot be stored."""
        stored = [self.events, self.rows, self.cuts, {name: _stored(each, name) for name, each in self.values.items()}]
        return json.dumps(stored, separators=(",", ":")).encode()

    @staticmethod
    def decoded(text: bytes, is_trusted: bool = True) -> Summary:
        """Returns a stored summary. From a file that is not of this job, only histograms and arrays are loaded."""
        events, rows, cuts, values = json.loads(zlib.decompress(text) if text[:1] == _COMPRESSED else text)
        return Summary(events, rows, cuts, {name: _loaded(each, is_trusted) for name, each in values.items()})

    def to_json(self) -> dict[str, Any]:
        values = {name: _shown(value) for name, value in self.values.items()}
        return {"events": self.events, "rows": self.rows, "cuts": self.cuts, "values": values}


def merged(of_ranges: Mapping[int, bytes], cuts: Iterable[str], what: str) -> Summary:
    """Returns the sum of summaries, added in the order of ranges, so that sums of floats are reproducible."""
    total = Summary(cuts=dict.fromkeys(cuts, 0))
    for number in sorted(of_ranges):
        try:
            total.add(Summary.decoded(of_ranges[number]))
        except Exception as error:
            raise UsageError(
                f"{what}: the summary of range {number} cannot be added to those of the ranges before it ({error}): "
                "begin anew with force=True"
            ) from error
    return total


def checked_values(values: Any, what: str) -> dict[str, Any]:
    """Returns the values of a summary in plain form. Raises UsageError if they cannot be summed up."""
    if not isinstance(values, Mapping):
        raise UsageError(f"{what}: the summary is {type(values).__name__}: return a dictionary of values")
    return {str(name): _plain(value, f"{what}, summary '{name}'") for name, value in values.items()}


def _plain(value: Any, what: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each, f"{what}, '{key}'") for key, each in value.items()}
    if hasattr(value, "merge") or _is_histogram(value):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise UsageError(
            f"{what}: {value!r} cannot be summed up: give a number, a NumPy array, a histogram, a dictionary "
            "of these, or an object with merge(other)"
        )
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    return array.item() if array.ndim == 0 else array


def added(first: Any, later: Any) -> Any:
    """Returns the sum of two values; dictionaries are added key by key."""
    if isinstance(first, dict):
        both = {name: added(value, later[name]) if name in later else value for name, value in first.items()}
        return both | {name: value for name, value in later.items() if name not in first}
    if type(first) is not type(later) and not (_is_number(first) and _is_number(later)):
        raise TypeError(f"it is {type(later).__name__} after {type(first).__name__}")
    if isinstance(first, np.ndarray):
        return _added_arrays(first, later)
    if not hasattr(first, "merge"):
        return first + later
    result = first.merge(later)
    return first if result is None else result


def _added_arrays(first: Array, later: Array) -> Array:
    """Returns the sum of arrays. NumPy would wrap integers around, and repeat an array of another shape."""
    if first.shape != later.shape:
        raise ValueError(f"its shape is {later.shape} after {first.shape}")
    total = first + later
    if total.dtype.kind in "iu":
        is_wrapped = total < first if total.dtype.kind == "u" else ((first ^ total) & (later ^ total)) < 0
        if is_wrapped.any():
            raise OverflowError(f"the sum is too large for {total.dtype}; give an array of float64 or a wider type")
    return total


def _is_histogram(value: Any) -> bool:
    """Returns whether a value is a histogram, such as those of hist and boost_histogram: with axes, and added by +."""
    return hasattr(value, "axes") and hasattr(value, "storage_type") and hasattr(type(value), "__add__")


def can_grow(value: Any) -> bool:
    """Returns whether a value may be much larger in another range. Numbers, arrays and histograms with fixed axes are
    not, and dictionaries of numbers, such as cut flows, are taken to stay small."""
    if isinstance(value, dict):
        return not value or not all(map(_is_number, value.values()))
    if _is_histogram(value):
        return any(getattr(axis.traits, "growth", True) for axis in value.axes)
    return hasattr(value, "merge")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex)


def _stored(value: Any, name: str) -> Any:
    if isinstance(value, int | float):
        return value
    if isinstance(value, dict):
        return {"items": {key: _stored(each, name) for key, each in value.items()}}
    if isinstance(value, np.ndarray | complex):
        array = np.asarray(value)
        return {"type": array.dtype.str, "shape": array.shape, "bytes": base64.b64encode(array.tobytes()).decode()}
    try:
        return {"object": base64.b64encode(pickle.dumps(value)).decode()}
    except Exception as error:
        raise UsageError(
            f"the summary '{name}' cannot be stored ({error}): give objects that can be pickled"
        ) from error


# What a pickle of an array calls.
_OF_ARRAYS = ("ndarray", "dtype", "_reconstruct", "_frombuffer", "scalar")


class _OnlyHistograms(pickle.Unpickler):
    """Loads histograms and arrays. A pickle of a file may call any function, so others are refused: also those that a
    module of these libraries has imported, and classes of NumPy that open files."""

    def find_class(self, module: str, name: str) -> Any:
        top = module.partition(".")[0]
        if "." not in name and top == "numpy" and name in _OF_ARRAYS:
            return super().find_class(module, name)
        if "." not in name and top in ("hist", "boost_histogram"):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__.partition(".")[0] == top:
                return found
        raise UsageError(f"it is stored as a pickle that needs {module}.{name}, and only histograms are loaded")


def _loaded(stored: Any, is_trusted: bool) -> Any:
    if not isinstance(stored, dict):
        return stored
    if "items" in stored:
        return {key: _loaded(each, is_trusted) for key, each in stored["items"].items()}
    if "object" in stored:
        raw = base64.b64decode(stored["object"])
        return pickle.loads(raw) if is_trusted else _OnlyHistograms(io.BytesIO(raw)).load()
    array = np.frombuffer(base64.b64decode(stored["bytes"]), stored["type"]).reshape(stored["shape"])
    return array.copy() if array.ndim else array.item()


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(each) for key, each in value.items()}
    if _is_histogram(value):
        return {
            "axes": [{"name": getattr(axis, "name", ""), "bins": _bins(axis)} for axis in value.axes],
            "storage": value.storage_type.__name__,
            "values": value.values(flow=True).tolist(),
            "variances": None if (variances := value.variances(flow=True)) is None else variances.tolist(),
        }
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind != "c" else [str(each) for each in value.ravel()]
    return value if isinstance(value, int | float) else str(value)


def _bins(axis: Any) -> list[Any]:
    """Returns the edges of an axis, or its categories."""
    return axis.edges.tolist() if not getattr(axis.traits, "discrete", False) else list(axis)
