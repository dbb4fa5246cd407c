"""What the page shows, and the messages that bring a viewer from what it has to the newest state.

There are no queues: a message is made when a viewer can take one, of the bins that have changed since its last one. All
viewers share what is kept, so a viewer that stalls costs nothing.

A message is: the length of its head (4 bytes, little-endian), the head (JSON, filled with spaces to a multiple of 8
bytes, these 4 included), and, after it, numbers: all bins, or the places (u4) and the values of those that have
changed. Values are u4, or f8 if one is too large for that.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]

_MOST_CACHED = 4


def message_with(part: str, value: Any) -> bytes:
    """Returns a message that changes no bins, for one viewer alone."""
    return _framed(json.dumps({"whole": False, "count": 0, "kind": "u4", part: value}, separators=(",", ":")))


def _framed(head: str) -> bytes:
    encoded = head.encode()
    encoded += b" " * (-(len(encoded) + 4) % 8)
    return len(encoded).to_bytes(4, "little") + encoded


class Shown:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.version = 1
        self._epoch = 1  # changes with the layout: what was sent before means nothing then
        self._layout: list[Any] = []
        self._values: Numbers = np.zeros(0, np.uint64)
        self._changed = np.zeros(0, np.uint64)  # the version in which each bin has changed
        self._parts: dict[str, tuple[int, str]] = {}  # by name: the version in which it has changed, and its text
        self._cache: dict[tuple[int, int], bytes] = {}

    def update(self, blocks: list[tuple[dict[str, Any], npt.NDArray[Any]]], parts: Mapping[str, Any]) -> None:
        """Shows new bins and facts. `blocks`: what describes each histogram, and its counts."""
        layout = [{**describes, "length": len(counts)} for describes, counts in blocks]
        values = np.concatenate([np.zeros(0, np.uint64), *(counts.astype(np.uint64) for _, counts in blocks)])
        with self._lock:
            self.version += 1
            self._cache.clear()
            if layout != self._layout:
                self._epoch += 1
                self._layout = layout
                self._changed = np.full(len(values), self.version, np.uint64)
            else:
                self._changed[values != self._values] = self.version
            self._values = values
            self._take(parts)

    def tell(self, parts: Mapping[str, Any]) -> None:
        """Shows facts, and the bins that were there."""
        with self._lock:
            self.version += 1
            self._cache.clear()
            self._take(parts)

    def _take(self, parts: Mapping[str, Any]) -> None:
        for name, value in parts.items():
            text = json.dumps(value, separators=(",", ":"), allow_nan=False)
            if name not in self._parts or self._parts[name][1] != text:
                self._parts[name] = (self.version, text)

    def message(self, version: int, epoch: int) -> tuple[bytes, int, int]:
        """Returns what leads from a version to the newest one, and the version and epoch that are reached."""
        with self._lock:
            at = (version, epoch)
            if at not in self._cache:
                while len(self._cache) >= _MOST_CACHED:
                    self._cache.pop(next(iter(self._cache)))
                self._cache[at] = self._message(version, epoch)
            return self._cache[at], self.version, self._epoch

    def _message(self, version: int, epoch: int) -> bytes:
        is_whole = epoch != self._epoch
        places = np.flatnonzero(self._changed > version).astype("<u4")
        is_whole = is_whole or 2 * len(places) > len(self._values)
        values = self._values if is_whole else self._values[places]
        kind = "f8" if len(values) and int(values.max()) >= 1 << 32 else "u4"
        head: dict[str, Any] = {"version": self.version, "whole": is_whole, "count": len(values), "kind": kind}
        if epoch != self._epoch:
            head["layout"] = self._layout
        text = json.dumps(head, separators=(",", ":"))[:-1]
        for name, (changed, value) in self._parts.items():
            if changed > version or epoch != self._epoch:
                text += f',"{name}":{value}'
        numbers = values.astype("<" + kind).tobytes()
        if not is_whole:
            # Values of 8 bytes begin at a multiple of 8.
            filler = b"\0" * (places.nbytes % 8) if kind == "f8" else b""
            numbers = places.tobytes() + filler + numbers
        return _framed(text + "}") + numbers
