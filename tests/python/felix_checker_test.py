"""The encoder and the decoder of FELIX blocks, judged by `felix_checker`, and that by answers made by hand."""

from __future__ import annotations

import dataclasses
import random
import struct
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from felix_checker import (
    BOTH,
    FIRST,
    LAST,
    MIDDLE,
    NULL,
    OUT_OF_BAND,
    TIMEOUT,
    UNDEFINED,
    Counters,
    Flags,
    Format,
    Link,
    Packet,
    blocks_of,
    header_of,
    read,
)
from felix_programs import pairs, program

FORMATS = [("abcd", 1024), ("abce", 1024), ("c0ce", 1024), ("c0ce", 3072), ("c0ce", 65536)]
MAGICS = {"abcd": 0xABCD, "abce": 0xABCE, "c0ce": 0xC0CE}

Packets = dict[int, list[Packet]]


def magic_of(name: str, block_bytes: int) -> int:
    return MAGICS[name] | (block_bytes // 1024 - 1 << 8 if name == "c0ce" else 0)


def trailer(kind: int, length: int, width: int, flags: Flags = Flags()) -> bytes:  # noqa: B008 (it is frozen)
    if width == 2:
        bits = flags.crc << 10 | flags.error << 11 | flags.truncated << 12
        return struct.pack("<H", kind << 13 | bits | length)
    bits = flags.busy << 25 | flags.crc << 26 | flags.error << 27 | flags.truncated << 28
    return struct.pack("<I", kind << 29 | bits | length)


def chunk(kind: int, payload: bytes, width: int, flags: Flags = Flags()) -> bytes:  # noqa: B008
    return payload + bytes(-len(payload) % width) + trailer(kind, len(payload), width, flags)


def block(elink: int, sequence: int, magic: int, content: bytes) -> bytes:
    """Filled up with what carries nothing."""
    form = Format.of_magic(magic)
    room = form.block_bytes - 4 - len(content)
    assert room >= 0
    assert room % form.trailer_bytes == 0
    if 0 < room <= form.trailer_bytes:
        content += trailer(NULL, 0, form.trailer_bytes)
    elif room:
        length = room - form.trailer_bytes
        content += bytes(length) + trailer(TIMEOUT, length, form.trailer_bytes)
    return struct.pack("<I", magic << 16 | sequence << 11 | elink) + content


# --- answers by hand


def test_a_chunk_of_the_emulator_of_the_firmware() -> None:
    """`fdaq`'s: 0xAA, length high and low, counter, e-link's EID, 0xBB, 0xAA, width, then counting bytes."""
    payload = bytes.fromhex("aa 00 20 07 05 bb aa 08") + bytes(range(24))
    raw = block(0x155, 9, 0xABCD, chunk(BOTH, payload, 2))
    # Written down byte by byte: type 3, length 32; type 5 (time-out) over the rest, 1024 - 4 - 34 - 2.
    assert raw[:4] == bytes.fromhex("55 49 cd ab")
    assert raw[36:38] == bytes.fromhex("20 60")
    assert raw[-2:] == bytes.fromhex("d8 a3")
    link = read(raw)[0x155]
    assert link.packets == [Packet(payload, Flags())]
    assert link.counters == Counters(blocks=1, packets=1, payload_bytes=32, timeouts=1)


def test_headers_and_magics() -> None:
    assert header_of(bytes.fromhex("ff ff ce c0")) == (2047, 31, 0xC0CE)
    assert header_of(bytes.fromhex("41 08 ce c3")) == (0x41, 1, 0xC3CE)
    assert Format.of_magic(0xC0CE) == Format(1024, 4)
    assert Format.of_magic(0xC3CE) == Format(4096, 4)
    assert Format.of_magic(0xFFCE) == Format(65536, 4)
    for magic in (0xABCC, 0x80CE, 0xC0CD, 0):
        with pytest.raises(ValueError, match="the magic of no block"):
            Format.of_magic(magic)


@pytest.mark.parametrize("name", ["abcd", "abce", "c0ce"])
def test_a_packet_goes_on_over_blocks_of_its_link_only(name: str) -> None:
    magic, width = MAGICS[name], 2 if name == "abcd" else 4
    most = 1024 - 4 - width  # 1018 or 1016 bytes of payload in a block
    begin, middle, end = bytes([1]) * most, bytes([2]) * most, bytes([3]) * 5
    other = block(8, 3, magic, chunk(BOTH, b"other", width))
    raw = (
        block(7, 30, magic, chunk(FIRST, begin, width))
        + other
        + block(7, 31, magic, chunk(MIDDLE, middle, width, Flags(crc=True)))
        + block(7, 0, magic, chunk(LAST, end, width, Flags(error=True)))
    )
    links = read(raw)
    assert links[7].packets == [Packet(begin + middle + end, Flags(crc=True, error=True))]
    assert links[7].counters.sequence_gaps == 0
    assert links[8].packets == [Packet(b"other", Flags())]


def test_36_packets_of_24_bytes_leave_12_bytes_for_the_beginning_of_another() -> None:
    whole = b"".join(chunk(BOTH, bytes([i]) * 24, 4) for i in range(36))
    first = block(1, 0, 0xC0CE, whole + chunk(FIRST, b"x" * 8, 4))
    assert len(first) == 1024
    link = read(first + block(1, 1, 0xC0CE, chunk(LAST, b"y" * 16, 4)))[1]
    assert len(link.packets) == 37
    assert link.packets[36].data == b"x" * 8 + b"y" * 16


def test_what_each_kind_of_trailer_does() -> None:
    cut = Flags(truncated=True)
    cases: list[tuple[list[bytes], list[bytes], Counters]] = [
        ([chunk(BOTH, b"", 4)], [b""], Counters(packets=1)),
        ([chunk(FIRST, b"a", 4), chunk(TIMEOUT, bytes(8), 4), chunk(LAST, b"b", 4)], [b"ab"], Counters(packets=1)),
        ([chunk(FIRST, b"a", 4), chunk(TIMEOUT, b"b", 4, cut)], [b"ab"], Counters(packets=1, truncated=1)),
        ([chunk(TIMEOUT, b"b", 4, cut)], [b"b"], Counters(packets=1, truncated=1)),
        ([chunk(FIRST, b"a", 4), trailer(NULL, 77, 4), chunk(LAST, b"b", 4)], [b"ab"], Counters(packets=1)),
        ([trailer(OUT_OF_BAND, 900, 4), chunk(BOTH, b"b", 4)], [b"b"], Counters(packets=1, out_of_band=1)),
        ([chunk(MIDDLE, b"a", 4), chunk(LAST, b"b", 4)], [], Counters(dropped_chunks=2)),
        ([chunk(FIRST, b"a", 4), chunk(FIRST, b"b", 4), chunk(LAST, b"c", 4)], [b"bc"], Counters(dropped_chunks=1)),
        ([chunk(FIRST, b"a", 4), chunk(BOTH, b"b", 4), chunk(LAST, b"c", 4)], [b"b"], Counters(dropped_chunks=2)),
        ([chunk(FIRST, b"a", 4), chunk(UNDEFINED, b"b", 4)], [], Counters(dropped_chunks=1, undefined=1)),
    ]
    for chunks, packets, expected in cases:
        link = read(block(0, 0, 0xC0CE, b"".join(chunks)))[0]
        assert [packet.data for packet in link.packets] == packets
        for name in ("dropped_chunks", "truncated", "out_of_band", "undefined"):
            assert getattr(link.counters, name) == getattr(expected, name), (chunks, name)


def test_gaps_and_bad_blocks_end_the_open_packet() -> None:
    first = block(0, 5, 0xABCE, chunk(FIRST, b"a" * 8, 4))
    last = chunk(LAST, b"b", 4) + chunk(BOTH, b"c", 4)
    gap = read(first + block(0, 8, 0xABCE, last))[0]
    assert [packet.data for packet in gap.packets] == [b"c"]
    assert (gap.counters.sequence_gaps, gap.counters.lost_blocks, gap.counters.dropped_chunks) == (1, 2, 2)
    bad = block(0, 6, 0xABCE, b"")[:-4] + trailer(BOTH, 1020, 4)
    after = read(first + bad + block(0, 7, 0xABCE, last))[0]
    assert [packet.data for packet in after.packets] == [b"c"]
    assert (after.counters.sequence_gaps, after.counters.bad_blocks, after.counters.dropped_chunks) == (0, 1, 2)


# --- the C++ side


@pytest.fixture(scope="session")
def felix_dump(repository: Path) -> Callable[..., str]:
    return program(repository, "felix_dump")


def parse_dump(text: str) -> tuple[Packets, dict[int, dict[str, int]]]:
    packets: Packets = defaultdict(list)
    counters = {}
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == "=":
            counters[int(words[1])] = pairs(words[2:])
        else:
            crc, error, truncated, busy = (letter in words[1] for letter in "CETB")
            packets[int(words[0])].append(Packet(bytes.fromhex(words[2]), Flags(crc, error, truncated, busy)))
    return packets, counters


def packets_of(links: dict[int, Link]) -> Packets:
    return {elink: link.packets for elink, link in links.items() if link.packets}


def judge_decoder(felix_dump: Callable[..., str], raw: bytes, path: Path, max_packet_bytes: int = 1 << 20) -> None:
    path.write_bytes(raw)
    packets, counters = parse_dump(felix_dump("read", max_packet_bytes, path))
    links = read(raw, max_packet_bytes)
    for elink, link in links.items():
        for index, (found, expected) in enumerate(zip(packets[elink], link.packets, strict=False)):
            assert found == expected, f"packet {index} of e-link {elink}"
        assert len(packets[elink]) == len(link.packets), f"packets of e-link {elink}"
    assert set(counters) == set(links)
    for elink, link in links.items():
        known = dataclasses.asdict(link.counters)
        if link.counters.bad_blocks:  # it is not known whether what fills a dropped block counts
            known |= {name: counters[elink][name] for name in ("timeouts", "out_of_band")}
        assert counters[elink] == known, f"e-link {elink}"


@pytest.mark.parametrize(("name", "block_bytes"), FORMATS)
@pytest.mark.parametrize("max_bytes", [40, 900, 5000])
def test_what_the_encoder_writes_is_what_it_was_given(
    felix_dump: Callable[..., str], tmp_path: Path, name: str, block_bytes: int, max_bytes: int
) -> None:
    path = tmp_path / "blocks"
    written, _ = parse_dump(felix_dump("write", name, block_bytes, 17, 600, 5, max_bytes, path))
    raw = path.read_bytes()
    links = read(raw)
    assert packets_of(links) == written
    for link in links.values():
        counters = link.counters
        assert counters.sequence_gaps == counters.bad_blocks == counters.dropped_chunks == counters.undefined == 0
    assert {header_of(each)[2] for each in blocks_of(raw)} == {magic_of(name, block_bytes)}
    judge_decoder(felix_dump, raw, path)
    judge_decoder(felix_dump, raw, path, max_packet_bytes=block_bytes)


def damage(raw: bytes, randomness: random.Random) -> bytes:
    """Blocks lost, doubled, swapped within their link; bytes changed; garbage behind a sound header."""
    out: list[bytes] = []
    for each in blocks_of(raw):
        draw = randomness.random()
        if draw < 0.1:
            continue
        if draw < 0.2:
            at = randomness.randrange(4, len(each))
            changed = each[:at] + randomness.randbytes(1) + each[at + 1 :]
            out.append(changed)
        elif draw < 0.25:
            out.append(each[:4] + randomness.randbytes(len(each) - 4))
        elif draw < 0.3:
            out += [each, each]
        elif draw < 0.35 and out:
            out.insert(-1, each)
        elif draw < 0.45:  # its last trailers, where reading begins
            out.append(each[:-8] + randomness.randbytes(8))
        else:
            out.append(each)
    return b"".join(out)


@pytest.mark.parametrize(("name", "block_bytes"), FORMATS[:4])
def test_the_decoder_makes_the_same_of_damage(
    felix_dump: Callable[..., str], tmp_path: Path, long_mode: bool, name: str, block_bytes: int
) -> None:
    path = tmp_path / "blocks"
    for seed in range(100 if long_mode else 3):
        felix_dump("write", name, block_bytes, seed, 500, 3, (30, 300, 3000)[seed % 3], path)
        raw = damage(path.read_bytes(), random.Random(seed))
        judge_decoder(felix_dump, raw, path, max_packet_bytes=block_bytes)


def random_block(randomness: random.Random, elink: int, sequence: int, magic: int) -> bytes:
    """Chunks of every kind in any order, which no card would write."""
    form = Format.of_magic(magic)
    width = form.trailer_bytes
    kinds = [BOTH] * 4 + [FIRST, LAST, MIDDLE, TIMEOUT, NULL, UNDEFINED, OUT_OF_BAND]
    content = b""
    while True:
        kind = randomness.choice(kinds)
        flags = Flags(*(randomness.random() < 0.2 for _ in range(3)), width == 4 and randomness.random() < 0.2)
        length = randomness.choice([0, 0, 1, 7, 24, 24, 24, randomness.randrange(200)])
        if kind in (NULL, OUT_OF_BAND):
            following = trailer(kind, length, width, flags)
        else:
            following = chunk(kind, randomness.randbytes(length), width, flags)
        if len(content) + len(following) > form.block_bytes - 4:
            return block(elink, sequence, magic, content)
        content += following


@pytest.mark.parametrize("magic", [0xABCD, 0xABCE, 0xC1CE])
def test_the_decoder_makes_the_same_of_any_chunks(
    felix_dump: Callable[..., str], tmp_path: Path, long_mode: bool, magic: int
) -> None:
    for seed in range(200 if long_mode else 3):
        randomness = random.Random(seed)
        raw = b"".join(random_block(randomness, 5 + i % 2, i // 2 % 32, magic) for i in range(80))
        judge_decoder(felix_dump, raw, tmp_path / "blocks", max_packet_bytes=300)
