"""The emulated FELIX card, judged by `felix_checker`: what it sends, and its books when it misbehaves."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from felix_checker import Link, Packet, read
from felix_programs import pairs, program


@pytest.fixture(scope="session")
def felix_card(repository: Path) -> Callable[..., str]:
    return program(repository, "felix_card")


def event_of(packet: Packet, elink: int) -> int:
    """Returns the event of a packet that the card filled: event, e-link and bunch crossing, then a pattern."""
    event, link, bcid = struct.unpack_from("<IHH", packet.data)
    size = len(packet.data)
    assert (link, bcid) == (elink, event * 40 % 3564)
    assert packet.data[8:] == bytes((elink * 31 + size * 7 + index) & 0xFF for index in range(8, size))
    return event


def links_of_card(
    felix_card: Callable[..., str], path: Path, form: tuple[str, int], events: int, sizes: str, faults: str = ""
) -> list[tuple[Link, dict[str, int]]]:
    """What the checker finds of each link, and what the card says of it."""
    lines = felix_card(*form, 11, events, 3, sizes, faults, path).splitlines()
    links = read(path.read_bytes())
    tallies = {int(words[0]): pairs(words[1:]) for words in (line.split() for line in lines)}
    assert set(links) == set(tallies)
    return [(links[elink], tallies[elink]) for elink in sorted(links)]


@pytest.mark.parametrize("form", [("abcd", 1024), ("abce", 1024), ("c0ce", 4096)])
@pytest.mark.parametrize(("sizes", "faults"), [("24", ""), ("8-40", ""), ("752", ""), ("8-2000", "missing=1e-18")])
def test_the_card_sends_every_event_of_every_link(
    felix_card: Callable[..., str], tmp_path: Path, form: tuple[str, int], sizes: str, faults: str
) -> None:
    """Both by stamping templates and, where it could do something wrong, packet by packet."""
    for elink, (link, tally) in enumerate(links_of_card(felix_card, tmp_path / "blocks", form, 700, sizes, faults)):
        assert [event_of(packet, elink) for packet in link.packets] == list(range(700))
        assert link.counters.blocks == tally["blocks"]
        assert link.counters.sequence_gaps == link.counters.bad_blocks == link.counters.dropped_chunks == 0


@pytest.mark.parametrize(
    "faults",
    ["all=1e-3,stuck_pointer=0", "lost_block=0.1", "garbage_block=0.1", "lost_lap=0.01", "duplicated=0.02,late=0.01"],
)
@pytest.mark.parametrize("sizes", ["24", "8-40", "700-1500"])
def test_the_books_of_a_card_that_misbehaves_are_right(
    felix_card: Callable[..., str], tmp_path: Path, sizes: str, faults: str
) -> None:
    for form in (("abce", 1024), ("c0ce", 2048)):
        for link, tally in links_of_card(felix_card, tmp_path / "blocks", form, 2000, sizes, faults):
            found = link.counters
            assert found.packets == tally["packets"], tally
            assert found.blocks == tally["blocks"]
            assert found.bad_blocks <= tally["garbage_blocks"]
            assert found.lost_blocks % 32 == 0 or found.sequence_gaps > 0
            assert found.lost_blocks <= tally["lost_blocks"]
            assert found.crc_errors <= tally["crc"]
            assert found.busy <= tally["busy"]
