"""Sources in C: whatever the library does, all rows that it handed out are in one file, and what is wrong is said."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_sources import FAULTY, PULSER, compiled
from devices_test import events_of
from recording import THALWEG, is_alive, record, recording, wait_for

import thalweg as tw
from thalweg._devices.board import Board
from thalweg._devices.description import description_of
from thalweg._devices.lanes import Lanes
from thalweg.sources import DeviceLost, include_dir
from thalweg.testing.sources import SourceSuite, open_library

FAULTS = ("lost", "silent", "exit", "segfault", "abort", "hang", "fork", "absent", "overflow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")


@pytest.fixture(scope="module")
def faulty(folder: Path) -> Path:
    return compiled(FAULTY, folder)


@pytest.fixture(scope="module")
def pulser(folder: Path) -> Path:
    return compiled(PULSER, folder)


class TestPulser(SourceSuite):
    """The conformance suite, over the example."""

    seconds = 0.3

    @pytest.fixture(autouse=True)
    def _library(self, pulser: Path) -> None:
        self.library = str(pulser)

    def make(self) -> Any:
        return open_library(self.library, rate=20_000, channels=2)


def test_every_row_is_in_one_file_whatever_happens_to_the_library(tmp_path: Path, faulty: Path) -> None:
    settings = ("--setting", f"notes={tmp_path}", "--setting", f"faults={','.join(FAULTS)}")
    report = record(tmp_path / "run.h5", "--source", faulty, *settings, "--device-deadline", "2s", code=1)
    run = tw.open(tmp_path / "run.h5")
    rows = run["ch0"].read(["timestamp", "number"])
    assert rows["number"].tolist() == list(range(50 * (len(FAULTS) + 1)))
    assert int((tmp_path / "handed").read_text()) == report["rows"]
    assert not is_alive(int((tmp_path / "forked").read_text()))
    assert np.diff(rows["timestamp"].astype(np.int64)).min() > 0
    assert [row["text"] for row in events_of(tmp_path / "run.h5", kinds=("lost",))] == [
        "the cable is out",
        "faulty returned -77 and did not say why",
        "it ended with code 3 and no report (faulty: it is open)",
        "it was killed by SIGSEGV",
        "it was killed by SIGABRT",
        "it did not return from next within 2.1 s",
        "it ended with code 4 and no report (faulty: it is open)",
        "the power is off",
    ]
    (overflow,) = events_of(tmp_path / "run.h5", kinds=("overflow",))
    assert (overflow["lost_triggers"], overflow["text"]) == (7, "4 GB are full")
    # Dead time is the card's: what lies between the last row before and the first one after.
    again = [row for row in events_of(tmp_path / "run.h5") if row["until"] is not None]
    assert [row["event"] for row in again] == ["reopened"] * 8 + ["started"]
    stamps = rows["timestamp"].astype(np.int64).tolist()
    for row in again:
        assert row["from"] == stamps[stamps.index(row["until"]) - 1]
        assert row["offset"] == row["until"]
    channel = report["channels"]["ch0"]
    assert channel["dead_time_ns"] == sum(row["until"] - row["from"] for row in again)
    assert (channel["overflows"], channel["resets"]) == (1, 9)
    assert run.metadata["clock_domain"] == "ns since the start"
    kept = json.loads(run.metadata["source_settings"])
    assert (kept["period"], kept["gain"], kept["each"]) == (1e-3, 2, 50)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("NO_SYMBOL", "is not a source of rows (it has no thalweg_get_source)"),
        ("TOO_OLD", "is too old (it is for version 0 of thalweg/source.h, and this is version 1)"),
        ("TOO_NEW", "is too new (it is for version 2 of thalweg/source.h, and this is version 1)"),
        ("KNOWS_NO_VERSION", "does not work with this Thalweg (it does not know version 1 of thalweg/source.h)"),
        ("TOO_SMALL", "has a struct of 40 bytes (96 are needed)"),
        ("NO_DESCRIBE", "has no describe (they may not be NULL)"),
        ("NEEDS_OTHER", "undefined symbol: other_library"),
    ],
)
def test_a_library_that_does_not_fit_is_refused(folder: Path, flag: str, said: str) -> None:
    with pytest.raises(tw.UsageError, match=re.escape(said)):
        open_library(str(compiled(FAULTY, folder, f"-D{flag}")), notes=str(folder))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nots": "/tmp"}, "has no setting 'nots' (did you mean 'notes'?)"),
        ({}, "needs the setting 'notes': give it"),
        ({"notes": "/tmp", "each": 1.5}, "setting 'each' of {} is 1.5, and must be an integer"),
        ({"notes": "/tmp", "each": True}, "setting 'each' of {} is True, and must be an integer"),
        ({"notes": "/tmp", "each": 2**63}, "is 9223372036854775808, and must have 64 bits"),
        ({"notes": "/tmp", "period": "often"}, "setting 'period' of {} is 'often', and must be a number"),
        ({"notes": "/tmp", "refuses": 1}, "setting 'refuses' of {} is 1, and must be true or false"),
        ({"notes": ["/tmp"]}, "setting 'notes' of {} is ['/tmp'], and must be a text"),
        ({"notes": "/tmp", "refuses": True}, "{}: the licence is missing"),
        ({"notes": "/tmp", "any": {"a": [1, "x"]}}, '{}: {{"a": [1, "x"]}}'),
        ({"notes": "/tmp", "wrong": "json"}, "describe of {} gave no JSON"),
        (
            {"notes": "/tmp", "wrong": "schema"},
            "describe of {}: field 'number' of table 'ch0' cannot be read ('uint33' is not a type of value",
        ),
        (
            {"notes": "/tmp", "wrong": "items"},
            "describe of {}: field 'hits' of table 'ch0' cannot be read (it has no 'element', but 'items', which",
        ),
        (
            {"notes": "/tmp", "wrong": "key"},
            "describe of {}: field 'hits/*' of table 'ch0' has 'units', which means nothing there (did you mean 'unit",
        ),
    ],
)
def test_settings_are_checked_when_it_is_opened(faulty: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(tw.UsageError, match=re.escape(said.format(faulty))):
        open_library(str(faulty), **settings).describe()


def test_what_is_wrong_is_said_before_there_is_a_file(tmp_path: Path, folder: Path, faulty: Path) -> None:
    (folder / "text.so").write_text("no library")
    for library, setting, said in (
        (faulty, "notes=/tmp", f"{faulty}: the licence is missing"),
        (faulty, "nots=/tmp", "has no setting 'nots' (did you mean 'notes'?)"),
        (folder / "libnone.so", "notes=/tmp", "libnone.so cannot be loaded (there is no file"),
        (folder / "text.so", "notes=/tmp", "text.so cannot be loaded ("),
    ):
        options = ["--source", str(library), "--setting", setting, "--setting", "refuses=true"]
        words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), *options]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert said in done.stderr
        assert done.returncode == 2
        assert not (tmp_path / "run.h5").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("size", "table 'ch0', column 'number': "),
        ("clock", "table 'ch0', column 'timestamp': "),
        ("columns", "faulty handed out 3 columns of table 'ch0' (it has 2)"),
        ("table", "faulty handed out rows of table 5 in lane 0 (this lane does not have it)"),
        ("null", "bytes of column 'number' of table 'ch0' at NULL"),
        ("none", "faulty handed out no columns of table 'ch0'"),
        ("counter", "a counter of table 'ch0' cannot be called 'Resets!'"),
        ("counted", "counts for table 9, and has 1 tables"),
        ("uncounted", "faulty shows 2 counters without names or values"),
    ],
)
def test_rows_that_do_not_fit_are_an_error(tmp_path: Path, faulty: Path, wrong: str, said: str) -> None:
    device = open_library(str(faulty), notes=str(tmp_path), wrong=wrong)
    description = description_of("faulty", device.describe(), {})
    with tw.create(tmp_path / "run.h5", description.schema) as out, tw.attach(out.handle) as run:
        lanes = Lanes(device, description, run, Board.create(), lambda _: None, deadline_s=10)
        with pytest.raises(tw.UsageError, match=re.escape(said)):
            lanes.work()


def test_a_device_that_is_closed_says_so(faulty: Path, tmp_path: Path) -> None:
    device = open_library(str(faulty), notes=str(tmp_path))
    device.close()
    device.close()
    for call in (device.describe, device.start, device.stop, device.pause, device.counters, lambda: device.next(0)):
        with pytest.raises(DeviceLost, match="faulty is not open"):
            call()


def test_such_an_error_ends_the_run(tmp_path: Path, faulty: Path) -> None:
    settings = ("--setting", f"notes={tmp_path}", "--setting", "wrong=size")
    report = record(tmp_path / "run.h5", "--source", faulty, *settings, code=1)
    assert any("table 'ch0', column 'number': " in problem for problem in report["problems"])
    assert report["ended_by"] == "failure"


def test_it_pauses_and_goes_on_beside_another_device(tmp_path: Path, faulty: Path, pulser: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f'[[device]]\nsource = "{faulty}"\nname = "left"\nnotes = "{tmp_path}"\neach = 100000\n'
        f'[[device]]\nsource = "{pulser}"\nname = "right"\nrate = 10000\nchannels = 2\nsamples = 8\n'
    )
    handed = tmp_path / "handed"
    with recording(tmp_path / "run.root", "--config", tmp_path / "run.toml") as recorder:
        wait_for(handed.exists)
        recorder.signal(signal.SIGUSR1)
        wait_for((tmp_path / "pauses").exists)
        recorder.signal(signal.SIGUSR2)
        before = handed.read_text()
        wait_for(lambda: handed.read_text() != before)
        recorder.signal(signal.SIGINT)
        report = recorder.report()
    run = tw.open(tmp_path / "run.root")
    numbers = run["left_ch0"].read(["number"])["number"]
    assert numbers.tolist() == list(range(int(handed.read_text())))
    for name in ("right_ch0", "right_ch1"):
        stamps = run[name].read(["timestamp"])["timestamp"].astype(np.int64)
        assert np.diff(stamps).min() > 0
        assert report["channels"][name]["triggers"] <= len(stamps) == report["channels"][name]["rows"]
    paused = [row["text"] for row in events_of(tmp_path / "run.root", kinds=("started",)) if row["text"]]
    assert paused == ["after a pause"]


def test_an_overflow_of_one_lane_restarts_both(tmp_path: Path, pulser: Path) -> None:
    """A memory of no pulses overflows with each pulse."""
    settings = ("--setting", "memory=0", "--setting", "channels=2", "--setting", "rate=100")
    report = record(tmp_path / "run.h5", "--source", pulser, *settings, "--duration", "300ms", code=1)
    assert report["rows"] == 0
    assert "triggers were lost, because the on-board memory was full" in report["problems"][-1]
    overflows = events_of(tmp_path / "run.h5", kinds=("overflow",))
    assert overflows
    assert all(row["lost_triggers"] >= 1 for row in overflows)


def test_the_header_is_installed_with_the_package() -> None:
    header = Path(include_dir()) / "thalweg/source.h"
    assert header.read_bytes() == (FAULTY.parents[3] / "include/thalweg/source.h").read_bytes()


def test_devices_tries_a_library(pulser: Path) -> None:
    words = [THALWEG, "devices", "--source", str(pulser), "--setting", "rate=5000", "--duration", "200ms", "--json"]
    tried = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert tried["tables"]["ch0"]["rows"] > 100
    assert tried["settings"]["rate"] == 5000
