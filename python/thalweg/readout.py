"""Passes the events of a readout to a Python function while the run goes on.

from thalweg import readout

def look(event: readout.Event) -> None:
    for fragment in event.fragments:
        for stream, payload in readout.packets(fragment).items():
            ...

readout.Client("127.0.0.1:7700", sample=0.01).run(look)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import DataError

__all__ = ["Client", "Counters", "Event", "Fragment", "State", "packets"]

Bytes = npt.NDArray[np.uint8]

_MARKER = 0x46475754
_HEADER = struct.Struct("<IHHIIQIIQQHHIII")  # docs/formats/fragment.md
_ENTRY = np.dtype([("offset_words", "<u2"), ("length_bytes", "<u2")])
_PACKED = struct.Struct("<HH")
_TIME_SLICE, _REWRITTEN = 1 << 17, 1 << 18


class State(IntEnum):
    """The state of an event: all fragments are complete, some are incomplete or missing, or it was evicted."""

    complete = 0
    incomplete = 1
    evicted = 4


@dataclass(frozen=True)
class Fragment:
    """One fragment of an event: the fields of its header, and all its bytes as a view (docs/formats/fragment.md)."""

    data: Bytes
    version: int
    header_bytes: int
    length_bytes: int
    status: int
    event: int
    run: int
    source_id: int
    stream_map: int
    enabled_map: int
    bcid: int
    stream_count: int
    trigger_type: int
    build_us: int
    checksum: int

    @classmethod
    def of(cls, data: Bytes | bytes | memoryview) -> Fragment:
        """Reads the header of a fragment. Raises DataError if these bytes are not a fragment."""
        view = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        if len(view) < _HEADER.size:
            raise DataError(f"these bytes are not a fragment (they are {len(view)}, fewer than its header)")
        marker, *fields = _HEADER.unpack_from(view.data)
        if marker != _MARKER:
            raise DataError(f"these bytes are not a fragment (the marker is {marker:#010x})")
        fragment = cls(view, *fields)
        if not fragment.header_bytes <= fragment.length_bytes <= len(view):
            raise DataError(f"the fragment of event {fragment.event}, source {fragment.source_id:#x}, is truncated")
        return fragment

    @property
    def payload(self) -> Bytes:
        """The bytes after the header."""
        return self.data[self.header_bytes : self.length_bytes]


def packets(fragment: Fragment | Bytes | bytes) -> dict[int, Bytes]:
    """Returns the payload of each stream of a fragment, by stream number, as views into its bytes.

    In a time slice, a stream may have several payloads, which are concatenated. If a hook replaced the payloads, the
    result is empty, because only the hook knows their layout. Raises DataError if the fragment is damaged.
    """
    it = fragment if isinstance(fragment, Fragment) else Fragment.of(fragment)
    if it.status & _REWRITTEN:
        return {}
    if it.status & _TIME_SLICE:
        return _packed(it)
    end = _HEADER.size + it.stream_count * _ENTRY.itemsize
    entries = it.data[_HEADER.size : end].view(_ENTRY)
    starts = entries["offset_words"].astype(np.int64) * 4
    stops = starts + entries["length_bytes"]
    if len(entries) != it.stream_count or (stops > it.length_bytes).any():
        raise DataError(f"the fragment of event {it.event}, source {it.source_id:#x}, has payloads beyond its end")
    return {int(stream): it.data[starts[stream] : stops[stream]] for stream in np.flatnonzero(starts)}


def _packed(fragment: Fragment) -> dict[int, Bytes]:
    parts: dict[int, list[Bytes]] = {}
    at = fragment.header_bytes
    while at < fragment.length_bytes:
        stream, length = _PACKED.unpack_from(fragment.data.data, at)
        at += _PACKED.size
        if at + length > fragment.length_bytes:
            raise DataError(f"the fragment of slice {fragment.event}, source {fragment.source_id:#x}, is truncated")
        parts.setdefault(stream, []).append(fragment.data[at : at + length])
        at += (length + 3) // 4 * 4
    return {stream: views[0] if len(views) == 1 else np.concatenate(views) for stream, views in parts.items()}


@dataclass(frozen=True)
class Event:
    """One event with the fragments of all handlers."""

    run: int
    event: int
    state: State
    latency_ns: int
    """The time from the request to the last fragment, in ns."""
    handlers_missing: int
    """The number of handlers that had no fragment of it."""
    raw: Sequence[bytes]
    """The bytes of the fragments, in the order of the handlers."""

    @cached_property
    def fragments(self) -> list[Fragment]:
        """The fragments. Raises DataError if one is damaged."""
        return [Fragment.of(each) for each in self.raw]


Counters = _core.ClientCounters


class Client:
    """Collects whole events from all handlers and passes each to a function.

    handlers: the addresses of all handlers, as "HOST:PORT".
    role: an "observer" gets a `sample` of the events and never delays the readout. A "collector" takes events from the
        readout: handlers delete them once the function has returned for all events of their range.
    sample: the fraction of events that an observer gets, from 0 to 1.
    token: the token of the handlers, if they require one.
    credit_bytes: the most bytes that are requested and not yet received, over all handlers.
    range_events: the number of events in one request.
    connections: the number of connections to each handler.
    give_up: the time in seconds after which a missing handler is an error; 0 waits for ever.

    Raises UsageError if an option is wrong.
    """

    def __init__(
        self,
        *handlers: str,
        role: Literal["observer", "collector"] = "observer",
        sample: float = 1.0,
        token: str = "",
        credit_bytes: int = 32 << 20,
        range_events: int = 256,
        connections: int = 1,
        give_up: float = 0.0,
    ) -> None:
        options = options_of(handlers, token, credit_bytes, range_events)
        options.connections = connections
        options.give_up_ns = int(give_up * 1e9)
        options.sample_fraction = sample
        if role == "observer":
            options.observe()
        self._core = _core.ReadoutClient(options)

    def run(self, callback: Callable[[Event], object]) -> Counters:
        """Calls `callback` for each event until `stop` or the end of the run, and returns the counters.

        An exception of the function, or Ctrl-C, ends it. Raises SystemError if a handler is lost for too long."""

        def hand_on(run: int, event: int, state: int, latency_ns: int, missing: int, raw: list[bytes]) -> None:
            callback(Event(run, event, State(state), latency_ns, missing, raw))

        self._core.run(hand_on)
        return self.counters

    def stop(self) -> None:
        """Ends `run` after the current range of events. It may be called from the function or from any thread."""
        self._core.stop()

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        return self._core.counters()

    @property
    def run_number(self) -> int:
        """The run number, or 0 while it is not known."""
        return self._core.run_number()

    @property
    def waiting_for(self) -> str:
        """The handlers without a connection, each with the reason; empty if all are connected."""
        return self._core.waiting_for()


def options_of(handlers: Sequence[str], token: str, credit_bytes: int, range_events: int) -> _core.ClientOptions:
    options = _core.ClientOptions()
    options.handlers = list(handlers)
    options.token = token
    options.credit_bytes = credit_bytes
    options.range_events = range_events
    return options
