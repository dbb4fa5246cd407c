"""examples/card.c, a card without anything of ours: what it plays is what a handler builds and a file has."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from readout_programs import Readout, wait_for

import thalweg as tw
from thalweg import readout

BLOCK, MAGIC, BOTH, TIMEOUT = 1024, 0xC0CE, 3, 5
PACKET, IN_A_BLOCK, BLOCKS = 24, 36, 60  # of each link
LINKS = (0, 1, 2)


def packet(link: int, event: int) -> bytes:
    head = struct.pack("<IHH", event, link, event * 40 % 3564)
    return head + bytes((31 * link + 7 * event + place) % 251 for place in range(PACKET - len(head)))


def block(link: int, number: int) -> bytes:
    """Returns a block as docs/formats/felix.md describes it: whole packets, then padding."""
    made = struct.pack("<I", link | number % 32 << 11 | MAGIC << 16)
    for event in range(number * IN_A_BLOCK, (number + 1) * IN_A_BLOCK):
        made += packet(link, event) + struct.pack("<I", BOTH << 29 | PACKET)
    rest = BLOCK - len(made) - 4
    return made + bytes(rest) + struct.pack("<I", TIMEOUT << 29 | rest)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Readout]:
    made = Readout(tmp_path, f"played-{os.getpid()}", groups=1, links=len(LINKS))
    yield made
    made.close()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("card") / "card"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run([compiler, *flags, "-o", made, repository / "examples" / "card.c"], check=True)
    return made


def test_what_it_plays_is_in_the_file(site: Readout, program: Path) -> None:
    """The buffer has 64 blocks, so the pointers of both sides pass through several laps."""
    blocks = b"".join(block(link, number) for number in range(BLOCKS) for link in LINKS)
    handler = site.handler()
    events = BLOCKS * IN_A_BLOCK
    with subprocess.Popen([program, site.card_name, "64"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as card:
        assert card.stdin
        assert card.stdout
        half = len(blocks) // 2 // BLOCK * BLOCK + 100  # in the middle of a block
        card.stdin.write(blocks[:half])
        card.stdin.flush()
        wait_for(lambda: site.metric("packets_total") > events, "the first half is read")
        wait_for(lambda: site.ask("/readyz")[0] == 200, "the card is alive while no blocks come")
        refused = subprocess.run([program, site.card_name, "64"], input=blocks, capture_output=True, check=False)
        assert (refused.returncode, b"belongs to a card that lives" in refused.stderr) == (2, True)
        card.stdin.write(blocks[half:])
        card.stdin.close()
        assert card.stdout.read() == f"{len(LINKS) * BLOCKS} blocks were played\n".encode()
        assert card.wait() == 0
    collector = site.collector("run.h5")
    wait_for(lambda: "stopped" in site.ask("/readyz")[1], "the handler says that the card has stopped")
    handler.stop()
    collector.end()
    assert handler.answer[0]["balances"]
    assert handler.answer[0]["bad_pointers"] == handler.answer[0]["bad_headers"] == handler.answer[0]["cards_gone"] == 0
    rows = tw.open(site.folder / "run.h5")["events"].read().to_awkward()
    order = np.argsort(rows.event.to_numpy())
    assert rows.l1id.to_numpy()[order].tolist() == list(range(events))
    assert (rows.state.to_numpy() == 0).all()
    for place in order[:: len(order) // 100]:
        event = int(rows.l1id[place])
        found = readout.packets(bytes(rows.fragments.data[place, 0]))
        assert [bytes(each) for each in found.values()] == [packet(link, event) for link in LINKS]


def test_a_block_that_is_cut_is_said(program: Path) -> None:
    blocks = block(LINKS[0], 0) + block(LINKS[0], 1)[:100]
    with subprocess.Popen(
        [program, f"cut{os.getpid()}", "64"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as card:
        assert card.stdin
        card.stdin.write(blocks)
        card.stdin.close()
        card.stdin = None
        buffer = Path(f"/dev/shm/thalweg-felix-cut{os.getpid()}-0")
        wait_for(lambda: buffer.exists() and buffer.read_bytes()[64:72] != bytes(8), "the whole block is there")
        with buffer.open("r+b") as memory:  # what a handler does when it has read it
            memory.seek(192)
            memory.write(buffer.read_bytes()[64:72])
        said, complaint = card.communicate(timeout=60)
    assert (card.returncode, said) == (1, b"1 blocks were played\n")
    assert complaint == b"card: the last block was not played (it has 100 of 1024 bytes)\n"


def test_the_next_card_takes_the_place_of_one_that_was_killed(site: Readout, program: Path) -> None:
    blocks = b"".join(block(link, number) for number in range(4) for link in LINKS)
    handler = site.handler()
    words = [program, site.card_name, "64"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as first:
        assert first.stdin
        first.stdin.write(blocks)
        first.stdin.flush()
        wait_for(lambda: site.metric("packets_total") == 4 * IN_A_BLOCK * len(LINKS), "the first card is read")
        first.send_signal(signal.SIGKILL)
    handler.wait_for("is gone")
    with subprocess.Popen(words, stdin=subprocess.PIPE) as second:
        assert second.stdin
        second.stdin.write(blocks)
        second.stdin.flush()
        wait_for(lambda: site.metric("packets_total") == 8 * IN_A_BLOCK * len(LINKS), "the second card is read")
        second.stdin.close()
        assert second.wait() == 0
    collector = site.collector("run.h5")
    wait_for(lambda: site.metric("fragments_kept") == 0, "the collector has everything")
    handler.stop()
    collector.end()
    epochs = tw.open(site.folder / "run.h5")["events"].read(["event"])["event"] >> 32
    assert np.unique(epochs).tolist() == [1, 2]
    assert json.loads(handler.result)[0]["cards_gone"] == 1


def test_the_sizes_of_an_experiment_are_computed(repository: Path) -> None:
    """The page has the sizes of 8 buffers at 100 kHz; the memory of the index is what a handler takes for it."""
    page = (repository / "docs" / "readout-deployment.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    for given in (0, 200):
        words = code.replace("collectors = 0 ", f"collectors = {given} ")
        done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
        handler, collectors, each = done.stdout.splitlines()
        assert re.fullmatch(r"each handler: 0\.13 cores, 0\.\d+ GB, \d\.\d+ Gb/s, 1\.3 s", handler)
        number, enough = map(int, re.findall(r"\d+", collectors))
        assert number == (given or enough)
        sent_mb_s = float(re.findall(r"([\d.]+) Gb/s", handler)[0]) * 1e3  # eight handlers, and eight bits in a byte
        assert float(re.findall(r"([\d.]+) MB/s", each)[0]) * number == pytest.approx(sent_mb_s, rel=0.02)
