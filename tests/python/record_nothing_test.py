"""A run of `thalweg record` that ends without a record is no success, and says why."""

import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from recording import SMALL, THALWEG, record, recording

import thalweg as tw

EMPTY = ("--rate", "0.0001Hz")  # the first pulse comes after hours
DTYPE = "[('timestamp', '<u8')]"


def test_a_source_that_gives_no_record_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    words = [THALWEG, "record", "--out", str(path), *SMALL, *EMPTY, "--duration", "1s", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert len(said) == 1
    assert said[0].startswith("thalweg: nothing was recorded (the source gave no record during the run): check its")
    with tw.open(path) as run:
        assert not run.is_open
        assert [len(table) for table in run.values()] == [0, 0, 0]


def test_an_input_without_a_record_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty.dat").write_bytes(b"")
    raw = ("--source", "raw", "--row", DTYPE, "--input")
    report = record(tmp_path / "run.h5", *raw, tmp_path / "empty.dat", code=1)
    assert report["rows"] == 0
    assert ["nothing was recorded (the source ended without one)" in each for each in report["problems"]] == [True]
    np.arange(3, dtype="<u8").tofile(tmp_path / "rows.dat")
    assert record(tmp_path / "rows.h5", *raw, tmp_path / "rows.dat")["problems"] == []


def test_a_failure_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "cut.dat").write_bytes(b"123")
    raw = ("--source", "raw", "--row", DTYPE, "--input")
    report = record(tmp_path / "run.h5", *raw, tmp_path / "cut.dat", code=1)
    assert report["rows"] == 0
    failure, again = report["problems"]
    assert "it ended within a row" in failure
    assert again == "nothing was recorded: record again with --force or another --out"


def test_a_run_that_is_stopped_before_its_first_record_says_so(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *SMALL, *EMPTY) as recorder:
        recorder.signal(signal.SIGTERM)
        report = recorder.report(code=0)
    assert (report["rows"], report["ended_by"]) == (0, "signal")
    assert len(report["problems"]) == 1
    assert "nothing was recorded (the run was stopped after" in report["problems"][0]


@pytest.mark.parametrize("silent", [["b"], []])
def test_channels_without_a_record_are_named(silent: list[str], tmp_path: Path) -> None:
    with tw.create(tmp_path / "in.h5", {name: {"timestamp": tw.uint64(unit="ns")} for name in "abc"}) as out:
        for name in "abc":
            if name not in silent:
                out.producer(name).append(timestamp=np.arange(10, dtype=np.uint64))
    words = [THALWEG, "record", "--source", "replay", "--input", tmp_path / "in.h5", "--out", tmp_path / "out.h5"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert ("No record came from b." in done.stdout) == bool(silent)
