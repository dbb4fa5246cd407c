"""Events of a readout, handed to a Python function while the run goes on.

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
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._errors import DataError

__all__ = ["Client", "Counters", "Event", "Fragment", "State", "packets"]

Bytes = npt.NDArray[np.uint8]

_MARKER = 0x46475754
_HEADER = struct.Struct("<IHHIIQIIQQHHIII")  # docs/formats/fragment.md
_ENTRY = np.dtype([("offset_words", "<u2"), ("length_bytes", "<u2")])
_PACKED = struct.Struct("<HH")
_TIME_SLICE, _REWRITTEN = 1 << 17, 1 << 18


class State(IntEnum):
    complete = 0
    incomplete = 1
    evicted = 4


@dataclass(frozen=True)
class Fragment:
    """What one group of streams holds of an event: its header's fields, and all its bytes as a view."""

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
        """Raises DataError where these bytes are no fragment."""
        view = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        if len(view) < _HEADER.size:
            raise DataError(f"these bytes are no fragment ({len(view)} are too few)")
        marker, *fields = _HEADER.unpack_from(view.data)
        if marker != _MARKER:
            raise DataError(f"these bytes are no fragment (the marker is {marker:#010x})")
        fragment = cls(view, *fields)
        if not fragment.header_bytes <= fragment.length_bytes <= len(view):
            raise DataError(f"fragment of event {fragment.event}, source {fragment.source_id:#x}, is cut")
        return fragment

    @property
    def payload(self) -> Bytes:
        """All behind the header."""
        return self.data[self.header_bytes : self.length_bytes]


def packets(fragment: Fragment | Bytes | bytes) -> dict[int, Bytes]:
    """The payload of every stream of a fragment, as views into its bytes.

    Of a slice of time, in which a stream may have many payloads: all of them, one behind the other. Of a fragment whose
    payloads a hook replaced: nothing, because only the hook knows what is where.
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
        raise DataError(f"fragment of event {it.event}, source {it.source_id:#x}, has payloads beyond its end")
    return {int(stream): it.data[starts[stream] : stops[stream]] for stream in np.flatnonzero(starts)}


def _packed(fragment: Fragment) -> dict[int, Bytes]:
    parts: dict[int, list[Bytes]] = {}
    at = fragment.header_bytes
    while at < fragment.length_bytes:
        stream, length = _PACKED.unpack_from(fragment.data.data, at)
        at += _PACKED.size
        if at + length > fragment.length_bytes:
            raise DataError(f"fragment of slice {fragment.event}, source {fragment.source_id:#x}, is cut")
        parts.setdefault(stream, []).append(fragment.data[at : at + length])
        at += (length + 3) // 4 * 4
    return {stream: views[0] if len(views) == 1 else np.concatenate(views) for stream, views in parts.items()}


@dataclass(frozen=True)
class Event:
    run: int
    event: int
    state: State
    latency_ns: int
    """From the request to the last fragment."""
    handlers_missing: int
    """Handlers that had nothing of it."""
    raw: Sequence[bytes]
    """The fragments as they came, by handler."""

    @cached_property
    def fragments(self) -> list[Fragment]:
        return [Fragment.of(each) for each in self.raw]


@dataclass(frozen=True)
class Counters:
    """What a client has met so far. `events` were handed on; every other one is absent, cleared by somebody else,
    evicted, lost, or a duplicate."""

    events: int
    complete: int
    incomplete: int
    absent: int
    cleared: int
    evicted: int
    lost: int
    parts_lost: int
    left_behind: int
    again: int
    duplicates: int
    fragments: int
    bytes: int
    wrong: int
    reconnects: int
    gaps: int
    refused_clears: int
    max_outstanding_bytes: int

    @classmethod
    def of(cls, core: _core.ClientCounters) -> Counters:
        return cls(**{name: getattr(core, name) for name in cls.__dataclass_fields__})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Client:
    """Puts whole events together from all handlers, and hands each to a function.

    role: an "observer" looks at a `sample` of the events, and never holds any back; a "collector" takes events from the
        readout: they are gone for others when the function has returned for all events of their range.
    credit_bytes: asked for and not yet here, of all handlers together.
    range_events: asked for at once.
    give_up: seconds after which a handler that stays away is an error; 0: it is waited for.
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
        """Until `stop`, or the end of the run. What the function raises ends it, and so does Ctrl-C."""

        def hand_on(run: int, event: int, state: int, latency_ns: int, missing: int, raw: list[bytes]) -> None:
            callback(Event(run, event, State(state), latency_ns, missing, raw))

        self._core.run(hand_on)
        return self.counters

    def stop(self) -> None:
        """From the function, or from any thread. A range of events that is being handed on is finished."""
        self._core.stop()

    @property
    def counters(self) -> Counters:
        return Counters.of(self._core.counters())

    @property
    def run_number(self) -> int:
        """0 where it is not known yet."""
        return self._core.run_number()

    @property
    def waiting_for(self) -> str:
        """Handlers that are away, and why."""
        return self._core.waiting_for()


def options_of(handlers: Sequence[str], token: str, credit_bytes: int, range_events: int) -> _core.ClientOptions:
    options = _core.ClientOptions()
    options.handlers = list(handlers)
    options.token = token
    options.credit_bytes = credit_bytes
    options.range_events = range_events
    return options
