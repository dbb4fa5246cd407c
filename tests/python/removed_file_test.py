"""A user removes the file of a run while it is written: it is said at once, is no success, and the data can be had."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_status_tells_and_close_fails(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    out = tw.create(path, {"events": {"x": tw.int64()}})
    out.producer("events").append_columns(1000, [np.arange(1000)])
    assert out.status().file_problem == ""
    path.unlink()
    assert "was removed while it is being written" in out.status().file_problem
    with pytest.raises(tw.SystemError, match="was removed while it is being written") as caught:
        out.close()
    descriptor = re.search(r"cp (/proc/\d+/fd/\d+)", str(caught.value))
    assert descriptor
    copy = tmp_path / f"copy{path.suffix}"
    copy.write_bytes(Path(descriptor[1]).read_bytes())
    assert np.array_equal(tw.open(copy)["events"].read()["x"], np.arange(1000))


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_of_a_resumed_run_too(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    out = tw.create(path, {"events": {"x": tw.int64()}})
    out.producer("events").append_columns(1000, [np.arange(1000)])
    out.abandon()
    out = tw.create(path, resume=True)
    path.unlink()
    assert "was removed while it is being written" in out.status().file_problem
    with pytest.raises(tw.SystemError, match="was removed while it is being written"):
        out.close()


def test_record_says_it_and_ends_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    command = [Path(sys.executable).parent / "thalweg", "record", "--source", "digitizer", "--channels", "1"]
    command += ["--rate", "1kHz", "--duration", "4s", "--out", path]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        end_s = time.monotonic() + 30
        while not path.exists() and time.monotonic() < end_s:
            time.sleep(0.05)
        time.sleep(1)
        path.unlink()
        said = process.stderr.read()
    assert process.returncode == 1
    assert said.count("was removed while it is being written") >= 2  # while it goes on, and at the end
    assert "cp /proc/" in said
