"""Writes packets of Perfetto's trace format in protobuf: descriptions of tracks, and begins and ends of slices.

The field numbers are those of perfetto/trace/trace_packet.proto and the files that it includes.
"""

from __future__ import annotations

from typing import IO

_VARINT, _BYTES = 0, 2
_SLICE_BEGIN, _SLICE_END = 1, 2
_THREADS = 1 << 32
"""Track identifiers of threads begin here; those of processes are smaller."""


def varint(value: int) -> bytes:
    """Returns a number as protobuf's varint; negative numbers are encoded as int64."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3 | _VARINT) + varint(value)


def text(field: int, value: str | bytes) -> bytes:
    """Returns a field with a text, bytes or an inner message."""
    raw = value.encode(errors="replace") if isinstance(value, str) else value
    return varint(field << 3 | _BYTES) + varint(len(raw)) + raw


class Packets:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._details: dict[tuple[str, int | str], bytes] = {}

    def _write(self, packet: bytes) -> None:
        self._file.write(text(1, packet))

    def describe_process(self, row: int, pid: int, name: str) -> None:
        process = number(1, pid) + text(6, name)
        self._write(number(10, 1) + text(60, number(1, row) + text(3, process)))

    def describe_thread(self, row: int, process: int, pid: int, tid: int) -> None:
        thread = number(1, pid) + number(2, tid)
        self._write(number(10, 1) + text(60, number(1, _THREADS + row) + number(5, process) + text(4, thread)))

    def describe_queue(self, row: int, process: int, name: str) -> None:
        """Describes a track that is shown like a thread of the process, but is not a thread."""
        self._write(number(10, 1) + text(60, number(1, _THREADS + row) + number(5, process) + text(2, name)))

    def begin(self, thread: int, at_ns: int, name: str, category: str, details: dict[str, int | str]) -> None:
        event = number(9, _SLICE_BEGIN) + number(11, _THREADS + thread) + text(22, category) + text(23, name)
        event += b"".join(self._detail(*each) for each in details.items())
        self._write(number(8, at_ns) + number(10, 1) + text(11, event))

    def end(self, thread: int, at_ns: int) -> None:
        self._write(number(8, at_ns) + number(10, 1) + text(11, number(9, _SLICE_END) + number(11, _THREADS + thread)))

    def _detail(self, name: str, value: int | str) -> bytes:
        if isinstance(value, int):
            return text(4, text(10, name) + number(4, value))
        key = (name, value)  # the same file names occur many times
        if key not in self._details:
            self._details[key] = text(4, text(10, name) + text(6, value))
        return self._details[key]
