"""Runs that are several files, one after the other."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recording import columns, record, recording, wait_for

import thalweg as tw
from thalweg import _core
from thalweg._recording.files import FilePlan, Files

SCHEMA = tw.schema({"a": {"number": tw.int64}, "b": {"number": tw.int64}})


@pytest.mark.parametrize("age", ["1ms", "100ms"])
def test_files_that_follow_each_other_fast_lose_and_double_nothing(tmp_path: Path, age: str) -> None:
    options = ("--samples", 64, "--channels", 2, "--records", 12_000, "--rate", "3kHz", "--producers", 2)
    with recording(tmp_path / "run.h5", *options, "--max-file-time", age) as recorder:
        worker = recorder.workers()[0]
        os.kill(worker, signal.SIGSTOP)  # many files later it would follow into one that is closed
        time.sleep(0.5)
        os.kill(worker, signal.SIGCONT)
        report = recorder.report()
    record(tmp_path / "whole.h5", *options)
    assert report["problems"] == []
    assert report["ended_by"] == "source"
    assert report["lost_triggers"] == 0
    assert len(report["files"]) >= 3
    whole, parts = columns(tmp_path / "whole.h5"), columns(*(file["path"] for file in report["files"]))
    for name, table in whole.items():
        for column in table:
            assert np.array_equal(parts[name][column], table[column])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Files of which every one is too old at once."""
    files = Files(
        FilePlan(
            path=tmp_path / "run.h5",
            schema=SCHEMA.to_json(),
            names=["a", "b"],
            options=_core.CreateOptions(),
            metadata={},
            max_ns=1,
        )
    )
    files.start(0)
    return files


def close(files: Files) -> None:
    files.close()
    wait_for(files.closed)
    assert files.errors() == []


def test_no_file_ends_before_every_stream_is_there(files: Files) -> None:
    with tw.attach(files.current.writer.handle) as run:
        a = run.producer("a")
        assert not files.rotate_if_due()
        b = run.producer("b")
        wait_for(files.rotate_if_due)
        a.append(number=1)
        assert not files.rotate_if_due()  # b is in the first file still
        b.append(number=2)
        wait_for(files.rotate_if_due)
        assert files.all[0].is_closed
    close(files)
    assert [file.channels["a"].rows for file in files.all] == [0, 1, 0]


def test_a_stream_that_has_ended_holds_up_no_file(files: Files) -> None:
    with tw.attach(files.current.writer.handle) as run:
        a, b = run.producer("a"), run.producer("b")
        b.append(number=1)
        b.finish()
        for number in range(3):
            wait_for(files.rotate_if_due)
            a.append(number=number)
    close(files)
    assert [file.channels["a"].rows for file in files.all] == [0, 1, 1, 1]
    assert [file.channels["b"].rows for file in files.all] == [1, 0, 0, 0]


def test_the_durable_lag_is_the_longest_of_the_files_that_are_open(files: Files) -> None:
    def file(lag_ns: int, is_closed: bool) -> Any:
        status = SimpleNamespace(durable_lag_ns=lag_ns)
        return SimpleNamespace(writer=SimpleNamespace(status=lambda: status), is_closed=is_closed)

    close(files)
    files.all = [file(9, True), file(5, False), file(3, False)]
    assert files.durable_lag_ns() == 5
    files.all = [file(9, True), file(5, True), file(3, True)]
    assert files.durable_lag_ns() == 3


def test_an_error_without_words_is_an_error_too(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("thalweg._recording.files._count_what_is_stored", fail)
    files.close()
    wait_for(files.closed)
    assert files.errors() == ["MemoryError()"]
