"""Every kind of foreign file, damaged, in child processes: each ends, and nothing wrong is called right, if known."""

import json
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import h5py
import pytest
from foreign_kinds import KINDS
from foreign_programs import PROGRAMS, make_by_program

from thalweg import _core

SEED = 1
SECONDS = 300  # of a busy machine: all that is waited for has a limit of CPU
READER = Path(__file__).with_name("damage_reader.py")
# Every byte of `g/x` of these is under a checksum, or found by decoding: metadata of the newer format have checksums.
# Of fletcher32 alone that is not so: it takes two bytes of ones for two of zeros, and h5py reads the same wrong values.
KNOWN = ["gzip", "gzip 9 and shuffle", "whole rows", "split rows", "split rows, big-endian", "fletcher32 and gzip"]


class Reader:
    """A child, and another one where that has crashed."""

    def __init__(self, *options: str) -> None:
        self.options = options
        self.start()

    def start(self) -> None:
        words = [sys.executable, str(READER), *self.options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.said = b""

    def stop(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError):
            self.process.communicate()

    def line(self) -> str:
        """Empty where it has ended. Raises AssertionError where it comes to no end."""
        assert self.process.stdout is not None
        while b"\n" not in self.said:
            ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
            assert ready, "no end"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return ""
            self.said += more
        line, _, self.said = self.said.partition(b"\n")
        return line.decode().strip()

    def outcomes(self, kind: str, sound: Path, count: int) -> list[str]:
        """Returns the outcome of each damaged copy; "crashed verify" and "crashed read" if the child crashed."""
        found: list[str] = []
        while len(found) < count:
            job = {"sound": str(sound), "seed": f"{SEED} {kind}", "first": len(found), "count": count}
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            doing = ""
            while line := self.line():
                if line == "done":
                    return found
                word, _, rest = line.partition(" ")
                if word.isdigit():
                    found.append(rest)
                else:
                    doing = word
            code = self.process.wait(SECONDS)
            assert doing
            assert code < 0, f"the child ended with {code}, see above"
            found.append(f"crashed {doing}")
            self.stop()
            self.start()
        return found


@pytest.fixture(scope="module")
def readers() -> Iterator[tuple[Reader, Reader]]:
    """By the core alone, and with h5py."""
    made = Reader("without-h5py"), Reader()
    yield made
    for each in made:
        each.stop()


def check(kind: str, path: Path, readers: tuple[Reader, Reader], request: pytest.FixtureRequest) -> None:
    by_h5py = bool(_core.Reader.open(str(path), even_without_tables=True).left_out)
    copies = 200 if request.config.getoption("--long") else 1 if by_h5py else 4
    outcomes = readers[by_h5py].outcomes(kind, path, copies)
    counts = Counter(" ".join(each.split()[:2]).rstrip(":") for each in outcomes)
    print(dict(counts))
    assert not counts["crashed verify"]
    # What h5py reads it reads in the process that asks: libhdf5 and filters may crash there (docs/decisions/0055).
    assert by_h5py or not counts["crashed read"]
    if kind in KNOWN:
        assert not [each for each in outcomes if "'g.x'" in each]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_of_h5py(
    kind: str, tmp_path: Path, readers: tuple[Reader, Reader], request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "file.h5"
    libver = ("v110", "v110") if kind in KNOWN or len(kind) % 2 else ("earliest", "v110")
    with h5py.File(path, "w", libver=libver) as file:
        KINDS[kind](file)
    check(kind, path, readers, request)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_damaged_file_of_another_program(
    kind: str, tmp_path: Path, readers: tuple[Reader, Reader], request: pytest.FixtureRequest
) -> None:
    make_by_program(kind, tmp_path / "file.h5")
    check(kind, tmp_path / "file.h5", readers, request)
