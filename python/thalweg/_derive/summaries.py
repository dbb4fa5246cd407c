"""Summaries: counts and sums of ranges. Each commit holds that of its range; they are merged in the order of ranges."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError

MOST_BYTES = 1 << 16  # the largest summary of a work unit


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
            self.values[name] = added(self.values[name], value) if name in self.values else value

    def encoded(self, what: str) -> bytes:
        """Returns the summary as bytes. Raises UsageError if it is larger than a work unit allows."""
        stored = [self.events, self.rows, self.cuts, {name: _stored(each, name) for name, each in self.values.items()}]
        text = json.dumps(stored, separators=(",", ":")).encode()
        if len(text) > MOST_BYTES:
            raise UsageError(
                f"{what}: the summary of one range takes {len(text):,} bytes (at most {MOST_BYTES:,} are allowed): "
                "sum up less"
            )
        return text

    @staticmethod
    def decoded(text: bytes) -> Summary:
        events, rows, cuts, values = json.loads(text)
        return Summary(events, rows, cuts, {name: _loaded(each) for name, each in values.items()})

    def to_json(self) -> dict[str, Any]:
        values = {name: _shown(value) for name, value in self.values.items()}
        return {"events": self.events, "rows": self.rows, "cuts": self.cuts, "values": values}


def merged(of_ranges: Mapping[int, bytes], cuts: Iterable[str]) -> Summary:
    """Returns the sum of summaries, added in the order of ranges, so that sums of floats are reproducible."""
    total = Summary(cuts=dict.fromkeys(cuts, 0))
    for number in sorted(of_ranges):
        total.add(Summary.decoded(of_ranges[number]))
    return total


def checked_values(values: Any, what: str) -> dict[str, Any]:
    """Returns the values of a summary in plain form. Raises UsageError if they cannot be summed up."""
    if not isinstance(values, Mapping):
        raise UsageError(f"{what}: the summary is {type(values).__name__}: return a dictionary of values")
    return {str(name): _plain(value, f"{what}, summary '{name}'") for name, value in values.items()}


def _plain(value: Any, what: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each, f"{what}, '{key}'") for key, each in value.items()}
    if hasattr(value, "merge"):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise UsageError(
            f"{what}: {value!r} cannot be summed up: give a number, a NumPy array, a dictionary of these, or "
            "an object with merge(other)"
        )
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    return array.item() if array.ndim == 0 else array


def added(first: Any, later: Any) -> Any:
    """Returns the sum of two values; dictionaries are added key by key."""
    if isinstance(first, dict):
        both = {name: added(value, later[name]) if name in later else value for name, value in first.items()}
        return both | {name: value for name, value in later.items() if name not in first}
    if not hasattr(first, "merge"):
        return first + later
    result = first.merge(later)
    return first if result is None else result


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


def _loaded(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    if "items" in stored:
        return {key: _loaded(each) for key, each in stored["items"].items()}
    if "object" in stored:
        return pickle.loads(base64.b64decode(stored["object"]))
    array = np.frombuffer(base64.b64decode(stored["bytes"]), stored["type"]).reshape(stored["shape"])
    return array.copy() if array.ndim else array.item()


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind != "c" else [str(each) for each in value.ravel()]
    return value if isinstance(value, int | float) else str(value)
