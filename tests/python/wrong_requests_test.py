"""Requests that were taken once, and ended badly later: each is refused at once, by a sentence that says why."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw

SCHEMA = {"t": {"x": tw.int64}}
FAST = {"flush_interval": "50ms"}
ENDINGS = pytest.mark.parametrize("ending", ["h5", "root"])


@ENDINGS
@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("", "text", "its key is empty"),
        ("a\0b", "text", "its key is no UTF-8, or holds a NUL character"),
        ("a", "b\0c", "its text is no UTF-8, or holds a NUL character"),
        ("next_file", "other.h5", "files that continue each other have that key"),
    ],
)
def test_metadata_that_no_file_can_keep(tmp_path: Path, ending: str, key: str, value: str, why: str) -> None:
    path = tmp_path / f"run.{ending}"
    with pytest.raises(tw.UsageError, match=why):
        tw.create(path, SCHEMA, metadata={key: value})
    assert not path.exists()
    with tw.create(path, SCHEMA, metadata={"kept": "text"}) as out:
        with pytest.raises(tw.UsageError, match=why):
            out.set_metadata(key, value)
        out.set_metadata("later", "too")
    assert tw.open(path).metadata.items() >= {"kept": "text", "later": "too"}.items()


@ENDINGS
def test_a_link_to_an_open_run_is_that_run(tmp_path: Path, ending: str) -> None:
    (tmp_path / "data").mkdir()
    link = tmp_path / f"today.{ending}"
    link.symlink_to(f"data/run.{ending}")
    out = tw.create(tmp_path / "data" / f"run.{ending}", SCHEMA, tuning=FAST)
    out.producer("t").append(x=[1, 2, 3])
    _wait_for_rows(link, 3)
    tw.snapshot(link, tmp_path / f"snapshot.{ending}")
    assert tw.open(tmp_path / f"snapshot.{ending}")["t"]["x"][:].tolist() == [1, 2, 3]
    out.abandon()
    with tw.create(link, resume=True) as again:
        again.producer("t").append(x=[4])
        again.abandon()
    tw.recover(link)
    assert link.is_symlink()
    assert sorted(tw.open(link)["t"]["x"][:].tolist()) == [1, 2, 3, 4]


@ENDINGS
def test_a_run_whose_file_was_cut_is_not_sound(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    sizes = {"extent_bytes": "64KiB", "cluster_bytes": "64KiB"}
    out = tw.create(path, {"t": {"x": tw.int64, "w": tw.array(tw.uint8, 1000)}}, tuning=FAST | sizes)
    producer = out.producer("t")
    for _ in range(10):
        producer.append(x=np.arange(500), w=np.random.default_rng(1).integers(0, 255, (500, 1000), dtype=np.uint8))
    _wait_for_rows(path, 1000)
    assert tw.verify(path).faults == 0
    assert tw.open(path).problems == ()
    os.truncate(path, 4096)
    checked = tw.verify(path)
    assert checked.faults > 0
    assert "lies beyond the end of the file" in str(checked)
    assert "lies beyond the end of the file" in str(tw.open(path).problems[0])
    out.abandon()


def _wait_for_rows(path: Path, rows: int) -> None:
    end = time.monotonic() + 60
    while len(tw.open(path)["t"]) < rows:
        assert time.monotonic() < end
        time.sleep(0.02)


@ENDINGS
def test_a_thread_does_not_wait_for_a_unit_of_its_own(tmp_path: Path, ending: str) -> None:
    out = tw.create(tmp_path / f"run.{ending}", SCHEMA)
    unit = out.work_unit(7)
    unit["t"].append(x=1)
    with pytest.raises(tw.UsageError, match="work unit 7 is open, and this thread began it"):
        out.close()
    unit.commit()
    dropped = out.work_unit(8)
    dropped["t"].append(x=2)
    with pytest.raises(tw.UsageError, match="work unit 8"):
        out.close()
    dropped.drop()
    assert out.close().tables[0].rows == 1


@ENDINGS
def test_codecs_that_no_column_has(tmp_path: Path, ending: str) -> None:
    for knob in ("wide_codec", "narrow_codec"):
        with pytest.raises(tw.UsageError, match="nonsense"):
            tw.create(tmp_path / f"run.{ending}", SCHEMA, tuning={knob: "nonsense"})


@pytest.mark.parametrize("summary", [3, True, [1, 2], 2**40, None, -1, np.zeros(3), "\ud800"])
def test_summaries_that_are_no_bytes(tmp_path: Path, summary: Any) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        with pytest.raises(tw.UsageError, match="the summary of a work unit cannot be"):
            out.work_unit(1, summary=summary)
        with out.work_unit(1, summary=bytearray(b"two")):
            pass
    assert tw.open(tmp_path / "run.h5").units[0].summary == b"two"


def _thalweg(folder: Path, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    command = [os.fsencode(os.path.join(os.path.dirname(sys.executable), "thalweg")), *map(os.fsencode, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("inspect", b"n\xff.h5"), "not UTF-8"),
        (("record", "--meta", b"k=\xff"), "not UTF-8"),
        (("record", "--records", "99999999999999999999999"), "less than or equal to"),
        (("record", "--seed", "99999999999999999999999"), "less than or equal to"),
        (("record", "--samples", "9999999999"), "less than or equal to"),
        (("record", "--duration", "0s"), "it is 0"),
        (("record", "--max-file-time", "0s"), "it is 0"),
        (("record", "--max-file-size", "0B"), "it is 0"),
        (("record", "--rate", "1e-30/s"), "less than 1e-06/s"),
    ],
)
def test_the_command_line_refuses(tmp_path: Path, arguments: tuple[str | bytes, ...], why: str) -> None:
    result = _thalweg(tmp_path, *arguments)
    assert result.returncode == 2
    assert why in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_was_removed_is_not_said_to_be_recovered(tmp_path: Path) -> None:
    command = [os.path.join(os.path.dirname(sys.executable), "thalweg"), "record", "--channels", "2", "--samples", "50"]
    process = subprocess.Popen(
        [*command, "--rate", "2kHz", "--duration", "3s", "--quiet"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    path = tmp_path / "run.h5"
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.5)
    path.unlink()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "cannot be recovered" in said
    assert "completes it with all published" not in said
