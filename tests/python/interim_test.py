"""What plain programs see of an HDF5 file while it is written: superblock and metadata behind offset 512.

No test of a file that others open asks Thalweg what is in it, but for what Thalweg's own commands say.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (the filters)
import numpy as np
import pytest
from live_runs import check, written_by_three
from readers.programs_of_others import Served, expected, reader_of

import thalweg as tw

SECTOR = slice(512, 1024)
LOOKS = 60
OFTEN = {"flush_interval": 0.05, "interim_footer_share": 1}


@dataclass
class Recording:
    """A run of three processes that was looked at, and then killed as a whole."""

    path: Path
    lone: Path  # a copy of the file without its journal
    shown: dict[int, int] = field(default_factory=dict)  # what h5py showed last
    notes: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # of attempts to open it for writing


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def opens(path: Path) -> bool:
    return path.exists() and path.read_bytes()[SECTOR].startswith(b"\x89HDF")


def note_of(path: Path) -> str:
    with h5py.File(path) as file:
        return str(file.attrs["thalweg_open"])


def try_to_write(path: Path) -> list[str]:
    refused = []
    for mode in ("r+", "a"):
        with pytest.raises(OSError, match="fail if unknown") as error:
            h5py.File(path, mode)
        refused.append(str(error.value))
    return refused


def look(recording: Recording) -> None:
    """Every value is compared, and no row goes that was there."""
    try:
        shown = check(recording.path)
        recording.notes.add(note_of(recording.path))
    except (OSError, KeyError, AssertionError) as error:
        recording.errors.append(repr(error))
        return
    for number, rows in recording.shown.items():
        if shown.get(number, 0) < rows:
            recording.errors.append(f"producer {number} had {rows} rows, and has {shown.get(number, 0)}")
    recording.shown = shown


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    folder = tmp_path_factory.mktemp("interim")
    recording = Recording(folder / "run.h5", folder / "copy.h5")
    any_ = random.Random(1)
    with written_by_three(recording.path) as recorder:
        wait_for(lambda: opens(recording.path))
        for number in range(LOOKS):
            look(recording)
            if number == LOOKS // 2:
                children = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
                os.kill(int(any_.choice(children)), signal.SIGKILL)
            time.sleep(any_.uniform(0, 0.1))
        size = recording.path.stat().st_size
        recording.refused = try_to_write(recording.path)
        os.killpg(recorder.pid, signal.SIGKILL)
        os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOWAIT)
        assert recording.path.stat().st_size >= size
        look(recording)
        recording.lone.write_bytes(recording.path.read_bytes())
        yield recording


def test_h5py_shows_right_rows_at_any_instant(recording: Recording) -> None:
    assert recording.errors == []
    assert len(recording.shown) == 3
    assert len(recording.notes) > 3


def test_the_file_says_that_it_is_open_and_what_it_lacks(recording: Recording) -> None:
    note = note_of(recording.path)
    assert re.search(r"still open at 20\d\d-\d\d-\d\dT\S+Z", note)
    lacks, appended = (int(number) for number in re.findall(r"(\d+) of the (\d+) rows", note)[0])
    assert sum(recording.shown.values()) == appended - lacks
    assert "run `thalweg recover run.h5`" in note


def test_no_program_opens_it_for_writing(recording: Recording) -> None:
    """It would cut the file where these metadata end, and rows would be lost: open, or killed."""
    assert len(recording.refused) == 2
    before = recording.lone.read_bytes()
    assert len(try_to_write(recording.lone)) == 2
    assert recording.lone.read_bytes() == before


@pytest.mark.parametrize("name", ["h5dump", "h5wasm", "netCDF4", "xarray"])
def test_other_programs_show_what_h5py_shows(recording: Recording, name: str) -> None:
    read, why_not = reader_of(name)
    if read is None:
        pytest.skip(why_not)
    found, right = read(recording.lone), expected(recording.lone)
    if isinstance(read, Served):
        read.end()
    for dataset, digest in right.items():
        if not dataset.startswith("/thalweg/"):
            assert found.get(dataset) == digest, dataset


def test_h5ls_lists_its_tables(recording: Recording, stock_tool: Callable[[str], str]) -> None:
    command = [stock_tool("h5ls"), "-r", recording.lone]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    rows = sum(recording.shown.values())
    assert re.search(rf"^/events/producer\s+Dataset {{{rows}(/Inf)?}}", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("which", ["path", "lone"])
def test_no_command_calls_it_complete(recording: Recording, which: str, tmp_path: Path, thalweg_command) -> None:
    path = getattr(recording, which)
    assert tw.open(path).is_open
    verified = thalweg_command("verify", path)
    assert verified.returncode == 1
    assert "no faults, but not complete" in verified.stdout
    assert tw.verify(path).is_unfinished
    inspected = thalweg_command("inspect", path)
    assert f"{path}: a run that is not complete" in inspected.stdout
    converted = thalweg_command("convert", path, tmp_path / "converted.root")
    assert f"{path} is not complete" in converted.stdout
    replayed = thalweg_command("record", "--source", "replay", "--input", path, "--out", tmp_path / "replayed.h5")
    assert replayed.returncode == 1
    assert "the end of the run is left out (it is not complete" in replayed.stderr


def test_a_copy_without_its_journal_is_not_recovered(recording: Recording, thalweg_command) -> None:
    before = recording.lone.read_bytes()
    done = thalweg_command("recover", recording.lone)
    assert done.returncode == 2
    assert "the file is not complete" in done.stderr
    assert recording.lone.read_bytes() == before
    assert len(tw.open(recording.lone)["events"]) == sum(recording.shown.values())


@pytest.mark.parametrize("place", [512, 519, 530, 540, 556, 770, 790])
def test_a_torn_sector_shows_nothing_wrong(recording: Recording, tmp_path: Path, place: int) -> None:
    """A superblock of which a part is older: libhdf5 refuses it by its checksum, or the rest is what it was."""
    torn = tmp_path / "torn.h5"
    stored = bytearray(recording.lone.read_bytes())
    stored[place:1024] = bytes(1024 - place)
    torn.write_bytes(stored)
    if place < 560:
        with pytest.raises(OSError, match=r"signature not found|checksum"):
            h5py.File(torn)
    else:
        assert check(torn) == recording.shown
    with pytest.raises(tw.DataError, match="not complete"):
        tw.open(torn)


def test_recover_loses_nothing_and_clears_the_sector(recording: Recording, thalweg_command) -> None:
    """It comes last: what it recovers is what the other tests look at."""
    held = h5py.File(recording.path)  # as a program does that was started before
    before = held["events/row"][:]
    done = thalweg_command("recover", recording.path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(held["events/row"][:], before)
    held.close()
    there = check(recording.path)
    assert all(there[number] >= rows for number, rows in recording.shown.items())
    assert recording.path.read_bytes()[SECTOR] == bytes(512)
    assert tw.verify(recording.path).is_sound
    with h5py.File(recording.path) as file:
        assert "thalweg_open" not in file.attrs
        assert file.userblock_size == 0


def test_a_run_without_rows_and_a_close(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, {"t": {"x": tw.float64, "s": tw.string}}, tuning=OFTEN) as out:
        wait_for(lambda: opens(path))
        with h5py.File(path) as file:
            assert file["t/x"].shape == (0,)
        assert "0 of the 0 rows" in note_of(path)
        out.producer("t").append(x=[1.0, 2.0], s=["a", "bc"])
        wait_for(lambda: "of the 2 rows" in note_of(path))
        with h5py.File(path) as file:
            assert file["t/x"][:].tolist() == [1.0, 2.0]
    assert path.read_bytes()[SECTOR] == bytes(512)
    with h5py.File(path) as file:
        assert "thalweg_open" not in file.attrs
        assert file["t/x"][:].tolist() == [1.0, 2.0]


def test_without_a_share_there_are_none(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, {"t": {"x": tw.float64}}, tuning={"flush_interval": 0.02, "interim_footer_share": 0}) as out:
        out.producer("t").append(x=np.arange(1000.0))
        wait_for(lambda: len(tw.open(path)["t"]) == 1000)
        assert path.read_bytes()[SECTOR] == bytes(512)


def test_a_table_of_5000_columns_stays_within_its_share(tmp_path: Path) -> None:
    """Its metadata are large: they are written as often as the share of the file, and 16 MiB, allow."""
    path = tmp_path / "run.h5"
    schema = {"t": {f"c{i}": tw.float32 for i in range(5000)}}
    rows = {f"c{i}": np.arange(200, dtype=np.float32) + i for i in range(5000)}
    with tw.create(path, schema, tuning={"flush_interval": 0.05}) as out:
        table = out.producer("t")
        table.append(**rows)
        wait_for(lambda: opens(path))
        with h5py.File(path) as file:
            shown = len(file["t/c0"])  # none, if the rows came a moment later
            for i in range(0, 5000, 97):
                np.testing.assert_array_equal(file[f"t/c{i}"][:], rows[f"c{i}"][:shown])
        assert out.status().claimed_bytes < 17 * 2**20


def test_a_damaged_journal_ends_no_run(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    program = f"""
import os, time
import numpy as np
import thalweg as tw
out = tw.create({str(path)!r}, {{"t": {{"x": tw.int64}}}}, tuning={OFTEN!r})
table = out.producer("t")
for number in range(300):
    table.append(x=np.arange(100 * number, 100 * number + 100))
    time.sleep(0.01)
    if number == 100:
        print("half", flush=True)
print(out.close().rows, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "half\n"
        journal = path.with_name("run.h5.journal")
        stored = journal.read_bytes()
        with journal.open("r+b") as file:
            file.seek(len(stored) // 2)
            file.write(b"\xa5" * 64)
        assert running.stdout.readline() == "30000\n"
        assert running.wait(60) == 0
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["t/x"][:], np.arange(30000))
