"""A terminal may be narrow: no number of a report or of a live display is cut, and no line is too wide."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from record_progress_test import busy
from rich.cells import cell_len
from rich.console import Console, RenderableType

import thalweg as tw
from thalweg import _core
from thalweg._base.quantities import as_bytes
from thalweg._base.stacked import Heading, StackedTable
from thalweg._derive.state import JobState, WorkerState
from thalweg._readout.live import shortened
from thalweg._recording.progress import progress_view
from thalweg.cli._derive_progress import job_view

WIDTHS = [60, 80, 120]
_NOT_TEXT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_terminal(width: int, *words: object) -> list[str]:
    """Returns the lines that a command shows in a terminal of this width."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "thalweg", *map(str, words)]
    with subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment) as process:
        os.close(side)
        said = b""
        while block := _read(main):
            said += block
    os.close(main)
    assert process.returncode == 0, said
    return _NOT_TEXT.sub("", said.decode()).replace("\r", "").splitlines()


def _read(main: int) -> bytes:
    try:
        return os.read(main, 1 << 16)
    except OSError:  # no process has it open any more
        return b""


def printed(what: RenderableType, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=40)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def check(lines: Sequence[str], numbers: Sequence[str], width: int) -> None:
    assert max(map(cell_len, lines)) <= width, max(lines, key=cell_len)
    text = "\n".join(lines)
    cut = [number for number in numbers if not re.search(rf"(?<![\w.,]){re.escape(number)}(?![\w,%])", text)]
    assert cut == [], text


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("width") / "run.h5"
    about = "The samples of the flash converter, as they were taken from the board without any correction"
    row = {
        "timestamp_of_the_first_sample": tw.uint64(unit="ns"),
        "waveform": tw.array(tw.uint16(unit="ADC counts", description=about), 64),
        "hits": tw.list_({"energy": tw.float32(unit="keV"), "channel": tw.uint16}),
    }
    with tw.create(path, {"events": row}, tuning={"extent_bytes": "1 MiB"}) as out, out.producer("events") as producer:
        numbers = np.arange(20_000, dtype=np.uint64)
        hits = [[{"energy": 1.5, "channel": 7}] * (number % 3) for number in range(20_000)]
        waves = np.random.default_rng(1).integers(0, 4096, (20_000, 64), dtype=np.uint16)
        producer.append(timestamp_of_the_first_sample=numbers, waveform=waves, hits=hits)
    return path


@pytest.mark.parametrize("width", WIDTHS)
def test_inspect_shows_whole_numbers_in_a_narrow_terminal(run_file: Path, width: int) -> None:
    stored = _core.storage_of(_core.Reader.open(str(run_file)), 0)
    assert len(stored) >= 5
    numbers = [f"{column.pages:,}" for column in stored]
    numbers += [as_bytes(size) for column in stored for size in (column.raw_bytes, column.stored_bytes)]
    numbers += [f"{column.stored_bytes / column.raw_bytes:.1%}" for column in stored if column.raw_bytes]
    lines = in_terminal(width, "inspect", run_file)
    check(lines, numbers, width)
    text = " ".join(" ".join(lines).split())
    for word in ("timestamp_of_the_first_sample", "ADC counts", "bitshuffle+lz4", "without any correction"):
        assert word in text


@pytest.mark.parametrize("width", [20, 40, 120])
def test_the_live_table_of_record_shows_whole_numbers(width: int) -> None:
    snapshot = busy(3)
    numbers = ["1,000", "21 MB/s", "5,000", "0.300", "50%", "25%", "10.00%", "500", "3,000", "63 MB/s", "15,000"]
    lines = printed(progress_view(snapshot, width, 40), width)
    check(lines, numbers, width)
    text = " ".join(lines)
    for name in ("records/s", "raw/s", "stored/raw", "buffers", "on board", "dead time", "lost", "Ctrl-C"):
        assert name in text


@pytest.mark.parametrize("width", [60, 80])
def test_a_channel_has_one_line_in_a_terminal_that_is_not_very_narrow(width: int) -> None:
    lines = printed(progress_view(busy(3), width, 40), width)
    check(lines, ["1,000", "21 MB/s", "5,000", "10.00%", "500", "3,000", "63 MB/s", "15,000"], width)
    (headings,) = [line for line in lines if line.startswith("channel")]
    assert ("stored/raw" in headings, "on board" in headings) == (False, width == 80)
    assert all(name in headings for name in ("records/s", "raw/s", "records", "dead time", "lost"))
    begin = lines.index(headings)
    assert [line.split()[0] for line in lines[begin + 1 : begin + 5]] == ["ch0", "ch1", "ch2", "together"]


@pytest.mark.parametrize("width", WIDTHS)
def test_many_channels_fit_on_a_narrow_screen(width: int) -> None:
    lines = printed(progress_view(busy(100), width, 24), width)
    assert len(lines) <= 24
    assert any(re.match(r"\d+ more$", line) for line in lines)
    assert "durable lag" in " ".join(lines[-3:])


@pytest.mark.parametrize("width", WIDTHS)
def test_the_live_table_of_derive_shows_whole_numbers(width: int) -> None:
    workers = tuple(WorkerState(1_234_567 + i, 9_876_543, 456_789, 61.0, 3725.0, 1_234_000_000) for i in range(3))
    state = JobState(
        events=1_234_567_890,
        events_done=98_765_432,
        events_per_s=1_234_567,
        waiting=17,
        seconds=75,
        seconds_left=3700.0,
        output_bytes=1_234_567_890,
        stopping="",
        failed=2,
        workers=workers,
    )
    numbers = ["1,234,567,890", "98,765,432", "1234568", "9,876,543", "456,789 events", "1.23 GB", "1 h 02 min"]
    lines = printed(job_view(state), width)
    check(lines, numbers, width)
    assert any(re.fullmatch("━+", line) for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_other_tables_are_whole_in_a_narrow_terminal(width: int) -> None:
    knobs = _core.knobs()
    check(in_terminal(width, "knobs"), [text for knob in knobs for text in (knob.name, knob.default)], width)
    machine = "pack:2 numa:1 l3:12 core:8 pu:2"
    plan = in_terminal(width, "readout", "plan", "--topology", machine, "--handlers", "4")
    check(plan, ["handler", "chiplet", "package", "memory node", "threads that build", "threads that serve"], width)


@pytest.mark.parametrize("width", range(1, 60))
def test_any_width_shows_every_character(width: int) -> None:
    table = StackedTable([Heading("name"), Heading("count", is_number=True), Heading("about", is_folded=True)])
    table.add_row("temperature", "1,234,567", "what the sensor says")
    table.add_row("x", "12", style="bold")
    lines = printed(table, width)
    assert max(map(cell_len, lines)) <= width
    together = "".join("".join(lines).split())
    for cell in ("name", "count", "about"):
        assert cell in together
    if width >= 14:
        check(lines, ["1,234,567", "12", "temperature"], width)


def test_a_line_of_progress_ends_with_a_whole_part() -> None:
    sentence = "12,345,678 events, 1,234 events/s, 12.5 MB/s"
    assert shortened(sentence, 44) == sentence
    assert shortened(sentence, 43) == "12,345,678 events, 1,234 events/s, …"
    assert shortened(sentence, 35) == "12,345,678 events, …"
    assert shortened(sentence, 12) == "12,345,678 …"
    assert shortened(sentence, 8) == "…"
    for width in range(1, 50):
        assert len(shortened(sentence, width)) <= width
