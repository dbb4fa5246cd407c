"""Blocks of a FELIX card, read a second time: in plain Python, from the description of the format alone.

It judges the encoder and the decoder of `thalweg/felix`, so it shares nothing with them, and it is written to be read,
not to be fast. A block is 4 bytes of header and then chunks; each chunk is followed by a trailer that says what it is,
and so a block is read from its end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

NULL, FIRST, LAST, BOTH, MIDDLE, TIMEOUT, UNDEFINED, OUT_OF_BAND = range(8)
HEADER_BYTES = 4


@dataclass(frozen=True)
class Flags:
    crc: bool = False
    error: bool = False
    truncated: bool = False
    busy: bool = False

    def __or__(self, other: Flags) -> Flags:
        return Flags(
            self.crc or other.crc,
            self.error or other.error,
            self.truncated or other.truncated,
            self.busy or other.busy,
        )


@dataclass(frozen=True)
class Chunk:
    kind: int
    payload: bytes
    flags: Flags


@dataclass(frozen=True)
class Packet:
    data: bytes
    flags: Flags


@dataclass
class Counters:
    blocks: int = 0
    packets: int = 0
    payload_bytes: int = 0
    sequence_gaps: int = 0
    lost_blocks: int = 0
    bad_blocks: int = 0
    dropped_chunks: int = 0
    crc_errors: int = 0
    errors: int = 0
    truncated: int = 0
    busy: int = 0
    timeouts: int = 0
    out_of_band: int = 0
    undefined: int = 0


class BadBlockError(Exception):
    """The trailers do not lead from the end of the block to its header."""


@dataclass(frozen=True)
class Format:
    block_bytes: int
    trailer_bytes: int

    @staticmethod
    def of_magic(magic: int) -> Format:
        if magic == 0xABCD:
            return Format(1024, 2)
        if magic == 0xABCE:
            return Format(1024, 4)
        if magic & 0xC0FF == 0xC0CE:
            return Format(((magic >> 8 & 0x3F) + 1) * 1024, 4)
        raise ValueError(f"{magic:#06x} is the magic of no block")


def header_of(block: bytes) -> tuple[int, int, int]:
    """E-link, sequence number, magic."""
    first, magic = struct.unpack_from("<HH", block)
    return first & 0x07FF, first >> 11, magic


def chunk_of_trailer(block: bytes, end: int, trailer_bytes: int) -> tuple[Chunk, int]:
    """The chunk whose trailer ends at `end`, and where the chunk begins."""
    if trailer_bytes == 2:
        (trailer,) = struct.unpack_from("<H", block, end - 2)
        kind, length = trailer >> 13, trailer & 0x03FF
        flags = Flags(bool(trailer & 0x0400), bool(trailer & 0x0800), bool(trailer & 0x1000), False)
    else:
        (trailer,) = struct.unpack_from("<I", block, end - 4)
        kind, length = trailer >> 29, trailer & 0xFFFF
        flags = Flags(
            bool(trailer & 1 << 26), bool(trailer & 1 << 27), bool(trailer & 1 << 28), bool(trailer & 1 << 25)
        )
    if kind in (NULL, OUT_OF_BAND):
        length = 0  # whatever the field says
    stored = -(-length // trailer_bytes) * trailer_bytes
    begin = end - trailer_bytes - stored
    if begin < HEADER_BYTES:
        raise BadBlockError
    return Chunk(kind, block[begin : begin + length], flags), begin


def chunks_of(block: bytes, trailer_bytes: int) -> list[Chunk]:
    chunks = []
    end = len(block)
    while end > HEADER_BYTES:
        chunk, end = chunk_of_trailer(block, end, trailer_bytes)
        chunks.append(chunk)
    return chunks[::-1]


@dataclass
class Link:
    """What came over one e-link."""

    max_packet_bytes: int = 1 << 20
    packets: list[Packet] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)
    sequence: int | None = None  # that the next block should have
    open: Packet | None = None  # its end has not come

    def take(self, block: bytes) -> None:
        _, sequence, magic = header_of(block)
        self.counters.blocks += 1
        if self.sequence is not None and sequence != self.sequence:
            self.counters.sequence_gaps += 1
            self.counters.lost_blocks += (sequence - self.sequence) % 32
            self.drop_open()
        self.sequence = (sequence + 1) % 32
        try:
            chunks = chunks_of(block, Format.of_magic(magic).trailer_bytes)
        except BadBlockError:
            self.counters.bad_blocks += 1
            self.drop_open()
            return
        for chunk in chunks:
            self.take_chunk(chunk)

    def take_chunk(self, chunk: Chunk) -> None:
        if chunk.kind == TIMEOUT:
            self.counters.timeouts += 1
        if chunk.kind == OUT_OF_BAND:
            self.counters.out_of_band += 1
        if chunk.kind in (NULL, OUT_OF_BAND) or (chunk.kind == TIMEOUT and not chunk.flags.truncated):
            return  # filling
        if chunk.kind == UNDEFINED:
            self.counters.undefined += 1
            self.drop_open()
        elif chunk.kind in (FIRST, BOTH):
            self.drop_open()
            self.extend_open(chunk)
        elif chunk.kind in (MIDDLE, LAST) and self.open is None:
            self.counters.dropped_chunks += 1
            return
        else:
            self.extend_open(chunk)
        if chunk.kind in (BOTH, LAST, TIMEOUT):
            self.end_packet()

    def extend_open(self, chunk: Chunk) -> None:
        begun = self.open or Packet(b"", Flags())
        self.open = Packet(begun.data + chunk.payload, begun.flags | chunk.flags)

    def drop_open(self) -> None:
        if self.open is not None:
            self.counters.dropped_chunks += 1
        self.open = None

    def end_packet(self) -> None:
        assert self.open is not None
        packet, self.open = self.open, None
        if len(packet.data) > self.max_packet_bytes:
            packet = Packet(packet.data[: self.max_packet_bytes], packet.flags | Flags(truncated=True))
        self.packets.append(packet)
        self.counters.packets += 1
        self.counters.payload_bytes += len(packet.data)
        self.counters.crc_errors += packet.flags.crc
        self.counters.errors += packet.flags.error
        self.counters.truncated += packet.flags.truncated
        self.counters.busy += packet.flags.busy


def blocks_of(raw: bytes) -> Iterator[bytes]:
    """All of one size, as the first one says."""
    size = Format.of_magic(header_of(raw)[2]).block_bytes if raw else 1
    if len(raw) % size != 0:
        raise ValueError(f"{len(raw)} bytes are no whole blocks of {size}")
    for begin in range(0, len(raw), size):
        yield raw[begin : begin + size]


def read(raw: bytes, max_packet_bytes: int = 1 << 20) -> dict[int, Link]:
    """What any number of blocks hold, by e-link."""
    links: dict[int, Link] = {}
    for block in blocks_of(raw):
        elink = header_of(block)[0]
        links.setdefault(elink, Link(max_packet_bytes)).take(block)
    return links
