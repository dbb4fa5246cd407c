"""HDF5 files that another program has open for writing, or had when it was killed: never taken for complete."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw

# Says a line when the file is flushed; appends 100 rows and flushes for each line that it is told; closes at the end.
WRITER = """
import sys, h5py, numpy
with h5py.File(sys.argv[1], "w", libver=sys.argv[2] or None) as file:
    made = file.create_dataset("g/x", data=numpy.arange(1000), chunks=(64,), maxshape=(None,), compression="gzip")
    if sys.argv[3] == "swmr":
        file.swmr_mode = True
    file.flush()
    print("flushed", flush=True)
    for _ in sys.stdin:
        made.resize((len(made) + 100,))
        made[-100:] = numpy.arange(len(made) - 100, len(made))
        file.flush()
        print("flushed", flush=True)
print("closed", flush=True)
"""


class Child:
    def __init__(self, path: Path, libver: str, mode: str) -> None:
        words = [sys.executable, "-c", WRITER, str(path), libver, mode]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("flushed")

    def expect(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def append(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("on\n")
        self.process.stdin.flush()
        self.expect("flushed")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.expect("closed")
        assert self.process.wait(timeout=120) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=120)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


Start = Callable[[str, str], Child]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "theirs.h5"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    children: list[Child] = []

    def start_one(libver: str, mode: str) -> Child:
        children.append(Child(path, libver, mode))
        return children[-1]

    yield start_one
    for child in children:
        child.kill()


def check_whole(path: Path, rows: int) -> None:
    run = tw.open(path)
    assert not run.is_open
    assert run["g"].read("x")["x"].tolist() == list(range(rows))
    assert tw.verify(path).is_sound


@pytest.mark.parametrize("libver", ["latest", "v110"])
def test_a_file_that_is_open_for_writing_is_an_error_until_it_is_closed(
    path: Path, start: Start, libver: str, thalweg_command: Any
) -> None:
    child = start(libver, "normal")
    for fails in (tw.open, tw.verify, lambda source: tw.convert(source, path.with_suffix(".root"))):
        with pytest.raises(tw.DataError, match=r"theirs\.h5 is still being written \(another program has it open"):
            fails(path)
    assert not path.with_suffix(".root").exists()
    for words in (["inspect", path], ["verify", path], ["convert", path, path.with_suffix(".root")]):
        ended = thalweg_command(*words)
        assert ended.returncode != 0
        assert "is still being written" in ended.stderr
    child.close()
    with h5py.File(path) as file:
        is_readable = file["g/x"].id.get_create_plist().get_nfilters() == 1 and libver == "v110"
    if is_readable:  # by every HDF5
        check_whole(path, 1000)


def test_a_file_in_swmr_mode_is_a_run_that_is_still_open(path: Path, start: Start, thalweg_command: Any) -> None:
    child = start("v110", "swmr")
    for rows in (1000, 1100, 1200):
        run = tw.open(path)
        assert run.is_open
        assert run["g"].read("x")["x"].tolist() == list(range(rows))
        child.append()
    found = tw.verify(path)
    assert found.is_sound
    assert found.is_open
    shown = thalweg_command("inspect", path)
    assert "still being written" in shown.stdout + shown.stderr
    assert "(SWMR)" in shown.stdout + shown.stderr
    assert "recover" not in shown.stdout + shown.stderr
    assert json.loads(thalweg_command("inspect", "--json", path).stdout)["is_open"]
    tw.convert(path, path.with_suffix(".root"))
    assert len(tw.open(path.with_suffix(".root"))["g"]) == 1300
    child.close()
    check_whole(path, 1300)


def test_what_a_writer_in_swmr_mode_appends_meanwhile_is_never_wrong(path: Path, start: Start) -> None:
    child = start("v110", "swmr")
    assert child.process.stdin is not None
    child.process.stdin.write("on\n" * 200)
    child.process.stdin.flush()
    seen = 0
    while seen < 1000 + 100 * 200:
        values = tw.open(path)["g"].read("x")["x"]
        assert len(values) >= seen
        seen = len(values)
        # Rows that `resize` has made, and that are not written yet, are 0: for h5py, too.
        written = np.flatnonzero(values)
        assert (values[written] == written).all()
        assert len(values) - len(written) <= 101
        assert child.process.poll() is None
    for _ in range(200):
        child.expect("flushed")
    child.close()
    check_whole(path, seen)


@pytest.mark.parametrize(("mode", "is_refused"), [("normal", True), ("swmr", False)])
def test_the_mark_of_a_writer_that_was_killed_goes_with_h5clear(
    path: Path, start: Start, mode: str, is_refused: bool, stock_tool: Callable[[str], str]
) -> None:
    start("v110", mode).kill()
    if is_refused:
        with pytest.raises(tw.DataError, match=r"was killed before it could close it.*h5clear -s"):
            tw.open(path)
    else:
        assert tw.open(path).is_open
    subprocess.run([stock_tool("h5clear"), "-s", str(path)], check=True, capture_output=True, timeout=60)
    check_whole(path, 1000)  # all of which had been flushed


def lookup3(data: bytes) -> int:
    """The checksum of HDF5's metadata, for lengths that are no multiple of 12."""

    def rotated(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF

    words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
    words += [0] * (-len(words) % 3)
    state = [(0xDEADBEEF + len(data)) & 0xFFFFFFFF] * 3
    while words:
        state = [(each + word) & 0xFFFFFFFF for each, word in zip(state, words[:3], strict=True)]
        del words[:3]
        a, b, c = state
        for bits in (4, 6, 8, 16, 19, 4) if words else ():
            a = (a - c) & 0xFFFFFFFF ^ rotated(c, bits)
            c = (c + b) & 0xFFFFFFFF
            a, b, c = b, c, a
        for bits in () if words else (14, 11, 25, 16, 4, 14, 24):
            c = ((c ^ b) - rotated(b, bits)) & 0xFFFFFFFF
            a, b, c = b, c, a
        state = [a, b, c]
    return state[1]  # the last one that was changed


def test_the_byte_of_the_mark_means_nothing_in_older_superblocks(path: Path) -> None:
    """libhdf5 looks at it from version 3 on. Some programs have set it in version 2."""
    with h5py.File(path, "w", libver=("v108", "v108")) as file:
        file["g/x"] = np.arange(1000)
    stored = bytearray(path.read_bytes())
    assert (stored[8], stored[11]) == (2, 0)
    assert lookup3(bytes(stored[:44])) == int.from_bytes(stored[44:48], "little")
    stored[11] = 1
    stored[44:48] = lookup3(bytes(stored[:44])).to_bytes(4, "little")
    path.write_bytes(stored)
    with h5py.File(path) as file:
        assert len(file["g/x"]) == 1000
    check_whole(path, 1000)


def test_superblocks_without_a_mark_cannot_tell(path: Path, start: Start) -> None:
    start("", "normal")
    assert not tw.open(path).is_open


def test_a_file_of_ours_that_another_program_has_open_is_an_error(path: Path) -> None:
    with tw.create(path, tw.schema({"g": {"x": tw.int64}})) as out:
        out.producer("g").append(x=np.arange(50))
    assert len(tw.open(path)["g"]) == 50
    script = "import sys, h5py; file = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        with pytest.raises(tw.DataError, match="is still being written"):
            tw.open(path)
    assert len(tw.open(path)["g"]) == 50


# Holds a file open in SWMR mode, behind a user block, with a column of text beside one of numbers.
TEXT_WRITER = """
import sys, h5py, numpy
with h5py.File(sys.argv[1], "w", libver="v110", userblock_size=1024) as file:
    file.create_dataset("g/x", data=numpy.arange(9), chunks=(3,), maxshape=(None,))
    file["g/text"] = numpy.array([b"word"] * 9)
    file.swmr_mode = True
    file.flush()
    print("flushed", flush=True)
    sys.stdin.read()
"""


def test_h5py_reads_its_part_of_a_file_with_a_user_block_that_is_written(path: Path) -> None:
    words = [sys.executable, "-c", TEXT_WRITER, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "flushed"
        run = tw.open(path)
        assert run.is_open
        assert not run.problems
        assert run["g"].read("text")["text"].tolist() == ["word"] * 9
